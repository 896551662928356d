/** Looks at the evidence of a run once more: because it was never judged, or because the branch it is merged with may have broken it. */
import type { Config } from '../../core/config.ts';
import { BatonError } from '../../core/errors.ts';
import { emptyReport, OUTCOMES } from '../../core/report.ts';
import type { StoredRecord } from '../../core/store.ts';
import type { Run, Task, Verdict } from '../../core/task.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import type { GitInfo } from '../../workspace/git.ts';
import { damageOf } from '../access/damage.ts';
import { openAttempt } from '../attempt.ts';
import type { Facts } from '../facts.ts';
import type { Host } from '../host.ts';
import { createLive } from '../live.ts';
import { passedBefore, phasesInOrder } from '../phases.ts';
import { type Prepared, prepare } from '../prepare.ts';
import { claimedBefore } from '../run-result.ts';
import type { Checker } from './checks.ts';
import { checksFor } from './checks-for.ts';
import type { Finding } from './claim.ts';
import { earlierChanges, isEarlierKnown } from './run-changes.ts';
import { type CheckpointState, weigh } from './weigh.ts';

export type Found = Pick<Finding, 'message'> & { readonly code: string };

interface Seen {
  readonly findings: readonly Found[];
  readonly warnings?: readonly Found[];
  readonly verdict?: Verdict;
}

/** What is looked at: the TASK with its paths where its work is, and the repository there where that is not found by its folder. */
interface Looked {
  readonly message: TaskMessage;
  readonly git?: GitInfo | undefined;
  /** Nothing that passed before counts: the files are others. */
  readonly anew?: boolean;
}

export async function lookAgain(
  host: Host,
  task: Task,
  run: Run,
  { message, git, anew = false }: Looked,
  history: readonly StoredRecord[],
  facts: Facts,
): Promise<Seen> {
  const report =
    claimedBefore(history, run.id) ??
    emptyReport(OUTCOMES.find((known) => known === run.outcome) ?? 'needs_review', task.summary ?? '');
  try {
    const prepared = await prepareFor(host, task, run, message, git);
    const startedAt = host.now();
    const live = createLive(host, facts, { task, run, startedAt, state: 'checking' });
    const attempt = await openAttempt({ host, task, run, facts, live, prepared, startedAt, leaving: undefined });
    try {
      const evidence = await weigh({
        message,
        workspace: prepared.ready.workspace,
        report,
        before: new Map(),
        checker: attempt.checker,
        checks: checksFor(host.config, message, prepared.access),
        changes: null,
        // With what this run itself recorded when its agent stopped.
        earlier: earlierChanges(history, null),
        isEarlierKnown: isEarlierKnown(history),
        mayWrite: prepared.access.writePaths.length > 0,
        checkpoints: await checkpointsNow(message, anew ? [] : history, attempt.checker),
        apart: prepared.ready.apart,
        roots: [prepared.ready.workspace, ...prepared.ready.writePaths],
        // Merged with other work, the files are others.
        damage: anew ? [] : await damageOf(host, task.id, prepared),
      });
      facts.tell('run.evidence', { ...evidence, again: true });
      return evidence;
    } finally {
      await attempt.close();
    }
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    const message = `the evidence could not be looked at again: ${cause.message}`;
    return { findings: [{ code: cause.code, message }] };
  }
}

/** Another program than an agent of config may have done it; its claims are checked all the same. */
async function prepareFor(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
  git: GitInfo | undefined,
): Promise<Prepared> {
  try {
    return await prepare(host, task, message, git);
  } catch (cause) {
    if (!(cause instanceof BatonError) || cause.code !== 'E_AGENT_NOT_FOUND') throw cause;
    const anybody: Config['agents'][string] = {
      kind: 'command',
      command: [process.execPath],
      args: [],
      env: [],
      roles: [],
      tags: [],
    };
    const config = { ...host.config, agents: { ...host.config.agents, [run.agent]: anybody } };
    const routing = { ...task.routing, agent: run.agent };
    return prepare({ ...host, config }, { ...task, fallback: null, routing }, message, git);
  }
}

/** Those that passed have passed; the others are looked at now. */
async function checkpointsNow(
  message: TaskMessage,
  history: readonly StoredRecord[],
  checker: Checker,
): Promise<Map<string, CheckpointState>> {
  const passed = passedBefore(history);
  const states = new Map<string, CheckpointState>();
  for (const checkpoint of phasesInOrder(message).flatMap((phase) => phase.checkpoints ?? [])) {
    const { checkpoint_id: id, recovery_strategy: strategy } = checkpoint;
    const before = passed.ended.get(id);
    const check = before === undefined ? await checker.checkpoint(checkpoint) : null;
    states.set(id, {
      status: before?.status ?? (check?.passed === true ? 'PASS' : 'FAIL'),
      finding: before?.finding ?? check?.finding ?? '',
      forgiven: strategy === 'CONTINUE' || strategy === 'SKIP',
      looked: before?.looked ?? check?.looked ?? true,
    });
  }
  return states;
}
