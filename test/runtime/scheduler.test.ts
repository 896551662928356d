/** Who runs what, and when: urgency, the agents that may, and that one run's bad luck is its own. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workOn } from '../../src/runtime/index.ts';
import { makeWorld, REPORT, sh, taskOf, type World } from './world.ts';

const NOTES = `cat > /dev/null; echo "$BATON_RUN_ID $0" >> order.txt\n${REPORT}`;

const addPlain = async (world: World, title: string, more: object = {}): Promise<string> => {
  const answer = await world.store.send({
    message: { type: 'task.add', tasks: [{ title, ...more }] },
    by: { kind: 'person', name: 'user' },
  });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  return answer.tasks[0]?.id ?? '';
};

const work = (world: World, more: object = {}): Promise<void> =>
  workOn(world.host, { parallel: 1, untilEmpty: true, leaving: new AbortController().signal, ...more });

test('the most urgent task goes first, whichever agent it is for', async () => {
  const world = await makeWorld({ config: { agents: { a: sh(NOTES), b: sh(NOTES) }, defaults: { sandbox: 'off' } } });
  const low = await addPlain(world, 'low', { priority: 'low', routing: { agent: 'a' } });
  const normal = await addPlain(world, 'normal', { routing: { agent: 'a' } });
  const critical = await addPlain(world, 'critical', { priority: 'critical', routing: { agent: 'b' } });
  await work(world);
  const order = (world.read('order.txt') ?? '').match(/TASK-[\d-]+(?=-r1)/g);
  expect(order).toEqual([critical, normal, low]);
});

test('a task that names nobody is run by the agent that claimed it, and by no other', async () => {
  const config = { agents: { first: sh(NOTES), second: sh(NOTES) }, defaults: { sandbox: 'off', agent: 'second' } };
  const world = await makeWorld({ config });
  const id = await addPlain(world, 'whoever');
  await work(world, { agents: ['first'] });
  const usage = (await world.store.history(id))
    .flatMap(({ events }) => events)
    .find(({ type }) => type === 'run.usage');
  expect([(await world.store.find(id))?.run?.agent, usage?.detail?.['agent']]).toEqual(['first', 'first']);
  const other = await addPlain(world, 'whoever else');
  await work(world);
  expect((await world.store.find(other))?.run?.agent).toBe('second');
});

test('an agent is known by its name in any case', async () => {
  const world = await makeWorld({ config: { agents: { emma: sh(NOTES) }, defaults: { sandbox: 'off' } } });
  const id = await addPlain(world, 'for Emma', { routing: { agent: 'Emma' } });
  await work(world);
  expect((await world.store.find(id))?.run).toMatchObject({ agent: 'emma', status: 'completed' });
});

test('a log that cannot be written ends its own run, and no other', async () => {
  const world = await makeWorld({ config: { agents: { a: sh(NOTES) }, defaults: { sandbox: 'off' } } });
  const [bad, good] = [
    taskOf(world, { agent: 'a', task: { task_id: 'BAD' } }),
    taskOf(world, { agent: 'a', task: { task_id: 'GOOD' } }),
  ];
  const ids = (await world.add(bad, good)).map(({ id }) => id);
  mkdirSync(join(world.dir, 'logs', `${ids[0]}-r1`, 'out.log'), { recursive: true });
  await work(world, { only: ids, parallel: 2 });
  expect(await world.store.find(ids[0] ?? '')).toMatchObject({ status: 'deadletter', cause: { code: 'E_STORE_FORM' } });
  expect(await world.store.find(ids[1] ?? '')).toMatchObject({ status: 'done' });
});

test('what came of a run is told where it cannot be written, and ends no other', async () => {
  const spoil = `cat > /dev/null; rm -r .baton/logs/$BATON_RUN_ID; echo > .baton/logs/$BATON_RUN_ID; ${REPORT}`;
  const world = await makeWorld({ config: { agents: { a: sh(spoil), b: sh(NOTES) }, defaults: { sandbox: 'off' } } });
  const bad = await addPlain(world, 'bad', { priority: 'high', routing: { agent: 'a' } });
  const good = await addPlain(world, 'good', { routing: { agent: 'b' } });
  await work(world);
  expect(await world.store.find(bad)).toMatchObject({ status: 'deadletter', cause: { code: 'E_STORE_FORM' } });
  expect(await world.store.find(good)).toMatchObject({ status: 'done' });
  expect(world.warnings.join('\n')).toContain(`${bad}: what came of it could not be written`);
});
