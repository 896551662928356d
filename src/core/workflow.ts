/** How tasks that come together wait for each other, by the pattern of their session (contract §2.2, `workflow_pattern`). */

export const WORKFLOW_PATTERNS = ['SINGLE', 'CHAIN', 'PARALLEL', 'MAP_REDUCE', 'HIERARCHICAL'] as const;
export type WorkflowPattern = (typeof WORKFLOW_PATTERNS)[number];

/** One of the tasks that come together. */
export interface PatternItem {
  readonly id: string;
  readonly session: string;
  readonly pattern: WorkflowPattern | null;
  /** What it says itself. */
  readonly dependsOn: readonly string[];
  readonly parentId: string | null;
}

/** What the pattern says of one task; a field is missing where the task speaks for itself or the pattern says nothing. */
export interface Placed {
  readonly dependsOn?: readonly string[];
  readonly parentId?: string;
}

export function inPattern(items: readonly PatternItem[]): readonly Placed[] {
  return items.map(() => ({}));
}
