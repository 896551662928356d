/** Who speaks in which session, as the channel knows it and never as the line says (DESIGN: Agents). */
import { BatonError } from '../core/errors.ts';
import { nameProblem } from '../core/laws/names.ts';
import type { LockPriority } from '../core/session.ts';
import { DEFAULT_SESSION, isRunning, type Task, type TaskPriority, taskOfRun } from '../core/task.ts';
import type { Sender } from '../runtime/doors.ts';
import type { SessionParts, Voice } from './call.ts';
import { ORCHESTRATOR } from './people.ts';

const PRIORITIES: Readonly<Record<TaskPriority, LockPriority>> = {
  critical: 'P0',
  high: 'P1',
  normal: 'P2',
  low: 'P3',
};

/** The role that lets an agent decide over others. */
const LEADER = 'ORCHESTRATOR';

/** Who can be told neither from a run nor from a person: it is heard, and decides over nobody. */
const SOMEBODY = 'somebody';

/** Throws where a run speaks that is over, or in a session that is not its own. */
export async function voiceOf(
  parts: Pick<SessionParts, 'store' | 'config'>,
  sender: Sender,
  session?: string,
): Promise<Voice> {
  const wrong = session === undefined ? null : nameProblem('a session', session);
  if (wrong !== null) throw new BatonError('E_USAGE', wrong);
  if (sender.run !== null) return voiceOfRun(parts, sender, sender.run, session);
  const { agent, actor } = sender;
  const isPerson = actor.kind === 'person';
  const name = agent ?? (isPerson ? ORCHESTRATOR : SOMEBODY);
  // Who speaks as an agent has that agent's say and no more: else what it locks would be locked against nobody.
  const leads = isPerson && name === ORCHESTRATOR;
  return {
    session: session ?? DEFAULT_SESSION,
    speaker: { agent: name, run: null, priority: 'P2', leads },
    actor,
  };
}

async function voiceOfRun(
  { store, config }: Pick<SessionParts, 'store' | 'config'>,
  { agent, actor }: Sender,
  run: string,
  session: string | undefined,
): Promise<Voice> {
  const task = await store.find(taskOfRun(run) ?? '');
  if (task === undefined || task.run?.id !== run || !isRunning(task)) throw stale(run, task);
  if (session !== undefined && session !== task.session) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `expected ${run} to speak in its own session ${task.session}, got ${session}`,
    );
  }
  const name = agent ?? task.run.agent;
  const leads = mayLead(config, name) && !(await wasHandedOn({ store, config }, task));
  return {
    session: task.session,
    speaker: { agent: name, run, priority: PRIORITIES[task.priority], leads },
    actor,
  };
}

const mayLead = ({ agents }: SessionParts['config'], name: string): boolean =>
  Object.hasOwn(agents, name) && agents[name]?.roles.includes(LEADER) === true;

/** Whether one that does not lead is behind a task: it would else decide over others by handing on to one that does. */
async function wasHandedOn({ store, config }: Pick<SessionParts, 'store' | 'config'>, task: Task): Promise<boolean> {
  for (let one: Task | undefined = task; one !== undefined; ) {
    if (Object.hasOwn(config.agents, one.createdBy) && !mayLead(config, one.createdBy)) return true;
    if (one.parentId === null) return false;
    one = await store.find(one.parentId);
    if (!mayLead(config, one?.run?.agent ?? one?.routing.agent ?? '')) return true;
  }
  return false;
}

const stale = (run: string, task: Task | undefined): BatonError =>
  new BatonError(
    'E_STALE_RUN',
    `${run} is not a run that is under way${task === undefined ? '' : `: ${task.id} is ${task.status}`}`,
  );
