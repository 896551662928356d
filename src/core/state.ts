/** What memory holds: the fold of all records, and the few indices that decisions need. Tasks are never changed, only replaced. */
import { createGraph, type Graph } from './graph.ts';
import type { Change, Facts, Slice } from './laws/decision.ts';
import { writerInTheWay } from './laws/writes.ts';
import { each, insert, type Lists, remove } from './lists.ts';
import type { Question } from './question.ts';
import { createReadyQueue, type ReadyQueue } from './ready-queue.ts';
import { createSession, type MutableSession, type SessionJson } from './session.ts';
import { expandTask, isRunning, isUndone, partsOfId, type Run, type SparseTask, type Task } from './task.ts';

/** How many answered requests are remembered; a retry comes within seconds. */
const REQUESTS = 10_000;

export interface State extends Slice {
  readonly size: number;
  /** How many tasks have a run at this moment. */
  readonly running: number;
  readonly queue: ReadyQueue;
  all(): Iterable<Task>;
  /** The tasks that go by an external id, one in a session. */
  named(externalId: string): readonly string[];
  readonly graph: Graph;
  /** Whether the graph is in memory; where it is not, what is taken in of it is read again when it is asked for. */
  readonly hasGraph: boolean;
  questions(): Iterable<Question>;
  session(id: string): MutableSession | undefined;
  sessions(): Iterable<MutableSession>;
  /** Takes in what was decided. */
  apply(facts: Facts): void;
  /** Takes in a task as a snapshot has it; all of them before anything else happens. */
  load(task: Task): void;
  /** To be called once after loading. */
  loaded(): void;
  loadQuestion(question: Question): void;
  loadSession(session: SessionJson): void;
  /** The tasks that the answer to this request spoke of; undefined where it is not known. */
  answered(request: string): readonly string[] | undefined;
  requests(): Iterable<readonly [string, readonly string[]]>;
  remember(request: string, about: readonly string[]): void;
  /** A sign of life. */
  alive(run: Run, now: number): void;
}

/** @param readGraph where the graph is kept elsewhere until somebody asks for it */
export function createState(readGraph: (() => Graph) | null = null): State {
  let graph: Graph | null = readGraph === null ? createGraph() : null;
  const questions = new Map<string, Question>();
  const open = new Map<string, Question>();
  const byKey = new Map<string, Question>();
  const askedBy: Lists = new Map();
  const takeQuestion = (question: Question): void => {
    if (question.task !== null && !questions.has(question.id)) insert(askedBy, question.task, question.id);
    questions.set(question.id, question);
    if (question.answer === null) open.set(question.id, question);
    else open.delete(question.id);
    const like = byKey.get(question.key);
    if (like === undefined || like.answer === null || question.answer !== null) byKey.set(question.key, question);
  };
  const sessions = new Map<string, MutableSession>();
  const sessionOf = (id: string): MutableSession => {
    const held = sessions.get(id) ?? createSession(id);
    sessions.set(id, held);
    return held;
  };
  const tasks = new Map<string, Task>();
  /** By external id, in whatever sessions. */
  const externalIds: Lists = new Map();
  /** Who waits for whom. A single one, which is the most common, needs no list. */
  const dependents: Lists = new Map();
  const numbers = new Map<string, number>();
  const requests = new Map<string, readonly string[]>();
  const signs = new Map<string, number>();

  const isOpen = (task: Task): boolean => task.dependsOn.every((id) => tasks.get(id)?.status === 'done');
  /** Those in progress that say what they write; few, and mostly none. */
  const writers = new Map<string, Task>();
  const find = (id: string): Task | undefined => tasks.get(id);
  const queue = createReadyQueue(find, isOpen, (task) =>
    writers.size === 0 ? undefined : writerInTheWay(task, writers.values(), find)?.task.id,
  );

  const index = (task: Task): void => {
    const { day, number } = partsOfId(task.id);
    if (number > (numbers.get(day) ?? 0)) numbers.set(day, number);
    if (task.externalId !== null) insert(externalIds, task.externalId, task.id);
  };

  const link = (before: readonly string[], task: Task): void => {
    for (const id of before) if (!task.dependsOn.includes(id)) remove(dependents, id, task.id);
    for (const id of task.dependsOn) if (!before.includes(id)) insert(dependents, id, task.id);
  };

  let running = 0;
  const noteWriter = (task: Task): void => {
    if (task.status === 'in-progress' && task.writes.length > 0) writers.set(task.id, task);
    else if (writers.delete(task.id)) queue.stopped(task.id);
  };

  const take = (change: Change): void => {
    const before = tasks.get(change.task);
    const after = before === undefined ? expandTask(change.set as SparseTask) : { ...before, ...change.set };
    tasks.set(change.task, after);
    running += Number(isRunning(after)) - Number(before !== undefined && isRunning(before));
    noteWriter(after);
    if (before === undefined) index(after);
    if (before === undefined || change.set.dependsOn !== undefined) link(before?.dependsOn ?? [], after);
    if (before?.run?.id !== undefined && after.run?.status !== 'running') signs.delete(before.run.id);
    if (before === undefined || isQueuedAnew(change.set)) queue.put(after, isOpen(after));
    if (after.status === 'done' && before?.status !== 'done') {
      for (const id of each(dependents.get(after.id))) {
        const waiting = tasks.get(id);
        if (waiting !== undefined) queue.put(waiting, isOpen(waiting));
      }
    }
  };

  const state: State = {
    get size() {
      return tasks.size;
    },
    get running() {
      return running;
    },
    queue,
    all: () => tasks.values(),
    task: find,
    byExternalId: (session, externalId) => {
      const own = each(externalIds.get(externalId)).filter((id) => tasks.get(id)?.session === session);
      // A task that was undone gives its name up to the one that is made in its place.
      return own.find((id) => !isUndone(tasks.get(id))) ?? own.at(-1);
    },
    named: (externalId) => each(externalIds.get(externalId)),
    dependents: (id) => each(dependents.get(id)),
    lastNumber: (day) => numbers.get(day) ?? 0,
    nextReady: (claimer, now) => queue.next(claimer, now),
    writers: () => writers.values(),
    get graph() {
      graph ??= (readGraph as () => Graph)();
      return graph;
    },
    get hasGraph() {
      return graph !== null;
    },
    question: (id) => questions.get(id),
    questionLike: (key) => byKey.get(key),
    questionsOf: (task) => each(askedBy.get(task)).map((id) => questions.get(id) as Question),
    openQuestions: () => open.values(),
    questions: () => questions.values(),
    session: (id) => sessions.get(id),
    sessions: () => sessions.values(),
    *tasksOf(session) {
      for (const task of tasks.values()) if (task.session === session) yield task;
    },
    lastQuestion: () => questions.size,
    leaseUntil: (run) => (signs.get(run.id) ?? run.startedAt) + run.leaseMs,
    apply(facts) {
      for (const change of facts.changes) take(change);
      for (const change of facts.graph ?? []) {
        if (change.kind === 'question') takeQuestion(change.question);
        else graph?.take(change);
      }
      for (const { session, put } of facts.sessions ?? []) {
        const held = sessionOf(session);
        for (const change of put) held.put(change);
      }
      if (facts.request !== undefined) state.remember(facts.request, facts.about);
    },
    load(task) {
      tasks.set(task.id, task);
      running += Number(isRunning(task));
      noteWriter(task);
      index(task);
      for (const id of task.dependsOn) insert(dependents, id, task.id);
    },
    loaded() {
      for (const task of tasks.values()) if (task.status === 'ready') queue.put(task, isOpen(task));
    },
    loadQuestion: takeQuestion,
    loadSession: (session) => void sessions.set(session.id, createSession(session.id, session)),
    answered: (request) => requests.get(request),
    requests: () => requests,
    remember(request, about) {
      requests.set(request, about);
      if (requests.size <= REQUESTS) return;
      for (const oldest of requests.keys()) {
        requests.delete(oldest);
        break;
      }
    },
    alive: (run, now) => void signs.set(run.id, now),
  };
  return state;
}

const isQueuedAnew = ({ status, priority, routing, availableAt, dependsOn }: Partial<Task>): boolean =>
  status !== undefined ||
  priority !== undefined ||
  routing !== undefined ||
  availableAt !== undefined ||
  dependsOn !== undefined;
