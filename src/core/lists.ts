/** Indices of many small lists. A single item, which is the most common, needs no list. */

export type Lists = Map<string, string | string[]>;

export const each = (held: string | readonly string[] | undefined): readonly string[] =>
  held === undefined ? [] : typeof held === 'string' ? [held] : held;

export function insert(lists: Lists, key: string, value: string): void {
  const held = lists.get(key);
  if (held === undefined) lists.set(key, value);
  else if (typeof held === 'string') lists.set(key, [held, value]);
  else held.push(value);
}

export function remove(lists: Lists, key: string, value: string): void {
  const left = each(lists.get(key)).filter((item) => item !== value);
  if (left.length === 0) lists.delete(key);
  else lists.set(key, left.length === 1 ? (left[0] as string) : [...left]);
}
