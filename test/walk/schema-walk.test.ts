/** Every field of every message does something, and the test that shows it is named. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EFFECTS, type Shown } from './effects.ts';
import { fieldsOf, MESSAGES } from './fields.ts';

/** An object stands for its fields; `extensions` are kept and ignored, as the contract says, and one test shows it for all of them. */
const leaves = (fields: readonly string[]): string[] =>
  fields.filter(
    (field) =>
      !/(?:^|\.)extensions$/.test(field) &&
      !fields.some((other) => other.startsWith(`${field}.`) || other.startsWith(`${field}[].`)),
  );

describe.each(MESSAGES)('%s', (name) => {
  const named = EFFECTS[name];

  test('every field names the test that shows its effect', () => {
    expect(leaves(fieldsOf(name)).filter((field) => !Object.hasOwn(named, field))).toEqual([]);
  });

  test('no line is left of a field that is gone', () => {
    expect(Object.keys(named).filter((field) => !fieldsOf(name).includes(field))).toEqual([]);
  });

  test('every test that is named is there', () => {
    expect([...new Set(Object.values(named))].filter((shown) => !isThere(shown))).toEqual([]);
  });
});

function isThere(shown: Shown): boolean {
  const at = shown.indexOf(': ');
  const text = sourceOf(shown.slice(0, at));
  const title = shown.slice(at + 2);
  return [`'${title}`, `"${title}`, `\`${title}`].some((quoted) => text.includes(quoted));
}

const sources = new Map<string, string>();
function sourceOf(file: string): string {
  const known = sources.get(file) ?? readFileSync(join(import.meta.dirname, '..', file), 'utf8');
  sources.set(file, known);
  return known;
}
