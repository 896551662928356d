/**
 * Every form of every `#COMMAND`, and what it does: a row names a line, its reply and its effect in the store, or that it only reads. The rows are
 * held against the table of commands, so a new form without one fails. A line that is said again and changes nothing must not be acknowledged.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import type { SessionJson } from '../../src/core/session.ts';
import type { Task } from '../../src/core/task.ts';
import { COMMANDS, type CommandForm, type CommandSpec } from '../../src/protocol/command/index.ts';
import { waitingFor } from '../../src/runtime/people-inbox.ts';
import { makeScene, type Scene } from '../session/scene.ts';
import { SESSION, voiceOf } from '../session/talk.ts';

/** `reads`: the journal is as it was. Else what has to be seen in the store afterwards. */
type Effect = 'reads' | ((at: Scene, made: readonly string[]) => Promise<void>);

interface Row {
  /** Said before, by the orchestrator unless a name and a blank stand before the `#`. */
  readonly before?: readonly string[];
  readonly line: string;
  readonly reply: RegExp;
  readonly effect: Effect;
  /** What the same line answers at once again; not said where it does the same again. */
  readonly again?: RegExp;
}

const session = async (at: Scene): Promise<Partial<SessionJson>> => (await at.store.session(SESSION)) ?? {};
const task = async (at: Scene, id = ''): Promise<Task> => {
  const found = await at.store.find(id);
  if (found === undefined) throw new Error(`there is no ${id}`);
  return found;
};
const letters = async (at: Scene): Promise<string[]> =>
  Object.values((await session(at)).letters ?? {}).map(({ to, text }) => `${to}: ${text}`);

/** By command and form. `{1}` is the id of the first task that was made. */
const ROWS: Readonly<Record<string, Row>> = {
  HELP: { line: '#HELP:LOCK', reply: /Acquire exclusive lock \(advisory\)/, effect: 'reads' },
  ASK: {
    before: ['#STATE:save:api_url:http://a:80'],
    line: '#ASK:api',
    reply: /^• api_url: http:\/\/a:80$/,
    effect: 'reads',
  },
  DEFINE: { line: '#DEFINE:lease', reply: /^time a run may be silent/, effect: 'reads' },
  SUMMARY: { before: ['#DELEGATE:emma:x'], line: '#SUMMARY', reply: /1 pending/, effect: 'reads' },
  'HEALTH:session': { line: '#HEALTH:session', reply: /Status: healthy/, effect: 'reads' },
  'HEALTH:context': { line: '#HEALTH:context', reply: /tokens/, effect: 'reads' },

  'STATE:save': {
    line: '#STATE:save:url:http://a:80',
    reply: /^saved:url$/,
    effect: async (at) => expect((await session(at)).state?.['url']?.value).toBe('http://a:80'),
  },
  'STATE:load': { before: ['#STATE:save:k:v'], line: '#STATE:load:k', reply: /^v$/, effect: 'reads' },
  'STATE:list': { before: ['#STATE:save:k:v'], line: '#STATE:list', reply: /^• k$/, effect: 'reads' },
  'STATE:clear': {
    before: ['#STATE:save:k:v'],
    line: '#STATE:clear',
    reply: /^cleared$/,
    effect: async (at) => expect((await session(at)).state).toBeUndefined(),
    again: /^nothing_saved$/,
  },
  // Its answer is the error itself, and `#HEALTH:session` counts it.
  ERROR: { line: '#ERROR:E004:max_limit_100', reply: /^#ERROR:E004:max_limit_100$/, effect: 'reads' },

  DELEGATE: {
    line: '#DELEGATE:emma:fix http://localhost:3000/login, see src/a.cpp:42  and std::vector:P1',
    reply: /^ack:TASK-/,
    effect: async (at, [id]) => {
      const made = await task(at, id);
      expect(made).toMatchObject({ status: 'ready', priority: 'high', routing: { agent: 'emma' } });
      expect(await at.store.text(made.id, 'body')).toBe(
        'fix http://localhost:3000/login, see src/a.cpp:42  and std::vector',
      );
    },
  },
  REPORT: { before: ['#DELEGATE:emma:x'], line: '#REPORT:emma:progress', reply: /^• x: pending$/, effect: 'reads' },
  NEXT: { before: ['#DELEGATE:emma:x'], line: '#NEXT', reply: /^• P2 x$/, effect: 'reads' },
  EVALUATE: { before: ['#DELEGATE:emma:x'], line: '#EVALUATE:{1}', reply: /^unverified: ready/, effect: 'reads' },
  RETRY: {
    before: ['#DELEGATE:emma:x', 'block {1}'],
    line: '#RETRY:{1}',
    reply: /^ack:TASK-/,
    effect: async (at, [id]) => expect((await task(at, id)).status).toBe('ready'),
    again: /^#ERROR:E002:it is ready already$/,
  },
  ESCALATE: {
    before: ['#DELEGATE:emma:x'],
    line: '#ESCALATE:{1}:by 18:00',
    reply: /^ack:ask-1 TASK-\S+ P2→P1$/,
    effect: async (at, [id]) => {
      expect(await waitingFor(at.store)).toMatchObject([
        { id: 'ask-1', kind: 'uncertainty', question: `${id}: x: by 18:00` },
      ]);
      expect((await task(at, id)).priority).toBe('high');
    },
    again: /^#ERROR:E002:in the inbox already: ask-1$/,
  },

  LOCK: {
    line: '#LOCK:src/a.js:60',
    reply: /^locked$/,
    effect: async (at) => expect((await session(at)).locks?.['src/a.js']?.owner).toBe('orchestrator'),
  },
  UNLOCK: {
    before: ['#LOCK:src/a.js:60'],
    line: '#UNLOCK:src/a.js',
    reply: /^unlocked$/,
    effect: async (at) => expect((await session(at)).locks?.['src/a.js']?.until).toBe(0),
    again: /^#ERROR:E002:not_locked src\/a\.js$/,
  },
  WAIT: { before: ['#SIGNAL:go:true'], line: '#WAIT:go:1', reply: /^ready$/, effect: 'reads' },
  SIGNAL: {
    line: '#SIGNAL:go:12:30',
    reply: /^signaled:0$/,
    effect: async (at) => expect((await session(at)).signals?.['go']?.value).toBe('12:30'),
  },
  DEPENDS: {
    before: ['#DELEGATE:emma:build: it', '#DELEGATE:bob:test it'],
    line: '#DEPENDS:emma:build: it',
    reply: /^ack:TASK-\S+ waits for TASK-\S+$/,
    effect: async (at, [first, second]) => {
      expect((await task(at, second)).dependsOn).toEqual([first]);
      const claim = { type: 'task.claim', id: second ?? '', claimer: { agent: 'bob' }, leaseMs: 1000 } as const;
      expect(await at.store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } })).toMatchObject({
        kind: 'refused',
        refusal: { code: 'E_NOT_CLAIMABLE' },
      });
    },
    again: /^TASK-\S+ waits for TASK-\S+ already$/,
  },
  COORDINATE: {
    line: '#COORDINATE:emma:bob:the parser',
    reply: /^emma, bob → emma-bob$/,
    effect: async (at) => {
      expect((await session(at)).subscribers?.['emma-bob']).toEqual(['emma', 'bob']);
      expect(await letters(at)).toEqual(
        ['emma', 'bob'].map((to) => `${to}: coordinate with emma, bob on the parser, channel emma-bob`),
      );
    },
  },

  BROADCAST: {
    before: ['#DELEGATE:emma:x', 'bob #LOCK:db'],
    line: '#BROADCAST:file_changes:at 10:30',
    reply: /^sent:2$/,
    effect: async (at) => expect((await letters(at)).sort()).toEqual(['bob: at 10:30', 'emma: at 10:30']),
  },
  SUBSCRIBE: {
    line: '#SUBSCRIBE:file_changes',
    reply: /^subscribed:file_changes$/,
    effect: async (at) => expect((await session(at)).subscribers?.['file_changes']).toEqual(['orchestrator']),
    again: /^already_subscribed/,
  },
  UNSUBSCRIBE: {
    before: ['#SUBSCRIBE:test_results'],
    line: '#UNSUBSCRIBE:test_results',
    reply: /^unsubscribed:test_results$/,
    effect: async (at) => {
      expect((await session(at)).subscribers?.['test_results']).toBeUndefined();
      expect(await at.as(voiceOf('emma'), '#BROADCAST:test_results:green')).toBe('sent:0');
    },
    again: /^already_unsubscribed/,
  },
  DIRECT: {
    line: '#DIRECT:emma:see http://a:80',
    reply: /^sent:1$/,
    effect: async (at) => expect(await letters(at)).toEqual(['emma: see http://a:80']),
  },

  'CHECKPOINT:create': {
    line: '#CHECKPOINT:create:manual:start',
    reply: /checkpoint_id:cp_001$/,
    effect: async (at) => {
      expect((await session(at)).checkpoints?.['cp_001']?.name).toBe('start');
      expect(at.git('for-each-ref', 'refs/baton/')).toMatch(/cp_001/);
    },
  },
  'CHECKPOINT:list': {
    before: ['#CHECKPOINT:create:manual:a'],
    line: '#CHECKPOINT:list',
    reply: /^• cp_001 a/,
    effect: 'reads',
  },
  'CHECKPOINT:diff': {
    before: ['#CHECKPOINT:create:manual:a'],
    line: '#CHECKPOINT:diff:cp_001',
    reply: /./,
    effect: 'reads',
  },
  ROLLBACK: {
    before: ['#CHECKPOINT:create:manual:a', 'write'],
    line: '#ROLLBACK:cp_001',
    reply: /rolled_back:cp_001$/,
    effect: async (at) => expect(at.read('README.md')).not.toContain('spoiled'),
  },
  'ROLLBACK:dry-run': {
    before: ['#CHECKPOINT:create:manual:a', 'write'],
    line: '#ROLLBACK:dry-run:cp_001',
    reply: /^restores 1\b/,
    effect: async (at) => expect(at.read('README.md')).toContain('spoiled'),
  },
  'ROLLBACK:status': { line: '#ROLLBACK:status', reply: /./, effect: 'reads' },

  'CONTEXT:export': {
    before: ['#STATE:save:k:v:persistent'],
    line: '#CONTEXT:export:./out.ctx',
    reply: /exported:\d+ items/,
    effect: async (at) => expect(readFileSync(join(at.workspace, 'out.ctx'), 'utf8')).toMatch(/k: v/),
  },
  'CONTEXT:import': {
    before: ['#STATE:save:k:v:persistent', '#CONTEXT:export:./out.ctx', '#STATE:clear'],
    line: '#CONTEXT:import:./out.ctx',
    reply: /imported:\d+ items/,
    effect: async (at) => expect((await session(at)).state?.['k']?.value).toBe('v'),
  },
  'CONTEXT:list': {
    before: ['#STATE:save:k:v:persistent', '#CONTEXT:export:./out.ctx'],
    line: '#CONTEXT:list:.',
    reply: /^• out\.ctx/,
    effect: 'reads',
  },
  'CONTEXT:validate': {
    before: ['#STATE:save:k:v:persistent', '#CONTEXT:export:./out.ctx'],
    line: '#CONTEXT:validate:./out.ctx',
    reply: /valid/,
    effect: 'reads',
  },

  VERSION: { line: '#VERSION', reply: /^v1\.1\.0$/, effect: 'reads' },
  'VERSION:check': { line: '#VERSION:check:1.0.0', reply: /^compatible$/, effect: 'reads' },
  'VERSION:features': { line: '#VERSION:features', reply: /^• coordination/, effect: 'reads' },
  SUPPORTS: { line: '#SUPPORTS:coordination', reply: /^true$/, effect: 'reads' },
};

const FORMS = Object.entries(COMMANDS as Readonly<Record<string, CommandSpec>>).flatMap(([name, { forms }]) =>
  forms.map((form): readonly [string, CommandForm] => [form.sub === null ? name : `${name}:${form.sub}`, form]),
);

test('every form of every command has a row, and every row a form', () => {
  expect(Object.keys(ROWS).sort()).toEqual(FORMS.map(([name]) => name).sort());
  // What the table says of a form, its row says too.
  const reading = new Set(['ERROR', 'WAIT']); // they act for others, or on what others did
  for (const [name, { effect }] of FORMS) {
    const isRead = ROWS[name]?.effect === 'reads' || name === 'ROLLBACK:dry-run';
    if (!reading.has(name)) expect(isRead, name).toBe(effect === 'looks');
  }
});

const open: Scene[] = [];
afterEach(async () => {
  for (const scene of open.splice(0)) await scene.close();
});

const COMMAND = { kind: 'command', command: ['true'] };

/** An acknowledgement: something was changed. */
const DONE =
  /^(?:ack\b|saved:|cleared|locked$|unlocked$|signaled:|sent:[1-9]|subscribed|unsubscribed)|rolled_back:|imported:[1-9]/;

describe('does what its row says', () => {
  test.each(Object.entries(ROWS))('#%s', async (_name, { before = [], line, reply, effect, again }) => {
    const at = await makeScene({ git: true, config: { agents: { emma: COMMAND, bob: COMMAND } } });
    open.push(at);
    const made: string[] = [];
    const say = async (words: string): Promise<string> => {
      const filled = words.replace(/\{(\d)\}/g, (_all, n: string) => made[Number(n) - 1] ?? '');
      const [, who = 'orchestrator', command = filled] = /^(?:(\w+) )?(#.*)$/.exec(filled) ?? [];
      const said = await at.as(voiceOf(who), command);
      const id = /^ack:(TASK-\S+)$/.exec(said)?.[1];
      if (id !== undefined && command.startsWith('#DELEGATE')) made.push(id);
      return said;
    };
    for (const words of before) {
      if (words === 'write') at.write('README.md', 'spoiled\n');
      else if (words.startsWith('block')) {
        const message = { type: 'task.move', id: made[0] ?? '', to: 'blocked', reason: 'test' } as const;
        await at.store.send({ message, by: { kind: 'person', name: 'test' } });
      } else expect(await say(words)).not.toMatch(/#ERROR/);
    }
    const records = await at.store.lastRecord();
    expect(await say(line)).toMatch(reply);
    if (effect === 'reads') expect(await at.store.lastRecord()).toBe(records);
    else await effect(at, made);
    const after = await at.store.lastRecord();
    const second = await say(line);
    if (again !== undefined) expect(second).toMatch(again);
    if ((await at.store.lastRecord()) === after) expect(second).not.toMatch(DONE);
  });
});
