/** One line of a session: what is understood, what is answered, what is written down, and that nothing is ever thrown. */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { budgetFor, COMMANDS, readCommand } from '../../src/protocol/command/index.ts';
import { logOf } from '../../src/session/log.ts';
import { SESSION, type Talk, type TalkOptions, talk, voiceOf } from './talk.ts';

const open: Talk[] = [];
const setting = async (options: TalkOptions = {}): Promise<Talk> => {
  const made = await talk(options);
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

describe('what is wrong is one of five errors, in one line', () => {
  test.each([
    ['#state:list', '#ERROR:E001:write #STATE'],
    ['#STAT:list', '#ERROR:E001:unknown #STAT, nearest #STATE'],
    ['# Heading', '#ERROR:E001:expected #COMMAND'],
    ['#STATE', /^#ERROR:E002:/],
    ['#STATE:save:a key:v', /^#ERROR:E002:expected letters, digits and _/],
    ['#STATE:save:k', /^#ERROR:E002:#STATE:save:<key>:<value/],
    ['#LOCK:a:1:2:3', '#ERROR:E002:expected #LOCK:<resource>[:timeout]'],
    ['#LOCK:a:soon', /^#ERROR:E002:/],
    ['#STATE:save:k:a\u001b[31mred', '#ERROR:E002:control_characters'],
    ['#STATE:save:k:a\nb', '#ERROR:E002:expected one line, got a line break'],
    ['#ASK:x:limit=200', '#ERROR:E004:max_limit_100'],
    [`#STATE:save:k:${'word '.repeat(40)}`, '#ERROR:E004:expected at most 30 tokens'],
    ['#LOCK:../secret', /^#ERROR:E005:outside_workspace/],
    ['#LOCK:/etc/passwd', /^#ERROR:E005:outside_workspace/],
    ['#DIRECT:nobody:hello', /^#ERROR:E002:unknown_agent nobody/],
    ['#STATE:save:k:{{NOT_SET}}', /^#ERROR:E002:.*\{\{NOT_SET/],
  ])('%s', async (line, expected) => {
    const { done } = await setting();
    const { reply, failed } = await done(line);
    expect(failed).toBe(true);
    if (typeof expected === 'string') expect(reply).toBe(expected);
    else expect(reply).toMatch(expected);
    expect(reply).not.toMatch(/[\n\r\u001b]/);
  });

  test('a line without end', async () => {
    const { say } = await setting();
    expect(await say(`#STATE:save:k:${'x'.repeat(100_001)}`)).toMatch(/^#ERROR:E004:line_over_100000/);
  });

  test('a P0 run is told more of what went wrong', async () => {
    const { as } = await setting();
    const line = '#DIRECT:somebody_whom_nobody_here_ever_heard_of:hello';
    const [short, long] = [
      await as('emma', line),
      await as('emma', line, { run: 'TASK-2026-03-01-001-r1', priority: 'P0' }),
    ];
    expect(countTokens(short.slice('#ERROR:E002:'.length))).toBeLessThanOrEqual(10);
    expect(countTokens(long.slice('#ERROR:E002:'.length))).toBeGreaterThan(10);
  });
});

describe('#STATE', () => {
  test('saves, loads, lists five at most, clears', async () => {
    const { say } = await setting();
    expect(await say('#STATE:list')).toBe('none');
    expect(await say('#STATE:load:user')).toBe('not_found');
    expect(await say('#STATE:save:user:alice')).toBe('saved:user');
    expect(await say('#STATE:save:url:http://a:80/x')).toBe('saved:url');
    expect(await say('#STATE:load:user')).toBe('alice');
    expect(await say('#STATE:load:url')).toBe('http://a:80/x');
    expect(await say('#STATE:list')).toBe('• user\n• url');
    for (let i = 0; i < 18; i++) expect(await say(`#STATE:save:k${i}:v`)).toBe(`saved:k${i}`);
    expect(await say('#STATE:list')).toBe('• user\n• url\n• k0\n• k1\n• +16 more → #STATE:list:from=5');
    expect(await say('#STATE:save:one_more:v')).toBe('#ERROR:E003:expected at most 20 keys in the session s');
    expect(await say('#STATE:save:user:bob')).toBe('saved:user');
    expect(await say('#STATE:clear')).toBe('cleared');
    expect(await say('#STATE:list')).toBe('none');
  });

  test('a key may be called anything that the language allows', async () => {
    const { say, store } = await setting();
    for (const key of ['__proto__', 'constructor', 'toString', '1', '_']) {
      expect(await say(`#STATE:load:${key}`)).toBe('not_found');
      expect(await say(`#STATE:save:${key}:v-${key}`)).toBe(`saved:${key}`);
      expect(await say(`#STATE:load:${key}`)).toBe(`v-${key}`);
    }
    expect(Object.keys((await store.session(SESSION))?.state ?? {})).toHaveLength(5);
    expect(({} as Record<string, unknown>)['value']).toBeUndefined();
  });

  test('a value that looks like an error is a value', async () => {
    const { say, done } = await setting();
    await say('#STATE:save:k:#ERROR:E001:x');
    expect(await done('#STATE:load:k')).toMatchObject({ reply: '#ERROR:E001:x', failed: false });
    expect((await done('#HELP:weather')).failed).toBe(true);
  });

  test('a session has its own, and a persistent one is marked', async () => {
    const { say, done, store } = await setting();
    await say('#STATE:save:user:alice:persistent');
    await say('#STATE:save:temp:x');
    expect((await done('#STATE:load:user', voiceOf('orchestrator', {}, 'other'))).reply).toBe('not_found');
    const { state } = (await store.session(SESSION)) ?? {};
    expect([state?.['user']?.persistent, state?.['temp']?.persistent]).toEqual([true, false]);
  });
});

describe('variables', () => {
  test('are declared on a line of their own and stand within parameters', async () => {
    const { say } = await setting();
    expect(await say('{{TOPIC}}: "auth"')).toBe('saved:TOPIC');
    expect(await say('#STATE:save:topic:{{TOPIC}} and {{OTHER:-more}}')).toBe('saved:topic');
    expect(await say('#STATE:load:topic')).toBe('auth and more');
    expect(await say('{{SECONDS}}: "60"')).toBe('saved:SECONDS');
    expect(await say('#LOCK:{{FILE:-src/a.js}}:{{SECONDS}}')).toBe('locked');
    expect(await say('#LOCK:src/a.js:{{TOPIC}}')).toMatch(/^#ERROR:E002:/);
  });

  test('a value becomes no other parameter, command, modifier or form', async () => {
    const { say, store } = await setting();
    await say('{{V}}: "a:b#STATE:clear"');
    await say('{{M}}: "persistent"');
    await say('{{R}}: "k:v"');
    await say('{{SUB}}: "clear"');
    expect(await say('#STATE:save:one:{{V}}')).toBe('saved:one');
    expect(await say('#STATE:load:one')).toBe('a:b#STATE:clear');
    expect(await say('#STATE:save:two:x:{{M}}')).toBe('saved:two');
    expect((await store.session(SESSION))?.state?.['two']).toMatchObject({ value: 'x:persistent', persistent: false });
    expect(await say('#STATE:save:{{R}}')).toMatch(/^#ERROR:E002:/);
    expect(await say('#STATE:{{SUB}}')).toMatch(/^#ERROR:E002:/);
    expect(await say('#STATE:load:one')).toBe('a:b#STATE:clear');
    await say('{{CP}}: "status"');
    expect(await say('#ROLLBACK:{{CP}}')).toMatch(/^#ERROR:E002:expected a value/);
  });

  test('limits hold for what a value makes of a parameter', async () => {
    const { say } = await setting();
    expect(await say(`{{LONG}}: "${'word '.repeat(45)}"`)).toBe('saved:LONG');
    expect(await say('#STATE:save:k:{{LONG}}')).toMatch(/^#ERROR:E004:/);
    expect(await say(`{{TOO_LONG}}: "${'word '.repeat(60)}"`)).toMatch(/^#ERROR:E004:at most 50 tokens/);
    expect(await say('#STATE:load:k')).toBe('not_found');
  });

  test('a declaration is the whole line, or nothing is kept', async () => {
    const { say } = await setting();
    expect(await say('{{B}}: "a"b"')).toBe('#ERROR:E002:unexpected b"');
    expect(await say('{{B}}: "a" {{C}}: "b"')).toMatch(/^#ERROR:E002:unexpected /);
    expect(await say('#STATE:save:k:{{B:-none}}')).toBe('saved:k');
    expect(await say('#STATE:load:k')).toBe('none');
    expect(await say('{{B}}: "a\\"b"  ')).toBe('saved:B');
  });
});

test('where nobody is known, nobody is named instead', async () => {
  const { say } = await setting({ config: {} });
  expect(await say('#DELEGATE:DevAgent:x')).toBe('#ERROR:E002:unknown_agent DevAgent');
  expect(await say('#REPORT:DevAgent:progress')).toBe('#ERROR:E002:unknown_agent DevAgent');
});

test('where there is room for a word at most, a list is seen to hold something', async () => {
  const { say } = await setting();
  await say('#STATE:save:key:value');
  expect(await say('#STATE:list:limit=1')).toBe('…');
  expect(await say('#ASK:key:limit=1')).toBe('…');
  expect(await say('#STATE:list:limit=2')).not.toBe('');
});

test('what the language says of itself', async () => {
  const { say } = await setting({ config: { commands: { SHIP: { does: 'ship it', run: ['true'] } } } });
  expect(await say('#VERSION')).toBe('v1.1.0');
  expect(await say('#VERSION:check:1.0.0')).toBe('compatible');
  expect(await say('#VERSION:check:2.0.0')).toBe('incompatible');
  expect(await say('#VERSION:features')).toMatch(
    /^• coordination: v1\.1\+\n• state: v1\.0\+\n• error_codes: v1\.0\+\n• \+\d+ more → #VERSION:features:from=4$/,
  );
  expect(countTokens(await say('#VERSION:features:limit=12'))).toBeLessThanOrEqual(12);
  expect(await say('#SUPPORTS:coordination')).toBe('true');
  expect(await say('#SUPPORTS:quantum_computing')).toBe('false');
  expect((await say('#HELP')).split('\n').length).toBeLessThanOrEqual(11);
  expect(await say('#HELP:#STATE:save')).toMatch(
    /^Usage: #STATE:save:<key>:<value>.*\nSave value.*\nEx: #STATE:save:user:alice$/,
  );
  expect(await say('#HELP:project')).toBe('• #SHIP - ship it');
  expect((await say('#HELP:all')).split('\n').length).toBeGreaterThan(30);
  expect(await say('#HELP:weather')).toMatch(/^#ERROR:E002:unknown_topic/);
  expect(await say('#ERROR:E004:max_limit_100')).toBe('#ERROR:E004:max_limit_100');
});

describe('the log', () => {
  test('has every command, its result and its time on a line of its own', async () => {
    const { say, log } = await setting({ hasFolder: true });
    await say('#STATE:save:user:alice');
    await say('#state:list');
    await say('#STATE:save:k:\u001b[2J');
    await say('#STATE:save:k:a] [#ERROR:E001:x] [1ms]');
    await say('#STATE:save:password:ghp_0123456789abcdefghijklmnopqrstuvwxyzAB');
    await say('{{V}}: "x"');
    const lines = log().trimEnd().split('\n');
    expect(lines).toHaveLength(6);
    for (const line of lines) expect(line).toMatch(/^\[\d{4}-\d\d-\d\dT[\d:.]+Z\] \[.*\] \[.*\] \[\d+ms\]$/);
    expect(lines[0]).toMatch(/\] \[#STATE:save:user:alice\] \[saved:user\] \[\d+ms\]$/);
    expect(lines[1]).toContain('[#ERROR:E001:write #STATE]');
    expect(lines[2]).toContain('\\x1b[2J');
    expect(lines[3]).toContain(']\\x20[');
    expect(log()).not.toContain('ghp_0123456789');
  });

  test('of a secret that stands where a line is cut nothing is left', async () => {
    const { say, log } = await setting({ hasFolder: true });
    for (const before of [975, 985, 995]) {
      await say(`#STATE:save:k:${'x'.repeat(before - 15)} ghp_${'A'.repeat(36)}`);
    }
    expect(log()).not.toContain('ghp_');
    expect(log()).toContain('…]');
  });

  test('every session has a file of its own', () => {
    const names = ['s', 'a/b', 'a_b', '../x', '..', '', 'é', 'x'.repeat(200), 'x'.repeat(201)];
    const files = names.map((name) => logOf('/d', name));
    expect(new Set(files).size).toBe(names.length);
    for (const file of files) expect(file).toMatch(/^\/d\/logs\/sessions\/[\w.~-]+\.log$/);
    expect(files[0]).toBe('/d/logs/sessions/s.log');
  });

  test('a hundred at once are all there', async () => {
    const { say, log } = await setting({ hasFolder: true });
    await Promise.all(Array.from({ length: 100 }, (_, i) => say(`#STATE:save:k${i % 20}:${i}`)));
    expect(log().trimEnd().split('\n')).toHaveLength(100);
  });
});

describe('plain words', () => {
  test('are commands, and answered in words; the protocol is shown on request', async () => {
    const { say, done } = await setting({ config: { agents: { TestAgent: { kind: 'claude' } } } });
    const { reply, commands } = await done('remember that the db is postgres');
    expect(commands).toEqual(['#STATE:save:db:postgres']);
    expect(reply).not.toContain('#STATE');
    expect((await done('show protocol')).commands).toEqual([]);
    expect(await say('remember that the db is mysql')).toMatch(/^#STATE:save:db:mysql\n/);
    expect(await say('explain protocol')).toMatch(/explained/);
    expect(await say('remember that the db is sqlite')).toMatch(/^#STATE:save:db:sqlite\n.*means: save value/);
    expect(await say('use protocol mode')).toMatch(/^Only commands/);
    expect(await say('remember that the db is oracle')).toBe(
      '#ERROR:E001:expected #COMMAND\n[protocol mode: say "use natural language" to leave it]',
    );
    expect(await say('#STATE:load:db')).toBe('sqlite');
    expect(await say('use natural language')).toMatch(/^Plain words/);
  });

  test('what is unclear is asked back, and nothing is done', async () => {
    const { done, store } = await setting();
    const { clarify, commands, failed } = await done('fix the thing');
    expect(clarify).toMatch(/\?/);
    expect([commands, failed]).toEqual([[], false]);
    expect(await store.lastRecord()).toBe(0);
  });

  test('a dry run says what would be done, or what is wrong with it', async () => {
    const { done, store } = await setting();
    expect(await done('remember that the db is postgres', undefined, { dryRun: true })).toMatchObject({
      reply: '#STATE:save:db:postgres',
      failed: false,
    });
    expect((await done('#STATE:save:a b:v', undefined, { dryRun: true })).failed).toBe(true);
    await done('use protocol mode', undefined, { dryRun: true });
    expect((await done('remember that the db is postgres', undefined, { dryRun: true })).failed).toBe(false);
    expect(await store.lastRecord()).toBe(0);
  });

  test('where rules do not reach, whoever is asked for it answers', async () => {
    const { done } = await setting({ unsure: async () => ({ commands: ['#VERSION'], clarify: null }) });
    expect((await done('xyzzy plugh')).commands).toEqual(['#VERSION']);
  });
});

describe('whatever is said', () => {
  /** None of these waits for anything or starts a program. */
  const names = Object.keys(COMMANDS).filter((name) => !['WAIT', 'CHECKPOINT', 'ROLLBACK', 'CONTEXT'].includes(name));
  const line = fc.oneof(
    fc.string({ maxLength: 60 }),
    fc.string({ unit: 'binary', maxLength: 40 }),
    fc
      .tuple(
        fc.constantFrom(...names, 'NOPE', 'WAIT:x:0'),
        fc.array(
          fc.oneof(
            fc.constantFrom(
              'save',
              'load',
              'list',
              'all',
              'progress',
              'P0',
              'brief',
              'limit=7',
              '{{A}}',
              '{{A:-b:c}}',
              '60',
            ),
            fc.string({ maxLength: 30 }),
            fc.string({ maxLength: 300, minLength: 100 }),
          ),
          { maxLength: 4 },
        ),
      )
      .map(([name, params]) => [`#${name}`, ...params].join(':')),
    fc.string({ maxLength: 20 }).map((value) => `{{A}}: "${value}"`),
  );

  test('there is an answer, and it keeps its limits', async () => {
    const { done } = await setting();
    await fc.assert(
      fc.asyncProperty(line, async (said) => {
        const { reply, failed, clarify } = await done(said);
        expect(typeof reply).toBe('string');
        if (!said.startsWith('#') || clarify !== null) return;
        const { command } = readCommand(said);
        if (failed) expect(reply).toMatch(/^#ERROR:E00[1-5]:./);
        if (failed) {
          const asked = typeof command?.limit === 'number' ? command.limit : 20;
          expect(countTokens(reply.slice('#ERROR:E001:'.length))).toBeLessThanOrEqual(Math.max(10, asked));
          return;
        }
        if (command === null || reply === 'none') return;
        // Topics such as security are told at twice the length.
        const budget = budgetFor({ ...command, limit: command.limit ?? 'detailed' });
        if (budget.kind === 'text') expect(countTokens(reply)).toBeLessThanOrEqual(budget.tokens);
        if (budget.kind === 'list' && command.name !== 'HELP' && command.name !== 'VERSION') {
          const items = reply.split('\n').map((item) => item.replace(/^• /, ''));
          expect(items.length).toBeLessThanOrEqual(budget.maxItems);
          for (const item of items) expect(countTokens(item)).toBeLessThanOrEqual(budget.tokensPerItem);
        }
      }),
      { numRuns: 500 },
    );
  });
});
