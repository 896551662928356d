/**
 * Text of an agent, made safe to stand inside a block. The document's own parser looks for `[AOP:` anywhere in the text and takes the first match,
 * so a summary that contains `[AOP:STATUS] success` would decide the status of a block that says failure.
 */
import { stripControls } from '../text/clean.ts';

/** Characters that take no room on a screen: with them a marker looks whole to a reader and is not one to a parser that keeps them. */
const UNSEEN = '[ \\t\\u00a0\\u00ad\\u034f\\u2000-\\u200f\\u202f\\u205f-\\u2064\\u3000\\ufe00-\\ufe0f\\ufeff]*';
const MARKER = new RegExp(
  `\\[${['A', 'O', 'P', ':'].map((letter) => UNSEEN + letter).join('')}(?:([A-Za-z_]+)\\])?`,
  'gi',
);

/** `[AOP:STATUS]` becomes `(AOP:STATUS)`: a reader still sees what was said, and no parser takes it for a marker. */
export const defuse = (text: string): string =>
  text.replace(MARKER, (_, name?: string) => (name === undefined ? '(AOP:' : `(AOP:${name})`));

/** On one line, without controls and markers. */
export const oneLine = (text: string): string => defuse(stripControls(text).replace(/\s+/g, ' ')).trim();

/** Metrics are `key: value` pairs parted by commas: a key has neither mark. */
export const metricKey = (text: string): string => oneLine(text).replace(/[,:]+/g, ' ').replace(/\s+/g, ' ').trim();

/** `1,234` and `12:30:00` stay as they are; a comma that would begin another pair (`1, verdict: proven`) does not. */
export const metricValue = (text: string): string =>
  oneLine(text)
    .split(',')
    .reduce((before, piece) => `${before}${piece.includes(':') ? ';' : ','}${piece}`);
