/** Looking for ourselves: checkpoints and expected outputs, with the output of each check kept as evidence. */
import { join, resolve } from 'node:path';
import type { Policy } from '../../core/policy.ts';
import { isBelow } from '../../process/files.ts';
import { startProgram } from '../../process/start.ts';
import type { SandboxSpec } from '../../process/types.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { lookAt } from '../../workspace/artifacts.ts';
import { resolveIn } from '../../workspace/paths.ts';
import { validate } from '../../workspace/validation.ts';
import type { Checkpoint } from '../phases.ts';
import type { TaskCheck } from '../tasks/order.ts';
import { checkLog } from './check-log.ts';

type ExpectedOutput = NonNullable<TaskMessage['task']['expected_outputs']>[number];

export interface Check {
  readonly passed: boolean;
  readonly command: string | null;
  readonly expects: string | null;
  readonly exitCode: number | null;
  /** The beginning and the end of what the command printed. */
  readonly output: string;
  /** What was seen, a line each. */
  readonly evidence: readonly string[];
  /** One sentence: what was expected and what was found; empty where it passed. */
  readonly finding: string;
}

export interface Checker {
  checkpoint(checkpoint: Checkpoint): Promise<Check>;
  output(expected: ExpectedOutput): Promise<Check>;
  /** A command of the task's own, which has to exit with 0. */
  ofTask(check: TaskCheck): Promise<Check>;
}

interface CheckerOptions {
  readonly workspace: string;
  /** What may be written outside of it. */
  readonly writePaths: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
  readonly sandbox: SandboxSpec | null;
  readonly policy: Pick<Policy, 'timeoutSeconds'>;
  /** Where the whole output of each check goes. */
  readonly folder: string;
  /** Ends a check that is under way. */
  readonly signal?: AbortSignal;
}

/** A check is not the work: it may not take longer than this, nor longer than the task itself. */
const MOST_SECONDS = 600;

export function createChecker(options: CheckerOptions): Checker {
  const { workspace, writePaths, env, mark, sandbox, policy, folder, signal } = options;
  let number = 0;
  const timeoutMs = Math.min(policy.timeoutSeconds, MOST_SECONDS) * 1000;

  async function present(path: string): Promise<{ readonly evidence: string; readonly finding: string }> {
    const real = await resolveIn(workspace, path);
    // A link to what was there before, anywhere on this machine, is nothing that was made.
    if (isBelow(resolve(workspace, path), [workspace]) && !isBelow(real, [workspace, ...writePaths])) {
      const finding = `expected ${path} in the workspace, and a link leads from there to ${real}`;
      return { evidence: `${path}: a link to ${real}`, finding };
    }
    const seen = (await lookAt([real])).get(real);
    if (seen === undefined || !seen.exists)
      return { evidence: `${path}: not there`, finding: `expected ${path}, and it is not there` };
    if (seen.sizeBytes === 0 && !seen.isFolder) {
      return { evidence: `${path}: empty`, finding: `expected something in ${path}, and it is empty` };
    }
    return {
      evidence: `${path}: ${seen.isFolder ? 'a folder' : `${seen.sizeBytes} bytes`}, ${seen.hash ?? 'no hash'}`,
      finding: '',
    };
  }

  async function run(
    paths: readonly string[],
    validation: Checkpoint['validation'],
    path: string | undefined,
    log = `check-${number + 1}.log`,
  ): Promise<Check> {
    const looked = [];
    for (const each of paths) looked.push(await present(each));
    const evidence = looked.map((look) => look.evidence);
    const base = {
      command: validation?.command ?? null,
      expects: validation?.expects ?? null,
      exitCode: null,
      output: '',
    };
    const missing = looked.find((look) => look.finding !== '');
    if (missing !== undefined) return { ...base, passed: false, evidence, finding: missing.finding };
    if (validation?.command === undefined && validation?.expects === undefined) {
      return { ...base, passed: true, evidence, finding: '' };
    }
    const found = await validate(
      { ...validation, ...(path === undefined ? {} : { path }) } as Parameters<typeof validate>[0],
      {
        workspace,
        env,
        mark,
        sandbox,
        timeoutMs,
        outputFile: join(folder, log),
        start: startProgram,
        signal,
      },
    );
    number += 1;
    const passed = found.status === 'PASS';
    const ran =
      base.command === null ? [] : [`${base.command} → ${found.timedOut ? 'timed out' : `exit ${found.exitCode}`}`];
    return {
      ...base,
      passed,
      exitCode: found.exitCode,
      output: found.output,
      evidence: [...evidence, ...ran],
      finding: passed ? '' : found.reason,
    };
  }

  return {
    checkpoint: ({ expected_artifacts: artifacts = [], validation }) => {
      const paths = artifacts.filter(({ status }) => status !== 'DELETED').map(({ path }) => path);
      return run(paths, validation, paths[0]);
    },
    output: ({ path, validation }) => run([path], validation, path),
    ofTask: async ({ name, command }) => {
      const check = await run([], { command, expects: 'EXIT_CODE_0' }, undefined, checkLog(name));
      return check.passed ? check : { ...check, finding: `check \`${command}\` failed: ${check.finding}` };
    },
  };
}
