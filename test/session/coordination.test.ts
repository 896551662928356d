/** Locks, waits, signals, channels and dependencies, as agents of a session use them: what waits is woken, and by what. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import type { NewTask } from '../../src/core/laws/messages.ts';
import { unread } from '../../src/runtime/letters.ts';
import { watchRuns } from '../../src/runtime/run-watch.ts';
import { CHANNELS } from '../../src/session/commands/mail.ts';
import { openFeed } from '../../src/session/feed.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import { until } from '../helpers/until.ts';
import { SESSION, type Talk, type TalkOptions, talk, voiceOf } from './talk.ts';

/** A waiter looks again every four seconds, whatever happens. Here it does not: it is woken by what happened, or the test does not end. */
vi.mock('../../src/process/waiting.ts', async (original) => {
  const real = await original<typeof import('../../src/process/waiting.ts')>();
  const createBell: typeof real.createBell = (stop) => {
    const bell = real.createBell(stop);
    return { ...bell, wait: (ms) => bell.wait(ms === 4_000 ? 600_000 : ms) };
  };
  return { ...real, createBell };
});

const open: Talk[] = [];
const setting = async (options: TalkOptions = {}): Promise<Talk> => {
  const made = await talk({ config: AGENTS, ...options });
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const AGENTS = { agents: { DevAgent: { kind: 'claude' }, TestAgent: { kind: 'codex' } } };
const PERSON = { kind: 'person', name: 'ann' } as const;
const RUNTIME = { kind: 'runtime', name: 'baton' } as const;

async function add({ store }: Talk, ...tasks: readonly Partial<NewTask>[]): Promise<string[]> {
  const answer = await store.send({
    message: { type: 'task.add', tasks: tasks.map((task) => ({ title: 'a task', session: SESSION, ...task })) },
    by: PERSON,
  });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks.map(({ id }) => id);
}

async function claim({ store }: Talk, id: string, agent: string): Promise<string> {
  const message = { type: 'task.claim', id, claimer: { agent, instead: true }, leaseMs: 60_000 } as const;
  const answer = await store.send({ message, by: RUNTIME });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks[0]?.run?.id as string;
}

/** Until somebody waits in the session. */
async function untilWaiting({ store }: Talk, count = 1): Promise<void> {
  const waiters = async (): Promise<number> => Object.keys((await store.session(SESSION))?.waiters ?? {}).length;
  await until('somebody waits', async () => (await waiters()) >= count);
}

describe('#LOCK', () => {
  test('as in the document', async () => {
    const { as } = await setting();
    expect(await as('DevAgent', '#LOCK:src/auth.js:600')).toBe('locked');
    expect(await as('TestAgent', '#LOCK:src/auth.js:60')).toBe('busy:DevAgent');
    expect(await as('TestAgent', '#UNLOCK:src/auth.js')).toBe('not_owner');
    expect(await as('DevAgent', '#UNLOCK:src/auth.js')).toBe('unlocked');
    expect(await as('TestAgent', '#LOCK:src/auth.js:60')).toBe('locked');
    expect(await as('orchestrator', '#UNLOCK:src/auth.js')).toBe('unlocked');
  });

  test('what looks the same is one resource, and the workspace is one', async () => {
    const { as, workspace } = await setting();
    expect(await as('DevAgent', '#LOCK:src/é.js')).toBe('locked');
    for (const same of [
      ' src/é.js',
      'src/é.js ',
      'src/e\u0301.js',
      'src/\u200bé.js',
      'src\\é.js',
      `${workspace}/src/é.js`,
    ]) {
      expect(await as('TestAgent', `#LOCK:${same}`), JSON.stringify(same)).toBe('busy:DevAgent');
    }
    expect(await as('DevAgent', '#LOCK:.')).toBe('locked');
    for (const root of [workspace, `${workspace}/`, './']) {
      expect(await as('TestAgent', `#LOCK:${root}`), root).toBe('busy:DevAgent');
    }
    expect(await as('DevAgent', '#UNLOCK:src/e\u0301.js ')).toBe('unlocked');
    expect(await as('TestAgent', '#WAIT: src/é.js:0')).toBe('ready');
    expect(await as('TestAgent', '#LOCK:\u200b')).toMatch(/^#ERROR:E002:/);
    expect(await as('TestAgent', `#LOCK:${workspace}2`)).toMatch(/^#ERROR:E005:outside_workspace/);
  });

  test('a file has one name, however it is written', async () => {
    const { as } = await setting();
    expect(await as('DevAgent', '#LOCK:src/../src/a.js')).toBe('locked');
    for (const name of ['src/a.js', './src/a.js', 'src//a.js', 'src\\a.js', 'src/a.js/']) {
      expect(await as('TestAgent', `#LOCK:${name}`)).toBe('busy:DevAgent');
    }
    expect(await as('TestAgent', '#LOCK:the database')).toBe('locked');
  });

  test('goes with its run', async () => {
    const it = await setting();
    const [task = ''] = await add(it, {});
    const run = await claim(it, task, 'DevAgent');
    expect(await it.as('DevAgent', '#LOCK:x', { run })).toBe('locked');
    expect(await it.as('TestAgent', '#LOCK:x')).toBe('busy:DevAgent');
    await it.store.send({ message: { type: 'run.fail', run, code: 'E_PROCESS_CRASH', message: 'gone' }, by: RUNTIME });
    expect(await it.as('TestAgent', '#LOCK:x')).toBe('locked');
  });
});

describe('#WAIT', () => {
  test('is woken by a signal', async () => {
    const it = await setting();
    const waits = ['a', 'b'].map((agent) => it.as(agent, '#WAIT:dev_complete:30'));
    await untilWaiting(it, 2);
    expect(await it.as('DevAgent', '#SIGNAL:dev_complete:false')).toBe('signaled:0');
    expect(await it.as('DevAgent', '#SIGNAL:dev_complete:true')).toBe('signaled:2');
    expect(await Promise.all(waits)).toEqual(['ready', 'ready']);
    expect(await it.as('late', '#WAIT:dev_complete:30')).toBe('ready');
  });

  test('is woken by a lock that comes free, given back or run out, and has it kept for it', async () => {
    const it = await setting();
    await it.as('DevAgent', '#LOCK:x:600');
    const waits = it.as('TestAgent', '#WAIT:x:30');
    await untilWaiting(it);
    await it.as('DevAgent', '#UNLOCK:x');
    expect(await waits).toBe('ready');
    expect(await it.as('other', '#LOCK:x')).toBe('busy:TestAgent');
    expect(await it.as('TestAgent', '#LOCK:x:1')).toBe('locked');
    expect(await it.as('other', '#WAIT:x:600')).toBe('ready');
  });

  test('is woken by the end of the run that has the lock, and by a task that is done', async () => {
    const it = await setting();
    const [first = '', second = ''] = await add(it, {}, { externalId: 'auth_impl' });
    const run = await claim(it, first, 'DevAgent');
    await it.as('DevAgent', '#LOCK:x:600', { run });
    const waits = [
      it.as('TestAgent', '#WAIT:x:30'),
      it.as('a', `#WAIT:${second}:30`),
      it.as('b', '#WAIT:auth_impl:30'),
    ];
    await untilWaiting(it, 3);
    await it.store.send({ message: { type: 'run.fail', run, code: 'E_PROCESS_CRASH', message: 'gone' }, by: RUNTIME });
    const other = await claim(it, second, 'DevAgent');
    await it.store.send({ message: { type: 'run.report', run: other, outcome: 'done' }, by: RUNTIME });
    await it.store.send({ message: { type: 'run.judge', run: other, passed: true }, by: RUNTIME });
    expect(await Promise.all(waits)).toEqual(['ready', 'ready', 'ready']);
  });

  test('the most urgent goes first, whoever came first', async () => {
    const it = await setting();
    await it.as('DevAgent', '#LOCK:x:600');
    const order: string[] = [];
    const wait = async (agent: string, priority: 'P0' | 'P2'): Promise<void> => {
      expect(await it.as(agent, '#WAIT:x:30', { priority })).toBe('ready');
      order.push(agent);
      expect(await it.as(agent, '#LOCK:x', { priority })).toBe('locked');
      expect(await it.as(agent, '#UNLOCK:x', { priority })).toBe('unlocked');
    };
    const all = [wait('a', 'P2')];
    await untilWaiting(it, 1);
    all.push(wait('b', 'P2'));
    await untilWaiting(it, 2);
    all.push(wait('urgent', 'P0'));
    await untilWaiting(it, 3);
    await it.as('DevAgent', '#UNLOCK:x');
    await Promise.all(all);
    expect(order).toEqual(['urgent', 'a', 'b']);
  });

  test('ends with its time, at once with none, and when it is interrupted', async () => {
    const it = await setting();
    expect(await it.as('a', '#WAIT:never:0')).toBe('timeout');
    expect(await it.as('a', '#WAIT:never:1')).toBe('timeout');
    const stop = new AbortController();
    const waits = it.done('#WAIT:never:300', voiceOf('a'), { signal: stop.signal });
    await untilWaiting(it);
    stop.abort();
    expect((await waits).reply).toBe('timeout');
    expect((await it.store.session(SESSION))?.waiters ?? {}).toEqual({});
  });

  test('a circle is found, named, and the last to come is told', async () => {
    const it = await setting();
    await it.as('a', '#LOCK:x');
    await it.as('b', '#LOCK:y');
    const first = it.as('a', '#WAIT:y:30');
    await untilWaiting(it);
    expect(await it.as('b', '#WAIT:x:30')).toBe('#ERROR:E005:deadlock b→a→b');
    await it.as('b', '#UNLOCK:y');
    expect(await first).toBe('ready');
  });

  test('the less urgent is told, though it waited first', async () => {
    const it = await setting();
    await it.as('a', '#LOCK:x');
    await it.as('b', '#LOCK:y', { priority: 'P0' });
    const first = it.as('a', '#WAIT:y:30');
    await untilWaiting(it);
    const urgent = it.as('b', '#WAIT:x:30', { priority: 'P0' });
    expect(await first).toBe('#ERROR:E005:deadlock b→a→b');
    await it.as('a', '#UNLOCK:x');
    expect(await urgent).toBe('ready');
  });

  test('two runs of one agent wait for each other without being a circle', async () => {
    const it = await setting();
    const runs = await Promise.all((await add(it, {}, {})).map((id) => claim(it, id, 'emma')));
    const [one, two] = runs as [string, string];
    expect(await it.as('emma', '#LOCK:x', { run: one })).toBe('locked');
    const waits = it.as('emma', '#WAIT:x:30', { run: two });
    await untilWaiting(it);
    expect(await it.as('emma', '#UNLOCK:x', { run: one })).toBe('unlocked');
    expect(await waits).toBe('ready');
  });
});

describe('channels and letters', () => {
  test('reach whoever listens, and are counted', async () => {
    const { as, store } = await setting();
    expect(await as('DevAgent', '#BROADCAST:file_changes:auth_complete')).toBe('sent:0');
    expect(await as('TestAgent', '#SUBSCRIBE:file_changes')).toBe('subscribed:file_changes');
    expect(await as('TestAgent', '#SUBSCRIBE:file_changes')).toBe('already_subscribed:file_changes');
    expect(await as('DevAgent', '#SUBSCRIBE:a_channel_with_a_rather_long_name_of_its_own')).toBe('subscribed');
    expect(await as('DevAgent', '#BROADCAST:file_changes:auth: complete')).toBe('sent:1');
    expect(await as('DevAgent', '#DIRECT:TestAgent:auth_ready')).toBe('sent:1');
    const { letters } = (await store.session(SESSION)) ?? {};
    expect(Object.values(letters ?? {})).toMatchObject([
      { to: 'TestAgent', from: 'DevAgent', channel: 'file_changes', text: 'auth: complete' },
      { to: 'TestAgent', from: 'DevAgent', channel: null, text: 'auth_ready' },
    ]);
    expect(await as('TestAgent', '#UNSUBSCRIBE:file_changes')).toBe('unsubscribed:file_changes');
    expect(await as('TestAgent', '#UNSUBSCRIBE:file_changes')).toBe('already_unsubscribed');
    expect(await as('DevAgent', '#BROADCAST:file_changes:more')).toBe('sent:0');
  });

  test('a broadcast reaches everybody whom the session knows, listeners or not', async () => {
    const at = await setting();
    await add(at, { routing: { agent: 'emma' } }, { routing: { agent: 'bob' } });
    await at.as('TestAgent', '#LOCK:db:60');
    await at.as('codex', '#SUBSCRIBE:test_results');
    expect(await at.say('#BROADCAST:deploy_status:v2 is live at 10:30')).toBe('sent:4');
    const readers = Object.values((await at.store.session(SESSION))?.letters ?? {}).map(({ to }) => to);
    expect(readers.sort()).toEqual(['TestAgent', 'bob', 'codex', 'emma']);
    expect((await at.done('tell everyone the build is green')).commands).toEqual([
      '#BROADCAST:priority_alert:the build is green',
    ]);
    expect(Object.keys((await at.store.session(SESSION))?.letters ?? {})).toHaveLength(8);
    await at.as('bob', '#UNSUBSCRIBE:deploy_status');
    expect(await at.say('#BROADCAST:deploy_status:v3')).toBe('sent:3');
    expect(await at.say('#BROADCAST:news:v3')).toBe('sent:4');
  });

  test('the acknowledgement has at most five tokens, whatever the channel is called', async () => {
    const { as } = await setting();
    for (const channel of [...CHANNELS, 'x', 'a_channel_with_a_rather_long_name_of_its_own']) {
      for (const command of ['SUBSCRIBE', 'UNSUBSCRIBE']) {
        expect(countTokens(await as('a', `#${command}:${channel}`))).toBeLessThanOrEqual(5);
      }
    }
  });

  test('of a full mailbox the oldest go, and its reader and the record are told how many', async () => {
    const { as, store } = await setting();
    await as('TestAgent', '#SUBSCRIBE:file_changes');
    await as('DevAgent', '#SUBSCRIBE:file_changes');
    const send = { type: 'session.send', session: SESSION, to: { channel: 'file_changes' } } as const;
    const { speaker } = voiceOf('DevAgent');
    for (let i = 1; i <= 250; i++) await store.send({ message: { ...send, text: `n${i}`, speaker }, by: RUNTIME });
    const letters = Object.values((await store.session(SESSION))?.letters ?? {});
    expect(letters).toHaveLength(200);
    expect(letters[0]).toMatchObject({ text: 'n51', dropped: 50 });
    let lost = 0;
    for await (const { events } of store.eventsAfter({ after: 0, session: SESSION })) {
      for (const { type, detail } of events) {
        if (type !== 'session.dropped') continue;
        expect(detail).toEqual({ to: 'TestAgent', count: 1 });
        lost++;
      }
    }
    expect(lost).toBe(50);
    expect((await unread(store, SESSION, 'TestAgent'))?.text).toMatch(/^- 50 older messages were dropped/);
    const shown = await as('TestAgent', '#REPORT:TestAgent:messages');
    expect(shown).toMatch(/^• 50 older messages were dropped\n• DevAgent #file_changes: n51\n/);
    // Told once, with the first that came after them.
    expect(await as('TestAgent', '#REPORT:TestAgent:messages')).not.toContain('dropped');
    expect(await as('DevAgent', '#BROADCAST:file_changes:one more')).toBe('sent:1');
  });

  test('a letter to a team goes to each of them', async () => {
    const { as, store } = await setting({ config: { ...AGENTS, teams: { all: ['DevAgent', 'TestAgent'] } } });
    expect(await as('orchestrator', '#DIRECT:all:hello')).toBe('sent:2');
    const { letters } = (await store.session(SESSION)) ?? {};
    expect(Object.values(letters ?? {}).map(({ to }) => to)).toEqual(['DevAgent', 'TestAgent']);
  });

  test('the four built-in channels are told what happens, once, however many look on', async () => {
    const store = openMemoryStore();
    const it = await setting({ store });
    const warnings: string[] = [];
    const watches = [await watchRuns(store), await watchRuns(store)];
    const feeds = watches.map((watch) => openFeed({ store, watch, warn: (text) => warnings.push(text) }));
    for (const channel of ['file_changes', 'deploy_status', 'test_results', 'priority_alert']) {
      await it.as('TestAgent', `#SUBSCRIBE:${channel}`);
    }
    const [one = '', two = '', three = ''] = await add(
      it,
      { title: 'auth' },
      { title: 'test it', texts: { 'inputs/task.json': '{"task":{"category":"TESTING"}}' } },
      { title: 'urgent thing', priority: 'critical' },
    );
    const first = await claim(it, one, 'DevAgent');
    const artifact = (path: string, status = 'CREATED') => ({ path, status });
    const detail = {
      claims: [{ what: 'tests 5/6', verdict: 'unverified', detail: '1 failed' }],
      artifacts: [...['a.js', 'b.js', 'c.js', 'd.js'].map((path) => artifact(path)), artifact('e.js', 'UNCHANGED')],
    };
    await store.send({ message: { type: 'note', event: 'run.evidence', task: one, run: first, detail }, by: RUNTIME });
    const second = await claim(it, two, 'DevAgent');
    await store.send({ message: { type: 'run.report', run: second, outcome: 'done' }, by: RUNTIME });
    await store.send({ message: { type: 'run.judge', run: second, passed: true }, by: RUNTIME });
    const third = await claim(it, three, 'DevAgent');
    await store.send({ message: { type: 'run.fail', run: third, code: 'E_TIMEOUT', message: 'late' }, by: RUNTIME });
    await it.as('DevAgent', '#SIGNAL:deploy_prod:started');
    await it.as('DevAgent', '#SIGNAL:other:true');
    for (const feed of feeds) await feed.close();
    for (const watch of watches) await watch.close();
    const letters = Object.values((await store.session(SESSION))?.letters ?? {});
    expect(letters.map(({ channel, text, from }) => [channel, text, from])).toEqual([
      ['file_changes', 'DevAgent: 4 files: a.js (new), b.js (new), c.js (new), d.js (new)', 'baton'],
      ['test_results', 'DevAgent: tests 5/6 passed, 1 failed', 'baton'],
      ['test_results', `DevAgent: ${two} passed: test it`, 'baton'],
      ['priority_alert', `critical ${three} failed: urgent thing (E_TIMEOUT)`, 'baton'],
      ['priority_alert', `${three} dead: urgent thing (E_TIMEOUT)`, 'baton'],
      ['deploy_status', 'DevAgent: deploy_prod=started', 'baton'],
    ]);
    expect(warnings).toEqual([]);
    await store.close();
  });
});

describe('#DEPENDS', () => {
  test('the task at hand of the speaker waits for the one that is named', async () => {
    const it = await setting();
    const [impl = '', mine = '', other = ''] = await add(
      it,
      { externalId: 'auth_impl', routing: { agent: 'DevAgent' } },
      { routing: { agent: 'TestAgent' } },
      { routing: { agent: 'DevAgent' } },
    );
    expect(await it.as('TestAgent', '#DEPENDS:DevAgent:auth_impl')).toBe(`ack:${mine} waits for ${impl}`);
    expect((await it.store.find(mine))?.dependsOn).toEqual([impl]);
    expect((await it.store.find(other))?.dependsOn).toEqual([]);
    expect(await it.as('TestAgent', '#DEPENDS:DevAgent:auth_impl')).toBe(`${mine} waits for ${impl} already`);
    const unknown = (await it.as('TestAgent', '#DEPENDS:DevAgent:something_else')).split('\n');
    expect(unknown).toEqual(['#ERROR:E002:unknown_task something_else', `• ${impl} a task`, `• ${other} a task`]);
    expect(await it.as('TestAgent', '#DEPENDS:DevAgent:a task')).toMatch(/^#ERROR:E002:2 tasks are called a task\n/);
    expect(await it.as('TestAgent', `#DEPENDS:TestAgent:${impl}`)).toMatch(/^#ERROR:E002:it is no task of TestAgent\n/);
    expect(await it.as('TestAgent', `#DEPENDS:TestAgent:${mine}`)).toBe('#ERROR:E002:a task cannot wait for itself');
    expect((await it.store.find(mine))?.dependsOn).toEqual([impl]);
    const { depends } = (await it.store.session(SESSION)) ?? {};
    expect(Object.values(depends ?? {}).map(({ task }) => task)).toEqual([impl]);
    expect(await it.as('TestAgent', '#DEPENDS:Nobody:x')).toMatch(/^#ERROR:E002:unknown_agent/);
  });

  test('a circle is refused with its path, and nothing is changed', async () => {
    const it = await setting();
    const [first = ''] = await add(it, { externalId: 'one', routing: { agent: 'DevAgent' } });
    const [second = ''] = await add(it, { externalId: 'two', routing: { agent: 'TestAgent' }, dependsOn: [first] });
    expect(await it.as('DevAgent', '#DEPENDS:TestAgent:two:limit=90')).toMatch(
      /^#ERROR:E002:these tasks would wait for each other/,
    );
    expect((await it.store.find(first))?.dependsOn).toEqual([]);
    expect((await it.store.find(second))?.dependsOn).toEqual([first]);
    expect((await it.store.session(SESSION))?.depends).toBeUndefined();
  });
});

describe('who is waited for', () => {
  test('an agent, until it has nothing to do: in its own words and in natural ones', async () => {
    const at = await setting();
    expect(await at.say('#WAIT:DevAgent:1')).toBe('ready');
    const [id = ''] = await add(at, { routing: { agent: 'DevAgent' } });
    const waits = at.say('#WAIT:devagent:30');
    await untilWaiting(at);
    const run = await claim(at, id, 'DevAgent');
    await at.store.send({ message: { type: 'run.report', run, outcome: 'done' }, by: RUNTIME });
    expect(await waits).toBe('ready');
    expect((await at.done('wait for DevAgent to finish')).failed).toBe(false);
  });

  test('what nobody is called is a signal', async () => {
    const at = await setting();
    const waits = at.say('#WAIT:DevAgents:30');
    await untilWaiting(at);
    await at.say('#SIGNAL:DevAgents:true');
    expect(await waits).toBe('ready');
  });
});

test('#REPORT:all:locks: who holds what, and not what a run held that has ended', async () => {
  const at = await setting();
  const [id = ''] = await add(at, { routing: { agent: 'DevAgent' } });
  const run = await claim(at, id, 'DevAgent');
  await at.as('DevAgent', '#LOCK:src/a.js:60', { run });
  await at.as('TestAgent', '#LOCK:db:60');
  expect((await at.say('#REPORT:all:locks')).split('\n')).toEqual(['• src/a.js: DevAgent', '• db: TestAgent']);
  expect(await at.say('#REPORT:TestAgent:locks')).toBe('• db: TestAgent');
  expect(await at.say('who holds what?')).toMatch(/DevAgent/);
  await at.store.send({ message: { type: 'run.report', run, outcome: 'done' }, by: RUNTIME });
  expect(await at.say('#REPORT:all:locks')).toBe('• db: TestAgent');
});
