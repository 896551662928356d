/** How the command line finds its data folder, and what it says when the folder or the system lets it down. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MAIN, NEUTRAL } from './baton.ts';
import { batonHere } from './here.ts';

let cwd: string;
beforeEach(() => {
  cwd = realpathSync(mkdtempSync(join(tmpdir(), 'baton-folder-')));
});
afterEach(() => rmSync(cwd, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

describe('--dir and --json', () => {
  test.each([
    ['behind the command', ['task', 'list', '--dir', 'data', '--json']],
    ['before the command', ['--dir', 'data', '--json', 'task', 'list']],
    ['before the command, with an equals sign', ['--json', '--dir=data', 'task', 'list']],
    ['within the command', ['task', '--dir', 'data', '--json', 'list']],
    ['on both sides, where the one behind counts', ['--dir', 'nowhere', 'task', 'list', '--dir', 'data', '--json']],
  ])('may stand %s', async (_, args) => {
    expect((await batonHere(['--dir', 'data', 'task', 'add', '--title', 'a task'], '', cwd)).exit).toBe(0);
    const { out, err, exit } = await batonHere(args, '', cwd);
    expect([exit, err]).toEqual([0, '']);
    expect(JSON.parse(out)).toMatchObject([{ title: 'a task' }]);
    expect(readdirSync(cwd)).toEqual(['data']);
  });

  test('of commands without a group too', async () => {
    await batonHere(['--dir', 'data', 'task', 'add', '--title', 'a task'], '', cwd);
    for (const args of [
      ['--json', '--dir', 'data', 'session', 'list'],
      ['session', '--json', '--dir', 'data', 'list'],
      ['session', 'list', '--json', '--dir', 'data'],
    ]) {
      expect(JSON.parse((await batonHere(args, '', cwd)).out)).toMatchObject([{ id: 'default' }]);
    }
    expect((await batonHere(['--dir', 'data', '--json', 'inbox'], '', cwd)).out).toBe('[]\n');
  });

  test('without a value is wrong usage', async () => {
    expect((await batonHere(['--dir', '', 'task', 'list'], '', cwd)).exit).toBe(2);
  });
});

test('a damaged snapshot is said in one line, and the work is done', async () => {
  await batonHere(['task', 'add', '--title', 'a task'], '', cwd);
  writeFileSync(join(cwd, '.baton/snapshot.jsonl'), '{"format":1,"seq":1}\n');
  const { out, err, exit } = await batonHere(['task', 'list', '--json'], '', cwd);
  expect(exit).toBe(0);
  expect(JSON.parse(out)).toMatchObject([{ title: 'a task' }]);
  expect(err).toMatch(/^baton: \S+snapshot\.jsonl was not believed: [^\n]+\n$/);
  expect((await batonHere(['task', 'list'], '', cwd)).err).toBe('');
  expect((await batonHere(['events'], '', cwd)).out).toContain('store.distrusted');
});

test('audit verify names a long text that is damaged, and one that is missing', async () => {
  const long = (word: string): string => `${word} `.repeat(10_000);
  for (const word of ['one', 'two']) await batonHere(['task', 'add', '-'], long(word), cwd);
  expect((await batonHere(['audit', 'verify'], '', cwd)).out).toMatch(/^intact: 2 records.*\n.*2 long texts/);
  const content = join(cwd, '.baton/content');
  const [first = '', second = ''] = readdirSync(content, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.includes('/'),
  );
  rmSync(join(content, first));
  writeFileSync(join(content, second), readFileSync(join(content, second), 'utf8').replace(/ /, '_'));
  const { out, exit } = await batonHere(['audit', 'verify'], '', cwd);
  expect(exit).toBe(1);
  expect(out).toContain(`content/${first}`);
  expect(out).toMatch(/is missing/);
  expect(out).toContain(`content/${second}`);
  expect(out).toMatch(/is damaged/);
  const json = (await batonHere(['audit', 'verify', '--json'], '', cwd)).json();
  expect(json).toMatchObject({ ok: false, problems: [{ seq: 1 }, { seq: 2 }] });
});

test('where no more files may be opened, it says so and how to mend it', async () => {
  const shell = 'ulimit -n 30 && exec "$0" "$@"';
  const ran = spawnSync('sh', ['-c', shell, process.execPath, MAIN, 'task', 'list'], {
    cwd,
    encoding: 'utf8',
    env: { ...process.env, ...NEUTRAL },
  });
  expect(ran.stderr).toMatch(/^baton: .*no more files.*\(E_OPEN_FILES\)\n {2}raise the limit: ulimit -n 1024\n$/);
  expect(ran.status).toBe(1);
});
