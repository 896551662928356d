import { describe, expect, test } from 'vitest';
import {
  type Budget,
  budgetFor,
  type Command,
  decodeCommand,
  limitFor,
  smartLimit,
} from '../../../src/protocol/command/index.ts';

const budget = (line: string): Budget => {
  const read = decodeCommand(line);
  expect(read.valid, line).toBe(true);
  return budgetFor(read.value as Command);
};
const list = (
  maxItems: number,
  tokensPerItem: number,
  totalTokens: number | null = null,
  sureItems = maxItems,
): Budget => ({ kind: 'list', maxItems, sureItems, tokensPerItem, totalTokens });
const text = (tokens: number): Budget => ({ kind: 'text', tokens });
const exempt: Budget = { kind: 'exempt' };

test('brief is half, detailed twice, a number itself', () => {
  expect(limitFor({ limit: null }, 10)).toBe(10);
  expect(limitFor({ limit: 'standard' }, 10)).toBe(10);
  expect(limitFor({ limit: 'brief' }, 10)).toBe(5);
  expect(limitFor({ limit: 'brief' }, 15)).toBe(7);
  expect(limitFor({ limit: 'brief' }, 1)).toBe(1);
  expect(limitFor({ limit: 'detailed' }, 15)).toBe(30);
  expect(limitFor({ limit: 25 }, 10)).toBe(25);
  expect(limitFor({ limit: 500 }, 10)).toBe(100);
});

test.each([
  // The document's own examples (§5).
  ['#ASK:topic:brief', list(4, 4)],
  ['#ASK:topic:detailed', list(8, 16, 64, 4)],
  ['#REPORT:agent:status:limit=25', text(25)],
  ['#ERROR:code:desc:detailed', text(20)],
  // The rules and the table.
  ['#ASK:topic', list(4, 8)],
  ['#ASK:topic:limit=50', list(Number.POSITIVE_INFINITY, 50, 50, 1)],
  ['#REPORT:agent:progress', list(4, 8)],
  ['#REPORT:agent:status', text(10)],
  ['#SUMMARY', text(15)],
  ['#ERROR:E001:x', text(10)],
  ['#HELP', list(10, 8)],
  ['#STATE:list', list(5, 8)],
  ['#CHECKPOINT:list', list(5, 8)],
  ['#CHECKPOINT:diff:cp_001', text(20)],
  ['#CHECKPOINT:diff:cp_001:brief', text(10)],
  ['#ROLLBACK:status', text(10)],
  ['#CONTEXT:list:./context/', list(10, 8)],
  // Fixed, or quoted.
  ['#SUBSCRIBE:c', text(5)],
  ['#SUBSCRIBE:c:detailed', text(5)],
  ['#SUBSCRIBE:c:limit=50', text(5)],
  ['#CHECKPOINT:create:manual:x', exempt],
  ['#HEALTH:session', exempt],
  ['#STATE:save:k:v:brief', exempt],
])('%s', (line, expected) => expect(budget(line)).toEqual(expected));

describe('where nothing is asked for, the case decides', () => {
  test.each([
    ['an error of a P0 task', { isError: true, priority: 'P0' }, 'detailed'],
    ['an error of another task', { isError: true, priority: 'P1' }, 'standard'],
    ['a P0 task without an error', { priority: 'P0' }, 'standard'],
    ['routine progress', { topic: 'progress' }, 'brief'],
    ['progress that is an error', { topic: 'progress', isError: true }, 'standard'],
    ['security', { topic: 'security' }, 'detailed'],
    ['an audit', { topic: 'Q3_Audit' }, 'detailed'],
    ['an auditorium', { topic: 'auditorium' }, 'standard'],
    ['a small diff', { filesChanged: 3 }, 'standard'],
    ['a large diff', { filesChanged: 40 }, 'detailed'],
    ['nothing known', {}, 'standard'],
  ] as const)('%s', (_, situation, expected) => expect(smartLimit(null, situation)).toBe(expected));

  test('and what is asked for wins', () => {
    expect(smartLimit('brief', { topic: 'security' })).toBe('brief');
    expect(smartLimit(30, { isError: true, priority: 'P0' })).toBe(30);
  });
});
