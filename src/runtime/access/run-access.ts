/** The access of one run: computed once, before anything is started. All that speaks of it or enforces it is made of this object. */
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { outermost, readable } from '../../core/access.ts';
import { type Access, isWithin, type NetworkLevel } from '../../core/policy.ts';
import type { Ready } from '../../workspace/preflight.ts';

/** Whether a sandbox holds an agent to its access; and if not, why. */
export interface SandboxHere {
  readonly ok: boolean;
  readonly reason: string;
}

/** Paths are absolute, symlinks resolved. */
export interface RunAccess extends Access {
  readonly readOnlyPaths: readonly string[];
  readonly workspace: string;
  readonly sandbox: SandboxHere;
  /** What is mounted writable: the write paths that are there, and for the others the nearest folder above them. */
  readonly writable: readonly string[];
  /** Folders that are writable only because a write path in them does not exist yet. */
  readonly widened: readonly string[];
  /** Write paths that can be neither mounted nor made. */
  readonly absent: readonly string[];
  /** Read-only inputs in which the task has an output, so that they cannot be mounted read-only. */
  readonly comparedInputs: readonly string[];
}

export function runAccess(
  ready: Pick<Ready, 'workspace' | 'readPaths' | 'writePaths' | 'inputs' | 'outputs'>,
  network: NetworkLevel,
  sandbox: SandboxHere,
): RunAccess {
  const { workspace, inputs, outputs } = ready;
  const { writable, widened, absent } = existing(ready.writePaths, workspace);
  const locked = outermost(
    inputs
      .filter(({ path, readOnly }) => readOnly && isWithin(path, writable) && !ready.writePaths.includes(path))
      .map(({ path }) => path),
  );
  const hasOutput = (path: string): boolean => outputs.some((output) => isWithin(output, [path]));
  const readOnlyPaths = locked.filter((path) => !hasOutput(path));
  return {
    workspace,
    sandbox,
    network,
    // A read path in a write path would take the right to write away where it is mounted.
    readPaths: outermost(ready.readPaths).filter((path) => !isWithin(path, ready.writePaths)),
    writePaths: withoutRepeats(ready.writePaths, readOnlyPaths),
    readOnlyPaths,
    comparedInputs: locked.filter(hasOutput),
    writable: withoutRepeats(writable, readOnlyPaths),
    widened,
    absent,
  };
}

/** A write path in another one adds nothing, unless a read-only input lies between them. */
const withoutRepeats = (paths: readonly string[], readOnly: readonly string[]): readonly string[] => [
  ...new Set([...outermost(paths), ...paths.filter((path) => isWithin(path, readOnly))]),
];

/** What of the access nothing enforces on this machine while the agent works; in words for the record and for the agent. */
export function gapsOf(access: RunAccess): readonly string[] {
  const { sandbox, network, widened, absent, comparedInputs } = access;
  if (!sandbox.ok) {
    return [`paths and network by a sandbox: ${sandbox.reason}`, ...(network === 'FULL' ? [] : [`network ${network}`])];
  }
  return [
    ...widened.map(
      (path) =>
        `write paths below ${path} that do not exist yet: all of it can be read and written, and is looked at after the run`,
    ),
    ...absent.map((path) => `writing ${path}: it is not there, and lies outside of the workspace`),
    ...comparedInputs.map(
      (path) => `the read-only input ${path}: the task has an output in it, so it is compared after the run`,
    ),
  ];
}

/** What the run's record says of the paths, so that it can be held against the TASK and the prompt. */
export const pathsOf = (access: RunAccess): Readonly<Record<string, unknown>> => ({
  read: readable(access),
  write: access.writePaths,
  ...(access.readOnlyPaths.length === 0 ? {} : { read_only: access.readOnlyPaths }),
});

/**
 * What can be mounted has to exist. In the workspace the nearest folder above stands for what does not; outside of it that would be more than
 * anybody meant, up to all there is.
 */
function existing(paths: readonly string[], workspace: string): Pick<RunAccess, 'writable' | 'widened' | 'absent'> {
  const found = new Set<string>();
  const widened = new Set<string>();
  const absent: string[] = [];
  for (const path of paths) {
    let at = path;
    while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
    const isCovered = paths.some((other) => other !== path && existsSync(other) && isWithin(at, [other]));
    if (at !== path && !isCovered && !isWithin(at, [workspace])) {
      absent.push(path);
      continue;
    }
    found.add(at);
    if (at !== path && !isCovered) widened.add(at);
  }
  return { writable: [...found], widened: [...widened], absent };
}
