/** Validation commands, really run. */
import { mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../../src/process/start.ts';
import { type Check, OUTPUT_CHARS, type Verdict, validate } from '../../src/workspace/validation.ts';
import { tempFolder, write } from './helpers.ts';

/** Ended; that nobody has asked after it yet does not make it alive. */
const isGone = (pid: string): boolean => {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid.trim()}/stat`, 'utf8'));
  } catch {
    return true;
  }
};

const run = (workspace: string, check: Check, timeoutMs = 20_000): Promise<Verdict> =>
  validate(check, {
    workspace,
    env: { PATH: process.env['PATH'] ?? '' },
    mark: `validation-test-${process.pid}`,
    sandbox: null,
    timeoutMs,
    outputFile: join(workspace, '.out/validation.log'),
    start: startProgram,
  });

test('each expectation is met or not', async () => {
  const ws = tempFolder();
  write(ws, { 'a.txt': 'needle\n', empty: '', 'dist/x.js': 'x' });
  mkdirSync(join(ws, 'hollow'));
  const verdicts: [Check, 'PASS' | 'FAIL', number | null][] = [
    [{ command: 'test -f a.txt' }, 'PASS', 0],
    [{ command: 'exit 3' }, 'FAIL', 3],
    [{ command: 'no-such-program-here' }, 'FAIL', 127],
    [{ command: 'kill -9 $$' }, 'FAIL', null],
    [{ command: 'grep needle a.txt', expects: 'MATCH_FOUND' }, 'PASS', 0],
    [{ command: 'grep straw a.txt', expects: 'MATCH_FOUND' }, 'FAIL', 1],
    [{ command: 'true', expects: 'MATCH_FOUND' }, 'FAIL', 0],
    [{ command: 'echo warned >&2', expects: 'MATCH_FOUND' }, 'FAIL', 0],
    [{ command: 'grep straw a.txt', expects: 'NO_MATCH' }, 'PASS', 1],
    [{ command: 'true', expects: 'NO_MATCH' }, 'PASS', 0],
    [{ command: 'grep needle a.txt', expects: 'NO_MATCH' }, 'FAIL', 0],
    [{ command: 'grep x no-such-file', expects: 'NO_MATCH' }, 'FAIL', 2],
    [{ command: 'echo broken >&2; exit 1', expects: 'NO_MATCH' }, 'FAIL', 1],
    [{ expects: 'FILE_EXISTS', path: 'a.txt' }, 'PASS', null],
    [{ path: 'dist' }, 'PASS', null],
    [{ path: 'hollow' }, 'FAIL', null],
    [{ expects: 'FILE_EXISTS', path: 'empty' }, 'FAIL', null],
    [{ expects: 'FILE_EXISTS', path: 'none' }, 'FAIL', null],
    [{ expects: 'FILE_EXISTS', command: 'dist/x.js' }, 'PASS', null],
    [{ expects: 'FILE_EXISTS', command: 'dist/none.js' }, 'FAIL', null],
    [{ expects: 'FILE_EXISTS', command: 'test -s a.txt' }, 'PASS', 0],
    [{ expects: 'FILE_EXISTS', command: 'echo made > made.txt', path: 'made.txt' }, 'PASS', 0],
    [{ expects: 'FILE_EXISTS', command: 'true', path: 'none' }, 'FAIL', 0],
    [{ expects: 'EXIT_CODE_0', path: 'a.txt' }, 'FAIL', null],
    [{}, 'FAIL', null],
  ];
  for (const [check, status, exitCode] of verdicts) {
    const verdict = await run(ws, check);
    expect({ check, status: verdict.status, exitCode: verdict.exitCode }).toEqual({ check, status, exitCode });
    expect(verdict.reason).not.toBe('');
    expect(verdict.timedOut).toBe(false);
  }
});

test('a file that is named like the command does not stand for it', async () => {
  const ws = tempFolder();
  write(ws, { 'a.txt': 'a', 'exit 1': 'planted', false: 'planted', 'check.sh': 'exit 1' });
  symlinkSync('a.txt', join(ws, 'no-such-program'));
  const fails: Check[] = [
    { command: 'exit 1', path: 'a.txt' },
    { command: 'exit 1' },
    { command: 'false', path: 'a.txt' },
    { command: 'false' },
    { command: 'no-such-program', path: 'a.txt' },
    { command: './check.sh' },
    { command: 'check.sh', path: 'a.txt' },
  ];
  for (const check of fails) {
    const { status } = await run(ws, { ...check, expects: 'FILE_EXISTS' });
    expect({ check, status }).toEqual({ check, status: 'FAIL' });
  }
  const named = await run(ws, { command: './a.txt', path: 'a.txt', expects: 'FILE_EXISTS' });
  expect(named).toMatchObject({ status: 'PASS', exitCode: null });
});

test('all of the output is kept, and its beginning and end are told without control characters', async () => {
  const ws = tempFolder();
  const verdict = await run(ws, { command: 'printf "\\033[31mfirst\\033[0m\\007\\n"; seq 1 20000; echo last >&2' });
  expect(verdict.status).toBe('PASS');
  expect(verdict.output.length).toBeLessThanOrEqual(OUTPUT_CHARS);
  expect(verdict.output).toMatch(/^first\n1\n2\n/);
  expect(verdict.output).toContain('\n[…]\n');
  expect(verdict.output).toMatch(/19999\n20000\n(last\n)?|last\n/);
  const file = readFileSync(join(ws, '.out/validation.log'), 'utf8');
  expect(file).toContain('\x1b[31mfirst');
  expect(file).toContain('\n10000\n');
  const short = await run(ws, { command: 'echo only this' });
  expect(short.output).toBe('only this\n');
  expect(statSync(join(ws, '.out/validation.log')).size).toBe(10);
});

test('a command that hangs is ended with all it started', async () => {
  const ws = tempFolder();
  const command = '(trap "" TERM; echo $$ > pids; sleep 300 & echo $! >> pids; wait; sleep 300) & sleep 300';
  const verdict = await run(ws, { command, expects: 'NO_MATCH' }, 4000);
  expect(verdict).toMatchObject({ status: 'FAIL', timedOut: true, exitCode: null });
  expect(verdict.reason).toMatch(/^E_TIMEOUT: .* within 4 s/);
  const pids = readFileSync(join(ws, 'pids'), 'utf8').trim().split('\n');
  expect(pids).toHaveLength(2);
  expect(pids.map(isGone)).toEqual([true, true]);
});

test('what a command leaves in the background neither holds us up nor stays', async () => {
  const ws = tempFolder();
  const verdict = await run(ws, { command: 'sleep 300 & echo $! > pid; echo done' });
  expect(verdict).toMatchObject({ status: 'PASS', output: 'done\n' });
  expect(isGone(readFileSync(join(ws, 'pid'), 'utf8'))).toBe(true);
});

test('a workspace that is gone is a failure with its reason', async () => {
  const ws = tempFolder();
  const verdict = await validate(
    { command: 'true' },
    {
      workspace: join(ws, 'none'),
      env: {},
      mark: 'm',
      sandbox: null,
      timeoutMs: 5000,
      outputFile: join(ws, 'out.log'),
      start: startProgram,
    },
  );
  expect(verdict.status).toBe('FAIL');
  expect(verdict.reason).toContain('could not be started');
});
