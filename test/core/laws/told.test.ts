/** What is said of a task by message: news (`task.update`) and how it ended where nobody supervises it (`task.report`). */
import { describe, expect, test } from 'vitest';
import { MOST_MESSAGES } from '../../../src/core/laws/remembered.ts';
import type { Outcome } from '../../../src/core/report.ts';
import { AGENT, createWorld, eventsOf, PERSON, START } from './world.ts';

const detail = { type: 'status.update', channel: 'cli' };

describe('task.update', () => {
  test('a line more in its text is one record, with what was said', () => {
    const world = createWorld();
    const id = world.addOne();
    const facts = world.ok({ type: 'task.update', id, texts: { body: 'more' }, messageId: 'm1', detail }, AGENT);
    expect(eventsOf(facts)).toEqual(['protocol.message.received']);
    expect(facts.events[0]).toMatchObject({ task: id, detail });
    expect(facts.changes[0]?.texts).toEqual({ body: 'more' });
    expect(world.task(id)).toMatchObject({ status: 'ready', messages: ['m1'] });
  });

  test('a status goes by the laws, and the line with it', () => {
    const world = createWorld();
    const id = world.addOne();
    const run = world.claim();
    const facts = world.ok(
      { type: 'task.update', id, run, to: 'blocked', reason: 'no key', texts: { body: 'b' }, detail },
      AGENT,
    );
    expect(eventsOf(facts)).toEqual(['task.transitioned', 'protocol.message.received']);
    expect(world.task(id)).toMatchObject({
      status: 'blocked',
      cause: { message: 'no key' },
      run: { status: 'cancelled' },
    });
    expect(world.no({ type: 'task.update', id, to: 'review', detail }, AGENT).code).toBe('E_ILLEGAL_MOVE');
    expect(world.no({ type: 'task.update', id, to: 'done', detail }, AGENT).code).toBe('E_ILLEGAL_MOVE');
  });

  test('an agent that keeps putting its own task back is not started for ever; a person may do so', () => {
    const world = createWorld();
    const id = world.addOne({ retry: { maxRetries: 0, backoffSeconds: [30] } });
    const back = (by = AGENT) => {
      const run = world.claim();
      world.ok({ type: 'task.update', id, run, to: 'ready', detail }, by);
    };
    back();
    expect(world.task(id).availableAt).toBe(START + 30_000);
    world.wait(30_000);
    for (let runs = 1; runs < 5 && world.status(id) === 'ready'; runs++) {
      back();
      world.wait(30_000);
    }
    expect(world.task(id)).toMatchObject({ status: 'deadletter', attempts: 5, cause: { code: 'E_MOVED' } });
    expect(world.no({ type: 'task.update', id, to: 'ready', detail }, AGENT).code).toBe('E_PERMISSION_DENIED');
    world.ok({ type: 'task.update', id, to: 'ready', detail }, PERSON);
    back(PERSON);
    expect(world.task(id)).toMatchObject({ status: 'ready', availableAt: 0 });
  });

  test('an agent does not approve', () => {
    const world = createWorld();
    const id = world.addOne();
    world.report(world.claim(), { outcome: 'needs_review' });
    expect(world.no({ type: 'task.update', id, to: 'done', detail }, AGENT).code).toBe('E_PERMISSION_DENIED');
    world.ok({ type: 'task.update', id, to: 'done', detail }, PERSON);
    expect(world.status(id)).toBe('done');
  });

  test('the same message twice acts once; the present status is no news', () => {
    const world = createWorld();
    const id = world.addOne();
    const said = { type: 'task.update', id, texts: { body: 'more' }, messageId: 'm1', detail } as const;
    world.ok(said, AGENT);
    expect(world.ask(said, AGENT)).toEqual({ kind: 'same', about: [id] });
    expect(world.ask({ type: 'task.update', id, to: 'ready', detail }, AGENT).kind).toBe('same');
  });

  test('of a run that is not the current one, of a text that has changed, of a task that is over', () => {
    const world = createWorld();
    const id = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [] } });
    const first = world.claim();
    world.fail(first);
    world.claim();
    expect(world.no({ type: 'task.update', id, run: first, texts: { body: 'x' }, detail }, AGENT).code).toBe(
      'E_STALE_RUN',
    );
    const seen = world.task(id).updatedAt - 1;
    expect(world.no({ type: 'task.update', id, seen, texts: { body: 'x' }, detail }, AGENT).code).toBe(
      'E_NOT_CLAIMABLE',
    );
    world.cancel(id);
    expect(world.no({ type: 'task.update', id, texts: { body: 'x' }, detail }, AGENT).code).toBe('E_ILLEGAL_MOVE');
    expect(world.no({ type: 'task.update', id: 'TASK-2026-01-01-001', detail }, AGENT).code).toBe('E_NOT_FOUND');
  });

  test('the ids of messages are remembered, but not without end', () => {
    const world = createWorld();
    const id = world.addOne();
    for (let i = 0; i < MOST_MESSAGES + 5; i++) {
      world.ok({ type: 'task.update', id, texts: { body: `${i}` }, messageId: `m${i}`, detail }, AGENT);
    }
    expect(world.task(id).messages).toHaveLength(MOST_MESSAGES);
    expect(world.task(id).messages.at(-1)).toBe(`m${MOST_MESSAGES + 4}`);
  });
});

describe('task.report', () => {
  const report = (id: string, outcome: Outcome, more: object = {}) =>
    ({ type: 'task.report', id, agent: 'emma', outcome, detail: { type: 'completion.report' }, ...more }) as const;

  test.each([
    ['done', 'review'],
    ['partial', 'review'],
    ['needs_review', 'review'],
    ['blocked', 'blocked'],
    ['failed', 'deadletter'],
  ] as const)('%s of a task that was never claimed: claimed and reported in one go, to %s', (outcome, status) => {
    const world = createWorld();
    const id = world.addOne({ routing: { agent: 'emma' } });
    const facts = world.ok(report(id, outcome, { summary: 'so it is' }), AGENT);
    const moves = facts.events
      .filter(({ type }) => type === 'task.transitioned')
      .map(({ detail }) => [detail?.['from'], detail?.['to']]);
    expect(moves).toEqual([
      ['ready', 'in-progress'],
      ['in-progress', status],
    ]);
    expect(world.task(id)).toMatchObject({ status, summary: 'so it is', runs: 1, run: { agent: 'emma', outcome } });
  });

  test('of the run that has it, and of no other', () => {
    const world = createWorld();
    const id = world.addOne();
    const run = world.claim();
    expect(world.no(report(id, 'done', { run: `${id}-r7` }), AGENT).code).toBe('E_STALE_RUN');
    world.ok(report(id, 'done', { run }), AGENT);
    expect(world.task(id)).toMatchObject({ status: 'review', run: { id: run, status: 'completed', outcome: 'done' } });
  });

  test('of one that was put in progress by hand', () => {
    const world = createWorld();
    const id = world.addOne();
    world.move(id, 'in-progress');
    world.ok(report(id, 'done'), AGENT);
    expect(world.task(id)).toMatchObject({ status: 'review', run: { agent: 'emma', status: 'completed' } });
  });

  test('what waits for another is not reported before that', () => {
    const world = createWorld();
    const first = world.addOne();
    const id = world.addOne({ dependsOn: [first] });
    expect(world.no(report(id, 'done'), AGENT).code).toBe('E_NOT_CLAIMABLE');
  });

  test('a run that ended without a word of its work is answered by its own agent, once, and not where a person looks', () => {
    const world = createWorld();
    const open = (more: object = {}): string => {
      const id = world.addOne({ routing: { agent: 'emma' }, ...more });
      world.ok(report(id, 'needs_review'), AGENT);
      return id;
    };
    const done = open();
    world.ok(report(done, 'done', { summary: 'made' }), AGENT);
    expect(world.task(done)).toMatchObject({ status: 'review', summary: 'made', run: { outcome: 'done' } });
    world.judge(world.task(done).run?.id as string, true);
    expect(world.status(done)).toBe('done');
    const blocked = open();
    world.ok(report(blocked, 'blocked', { summary: 'no key' }), AGENT);
    expect(world.task(blocked)).toMatchObject({ status: 'blocked', cause: { code: 'E_BLOCKED', message: 'no key' } });
    const other = open();
    expect(world.no({ ...report(other, 'blocked'), agent: 'otto' }, AGENT).code).toBe('E_ILLEGAL_MOVE');
    const looked = open({ reviewRequired: true });
    expect(world.no(report(looked, 'blocked'), AGENT).code).toBe('E_ILLEGAL_MOVE');
  });

  test('a late done is judged, or recorded with a task that a person looks at; no person is passed over', () => {
    const world = createWorld();
    const late = (id: string, more: object = {}) => world.ok(report(id, 'done', more), AGENT);
    const open = (outcome: Outcome, more: object = {}): string => {
      const id = world.addOne({ routing: { agent: 'emma' }, ...more });
      world.ok(report(id, outcome), AGENT);
      world.judge(world.task(id).run?.id as string, true);
      return id;
    };
    const looked = open('done', { reviewRequired: true });
    expect(late(looked, { messageId: 'm1' }).events).toMatchObject([
      { type: 'protocol.message.received', detail: { late: true } },
    ]);
    expect(world.task(looked)).toMatchObject({ status: 'review', messages: ['m1'] });
    expect(world.ask(report(looked, 'done', { messageId: 'm1' }), AGENT).kind).toBe('same');
    const partial = open('partial');
    late(partial);
    expect(world.task(partial)).toMatchObject({ status: 'review', cause: null, run: { outcome: 'done' } });
    world.judge(world.task(partial).run?.id as string, true);
    expect(world.status(partial)).toBe('done');
    const contradicted = world.addOne({ routing: { agent: 'emma' } });
    world.ok(report(contradicted, 'done'), AGENT);
    world.judge(world.task(contradicted).run?.id as string, false);
    late(contradicted);
    expect(world.task(contradicted)).toMatchObject({ status: 'review', cause: { code: 'E_EVIDENCE' } });
  });

  test('idempotent by its id and by state; in conflict with the state, refused', () => {
    const world = createWorld();
    const id = world.addOne();
    world.ok(report(id, 'done', { messageId: 'm1' }), AGENT);
    expect(world.ask(report(id, 'blocked', { messageId: 'm1' }), AGENT).kind).toBe('same');
    expect(world.ask(report(id, 'done'), AGENT).kind).toBe('same');
    expect(world.no({ ...report(id, 'blocked'), agent: 'otto' }, AGENT).code).toBe('E_ILLEGAL_MOVE');
    world.judge(world.task(id).run?.id as string, true);
    expect(world.status(id)).toBe('done');
    expect(world.ask(report(id, 'done'), AGENT).kind).toBe('same');
    expect(world.no(report(id, 'partial'), AGENT)).toMatchObject({ code: 'E_ILLEGAL_MOVE', hint: 'done is final' });
  });
});

test('a word that stands for the id is the id in all its texts', () => {
  const world = createWorld();
  const facts = world.ok({
    type: 'task.add',
    tasks: [{ title: 't', idWord: 'TASK-0000-00-00-000', texts: { a: 'x TASK-0000-00-00-000 y TASK-0000-00-00-000' } }],
  });
  const [id] = facts.about;
  expect(facts.changes[0]?.texts).toEqual({ a: `x ${id} y ${id}` });
});
