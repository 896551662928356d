/** Words of a program, fit for a record: of one line, without control characters, and short. */

import { clip } from '../core/words.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { type Json, textOf } from './json.ts';

/** The beginning of a text, on one line. */
export function brief(text: string, max = 200): string {
  // Cut first, so that a text of megabytes costs no more than a short one.
  const line = stripControls(text.slice(0, max * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return clip(line, max);
}

/** The arguments that say best what a tool is used for, over all programs. */
const TELLING = [
  'command',
  'cmd',
  'file_path',
  'filePath',
  'absolute_path',
  'notebook_path',
  'path',
  'dir_path',
  'pattern',
  'query',
  'url',
  'description',
  'prompt',
  'name',
  'title',
  'line',
] as const;

/** What a tool is used for, in a few words. */
export function toolDetail(input: Json | null): string {
  if (input === null) return '';
  for (const key of TELLING) {
    const value = input[key];
    const text = Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(' ') : textOf(value);
    if (text !== null && text !== '') return brief(text);
  }
  return '';
}
