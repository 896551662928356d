/** What a run may do and for how long, with every default filled in. Made from a TASK, enforced by the runtime. */

export const NETWORK_LEVELS = ['NONE', 'RESTRICTED', 'FULL'] as const;
export type NetworkLevel = (typeof NETWORK_LEVELS)[number];

export interface Access {
  readonly readPaths: readonly string[];
  /** What may be written may be read too. */
  readonly writePaths: readonly string[];
  /** Inputs in a write path that must not change; a write path that lies in one of them is writable nevertheless. */
  readonly readOnlyPaths?: readonly string[];
  readonly network: NetworkLevel;
}

export interface Budget {
  readonly maxCostUsd: number | null;
  readonly maxTokens: number | null;
}

interface Heartbeat {
  readonly enabled: boolean;
  readonly intervalSeconds: number;
  readonly maxMissedBeats: number;
  readonly onFailure: 'ABORT' | 'WARN' | 'CONTINUE';
}

export interface Policy {
  readonly timeoutSeconds: number;
  readonly terminateOnTimeout: boolean;
  readonly maxRetries: number;
  readonly backoffSeconds: readonly number[];
  readonly abortOnFirstCriticalError: boolean;
  readonly onFailure: 'REPORT_AND_CONTINUE' | 'ABORT_SESSION' | 'RETRY';
  readonly requireFinalSignal: boolean;
  readonly requireMinimalReport: boolean;
  readonly delegationAllowed: boolean;
  readonly heartbeat: Heartbeat;
  readonly budget: Budget;
  readonly access: Access;
}

/** The stricter of the levels that are said; `fallback` where none is. */
export function stricterNetwork(levels: readonly (NetworkLevel | undefined)[], fallback: NetworkLevel): NetworkLevel {
  const said = levels.filter((level) => level !== undefined);
  return NETWORK_LEVELS.find((level) => said.includes(level)) ?? fallback;
}

/** The smaller of the limits that are said; null where none is. */
export function stricterLimit(...limits: (number | undefined)[]): number | null {
  const said = limits.filter((limit) => limit !== undefined);
  return said.length === 0 ? null : Math.min(...said);
}

/**
 * A path by its segments, `.` and `..` resolved; `/` and `\` both separate, drive letters compare in any case. Symlinks are
 * the file system's business: resolve them before asking. A `..` above the root stays at the root.
 */
export function pathSegments(path: string): readonly string[] {
  const parts = path.split(/[\\/]/);
  const segments: string[] = [];
  for (const [i, part] of parts.entries()) {
    if (i === 0) segments.push(/^[A-Za-z]:$/.test(part) ? part.toLowerCase() : part);
    else if (part === '..') segments.length = Math.max(1, segments.length - 1);
    else if (part !== '' && part !== '.') segments.push(part);
  }
  return segments;
}

/** Whether a path is one of the roots or lies below one; `/ws/src-evil` does not lie in `/ws/src`. */
export function isWithin(path: string, roots: readonly string[]): boolean {
  const segments = pathSegments(path);
  return roots.some((root) => {
    const above = pathSegments(root);
    return above.length <= segments.length && above.every((segment, i) => segment === segments[i]);
  });
}
