/** Names, shapes and exit codes that scripts rely on. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { VERSION } from '../../src/core/version.ts';
import { detect } from '../../src/protocol/detect.ts';
import { example } from '../helpers/documents.ts';
import { baton, fixture, MAIN } from './baton.ts';
import { batonHere } from './here.ts';

const dir = mkdtempSync(join(tmpdir(), 'baton-cli-'));
afterAll(() => rmSync(dir, { recursive: true }));

type M = {
  dialect: string;
  kind: string | null;
  valid: boolean;
  problems: { severity: string; code: string; path: string; message: string }[];
  value: unknown;
};

test.each([
  [['--version'], ''],
  [['--help'], ''],
  [['chek'], ''],
  [['check', '-'], '#STATE:list\n#STATE:load\n'],
  [['check', '--json'], '#STATE:list\n'],
  [['convert', fixture('aop2-response.json'), '--to', 'aop1', '--type', 'code'], ''],
  [['task', 'show', 'T-1', '--json'], ''],
])('%j in a process of its own is what it is within the tests’ one', async (args, input) => {
  const { json: _, ...own } = baton(args, input, dir);
  const { json: __, ...here } = await batonHere(args, input, dir);
  expect(here).toEqual(own);
});

/** Prose that a terminal of 80 columns would break in the middle of a word. */
const tooLong = (help: string): string[] => help.split('\n').filter((line) => /^\S.{80}/.test(line));

describe('baton', () => {
  test('--version', async () => {
    expect(await batonHere(['--version'])).toMatchObject({ exit: 0, out: `${VERSION}\n` });
  });

  test('--help lists the commands; each has help of its own, and is in the README', async () => {
    const help = await batonHere(['--help']);
    expect(help.exit).toBe(0);
    const commands = [...help.out.matchAll(/^ {2}([a-z]+) /gm)].map(([, name = '']) => name);
    expect(commands).toEqual(expect.arrayContaining(['check', 'convert', 'schema', 'prompt', 'demo', 'run', 'work']));
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8').replaceAll('\\|', ' baton ');
    expect(commands.filter((name) => name !== 'help' && !readme.includes(`baton ${name}`))).toEqual([]);
    for (const command of commands.filter((name) => name !== 'help')) {
      const own = await batonHere([command, '--help']);
      expect([own.exit, own.out.startsWith(`Usage: baton ${command}`)]).toEqual([0, true]);
      expect(tooLong(own.out)).toEqual([]);
    }
  });

  test('--help shows a newcomer what to begin with', async () => {
    const { out } = await batonHere(['--help']);
    const begin = /^Begin here:\n((?: .*\n)+)/m.exec(out)?.[1] ?? '';
    expect([...begin.matchAll(/^ {2}([a-z]+) /gm)].map(([, name]) => name)).toEqual(['demo', 'init', 'run']);
    expect([out.includes('\nCommands:'), tooLong(out)]).toEqual([false, []]);
  });

  test('help tells no default where there is none, and only options that are the command’s own', async () => {
    const { out } = await batonHere(['session', 'list', '--help']);
    expect([/--as|--version/.test(out), /default: (false|none|\[\])/.test(out)]).toEqual([false, false]);
    const run = await batonHere(['run', '--help']);
    expect(run.out.replace(/\s+/g, ' ')).toMatch(/--write <path> [^-]*; may be given again/);
    expect(run.out).not.toMatch(/default: (false|none|\[\])/);
  });

  test.each([
    [['chek'], /unknown command 'chek'/, /Did you mean check/],
    [['check', '--jso'], /unknown option '--jso'/, /Did you mean --json/],
    [['convert', '--to', 'poem'], /'poem' is invalid/, null],
    [['convert'], /'--to <dialect>' not specified/, null],
    [['prompt'], /missing required argument 'file'/, null],
  ])('wrong usage %j is one sentence, with exit code 2', async (args, message, hint) => {
    const ran = await batonHere(args);
    expect([ran.exit, ran.out]).toEqual([2, '']);
    expect(ran.err).toMatch(message);
    if (hint) expect(ran.err).toMatch(hint);
    const json = await batonHere([...args, '--json']);
    const { error } = JSON.parse(json.err) as { error: Record<string, unknown> };
    expect([json.exit, error['code'], Object.keys(error)]).toEqual([2, 'E_USAGE', ['code', 'message', 'hint']]);
  });

  test('without a command shows help and exits 2', async () => {
    expect(await batonHere([])).toMatchObject({ exit: 2 });
  });
});

describe('baton check', () => {
  test('prints M for every message, in order', async () => {
    const { exit, json } = await batonHere(
      ['check', '--json', '-'],
      `${example('output-bug-node.yaml')}\n#STATE:save:k:v:persistent\n`,
    );
    const { messages } = json() as { messages: M[] };
    expect(exit).toBe(0);
    expect(messages.map(({ dialect, kind, valid, problems }) => [dialect, kind, valid, problems])).toEqual([
      ['output', 'GRAPH_UPDATE', true, []],
      ['command', 'STATE', true, []],
    ]);
    expect(messages[1]?.value).toEqual({ name: 'STATE', params: ['save', 'k', 'v'], limit: null, persistent: true });
  });

  test('exits 1 when one is invalid, or there is none', async () => {
    const invalid = await batonHere(['check', '--json'], '#STATE:load');
    expect([invalid.exit, (invalid.json() as { messages: M[] }).messages[0]?.problems[0]?.code]).toEqual([1, 'E002']);
    expect((await batonHere(['check'], '#STATE:list\n#STATE:load\n#STATE:list')).exit).toBe(1);
    const none = await batonHere(['check', '--json'], 'words');
    expect([none.exit, (none.json() as { messages: M[] }).messages]).toEqual([
      1,
      [
        expect.objectContaining({
          dialect: 'unstructured',
          valid: false,
          problems: [expect.objectContaining({ code: 'E_PARSE_FAILURE' })],
        }),
      ],
    ]);
  });

  test('reads several files, and says which is which', async () => {
    const { messages } = (
      await batonHere(['check', '--json', fixture('aop2-response.json'), fixture('aop1-search.txt')])
    ).json() as { messages: (M & { file: string })[] };
    expect(messages.map((m) => m.file)).toEqual([fixture('aop2-response.json'), fixture('aop1-search.txt')]);
  });

  test('speaks to people without colour where there is no terminal, and lets no escape through', async () => {
    const { out } = await batonHere(
      ['check'],
      '\x1b[31m#ASK\x1b[0m\n{"aop_version":"2.0.2-C","message_type":"\\u001b[31mTASK"}',
    );
    expect(out).not.toContain('\x1b');
    expect(out).toMatch(/^invalid command ASK 1\n {2}error \/params\/0: .* E002\n/);
  });

  test('counts tokens where a value could be over its limit, whatever the value', async () => {
    const check = async (value: string): Promise<number | null> =>
      (await batonHere(['check'], `#STATE:save:k:${value}\n`)).exit;
    expect([
      await check('word '.repeat(30)),
      await check('word '.repeat(31)),
      await check('<|endoftext|> is the name of a token'),
      await check('x'.repeat(100_000)),
    ]).toEqual([0, 1, 0, 1]);
  });

  test('takes as many messages as there are', async () => {
    const { exit, json } = await batonHere(['check', '--json'], '#STATE:list\n'.repeat(150_000));
    expect([exit, (json() as { messages: M[] }).messages.length]).toEqual([0, 150_000]);
  });

  test('a reader that goes away is no error', () => {
    const big = '#STATE:list\n'.repeat(20_000);
    writeFileSync(join(dir, 'big.txt'), big);
    const { status, stderr } = spawnSync(
      'bash',
      ['-c', `set -o pipefail; "${process.execPath}" dist/cli/main.js check "${join(dir, 'big.txt')}" | head -1`],
      { cwd: join(import.meta.dirname, '../..'), encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
  });

  test('where it is run in a folder that is gone, that is said', () => {
    const script = `mkdir gone && cd gone && rmdir ../gone && exec "${process.execPath}" "${MAIN}" task list`;
    const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: dir, encoding: 'utf8' });
    expect([status, stderr]).toEqual([4, expect.stringMatching(/^baton: the folder that this is run in is not there/)]);
  });

  test.each([
    ['a file that is not there', 'missing.txt', 4, 'E_FILE_NOT_FOUND', 'there is no file missing.txt'],
    ['a folder', '.', 2, 'E_USAGE', 'expected a file, got the folder .'],
  ])('%s', async (_, file, exit, code, message) => {
    const ran = await batonHere(['check', file, '--json'], '', dir);
    expect([ran.exit, ran.out, (JSON.parse(ran.err) as { error: unknown }).error]).toEqual([
      exit,
      '',
      expect.objectContaining({ code, message }),
    ]);
  });
});

describe('baton convert', () => {
  test.each(['task', 'prompt'])('a TASK to %s', async (to) => {
    const { exit, json } = await batonHere(['convert', fixture('aop2-task-full.json'), '--to', to, '--json']);
    const { output, lost } = json();
    expect([exit, Array.isArray(lost)]).toEqual([0, true]);
    expect(detect(typeof output === 'string' ? output : JSON.stringify(output))[0]?.valid).toBe(true);
  });

  test.each(['response', 'aop1', 'aof', 'output'])('a report of every dialect to %s', async (to) => {
    const completion = JSON.stringify({
      protocol: 'aof',
      version: 1,
      type: 'completion.report',
      taskId: 'TASK-2026-02-09-057',
      fromAgent: 'a',
      sentAt: '2026-02-09T21:00:00Z',
      payload: { outcome: 'done' },
    });
    for (const source of [
      example('aop1-search.txt'),
      example('aop2-response.json'),
      completion,
      example('output-bug-brief.yaml'),
    ]) {
      const { exit, json } = await batonHere(['convert', '--to', to, '--json'], source);
      const { output } = json();
      const text = typeof output === 'string' ? output : JSON.stringify(output);
      expect([exit, detect(text).every((m) => m.valid)]).toEqual([0, true]);
    }
  });

  test('a v1 prompt to a TASK', async () => {
    const { exit, json } = await batonHere(['convert', '--to', 'task', '--json'], 'task: Fix it\nagent: emma\n');
    expect([exit, json()]).toEqual([0, { output: expect.objectContaining({ message_type: 'TASK' }), lost: [] }]);
  });

  test('a TASK that fails its schema falls back to a prompt, with its event', async () => {
    const broken = example('aop2-task-minimal.json').replace('"LOW"', '"low"');
    const { exit, json } = await batonHere(['convert', '--to', 'prompt', '--json'], broken);
    expect([exit, json()]).toEqual([
      0,
      expect.objectContaining({ event: expect.objectContaining({ event: 'VERSION_FALLBACK' }) }),
    ]);
    expect((await batonHere(['convert', '--to', 'task'], broken)).exit).toBe(1);
  });

  test('prints the text alone, and what is lost on standard error', async () => {
    const ran = await batonHere(['convert', fixture('aop2-response.json'), '--to', 'aop1', '--type', 'code']);
    expect(ran.out).toMatch(/^\[AOP:START\] 2026-02-26T12:35:01Z\n/);
    expect(ran.err).toMatch(/^lost: .*artifacts/);
  });

  test('says what the source does not, where it is told', async () => {
    const { json } = await batonHere([
      'convert',
      fixture('aop1-search.txt'),
      '--to',
      'response',
      '--task',
      'T-1',
      '--session',
      'S-1',
      '--agent',
      'emma',
      '--json',
    ]);
    expect(json()['output']).toMatchObject({ task_id: 'T-1', session_id: 'S-1', agent: { name: 'emma' } });
  });

  test('what cannot be converted is refused with a reason', async () => {
    const ran = await batonHere(['convert', '--to', 'aop1', '--json'], '#STATE:list');
    expect([ran.exit, (JSON.parse(ran.err) as { error: unknown }).error]).toEqual([
      1,
      expect.objectContaining({ code: 'E_NOT_CONVERTIBLE', message: expect.stringContaining('got command STATE') }),
    ]);
  });
});

describe('baton schema', () => {
  test('lists the message types, and prints each as JSON Schema 2020-12', async () => {
    const names = (await batonHere(['schema', '--json'])).json() as unknown as string[];
    expect(names).toEqual(
      expect.arrayContaining([
        'TASK',
        'RESPONSE',
        'EVENT',
        'report',
        'OUTPUT',
        'GRAPH_UPDATE',
        'command',
        'completion.report',
      ]),
    );
    for (const name of names) {
      expect((await batonHere(['schema', name, '--json'])).json()).toMatchObject({
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        title: name,
      });
    }
  });

  test('of a TASK forbids unknown fields and enforces x_, in every object', async () => {
    const schema = (await batonHere(['schema', 'TASK', '--json'])).json();
    const objects: Record<string, unknown>[] = [];
    const visit = (node: unknown): void => {
      if (node === null || typeof node !== 'object') return;
      const fields = node as Record<string, unknown>;
      if (fields['properties']) objects.push(fields);
      for (const child of Object.values(node)) visit(child);
    };
    visit(schema);
    expect(objects.length).toBeGreaterThan(15);
    for (const object of objects) {
      expect(object['additionalProperties']).toBe(false);
      expect((object['properties'] as Record<string, unknown>)['extensions']).toMatchObject({
        propertyNames: { pattern: '^x_' },
      });
    }
  });

  test('of something unknown', async () => {
    const ran = await batonHere(['schema', 'task']);
    expect([ran.exit, ran.err]).toEqual([4, expect.stringContaining('did you mean TASK?')]);
  });
});

describe('baton prompt', () => {
  test('prints what an agent would get', async () => {
    const ran = await batonHere(['prompt', fixture('aop2-task-full.json'), '--json']);
    expect([ran.exit, ran.json()]).toEqual([
      0,
      { prompt: expect.stringMatching(/^Task: TASK-001\n[\s\S]*\[AOP:STATUS\] success\|failure\|partial/) },
    ]);
  });

  test('refuses what is no TASK', async () => {
    const ran = await batonHere(['prompt', fixture('aop1-search.txt')]);
    expect([ran.exit, ran.out, ran.err]).toEqual([
      1,
      '',
      expect.stringContaining('expected a TASK or a v1 prompt, got aop1 report'),
    ]);
  });
});
