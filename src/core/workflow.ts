/**
 * How tasks that come together wait for each other, by the `workflow_pattern` of their session. A task that says itself what it depends on
 * keeps that, and one that names its parent keeps that; the pattern fills in only what is not said.
 *
 * | pattern          | what waits for what                                                                                        |
 * |------------------|------------------------------------------------------------------------------------------------------------|
 * | SINGLE, PARALLEL | nothing waits                                                                                              |
 * | CHAIN            | each for the one before                                                                                    |
 * | MAP_REDUCE       | the last, which reduces, for all the others                                                                |
 * | HIERARCHICAL     | the first is the parent of those that name none; whoever is a parent waits for its children, and then has  |
 * |                  | their results to look at. A child that fails for good blocks its parent as any dependency does             |
 *
 * The other way round, the parent first, would end the parent's run before there is anything of its children to review.
 */

const WORKFLOW_PATTERNS = ['SINGLE', 'CHAIN', 'PARALLEL', 'MAP_REDUCE', 'HIERARCHICAL'] as const;
export type WorkflowPattern = (typeof WORKFLOW_PATTERNS)[number];

/** One of the tasks that come together. */
export interface PatternItem {
  readonly id: string;
  readonly session: string;
  /** Null where nothing is said: as SINGLE. */
  readonly pattern: WorkflowPattern | null;
  /** What it says itself. */
  readonly dependsOn: readonly string[];
  readonly parentId: string | null;
}

/** What the pattern says of one task; a field is missing where the task speaks for itself or the pattern says nothing. */
interface Placed {
  readonly dependsOn?: readonly string[];
  readonly parentId?: string;
}

/** In the order of the items. A session does not reach into another. */
export function inPattern(items: readonly PatternItem[]): readonly Placed[] {
  const sessions = new Map<string, PatternItem[]>();
  for (const item of items) {
    const together = sessions.get(item.session);
    if (together === undefined) sessions.set(item.session, [item]);
    else together.push(item);
  }
  const placed = new Map<PatternItem, Placed>();
  for (const together of sessions.values()) {
    const parents = new Map(together.map((item, place) => [item.id, parentOf(item, place, together)]));
    const waits = waitsOf(together, parents);
    for (const [place, item] of together.entries()) {
      const dependsOn = item.dependsOn.length > 0 ? [] : waits(item, place);
      const parentId = item.parentId === null ? (parents.get(item.id) ?? null) : null;
      placed.set(item, {
        ...(dependsOn.length === 0 ? {} : { dependsOn }),
        ...(parentId === null ? {} : { parentId }),
      });
    }
  }
  return items.map((item) => placed.get(item) ?? {});
}

function parentOf(
  { parentId, pattern, id }: PatternItem,
  place: number,
  together: readonly PatternItem[],
): string | null {
  if (parentId !== null || pattern !== 'HIERARCHICAL' || place === 0) return parentId;
  const first = together[0] as PatternItem;
  // One that stands above the first cannot stand below it too.
  return first.parentId === id ? null : first.id;
}

function waitsOf(
  together: readonly PatternItem[],
  parents: ReadonlyMap<string, string | null>,
): (item: PatternItem, place: number) => readonly string[] {
  const ids = together.map(({ id }) => id);
  const children = new Map<string, string[]>();
  for (const [id, parent] of parents) {
    if (parent === null) continue;
    const list = children.get(parent);
    if (list === undefined) children.set(parent, [id]);
    else list.push(id);
  }
  return ({ id, pattern }, place) => {
    if (pattern === 'CHAIN') return ids.slice(Math.max(place - 1, 0), place);
    if (pattern === 'MAP_REDUCE') return place > 0 && place === ids.length - 1 ? ids.slice(0, -1) : [];
    const own = children.get(id);
    if (pattern !== 'HIERARCHICAL' || own === undefined) return [];
    const waiting = waitingFor(id, together);
    return own.filter((child) => !waiting.has(child));
  };
}

/** Those that wait for a task by their own words, near and far: it cannot wait for them. */
function waitingFor(id: string, together: readonly PatternItem[]): ReadonlySet<string> {
  const waiting = new Set<string>([id]);
  for (let size = 0; size < waiting.size; ) {
    size = waiting.size;
    for (const item of together) if (item.dependsOn.some((other) => waiting.has(other))) waiting.add(item.id);
  }
  return waiting;
}
