/** What the journal alone says, folded from its first record, to compare with what was kept of it. */
import { createGraph, type Graph } from '../../core/graph.ts';
import type { GraphChange } from '../../core/laws/decision.ts';
import { documented, emptyFold, type Folded, fold } from './folded.ts';
import { placeOf } from './place.ts';
import type { Line } from './record.ts';

export interface Fresh {
  readonly folded: Folded;
  readonly graph: Graph;
  /** Where each node's documents are. */
  readonly nodePlaces: Map<string, number>;
}

export function createFresh(): Fresh & { take(record: Line, day: string, start: number, end: number): void } {
  const [folded, graph, nodePlaces] = [emptyFold(), createGraph(), new Map<string, number>()];
  return {
    folded,
    graph,
    nodePlaces,
    take(record, day, start, end) {
      fold(folded, record, day, start, end);
      for (const change of record.graph ?? []) {
        if (change.kind !== 'question') graph.take(change as Exclude<GraphChange, { kind: 'question' }>);
      }
      for (const id of documented(record)) nodePlaces.set(id, placeOf(day, start));
    },
  };
}
