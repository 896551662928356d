/** Values of unknown origin, shown in a problem's sentence. */

import { clip } from '../../core/words.ts';
import { stripControls } from './clean.ts';

const MOST = 60;

/** A short, safe, one-line rendering of what came. */
export function quote(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value !== null && typeof value === 'object') return 'an object';
  if (typeof value !== 'string') return String(value);
  const line = stripControls(value.length > MOST * 4 ? value.slice(0, MOST * 4) : value).replace(/\s+/g, ' ');
  return JSON.stringify(clip(line, MOST));
}
