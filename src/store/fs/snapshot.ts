/** The state as of one record, so that a start reads it and the journal's tail. A file of lines: a header, a task each, an end. */
import { join } from 'node:path';
import type { Question } from '../../core/question.ts';
import type { SessionJson } from '../../core/session.ts';
import { expandTask, type SparseTask, sparseTask, type Task } from '../../core/task.ts';
import { type Disk, replaceSynced } from './disk.ts';
import { emptyFold, type Folded, type Mark, type Places } from './folded.ts';
import { FORMAT, type Layout } from './layout.ts';
import { linesOf } from './lines.ts';

interface Header {
  readonly format: number;
  readonly seq: number;
  readonly day: string | null;
  readonly size: number;
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

/** Null where there is none, or none that can be used: then the whole journal is read. */
export function readSnapshot(disk: Disk, layout: Layout): Folded | null {
  const lines = linesOf(disk, layout.snapshot);
  const first = lines.next();
  if (first.done) return null;
  try {
    const header = JSON.parse(first.value.text) as Header;
    if (header.format !== FORMAT) return null;
    const { seq, day, size } = header;
    const folded = Object.assign(emptyFold(), { seq, day, size });
    for (const question of header.questions ?? []) folded.state.loadQuestion(question);
    for (const session of header.sessions ?? []) folded.state.loadSession(session);
    readMarks(folded, header);
    for (const [session, hash] of header.heads) folded.heads.set(session, hash);
    for (const [request, about] of header.requests) folded.state.remember(request, about);
    let left = header.tasks;
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

/** What the snapshot knows of the chains. */
export function readSnapshotHeads(disk: Disk, layout: Layout): Pick<Header, 'seq' | 'heads'> | null {
  for (const { text } of linesOf(disk, layout.snapshot)) {
    try {
      return JSON.parse(text) as Header;
    } catch {
      return null;
    }
  }
  return null;
}

/** The state at one moment, between two records. Tasks are never changed, only replaced, so that taking it is copying a list. */
export interface Moment {
  readonly header: Header;
  readonly tasks: readonly Task[];
  readonly places: readonly (Places | undefined)[];
}

export function takeMoment(folded: Folded): Moment {
  const tasks = [...folded.state.all()];
  const { seq, day, size } = folded;
  const { base, from } = folded.graph;
  return {
    header: {
      format: FORMAT,
      seq,
      day,
      size,
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
export async function writeSnapshot(disk: Disk, layout: Layout, moment: Moment): Promise<void> {
  disk.mkdir(layout.tmp);
  await replaceSynced(disk, layout.snapshot, piecesOf(moment), join(layout.tmp, 'snapshot'));
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
