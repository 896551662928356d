/** What once broke the decoders, kept: each text is held to all that must hold of any. `npm run fuzz` adds to them. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { seeded } from '../helpers/random.ts';
import { examine } from './fuzz/examine.ts';
import { cost, type Finding, fuzz } from './fuzz/fuzz.ts';
import { pumped } from './fuzz/generate.ts';

const FIXTURES = new URL('../fixtures/', import.meta.url);
const FOUND = new URL('found/', FIXTURES);

/** Of the processor. What takes the square of its length takes many times as long. */
const MOST_MS = 2000;

describe('what was found once', () => {
  test.each(readdirSync(FOUND))('%s', (name) => {
    const finding = JSON.parse(readFileSync(new URL(name, FOUND), 'utf8')) as Finding;
    const text = 'text' in finding ? finding.text : pumped(finding, finding.times);
    expect(cost(text)).toBeLessThan(MOST_MS);
    if (text.length > 20_000) return;
    for (let seed = 0; seed < 10; seed++) expect(examine(text, seeded(seed))).toEqual([]);
  });
});

test('a hundred texts, from one seed', () => {
  const findings: Finding[] = [];
  fuzz({ seed: 1, fixtures: FIXTURES, timed: false, goesOn: (count) => count < 100, onFound: (f) => findings.push(f) });
  expect(findings).toEqual([]);
});
