/** What goes wrong while one run is settled or written up is that run's own: the others go on. A store that fails ends all of them. */
import { expect, test, vi } from 'vitest';
import { BatonError } from '../../src/core/errors.ts';
import type { Store } from '../../src/core/store.ts';
import { workOn } from '../../src/runtime/index.ts';
import type { RunResult } from '../../src/runtime/run.ts';
import { makeWorld, REPORT, sh, type World } from './world.ts';

vi.mock(import('../../src/runtime/results.ts'), async (original) => {
  const results = await original();
  return {
    ...results,
    responseOf(facts) {
      if (facts.task.title === 'unwritten' && facts.report !== null) throw new TypeError('no words for it');
      return results.responseOf(facts);
    },
  };
});

const AGENT = sh(`cat > /dev/null\n${REPORT}`);
type Ask = Parameters<Store['send']>[0];

async function twoTasks(first: string): Promise<{ world: World; bad: string; good: string }> {
  const world = await makeWorld({ config: { agents: { a: AGENT }, defaults: { sandbox: 'off' } } });
  const answer = await world.store.send({
    message: { type: 'task.add', tasks: [{ title: first, priority: 'high' }, { title: 'good' }] },
    by: { kind: 'person', name: 'user' },
  });
  const [bad = '', good = ''] = answer.kind === 'refused' ? [] : answer.tasks.map(({ id }) => id);
  return { world, bad, good };
}

/** Works with a store that fails as it is told. */
async function work({ host, store }: World, fails: (ask: Ask) => unknown): Promise<RunResult[]> {
  const results: RunResult[] = [];
  const send: Store['send'] = async (ask) => {
    const cause = fails(ask);
    if (cause !== undefined) throw cause;
    return store.send(ask);
  };
  await workOn(
    { ...host, store: { ...store, send } },
    {
      parallel: 1,
      untilEmpty: true,
      leaving: new AbortController().signal,
      onResult: (result) => void results.push(result),
    },
  );
  return results;
}

const defect =
  (type: string, task: string, cause: unknown = new TypeError('x is not a function')) =>
  ({ message }: Ask): unknown =>
    message.type === type && 'run' in message && message.run?.startsWith(task) ? cause : undefined;

test('a defect while its report is taken fails the run, and no other', async () => {
  const { world, bad, good } = await twoTasks('bad');
  const results = await work(world, defect('run.report', bad));
  const message = `${bad}-r1 could not be settled: x is not a function`;
  expect(await world.store.find(bad)).toMatchObject({ status: 'deadletter', cause: { code: 'E_UNKNOWN', message } });
  expect(results[0]?.response.error_details).toEqual({ code: 'E_UNKNOWN', message });
  expect(await world.store.find(good)).toMatchObject({ status: 'done' });
  expect(world.warnings.join('\n')).toContain(message);
});

test('a defect after its report was taken leaves the task to a person', async () => {
  const { world, bad, good } = await twoTasks('bad');
  let isFirst = true;
  await work(world, (ask) => {
    const cause = isFirst ? defect('run.judge', bad)(ask) : undefined;
    if (cause !== undefined) isFirst = false;
    return cause;
  });
  expect(await world.store.find(bad)).toMatchObject({ status: 'review', cause: { code: 'E_UNKNOWN' } });
  expect(await world.store.find(good)).toMatchObject({ status: 'done' });
});

test('a run that cannot be written up is told without its words, and ends no other', async () => {
  const { world, bad, good } = await twoTasks('unwritten');
  const results = await work(world, () => undefined);
  expect(results.map(({ task }) => [task.id, task.status])).toEqual([
    [bad, 'done'],
    [good, 'done'],
  ]);
  expect(results[0]?.block).toContain('no words for it');
  expect(world.warnings.join('\n')).toMatch(new RegExp(`${bad}: what came of it could not be written .*no words`));
});

test('a store that fails while a run is settled ends all of it', async () => {
  const { world, bad, good } = await twoTasks('bad');
  const full = new BatonError('E_STORE_FULL', 'the disk is full');
  await expect(work(world, defect('run.report', bad, full))).rejects.toBe(full);
  expect(await world.store.find(good)).toMatchObject({ status: 'ready' });
});
