/** A program is started as it was asked for, or it is said why not. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startProgram } from '../../src/process/start.ts';
import { ENV, newFolder, newMark, sh, start, textOf } from './real.ts';

test('it gets its arguments, its folder, its input and exactly its environment', async () => {
  const cwd = newFolder();
  const mark = newMark();
  const script =
    'console.log(JSON.stringify([process.argv.slice(1), process.cwd(), process.env]));process.stdin.pipe(process.stderr)';
  const program = await start({
    command: ['node', '-e', script, '--', 'a b', '$HOME', ''],
    cwd,
    env: { PATH: ENV.PATH, ONE: 'x' },
    stdin: 'héllo',
    mark,
  });
  const [out, err, exit] = await Promise.all([textOf(program.stdout), textOf(program.stderr), program.exited]);
  expect(JSON.parse(out)).toEqual([['a b', '$HOME', ''], cwd, { PATH: ENV.PATH, ONE: 'x', BATON_RUN_MARK: mark }]);
  expect(err).toBe('héllo');
  expect(exit).toEqual({ code: 0, signal: null });
  expect(program.stdin).toBe(null);
  expect(await program.end(1000)).toEqual({ signal: null, swept: [], left: [] });
});

test('without input there is none, and an open one stays open', async () => {
  expect(await textOf((await sh('cat; echo end')).stdout)).toBe('end\n');
  const program = await sh('read a; echo "got $a"; read b; echo "got $b"', { stdin: 'open' });
  const out = textOf(program.stdout);
  program.stdin?.write('1\n');
  program.stdin?.write('2\n');
  expect(await out).toBe('got 1\ngot 2\n');
});

test('input that nobody reads is no error', async () => {
  const big = 'x'.repeat(5_000_000);
  const [gone, deaf] = [await sh('exec 0<&-; exit 3', { stdin: big }), await sh('sleep 0.2; exit 4', { stdin: big })];
  expect(await gone.exited).toEqual({ code: 3, signal: null });
  expect(await deaf.exited).toEqual({ code: 4, signal: null });
  const open = await sh('exit 0', { stdin: 'open' });
  await open.exited;
  open.stdin?.write(big);
  open.stdin?.end();
  await open.end(0);
  // An error on the stream that nobody handles would end this process here.
  await new Promise((settle) => setImmediate(settle));
});

test('the exit is told while a child still holds the output, and output after it is still there', async () => {
  const program = await sh('(sleep 0.3; echo late) & echo early; exit 2');
  const out = textOf(program.stdout);
  expect(await program.exited).toEqual({ code: 2, signal: null });
  expect(await out).toBe('early\nlate\n');
});

test('one that closes its output works on', async () => {
  const file = join(newFolder(), 'done');
  const program = await sh(`exec >&- 2>&-; sleep 0.2; echo yes > '${file}'; exit 6`);
  expect(await textOf(program.stdout)).toBe('');
  expect(await program.exited).toEqual({ code: 6, signal: null });
});

test('fifty at once', async () => {
  const all = await Promise.all(Array.from({ length: 50 }, (_, i) => sh(`echo ${i}; exit ${i}`)));
  const texts = await Promise.all(all.map((program) => textOf(program.stdout)));
  expect(texts).toEqual(all.map((_, i) => `${i}\n`));
  expect(await Promise.all(all.map((program) => program.exited))).toEqual(
    all.map((_, i) => ({ code: i, signal: null })),
  );
  for (const ended of await Promise.all(all.map((program) => program.end(100)))) expect(ended.signal).toBe(null);
});

test('the search goes on past a folder of PATH that cannot be looked into', async () => {
  const folder = newFolder();
  const [closed, loop, bin] = ['closed', 'loop', 'bin'].map((name) => join(folder, name)) as [string, string, string];
  // Only an ordinary user is kept out by the mode; the link that leads to itself keeps out root too.
  mkdirSync(closed);
  symlinkSync('loop', loop);
  mkdirSync(bin);
  writeFileSync(join(bin, 'tool'), '#!/bin/sh\necho found\n', { mode: 0o755 });
  writeFileSync(join(bin, 'plain'), '', { mode: 0o644 });
  chmodSync(closed, 0);
  const env = { PATH: [closed, loop, bin].join(':') };
  try {
    expect(await textOf((await start({ command: ['tool'], env })).stdout)).toBe('found\n');
    await expect(start({ command: ['absent'], env })).rejects.toMatchObject({
      code: 'E_AGENT_NOT_FOUND',
      message: expect.stringContaining(`in any folder of PATH (${env.PATH})`),
    });
    await expect(start({ command: ['plain'], env })).rejects.toMatchObject({
      code: 'E_PERMISSION_DENIED',
      message: expect.stringContaining(join(bin, 'plain')),
    });
  } finally {
    chmodSync(closed, 0o700);
  }
});

test('a relative folder of PATH begins where the program starts', async () => {
  const cwd = newFolder();
  mkdirSync(join(cwd, 'bin'));
  writeFileSync(join(cwd, 'bin/tool'), '#!/bin/sh\necho found\n', { mode: 0o755 });
  const program = await start({ command: ['tool'], cwd, env: { PATH: 'bin:/usr/bin:/bin' } });
  expect(await textOf(program.stdout)).toBe('found\n');
});

test('what keeps it from starting is said', async () => {
  const folder = newFolder();
  const file = (name: string, mode: number, text = '#!/bin/sh\n'): string => {
    writeFileSync(join(folder, name), text);
    chmodSync(join(folder, name), mode);
    return join(folder, name);
  };
  file('plain', 0o644);
  const orphan = file('orphan', 0o755, '#!/no/such/interpreter\n');
  mkdirSync(join(folder, 'sub'));
  symlinkSync('nowhere', join(folder, 'dangling'));
  const env = { PATH: folder };
  const cases: [string, Partial<Parameters<typeof startProgram>[0]>, string, RegExp][] = [
    ['a name that PATH has not', { command: ['absent'], env }, 'E_AGENT_NOT_FOUND', /the program absent.*PATH/],
    ['a path that is not there', { command: [join(folder, 'no')] }, 'E_AGENT_NOT_FOUND', /no such file/],
    ['a link to nothing', { command: ['dangling'], env }, 'E_AGENT_NOT_FOUND', /dangling/],
    ['both missing', { command: ['absent'], env, cwd: '/no/folder' }, 'E_AGENT_NOT_FOUND', /absent/],
    ['an interpreter that is not there', { command: [orphan] }, 'E_AGENT_NOT_FOUND', /orphan/],
    ['no folder', { command: ['true'], cwd: join(folder, 'gone') }, 'E_FILE_NOT_FOUND', /gone/],
    ['a file for a folder', { command: ['true'], cwd: orphan }, 'E_FILE_NOT_FOUND', /is a file/],
    ['one that may not be run', { command: ['plain'], env }, 'E_PERMISSION_DENIED', /plain/],
    ['a relative one', { command: ['./plain'], cwd: folder }, 'E_PERMISSION_DENIED', /plain/],
    ['nothing', { command: [] }, 'E_USAGE', /command/],
    ['a zero byte', { command: ['true', 'a\0b'] }, 'E_USAGE', /zero/],
    ['too much', { command: ['true', 'x'.repeat(3_000_000)] }, 'E_CONTEXT_OVERFLOW', /longer/],
  ];
  for (const [what, options, code, message] of cases) {
    const asked = { command: ['true'], cwd: folder, env: ENV, stdin: null, mark: 'm', sandbox: null, ...options };
    const refusal = await startProgram(asked).then(
      () => 'started',
      (cause: unknown) => cause,
    );
    expect(refusal, what).toMatchObject({ name: 'BatonError', code, message: expect.stringMatching(message) });
  }
});
