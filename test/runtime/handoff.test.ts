/** Handoff and delegation, in a real data folder and with real runs: children, their artifacts, the guards, the answers, the deadline. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { policyOf } from '../../src/protocol/aop2/policy.ts';
import type { TaskMessage } from '../../src/protocol/aop2/schema.ts';
import { narrowed, taskMessage } from '../../src/runtime/child.ts';
import type { RunResult } from '../../src/runtime/run.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { aof, as, newId, ofRun, USER } from './messages.ts';
import { emma, print, REPORT_DONE } from './small-agents.ts';
import { makeWorld, reportText, taskOf, until, type World } from './world.ts';

const AGENTS = {
  agents: { emma: { kind: 'command', command: ['agent'] }, qa: { kind: 'command', command: ['qa'] } },
  defaults: { sandbox: 'off' },
};

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;

const REQUEST = {
  acceptanceCriteria: ['All tests pass', 'Update docs'],
  expectedOutputs: ['report.md'],
  constraints: ['No new dependencies'],
};

/** A task that emma has, without a supervisor. */
async function held(world: World, message?: Partial<TaskMessage['task']>): Promise<{ task: Task; run: string }> {
  const [task] = await world.add(taskOf(world, { agent: 'emma', ...(message === undefined ? {} : { task: message }) }));
  const answer = await world.store.send({
    message: { type: 'task.claim', id: task?.id as string, claimer: { agent: 'emma' }, leaseMs: 60_000 },
    by: { kind: 'runtime', name: 'baton' },
  });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  const claimed = answer.tasks[0] as Task;
  return { task: claimed, run: claimed.run?.id as string };
}

async function all(world: World): Promise<Task[]> {
  const tasks: Task[] = [];
  for await (const task of world.store.tasks()) tasks.push(task);
  return tasks;
}

async function told(world: World, type: string): Promise<Readonly<Record<string, unknown>>[]> {
  const found: Readonly<Record<string, unknown>>[] = [];
  for await (const { events } of world.store.eventsAfter({ after: 0 })) {
    for (const event of events) if (event.type === type) found.push({ task: event.task, ...event.detail });
  }
  return found;
}

describe('handoff.request', () => {
  test('makes a child with its artifacts, routed to who it is for, and a pointer in the parent', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const { router, store } = world.host;
    const id = 'TASK-2026-02-09-060';
    const text = aof(
      'handoff.request',
      id,
      { ...REQUEST, dueBy: '2099-01-01T00:00:00.000Z' },
      { parentTaskId: task.id },
    );
    const [answer] = await router.take(text, ofRun(run, 'emma'));
    expect(answer).toMatchObject({
      result: 'accepted',
      task: id,
      events: ['task.created', 'delegation.requested', 'protocol.message.received'],
    });
    const child = await store.find(id);
    expect(child).toMatchObject({
      parentId: task.id,
      depth: 1,
      session: task.session,
      status: 'ready',
      routing: { agent: 'qa' },
    });
    expect(child?.metadata).toEqual({ dueBy: '2099-01-01T00:00:00.000Z' });
    await store.settled();
    const inputs = join(world.dir, 'tasks/ready', id, 'inputs');
    expect(JSON.parse(readFileSync(join(inputs, 'handoff.json'), 'utf8'))).toMatchObject({
      taskId: id,
      parentTaskId: task.id,
      fromAgent: 'emma',
      toAgent: 'qa',
      acceptanceCriteria: REQUEST.acceptanceCriteria,
    });
    expect(readFileSync(join(inputs, 'handoff.md'), 'utf8')).toMatch(/## Context\n\nNone\n/);
    expect(existsSync(join(world.dir, 'tasks/in-progress', task.id, 'children', `${id}.json`))).toBe(true);
    const envelope = JSON.parse(readFileSync(join(inputs, 'task.json'), 'utf8')) as TaskMessage;
    expect(envelope.task).toMatchObject({
      task_id: id,
      expected_outputs: [{ path: 'report.md' }],
      environment: { workspace_root: world.workspace },
      extensions: { x_acceptance_criteria: REQUEST.acceptanceCriteria },
    });
  });

  test('without an id for the child: the store gives one, in its artifacts too', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const messageId = newId();
    const text = aof('handoff.request', task.id, REQUEST, { messageId });
    const [first] = await world.host.router.take(text, ofRun(run, 'emma'));
    const [second] = await world.host.router.take(text, ofRun(run, 'emma'));
    expect(first).toMatchObject({ result: 'accepted' });
    expect(second).toMatchObject({ result: 'accepted', task: first?.task, events: [] });
    expect(await all(world)).toHaveLength(2);
    const handoff = JSON.parse((await world.store.text(first?.task as string, 'inputs/handoff.json')) ?? '') as object;
    expect(handoff).toMatchObject({ taskId: first?.task, parentTaskId: task.id });
  });

  test('what it refers to is found although its tasks have moved on: in the prompt, and by handoff.md', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const notes = join(world.dir, 'tasks/in-progress', task.id, 'outputs');
    await world.store.settled();
    writeFileSync(join(notes, 'handoff.md'), 'mind the gap\n');
    const contextRefs = [`tasks/in-progress/${task.id}.md`, `tasks/in-progress/${task.id}/outputs/handoff.md`];
    const request = { acceptanceCriteria: ['it works'], contextRefs };
    const [answer] = await world.host.router.take(aof('handoff.request', task.id, request), ofRun(run, 'emma'));
    const child = answer?.task as string;
    await world.store.send({ message: { type: 'run.report', run, outcome: 'partial' }, by: RUNTIME });
    await world.store.settled();
    // It reads what its prompt names.
    world.script(
      'qa',
      '#!/bin/sh\nsed -n \'s/^- tasks.*: \\(\\/.*\\)$/\\1/p\' | while read -r path; do cat "$path" >> read.txt; done\n',
    );
    await workOn(world.host, { only: [child], parallel: 1, untilEmpty: true, leaving: new AbortController().signal });
    expect(world.read('read.txt')).toContain('Do what you do.');
    expect(world.read('read.txt')).toContain('mind the gap');
    const [first] = contextRefs;
    const markdown = (await world.store.text(child, 'inputs/handoff.md')) ?? '';
    expect(markdown).toContain(`- ${first} (wherever its task is now: tasks/*/${task.id}.md)`);
  });

  test('criteria that cannot be read are accepted and logged', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const [answer] = await world.host.router.take(
      aof('handoff.request', task.id, { acceptanceCriteria: 7 }),
      ofRun(run, 'emma'),
    );
    expect(answer).toMatchObject({ result: 'accepted' });
    expect(answer?.events).toContain('protocol.message.warning');
    expect(await told(world, 'protocol.message.warning')).toMatchObject([
      { problems: [{ path: '/payload/acceptanceCriteria' }] },
    ]);
  });

  test.each([
    [
      'a parent that is not there',
      (of: string) =>
        aof('handoff.request', 'TASK-2026-02-09-060', REQUEST, { parentTaskId: of.replace(/\d+$/, '999') }),
      'E_NOT_FOUND',
    ],
    [
      'a task that is its own parent',
      (of: string) => aof('handoff.request', of, REQUEST, { parentTaskId: of }),
      'E_CYCLE',
    ],
    [
      'an agent that hands on to itself',
      (of: string) => aof('handoff.request', of, REQUEST, { toAgent: 'emma' }),
      'E_PERMISSION_DENIED',
    ],
  ])('%s: rejected, and nothing is written but the record', async (_, text, code) => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const [answer] = await world.host.router.take(text(task.id), ofRun(run, 'emma'));
    expect(answer).toMatchObject({ result: 'rejected', code });
    expect(answer?.reason).toMatch(/^handoff\.rejected: /);
    expect(answer?.events).toEqual(['protocol.message.rejected', 'delegation.rejected']);
    expect(await told(world, 'delegation.rejected')).toMatchObject([
      { code, answer: { type: 'handoff.rejected', toAgent: 'emma' } },
    ]);
    expect(await all(world)).toHaveLength(1);
  });

  test('deeper than one is rejected with a warning, unless config says otherwise', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const { router } = world.host;
    const [first] = await router.take(aof('handoff.request', task.id, REQUEST), ofRun(run, 'emma'));
    const deeper = aof('handoff.request', first?.task as string, REQUEST, { fromAgent: 'qa', toAgent: 'emma' });
    const [second] = await router.take(deeper, as('qa'));
    expect(second).toMatchObject({ result: 'rejected', code: 'E_MAX_DEPTH_EXCEEDED' });
    expect(second?.events).toEqual(['protocol.message.rejected', 'delegation.rejected', 'protocol.message.warning']);
    expect(await all(world)).toHaveLength(2);

    const open = await makeWorld({ config: { ...AGENTS, delegation: { max_depth: 2 } } });
    const top = await held(open);
    const [one] = await open.host.router.take(aof('handoff.request', top.task.id, REQUEST), ofRun(top.run, 'emma'));
    const [two] = await open.host.router.take(
      aof('handoff.request', one?.task as string, REQUEST, { fromAgent: 'qa', toAgent: 'emma' }),
      as('qa'),
    );
    const [three] = await open.host.router.take(aof('handoff.request', two?.task as string, REQUEST), as('emma'));
    expect([one, two, three].map((answer) => answer?.result)).toEqual(['accepted', 'accepted', 'rejected']);
    expect(three).toMatchObject({ code: 'E_MAX_DEPTH_EXCEEDED' });

    const shut = await makeWorld({ config: { ...AGENTS, delegation: { max_depth: 0 } } });
    const alone = await held(shut);
    const [none] = await shut.host.router.take(
      aof('handoff.request', alone.task.id, REQUEST),
      ofRun(alone.run, 'emma'),
    );
    expect(none).toMatchObject({ code: 'E_MAX_DEPTH_EXCEEDED' });
  });

  test('of a task that is not theirs, that forbids it, or that is over', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { router, store } = world.host;
    const { task } = await held(world);
    const [forged] = await router.take(
      aof('handoff.request', 'TASK-2026-02-09-060', REQUEST, { parentTaskId: task.id, toAgent: 'x' }),
      as('qa'),
    );
    expect(forged).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    const kept = await held(world, { constraints: { delegation_allowed: false } });
    const [forbidden] = await router.take(aof('handoff.request', kept.task.id, REQUEST), ofRun(kept.run, 'emma'));
    expect(forbidden).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    expect(forbidden?.reason).toContain('delegation_allowed');
    await store.send({ message: { type: 'task.cancel', id: task.id }, by: USER.actor });
    const [late] = await router.take(aof('handoff.request', task.id, REQUEST), USER);
    expect(late).toMatchObject({ code: 'E_ILLEGAL_MOVE' });
    expect(await all(world)).toHaveLength(2);
  });
});

describe('the answer of who it is handed to', () => {
  const made = async (world: World): Promise<string> => {
    const { task, run } = await held(world);
    const [answer] = await world.host.router.take(aof('handoff.request', task.id, REQUEST), ofRun(run, 'emma'));
    return answer?.task as string;
  };

  test('accepted is written down, once', async () => {
    const world = await makeWorld({ config: AGENTS });
    const id = await made(world);
    const text = aof('handoff.accepted', id, {}, { fromAgent: 'qa', toAgent: 'emma' });
    expect(await world.host.router.take(text, as('emma'))).toMatchObject([{ code: 'E_PERMISSION_DENIED' }]);
    expect(await world.host.router.take(text, as('qa'))).toMatchObject([
      { result: 'accepted', events: ['delegation.accepted'] },
    ]);
    expect(await world.host.router.take(text, as('qa'))).toMatchObject([{ result: 'accepted', events: [] }]);
    expect(await told(world, 'delegation.accepted')).toMatchObject([{ task: id, agent: 'qa' }]);
  });

  test('rejected blocks it with the reason; or frees it, when it is not theirs', async () => {
    const world = await makeWorld({ config: AGENTS });
    const [blocked, freed] = [await made(world), await made(world)];
    const no = (id: string, payload: object): string =>
      aof('handoff.rejected', id, payload, { fromAgent: 'qa', toAgent: 'emma' });
    await world.host.router.take(no(blocked, { reason: 'no time' }), as('qa'));
    await world.host.router.take(no(freed, { reason: 'not mine', status: 'ready' }), as('qa'));
    expect(await world.store.find(blocked)).toMatchObject({ status: 'blocked', cause: { message: 'no time' } });
    expect(await world.store.find(freed)).toMatchObject({ status: 'ready', routing: { agent: null } });
    expect(await told(world, 'delegation.rejected')).toMatchObject([
      { reason: 'no time', to: 'blocked' },
      { reason: 'not mine', to: 'ready' },
    ]);
  });
});

test('a message of a handoff that comes again does not undo what a person did meanwhile', async () => {
  const world = await makeWorld({ config: AGENTS });
  const { router, store } = world.host;
  const { task, run } = await held(world);
  const by = { kind: 'person', name: 'test' } as const;
  const child = 'TASK-2026-11-16-900';
  const more = { parentTaskId: task.id, messageId: newId() };
  const request = aof('handoff.request', child, REQUEST, more);
  await router.take(request, ofRun(run, 'emma'));
  await store.send({ message: { type: 'task.edit', id: child, routing: { agent: 'emma' } }, by });
  expect(await router.take(request, ofRun(run, 'emma'))).toMatchObject([{ result: 'accepted', events: [] }]);
  expect((await store.find(child))?.routing.agent).toBe('emma');

  const no = { fromAgent: 'emma', toAgent: 'qa', messageId: newId() };
  const rejected = aof('handoff.rejected', child, { reason: 'no time' }, no);
  await router.take(rejected, as('emma'));
  await store.send({ message: { type: 'task.move', id: child, to: 'ready' }, by });
  expect(await router.take(rejected, as('emma'))).toMatchObject([{ result: 'accepted', events: [] }]);
  expect((await store.find(child))?.status).toBe('ready');
});

describe('a TASK from a run', () => {
  const child = (world: World, fields: object = {}): string =>
    JSON.stringify({ ...taskOf(world, { agent: 'qa' }), ...fields });

  test('is a child of its task; three deep and no deeper', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { router, store } = world.host;
    let { task, run } = await held(world);
    for (const depth of [1, 2, 3]) {
      const [answer] = await router.take(JSON.stringify(taskOf(world, { agent: 'emma' })), ofRun(run, 'emma'));
      expect(answer).toMatchObject({ result: 'accepted' });
      expect(answer?.events).toContain('delegation.requested');
      task = (await store.find(answer?.task as string)) as Task;
      expect(task.depth).toBe(depth);
      const claim = { type: 'task.claim' as const, id: task.id, claimer: { agent: 'emma' }, leaseMs: 60_000 };
      const claimed = await store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } });
      run = claimed.kind === 'refused' ? '' : (claimed.tasks[0]?.run?.id ?? '');
    }
    const [last] = await router.take(child(world), ofRun(run, 'emma'));
    expect(last).toMatchObject({ result: 'rejected', code: 'E_MAX_DEPTH_EXCEEDED' });
    expect(last?.events).toContain('delegation.rejected');
    expect(await all(world)).toHaveLength(4);
  });

  test('twice the same is one; its own TASK, said aloud, is none', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const text = child(world);
    const [first, again] = [
      await world.host.router.take(text, ofRun(run, 'emma')),
      await world.host.router.take(text, ofRun(run, 'emma')),
    ];
    expect(again).toMatchObject([{ result: 'accepted', task: first[0]?.task, events: [] }]);
    const own = (await world.store.text(task.id, 'inputs/task.json')) ?? '';
    expect(await world.host.router.take(own, ofRun(run, 'emma'))).toMatchObject([{ result: 'ignored' }]);
    expect(await all(world)).toHaveLength(2);
  });

  test('may do no more than its parent may', async () => {
    const world = await makeWorld({ config: AGENTS });
    const access = {
      filesystem: { read_paths: [world.workspace], write_paths: [join(world.workspace, 'src')] },
      network: 'NONE' as const,
    };
    const { run } = await held(world, { access });
    const say = async (task: Partial<TaskMessage['task']>) =>
      (await world.host.router.take(JSON.stringify(taskOf(world, { agent: 'qa', task })), ofRun(run, 'emma')))[0];
    expect(await say({ access: { filesystem: { write_paths: [world.workspace] } } })).toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    expect(await say({ access: { filesystem: { read_paths: ['/etc'], write_paths: [] } } })).toMatchObject({
      code: 'E_PERMISSION_DENIED',
    });
    expect(await say({ access: { ...access, network: 'FULL' } })).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    // What it leaves unsaid is as its parent's.
    const silent = await say({});
    const envelope = JSON.parse(
      (await world.store.text(silent?.task as string, 'inputs/task.json')) ?? '',
    ) as TaskMessage;
    expect(envelope.task.access).toEqual(access);
  });

  test('has no more money, time and attempts than its parent, nor its right to delegate', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { router, store } = world.host;
    const { run } = await held(world, { budgets: { max_cost_usd: 1 }, constraints: { max_tokens: 500 } });
    const greedy = {
      ...taskOf(world, { agent: 'qa', task: { budgets: { max_cost_usd: 1000, max_tokens: 100 } } }),
      execution_policy: {
        timeout_seconds: 999_999,
        auto_terminate_on_timeout: false,
        max_retries: 1000,
        alternative_models: [{ provider: 'OTHER', model: 'm', fallback_trigger: 'COST_LIMIT_EXCEEDED' }],
      },
      guard_rails: { timeout_seconds: 888_888, auto_terminate_on_timeout: false },
    };
    const made = async (message: object): Promise<{ task: Task; envelope: TaskMessage }> => {
      const [answer] = await router.take(JSON.stringify(message), ofRun(run, 'emma'));
      const task = (await store.find(answer?.task as string)) as Task;
      return { task, envelope: JSON.parse((await store.text(task.id, 'inputs/task.json')) ?? '') as TaskMessage };
    };
    const { task, envelope } = await made(greedy);
    expect(policyOf(envelope)).toMatchObject({
      budget: { maxCostUsd: 1, maxTokens: 100 },
      timeoutSeconds: 1800,
      terminateOnTimeout: true,
      maxRetries: 2,
    });
    expect(task.retry).toMatchObject({ maxRetries: 2 });
    expect(task.retry.alternatives ?? []).toEqual([]);
    const silent = await made(taskOf(world, { agent: 'qa' }));
    expect(policyOf(silent.envelope).budget).toEqual({ maxCostUsd: 1, maxTokens: 500 });
    const [parent] = await world.add(
      taskOf(world, { agent: 'qa', task: { constraints: { delegation_allowed: false } } }),
    );
    const of = await taskMessage(store, parent as Task, world.workspace);
    expect(policyOf(narrowed(of, silent.envelope)).delegationAllowed).toBe(false);
  });

  test('an EXECUTOR hands on parts of its own task only', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { task, run } = await held(world);
    const [first] = await world.host.router.take(child(world), ofRun(run, 'emma'));
    const below = taskOf(world, { agent: 'qa', task: { parent_task_id: first?.task as string } });
    const [second] = await world.host.router.take(JSON.stringify(below), ofRun(run, 'emma'));
    expect(second).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    expect((await all(world)).filter(({ parentId }) => parentId === task.id)).toHaveLength(1);
  });
});

describe('real runs', () => {
  test('what a run hands on aloud is done by who it is for, and its evidence is looked at', async () => {
    const world = await makeWorld({ config: AGENTS });
    const handoff = (output: string): string =>
      JSON.stringify({
        protocol: 'aof',
        version: 1,
        type: 'handoff.request',
        taskId: '@',
        fromAgent: 'emma',
        toAgent: 'qa',
        sentAt: '2026-11-16T10:00:00Z',
        payload: { acceptanceCriteria: ['it is there'], expectedOutputs: [output] },
      });
    emma(
      world,
      `cat <<SAID | sed "s/@/$BATON_TASK_ID/"`,
      handoff('made.txt'),
      handoff('missing.txt'),
      'SAID',
      REPORT_DONE,
    );
    world.script('qa', `#!/bin/sh\ncat > "$HOME/prompt"\necho made > made.txt\n${print(reportText())}\n`);
    const results: RunResult[] = [];
    const [task] = await world.add(taskOf(world, { agent: 'emma' }));
    await workOn(world.host, {
      only: [task?.id as string],
      parallel: 1,
      untilEmpty: true,
      leaving: new AbortController().signal,
      onResult: (result) => void results.push(result),
    });
    const children = (await all(world)).filter(({ parentId }) => parentId === task?.id);
    expect(children.map(({ status, routing }) => [status, routing.agent])).toEqual([
      ['done', 'qa'],
      ['review', 'qa'],
    ]);
    expect(children[1]?.cause?.message).toContain('missing.txt');
    expect((await world.store.find(task?.id as string))?.status).toBe('done');
    expect(readFileSync(join(world.home, 'prompt'), 'utf8')).toContain('it is there');
    const evidence = await world.ran(children[0]?.id as string, results);
    expect(JSON.stringify(evidence.told('run.evidence'))).toContain('criterion: it is there');
  });

  test('dueBy: told once, and the run that had begun is ended', async () => {
    const world = await makeWorld({ config: AGENTS });
    emma(world, 'sleep 60');
    const [task] = await world.add(taskOf(world, { agent: 'emma' }));
    const id = task?.id as string;
    const dueBy = new Date(Date.now() + 1_500).toISOString();
    await world.store.send({ message: { type: 'task.edit', id, metadata: { dueBy } }, by: USER.actor });
    await workOn(world.host, { only: [id], parallel: 1, untilEmpty: true, leaving: new AbortController().signal });
    expect(await world.store.find(id)).toMatchObject({ status: 'deadletter', cause: { code: 'E_TIMEOUT' } });
    expect(await told(world, 'task.overdue')).toMatchObject([{ task: id, dueBy }]);
    expect(world.alive()).toEqual([]);
    // Another Baton, later, tells nothing more.
    await workOn(world.host, { only: [id], parallel: 1, untilEmpty: true, leaving: AbortSignal.timeout(700) });
    expect(await told(world, 'task.overdue')).toHaveLength(1);
  });

  test('a report by another process for a run that is watched over here counts when the run ends', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { createRouter } = await import('../../src/runtime/router.ts');
    const { createLiveRuns } = await import('../../src/runtime/live-runs.ts');
    emma(world, 'touch started; while [ ! -e go ]; do sleep 0.05; done');
    const { store, config } = world.host;
    // Its runs are not known here, as in another process.
    const other = createRouter({ store, config, now: Date.now, runs: createLiveRuns() });
    const [task] = await world.add(taskOf(world, { agent: 'emma' }));
    const id = task?.id as string;
    const done = workOn(world.host, {
      only: [id],
      parallel: 1,
      untilEmpty: true,
      leaving: new AbortController().signal,
    });
    await until('it has begun', () => world.read('started') !== null);
    const [answer] = await other.take(
      aof('completion.report', id, { outcome: 'blocked', notes: 'no key' }),
      as('emma'),
    );
    expect(answer).toMatchObject({ result: 'accepted' });
    await world.host.watch.caughtUp();
    world.write('go', '');
    await done;
    expect(await store.find(id)).toMatchObject({ status: 'blocked', cause: { code: 'E_BLOCKED', message: 'no key' } });
  });

  test('run_result.json of a run that another program does is taken in while Baton works; without it the lease decides', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { recoverRuns } = await import('../../src/runtime/recovery.ts');
    const [written, unreadable] = [await held(world, { expected_outputs: [{ path: 'made.txt' }] }), await held(world)];
    world.write('made.txt', 'x');
    await recoverRuns(world.host);
    expect((await world.store.find(written.task.id))?.status).toBe('in-progress');
    const result = { runId: written.run, taskId: written.task.id, outcome: 'done', notes: 'made it' };
    world.write(join(world.dir, 'runs', written.task.id, 'run_result.json'), JSON.stringify(result));
    world.write(join(world.dir, 'runs', unreadable.task.id, 'run_result.json'), '{');
    await recoverRuns(world.host);
    expect(await world.store.find(written.task.id)).toMatchObject({ status: 'done', summary: 'made it' });
    expect((await world.store.find(unreadable.task.id))?.status).toBe('in-progress');
  });

  test('a run that says nothing and writes its result down has reported', async () => {
    const world = await makeWorld({ config: AGENTS });
    const result =
      '{"runId":"\'$BATON_RUN_ID\'","taskId":"\'$BATON_TASK_ID\'","outcome":"partial","notes":"half of it"}';
    emma(
      world,
      `mkdir -p ${world.dir}/runs/$BATON_TASK_ID`,
      `echo '${result}' > ${world.dir}/runs/$BATON_TASK_ID/run_result.json`,
    );
    const { task } = await world.run(taskOf(world, { agent: 'emma' }));
    expect(task).toMatchObject({ status: 'review', summary: 'half of it', run: { outcome: 'partial' } });
  });
});

describe('resume', () => {
  /** A run whose supervisor is gone. */
  async function orphan(world: World): Promise<{ id: string; run: string }> {
    const [task] = await world.add(taskOf(world, { agent: 'emma' }));
    const id = task?.id as string;
    const supervisor = { pid: 2 ** 22 - 3, started: 'long ago' };
    const answer = await world.store.send({
      message: { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: 60_000, supervisor },
      by: { kind: 'runtime', name: 'baton' },
    });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    return { id, run: answer.tasks[0]?.run?.id as string };
  }

  test('what a run had said before its Baton died is not lost', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { recoverRuns } = await import('../../src/runtime/recovery.ts');
    const { id, run } = await orphan(world);
    const undo = world.host.runs.add(run, { hear: () => ({ result: 'accepted', reason: null }), end: () => {} });
    await world.host.router.take(
      aof('completion.report', id, { outcome: 'partial', notes: 'half of it' }),
      ofRun(run, 'emma'),
    );
    undo();
    expect((await world.store.find(id))?.status).toBe('in-progress');
    await recoverRuns(world.host);
    expect(await world.store.find(id)).toMatchObject({ status: 'review', summary: 'half of it' });
  });

  test('a result that cannot be read: nothing moves and that is told; the next look counts it as none', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { recoverRuns } = await import('../../src/runtime/recovery.ts');
    const { id, run } = await orphan(world);
    await world.store.settled();
    world.write(join(world.dir, 'runs', id, 'run_result.json'), '{');
    await recoverRuns(world.host);
    expect((await world.store.find(id))?.status).toBe('in-progress');
    expect(await told(world, 'protocol.message.rejected')).toMatchObject([
      { task: id, reason: 'run_result.json is unreadable' },
    ]);
    await recoverRuns(world.host);
    expect(await world.store.find(id)).toMatchObject({ status: 'ready', run: { id: run, status: 'expired' } });
  });

  test('a report by message for a run whose Baton died is applied at once', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { id, run } = await orphan(world);
    const [answer] = await world.host.router.take(
      aof('completion.report', id, { outcome: 'blocked', notes: 'no key' }),
      ofRun(run, 'emma'),
    );
    expect(answer).toMatchObject({ result: 'accepted' });
    expect(await world.store.find(id)).toMatchObject({ status: 'blocked', run: { status: 'completed' } });
  });

  test('a run of another program is reclaimed when its lease is over, and not before', async () => {
    const world = await makeWorld({ config: AGENTS });
    const { recoverRuns } = await import('../../src/runtime/recovery.ts');
    const [task] = await world.add(taskOf(world, { agent: 'emma' }));
    const id = task?.id as string;
    const claim = { type: 'task.claim' as const, id, claimer: { agent: 'emma' }, leaseMs: 400 };
    const answer = await world.store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } });
    const run = answer.kind === 'refused' ? '' : (answer.tasks[0]?.run?.id as string);
    const begun = Date.now();
    // Signs of life keep it.
    while (Date.now() < begun + 800) {
      await world.store.alive(run);
      await recoverRuns(world.host);
      expect((await world.store.find(id))?.status).toBe('in-progress');
    }
    let status = '';
    await until('its lease is over', () => {
      void recoverRuns(world.host).then(async () => {
        status = (await world.store.find(id))?.status ?? '';
      });
      return status === 'ready';
    });
    expect((await world.store.find(id))?.run?.status).toBe('expired');
  });
});
