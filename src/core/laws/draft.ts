/** A decision in the making: what a law has changed so far is what it sees next. */

import type { Put, RollingBack } from '../session.ts';
import { partsOfId, type Run, type Task, type TaskStatus } from '../task.ts';
import type { Change, Decision, Event, Slice } from './decision.ts';
import { type GraphDraft, openGraphDraft } from './graph-draft.ts';
import type { Actor, Texts } from './messages.ts';

export interface Draft {
  readonly now: number;
  readonly by: Actor;
  readonly slice: Slice;
  readonly graph: GraphDraft;
  /** With what was changed here. */
  task(id: string): Task | undefined;
  dependents(id: string): Iterable<string>;
  /** The highest number that an id of this day has. */
  lastNumber(day: string): number;
  create(task: Task, texts?: Texts): void;
  /** New values of fields; `updatedAt` goes with them. */
  set(id: string, fields: Partial<Task>, texts?: Texts): Task;
  /** A new status, the end of a run that it ends, and the event. Whether it is legal has been asked before. */
  transition(id: string, to: TaskStatus, fields: Partial<Task>, detail?: Readonly<Record<string, unknown>>): Task;
  /** Until when nothing of a session is begun, since its files go back; 0 where they do not. */
  heldUntil(session: string): number;
  /** A value of a session's table; null takes it out. */
  put(session: string, ...change: Put): void;
  event(type: string, task: string | null, run?: string | null, detail?: Readonly<Record<string, unknown>>): void;
  decision(session: string, about: readonly string[]): Decision;
}

export function openDraft(slice: Slice, by: Actor, now: number): Draft {
  const tasks = new Map<string, Task>();
  const changes = new Map<string, { set: Partial<Task>; texts?: Texts }>();
  const events: Event[] = [];
  const made: string[] = [];
  const puts = new Map<string, Put[]>();
  /** Dependents that are made here; the slice does not know them yet. */
  const newDependents = new Map<string, string[]>();

  const find = (id: string): Task | undefined => tasks.get(id) ?? slice.task(id);

  const heldUntil = (session: string): number => {
    const changed = puts.get(session)?.findLast(([table, key]) => table === 'facts' && key === 'rollingBack');
    const held =
      changed === undefined ? slice.session(session)?.fact('rollingBack') : (changed[2] as RollingBack | null);
    return held != null && held.until > now ? held.until : 0;
  };
  /** What is ready while files go back waits until they have. */
  const notYet = ({ status, session, availableAt }: Task): number | null => {
    const until = status === 'ready' ? heldUntil(session) : 0;
    return until > availableAt ? until : null;
  };

  const draft: Draft = {
    now,
    by,
    slice,
    graph: openGraphDraft(slice),
    task: find,
    *dependents(id) {
      yield* slice.dependents(id);
      yield* newDependents.get(id) ?? [];
    },
    lastNumber(day) {
      let last = slice.lastNumber(day);
      for (const id of made) {
        const parts = partsOfId(id);
        if (parts?.day === day) last = Math.max(last, parts.number);
      }
      return last;
    },
    create(given, texts) {
      made.push(given.id);
      const until = notYet(given);
      const task = until === null ? given : { ...given, availableAt: until };
      tasks.set(task.id, task);
      changes.set(task.id, { set: task, ...(texts === undefined ? {} : { texts }) });
      for (const other of task.dependsOn) {
        const list = newDependents.get(other);
        if (list === undefined) newDependents.set(other, [task.id]);
        else list.push(task.id);
      }
    },
    set(id, fields, texts) {
      const before = find(id);
      if (before === undefined) throw new Error(`no task ${id} in this draft`);
      const wanted = { ...before, ...fields, updatedAt: now };
      const until = notYet(wanted);
      const set = { ...fields, updatedAt: now, ...(until === null ? {} : { availableAt: until }) };
      const after = until === null ? wanted : { ...wanted, availableAt: until };
      const change = changes.get(id);
      tasks.set(id, after);
      const allTexts = texts === undefined ? change?.texts : { ...change?.texts, ...texts };
      changes.set(id, { set: { ...change?.set, ...set }, ...(allTexts === undefined ? {} : { texts: allTexts }) });
      return after;
    },
    transition(id, to, fields, detail = {}) {
      const before = find(id);
      if (before === undefined) throw new Error(`no task ${id} in this draft`);
      const ended = before.status === 'in-progress' ? endedRun(before.run, now) : {};
      // What was accepted was accepted in the status that it leaves.
      const merging = before.merging === null ? {} : { merging: null };
      const after = draft.set(id, { status: to, lastTransitionAt: now, ...ended, ...merging, ...fields });
      draft.event('task.transitioned', id, after.run?.id, { from: before.status, to, ...detail });
      return after;
    },
    heldUntil,
    put(session, ...change) {
      const list = puts.get(session);
      if (list === undefined) puts.set(session, [change]);
      else list.push(change);
    },
    event(type, task, run, detail) {
      events.push({
        type,
        ...(task === null ? {} : { task }),
        ...(run === undefined || run === null ? {} : { run }),
        ...(detail === undefined ? {} : { detail }),
      });
    },
    decision(session, about) {
      const list: Change[] = [...changes].map(([task, change]) => ({ task, ...change }));
      const graph = draft.graph.changes;
      const more = {
        ...(graph.length === 0 ? {} : { graph }),
        ...(puts.size === 0 ? {} : { sessions: [...puts].map(([id, put]) => ({ session: id, put })) }),
      };
      return { kind: 'changed', facts: { at: now, session, by, events, changes: list, ...more, about } };
    },
  };
  return draft;
}

/** A task that leaves in-progress by another's will takes its run with it. */
const endedRun = (run: Run | null, now: number): { run?: Run } =>
  run === null || run.status !== 'running' ? {} : { run: { ...run, status: 'cancelled', endedAt: now } };
