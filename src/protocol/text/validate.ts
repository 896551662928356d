/** From a zod schema to problems with a code, a pointer and a sentence that says what was expected and what came. */
import * as z from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import { error, type PathPart, type Problem, pointer } from '../../core/problem.ts';
import { quote } from './quote.ts';

/** Compiling a schema costs more than checking a handful of messages with it; a process that reads only a few never pays for it. */
const COMPILE_AFTER = 16;

/** A message with more problems than this is not a message with a mistake; the first ones say enough. */
export const MOST_PROBLEMS = 100;

type Issue = z.core.$ZodIssue;
export type Validate = (value: unknown) => readonly Issue[];

/** The schema as a function from a value to its issues; compiled once it is seen to be used a lot. */
export function validator(schema: z.ZodType): Validate {
  let calls = 0;
  let compiled: z.ZodType | null = null;
  return (value) => {
    if (compiled === null && ++calls > COMPILE_AFTER) compiled = z.compile(schema);
    if (compiled?.validate(value) === true) return [];
    return issuesOf(schema, value, compiled === null);
  };
}

function issuesOf(schema: z.ZodType, value: unknown, jitless: boolean): readonly Issue[] {
  try {
    return schema.safeParse(value, { jitless }).error?.issues ?? [];
  } catch (cause) {
    // Collecting a hundred thousand issues overflows the parser's stack; the depth of the value cannot, it was looked at before.
    if (!(cause instanceof RangeError)) throw cause;
    return [{ code: 'custom', path: [], message: 'fewer problems than can be listed', input: value }];
  }
}

/** One problem an issue; one a key for unknown keys, since each has a place of its own. The first hundred. */
export function toProblems(
  issues: readonly Issue[],
  root: unknown,
  codeOf: ErrorCode | ((issue: Issue) => ErrorCode),
): Problem[] {
  const problems = withoutEchoes(issues)
    .slice(0, MOST_PROBLEMS)
    .flatMap((issue): Problem[] => {
      const path = issue.path as PathPart[];
      const code = typeof codeOf === 'string' ? codeOf : codeOf(issue);
      if (issue.code !== 'unrecognized_keys') return [error(code, pointer(path), describe(issue, valueAt(root, path)))];
      const keys = issue.keys.slice(0, MOST_PROBLEMS);
      return keys.map((key) => error(code, pointer([...path, key]), `unknown field ${quote(key)}`));
    });
  return problems.slice(0, MOST_PROBLEMS);
}

/** A value of the wrong type may also be called too long; that it is of the wrong type is all there is to say. */
function withoutEchoes(issues: readonly Issue[]): readonly Issue[] {
  const mistyped = new Set(
    issues.filter(({ code }) => code === 'invalid_type').map(({ path }) => pointer(path as PathPart[])),
  );
  if (mistyped.size === 0) return issues;
  return issues.filter(({ code, path }) => code === 'invalid_type' || !mistyped.has(pointer(path as PathPart[])));
}

function describe(issue: Issue, value: unknown): string {
  if (issue.code === 'invalid_key') return `expected a key that starts with x_, got ${quote(issue.path.at(-1))}`;
  return `expected ${expectation(issue)}, got ${quote(value)}`;
}

function expectation(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `${article(issue.expected)} ${issue.expected === 'int' ? 'integer' : issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1 ? quote(issue.values[0]) : `one of ${issue.values.map(String).join(' ')}`;
    case 'too_big':
      return `at most ${issue.maximum}${unit(issue.origin)}`;
    case 'too_small':
      return issue.origin === 'string' ? 'a text that is not empty' : `at least ${issue.minimum}${unit(issue.origin)}`;
    case 'invalid_format':
      return issue.format === 'datetime'
        ? 'a time like 2026-02-26T14:00:00Z'
        : `a text of the form ${issue.pattern ?? issue.format}`;
    case 'invalid_union':
      return issue.discriminator === undefined ? issue.message : `a known ${issue.discriminator}`;
    default:
      return issue.message;
  }
}

const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a');
const unit = (origin: string): string => (origin === 'string' ? ' characters' : origin === 'array' ? ' items' : '');

function valueAt(root: unknown, path: readonly PathPart[]): unknown {
  let at = root;
  for (const part of path) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, part)) return undefined;
    at = (at as Record<PathPart, unknown>)[part];
  }
  return at;
}
