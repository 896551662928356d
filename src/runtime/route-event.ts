/** aop2 EVENTs from outside: signs of life and of progress, and a new priority. The others are the runtime's own to say. */
import { isRunning, type Task, type TaskPriority } from '../core/task.ts';
import type { EventMessage } from '../protocol/aop2/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { progressOf, saysProgress } from './progress.ts';
import { isPerson } from './route-who.ts';
import {
  type Answered,
  accepted,
  committed,
  ignored,
  no,
  note,
  type RouterOptions,
  reject,
  type Said,
} from './routed.ts';

/** The contract's measure for PROGRESS_UPDATE (aop2 §6.2). */
const RECORD_EVERY_MS = 30_000;

/** When the progress of a run was last written down, and what came since. */
export type Told = Map<string, { at: number; waiting: (() => Promise<unknown>) | null }>;

export const isSignOfLife = ({ event }: EventMessage): boolean => event === 'HEARTBEAT' || event === 'PROGRESS_UPDATE';

export async function takeSign(options: RouterOptions, told: Told, said: Said, task: Task): Promise<Answered> {
  const { run } = task;
  if (run === null || !isRunning(task)) {
    return reject(options, said, task, no('E_STALE_RUN', `${task.id} is ${task.status}, and nothing of it runs`));
  }
  await options.store.alive(run.id);
  const ear = options.runs.get(run.id);
  if (ear !== undefined) {
    ear.hear(said.message);
    return accepted(task.id, []);
  }
  const progress = progressOf(said.message.value as EventMessage);
  if (progress === null || !saysProgress(progress)) return accepted(task.id, []);
  const write = (): Promise<readonly string[]> =>
    note(options, said, 'run.progress', { task: task.id, run: run.id }, { ...progress });
  return coalesce(options, told, run.id, write, task.id);
}

/** The first at once, and of those that come too soon after it the latest. */
async function coalesce(
  { now }: RouterOptions,
  told: Told,
  run: string,
  write: () => Promise<readonly string[]>,
  task: string,
): Promise<Answered> {
  const last = told.get(run);
  if (last === undefined || now() - last.at >= RECORD_EVERY_MS) {
    told.set(run, { at: now(), waiting: null });
    return accepted(task, await write());
  }
  if (last.waiting === null) {
    const timer = setTimeout(
      () => {
        const { waiting } = told.get(run) ?? {};
        told.delete(run);
        // Progress that could not be written down is news of yesterday; whoever wrote has been answered.
        waiting?.().catch(() => {});
      },
      last.at + RECORD_EVERY_MS - now(),
    );
    timer.unref();
  }
  last.waiting = write;
  return accepted(task, []);
}

/** Of what an escalation says of itself, so much is kept. */
const REASON_CHARS = 512;
const NAME_CHARS = 200;

export async function takeEvent(options: RouterOptions, said: Said, task: Task, own: Task | null): Promise<Answered> {
  const event = said.message.value as EventMessage;
  if (event.event !== 'PRIORITY_ESCALATION') {
    return ignored(`${event.event} is said by the runtime, not to it`, task.id);
  }
  // An agent does not make its own work more urgent; whoever delegated it may.
  if (!isPerson(said.sender) && (own === null || task.parentId !== own.id)) {
    const who = said.sender.agent ?? said.sender.actor.name;
    return reject(
      options,
      said,
      task,
      no(
        'E_PERMISSION_DENIED',
        `only a person, or who delegated it, says how urgent ${task.id} is, and this came from ${who}`,
      ),
    );
  }
  if (event.new_priority === undefined) {
    return reject(options, said, task, no('E_SCHEMA_VALIDATION', 'expected a new_priority, got none'));
  }
  const answer = await options.store.send({
    message: {
      type: 'task.edit',
      id: task.id,
      priority: event.new_priority.toLowerCase() as TaskPriority,
      ...(event.reason === undefined ? {} : { reason: shorten(event.reason, REASON_CHARS) }),
      ...(event.escalated_by === undefined ? {} : { escalatedBy: shorten(event.escalated_by, NAME_CHARS) }),
    },
    by: said.sender.actor,
  });
  if (answer.kind === 'refused') return reject(options, said, task, answer.refusal);
  if (answer.kind === 'same') return accepted(task.id, [], `${task.id} is ${task.priority} already`);
  return accepted(task.id, committed(answer));
}
