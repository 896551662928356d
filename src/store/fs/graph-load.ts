/** Reading the graph when it is asked for: its file, and what the journal has of it behind that. */
import { createGraph, type Graph } from '../../core/graph.ts';
import type { GraphChange } from '../../core/laws/decision.ts';
import type { Disk } from './disk.ts';
import { documented, type GraphMarks, type Mark } from './folded.ts';
import { type GraphFile, readGraphFile } from './graph-file.ts';
import { journalLines } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { type Damage, damaged } from './load.ts';
import { placeOf } from './place.ts';
import { changesGraph, decodeLine, GRAPH_FIELD, isEnded, type Line, startOfLine } from './record.ts';

interface LoadedGraph {
  readonly graph: Graph;
  readonly places: Map<string, number>;
  readonly base: number;
  readonly from: Mark | null;
  /** Why the file was of no use. */
  readonly problem: string | null;
  /** Records that were passed over; only where that was asked for. */
  readonly damage: readonly Damage[];
}

const BEGINNING: Mark = { seq: 0, day: null, size: 0 };

/** Throws where the journal is damaged, unless it is to be passed over. */
export function loadGraph(
  disk: Disk,
  layout: Layout,
  {
    marks,
    end,
    tolerant,
    secret,
  }: {
    readonly marks: Pick<GraphMarks, 'base' | 'from'>;
    readonly end: Mark;
    readonly tolerant: boolean;
    readonly secret: string;
  },
): LoadedGraph {
  const file = readGraphFile(disk, layout, end, secret);
  const { graph, places } = file.kind === 'read' ? file : { graph: createGraph(), places: new Map<string, number>() };
  const damage: Damage[] = [];
  const report = (found: Damage): void => {
    if (!tolerant) throw damaged(layout, found);
    damage.push(found);
  };
  const start = startOf(file, marks, end);
  let from: Mark | null = null;
  for (const { line, day, start: size } of graphRecords(disk, layout, start, end, report)) {
    from ??= { seq: line.seq - 1, day, size };
    for (const change of line.graph ?? []) {
      if (change.kind === 'question') continue;
      // Of a node whose beginning was damaged, and passed over, nothing is known.
      if (change.kind === 'node' && change.set.id === undefined && graph.node(change.node) === undefined) continue;
      graph.take(change as Exclude<GraphChange, { kind: 'question' }>);
    }
    for (const id of documented(line)) if (graph.node(id) !== undefined) places.set(id, placeOf(day, size));
  }
  const problem = file.kind === 'unusable' ? file.reason : file.kind === 'none' && marks.base ? 'it is gone' : null;
  return { graph, places, base: file.kind === 'read' ? file.mark.seq : 0, from, problem, damage };
}

/** Where to go on in the journal. What is known of a file holds for that file alone. */
function startOf(file: GraphFile, { base, from }: Pick<GraphMarks, 'base' | 'from'>, end: Mark): Mark {
  const known = base === null ? null : (from ?? end);
  if (file.kind === 'read') return base === file.mark.seq && known !== null ? known : file.mark;
  // There never was a file: then nothing of the graph is before what is known.
  return base === 0 && known !== null ? known : BEGINNING;
}

interface Found {
  readonly line: Line;
  readonly day: string;
  readonly start: number;
}

/** The records that change the graph. The others are not parsed; that none is missing is seen by how they begin and end. */
function* graphRecords(
  disk: Disk,
  layout: Layout,
  from: Mark,
  end: Mark,
  report: (damage: Damage) => void,
): Generator<Found> {
  let { seq } = from;
  // Behind the end of a journal that has none there may be what is being written.
  if (seq >= end.seq) return;
  for (const { day, line } of journalLines(disk, layout, from, end)) {
    const { text, start } = line;
    const isNext = line.whole && text.startsWith(startOfLine(seq + 1)) && isEnded(text);
    if (isNext && !text.includes(GRAPH_FIELD)) {
      seq++;
      continue;
    }
    const record = line.whole ? decodeLine(text) : null;
    if (record === null || record.seq !== seq + 1) {
      const reason =
        record === null ? 'it cannot be read' : `it has the number ${record.seq}, and ${seq + 1} was expected`;
      report({ day, offset: start, seq: record?.seq ?? null, reason });
    }
    // What can be read behind the damage still counts.
    if (record === null || record.seq <= seq) continue;
    seq = record.seq;
    if (changesGraph(record)) yield { line: record, day, start };
  }
}
