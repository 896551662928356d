/** Deeper than any message of the five documents goes, and shallow enough for every recursive reader after us. */
export const MAX_DEPTH = 64;

/** What is unusual about the shape of a decoded value; `proto` is a key `__proto__` of its own, harmless as data. */
type Shape = 'plain' | 'proto' | 'too-deep';

/** Whether a value nests deeper than `MAX_DEPTH` or refers to itself (which is the same to a reader), or has a `__proto__`. */
export const shapeOf = (value: unknown): Shape => (isObject(value) ? walk(value, 1) : 'plain');

export const tooDeep = (value: unknown): boolean => shapeOf(value) === 'too-deep';

function walk(node: object, depth: number): Shape {
  if (depth > MAX_DEPTH) return 'too-deep';
  let shape: Shape = 'plain';
  const visit = (child: unknown): boolean => {
    const found = isObject(child) ? walk(child, depth + 1) : 'plain';
    if (found !== 'plain') shape = found;
    return found === 'too-deep';
  };
  if (Array.isArray(node)) {
    for (let i = 0; i < node.length; i++) if (visit(node[i])) return 'too-deep';
    return shape;
  }
  for (const key in node) {
    if (key === '__proto__') shape = 'proto';
    if (visit((node as Record<string, unknown>)[key])) return 'too-deep';
  }
  return shape;
}

const isObject = (value: unknown): value is object => value !== null && typeof value === 'object';
