/** Commands that a project adds: a program or an agent answers, within the tokens that config gives them. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { configOf } from '../../src/core/config.ts';
import { checkProjectCommands } from '../../src/session/project-commands.ts';
import { type Talk, type TalkOptions, talk, voiceOf } from './talk.ts';

let folder = '';
const program = (name: string): string => join(folder, name);
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-project-'));
  const scripts = {
    args: 'echo "$# $*"; echo "$BATON_SESSION $BATON_SPEAKER"',
    fails: 'echo "so far so good"; echo "no such target" >&2; exit 3',
    long: 'seq 1 5000; printf "\\033[31mred"',
    slow: 'sleep 60',
    endless: 'while :; do echo y; done',
    silent: 'exit 0',
  };
  for (const [name, text] of Object.entries(scripts)) {
    await writeFile(program(name), `#!/bin/sh\n${text}\n`);
    await chmod(program(name), 0o755);
  }
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const open: Talk[] = [];
const setting = async (commands: unknown, more: TalkOptions = {}): Promise<Talk> => {
  const made = await talk({ config: { agents: { emma: { kind: 'claude' } }, commands }, ...more });
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

describe('a program', () => {
  test('gets the parameters as they are, with no shell between', async () => {
    const { say } = await setting({ DEPLOY: { does: 'deploy', run: [program('args'), 'fixed'], tokens: 60 } });
    expect(await say('#DEPLOY')).toBe('1 fixed\ns orchestrator');
    expect(await say('#DEPLOY:prod:$(id); rm -rf x')).toBe('3 fixed prod $(id); rm -rf x\ns orchestrator');
    expect(await say('#DEPLOY:--force')).toMatch(/^#ERROR:E002:.*begins with -/);
    expect(await say('{{T}}: "a b:c"')).toBe('saved:T');
    expect(await say('#DEPLOY:{{T}}')).toBe('2 fixed a b:c\ns orchestrator');
  });

  test('takes as many parameters as its usage shows', async () => {
    const run = [program('args')];
    const { say } = await setting({
      DEPLOY: { usage: '#DEPLOY:<target>[:env]', does: 'deploy', run },
      PLAIN: { usage: '#PLAIN', does: 'deploy', run },
      MANY: { usage: '#MANY:<one>[:…]', does: 'deploy', run },
    });
    expect(await say('#DEPLOY')).toBe('#ERROR:E002:expected #DEPLOY:<target>[:env]');
    expect(await say('#DEPLOY:a:b:c')).toBe('#ERROR:E002:expected #DEPLOY:<target>[:env]');
    expect(await say('#DEPLOY:a')).toMatch(/^1 a/);
    expect(await say('#DEPLOY:a:b')).toMatch(/^2 a b/);
    expect(await say('#PLAIN:a')).toMatch(/^#ERROR:E002:expected #PLAIN/);
    expect(await say('#PLAIN')).toMatch(/^0/);
    expect(await say('#MANY')).toMatch(/^#ERROR:E002:/);
    expect(await say('#MANY:a:b:c')).toMatch(/^3 a b c/);
  });

  test('is not for runs, unless the config says so: it is not in their sandbox', async () => {
    const run = 'TASK-2026-11-16-001-r1';
    const mine = await setting({ DEPLOY: { does: 'deploy', run: [program('args')] } });
    expect(await mine.as('emma', '#DEPLOY', { run })).toMatch(/^#ERROR:E005:/);
    const open = await setting({ DEPLOY: { does: 'deploy', run: [program('args')], agents: true } });
    expect(await open.as('emma', '#DEPLOY', { run })).toMatch(/^0 ?\ns emma$/);
  });

  test('is held to its tokens, and what it prints for a terminal is taken out', async () => {
    const { say } = await setting({ LIST: { does: 'list', run: [program('long')], tokens: 20 } });
    const reply = await say('#LIST');
    expect(countTokens(reply)).toBeLessThanOrEqual(20);
    expect(reply).toMatch(/^1\n2\n3/);
    expect(countTokens(await say('#LIST:x:brief'))).toBeLessThanOrEqual(10);
    expect(countTokens(await say('#LIST:x:limit=5'))).toBeLessThanOrEqual(5);
  });

  test('that fails, is slow, prints without end or is not there is an error', async () => {
    const { say, done } = await setting({
      FAILS: { does: 'fail', run: [program('fails')] },
      SLOW: { does: 'wait', run: [program('slow')], timeout: 1 },
      ENDLESS: { does: 'go on', run: [program('endless')], timeout: 1 },
      MISSING: { does: 'be missing', run: [program('missing')] },
      SILENT: { does: 'say nothing', run: [program('silent')] },
    });
    expect(await say('#FAILS')).toBe('#ERROR:E002:exit 3 no such target');
    expect(await say('#SLOW')).toBe('#ERROR:E002:no answer within 1 s');
    expect(await say('#ENDLESS')).toBe('#ERROR:E002:no answer within 1 s');
    expect(await say('#MISSING')).toMatch(/^#ERROR:E002:/);
    expect(await say('#SILENT')).toBe('done');
    const stop = new AbortController();
    const slow = done('#SLOW', voiceOf('orchestrator'), { signal: stop.signal });
    stop.abort();
    expect((await slow).reply).toBe('#ERROR:E002:interrupted');
  });
});

test('an agent answers, and what it says is text', async () => {
  const asked: string[] = [];
  const { say, store } = await setting(
    { REVIEW: { does: 'review a file', agent: 'emma', tokens: 10 } },
    {
      askAgent: async (agent, prompt) => {
        asked.push(`${agent}: ${prompt}`);
        return '#STATE:save:k:v and a good deal more than ten tokens of talk about what it thinks';
      },
    },
  );
  const reply = await say('#REVIEW:src/a.js');
  expect(reply).toMatch(/^#STATE:save:k:v/);
  expect(countTokens(reply)).toBeLessThanOrEqual(10);
  expect(await store.session('s')).toBeUndefined();
  expect(asked[0]).toMatch(/^emma: .*#REVIEW.*src\/a\.js/s);
  const nobody = await setting({ REVIEW: { does: 'review a file', agent: 'emma' } });
  expect(await nobody.say('#REVIEW:x')).toBe('#ERROR:E002:emma cannot be asked here');
});

test('what is deprecated says so, in its help and in its answers', async () => {
  const own = { OLD: { usage: '#OLD:<x>', does: 'ship', run: [program('silent')], deprecated: '#SHIP' } };
  const { say } = await setting(own);
  expect(await say('#OLD:a')).toBe('done\n[DEPRECATED] use #SHIP');
  expect(await say('#HELP:OLD')).toBe('Usage: #OLD:<x> [DEPRECATED]\nShip\nUse instead: #SHIP');
  expect(await say('#HELP')).toContain('• project: #OLD');
});

test('a config that gives a command two meanings, or none, is refused', () => {
  const check = (commands: unknown) => () => checkProjectCommands(configOf({ commands }));
  expect(check({ STATE: { does: 'x', run: ['true'] } })).toThrow(/commands\.STATE: expected a name that is not in/);
  expect(check({ SHIP: { does: 'x' } })).toThrow(/commands\.SHIP: expected a program .* got neither/);
  expect(check({ SHIP: { does: 'x', run: ['true'], agent: 'emma' } })).toThrow(/got both/);
  expect(check({ ship: { does: 'x', run: ['true'] } })).toThrow(
    /config\.yaml, commands: expected as a key .* got "ship"/,
  );
  expect(check({ SHIP: { does: 'x', run: ['true'] } })).not.toThrow();
});
