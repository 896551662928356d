/** The runs that this process watches over at this moment, and the ear of each: what is said to a run is given to it, and counts when it ends. */
import type { ErrorCode } from '../core/errors.ts';
import type { Message } from '../protocol/message.ts';
import type { SaidGraph } from './said-graph.ts';

export interface Ear {
  /** A report or a sign of progress. */
  hear(message: Message): {
    readonly result: 'accepted' | 'rejected' | 'ignored';
    readonly reason: string | null;
    readonly code?: ErrorCode;
  };
  /** What the run has said of the knowledge graph so far. */
  graph?(): SaidGraph;
  /** It is going to be asked for what of that was broken. */
  mendGraph?(): void;
  /** Ends the run from outside, as failed. */
  end(code: ErrorCode, message: string): void;
}

export interface LiveRuns {
  /** Returns how to take it out again. */
  add(run: string, ear: Ear): () => void;
  get(run: string): Ear | undefined;
}

export function createLiveRuns(): LiveRuns {
  const ears = new Map<string, Ear>();
  return {
    add(run, ear) {
      ears.set(run, ear);
      return () => {
        if (ears.get(run) === ear) ears.delete(run);
      };
    },
    get: (run) => ears.get(run),
  };
}
