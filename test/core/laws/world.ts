/** A small world for tests of the laws: a state, a clock that is moved, and short words for what is asked most. */
import { expect } from 'vitest';
import { decide } from '../../../src/core/laws/decide.ts';
import type { Decision, Event, Facts, Refusal } from '../../../src/core/laws/decision.ts';
import type { Actor, AnyMessage, Claimer, NewTask, TaskMessage } from '../../../src/core/laws/messages.ts';
import { createState } from '../../../src/core/state.ts';
import type { Task, TaskStatus } from '../../../src/core/task.ts';

export const PERSON: Actor = { kind: 'person', name: 'ann' };
export const AGENT: Actor = { kind: 'agent', name: 'emma' };
export const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
export const UNKNOWN: Actor = { kind: 'unknown', name: 'somebody' };

export const START = Date.UTC(2026, 2, 1, 9);
export const LEASE = 60_000;
export const id = (number: number, day = '2026-03-01'): string => `TASK-${day}-${String(number).padStart(3, '0')}`;

type Of<T extends TaskMessage['type']> = Extract<TaskMessage, { type: T }>;
type Rest<T extends TaskMessage['type']> = Omit<Of<T>, 'type'>;

export type World = ReturnType<typeof createWorld>;

export function createWorld(start = START) {
  const state = createState();
  const journal: Facts[] = [];
  let now = start;

  const ask = (message: AnyMessage, by: Actor = PERSON): Decision => {
    const decision = decide(state, message, by, now);
    if (decision.kind === 'changed') {
      journal.push(decision.facts);
      state.apply(decision.facts);
    }
    return decision;
  };
  const task = (of: string): Task => {
    const found = state.task(of);
    if (found === undefined) throw new Error(`no task ${of}`);
    return found;
  };
  /** Asks what must be taken, and gives what was written down. */
  const ok = (message: AnyMessage, by?: Actor): Facts => {
    const decision = ask(message, by);
    if (decision.kind !== 'changed') throw new Error(`not changed: ${JSON.stringify(decision)}`);
    return decision.facts;
  };
  /** Asks what must be refused. */
  const no = (message: AnyMessage, by?: Actor): Refusal => {
    const before = [...state.all()];
    const decision = ask(message, by);
    // Tasks are replaced, never changed, so it is enough that they are the very same.
    const after = [...state.all()];
    expect(after.length === before.length && after.every((one, i) => one === before[i])).toBe(true);
    if (decision.kind !== 'refused') throw new Error(`not refused: ${JSON.stringify(decision)}`);
    return decision.refusal;
  };
  const add = (...tasks: readonly Partial<NewTask>[]): string[] => [
    ...ok({ type: 'task.add', tasks: tasks.map((task) => ({ title: 'a task', ...task })) }).about,
  ];
  const addOne = (item: Partial<NewTask> = {}): string => add(item)[0] as string;
  const claim = (rest: Partial<Rest<'task.claim'>> = {}): string =>
    task(ok({ type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: LEASE, ...rest }, RUNTIME).about[0] as string)
      .run?.id as string;
  const move = (of: string, to: TaskStatus, by?: Actor): Facts => ok({ type: 'task.move', id: of, to }, by);
  const edit = (of: string, rest: Omit<Rest<'task.edit'>, 'id'>, by?: Actor): Facts =>
    ok({ type: 'task.edit', id: of, ...rest }, by);
  const report = (run: string, rest: Partial<Rest<'run.report'>> = {}): Facts =>
    ok({ type: 'run.report', run, outcome: 'done', ...rest }, AGENT);
  const judge = (run: string, passed: boolean, findings?: readonly string[]): Facts =>
    ok({ type: 'run.judge', run, passed, ...(findings === undefined ? {} : { findings }) }, RUNTIME);
  const fail = (run: string, code = 'E_PROCESS_CRASH'): Facts =>
    ok({ type: 'run.fail', run, code, message: 'it fell over' }, RUNTIME);

  return {
    state,
    journal,
    ask,
    ok,
    no,
    task,
    add,
    addOne,
    claim,
    move,
    edit,
    report,
    judge,
    fail,
    retry: (of: string): Facts => ok({ type: 'task.retry', id: of }),
    cancel: (of: string): Facts => ok({ type: 'task.cancel', id: of }),
    status: (of: string): TaskStatus => task(of).status,
    statuses: (...ids: readonly string[]): TaskStatus[] => ids.map((of) => task(of).status),
    next: (claimer: Claimer = { agent: 'emma' }): string | undefined => state.nextReady(claimer, now),
    now: () => now,
    wait: (ms: number): void => {
      now += ms;
    },
    /** A task that has gone all the way. */
    finish: (of: string): void => {
      const run = claim({ id: of });
      report(run);
      judge(run, true);
    },
    /** A task that is dead: its only attempt failed. */
    kill: (of: string): void => void fail(claim({ id: of }), 'E_PERMISSION_DENIED'),
  };
}

export const eventsOf = (facts: Facts): string[] => facts.events.map(({ type }) => type);
export const eventOf = (facts: Facts, type: string): Event | undefined =>
  facts.events.find((event) => event.type === type);

/** Puts a task into a status by moves that are allowed; from `ready` or, for backlog, from its beginning. */
export function taskIn(world: World, status: TaskStatus): string {
  const of = world.addOne({ status: status === 'backlog' ? 'backlog' : 'ready' });
  if (status === 'in-progress') world.claim({ id: of });
  if (status === 'review' || status === 'done') world.report(world.claim({ id: of }));
  if (status === 'done') world.judge(world.task(of).run?.id as string, true);
  if (status === 'blocked' || status === 'cancelled' || status === 'deadletter') world.move(of, status);
  expect(world.status(of)).toBe(status);
  return of;
}
