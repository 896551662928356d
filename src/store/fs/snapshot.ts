/** The state as of one record, so that a start reads it and the journal's tail. A file of lines: a header, a task each, an end, a seal. */
import { join } from 'node:path';
import type { Question } from '../../core/question.ts';
import type { SessionJson } from '../../core/session.ts';
import { expandTask, type SparseTask, sparseTask, type Task } from '../../core/task.ts';
import { type Disk, replaceSynced } from './disk.ts';
import { emptyFold, type Folded, type Mark, type Places } from './folded.ts';
import { fileOf } from './journal-files.ts';
import { FORMAT, type Layout } from './layout.ts';
import { type FileLine, linesOf } from './lines.ts';
import { hashBefore } from './record-hash.ts';
import { BROKEN_SEAL, endsWith, NO_SEAL, sealed, sealedLength } from './seal.ts';

interface Header {
  readonly format: number;
  readonly seq: number;
  readonly day: string | null;
  readonly size: number;
  /** Of the record that it ends with; not in a snapshot of 0.1.0. */
  readonly hash?: string | null;
  readonly tasks: number;
  readonly heads: readonly (readonly [session: string, hash: string])[];
  readonly requests: readonly (readonly [request: string, about: readonly string[]])[];
  /** Not in a snapshot of a Baton that knew none, like what follows. */
  readonly questions?: readonly Question[];
  readonly sessions?: readonly SessionJson[];
  /** The record that the graph's file ends with, and how far nothing is missing in it. */
  readonly graph?: Mark & { readonly base: number };
}

const END = '"end"';
/** Written in pieces of this many tasks, so that work goes on in between. */
const PIECE = 2_000;

/** A snapshot on disk. What is not sealed is not believed: then the whole journal is read. */
export type Snapshot =
  | { readonly kind: 'none' }
  | { readonly kind: 'usable'; readonly folded: Folded }
  /** `by`: written by a Baton that knew no seals, and how far it says that it goes. */
  | { readonly kind: 'unusable'; readonly reason: string; readonly by: Mark | null };

const unusable = (reason: string, by: Mark | null = null): Snapshot => ({ kind: 'unusable', reason, by });

/** `also unsealed`: a file of 0.1.0 too, to compare it with the journal. */
export function readSnapshot(disk: Disk, layout: Layout, secret: string, which?: 'also unsealed'): Snapshot {
  const first = headerLine(disk, layout);
  if (first === null) return disk.stat(layout.snapshot) === null ? { kind: 'none' } : unusable(BROKEN_SEAL);
  const length = sealedLength(disk, layout.snapshot, secret);
  const header = parseHeader(first);
  const start = Buffer.byteLength(first) + 1;
  if (length === null) {
    const isOld = header !== null && !Object.hasOwn(header, 'hash') && endsWith(disk, layout.snapshot, `${END}\n`);
    if (!isOld) return unusable(BROKEN_SEAL);
    const folded = which === undefined ? null : foldOf(header, linesOf(disk, layout.snapshot, start));
    return folded === null ? unusable(NO_SEAL, markIn(header)) : { kind: 'usable', folded };
  }
  if (header?.format !== FORMAT) return unusable(`it has the format ${header?.format}, and ${FORMAT} was expected`);
  if (!isAtItsPlace(disk, layout, header)) return unusable('it does not fit the journal');
  const folded = foldOf(header, linesOf(disk, layout.snapshot, start, length));
  return folded === null ? unusable('it cannot be read') : { kind: 'usable', folded };
}

function headerLine(disk: Disk, layout: Layout): string | null {
  for (const { text } of linesOf(disk, layout.snapshot)) return text;
  return null;
}

function parseHeader(text: string): Header | null {
  try {
    return JSON.parse(text) as Header;
  } catch {
    return null;
  }
}

const markIn = ({ seq, day, size }: Header): Mark => ({ seq, day, size });

/** Whether the record that it ends with stands where it says. A journal that ends before that has lost records, which is another matter. */
function isAtItsPlace(disk: Disk, layout: Layout, { day, size, hash }: Header): boolean {
  if (day === null || (disk.stat(fileOf(layout, day))?.size ?? 0) < size) return true;
  return hashBefore(disk, layout, day, size) === hash;
}

/** Null where the lines are not those of a snapshot. */
function foldOf(header: Header, lines: Iterable<FileLine>): Folded | null {
  const { seq, day, size } = header;
  const folded = Object.assign(emptyFold(), { seq, day, size });
  let left = header.tasks;
  try {
    for (const question of header.questions ?? []) folded.state.loadQuestion(question);
    for (const session of header.sessions ?? []) folded.state.loadSession(session);
    readMarks(folded, header);
    for (const [session, hash] of header.heads) folded.heads.set(session, hash);
    for (const [request, about] of header.requests) folded.state.remember(request, about);
    for (const { text } of lines) {
      if (left === 0) {
        if (text !== END) return null;
        folded.state.loaded();
        return folded;
      }
      const [sparse, last, body] = JSON.parse(text) as [SparseTask, number, number];
      const task = expandTask(sparse);
      folded.state.load(task);
      folded.places.set(task.id, { last, body });
      left--;
    }
  } catch (cause) {
    if (!(cause instanceof SyntaxError) && !(cause instanceof TypeError)) throw cause;
  }
  return null;
}

function readMarks({ graph, seq }: Folded, header: Header): void {
  graph.base = header.graph?.base ?? null;
  if (header.graph === undefined) return;
  const { base: _, ...mark } = header.graph;
  if (mark.seq < seq) graph.from = mark;
}

/** The state at one moment, between two records. Tasks are never changed, only replaced, so that taking it is copying a list. */
export interface Moment {
  readonly header: Header;
  readonly tasks: readonly Task[];
  readonly places: readonly (Places | undefined)[];
}

/** @param hash of the last record; null before the first one */
export function takeMoment(folded: Folded, hash: string | null): Moment {
  const tasks = [...folded.state.all()];
  const { seq, day, size } = folded;
  const { base, from } = folded.graph;
  return {
    header: {
      format: FORMAT,
      seq,
      day,
      size,
      hash,
      tasks: tasks.length,
      heads: [...folded.heads],
      requests: [...folded.state.requests()],
      questions: [...folded.state.questions()],
      sessions: [...folded.state.sessions()].map((session) => session.json()),
      ...(base === null ? {} : { graph: { base, ...(from ?? { seq, day, size }) } }),
    },
    tasks,
    places: tasks.map(({ id }) => folded.places.get(id)),
  };
}

/** The same moment, once all that it knows of the graph is in the graph's own file. */
export function withGraphFile({ header, ...rest }: Moment): Moment {
  const { seq, day, size } = header;
  return { ...rest, header: { ...header, graph: { base: seq, seq, day, size } } };
}

/** To be called when all that the moment knows is durable. */
export async function writeSnapshot(disk: Disk, layout: Layout, moment: Moment, secret: string): Promise<void> {
  disk.mkdir(layout.tmp);
  await replaceSynced(disk, layout.snapshot, sealed(piecesOf(moment), secret), join(layout.tmp, 'snapshot'));
  disk.sync(layout.root);
}

function* piecesOf({ header, tasks, places }: Moment): Generator<string> {
  let text = `${JSON.stringify(header)}\n`;
  for (const [i, task] of tasks.entries()) {
    text += `${JSON.stringify([sparseTask(task), places[i]?.last ?? 0, places[i]?.body ?? 0])}\n`;
    if (i % PIECE < PIECE - 1) continue;
    yield text;
    text = '';
  }
  yield `${text}${END}\n`;
}
