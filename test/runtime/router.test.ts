/** The router, with a store in memory: who may say what of which task, what it does, and that every refusal is written down and answered. */
import { describe, expect, test } from 'vitest';
import { configOf } from '../../src/core/config.ts';
import type { NewTask } from '../../src/core/laws/messages.ts';
import type { Store } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { self } from '../../src/process/identity.ts';
import { createLiveRuns, type Ear } from '../../src/runtime/live-runs.ts';
import type { Answered, RouterOptions } from '../../src/runtime/routed.ts';
import { createRouter } from '../../src/runtime/router.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import { aof, as, event, NOBODY, newId, ofRun, USER } from './messages.ts';
import { reportText } from './world.ts';

const PERSON = { kind: 'person', name: 'test' } as const;
const RUNTIME = { kind: 'runtime', name: 'baton' } as const;

function makeRouter(more: Partial<RouterOptions> & { config?: RouterOptions['config'] } = {}) {
  const store = openMemoryStore();
  const runs = createLiveRuns();
  const router = createRouter({
    store,
    config: configOf({ agents: { qa: { kind: 'command', command: [process.execPath] } } }),
    now: Date.now,
    runs,
    ...more,
  });
  const add = async (task: Partial<NewTask> = {}): Promise<Task> => {
    const answer = await store.send({
      message: { type: 'task.add', tasks: [{ title: 'a task', ...task }] },
      by: PERSON,
    });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    return answer.tasks[0] as Task;
  };
  /** Claimed by an agent; `isWatched`: this very process watches over it. */
  const claim = async (task: Task, agent = 'emma', isWatched = false): Promise<string> => {
    const { pid, started } = self();
    const answer = await store.send({
      message: {
        type: 'task.claim',
        id: task.id,
        claimer: { agent, any: true },
        leaseMs: 60_000,
        ...(isWatched ? { supervisor: { pid, started: started ?? '' } } : {}),
      },
      by: RUNTIME,
    });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    return (answer.tasks[0] as Task).run?.id as string;
  };
  /** Sends one message. Whatever it is: the events of its answer are those that were put into the journal, in their order. */
  const one = async (text: string, sender = USER): Promise<Answered> => {
    const before = await store.lastRecord();
    const answers = await router.take(text, sender);
    expect(answers).toHaveLength(1);
    const journaled: string[] = [];
    for await (const { events } of store.eventsAfter({ after: before }))
      journaled.push(...events.map(({ type }) => type));
    expect(answers[0]?.events).toEqual(journaled);
    return answers[0] as Answered;
  };
  return { store, runs, router, add, claim, one, ...reading(store) };
}

function reading(store: Store) {
  const all = async (): Promise<
    { type: string; task: string | undefined; by: string; detail: Record<string, unknown> }[]
  > => {
    const found = [];
    for await (const { events, by } of store.eventsAfter({ after: 0 })) {
      for (const { type, task, detail } of events) found.push({ type, task, by: by.name, detail: { ...detail } });
    }
    return found;
  };
  return {
    events: all,
    told: async (type: string) => (await all()).filter((event) => event.type === type),
    status: async (task: Task) => (await store.find(task.id))?.status,
    body: async (task: Task) => (await store.text(task.id, 'body')) ?? '',
  };
}

const UPDATE = { progress: 'half of it' };

describe('what is not ours, broken or unknown', () => {
  test('prose, a prompt and #COMMANDs are passed by without a word', async () => {
    const { one, events } = makeRouter();
    for (const text of ['hello', 'task: do it\nobjective: now', '#STATE:list', '[1,2]', '{"a":1}', '']) {
      expect(await one(text)).toMatchObject({ result: 'ignored', events: [] });
    }
    expect(await events()).toEqual([]);
  });

  test.each([
    ['cut off in the middle', `AOF/1 ${aof('status.update', 'TASK-2026-11-16-001', UPDATE).slice(0, 80)}`],
    ['bare JSON cut off in the middle', aof('status.update', 'TASK-2026-11-16-001', UPDATE).slice(0, 80)],
    ['without a payload', '{"protocol":"aof","version":1,"type":"status.update","taskId":"TASK-2026-11-16-001"}'],
    ['without news', aof('status.update', 'TASK-2026-11-16-001', {})],
    [
      'another task in its payload',
      aof('status.update', 'TASK-2026-11-16-001', { ...UPDATE, taskId: 'TASK-2026-11-16-002' }),
    ],
    [
      'more tests than there are',
      aof('completion.report', 'TASK-2026-11-16-001', { outcome: 'done', tests: { total: 1, passed: 1, failed: 1 } }),
    ],
    ['notes of 10,001 characters', aof('status.update', 'TASK-2026-11-16-001', { notes: 'x'.repeat(10_001) })],
    ['11 MB', aof('status.update', 'TASK-2026-11-16-001', { notes: 'x'.repeat(11 * 1024 * 1024) })],
  ])('%s: rejected with a reason, written down, and no task is changed', async (_, text) => {
    const { add, one, told, store } = makeRouter();
    const task = await add({ id: 'TASK-2026-11-16-001', routing: { agent: 'emma' } });
    const answer = await one(text, as('emma'));
    expect(answer).toMatchObject({ result: 'rejected', events: ['protocol.message.rejected'] });
    expect(answer.reason).toMatch(/\w/);
    expect(await told('protocol.message.rejected')).toMatchObject([{ by: 'user as emma', detail: { channel: 'cli' } }]);
    expect(await store.find(task.id)).toBe(task);
  });

  test('a type that nobody knows is unknown', async () => {
    const { add, one, told } = makeRouter();
    const task = await add();
    expect(await one(aof('status.query', task.id, {}))).toMatchObject({
      result: 'unknown',
      events: ['protocol.message.unknown'],
    });
    expect(await told('protocol.message.unknown')).toMatchObject([
      { task: task.id, detail: { type: 'status.query', channel: 'cli' } },
    ]);
  });

  test('a task that is not there is written down and told on the alerts channel', async () => {
    const { one, told } = makeRouter();
    const answer = await one(aof('status.update', 'TASK-2020-01-01-001', UPDATE), as('emma'));
    expect(answer).toMatchObject({ result: 'rejected', code: 'E_NOT_FOUND', task: null });
    expect(answer.events).toEqual(['protocol.message.rejected', 'alert']);
    expect(await told('alert')).toMatchObject([{ detail: { taskId: 'TASK-2020-01-01-001', channel: 'cli' } }]);
  });

  test('fields that are not known are kept with a warning', async () => {
    const { add, one, told } = makeRouter();
    const task = await add();
    expect((await one(aof('status.update', task.id, { ...UPDATE, mood: 'good' }))).events).toContain(
      'protocol.message.warning',
    );
    expect(await told('protocol.message.warning')).toMatchObject([
      { detail: { problems: [{ path: '/payload/mood' }] } },
    ]);
  });
});

describe('who may speak', () => {
  test.each(['status.update', 'completion.report'])('%s: the holder of the lease, and nobody else', async (type) => {
    const { add, claim, one, told, store } = makeRouter();
    const payload = type === 'status.update' ? UPDATE : { outcome: 'done' };
    const task = await add({ routing: { agent: 'emma' } });
    await claim(task, 'emma');
    const before = await store.find(task.id);
    // What the payload says of its sender counts for nothing.
    const forged = aof(type, task.id, { ...payload, agentId: 'emma' }, { fromAgent: 'emma' });
    expect(await one(forged, as('mallory'))).toMatchObject({ result: 'rejected', code: 'E_PERMISSION_DENIED' });
    expect(await store.find(task.id)).toBe(before);
    expect(await told('protocol.message.rejected')).toMatchObject([
      { task: task.id, by: 'user as mallory', detail: { agent: 'mallory', type } },
    ]);
    expect((await one(aof(type, task.id, payload, { fromAgent: 'mallory' }), as('emma'))).result).toBe('accepted');
  });

  test('without a lease, the one it is routed to: by name, by role, by team', async () => {
    const config = configOf({
      agents: { emma: { kind: 'command', command: ['x'], roles: ['QA'] }, lint: { kind: 'command', command: ['x'] } },
      teams: { back: ['lint'] },
    });
    const { add, one } = makeRouter({ config });
    const [byName, byRole, byTeam] = [
      await add({ routing: { agent: 'emma' } }),
      await add({ routing: { role: 'QA' } }),
      await add({ routing: { team: 'back' } }),
    ];
    for (const [task, right, wrong] of [
      [byName, 'emma', 'lint'],
      [byRole, 'emma', 'lint'],
      [byTeam, 'lint', 'emma'],
    ] as const) {
      expect(await one(aof('status.update', task.id, UPDATE), as(wrong))).toMatchObject({
        code: 'E_PERMISSION_DENIED',
      });
      expect(await one(aof('status.update', task.id, UPDATE), as(right))).toMatchObject({ result: 'accepted' });
    }
  });

  test('a run speaks of its own task, not of another; and not when it is over', async () => {
    const { add, claim, one, store, told } = makeRouter();
    const [mine, other] = [await add(), await add()];
    const run = await claim(mine);
    await claim(other);
    const sender = ofRun(run, 'emma');
    expect(await one(aof('status.update', mine.id, UPDATE), sender)).toMatchObject({ result: 'accepted' });
    // The same agent holds it, but with another run.
    expect(await one(aof('status.update', other.id, UPDATE), sender)).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    await store.send({ message: { type: 'task.move', id: mine.id, to: 'ready' }, by: PERSON });
    await claim(mine);
    const late = aof('completion.report', mine.id, { outcome: 'done', notes: 'late but whole' });
    expect(await one(late, sender)).toMatchObject({ result: 'rejected', code: 'E_STALE_RUN' });
    expect((await store.find(mine.id))?.status).toBe('in-progress');
    // Refused, and kept for the record.
    expect((await told('protocol.message.rejected')).at(-1)).toMatchObject({
      task: mine.id,
      detail: { code: 'E_STALE_RUN', report: { summary: 'late but whole' } },
    });
  });

  test('a report that names an older run is refused, whoever sends it', async () => {
    const { add, claim, one, store, told } = makeRouter();
    const task = await add();
    const first = await claim(task);
    await store.send({ message: { type: 'task.move', id: task.id, to: 'ready' }, by: PERSON });
    const second = await claim(task);
    const text = (runId: string): string =>
      aof('completion.report', task.id, { outcome: 'done', runId, notes: 'hello' });
    expect(await one(text(first), as('emma'))).toMatchObject({ code: 'E_STALE_RUN' });
    expect(await told('protocol.message.rejected')).toMatchObject([{ detail: { report: { summary: 'hello' } } }]);
    expect(await one(text(second), as('emma'))).toMatchObject({ result: 'accepted' });
  });

  test('who cannot be named says nothing of a task, but may leave a new one', async () => {
    const { add, one } = makeRouter();
    const task = await add();
    expect(await one(aof('completion.report', task.id, { outcome: 'done' }), NOBODY)).toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    expect(await one(TASK('fresh'), NOBODY)).toMatchObject({ result: 'accepted' });
  });
});

const TASK = (name: string, more: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 'default', created_at: '2026-11-16T00:00:00Z', orchestrator: 'x', origin: 'CLI' },
    target: { agent_name: 'qa', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
    task: {
      task_id: name,
      objective: 'Look at it',
      category: 'REVIEW',
      complexity: 'LOW',
      environment: { workspace_root: '/ws' },
      ...more,
    },
  });

describe('status.update', () => {
  test('without a status: one line in the one Work Log', async () => {
    const { add, one, body } = makeRouter();
    const task = await add({ texts: { body: 'Do it.\n' } });
    await one(aof('status.update', task.id, { progress: 'first', blockers: ['a key'] }));
    await one(aof('status.update', task.id, { notes: 'second\nof two lines' }));
    const text = await body(task);
    expect(text.match(/## Work Log/g)).toHaveLength(1);
    expect(text).toMatch(
      /^Do it\.\n\n## Work Log\n\n- \S+ user: first \| Blockers: a key\n- \S+ user: second of two lines\n$/,
    );
  });

  test('with a status: the move by the laws, and all that was said is kept', async () => {
    const { add, claim, one, store, body, told } = makeRouter();
    const task = await add();
    const run = await claim(task);
    const said = { status: 'blocked', progress: 'core is done', blockers: ['Awaiting API key'], notes: 'ETA unknown' };
    expect(await one(aof('status.update', task.id, said), ofRun(run, 'emma'))).toMatchObject({
      result: 'accepted',
      events: ['task.transitioned', 'protocol.message.received'],
    });
    expect(await store.find(task.id)).toMatchObject({ status: 'blocked', cause: { message: 'Awaiting API key' } });
    expect(await body(task)).toContain('emma (blocked): core is done | Blockers: Awaiting API key | ETA unknown');
    expect(await told('protocol.message.received')).toMatchObject([{ detail: said }]);
  });

  test('an illegal status is refused, with what was said kept', async () => {
    const { add, one, told, status } = makeRouter();
    const task = await add({ status: 'backlog', routing: { agent: 'emma' } });
    expect(await one(aof('status.update', task.id, { status: 'in-progress', notes: 'n' }), as('emma'))).toMatchObject({
      code: 'E_ILLEGAL_MOVE',
    });
    expect(await told('protocol.message.rejected')).toMatchObject([{ detail: { notes: 'n' } }]);
    expect(await status(task)).toBe('backlog');
  });

  test('done from an agent is a claim, and not more than that', async () => {
    const judged: string[] = [];
    const { add, claim, one, status } = makeRouter({
      judge: async ({ id }) => {
        judged.push(id);
        return [];
      },
    });
    const task = await add();
    const run = await claim(task);
    await one(aof('status.update', task.id, { status: 'done', notes: 'all of it' }), ofRun(run, 'emma'));
    expect(await status(task)).toBe('review');
    expect(judged).toEqual([task.id]);
  });

  test('the same messageId twice acts once; the status it has already is no news', async () => {
    const { add, one, body, events } = makeRouter();
    const task = await add();
    const text = aof('status.update', task.id, UPDATE, { messageId: newId() });
    await one(text);
    const count = (await events()).length;
    expect(await one(text)).toMatchObject({ result: 'accepted', events: [] });
    expect(await one(aof('status.update', task.id, { status: 'ready' }))).toMatchObject({
      result: 'accepted',
      events: [],
    });
    expect((await events()).length).toBe(count);
    expect((await body(task)).match(/half of it/g)).toHaveLength(1);
  });

  test('of a finished task: refused', async () => {
    const { add, one, store } = makeRouter();
    const task = await add();
    await store.send({ message: { type: 'task.cancel', id: task.id }, by: PERSON });
    for (const payload of [UPDATE, { status: 'ready' }]) {
      expect(await one(aof('status.update', task.id, payload))).toMatchObject({
        result: 'rejected',
        code: 'E_ILLEGAL_MOVE',
      });
    }
  });
});

describe('completion', () => {
  test.each([
    ['done', 'review'],
    ['partial', 'review'],
    ['needs_review', 'review'],
    ['blocked', 'blocked'],
  ] as const)('%s takes a task that nobody watches over to %s', async (outcome, status) => {
    const router = makeRouter();
    const task = await router.add();
    await router.claim(task);
    expect(
      await router.one(aof('completion.report', task.id, { outcome, notes: 'what I did' }), as('emma')),
    ).toMatchObject({
      result: 'accepted',
      events: ['protocol.message.received', 'run.reported', 'task.transitioned'],
    });
    expect(await router.store.find(task.id)).toMatchObject({ status, summary: 'what I did' });
  });

  test('a RESPONSE, by the id that the task has in its session', async () => {
    const { add, claim, one, status } = makeRouter();
    const task = await add({ externalId: 'T-9', session: 's' });
    const run = await claim(task);
    const response = JSON.stringify({
      aop_version: '2.0.2-C',
      schema_version: '2.0.2',
      protocol_family: 'AOP',
      message_type: 'RESPONSE',
      session_id: 's',
      task_id: 'T-9',
      agent: { name: 'x', provider: 'OTHER', model: 'none' },
      task_status: { state: 'FAILED', final_signal: 'FAILURE' },
      error_details: { code: 'E_FILE_NOT_FOUND', message: 'no such file' },
    });
    expect(await one(response, ofRun(run, 'emma'))).toMatchObject({ result: 'accepted', task: task.id });
    expect(await status(task)).toBe('deadletter');
  });

  test('aop1 and OUTPUT name no task: that of the run that says them', async () => {
    const { add, claim, one, status } = makeRouter();
    const task = await add();
    const run = await claim(task);
    expect(await one(reportText('partial'), USER)).toMatchObject({ result: 'rejected', code: 'E_NOT_FOUND' });
    expect(await one(reportText('partial'), ofRun(run, 'emma'))).toMatchObject({ result: 'accepted', task: task.id });
    expect(await status(task)).toBe('review');
  });

  test('twice is once; in conflict with what it is, refused', async () => {
    const { add, one, store } = makeRouter();
    const task = await add({ routing: { agent: 'emma' } });
    const text = aof('completion.report', task.id, { outcome: 'done' }, { messageId: newId() });
    await one(text, as('emma'));
    const after = await store.find(task.id);
    expect(await one(text, as('emma'))).toMatchObject({ result: 'accepted', events: [] });
    expect(await one(aof('completion.report', task.id, { outcome: 'done' }), as('emma'))).toMatchObject({
      result: 'accepted',
      events: [],
    });
    expect(await store.find(task.id)).toBe(after);
    // Nobody has judged it yet, so its agent may think better of it.
    expect(await one(aof('completion.report', task.id, { outcome: 'blocked' }), as('emma'))).toMatchObject({
      result: 'accepted',
      events: ['protocol.message.received', 'run.reported', 'task.transitioned'],
    });
    expect(await one(aof('completion.report', task.id, { outcome: 'partial' }), as('emma'))).toMatchObject({
      code: 'E_ILLEGAL_MOVE',
    });
  });

  test('files that it refers to and that are not there warn, and it counts', async () => {
    const { add, one, told, status } = makeRouter({ dir: '/nowhere', workspace: '/nowhere' });
    const task = await add({ routing: { agent: 'emma' }, texts: { 'outputs/summary.md': 's' } });
    const refs = { outcome: 'partial', summaryRef: 'outputs/summary.md', handoffRef: 'outputs/handoff.md' };
    expect((await one(aof('completion.report', task.id, refs), as('emma'))).events).toContain(
      'protocol.message.warning',
    );
    expect((await told('protocol.message.warning')).map(({ detail }) => detail['reason'])).toEqual([
      'outputs/handoff.md is referred to, and it is not there',
    ]);
    expect(await status(task)).toBe('review');
  });

  test('to a run that is watched over here: it is given to its ear, on disk before it is answered, and the task stays', async () => {
    const { add, claim, one, runs, status, told } = makeRouter();
    const task = await add();
    const run = await claim(task, 'emma', true);
    const heard: unknown[] = [];
    const ear: Ear = {
      hear(message) {
        heard.push(message.kind);
        return { result: 'accepted', reason: null };
      },
      end: () => {},
    };
    runs.add(run, ear);
    const text = aof('completion.report', task.id, { outcome: 'done', notes: 'claimed' });
    expect(await one(text, ofRun(run, 'emma'))).toMatchObject({
      result: 'accepted',
      events: ['protocol.message.received'],
    });
    expect(heard).toEqual(['completion.report']);
    expect(await status(task)).toBe('in-progress');
    // The same message acts once, whatever was said in between.
    const twice = aof('completion.report', task.id, { outcome: 'blocked' }, { messageId: newId() });
    const claims = aof('status.update', task.id, { status: 'done' }, { messageId: newId() });
    for (const said of [twice, claims, twice, claims]) await one(said, ofRun(run, 'emma'));
    expect(heard.filter((kind) => kind === 'completion.report')).toHaveLength(3);
    expect((await told('protocol.message.received')).slice(0, 1)).toMatchObject([
      { detail: { outcome: 'done', report: { summary: 'claimed' } } },
    ]);
  });

  test('to a run that another process watches over: handed on by the journal', async () => {
    const { add, claim, one, status, told } = makeRouter();
    const task = await add();
    await claim(task, 'emma', true);
    const text = aof('completion.report', task.id, { outcome: 'done' }, { messageId: newId() });
    await one(text, as('emma'));
    expect(await one(text, as('emma'))).toMatchObject({ result: 'accepted', events: [] });
    expect(await status(task)).toBe('in-progress');
    expect(await told('protocol.message.received')).toMatchObject([{ detail: { forward: true } }]);
  });

  test('to a run whose evidence is looked at already: it is told that it comes too late', async () => {
    const { add, claim, one, store, told } = makeRouter();
    const task = await add();
    const run = await claim(task, 'emma', true);
    const over = { type: 'note', event: 'run.usage', task: task.id, run, detail: { last: true } } as const;
    await store.send({ message: over, by: RUNTIME });
    expect(await one(aof('completion.report', task.id, { outcome: 'done' }), as('emma'))).toMatchObject({
      result: 'rejected',
      code: 'E_STALE_RUN',
    });
    expect(await told('protocol.message.received')).toEqual([]);
  });
});

describe('EVENTs', () => {
  test('signs of life renew the lease and are no records; progress is one, now and then', async () => {
    let now = Date.now();
    const { add, claim, one, told } = makeRouter({ now: () => now });
    const task = await add();
    const run = await claim(task);
    const sender = ofRun(run, 'emma');
    const progress = (percentage: number): string =>
      event('PROGRESS_UPDATE', task.id, { agent: 'emma', progress: { percentage } });
    expect(await one(event('HEARTBEAT', task.id, { agent: 'emma' }), sender)).toMatchObject({
      result: 'accepted',
      events: [],
    });
    expect((await one(progress(10), sender)).events).toEqual(['run.progress']);
    expect((await one(progress(20), sender)).events).toEqual([]);
    now += 31_000;
    expect((await one(progress(30), sender)).events).toEqual(['run.progress']);
    expect((await told('run.progress')).map(({ detail }) => detail['percentage'])).toEqual([10, 30]);
    expect(await one(event('HEARTBEAT', task.id, { agent: 'emma' }), as('mallory'))).toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
  });

  test('a new priority from a person, and from who delegated it; not from its own agent', async () => {
    const { add, claim, one, store } = makeRouter();
    const parent = await add();
    const child = await add({ parentId: parent.id, routing: { agent: 'qa' } });
    const run = await claim(parent);
    const say = (priority: string): string => event('PRIORITY_ESCALATION', child.id, { new_priority: priority });
    expect(await one(say('LOW'))).toMatchObject({ result: 'accepted', events: ['task.edited', 'task.escalated'] });
    expect(await one(say('CRITICAL'), ofRun(run, 'emma'))).toMatchObject({ result: 'accepted' });
    expect((await store.find(child.id))?.priority).toBe('critical');
    expect(await one(say('LOW'), as('qa'))).toMatchObject({ result: 'rejected', code: 'E_PERMISSION_DENIED' });
  });
});

test('a hundred messages on one task from many senders are handled one after the other, and none is lost', async () => {
  const router = makeRouter();
  const { store } = router;
  let [inside, most] = [0, 0];
  const text = store.text;
  store.text = async (id, name) => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 1));
    inside--;
    return text(id, name);
  };
  const task = await router.add({ routing: { agent: 'emma' } });
  const senders = [as('emma'), USER];
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      router.router.take(aof('status.update', task.id, { notes: `note ${i};` }), senders[i % 2] ?? USER),
    ),
  );
  expect(answers.flat().every(({ result }) => result === 'accepted')).toBe(true);
  expect(most).toBe(1);
  const body = await router.body(task);
  expect(body.match(/## Work Log/g)).toHaveLength(1);
  expect(Array.from({ length: 100 }, (_, i) => i).filter((i) => !body.includes(`note ${i};`))).toEqual([]);
});

test('messages of different tasks do not wait for each other', async () => {
  const router = makeRouter();
  const [slow, quick] = [await router.add(), await router.add()];
  const { store } = router;
  const text = store.text;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  store.text = async (id, name) => {
    if (id === slow.id) await held;
    return text(id, name);
  };
  const first = router.router.take(aof('status.update', slow.id, UPDATE), USER);
  expect((await router.one(aof('status.update', quick.id, UPDATE))).result).toBe('accepted');
  release();
  expect(await first).toMatchObject([{ result: 'accepted' }]);
});

test('two routers on one store, as two processes have: all that was accepted is in the journal', async () => {
  const one = makeRouter();
  const other = createRouter({ store: one.store, config: configOf({}), now: Date.now, runs: createLiveRuns() });
  const task = await one.add();
  await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? one.router : other).take(aof('status.update', task.id, { notes: `note ${i};` }), USER),
    ),
  );
  expect(await one.told('protocol.message.received')).toHaveLength(40);
});
