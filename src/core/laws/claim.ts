/** Taking a task for a run: one claimer, one lease, one run. */
import { type Routing, type Run, runId, type Task } from '../task.ts';
import { isoTime } from '../time.ts';
import { type Decision, refused } from './decision.ts';
import { openDependency } from './dependencies.ts';
import type { Draft } from './draft.ts';
import type { Claimer, TaskMessage } from './messages.ts';
import { writerInTheWay } from './writes.ts';

type Claim = Extract<TaskMessage, { type: 'task.claim' }>;

/** Agents are named in any case: a TASK says Emma, config says emma. */
const isSameName = (a: string, b: string): boolean => a === b || a.toLowerCase() === b.toLowerCase();

/** Whoever takes any leaves only what is for an agent it was told to leave. Else by agent, else by role, team and all the tags; a task that says none of these is anybody's. */
export function fits(routing: Routing, claimer: Claimer): boolean {
  const { agent } = routing;
  if (claimer.any === true) return agent === null || claimer.except?.some((name) => isSameName(name, agent)) !== true;
  if (agent !== null) return isSameName(agent, claimer.agent);
  if (routing.role !== null && !claimer.roles?.includes(routing.role)) return false;
  if (routing.team !== null && !claimer.teams?.includes(routing.team)) return false;
  return routing.tags.every((tag) => claimer.tags?.includes(tag));
}

/** What keeps a ready task from being claimed now; null where nothing does. */
function notClaimable(
  task: Task,
  now: number,
  find: (id: string) => Task | undefined,
  writers: Iterable<Task>,
): string | null {
  if (task.status !== 'ready') return `it is ${task.status}`;
  if (task.availableAt > now) return `it may be tried again at ${isoTime(task.availableAt)}`;
  const open = openDependency(task, find);
  if (open !== undefined) return `it waits for ${open}, which is ${find(open)?.status ?? 'unknown'}`;
  const writer = writerInTheWay(task, writers, find);
  return writer === null ? null : `it waits for ${writer.task.id}, which writes ${writer.path}`;
}

/** With a claimer of any it is whoever the task names; one that the task does not name may stand in for it. */
const runner = ({ routing }: Task, { agent, any, instead }: Claimer): string =>
  any === true && instead !== true ? (routing.agent ?? agent) : agent;

/** @param isOver the work is done already, as its report says: no other writer can be in its way any more */
export function claim(draft: Draft, task: Task | undefined, asked: Claim, isOver = false): Decision {
  if (task === undefined) {
    return refused('E_NOTHING_READY', `there is no ready task for ${asked.claimer.agent}`, null);
  }
  const reason = notClaimable(task, draft.now, draft.task, isOver ? [] : draft.slice.writers());
  if (reason !== null) return refused('E_NOT_CLAIMABLE', `${task.id} cannot be claimed: ${reason}`);
  if (draft.heldUntil(task.session) > 0) {
    return refused(
      'E_NOT_CLAIMABLE',
      `${task.id} cannot be claimed: the files of ${task.session} are being rolled back`,
    );
  }
  if (!fits(task.routing, asked.claimer)) {
    return refused('E_NOT_CLAIMABLE', `${task.id} is not for ${asked.claimer.agent}`, `why: baton why ${task.id}`);
  }
  const run: Run = {
    id: runId(task.id, task.runs + 1),
    attempt: task.attempts + 1,
    agent: runner(task, asked.claimer),
    // A model that was given up for another, then the one that was ordered: the claimer may not know either.
    model: task.fallback?.model ?? task.model ?? asked.model ?? asked.claimer.model ?? null,
    startedAt: draft.now,
    endedAt: null,
    status: 'running',
    leaseMs: asked.leaseMs,
    supervisor: asked.supervisor ?? null,
    outcome: null,
  };
  draft.transition(
    task.id,
    'in-progress',
    {
      run,
      runs: task.runs + 1,
      attempts: task.attempts + 1,
      availableAt: draft.now + asked.leaseMs,
      cause: null,
      verdict: null,
    },
    { agent: run.agent },
  );
  draft.event('run.started', task.id, run.id, {
    agent: run.agent,
    attempt: run.attempt,
    ...(run.model === null ? {} : { model: run.model }),
  });
  return draft.decision(task.session, [task.id]);
}
