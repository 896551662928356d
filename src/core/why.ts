/** Why a task is as it is, from recorded facts, and what has to happen next. */
import type { Event } from './laws/decision.ts';
import { writerInTheWay } from './laws/writes.ts';
import type { Question } from './question.ts';
import type { StoredRecord } from './store.ts';
import { isFinal, isRunning, type Task } from './task.ts';
import { isoTime } from './time.ts';

interface Fact {
  readonly event: string;
  readonly at: string;
  readonly by: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** What has to happen before the task goes on: a sentence, and what it speaks of. */
type Wait = { readonly text: string } & (
  | { readonly for: 'dependency'; readonly task: string; readonly status: Task['status'] | null }
  | { readonly for: 'writer'; readonly task: string; readonly path: string }
  | { readonly for: 'time'; readonly until: string }
  | {
      readonly for: 'agent';
      readonly agent: string | null;
      readonly role: string | null;
      readonly team: string | null;
      readonly tags: readonly string[];
    }
  | { readonly for: 'run'; readonly run: string; readonly until: string }
  | { readonly for: 'evidence'; readonly run: string }
  | {
      readonly for: 'person';
      readonly try: readonly string[];
      /** By this name it stands in the inbox; absent where nothing is asked there. */
      readonly ask?: string;
    }
);

export interface Why {
  readonly id: string;
  readonly status: Task['status'];
  /** Oldest first. */
  readonly because: readonly Fact[];
  readonly waitsFor: readonly Wait[];
}

type Find = (id: string) => Task | undefined;

/**
 * `writers`: the tasks in progress, or at least those of them that say what they write. `questions`: what this task asked and nobody has
 * answered.
 */
export const why = (
  task: Task,
  history: readonly StoredRecord[],
  find: Find,
  now: number,
  writers: Iterable<Task> = [],
  questions: readonly Question[] = [],
): Why => ({
  id: task.id,
  status: task.status,
  because: because(task, history),
  waitsFor: waitsFor(task, find, now, writers, questions),
});

/** What is told whenever it happened: how it began, and every attempt that failed or was turned away. */
const isToldAlways = ({ type }: Event): boolean =>
  type === 'task.created' ||
  type === 'run.failed' ||
  type === 'run.expired' ||
  type === 'run.stopped' ||
  type === 'question.opened' ||
  type === 'question.answered' ||
  /\.(?:refused|rejected|unreadable)$/.test(type);

/** What may be the reason for a move or for what came of it, and is told from the last move on. */
const REASONS = ['task.transitioned', 'task.fallback', 'run.reported', 'run.resumed', 'run.judged', 'task.retried'];
/** The fields of an edit that change what a task waits for. */
const BEARING = ['dependsOn', 'routing', 'reviewRequired'];

const isReason = ({ type, detail }: Event): boolean =>
  REASONS.includes(type) || (type === 'task.edited' && BEARING.some((field) => detail?.[field] !== undefined));

function because(task: Task, history: readonly StoredRecord[]): Fact[] {
  const last = lastTransition(task, history);
  return history.flatMap((record) => {
    const told = record.events.filter((event) => {
      if (event.task === task.id) return isToldAlways(event) || (record.seq >= last && isReason(event));
      // The failure of another task, where that is what stopped this one.
      return record.seq === last && event.task === task.cause?.task && event.type === 'task.transitioned';
    });
    return told.map((event) => factOf(record, event, task.id));
  });
}

const factOf = ({ at, by }: StoredRecord, { type, task, run, detail }: Event, of: string): Fact => ({
  event: type,
  at: isoTime(at),
  by: by.name,
  detail: {
    ...(task === undefined || task === of ? {} : { task }),
    ...(run === undefined ? {} : { run }),
    ...detail,
  },
});

/** The number of the record in which the task took the status it has; 0 where it has never had another. */
const lastTransition = (task: Task, history: readonly StoredRecord[]): number =>
  history.findLast(({ events }) => events.some((event) => event.task === task.id && event.type === 'task.transitioned'))
    ?.seq ?? 0;

function waitsFor(
  task: Task,
  find: Find,
  now: number,
  writers: Iterable<Task>,
  questions: readonly Question[],
): Wait[] {
  if (isFinal(task.status)) return [];
  if (questions.length > 0 && (task.status === 'review' || task.status === 'blocked')) return questions.map(forAnswer);
  switch (task.status) {
    case 'backlog':
      return [...openDependencies(task, find), person('a person to make it ready', `baton task move ${task.id} ready`)];
    case 'ready':
      return whenReady(task, find, now, writers);
    case 'in-progress':
      return [atWork(task)];
    case 'review':
      return [inReview(task)];
    case 'blocked':
      return [whenBlocked(task, find)];
    default:
      return [asked(task.id, 'a person to try it again', `baton task retry ${task.id}`)];
  }
}

const person = (text: string, ...tries: string[]): Wait => ({ for: 'person', text, try: tries });

/** For an item of the inbox that goes by this name. */
const asked = (ask: string, text: string, ...tries: string[]): Wait => ({ for: 'person', ask, text, try: tries });

/** The commands by which a person answers. */
const approving = (id: string): string[] => [
  `baton approve ${id}`,
  `baton changes ${id} --comment "…"`,
  `baton reject ${id}`,
];

const forAnswer = ({ id, kind, question }: Question): Wait =>
  asked(
    id,
    `an answer to ${id}: ${question}`,
    ...(kind === 'approval' ? approving(id) : [`baton answer ${id} "…"`, `baton reject ${id}`]),
  );

/** Whether a task in review is there for a person, and not for the runtime, which looks at evidence. */
export const isForPerson = (task: Task): boolean =>
  task.cause !== null || task.reviewRequired || task.run === null || task.run.outcome !== 'done';

function openDependencies(task: Task, find: Find): Wait[] {
  return task.dependsOn.flatMap((id): Wait[] => {
    const status = find(id)?.status ?? null;
    if (status === 'done') return [];
    return [{ for: 'dependency', text: `${id} to be done; it is ${status ?? 'unknown'}`, task: id, status }];
  });
}

function whenReady(task: Task, find: Find, now: number, writers: Iterable<Task>): Wait[] {
  const before = openDependencies(task, find);
  if (task.availableAt > now) {
    const until = isoTime(task.availableAt);
    before.push({ for: 'time', text: `${until}, when it may be tried again`, until });
  }
  const writer = writerInTheWay(task, writers, find);
  if (writer !== null) {
    const { path, task: other } = writer;
    before.push({ for: 'writer', text: `${other.id} to stop writing ${path}`, task: other.id, path });
  }
  return before.length > 0 ? before : [forAgent(task)];
}

function forAgent({ routing: { agent, role, team, tags } }: Task): Wait {
  const asked = [
    ...(role === null ? [] : [`with the role ${role}`]),
    ...(team === null ? [] : [`of the team ${team}`]),
    ...(tags.length === 0 ? [] : [`with the tags ${tags.join(', ')}`]),
  ];
  const who = agent !== null ? `the agent ${agent}` : asked.length > 0 ? `an agent ${asked.join(' ')}` : 'any agent';
  return { for: 'agent', text: `${who} to take it`, agent, role, team, tags };
}

function atWork(task: Task): Wait {
  if (task.run === null || !isRunning(task)) {
    return person('whoever moved it to in-progress by hand to move it on', `baton task move ${task.id} review`);
  }
  const until = isoTime(task.availableAt);
  const text = `the report of ${task.run.id} by ${task.run.agent}, which counts as alive until ${until} and longer with every sign of life`;
  return { for: 'run', text, run: task.run.id, until };
}

function inReview(task: Task): Wait {
  if (!isForPerson(task)) {
    const run = task.run?.id ?? '';
    return { for: 'evidence', text: `the runtime to check the evidence for what ${run} claims`, run };
  }
  const text =
    task.cause !== null
      ? `a person to look at it: ${task.cause.message}`
      : task.reviewRequired || task.run === null
        ? 'the review of a person'
        : `the review of a person, since its agent says: ${task.run.outcome ?? 'nothing'}`;
  return asked(task.id, text, ...approving(task.id), `baton task retry ${task.id}`);
}

function whenBlocked(task: Task, find: Find): Wait {
  const { cause } = task;
  if (cause?.code !== 'E_DEPENDENCY_FAILED' || cause.task === undefined) {
    const text = `a person to make it ready again${cause === null ? '' : `: ${cause.message}`}`;
    return asked(task.id, text, `baton answer ${task.id} "…"`, `baton task move ${task.id} ready`);
  }
  const status = find(cause.task)?.status ?? null;
  const way =
    status === 'deadletter' ? `try: baton task retry ${cause.task}` : 'that is final; take it out of dependsOn';
  const text = `${cause.task} to be done; it is ${status ?? 'unknown'} (${way})`;
  return { for: 'dependency', text, task: cause.task, status };
}
