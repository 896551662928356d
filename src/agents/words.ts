/** Words of a program, fit for a record: of one line, without control characters, and short. */
import { type Json, textOf } from './json.ts';

/** Escape sequences of terminals, then every control character and every mark that turns the direction of text. */
const ESCAPES = /\u001b(?:\[[0-9;?]{0,32}[ -/]{0,4}[@-~]|\][^\u0007\u001b]{0,512}(?:\u0007|\u001b\\)?|.?)/g;
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** Without escape sequences and control characters; tabs and line ends stay. */
export const printable = (text: string): string => text.replace(ESCAPES, '').replace(CONTROL, '');

/** The beginning of a text, on one line. */
export function brief(text: string, max = 200): string {
  // Cut first, so that a text of megabytes costs no more than a short one.
  const line = printable(text.slice(0, max * 4))
    .replace(/\s+/g, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1).replace(/[\ud800-\udbff]$/, '')}…` : line;
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
