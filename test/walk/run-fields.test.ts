/** What fields do that no other test is about. */
import { expect, test } from 'vitest';
import { nodeOf, nodeText, outputText, tasks, worldOf } from '../runtime/graph-world.ts';
import { aof, as, event, NOBODY, ofRun } from '../runtime/messages.ts';
import { print } from '../runtime/small-agents.ts';
import { makeWorld, reportText, sh, taskOf, type World } from '../runtime/world.ts';

const told = async (world: World, type: string): Promise<readonly unknown[]> => {
  const found: unknown[] = [];
  for await (const { events } of world.store.eventsAfter({ after: 0 }))
    for (const event of events) if (event.type === type) found.push(event.detail);
  return found;
};

test('an expected artifact that is to be DELETED must be gone', async () => {
  const world = await makeWorld({
    config: { agents: { keeps: sh(print(reportText())), removes: sh(`rm old.txt; ${print(reportText())}`) } },
  });
  const checkpoint = {
    checkpoint_id: 'C',
    expected_artifacts: [{ type: 'FILE', path: 'old.txt', status: 'DELETED' as const }],
  };
  const of = (agent: string) => taskOf(world, { agent, phases: [{ phase_id: 'P', checkpoints: [checkpoint] }] });
  world.write('old.txt', 'old');
  const kept = await world.run(of('keeps'));
  expect(kept.task).toMatchObject({ status: 'review', cause: { message: expect.stringContaining('old.txt') } });
  expect((await world.run(of('removes'))).task.status).toBe('done');
});

test('what an OUTPUT says of its node reaches the next stage and the person', async () => {
  const handoff = {
    optional_fields: ['hint'],
    escalation_reason: 'nobody knows the queue',
    detail_nodes: { adrs: ['detail_1'] },
  };
  const nodes = [
    nodeText({ id: 'detail_1' }),
    nodeText({ id: 'a_1', data: { summary: 's', hint: 'look at the lock', beside: 'not for the stage' } }),
    nodeText({ id: 'b_1', data: { summary: 's' }, confidence: 0.8 }),
  ].join('\n');
  const said = [
    nodes,
    outputText('a_1', 'two', handoff).replace(
      'created_by: emma',
      'created_by: emma, domain: queues, timestamp: "2026-01-02T03:04:05Z"',
    ),
    outputText('b_1', 'two', { escalation_reason: 'nobody knows the queue' }, 0.8),
  ].join('\n');
  const world = await worldOf({ one: print(`${said}\n${reportText()}`), two: 'true' });
  await world.run(taskOf(world, { agent: 'one' }));
  const next = (await tasks(world)).find(({ metadata }) => metadata['node'] === 'a_1');
  const body = (await world.store.text(next?.id ?? '', 'body')) ?? '';
  expect(body).toContain('look at the lock');
  expect(body).toContain('detail_1');
  expect(body).not.toContain('not for the stage');
  const envelope = (await world.store.text(next?.id ?? '', 'inputs/output.yaml')) ?? '';
  for (const word of ['created_by: emma', 'domain: queues', '2026-01-02T03:04:05Z']) expect(envelope).toContain(word);
  expect(await world.store.questions()).toMatchObject([{ about: 'b_1', reason: 'nobody knows the queue' }]);
});

test('what a node says of its handoff is there for who loads it', async () => {
  const handoff = '{ ready_for_next: true, next_stage: two, required_fields: [summary], optional_fields: [hint] }';
  const said = nodeText({ id: 'a_1' }).replace('{ ready_for_next: true }', handoff);
  const world = await worldOf({ one: print(`${said}\n${reportText()}`), two: 'true' });
  await world.run(taskOf(world, { agent: 'one' }));
  expect(await nodeOf(world, 'a_1')).toMatchObject({
    nextStage: 'two',
    document: { handoff: { next_stage: 'two', required_fields: ['summary'], optional_fields: ['hint'] } },
  });
});

const EMMA = { agents: { emma: sh('true'), qa: sh('true') } };

async function claimed(world: World): Promise<{ id: string; run: string }> {
  const [task] = await world.add(taskOf(world, { agent: 'emma' }));
  const id = task?.id ?? '';
  const claim = { type: 'task.claim', id, claimer: { agent: 'emma' }, leaseMs: 60_000 } as const;
  await world.store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } });
  return { id, run: (await world.store.find(id))?.run?.id ?? '' };
}

test('the head of an aof message is held to what the channel knows', async () => {
  const world = await makeWorld({ config: EMMA });
  const { id, run } = await claimed(world);
  const { router } = world.host;
  const news = (head: object, payload: object = {}) => aof('status.update', id, { notes: 'n', ...payload }, head);
  const answer = async (text: string, sender = ofRun(run, 'emma')) => (await router.take(text, sender))[0]?.result;
  expect(await answer(news({ protocol: 'oaf' }))).not.toBe('accepted');
  for (const head of [{ version: 2 }, { taskId: 'TASK-2020-01-01-001' }, { sentAt: 'yesterday' }])
    expect(await answer(news(head)), JSON.stringify(head)).toBe('rejected');
  expect(await answer(news({}, { taskId: 'TASK-2020-01-01-001' }))).toBe('rejected');
  expect(await answer(news({}), NOBODY)).toBe('rejected');
  // The name that a message gives itself does not count, and is written down.
  expect(await answer(news({ fromAgent: 'qa', sentAt: '2026-01-02T03:04:05Z' }))).toBe('accepted');
  expect(await told(world, 'protocol.message.received')).toMatchObject([
    { agent: 'emma', claimedAgent: 'qa', sentAt: '2026-01-02T03:04:05Z' },
  ]);
  expect(await answer(news({}, { agentId: 'root' }))).toBe('accepted');
  expect((await told(world, 'protocol.message.received')).at(-1)).toMatchObject({
    agent: 'emma',
    claimedAgent: 'root',
  });
  const request = (payload: object, head: object) =>
    aof('handoff.request', id, { acceptanceCriteria: ['c'], ...payload }, head);
  expect(await answer(request({ toAgent: 'emma' }, { toAgent: 'qa' }))).toBe('rejected');
  expect(await answer(request({ parentTaskId: 'TASK-2020-01-01-001' }, {}))).toBe('rejected');
  const anew = { taskId: 'TASK-2026-02-09-061', toAgent: 'qa', parentTaskId: id };
  expect(await answer(request({ fromAgent: 'root' }, anew))).toBe('accepted');
  const child = (await tasks(world)).find(({ parentId }) => parentId === id);
  const handoff = JSON.parse((await world.store.text(child?.id ?? '', 'inputs/handoff.json')) ?? '{}') as object;
  expect(handoff).toMatchObject({ fromAgent: 'emma', toAgent: 'qa', parentTaskId: id });
});

test.each(['accepted', 'rejected'])('the words of a handoff that is %s are kept with the child', async (answer) => {
  const world = await makeWorld({ config: EMMA });
  const { id, run } = await claimed(world);
  const [made] = await world.host.router.take(
    aof('handoff.request', id, { acceptanceCriteria: ['c'] }),
    ofRun(run, 'emma'),
  );
  const words = { reason: 'I know the queue', notes: 'by noon' };
  const text = aof(`handoff.${answer}`, made?.task ?? '', words, { fromAgent: 'qa', toAgent: 'emma' });
  expect(await world.host.router.take(text, as('qa'))).toMatchObject([{ result: 'accepted' }]);
  expect(await told(world, `delegation.${answer}`)).toMatchObject([words]);
});

test('what a sign of life says is in the record of its run', async () => {
  const world = await makeWorld({ config: EMMA });
  const [heart, news] = [await claimed(world), await claimed(world)];
  const say = async (text: string, run: string) => (await world.host.router.take(text, ofRun(run, 'emma')))[0]?.result;
  const session = { session_id: 'test-session', agent: 'emma' };
  const place = { current_phase: 'P', current_checkpoint: 'C' };
  expect(await say(event('HEARTBEAT', heart.id, { ...session, progress_percentage: 20, ...place }), heart.run)).toBe(
    'accepted',
  );
  const progress = { percentage: 40, ...place, message: 'at it', estimated_time_remaining_seconds: 90 };
  expect(await say(event('PROGRESS_UPDATE', news.id, { ...session, progress }), news.run)).toBe('accepted');
  const where = { phase: 'P', checkpoint: 'C' };
  expect(await told(world, 'run.progress')).toMatchObject([
    { percentage: 20, ...where, message: null, remainingSeconds: null },
    { percentage: 40, ...where, message: 'at it', remainingSeconds: 90 },
  ]);
  // One that names another task, another session or no time is not taken.
  for (const wrong of [{ task_id: heart.id }, { session_id: 'other' }, { timestamp: 'now' }, { agent: undefined }])
    expect(await say(event('HEARTBEAT', news.id, { ...session, ...wrong }), news.run), JSON.stringify(wrong)).toBe(
      'rejected',
    );
});
