/** A report that comes when its run is over ends in a verdict or in the inbox, and its answer lists what the journal holds. */
import { expect, test } from 'vitest';
import { why } from '../../src/core/why.ts';
import { finishVerdict } from '../../src/runtime/evidence/finish-verdict.ts';
import { waitingFor } from '../../src/runtime/people-inbox.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { judgeClaims } from '../../src/runtime/taking.ts';
import { aof, as } from './messages.ts';
import { EMMA, emma } from './small-agents.ts';
import { makeWorld, taskOf, type World } from './world.ts';

/** A task whose run ended without a report: it is in review, and the inbox asks. */
async function silent(parts: object = {}): Promise<{ world: World; id: string }> {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'echo accepted');
  const { task } = await world.run(taskOf(world, { agent: 'emma', ...parts }));
  expect(task).toMatchObject({ status: 'review', run: { outcome: 'needs_review' } });
  judgeClaims(world.host);
  return { world, id: task.id };
}

const tell = async (world: World, id: string, payload: object) => {
  const before = await world.store.lastRecord();
  const [answer] = await world.host.router.take(aof('completion.report', id, payload), as('emma'));
  const journaled: string[] = [];
  for await (const { events } of world.store.eventsAfter({ after: before }))
    journaled.push(...events.filter(({ task }) => task === id).map(({ type }) => type));
  return { answer, journaled };
};

const inbox = async (world: World): Promise<string[]> => (await waitingFor(world.store)).map(({ id }) => id);

test('done, said after a run that reported nothing, is judged: the task is done', async () => {
  const { world, id } = await silent();
  expect(await inbox(world)).toEqual([id]);
  const { answer, journaled } = await tell(world, id, { outcome: 'done', notes: 'made' });
  expect(answer).toMatchObject({ result: 'accepted' });
  expect(await world.store.find(id)).toMatchObject({ status: 'done', summary: 'made' });
  expect(await inbox(world)).toEqual([]);
  expect(answer?.events.at(-1)).toBe('task.transitioned');
  expect(journaled.filter((type) => answer?.events.includes(type))).toEqual(answer?.events);
});

test('done without the evidence for it: the task waits in the inbox with what is missing', async () => {
  const { world, id } = await silent({ task: { expected_outputs: [{ type: 'FILE', path: 'made.txt' }] } });
  await tell(world, id, { outcome: 'done', notes: 'made' });
  const task = await world.store.find(id);
  expect(task?.status).toBe('review');
  expect(await inbox(world)).toEqual([id]);
  expect(why(task as never, await world.store.history(id), () => undefined, Date.now()).waitsFor).toMatchObject([
    { for: 'person', ask: id },
  ]);
});

test('a Baton that died between the report and the verdict: the next one judges it', async () => {
  const { world, id } = await silent();
  world.host.judge = null;
  await tell(world, id, { outcome: 'done', notes: 'made' });
  expect(await world.store.find(id)).toMatchObject({ status: 'review', run: { outcome: 'done' } });
  await recover(world.host);
  expect(await world.store.find(id)).toMatchObject({ status: 'done' });
  expect(await finishVerdict(world.host, (await world.store.find(id)) as never)).toEqual([]);
});
