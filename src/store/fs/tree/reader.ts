/**
 * Compares a file of the tree with the state, and says what it means. Nothing is changed here.
 *
 * By hand a person may move a file to another status folder (or change its `status`), edit title, priority, routing, dependsOn, metadata, reviewRequired
 * and the body, and drop a file of their own into `backlog` or `ready`.
 */
import type { NewTask } from '../../../core/laws/messages.ts';
import type { Task, TaskStatus } from '../../../core/task.ts';
import { TASK_STATUSES } from '../../../core/task.ts';
import { parseTime } from '../../../core/time.ts';
import { readTaskFile, type TaskFile } from '../../../protocol/aof/index.ts';
import type { Disk } from '../disk.ts';
import type { Exactly } from './aside.ts';
import { type Changes, editOf, newTaskOf } from './edits.ts';
import { isForeignName, type Place, pathOf, placeOf, stemOf, taskFile } from './paths.ts';
import { asBuffer, digestOf, oursOf, type Stamp, stampOf, textOf } from './stamp.ts';
import { taskText } from './text.ts';

/** What the tree is compared with. */
export interface TreeState {
  task(id: string): Task | undefined;
  body(id: string): string;
  /** The task as a record left it, where that can be had: then an edit of an older file changes only what was edited. */
  asOf?(id: string, seq: number): { readonly task: Task; readonly body: string } | undefined;
}

export interface LookOptions {
  /** The power was lost: a file of ours may be cut short. */
  readonly unclean?: boolean;
}

/** A task's file, as found. `folder` is the status folder that it is in. */
interface Found extends Exactly {
  readonly id: string;
  readonly folder: TaskStatus;
}

export interface Edited extends Found {
  readonly kind: 'edited';
  /** May be empty, where only the form of the text or what is not a person's was changed. */
  readonly changes: Changes;
  /** The fields that a person cannot change, and did. */
  readonly putBack: readonly string[];
}

export interface Moved extends Omit<Edited, 'kind'> {
  readonly kind: 'moved';
  readonly to: TaskStatus;
}

export interface Dropped extends Exactly {
  readonly kind: 'dropped';
  readonly folder: TaskStatus;
  readonly task: NewTask;
}

export type Finding =
  /** Exactly what Baton would write. */
  | { readonly kind: 'same'; readonly id: string; readonly path: string }
  /** Not a task's file, and nobody's business. */
  | { readonly kind: 'foreign'; readonly path: string }
  /** Nothing is there, and nothing is missing. */
  | { readonly kind: 'gone'; readonly path: string }
  /** A task has no file anywhere: to be written. */
  | { readonly kind: 'missing'; readonly id: string }
  /** Exactly what Baton wrote once, and older than the state: to be written again. */
  | (Found & { readonly kind: 'stale' })
  /** Cut short by a loss of power, with nothing of a person in it: to be written again. */
  | (Found & { readonly kind: 'torn' })
  | Edited
  | Moved
  | Dropped
  /** A second file of a task. `isOurs`: a copy that nobody changed, which can go; else it stays and is reported. `counts` is the one that counts. */
  | (Found & { readonly kind: 'duplicate'; readonly isOurs: boolean; readonly counts: string })
  /** Left where it is, and reported. */
  | { readonly kind: 'unreadable'; readonly id: string | null; readonly path: string; readonly reason: string };

/** The most that is read of a task file. */
const MOST_BYTES = 10 * 1024 * 1024;

interface Look {
  readonly disk: Disk;
  readonly root: string;
  readonly place: Place;
  readonly path: string;
  readonly state: TreeState;
  readonly isUnclean: boolean;
}

/** What a path in a status folder means. */
export function look(disk: Disk, root: string, path: string, state: TreeState, options: LookOptions = {}): Finding {
  const place = placeOf(root, path);
  if (place === null || isForeignName(place.name)) return { kind: 'foreign', path };
  const at: Look = { disk, root, place, path: pathOf(root, place), state, isUnclean: options.unclean ?? false };
  try {
    return lookAt(at);
  } catch (cause) {
    // A file that may not be read, or a text that is gone, harms nothing else.
    const { code, message } = cause as NodeJS.ErrnoException;
    if (typeof code !== 'string') throw cause;
    return unreadable(at, message);
  }
}

function lookAt(at: Look): Finding {
  const { disk, place, path, state } = at;
  const stat = disk.stat(at.path);
  if (stat === null) return absent(at);
  if (stat.kind === 'folder') return { kind: 'foreign', path };
  if (stat.kind === 'other') return unreadable(at, 'expected a file, got a link or a device');
  if (stat.size > MOST_BYTES) return unreadable(at, `expected at most ${MOST_BYTES} bytes, got ${stat.size}`);
  const bytes = disk.read(at.path);
  if (bytes === null) return absent(at);
  const task = state.task(stemOf(place.name));
  return task === undefined ? unknownFile(at, bytes) : knownFile(at, bytes, task);
}

const unreadable = ({ place, path, state }: Look, reason: string): Finding => {
  const id = stemOf(place.name);
  return { kind: 'unreadable', id: state.task(id) === undefined ? null : id, path, reason };
};

const foundAt = ({ place, path }: Look, id: string, bytes: Uint8Array): Found => ({
  id,
  path,
  folder: place.status,
  digest: digestOf(bytes),
});

/** A file that has gone from where its task should be is missing, unless it is somewhere else: then that is what counts. */
function absent({ disk, root, place, path, state }: Look): Finding {
  const id = stemOf(place.name);
  const isElsewhere = (): boolean => TASK_STATUSES.some((each) => disk.stat(taskFile(root, each, id)) !== null);
  return state.task(id) === undefined || isElsewhere() ? { kind: 'gone', path } : { kind: 'missing', id };
}

function knownFile(at: Look, bytes: Uint8Array, task: Task): Finding {
  const { place, state } = at;
  const ours = oursOf(bytes);
  const isInPlace = place.status === task.status;
  const body = state.body(task.id);
  if (ours !== null && isInPlace && isText(bytes, taskText(task, body, ours.seq))) {
    return { kind: 'same', id: task.id, path: at.path };
  }
  const found = foundAt(at, task.id, bytes);
  const counts = isInPlace ? null : otherThatCounts(at, task, bytes);
  const isNobodys = ours === null && isTorn(at, bytes, task, body);
  if (counts !== null) return secondFile(at, found, bytes, task, ours !== null || isNobodys, counts);
  if (ours !== null) {
    const to = moveOf(at, task, statusIn(bytes), statusIn(bytes));
    return to === null ? { ...found, kind: 'stale' } : { ...found, kind: 'moved', to, changes: {}, putBack: [] };
  }
  if (isNobodys) return { ...found, kind: 'torn' };
  const file = parse(bytes);
  if (typeof file === 'string') return unreadable(at, file);
  return editedFile(at, found, stampOf(bytes), file, task);
}

/** A copy; or the file of before a move, which somebody edited while the task moved on: it lies where Baton wrote it, and says something. */
function secondFile(at: Look, found: Found, bytes: Uint8Array, task: Task, isOurs: boolean, counts: string): Finding {
  const file = isOurs ? '' : parse(bytes);
  if (typeof file !== 'string') {
    const edited = editedFile(at, found, stampOf(bytes), file, task);
    if (edited.kind === 'edited') return edited;
  }
  return { ...found, kind: 'duplicate', isOurs, counts };
}

const isText = (bytes: Uint8Array, text: string): boolean => asBuffer(bytes).equals(Buffer.from(text));

/** Of two files of one task the one with the later stamp counts; of two alike, the one in the task's own folder. */
function otherThatCounts({ disk, root }: Look, task: Task, bytes: Uint8Array): string | null {
  const path = taskFile(root, task.status, task.id);
  const other = disk.stat(path)?.kind === 'file' ? disk.read(path) : null;
  if (other === null) return null;
  return (stampOf(bytes)?.seq ?? -1) > (stampOf(other)?.seq ?? -1) ? null : path;
}

/** Of a text that Baton wrote: there, the first such line is the field. */
function statusIn(bytes: Uint8Array): TaskStatus | null {
  const said = /^status: (\S+)$/m.exec(asBuffer(bytes).toString('utf8'))?.[1];
  return TASK_STATUSES.find((status) => status === said) ?? null;
}

/** Where a person wants the task. The folder counts before the field; a file that lies where it was written was not moved. */
function moveOf({ place }: Look, task: Task, written: TaskStatus | null, said: TaskStatus | null): TaskStatus | null {
  const to = place.status !== written ? place.status : said !== null && said !== written ? said : null;
  return to === task.status ? null : to;
}

function editedFile(at: Look, found: Found, stamp: Stamp | null, file: TaskFile, task: Task): Finding {
  const past = stamp === null ? undefined : at.state.asOf?.(task.id, stamp.seq);
  const { frontmatter } = file;
  const base = past ?? { task, body: at.state.body(task.id) };
  const said = frontmatter.status ?? null;
  // Without the record that the file shows: the task's status if nothing has moved since, else what the file says.
  const isOlder = isBefore(frontmatter.lastTransitionAt, task.lastTransitionAt);
  const written = past?.task.status ?? (isOlder ? (said ?? at.place.status) : task.status);
  const to = moveOf(at, task, written, said);
  const edit = editOf(
    base.task,
    base.body,
    file,
    past !== undefined || !isBefore(frontmatter.updatedAt, task.updatedAt),
  );
  return to === null ? { ...found, kind: 'edited', ...edit } : { ...found, kind: 'moved', to, ...edit };
}

const isBefore = (said: string | null | undefined, ms: number): boolean => parseTime(said ?? '') < ms;

/**
 * An empty file says nothing, whoever emptied it. After a loss of power, nor does a file of ours that is cut short or has zeros in it: every
 * byte that is there is one that Baton wrote, so there is nothing of a person in it.
 */
const isTorn = ({ isUnclean, state }: Look, bytes: Uint8Array, task: Task, body: string): boolean =>
  bytes.length === 0 || (isUnclean && isCutShort(bytes, task, body, state));

/** Whether all that is there of a file is what Baton wrote. */
export function isCutShort(bytes: Uint8Array, task: Task, body: string, state: TreeState): boolean {
  const stamp = stampOf(bytes);
  // Without its stamp nobody can tell what it was to be; no person writes zeros, and none begins a stamp and stops.
  if (stamp === null) return bytes.includes(0) || isStartOfStamp(asBuffer(bytes).toString('latin1'));
  const then = state.asOf?.(task.id, stamp.seq) ?? { task, body };
  const whole = Buffer.from(taskText(then.task, then.body, stamp.seq));
  return bytes.length <= whole.length && bytes.every((byte, i) => byte === 0 || byte === whole[i]);
}

const STAMP = '---\n# baton ';

const isStartOfStamp = (text: string): boolean =>
  STAMP.startsWith(text) || (text.startsWith(STAMP) && /^[ \da-f]*$/.test(text.slice(STAMP.length)));

function parse(bytes: Uint8Array): TaskFile | string {
  const text = textOf(bytes);
  if (text === null) return 'expected UTF-8, got bytes that are not';
  const read = readTaskFile(text);
  if (read.ok) return read.task;
  return read.problems.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
}

/** A name that the state does not know: a new task, or a copy of a known one's file. */
function unknownFile(at: Look, bytes: Uint8Array): Finding {
  const { place, path, state } = at;
  // An editor may make a file first and fill it later.
  if (isBlank(bytes)) return { kind: 'foreign', path };
  const file = parse(bytes);
  if (typeof file === 'string') return unreadable(at, file);
  // A copy that nobody has changed yet: somebody's template, to be left alone until it says something of its own.
  if (oursOf(bytes) !== null && state.task(file.frontmatter.id ?? '') !== undefined) return { kind: 'foreign', path };
  if (place.status !== 'backlog' && place.status !== 'ready') {
    return unreadable(at, `expected a new task in backlog or ready, got one in ${place.status}`);
  }
  const task = newTaskOf(file, place.name, place.status, (id) => state.task(id) === undefined);
  return { kind: 'dropped', path, folder: place.status, digest: digestOf(bytes), task };
}

const isBlank = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d));
