/** Looking into JSON that somebody else wrote: nothing here throws, and what is not there is null. */
import { isFields } from '../core/fields.ts';

export type Json = Readonly<Record<string, unknown>>;

export const objectOf = (value: unknown): Json | null => (isFields(value) ? value : null);

export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export const countOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** The value at the end of a path of keys. */
export function at(value: unknown, ...keys: readonly string[]): unknown {
  let here: unknown = value;
  for (const key of keys) {
    const object = objectOf(here);
    if (object === null || !Object.hasOwn(object, key)) return null;
    here = object[key];
  }
  return here;
}

/** The object that a line holds; null where it holds none. */
export function parseObject(line: string): Json | null {
  if (!line.trimStart().startsWith('{')) return null;
  try {
    return objectOf(JSON.parse(line));
  } catch {
    // Not JSON: programs print warnings between their events, and a killed one stops in the middle of a line.
    return null;
  }
}
