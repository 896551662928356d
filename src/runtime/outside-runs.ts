/**
 * Runs that another program does: it has moved the task to in-progress and keeps `run.json`, `run_heartbeat.json` and `run_result.json` in
 * `runs/<task>/`, as the aof document says. Its result counts at once; without one, a run whose heartbeat is over is given up. Whether its
 * processes are alive cannot be seen from here.
 */
import { join } from 'node:path';
import { fileNameOfRun, type Run, type Task } from '../core/task.ts';
import { readIfThere } from '../process/files.ts';
import { readRunFile } from '../protocol/aof/run-files.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import { agentActor, RUNTIME } from './actor.ts';
import { taskMessage } from './child.ts';
import { finishVerdict } from './evidence/finish-verdict.ts';
import { aliveUntil } from './heartbeat.ts';
import type { Host } from './host.ts';
import { applyClaim } from './route-report.ts';
import { isToldUnreadable, writtenResult } from './run-result.ts';

/** The task with the run that another program says it does; null where none does. */
export async function adoptOutside(host: Host, task: Task): Promise<Task | null> {
  // What cannot be read is not there for us.
  const text = await readIfThere(join(host.dir, 'runs', task.id, 'run.json')).catch(() => null);
  const read = text === null ? null : readRunFile('run.json', text);
  if (read === null || !read.ok) return null;
  const { runId, taskId, agentId, status = 'running' } = read.value;
  if (taskId !== task.id || (status !== 'running' && status !== 'completed')) return null;
  if (task.run !== null && (runId === task.run.id || runId === fileNameOfRun(task.run))) return null;
  const { intervalSeconds, maxMissedBeats } = policyOf(await taskMessage(host.store, task, host.workspace)).heartbeat;
  const answer = await host.store.send({
    message: {
      type: 'run.adopt',
      id: task.id,
      agent: agentId,
      externalId: runId,
      leaseMs: intervalSeconds * maxMissedBeats * 1000,
    },
    by: RUNTIME,
  });
  return answer.kind === 'changed' ? (answer.tasks[0] ?? null) : null;
}

/** Whether the run is over now. */
export async function resumeOutside(host: Host, task: Task, run: Run): Promise<boolean> {
  const written = await writtenResult(host, task, run);
  if (written !== null && written !== 'unreadable') {
    const sender = { channel: 'file', run: run.id, agent: run.agent, actor: agentActor(run.agent) } as const;
    const { store, config, now, runs, dir, workspace } = host;
    const judge = (claimed: Task): Promise<readonly string[]> => finishVerdict(host, claimed);
    const options = { store, config, now, runs, dir, workspace, judge };
    const { message, report } = written;
    const { result, events } = await applyClaim(options, { message, sender }, task, report);
    return result === 'accepted' && events.length > 0;
  }
  const until = await aliveUntil(host.dir, task.id, run);
  if (until !== null && until > host.now()) {
    await host.store.alive(run.id);
    return false;
  }
  // One that never sent a heartbeat was perhaps begun by a program that sends none.
  if (until === null && run.externalId !== undefined) return false;
  const isNews = written === 'unreadable' && !isToldUnreadable(await host.store.history(task.id), run.id);
  const answer = await host.store.send({
    message: {
      type: 'run.resume',
      run: run.id,
      result: isNews ? 'unreadable' : 'none',
      ...(until === null ? {} : { gone: true }),
    },
    by: RUNTIME,
  });
  return answer.kind === 'changed' && !isNews;
}
