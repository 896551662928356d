/** What `sandbox-command.ts` has to know of this machine, and whether bubblewrap works on it. */
import { execFile } from 'node:child_process';
import { existsSync, lstatSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Host, heldPrograms, sandboxCommand } from './sandbox-command.ts';
import type { SandboxSpec } from './types.ts';
import { whereIs } from './where.ts';

/** Beside this file in the library and in the sources; beside the command line in its bundle, of which this file is a part or a chunk. */
const RELAYS = ['./relay.mjs', '../relay.mjs'];

export function hostFor(cwd: string, path: string | undefined): Host {
  return {
    cwd,
    bwrap: findBwrap() ?? 'bwrap',
    node: process.execPath,
    relay: findRelay(),
    isRoot: process.getuid?.() === 0,
    secrets: secretsOfSystem(),
    kindOf: remembered(kinds, kindOf),
    linkOf: remembered(links, linkOf),
    find: (name) => whereIs(name, path, cwd),
  };
}

/** The system's own folders stay what they are while this process lives; each is looked at once. */
const FIXED =
  /^\/(?:(?:usr|bin|sbin|lib|lib32|lib64|libx32|etc|opt|nix|var|proc|dev|run|tmp|root|home)(?:\/(?:bin|lib|local|store)){0,2})?$/;
const kinds = new Map<string, 'folder' | 'file' | null>();
const links = new Map<string, string | null>();

const remembered =
  <T>(known: Map<string, T>, look: (path: string) => T) =>
  (path: string): T => {
    if (!FIXED.test(path)) return look(path);
    if (!known.has(path)) known.set(path, look(path));
    return known.get(path) as T;
  };

const findBwrap = (): string | null => whereIs('bwrap');

function findRelay(): string {
  const places = RELAYS.map((place) => fileURLToPath(new URL(place, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}

function kindOf(path: string): 'folder' | 'file' | null {
  try {
    return statSync(path).isDirectory() ? 'folder' : 'file';
  } catch {
    // Not there, or behind a folder that is not ours to look into: it cannot be shown.
    return null;
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    // EINVAL: no symlink. Anything else is as if there were none.
    return null;
  }
}

let secrets: readonly string[] | null = null;
/** Deeper than any package puts a key. */
const DEEPEST = 4;

/** Root may read everything, also what the system keeps from everybody else (keys, passwords). Others need no help to be kept out. */
function secretsOfSystem(): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  secrets ??= secretsIn('/etc', 1);
  return secrets;
}

function secretsIn(folder: string, level: number): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined || found.isSymbolicLink()) return [];
    const isOpen = (found.mode & (found.isDirectory() ? 0o005 : 0o004)) !== 0;
    if (!isOpen) return [path];
    return found.isDirectory() && level < DEEPEST ? secretsIn(path, level + 1) : [];
  });
}

/** The files that a command is made of and that its sandbox keeps as they are, though they lie in a folder of the work. */
export function programsHeld(
  spec: SandboxSpec,
  [name = '', ...args]: readonly string[],
  cwd: string,
  path: string | undefined,
): readonly string[] {
  const host = hostFor(cwd, path);
  const program = name.includes('/') ? resolve(cwd, name) : host.find(name);
  return program === null ? [] : heldPrograms(spec, [program, ...args], host);
}

export { type Host, sandboxCommand, wrappersOf } from './sandbox-command.ts';

export type SandboxProbe = { readonly ok: true } | { readonly ok: false; readonly reason: string };

let probe: Promise<SandboxProbe> | null = null;
const PROBE_MS = 10_000;

/** Starts the smallest sandbox there is, once. */
export function probeSandbox(): Promise<SandboxProbe> {
  probe ??= tryIt();
  return probe;
}

async function tryIt(): Promise<SandboxProbe> {
  if (process.platform !== 'linux') {
    return {
      ok: false,
      reason: `the sandbox is bubblewrap, which there is for Linux only, and this is ${process.platform}`,
    };
  }
  if (findBwrap() === null)
    return { ok: false, reason: 'bubblewrap is not installed: there is no bwrap in any folder of PATH' };
  const nothing = {
    readPaths: [],
    writePaths: [],
    binds: [],
    hide: [],
    network: 'none',
    home: '/home/nobody',
  } as const;
  const program = whereIs('true') ?? '/bin/true';
  const [file = '', ...args] = sandboxCommand(nothing, [program], hostFor('/', process.env['PATH']));
  return new Promise((settle) => {
    execFile(file, args, { timeout: PROBE_MS, killSignal: 'SIGKILL' }, (error, _, stderr) => {
      const said = stderr.trim().split('\n')[0] || error?.message || '';
      settle(
        error === null ? { ok: true } : { ok: false, reason: `bubblewrap does not work here: ${said}${whyNot(said)}` },
      );
    });
  });
}

const whyNot = (said: string): string =>
  /uid map|namespace|not permitted|Permission denied/i.test(said)
    ? ' (this system may keep user namespaces from programs, as containers and AppArmor do)'
    : '';
