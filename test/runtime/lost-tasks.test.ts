/** `baton doctor` names every task that nothing will move on, and says what to type. */
import { expect, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { checkTasks } from '../../src/runtime/lost-tasks.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const PERSON = { kind: 'person', name: 'test' } as const;

test('nothing is lost in a store that only the laws have written', async () => {
  const store = openMemoryStore();
  const tasks = [{ title: 'a' }, { title: 'b', status: 'backlog' as const }, { title: 'c' }];
  await store.send({ message: { type: 'task.add', tasks }, by: PERSON });
  expect(await checkTasks(store, Date.now())).toMatchObject(
    [{ name: 'tasks', ok: true, detail: /^3 open/ }].map(({ detail, ...rest }) => ({
      ...rest,
      detail: expect.stringMatching(detail),
    })),
  );
});

test('a task that was judged and never moved on is named, with the commands that help', async () => {
  const store = openMemoryStore();
  const added = await store.send({ message: { type: 'task.add', tasks: [{ title: 'a' }] }, by: PERSON });
  const id = added.kind === 'refused' ? '' : (added.tasks[0]?.id ?? '');
  await store.send({ message: { type: 'task.report', id, agent: 'emma', outcome: 'done', detail: {} }, by: PERSON });
  const broken: Store = {
    ...store,
    async *tasks(filter) {
      for await (const task of store.tasks(filter)) yield { ...task, verdict: 'proven' };
    },
  };
  const [check] = await checkTasks(broken, Date.now());
  expect(check).toMatchObject({ name: id, ok: false });
  expect(check?.detail).toContain(`try: baton task move ${id} done or baton task retry ${id}`);
});
