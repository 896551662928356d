/**
 * Where a task stands: what happens next, and who makes it happen. One function for `baton why`, the inbox and `baton doctor`, so that they
 * cannot disagree. The invariant that the laws keep: a task that is not final is runnable, running, waits for something that is named, or
 * asks a person. A task that does none of these is lost, and `standing` says so.
 */

import { writerInTheWay } from './laws/writes.ts';
import type { Question } from './question.ts';
import { hasFailed, isFinal, isRunning, type Task } from './task.ts';
import { isoTime } from './time.ts';

/** What has to happen before the task goes on: a sentence, and what it speaks of. */
export type Wait = { readonly text: string } & (
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
  /** Accepted work, or work that no check has proven, on its way into its branch. */
  | { readonly for: 'merge'; readonly branch: string | null; readonly try: readonly string[]; readonly ask?: string }
  | {
      readonly for: 'person';
      readonly try: readonly string[];
      /** By this name it stands in the inbox; absent where nothing is asked there. */
      readonly ask?: string;
    }
);

export type Standing =
  /** Done or cancelled: nothing more happens. */
  | { readonly kind: 'final' }
  /** The next worker that fits may take it. */
  | { readonly kind: 'runnable'; readonly waits: readonly Wait[] }
  | { readonly kind: 'running'; readonly waits: readonly Wait[] }
  /** Something that is named has to happen first. */
  | { readonly kind: 'waits'; readonly waits: readonly Wait[] }
  /** A person has to answer; it is in the inbox. */
  | { readonly kind: 'asks'; readonly waits: readonly Wait[] }
  /** Nothing will ever move it, and no person is asked: the invariant is broken. `try` lists the commands that help. */
  | { readonly kind: 'lost'; readonly reason: string; readonly try: readonly string[] };

type Find = (id: string) => Task | undefined;

/** What of the store has to be known beside the task. */
interface Surroundings {
  readonly find: Find;
  readonly now: number;
  /** The tasks in progress, or at least those that say what they write. */
  readonly writers?: Iterable<Task>;
  /** The questions of this task that no person has answered and that still have to be. */
  readonly questions?: readonly Question[];
}

export function standing(task: Task, { find, now, writers = [], questions = [] }: Surroundings): Standing {
  if (isFinal(task.status)) return { kind: 'final' };
  if (questions.length > 0 && (task.status === 'review' || task.status === 'blocked'))
    return asks(...questions.map(forAnswer));
  switch (task.status) {
    case 'backlog':
      return waits(
        ...openDependencies(task, find),
        person('a person to make it ready', `baton task move ${task.id} ready`),
      );
    case 'ready':
      return whenReady(task, find, now, writers);
    case 'in-progress':
      return atWork(task);
    case 'review':
      return inReview(task);
    case 'blocked':
      return whenBlocked(task, find);
    default:
      return asks(asked(task.id, 'a person to try it again', `baton task retry ${task.id}`));
  }
}

/** What `baton why` lists; of a lost task, who can help and how. */
export function waitsOf(place: Standing): readonly Wait[] {
  if (place.kind === 'final') return [];
  return place.kind === 'lost' ? [person(`a person: ${place.reason}`, ...place.try)] : place.waits;
}

const waits = (...list: readonly Wait[]): Standing => ({ kind: 'waits', waits: list });
const asks = (...list: readonly Wait[]): Standing => ({ kind: 'asks', waits: list });
const lost = (reason: string, ...tries: readonly string[]): Standing => ({ kind: 'lost', reason, try: tries });

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
  task.cause !== null ||
  (task.merging === null && (task.reviewRequired || task.run === null || task.run.outcome !== 'done'));

/** What keeps work out of its branch, though nothing is wrong with it. */
const OF_MERGES = ['E_MERGE_WAITS', 'E_MERGE_CONFLICT', 'E_MERGE_REFUSED', 'E_UNPROVEN'];

/** Whether a task in review waits to be merged. */
export const waitsForMerge = ({ merging, cause }: Pick<Task, 'merging' | 'cause'>): boolean =>
  merging !== null || OF_MERGES.includes(cause?.code ?? '');

function openDependencies(task: Task, find: Find): Wait[] {
  return task.dependsOn.flatMap((id): Wait[] => {
    const status = find(id)?.status ?? null;
    if (status === 'done') return [];
    return [{ for: 'dependency', text: `${id} to be done; it is ${status ?? 'unknown'}`, task: id, status }];
  });
}

function whenReady(task: Task, find: Find, now: number, writers: Iterable<Task>): Standing {
  const failed = task.dependsOn.find((id) => hasFailed(find(id)?.status ?? 'cancelled'));
  if (failed !== undefined) {
    const status = find(failed)?.status ?? 'unknown';
    return lost(
      `it is ready, and ${failed}, which it depends on, is ${status}`,
      `baton task edit ${task.id} --depends-on none`,
      `baton task cancel ${task.id}`,
    );
  }
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
  return before.length > 0 ? waits(...before) : { kind: 'runnable', waits: [forAgent(task)] };
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

function atWork(task: Task): Standing {
  if (task.run === null || !isRunning(task)) {
    const text = 'the person or program that moved it to in-progress by hand to report or to move it on';
    return waits(person(text, `baton task move ${task.id} review`, `baton task move ${task.id} ready`));
  }
  const until = isoTime(task.availableAt);
  const text = `the report of ${task.run.id} by ${task.run.agent}, which counts as alive until ${until} and longer with every sign of life`;
  return { kind: 'running', waits: [{ for: 'run', text, run: task.run.id, until }] };
}

function inReview(task: Task): Standing {
  if (waitsForMerge(task)) return toMerge(task);
  if (!isForPerson(task)) {
    const run = task.run?.id ?? '';
    if (task.verdict !== null) {
      return lost(
        `it is in review, ${run} was judged (${task.verdict}), and nothing followed`,
        `baton task move ${task.id} done`,
        `baton task retry ${task.id}`,
      );
    }
    const text = `a Baton that runs (baton work, baton serve) to check the evidence for what ${run} claims`;
    return waits({ for: 'evidence', text, run });
  }
  const text =
    task.cause !== null
      ? `a person to look at it: ${task.cause.message}`
      : task.reviewRequired || task.run === null
        ? 'the review of a person'
        : task.run.silent === true
          ? 'the review of a person, since its agent ended without a report'
          : `the review of a person, since its agent says: ${task.run.outcome ?? 'nothing'}`;
  return asks(asked(task.id, text, ...approving(task.id), `baton task retry ${task.id}`));
}

function toMerge({ id, cause, workspace }: Task): Standing {
  const branch = workspace?.branch ?? null;
  const into = `its work to be merged into ${branch ?? 'its branch'}`;
  // Nothing is asked of a person while Baton is at it.
  if (cause === null) return waits({ for: 'merge', text: into, branch, try: [] });
  return asks({ for: 'merge', text: `${into}: ${cause.message}`, branch, ask: id, try: approving(id) });
}

function whenBlocked(task: Task, find: Find): Standing {
  const { cause } = task;
  if (cause?.code !== 'E_DEPENDENCY_FAILED' || cause.task === undefined) {
    const text = `a person to make it ready again${cause === null ? '' : `: ${cause.message}`}`;
    return asks(asked(task.id, text, `baton answer ${task.id} "…"`, `baton task move ${task.id} ready`));
  }
  const other = cause.task;
  const status = find(other)?.status ?? null;
  const wait = (way: string): Wait => ({
    for: 'dependency',
    text: `${other} to be done; it is ${status ?? 'unknown'} (${way})`,
    task: other,
    status,
  });
  if (status === 'deadletter') return waits(wait(`try: baton task retry ${other}`));
  const tries = [`baton task edit ${task.id} --depends-on none`, `baton task cancel ${task.id}`];
  if (status === 'cancelled') {
    return task.dependsOn.includes(other)
      ? asks(
          wait('that is final; take it out of dependsOn'),
          asked(task.id, 'a person to say whether it goes on without it', ...tries),
        )
      : waits(wait('that is final; the task between them is in the inbox'));
  }
  return lost(`it is blocked because ${other} failed, and ${other} is ${status ?? 'unknown'} now`, ...tries);
}
