/**
 * `tasks/<status>/<id>.md`: YAML frontmatter between `---` lines, then the body, byte for byte (DECISIONS §2).
 *
 * Unknown fields keep their values; written are the known fields in the document's order, then the others.
 */
import { error, hasError, type Problem } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import { toProblems, validator } from '../text/validate.ts';
import { readYaml, writeYaml } from '../text/yaml.ts';
import { inOrder } from './encode.ts';
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
  const fields = inOrder(frontmatter, ORDER);
  // An empty mapping would be written `{}`; nothing between the lines says the same.
  return `---\n${Object.keys(fields).length === 0 ? '' : writeYaml(fields)}---\n${body}`;
}

const ORDER = Object.keys(TaskFrontmatter.shape);
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
