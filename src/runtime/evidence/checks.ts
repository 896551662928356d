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
  /** False where there was nothing to look at: then it passes, and proves nothing. */
  readonly looked: boolean;
  readonly command: string | null;
  readonly expects: string | null;
  readonly exitCode: number | null;
  /** The beginning and the end of what the command printed. */
  readonly output: string;
  /** What was seen, a line each. */
  readonly evidence: readonly string[];
  /** What was expected and what was found, with the last lines that the command printed; empty where it passed. */
  readonly finding: string;
}

export interface Checker {
  checkpoint(checkpoint: Checkpoint): Promise<Check>;
  output(expected: ExpectedOutput): Promise<Check>;
  /** A command of the task's own, which has to exit with 0. */
  ofTask(check: TaskCheck): Promise<Check>;
}

interface CheckerOptions {
  /** For the command that shows the whole output. */
  readonly task: string;
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
  const { task, workspace, writePaths, env, mark, sandbox, policy, folder, signal } = options;
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
    if (seen.sizeBytes === 0) {
      return { evidence: `${path}: empty`, finding: `expected something in ${path}, and it is empty` };
    }
    return {
      evidence: `${path}: ${seen.isFolder ? 'a folder' : `${seen.sizeBytes} bytes`}, ${seen.hash ?? 'no hash'}`,
      finding: '',
    };
  }

  async function absent(path: string): Promise<{ readonly evidence: string; readonly finding: string }> {
    const real = await resolveIn(workspace, path);
    const isThere = (await lookAt([real])).get(real)?.exists === true;
    return {
      evidence: `${path}: ${isThere ? 'there' : 'not there'}`,
      finding: isThere ? `expected ${path} to be deleted, and it is there` : '',
    };
  }

  async function run(
    looks: readonly { readonly evidence: string; readonly finding: string }[],
    validation: Checkpoint['validation'],
    path: string | undefined,
    { what, name }: Named,
  ): Promise<Check> {
    const evidence = looks.map((look) => look.evidence);
    const isValidated = validation?.command !== undefined || validation?.expects !== undefined;
    const base = {
      looked: looks.length > 0 || isValidated,
      command: validation?.command ?? null,
      expects: validation?.expects ?? null,
      exitCode: null,
      output: '',
    };
    const missing = looks.find((look) => look.finding !== '');
    if (missing !== undefined) return { ...base, passed: false, evidence, finding: missing.finding };
    if (!isValidated) return { ...base, passed: true, evidence, finding: '' };
    const log = name ?? String(number + 1);
    const found = await validate(
      { ...validation, ...(path === undefined ? {} : { path }) } as Parameters<typeof validate>[0],
      {
        workspace,
        env,
        mark,
        sandbox,
        timeoutMs,
        outputFile: join(folder, checkLog(log)),
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
      finding: passed ? '' : findingOf(what, base.command, found, `baton logs ${task} --check ${log}`),
    };
  }

  return {
    checkpoint: async ({ expected_artifacts: artifacts = [], validation }) => {
      const looks = [];
      for (const { path, status } of artifacts) looks.push(await (status === 'DELETED' ? absent(path) : present(path)));
      const made = artifacts.find(({ status }) => status !== 'DELETED');
      return run(looks, validation, made?.path, { what: '' });
    },
    output: async ({ path, validation }) => run([await present(path)], validation, path, { what: `output ${path}: ` }),
    ofTask: ({ name, command }) => run([], { command, expects: 'EXIT_CODE_0' }, undefined, { what: '', name }),
  };
}

interface Named {
  /** Said before the finding. */
  readonly what: string;
  /** The name of its log; a number where it has none. */
  readonly name?: string;
}

const LAST_LINES = 5;

/** What failed, how, the end of what it printed, and where all of that is. */
function findingOf(
  what: string,
  command: string | null,
  { reason, output }: { readonly reason: string; readonly output: string },
  show: string,
): string {
  if (command === null) return `${what}${reason}`;
  const last = output.trimEnd().split('\n').slice(-LAST_LINES).join('\n').trim();
  const failed = `${what}check \`${command}\` failed: ${reason}`;
  return last === '' ? failed : `${failed} (last lines below; full output: ${show})\n${last}`;
}
