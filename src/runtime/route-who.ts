/** Who may speak of a task: whoever holds its lease, else whom it is for; a run only of its own task and its children. */
import type { Config } from '../core/config.ts';
import { fits } from '../core/laws/claim.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Claimer } from '../core/laws/messages.ts';
import { isRunning, type Run, type Task, taskOfRun } from '../core/task.ts';
import { isAlive } from '../process/identity.ts';
import type { Sender } from './doors.ts';
import { no, type RouterOptions } from './routed.ts';

/** A person who speaks as themselves may speak of any task. */
export const isPerson = ({ agent, run, actor }: Sender): boolean =>
  agent === null && run === null && (actor.kind === 'person' || actor.kind === 'runtime');

/** The task of the run that speaks; a refusal where it is not the current run any more. Null for all who are no run. */
export async function ownTask({ store }: RouterOptions, { run }: Sender): Promise<Task | Refusal | null> {
  if (run === null) return null;
  const task = await store.find(taskOfRun(run) ?? '');
  if (task === undefined) return no('E_NOT_FOUND', `there is no run ${run}`);
  return task.run?.id === run && isRunning(task) ? task : staleRun(task, run);
}

export const isRefusal = (found: Task | Refusal | null): found is Refusal => found !== null && 'code' in found;

export function staleRun(task: Task, run: string): Refusal {
  const current = task.run === null ? 'it has no run' : `its run ${task.run.id} is ${task.run.status}`;
  return no('E_STALE_RUN', `${run} is not the current run of ${task.id}: ${current}, and the task is ${task.status}`);
}

/** What keeps the sender from speaking of a task; null where nothing does. `own` is the task of its run. */
export function notTheirs(config: Config, task: Task, sender: Sender, own: Task | null): Refusal | null {
  if (isPerson(sender)) return null;
  if (own !== null && task.id === own.id) return null;
  if (own !== null && task.parentId !== own.id) {
    return no('E_PERMISSION_DENIED', `${sender.run} may speak of ${own.id} and its children, and not of ${task.id}`);
  }
  if (sender.agent === null) {
    return no('E_PERMISSION_DENIED', `nobody can tell who ${sender.actor.name} is, so it is not heard of ${task.id}`);
  }
  if (task.run !== null && isRunning(task)) {
    if (task.run.agent === sender.agent) return null;
    return no('E_PERMISSION_DENIED', `${task.id} is held by ${task.run.agent}, and this came from ${sender.agent}`);
  }
  if (fits(task.routing, claimerOf(config, sender.agent))) return null;
  return no(
    'E_PERMISSION_DENIED',
    `${task.id} is for ${forWhom(task)}, and this came from ${sender.agent}`,
    `why: baton why ${task.id}`,
  );
}

const forWhom = ({ routing: { agent, role, team, tags } }: Task): string =>
  agent ?? [role, team, ...tags].filter((part) => part !== null).join(', ');

/** An agent with what config says of it. */
function claimerOf(config: Config, agent: string): Claimer {
  const { roles = [], tags = [] } = config.agents[agent] ?? {};
  const teams = Object.keys(config.teams).filter((team) => config.teams[team]?.includes(agent));
  return { agent, roles, teams, tags };
}

/** Somebody watches over this run, here or in another process, and will tell how it ended. */
export const isWatched = ({ supervisor }: Run): boolean => supervisor !== null && isAlive(supervisor) !== 'gone';
