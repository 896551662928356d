/** Deeper than any message of the five documents goes, and shallow enough for every recursive reader after us. */
export const MAX_DEPTH = 64;

/** Whether a decoded value nests deeper than `MAX_DEPTH`, or refers to itself. Its own recursion is bounded by the same number. */
export const tooDeep = (value: unknown): boolean => value !== null && typeof value === 'object' && deeper(value, 1);

function deeper(node: object, depth: number): boolean {
  if (depth > MAX_DEPTH) return true;
  for (const key in node) {
    const child = (node as Record<string, unknown>)[key];
    if (child !== null && typeof child === 'object' && deeper(child, depth + 1)) return true;
  }
  return false;
}
