/** The end of a run: the store is told, what has to be taken back is taken back, and nothing is kept that nobody needs. */
import { BatonError, isErrorCode } from '../core/errors.ts';
import type { TaskMessage as Ask } from '../core/laws/messages.ts';
import type { Run, Task } from '../core/task.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { RUNTIME } from './actor.ts';
import type { Evidence } from './evidence.ts';
import type { Facts } from './facts.ts';
import type { Host } from './host.ts';
import type { LiveRun } from './live.ts';
import { forgetSnapshots, rollBack } from './rollback.ts';
import type { TaskWorktree } from './task-worktree.ts';
import { silentReport, type Work } from './work.ts';

/** Tells the store how it ended, takes back what has to be taken back, and returns the task as it is then. */
export async function settle(
  host: Host,
  task: Task,
  run: Run,
  facts: Facts,
  live: LiveRun,
  work: Work,
  worktree: TaskWorktree | null,
): Promise<Task> {
  const { told, verdict } = work;
  const { used, failure, evidence, report } = told;
  const cost = { usd: used.usd ?? 0, tokensInput: used.tokensInput, tokensOutput: used.tokensOutput };
  const ask = async (message: Ask): Promise<void> => {
    const answer = await host.store.send({ message, by: RUNTIME });
    if (answer.kind === 'refused' && answer.refusal.code !== 'E_STALE_RUN') {
      throw new BatonError(answer.refusal.code, answer.refusal.message, answer.refusal.hint);
    }
    if (answer.kind === 'refused')
      facts.tell('protocol.message.rejected', { reason: answer.refusal.message, message: message.type });
  };
  await facts.written();
  if (verdict === 'leaving') await ask({ type: 'run.resume', run: run.id, result: 'none', gone: true });
  else if (verdict !== 'taken' && failure !== null) {
    const code = isErrorCode(failure.code) ? failure.code : 'E_UNKNOWN';
    await ask({
      type: 'run.fail',
      run: run.id,
      code,
      message: failure.message,
      cost,
      ...(verdict === 'aborted' ? { final: true } : {}),
    });
  } else if (verdict === 'reported') {
    const claimed = report ?? silentReport(told.lastText);
    const summary = shorten(claimed.summary.trim(), 500);
    const refused = (evidence as Evidence).findings;
    const reported = ask({
      type: 'run.report',
      run: run.id,
      outcome: claimed.outcome,
      ...(summary === '' ? {} : { summary }),
      cost,
    });
    // In one go: whoever looks in between sees a task in review.
    const judged =
      claimed.outcome === 'failed' || claimed.outcome === 'blocked'
        ? null
        : ask({
            type: 'run.judge',
            run: run.id,
            passed: refused.length === 0,
            findings: refused.map(({ message }) => message),
            ...(refused[0] === undefined ? {} : { code: refused[0].code }),
          });
    await Promise.all([reported, judged]);
  }
  const after = (await host.store.find(task.id)) as Task;
  await clearUp(host, after, facts, live, work);
  if (worktree !== null) await worktree.close(after.status === 'done', facts);
  return after;
}

async function clearUp(host: Host, task: Task, facts: Facts, live: LiveRun, { verdict }: Work): Promise<void> {
  if (task.status === 'done') return forgetSnapshots(host.dir, task.id);
  if (task.status !== 'deadletter' && task.status !== 'cancelled') return;
  live.update({ state: 'rolling-back' });
  const trigger =
    task.status === 'cancelled' ? 'TASK_CANCELLED' : verdict === 'aborted' ? 'TASK_ABORTED' : 'TASK_FAILED';
  const results = await rollBack(host.dir, task.id, trigger, facts);
  if (results === null) return;
  const failed = results.filter(({ status }) => status === 'FAILED');
  host.warn(`${task.id}: ${results.length - failed.length} of ${results.length} outputs put back as they were`);
  for (const { error } of failed) host.warn(error ?? '');
}
