/** Which moments a run was live at, by the store alone. */
import { expect, test } from 'vitest';
import type { TaskMessage } from '../../src/core/laws/messages.ts';
import type { Run, Task } from '../../src/core/task.ts';
import { hasProc } from '../../src/process/census.ts';
import { self } from '../../src/process/identity.ts';
import { hadRunAt } from '../../src/runtime/runs-then.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;
const MINUTE = 60_000;

test('while it is live, after it, and between two runs of one task', async () => {
  let now = 1_000 * MINUTE;
  const store = openMemoryStore({ now: () => now });
  const ask = async (message: TaskMessage): Promise<Task> => {
    const answer = await store.send({ message, by: RUNTIME });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    return answer.tasks[0] as Task;
  };
  const at = (minute: number): Promise<boolean> => hadRunAt(store, minute * MINUTE);
  const retry = { maxRetries: 3, backoffSeconds: [0] };
  const { id } = await ask({ type: 'task.add', tasks: [{ title: 'x', retry }] });
  const claim = async (minute: number): Promise<string> => {
    now = minute * MINUTE;
    const claimed = await ask({ type: 'task.claim', id, claimer: { agent: 'a', any: true }, leaseMs: 60 * MINUTE });
    return (claimed.run as Run).id;
  };
  expect(await at(1_000)).toBe(false);

  const first = await claim(1_010);
  now = 1_015 * MINUTE;
  expect([await at(1_009), await at(1_010), await at(1_015)]).toEqual([false, true, true]);
  now = 1_020 * MINUTE;
  await ask({ type: 'run.fail', run: first, code: 'E_TIMEOUT', message: 'too slow' });
  expect([await at(1_009), await at(1_015), await at(1_021)]).toEqual([false, true, false]);

  const second = await claim(1_030);
  now = 1_040 * MINUTE;
  await ask({ type: 'run.report', run: second, outcome: 'done' });
  // Hours later.
  now = 2_000 * MINUTE;
  const told = await Promise.all([1_005, 1_015, 1_025, 1_035, 1_045].map(at));
  expect(told).toEqual([false, true, false, true, false]);
  await store.close();
});

test.runIf(hasProc())('a run that was cut off by the end of the machine is over', async () => {
  const store = openMemoryStore({ now: () => 1_000 * MINUTE });
  const claimed = async (started: string): Promise<void> => {
    const supervisor = { pid: process.pid, started };
    const added = await store.send({ message: { type: 'task.add', tasks: [{ title: 'x' }] }, by: RUNTIME });
    const id = added.kind === 'refused' ? '' : (added.tasks[0]?.id ?? '');
    const claimer = { agent: 'a', any: true };
    const message = { type: 'task.claim', id, claimer, leaseMs: MINUTE, supervisor } as const;
    expect(await store.send({ message, by: RUNTIME })).toMatchObject({ kind: 'changed' });
  };
  await claimed('01234567-89ab-cdef-0123-456789abcdef/4711');
  expect(await hadRunAt(store, 1_005 * MINUTE)).toBe(false);
  await claimed(self().started ?? '');
  expect(await hadRunAt(store, 1_005 * MINUTE)).toBe(true);
  await store.close();
});
