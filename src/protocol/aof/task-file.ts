/**
 * `tasks/<status>/<id>.md`: YAML frontmatter between `---` lines, then the body, byte for byte.
 *
 * Unknown fields keep their values; written are the known fields in the document's order, then the others.
 *
 * The writer is its own, since a general one takes ten times as long and a store writes a file for every change: block mappings
 * one level deep, within them JSON (which is YAML), and words without quotes where they can be read as nothing else.
 */

import { isFields } from '../../core/fields.ts';
import { error, hasError, type Problem } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import { toProblems, validator } from '../text/validate.ts';
import { nestsDeeper, readYaml } from '../text/yaml.ts';
import { TaskFrontmatter } from './schema.ts';
import { unknownFields } from './unknown-fields.ts';

export interface TaskFile {
  readonly frontmatter: TaskFrontmatter;
  readonly body: string;
}

/** `problems` of a readable file are warnings; their pointers lead into the frontmatter. */
export type ReadTaskFile =
  | { readonly ok: true; readonly task: TaskFile; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function readTaskFile(text: string): ReadTaskFile {
  const parts = split(text.startsWith('\ufeff') ? text.slice(1) : text);
  if (parts === null) return refused('expected a closing --- line after the frontmatter, got none');
  const yaml = readYaml(parts.frontmatter);
  if (!yaml.ok) return refused(`expected YAML between the --- lines, got text that is not: ${yaml.reason}`);
  const frontmatter = yaml.value ?? {};
  if (typeof frontmatter !== 'object' || Array.isArray(frontmatter)) {
    return refused(`expected fields between the --- lines, got ${quote(frontmatter)}`);
  }
  const problems = [
    ...toProblems(issues(frontmatter), frontmatter, 'E_SCHEMA_VALIDATION'),
    ...unknownFields(TaskFrontmatter, frontmatter),
  ];
  if (hasError(problems)) return { ok: false, problems };
  return { ok: true, task: { frontmatter: frontmatter as TaskFrontmatter, body: parts.body }, problems };
}

export function writeTaskFile({ frontmatter, body }: TaskFile): string {
  const yaml = block(frontmatter, plain);
  return `---\n${nestsDeeper(yaml, MOST_OPEN) ? block(frontmatter, escaped) : yaml}---\n${body}`;
}

/** `externalId` stands beside the id that the store gave. */
const ORDER = [...new Set(['id', 'externalId', ...Object.keys(TaskFrontmatter.shape)])];
const KNOWN = new Set(ORDER);
const issues = validator(TaskFrontmatter);

const refused = (sentence: string): ReadTaskFile => ({ ok: false, problems: [error('E_PARSE_FAILURE', '', sentence)] });

const MARK = /^---[ \t]*\r?$/;

/**
 * The first `---` line after the opening one closes the frontmatter; a later one is the body's. A text that does not start with one
 * is all body: a person's plain notes, dropped into a folder. Null where the frontmatter never ends.
 *
 * Lines end at `\n` and nowhere else: `^` with the `m` flag would also stop at a U+2028 inside a value.
 */
function split(text: string): { frontmatter: string; body: string } | null {
  let start = 0;
  let opened = -1;
  while (start <= text.length) {
    const end = text.indexOf('\n', start);
    const line = end < 0 ? text.slice(start) : text.slice(start, end);
    const next = end < 0 ? text.length : end + 1;
    const isMark = MARK.test(line);
    if (opened < 0 && !isMark) return { frontmatter: '', body: text };
    if (opened < 0) opened = next;
    else if (isMark) return { frontmatter: text.slice(opened, start), body: text.slice(next) };
    if (end < 0) return null;
    start = next;
  }
  return null;
}

/** How a text is written: `inFlow` within brackets, where `,` and `]` have a meaning too. */
type Scalar = (text: string, inFlow: boolean) => string;

function block(fields: Readonly<Record<string, unknown>>, scalar: Scalar): string {
  let out = '';
  for (const key of ORDER) if (Object.hasOwn(fields, key)) out += field(`${key}:`, fields[key], scalar);
  for (const key of Object.keys(fields)) if (!KNOWN.has(key)) out += field(keyOf(key, '', scalar), fields[key], scalar);
  return out;
}

function field(start: string, value: unknown, scalar: Scalar): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return `${start} ${scalar(value, false)}\n`;
  if (!isFields(value)) return `${start} ${flow(value, scalar, false)}\n`;
  let lines = '';
  for (const name of Object.keys(value)) {
    const inner = value[name];
    if (inner !== undefined) lines += `${keyOf(name, '  ', scalar)} ${flow(inner, scalar, false)}\n`;
  }
  return lines === '' ? `${start} {}\n` : `${start}\n${lines}`;
}

/** A key of more than 1,024 characters has to be announced by `?` (YAML 1.2 §7.4.2). */
const MOST_KEY = 1000;

function keyOf(key: string, indent: string, scalar: Scalar): string {
  const written = scalar(key, true);
  return written.length > MOST_KEY ? `${indent}? ${written}\n${indent}:` : `${indent}${written}:`;
}

function flow(value: unknown, scalar: Scalar, inFlow: boolean): string {
  if (typeof value === 'string') return scalar(value, inFlow);
  if (typeof value === 'number') return numberOf(value);
  if (value === null || typeof value !== 'object') return String(value ?? null);
  if (Array.isArray(value)) return `[${value.map((item) => flow(item, scalar, true)).join(', ')}]`;
  const pairs = Object.entries(value).filter(([, inner]) => inner !== undefined);
  if (pairs.length === 0) return '{}';
  return `{ ${pairs.map(([key, inner]) => `${keyInFlow(key, scalar)}: ${flow(inner, scalar, true)}`).join(', ')} }`;
}

const keyInFlow = (key: string, scalar: Scalar): string => {
  const written = scalar(key, true);
  return written.length > MOST_KEY ? `? ${written} ` : written;
};

const numberOf = (value: number): string => {
  if (Number.isNaN(value)) return '.nan';
  if (!Number.isFinite(value)) return value < 0 ? '-.inf' : '.inf';
  return Object.is(value, -0) ? '-0' : String(value);
};

/** One word or several, with nothing in them that YAML has a use for; and a time as we write it, which is a text in YAML 1.2. */
const WORDS = /^[A-Za-z](?:[\w ./()+@,;'"!?*%&=-]*[\w./()+@,;'"!?*%&=-])?$/;
const WORD = /^[A-Za-z][\w./@+-]*$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
/** What YAML 1.2 reads as something else than a text, and YAML 1.1 did. */
const OTHER = /^(?:null|true|false|yes|no|on|off|y|n)$/i;

const plain: Scalar = (text, inFlow) => {
  if (!(inFlow ? WORD : WORDS).test(text)) return TIME.test(text) ? text : json(text);
  return text.length <= 5 && OTHER.test(text) ? json(text) : text;
};

/** Nothing in a text may look like structure: see `MOST_OPEN`. */
const escaped: Scalar = (text) => json(text).replace(/[[{?-]/g, unicode);

/** Characters that JSON leaves as they are and YAML, or an editor, would trip over. */
const TRICKY = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g;

const json = (text: string): string => JSON.stringify(text).replace(TRICKY, unicode);

const unicode = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** The reader counts what could open a level, wherever it stands, and gives up at 256; a text full of brackets or dashes would be refused. */
const MOST_OPEN = 100;
