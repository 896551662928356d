/** The tokens by themselves: how they are compared, and how long a run's is good. */
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { createTokens, personToken, tokenFile } from '../../src/server/http/index.ts';

const compared = vi.hoisted(() => ({ times: 0 }));
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  const timingSafeEqual: typeof crypto.timingSafeEqual = (a, b) => {
    compared.times++;
    return crypto.timingSafeEqual(a, b);
  };
  return { ...crypto, timingSafeEqual };
});

test("every token is compared with the person's in constant time, whatever its length", () => {
  const tokens = createTokens('the-right-one');
  for (const token of ['', 'the-right-on', 'the-right-onf', 'x'.repeat(10_000)])
    expect(tokens.caller(token)).toBeNull();
  expect(tokens.caller('the-right-one')).toEqual({ kind: 'person' });
  expect(compared.times).toBe(5);
});

test("a run's token is its own, is replaced by the next, and ends with the run", () => {
  const tokens = createTokens('person');
  const run = { id: 'TASK-2026-01-01-001-r1', task: 'TASK-2026-01-01-001', agent: 'emma' };
  const first = tokens.open(run);
  expect(first).toMatch(/^[\w-]{43}$/);
  const other = tokens.open({ ...run, id: 'TASK-2026-01-01-001-r2' });
  expect(tokens.caller(first)).toEqual({ kind: 'run', run: run.id, task: run.task, agent: 'emma' });
  const second = tokens.open(run);
  expect([tokens.caller(first), tokens.caller(second)?.kind]).toEqual([null, 'run']);
  tokens.close(run.id);
  tokens.close(run.id);
  expect([tokens.caller(second), tokens.caller(other)?.kind]).toEqual([null, 'run']);
});

test('a file that holds no token is replaced', () => {
  const dir = mkdtempSync(join(tmpdir(), 'baton-token-'));
  try {
    writeFileSync(tokenFile(dir), 'short', { mode: 0o600 });
    const token = personToken(dir);
    expect(readFileSync(tokenFile(dir), 'utf8')).toBe(`${token}\n`);
    expect(statSync(tokenFile(dir)).mode & 0o777).toBe(0o600);
    expect(personToken(dir)).toBe(token);
  } finally {
    rmSync(dir, { recursive: true });
  }
});
