/** The snapshot and the graph's file against what the journal alone says, at the record that each stands for. */
import { isDeepStrictEqual } from 'node:util';
import type { Graph } from '../../core/graph.ts';
import type { Broken } from '../../core/store.ts';
import { expandTask, sparseTask, type Task } from '../../core/task.ts';
import type { Disk } from './disk.ts';
import type { Folded, Mark } from './folded.ts';
import type { Fresh } from './fresh-fold.ts';
import { readGraphFile } from './graph-file.ts';
import type { Layout } from './layout.ts';
import { NO_SEAL } from './seal.ts';
import { readSnapshot } from './snapshot.ts';

interface Kept {
  /** The last record that the snapshot speaks of; null where there is none that can be read. */
  readonly seq: number | null;
  /** To be called at each record; compares what stands for this one. */
  compare(fresh: Fresh): void;
  found(): { readonly snapshot: Broken | null; readonly graph: Broken | null };
}

const GRAPH = 'graph.jsonl';

export function openKept(disk: Disk, layout: Layout, end: Mark, secret: string): Kept {
  const read = readSnapshot(disk, layout, secret, 'also unsealed');
  const file = readGraphFile(disk, layout, end, secret);
  let snapshot = read.kind === 'unusable' ? broken('snapshot.jsonl', null, read.reason) : null;
  // A file of 0.1.0 has no checksum; it is not used, and written anew with one.
  let graph = file.kind === 'unusable' && file.reason !== NO_SEAL ? broken(GRAPH, null, file.reason) : null;
  return {
    seq: read.kind === 'usable' ? read.folded.seq : null,
    compare(fresh) {
      const { seq } = fresh.folded;
      if (read.kind === 'usable' && read.folded.seq === seq) {
        const other = differenceOf(read.folded, fresh.folded);
        if (other !== null) snapshot = broken('snapshot.jsonl', seq, `${other} is not as the journal says`);
      }
      if (file.kind === 'read' && file.mark.seq === seq) {
        const other = graphDifference(file, fresh);
        if (other !== null) graph = broken(GRAPH, seq, `${other} is not as the journal says`);
      }
    },
    found: () => ({ snapshot, graph }),
  };
}

const broken = (where: string, seq: number | null, reason: string): Broken => ({ seq, where, reason });

/** What a snapshot has otherwise than the journal; null where nothing. */
function differenceOf(snapshot: Folded, fresh: Folded): string | null {
  if (snapshot.day !== fresh.day || snapshot.size !== fresh.size) return 'the place of its last record';
  const task = differentKey(tasksOf(snapshot), tasksOf(fresh));
  if (task !== null) return `the task ${task}`;
  const place = differentKey(snapshot.places, fresh.places);
  if (place !== null) return `the place of ${place}`;
  const head = differentKey(snapshot.heads, fresh.heads);
  if (head !== null) return `the last record of the session ${head}`;
  const question = differentKey(byId(snapshot.state.questions()), byId(fresh.state.questions()));
  if (question !== null) return `the question ${question}`;
  const sessions = ({ state }: Folded) => byId([...state.sessions()].map((session) => session.json()));
  const session = differentKey(sessions(snapshot), sessions(fresh));
  if (session !== null) return `the session ${session}`;
  const isSame = isDeepStrictEqual([...snapshot.state.requests()], [...fresh.state.requests()]);
  return isSame ? null : 'the list of requests';
}

function graphDifference(file: { readonly graph: Graph; readonly places: Map<string, number> }, fresh: Fresh) {
  const node = differentKey(byId(file.graph.all()), byId(fresh.graph.all()));
  if (node !== null) return `the node ${node}`;
  const place = differentKey(file.places, fresh.nodePlaces);
  if (place !== null) return `the place of the node ${place}`;
  if (!isDeepStrictEqual([...file.graph.edges()], [...fresh.graph.edges()])) return 'the list of edges';
  const loads = differentKey(new Map(file.graph.allLoads()), new Map(fresh.graph.allLoads()));
  return loads === null ? null : `what ${loads} has loaded`;
}

/** As a snapshot would have them. */
const tasksOf = ({ state }: Folded): Map<string, Task> =>
  new Map([...state.all()].map((task) => [task.id, expandTask(JSON.parse(JSON.stringify(sparseTask(task))))]));

const byId = <T extends { readonly id: string }>(items: Iterable<T>): Map<string, T> =>
  new Map([...items].map((item) => [item.id, item]));

/** The first key whose values differ, or that only one of the two has. */
function differentKey<T>(one: ReadonlyMap<string, T>, other: ReadonlyMap<string, T>): string | null {
  for (const [key, value] of one) if (!isDeepStrictEqual(value, other.get(key))) return key;
  for (const key of other.keys()) if (!one.has(key)) return key;
  return null;
}
