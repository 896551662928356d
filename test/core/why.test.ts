/** Promise 3: `baton why` explains any state from recorded facts, and says what has to happen next. */
import { expect, test } from 'vitest';
import type { Actor, NewTask, TaskMessage } from '../../src/core/laws/messages.ts';
import type { Task } from '../../src/core/task.ts';
import { type Why, why } from '../../src/core/why.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const START = Date.UTC(2026, 10, 15, 12);
const USER: Actor = { kind: 'person', name: 'user' };
const EMMA: Actor = { kind: 'agent', name: 'emma' };
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
const ID = 'TASK-2026-11-15-001';
const NEXT = 'TASK-2026-11-15-002';

/** A store with a clock that is moved by hand. */
function world() {
  let now = START;
  const store = openMemoryStore({ now: () => now });
  return {
    wait(ms: number): void {
      now += ms;
    },
    async say(message: TaskMessage, by: Actor = USER): Promise<void> {
      const answer = await store.send({ message, by });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    },
    add(...tasks: NewTask[]): Promise<void> {
      return this.say({ type: 'task.add', tasks });
    },
    claim(leaseMs = 60_000): Promise<void> {
      return this.say({ type: 'task.claim', id: ID, claimer: { agent: 'emma' }, leaseMs }, EMMA);
    },
    async why(id: string): Promise<Why> {
      const all = new Map<string, Task>();
      for await (const task of store.tasks()) all.set(task.id, task);
      const running = [...all.values()].filter(({ status }) => status === 'in-progress');
      return why(all.get(id) as Task, await store.history(id), (other) => all.get(other), now, running);
    },
  };
}

const events = ({ because }: Why): string[] => because.map(({ event }) => event);
const texts = ({ waitsFor }: Why): string[] => waitsFor.map(({ text }) => text);

test('a new task was made, and waits for whoever it is for', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b', routing: { agent: 'emma', role: 'X' } });
  expect(await w.why(ID)).toEqual({
    id: ID,
    status: 'ready',
    verdict: null,
    because: [
      {
        event: 'task.created',
        at: '2026-11-15T12:00:00.000Z',
        by: 'user',
        detail: { title: 'a', status: 'ready', priority: 'normal' },
      },
    ],
    waitsFor: [{ for: 'agent', text: 'any agent to take it', agent: null, role: null, team: null, tags: [] }],
  });
  expect(texts(await w.why(NEXT))).toEqual(['the agent emma to take it']);
});

test('what makes an agent fit is named', async () => {
  const w = world();
  await w.add({ title: 'a', routing: { role: 'EXECUTOR', team: 'backend', tags: ['sql', 'go'] } });
  expect(texts(await w.why(ID))).toEqual([
    'an agent with the role EXECUTOR of the team backend with the tags sql, go to take it',
  ]);
});

test('what is in the backlog waits for a person and for its dependencies', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b', status: 'backlog', dependsOn: [ID] });
  const found = await w.why(NEXT);
  expect(found.waitsFor).toMatchObject([
    { for: 'dependency', task: ID, status: 'ready' },
    { for: 'person', try: [`baton task move ${NEXT} ready`] },
  ]);
});

test('unfinished dependencies, with their status; none once they are done', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b', dependsOn: [ID] });
  expect((await w.why(NEXT)).waitsFor).toEqual([
    { for: 'dependency', text: `${ID} to be done; it is ready`, task: ID, status: 'ready' },
  ]);
  await w.say({ type: 'task.move', id: ID, to: 'in-progress' });
  await w.say({ type: 'task.move', id: ID, to: 'review' });
  await w.say({ type: 'task.move', id: ID, to: 'done' });
  expect((await w.why(NEXT)).waitsFor).toMatchObject([{ for: 'agent' }]);
  const done = await w.why(ID);
  expect([done.status, done.waitsFor, events(done)]).toEqual(['done', [], ['task.created', 'task.transitioned']]);
  expect(done.because.at(-1)?.detail).toMatchObject({ from: 'review', to: 'done' });
});

test('every failed attempt is told with its code, and the backoff with its end', async () => {
  const w = world();
  await w.add({ title: 'a', retry: { maxRetries: 2, backoffSeconds: [30] } });
  for (const [run, code] of [
    [`${ID}-r1`, 'E_TIMEOUT'],
    [`${ID}-r2`, 'E_PROCESS_CRASH'],
  ] as const) {
    await w.claim();
    w.wait(1000);
    await w.say({ type: 'run.fail', run, code, message: 'it broke' }, RUNTIME);
    if (code === 'E_TIMEOUT') w.wait(30_000);
  }
  const found = await w.why(ID);
  expect(found.status).toBe('ready');
  expect(events(found)).toEqual(['task.created', 'run.failed', 'run.failed', 'task.transitioned']);
  expect(found.because.map(({ detail }) => detail['code'])).toEqual([
    undefined,
    'E_TIMEOUT',
    'E_PROCESS_CRASH',
    'E_PROCESS_CRASH',
  ]);
  expect(found.because[1]).toMatchObject({ by: 'baton', detail: { run: `${ID}-r1`, attempt: 1 } });
  expect(found.waitsFor).toEqual([
    {
      for: 'time',
      text: '2026-11-15T12:01:02.000Z, when it may be tried again',
      until: '2026-11-15T12:01:02.000Z',
    },
  ]);
  w.wait(30_000);
  expect((await w.why(ID)).waitsFor).toMatchObject([{ for: 'agent' }]);
});

test('a deadletter waits for a person, and what depends on it for the deadletter', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b', dependsOn: [ID] });
  await w.claim();
  await w.say({ type: 'run.fail', run: `${ID}-r1`, code: 'E_TIMEOUT', message: 'too slow' }, RUNTIME);
  expect((await w.why(ID)).waitsFor).toEqual([
    { for: 'person', ask: ID, text: 'a person to try it again', try: [`baton task retry ${ID}`] },
  ]);
  const blocked = await w.why(NEXT);
  expect(blocked.because.slice(1)).toMatchObject([
    { event: 'task.transitioned', detail: { task: ID, from: 'in-progress', to: 'deadletter', code: 'E_TIMEOUT' } },
    { event: 'task.transitioned', detail: { from: 'ready', to: 'blocked', code: 'E_DEPENDENCY_FAILED' } },
  ]);
  expect(texts(blocked)).toEqual([`${ID} to be done; it is deadletter (try: baton task retry ${ID})`]);
});

test('a dependency that is cancelled will never be done', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b', dependsOn: [ID] });
  await w.say({ type: 'task.cancel', id: ID });
  expect(texts(await w.why(NEXT))[0]).toMatch(/it is cancelled \(that is final/);
  expect((await w.why(ID)).waitsFor).toEqual([]);
});

test('a run at work: its report, until its lease ends', async () => {
  const w = world();
  await w.add({ title: 'a' });
  await w.claim(60_000);
  const found = await w.why(ID);
  expect(found.waitsFor).toMatchObject([{ for: 'run', run: `${ID}-r1`, until: '2026-11-15T12:01:00.000Z' }]);
  expect(events(found)).toEqual(['task.created', 'task.transitioned']);
});

test('what was moved to in-progress by hand has no run to wait for', async () => {
  const w = world();
  await w.add({ title: 'a' });
  await w.say({ type: 'task.move', id: ID, to: 'in-progress' });
  expect((await w.why(ID)).waitsFor).toMatchObject([{ for: 'person' }]);
});

test.each([
  ['done', false, 'evidence', /check the evidence/],
  ['done', true, 'person', /^the review of a person$/],
  ['needs_review', false, 'person', /its agent says: needs_review/],
] as const)('in review after %s (review required: %s): %s', async (outcome, reviewRequired, who, text) => {
  const w = world();
  await w.add({ title: 'a', reviewRequired });
  await w.claim();
  await w.say({ type: 'run.report', run: `${ID}-r1`, outcome }, EMMA);
  const found = await w.why(ID);
  expect(events(found)).toEqual(['task.created', 'run.reported', 'task.transitioned']);
  expect(found.waitsFor).toMatchObject([{ for: who, text: expect.stringMatching(text) }]);
});

test('evidence that failed is told, and a person is waited for', async () => {
  const w = world();
  await w.add({ title: 'a' });
  await w.claim();
  await w.say({ type: 'run.report', run: `${ID}-r1`, outcome: 'done' }, EMMA);
  await w.say({ type: 'run.judge', run: `${ID}-r1`, passed: false, findings: ['out.txt is empty'] }, RUNTIME);
  const found = await w.why(ID);
  expect(events(found).at(-1)).toBe('run.judged');
  expect(texts(found)).toEqual(['a person to look at it: out.txt is empty']);
});

test('blocked by its agent, or by a person: the reason', async () => {
  const w = world();
  await w.add({ title: 'a' }, { title: 'b' });
  await w.claim();
  await w.say({ type: 'run.report', run: `${ID}-r1`, outcome: 'blocked', summary: 'no key' }, EMMA);
  await w.say({ type: 'task.move', id: NEXT, to: 'blocked', reason: 'on holiday' });
  expect(texts(await w.why(ID))).toEqual(['a person to make it ready again: no key']);
  expect(texts(await w.why(NEXT))).toEqual(['a person to make it ready again: on holiday']);
});

test('refusals are told whenever they were; edits of the title are not', async () => {
  const w = world();
  await w.add({ title: 'a' });
  await w.say({ type: 'note', event: 'tree.refused', task: ID, detail: { reason: 'illegal' } }, RUNTIME);
  await w.say({ type: 'task.edit', id: ID, title: 'b' });
  await w.say({ type: 'task.edit', id: ID, routing: { agent: 'emma' } });
  await w.say({ type: 'note', event: 'tree.repaired', task: ID, detail: {} }, RUNTIME);
  const found = await w.why(ID);
  expect(events(found)).toEqual(['task.created', 'tree.refused', 'task.edited']);
  expect(found.because[2]?.detail).toHaveProperty('routing');
});

test('a retry is told, and what came before the last move is not, but for the failures', async () => {
  const w = world();
  await w.add({ title: 'a' });
  await w.say({ type: 'task.move', id: ID, to: 'blocked' });
  await w.say({ type: 'task.move', id: ID, to: 'ready' });
  await w.claim();
  await w.say({ type: 'run.fail', run: `${ID}-r1`, code: 'E_TIMEOUT', message: 'slow' }, RUNTIME);
  await w.say({ type: 'task.retry', id: ID });
  expect(events(await w.why(ID))).toEqual(['task.created', 'run.failed', 'task.transitioned', 'task.retried']);
});

test('one that writes where another does waits for that one to stop', async () => {
  const w = world();
  await w.add({ title: 'a', writes: ['/w'] }, { title: 'b', writes: ['/w/src'] });
  expect((await w.why(NEXT)).waitsFor).toMatchObject([{ for: 'agent' }]);
  await w.claim();
  expect((await w.why(NEXT)).waitsFor).toEqual([
    { for: 'writer', text: `${ID} to stop writing /w`, task: ID, path: '/w' },
  ]);
  await w.say({ type: 'task.cancel', id: ID });
  expect((await w.why(NEXT)).waitsFor).toMatchObject([{ for: 'agent' }]);
});

test('another model is part of the reasons', async () => {
  const w = world();
  const alternatives = [{ provider: 'GEMINI', model: 'g-1', trigger: 'TIMEOUT' }] as const;
  await w.add({ title: 'a', retry: { maxRetries: 0, backoffSeconds: [], alternatives } });
  await w.claim();
  await w.say({ type: 'run.fail', run: `${ID}-r1`, code: 'E_TIMEOUT', message: 'slow' }, RUNTIME);
  expect(events(await w.why(ID))).toEqual(['task.created', 'run.failed', 'task.fallback', 'task.transitioned']);
});
