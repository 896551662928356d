/**
 * What a run may do with each path. The prompt, the flags of agents, the mounts of the sandbox, the run's record and the comparison after
 * the run all ask here. Pure: paths are absolute and symlinks are resolved already.
 */
import { type Access, isWithin, pathSegments } from './policy.ts';

type Right = 'write' | 'read' | 'none';

/**
 * A read path in a write path takes nothing away. Of a write path and a read-only input the one that is more specific wins, the write path
 * where both are the same.
 */
export function rightTo(access: Access, path: string): Right {
  const write = deepest(path, access.writePaths);
  const readOnly = deepest(path, access.readOnlyPaths ?? []);
  if (write > 0 && write >= readOnly) return 'write';
  return write > 0 || readOnly > 0 || isWithin(path, access.readPaths) ? 'read' : 'none';
}

/** How many segments the longest of the roots has that a path lies in; 0 where it lies in none. */
function deepest(path: string, roots: readonly string[]): number {
  return Math.max(0, ...roots.filter((root) => isWithin(path, [root])).map((root) => pathSegments(root).length));
}

/** Each path once, and none that another one of the list holds. */
export const outermost = (paths: readonly string[]): readonly string[] =>
  [...new Set(paths)].filter((path, _, all) => !all.some((other) => other !== path && isWithin(path, [other])));

/** All that may be read: a write path counts too. */
export const readable = ({ readPaths, writePaths }: Access): readonly string[] =>
  outermost([...readPaths, ...writePaths]);

/**
 * What the prompt says about it.
 *
 * @param gaps what this machine does not hold the agent to
 */
export function accessLines(access: Access, gaps: readonly string[] = []): string[] {
  const listed = (paths: readonly string[]): string => (paths.length === 0 ? 'nothing' : paths.join(', '));
  const { writePaths, readOnlyPaths = [], network } = access;
  return [
    `- You may read: ${listed(readable(access))}`,
    `- You may write: ${listed(writePaths)}`,
    ...(readOnlyPaths.length === 0 ? [] : [`- You may not change: ${listed(readOnlyPaths)}`]),
    `- Network: ${network}`,
    ...(gaps.length === 0
      ? []
      : [
          `- Nothing on this machine enforces: ${gaps.join('; ')}. Keep to the limits yourself; Baton compares afterwards.`,
        ]),
  ];
}
