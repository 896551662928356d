/** `baton session`: a person's session driven through a pseudo-terminal, a script from a pipe, the list of sessions, and a session's end. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { completionsOf, type Known } from '../../src/cli/session-complete.ts';
import { openHistory } from '../../src/cli/session-history.ts';
import type { Ran } from './baton.ts';
import { batonHere } from './here.ts';
import { closeTerminals, hasTerminal, KEYS, openTerminal, type Terminal } from './terminal.ts';

let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton session ')));
  mkdirSync(join(dir, '.baton'));
  writeFileSync(join(dir, '.baton/config.yaml'), 'agents:\n  emma: { kind: command, command: ["./emma.sh"] }\n');
});
afterEach(() => {
  closeTerminals();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
});

const say = (line: string, ...options: string[]): Promise<Ran> => batonHere(['do', line, ...options], '', dir);
const read = (name: string): string => readFileSync(join(dir, name), 'utf8');

if (!hasTerminal) process.stderr.write('SKIPPED: no `script` of util-linux here, so nothing is known of a terminal\n');

describe.skipIf(!hasTerminal)('at a terminal', () => {
  const { enter, tab, up, ctrlC, ctrlD } = KEYS;
  const PROMPT = /default> (?:\x1b\[\d+m)*(?:\x1b\[\d+G)?/;
  const begin = async (...args: string[]): Promise<Terminal> => {
    const terminal = openTerminal(['session', ...args], dir, { NO_COLOR: '1' });
    await terminal.shows(PROMPT);
    return terminal;
  };

  test('commands, completion, plain words, history; Ctrl-D leaves', async () => {
    const { type, shows, all, ended } = await begin();
    type(`#STATE:save:user:alice${enter}`);
    await shows(/saved:user\r\n/);
    await shows(PROMPT);
    // A command, its form, a key of the session.
    type(`#STA${tab}`);
    await shows(/#STATE:/);
    type(`lo${tab}`);
    await shows(/load:/);
    type(`us${tab}`);
    await shows(/user/);
    type(enter);
    await shows(/\r\nalice\r\n/);
    await shows(PROMPT);
    type(`#DELEGATE:em${tab}`);
    await shows(/emma/);
    type(ctrlC);
    await shows(PROMPT);
    type(`what did I save?${enter}`);
    await shows(/Saved: user\.\r\n/);
    await shows(PROMPT);
    type(`fix the thing${enter}`);
    await shows(/which agent.*\?\r\n/);
    await shows(PROMPT);
    type(`${up}${up}${up}${enter}`);
    await shows(/\r\nalice\r\n/);
    await shows(PROMPT);
    type(`#NOPE${enter}`);
    await shows(/#ERROR:E001:/);
    await shows(PROMPT);
    type(ctrlD);
    expect(await ended).toBe(0);
    expect(all()).not.toMatch(/\x1b\[3\dm/);
    expect(read('.baton/history').split('\n').slice(0, 2)).toEqual(['#STATE:save:user:alice', '#STATE:load:user']);
    expect(statSync(join(dir, '.baton/history')).mode & 0o777).toBe(0o600);
  });

  test('Ctrl-C ends a wait and not the session; what was typed meanwhile is done after it', async () => {
    const { type, shows, ended } = await begin();
    type(`#WAIT:never:300${enter}`);
    await shows(/Ctrl-C gives up/);
    type(`#STATE:save:after:1${enter}`);
    type(ctrlC);
    await shows(/timeout\r\n/);
    await shows(/saved:after\r\n/);
    await shows(PROMPT);
    type(ctrlC);
    await shows(/Ctrl-D leaves/);
    await shows(PROMPT);
    type(`exit${enter}`);
    expect(await ended).toBe(0);
  });

  test('a wait is woken by another process', async () => {
    const { type, shows, ended } = await begin();
    type(`#WAIT:built:300${enter}`);
    await shows(/Ctrl-C gives up/);
    expect((await say('#SIGNAL:built:true', '--as', 'emma')).out).toBe('signaled:1\n');
    await shows(/ready/);
    await shows(PROMPT);
    type(ctrlD);
    expect(await ended).toBe(0);
  });

  test('unread messages and what waits for a person are told before the prompt, once', async () => {
    await say('#DIRECT:orchestrator:the build is green', '--as', 'emma');
    const { type, shows, all, ended } = await begin();
    expect(all()).toMatch(/Messages for you\r\n- emma: the build is green\r\n/);
    const id = (await batonHere(['task', 'add', '--title', 'Choose a colour', '--json'], '', dir)).json()[
      'id'
    ] as string;
    await batonHere(['task', 'move', id, 'blocked', '--reason', 'which one'], '', dir);
    type(`#VERSION${enter}`);
    await shows(/v1\.1\.0\r\n/);
    await shows(new RegExp(`${id} waits for you: .*\\r\\n.*baton answer ${id} `));
    await shows(PROMPT);
    type(`#VERSION${enter}`);
    const later = await shows(PROMPT);
    expect(later).not.toContain('waits for you');
    expect(later).not.toContain('Messages');
    type(ctrlD);
    expect(await ended).toBe(0);
  });

  test('how answers are told holds for the session, and colours show what failed', async () => {
    const terminal = openTerminal(['session', 's'], dir);
    const { type, shows, ended } = terminal;
    await shows(/s> /);
    type(`show protocol${enter}`);
    await shows(/Commands are shown/);
    await shows(/s> /);
    type(`what did I save?${enter}`);
    await shows(/#STATE:list\r\n/);
    await shows(/s> /);
    type(`#NOPE${enter}`);
    await shows(/\x1b\[31m#ERROR:E001:/);
    await shows(/s> /);
    type(ctrlD);
    expect(await ended).toBe(0);
  });

  test('the history is there the next time, and what looks like a secret is not in it', async () => {
    const first = await begin();
    first.type(`#STATE:save:token:sk-ant-api03-${'A1b2'.repeat(24)}${enter}`);
    await first.shows(PROMPT);
    first.type(`#VERSION${enter}`);
    await first.shows(/v1\.1\.0\r\n/);
    first.type(ctrlD);
    await first.ended;
    expect(read('.baton/history')).toBe('#VERSION\n');
    const second = await begin();
    second.type(`${up}${enter}`);
    await second.shows(/v1\.1\.0\r\n/);
    second.type(ctrlD);
    await second.ended;
  });
});

describe('from a pipe', () => {
  test('each line in its order; one that failed does not end it, and makes the exit code 3', async () => {
    const lines = '#STATE:save:a:1\n\n#NOPE\r\n#CONTEXT:export:.baton/config.yaml/x\n#CONTEXT:export:a-file/x\n';
    writeFileSync(join(dir, 'a-file'), '');
    const ran = await batonHere(['session', 'work'], `${lines}#STATE:load:a\nwhat did I save?`, dir);
    expect(ran.out.split('\n')).toEqual([
      'saved:a',
      expect.stringMatching(/^#ERROR:E001:/),
      expect.stringMatching(/^#ERROR:E005:/),
      '#ERROR:E002:not_a_folder a-file/x',
      '1',
      expect.stringContaining('a'),
      '',
    ]);
    expect(ran).toMatchObject({ exit: 3, err: '' });
    expect(await batonHere(['session', 'work'], '#STATE:load:a\n', dir)).toMatchObject({ exit: 0, out: '1\n' });
    expect(await batonHere(['session', 'work'], '', dir)).toMatchObject({ exit: 0, out: '' });
    expect(() => read('.baton/history')).toThrow('ENOENT');
  });

  test('--json is a line of JSON for each', async () => {
    const ran = await batonHere(['session', '--json'], '#VERSION\nfix the thing\n', dir);
    expect(
      ran.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { reply: 'v1.1.0', commands: ['#VERSION'], clarify: null },
      { commands: [], clarify: expect.any(String) },
    ]);
    expect(ran.exit).toBe(3);
  });
});

describe('list and end', () => {
  test('a session with its tasks, keys and questions', async () => {
    await say('#STATE:save:a:1', '--session', 'talk');
    const id = (await batonHere(['task', 'add', '--title', 't', '--session', 'work', '--json'], '', dir)).json()[
      'id'
    ] as string;
    await batonHere(['task', 'add', '--title', 'u', '--session', 'work'], '', dir);
    await batonHere(['task', 'move', id, 'blocked', '--reason', 'x'], '', dir);
    const listed = (await batonHere(['session', 'list', '--json'], '', dir)).json() as unknown as object[];
    expect(listed).toMatchObject([
      { id: 'talk', endedAt: null, tasks: {}, keys: 1, questions: 0 },
      { id: 'work', endedAt: null, tasks: { blocked: 1, ready: 1 }, keys: 0, questions: 1 },
    ]);
    const shown = (await batonHere(['session', 'list'], '', dir)).out;
    expect(shown).toMatch(
      /^talk {2}since .* no tasks {2}1 key\nwork {2}since .* 1 blocked, 1 ready {2}0 keys {2}1 for a person\n$/,
    );
  });

  test('the end writes the report, clears what was remembered, and says what; a second end finds it over', async () => {
    await say('#STATE:save:a:1', '--session', 's');
    await say('#LOCK:x', '--session', 's');
    const ended = await batonHere(['session', 'end', 's'], '', dir);
    expect(ended).toMatchObject({ exit: 0, err: '' });
    expect(ended.out).toMatch(
      /^Session s\n[\s\S]*\nCleared: 1 key \(a\), 0 variables, 1 lock, 0 unread messages\nExported: nothing\nNot in any export: a\n$/,
    );
    expect((await say('#STATE:list', '--session', 's')).out).toBe('none\n');
    expect(JSON.parse(read('.baton/reports/s.json'))).toMatchObject({ session_id: 's' });
    const again = await batonHere(['session', 'end', 's', '--json'], '', dir);
    expect(again.json()).toMatchObject({ session_id: 's', cleared: { keys: [] }, exported: [] });
    expect((await batonHere(['session', 'end', 's'], '', dir)).out).toContain('It was over already.');
    // What is said in it next begins it anew.
    expect((await say('#STATE:save:b:2', '--session', 's')).out).toBe('saved:b\n');
    expect((await batonHere(['session', 'list', '--json'], '', dir)).json()).toMatchObject([
      { id: 's', endedAt: null, keys: 1 },
    ]);
  });

  test('what was exported is named, and what of the state is in no file', async () => {
    const save = async (...more: string[]): Promise<void> => {
      const lines = ['#STATE:save:kept:1:persistent', '#STATE:save:lost:2', ...more];
      expect(await batonHere(['session'], lines.join('\n'), dir)).toMatchObject({ exit: 0, err: '' });
    };
    await save('#CONTEXT:export:./out.ctx', '#STATE:save:kept:3:persistent');
    const file = join(dir, 'out.ctx');
    const end = async (): Promise<Record<string, unknown>> =>
      (await batonHere(['session', 'end', 'default', '--json'], '', dir)).json();
    expect(await end()).toMatchObject({
      cleared: { keys: ['kept', 'lost'], not_exported: ['kept', 'lost'] },
      exported: [{ file }],
    });
    // The one that follows is another session.
    await save('#CONTEXT:export:./more.ctx');
    expect(await end()).toMatchObject({
      cleared: { keys: ['kept', 'lost'], not_exported: ['lost'] },
      exported: [{ file: join(dir, 'more.ctx') }],
    });
  });

  test('a session that there is not', async () => {
    await say('#VERSION');
    expect(await batonHere(['session', 'end', 'nope'], '', dir)).toMatchObject({
      exit: 4,
      err: expect.stringContaining('there is no session nope'),
    });
  });
});

describe('completion', () => {
  const KNOWN: Known = {
    agents: ['emma', 'qa'],
    keys: ['user'],
    checkpoints: ['cp_001'],
    tasks: ['TASK-2026-01-01-001'],
    channels: ['file_changes'],
    resources: ['src/a.js'],
    commands: ['DEPLOY'],
  };
  test.each<[string, string[]]>([
    ['#CHECK', ['#CHECKPOINT:']],
    ['#DE', ['#DEFINE', '#DELEGATE:', '#DEPENDS:', '#DEPLOY']],
    ['#VER', ['#VERSION']],
    ['#STATE:', ['clear', 'list', 'load:', 'save:']],
    ['#STATE:load:u', ['user']],
    ['#DELEGATE:', ['emma', 'qa']],
    ['#DELEGATE:emma:x:', ['P0', 'P1', 'P2', 'P3']],
    ['#REPORT:a', ['all']],
    ['#REPORT:qa:pro', ['progress']],
    ['#ROLLBACK:', ['cp_001', 'dry-run:', 'status']],
    ['#ROLLBACK:dry-run:', ['cp_001']],
    ['#ROLLBACK:cp_001:', ['force']],
    ['#RETRY:TASK', ['TASK-2026-01-01-001']],
    ['#UNLOCK:s', ['src/a.js']],
    ['#SUBSCRIBE:', ['file_changes']],
    ['#CONTEXT:export:x.ctx:', ['all', 'critical', 'incremental', 'state', 'tasks']],
    ['#COORDINATE:emma:q', ['qa']],
    ['#HELP:sta', ['state']],
    ['#NOPE:', []],
    ['ask em', ['emma']],
    ['ask ', []],
    ['', []],
  ])('%s', (line, fits) => {
    expect(completionsOf(line, KNOWN)[0]).toEqual(fits);
  });
});

test('the history is bounded, and one that cannot be written is said once', () => {
  const lines = Array.from({ length: 3_000 }, (_, i) => `#STATE:load:k${i}`);
  writeFileSync(join(dir, 'history'), `${lines.join('\n')}\n`);
  const said: string[] = [];
  const history = openHistory(dir, (text) => said.push(text));
  expect(history.lines.slice(0, 2)).toEqual(['#STATE:load:k2999', '#STATE:load:k2998']);
  expect(history.lines.length).toBe(1_000);
  expect(read('history').split('\n').length).toBe(1_001);
  for (const line of ['new', 'new', '', 'x'.repeat(3_000), 'a\x1b[31mb']) history.add(line);
  expect(read('history').split('\n').slice(-4)).toEqual(['#STATE:load:k2999', 'new', 'ab', '']);
  expect(said).toEqual([]);
  const broken = openHistory(join(dir, 'none'), (text) => said.push(text));
  broken.add('a');
  broken.add('b');
  expect(said).toEqual([expect.stringContaining('not remembered')]);
});
