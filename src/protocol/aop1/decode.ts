/** A block → the report it is, with the findings of the document's validation checklist. */
import { error, type Problem, warning } from '../../core/problem.ts';
import { type Message, message } from '../message.ts';
import { charCount } from '../text/clean.ts';
import { quote } from '../text/quote.ts';
import { type Block, createBlockReader, type Found, namedStatuses } from './blocks.ts';
import { checkSummary } from './checklist.ts';
import { SUMMARY_CHARS, SUMMARY_CHARS_MOST, TASK_CHARS } from './limits.ts';

export const STATUSES = ['success', 'failure', 'partial'] as const;
export type Status = (typeof STATUSES)[number];

export interface Aop1Report {
  readonly task: string | null;
  readonly summary: string | null;
  readonly detailsFile: string | null;
  readonly metrics: Readonly<Record<string, string>>;
  /** One of `STATUSES` when the report is valid, else whatever was written. */
  readonly status: string | null;
  readonly timestamps: { readonly start: string | null; readonly end: string | null };
  /** Markers the document does not know, where there are any. */
  readonly unknown?: Readonly<Record<string, string>>;
}

export function decodeAop1({ block, cutOffAfter }: Found): Message {
  const value = readBlock(block);
  return message('aop1', 'report', value, [
    ...checkStatus(value),
    ...checkText(value),
    ...checkMarkers(block),
    ...(value.summary === null ? [] : checkSummary(value.summary)),
    ...(cutOffAfter ? [warning('E_CUT_OFF', '', 'a block that was cut off follows this complete one')] : []),
  ]);
}

function readBlock({ values, unknown }: Block): Aop1Report {
  const file = values.get('DETAILS_FILE') ?? null;
  const said = values.get('STATUS') ?? null;
  return {
    task: values.get('TASK') ?? null,
    summary: values.get('SUMMARY') ?? null,
    detailsFile: file?.toLowerCase() === 'none' ? null : file,
    metrics: readMetrics(values.get('METRICS') ?? ''),
    status: said === null ? null : (readStatus(said) ?? said),
    timestamps: { start: values.get('START') ?? null, end: values.get('END') ?? null },
    ...(unknown.size > 0 ? { unknown: Object.fromEntries(unknown) } : {}),
  };
}

/** The first word, in any case, decoration and words around it allowed: `**SUCCESS** - all green`. Not where it names two. */
function readStatus(said: string): Status | null {
  const word = /^[*_`"']*([A-Za-z]+)(?!\w)/.exec(said)?.[1]?.toLowerCase();
  if (namedStatuses(said).length > 1) return null;
  return STATUSES.find((status) => status === word) ?? null;
}

/** `key: value` pairs, split at commas that are followed by a key and a colon: `1,234` and `12:30:00` survive. */
export function readMetrics(line: string): Record<string, string> {
  const pairs: [string, string][] = [];
  for (const piece of line.split(',')) {
    const key = metricKey(piece);
    const last = pairs.at(-1);
    if (key !== null) pairs.push([key, piece.slice(piece.indexOf(':') + 1)]);
    else if (last) last[1] += `,${piece}`;
  }
  return Object.fromEntries(pairs.map(([key, value]) => [key, value.trim()]).filter(([, value]) => value !== ''));
}

/**
 * The key before the first colon: any words where a blank follows the colon, or one name (`a:1`, not `12:30` or `http://x`). Step by step: one
 * expression for it takes the square of a line of blanks.
 */
function metricKey(piece: string): string | null {
  const colon = piece.indexOf(':');
  const before = piece.slice(0, Math.max(0, colon));
  const key = before.trim();
  if (key === '') return null;
  if (colon === piece.length - 1 || /\s/.test(piece.charAt(colon + 1))) return key;
  const isName = before.trimStart() === key && /^[\w.%/-]+$/.test(key) && /[A-Za-z_]/.test(key);
  return isName && !piece.startsWith('//', colon + 1) ? key : null;
}

function checkStatus({ status }: Aop1Report): Problem[] {
  if (status !== null && (STATUSES as readonly string[]).includes(status)) return [];
  const came = status === null ? 'no [AOP:STATUS]' : quote(status);
  return [error('E_SCHEMA_VALIDATION', '/status', `expected success, failure or partial, got ${came}`)];
}

function checkText({ task, summary, timestamps }: Aop1Report): Problem[] {
  const problems: Problem[] = [];
  if (summary === null) problems.push(error('E_SCHEMA_VALIDATION', '/summary', 'expected an [AOP:SUMMARY], got none'));
  const length = charCount(summary ?? '');
  const limit = SUMMARY_CHARS.other;
  if (length > SUMMARY_CHARS_MOST) {
    problems.push(
      error('E_SCHEMA_VALIDATION', '/summary', `expected at most ${SUMMARY_CHARS_MOST} characters, got ${length}`),
    );
  } else if (length > limit) {
    problems.push(warning('E_PAYLOAD_SIZE_WARNING', '/summary', `expected at most ${limit} characters, got ${length}`));
  }
  if (charCount(task ?? '') > TASK_CHARS) {
    const came = charCount(task ?? '');
    problems.push(warning('E_PAYLOAD_SIZE_WARNING', '/task', `expected at most ${TASK_CHARS} characters, got ${came}`));
  }
  for (const [name, time] of Object.entries(timestamps)) {
    if (time === null || ISO_TIME.test(time)) continue;
    problems.push(warning('E_FIELD_FORM', `/timestamps/${name}`, `expected an ISO 8601 time, got ${quote(time)}`));
  }
  return problems;
}

const ISO_TIME = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d{1,9})?)?\s?(?:Z|[+-]\d{2}:?\d{2})?)?$/i;

const EXPECTED = [
  ['START', '/timestamps/start'],
  ['TASK', '/task'],
  ['DETAILS_FILE', '/detailsFile'],
  ['END', '/timestamps/end'],
] as const;

function checkMarkers({ values, unknown }: Block): Problem[] {
  const missing = EXPECTED.filter(([marker]) => !values.has(marker));
  return [
    ...missing.map(([marker, path]) => warning('E_FIELD_MISSING', path, `expected an [AOP:${marker}], got none`)),
    ...[...unknown.keys()].map((name) =>
      warning('E_FIELD_UNKNOWN', `/unknown/${name}`, `unknown marker [AOP:${name}], kept`),
    ),
  ];
}

export interface AopOutput extends Omit<Aop1Report, 'status' | 'unknown'> {
  readonly status: Status | 'unknown';
}

/** The document's own function, without its faults: paths with spaces, a SUMMARY that comes last, commas in numbers. */
export function parseAOPOutput(text: string): AopOutput {
  const reader = createBlockReader();
  for (const [i, line] of text
    .replace(/^\ufeff/, '')
    .split(/\r\n|\r|\n/)
    .entries())
    reader.line(line, i + 1, false);
  const found = reader.end();
  const report = readBlock(found?.block ?? { line: 0, values: new Map(), unknown: new Map() });
  return {
    task: report.task,
    summary: report.summary?.slice(0, SUMMARY_CHARS_MOST) ?? null,
    detailsFile: report.detailsFile,
    metrics: report.metrics,
    status: STATUSES.find((status) => status === report.status) ?? 'unknown',
    timestamps: report.timestamps,
  };
}
