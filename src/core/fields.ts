/** JSON values of unknown shape. */
import { pointer } from './problem.ts';

/** An object by its fields, nothing known of them. */
export type Fields = Record<string, unknown>;

export const isFields = (value: unknown): value is Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

/** The value, or undefined where the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The places of a value that another one does not repeat, outermost first: what is lost if the other stands in its stead. */
export function unrepeated(value: unknown, other: unknown, path = ''): string[] {
  if (value === null || typeof value !== 'object') return Object.is(value, other) ? [] : [path];
  if (other === null || typeof other !== 'object') return Object.keys(value).length === 0 ? [] : [path];
  return Object.entries(value).flatMap(([key, child]) => {
    if (child === null) return [];
    return unrepeated(child, Object.hasOwn(other, key) ? (other as Fields)[key] : undefined, path + pointer([key]));
  });
}
