/** A node that is not to be built upon any more takes with it all that was made from it. */
import type { Draft } from './draft.ts';

/** The nodes that were marked here; those that were so before stay as they are. */
export function markStale(draft: Draft, ids: readonly string[], because: string, from: string | null): string[] {
  const marked: string[] = [];
  const open = ids.map((id) => ({ id, because, from }));
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const node = draft.graph.node(next.id);
    if (node === undefined || node.stale !== null) continue;
    draft.graph.set(node.id, { stale: { at: draft.now, because: next.because, from: next.from } });
    draft.event('node.stale', node.task, node.run, { node: node.id, because: next.because, from: next.from });
    marked.push(node.id);
    const root = next.from ?? node.id;
    for (const id of draft.graph.downstream(node.id)) {
      open.push({ id, because: `its source ${node.id} is stale`, from: root });
    }
  }
  return marked;
}
