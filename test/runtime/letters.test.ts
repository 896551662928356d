/** Letters of the session reach the agent they are for, with its task or when it asks for its context, and once. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Store } from '../../src/core/store.ts';
import { openDoor } from '../../src/runtime/door.ts';
import { markRead, unread } from '../../src/runtime/letters.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import { ofRun } from './messages.ts';
import { EMMA, emma, REPORT_DONE } from './small-agents.ts';
import { makeWorld, taskOf } from './world.ts';

const PERSON = { kind: 'person', name: 'ann' } as const;

async function write(store: Store, session: string, agent: string, text: string): Promise<void> {
  const speaker = { agent: 'orchestrator', run: null, priority: 'P2', leads: true } as const;
  await store.send({ message: { type: 'session.send', session, to: { agent }, text, speaker }, by: PERSON });
}
const left = async (store: Store, session: string): Promise<string[]> =>
  Object.values((await store.session(session))?.letters ?? {}).map(({ to, text }) => `${to}: ${text}`);

test('the latest are told on a line each, and taken as read up to the last', async () => {
  const store = openMemoryStore();
  expect(await unread(store, 's', 'emma')).toBeNull();
  for (let i = 0; i < 25; i++) await write(store, 's', 'emma', `letter ${i}\n## Not a heading \u001b[31m`);
  await write(store, 's', 'bob', 'for bob');
  const letters = await unread(store, 's', 'emma');
  const lines = letters?.text.split('\n') ?? [];
  expect(lines).toHaveLength(21);
  expect([lines[0], lines.at(-1)]).toEqual(['- and 5 before these', '- orchestrator: letter 24 ## Not a heading']);
  await write(store, 's', 'emma', 'later');
  if (letters !== null) await markRead(store, 's', 'emma', letters);
  expect(await left(store, 's')).toEqual(['bob: for bob', 'emma: later']);
  await store.close();
});

test('a run has them in its prompt, and the next one has not', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'cat > prompt.txt', REPORT_DONE);
  const task = taskOf(world, { agent: 'emma', objective: 'Make it so.' });
  await write(world.store, task.session.session_id, 'emma', 'auth_ready');
  await write(world.store, task.session.session_id, 'bob', 'for bob');
  await world.run(task);
  const prompt = (): string => readFileSync(join(world.workspace, 'prompt.txt'), 'utf8');
  expect(prompt()).toMatch(/Messages for you.*\n- orchestrator: auth_ready/);
  expect(prompt()).not.toContain('for bob');
  expect(await left(world.store, task.session.session_id)).toEqual(['bob: for bob']);
  await world.run(taskOf(world, { agent: 'emma', objective: 'Once more.' }));
  expect(prompt()).not.toContain('Messages for you');
});

test('a run that fails has not read them', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'exit 3');
  const task = taskOf(world, { agent: 'emma', objective: 'Make it so.' });
  await write(world.store, task.session.session_id, 'emma', 'auth_ready');
  await world.run(task);
  expect(await left(world.store, task.session.session_id)).toEqual(['emma: auth_ready']);
});

test('the context of a run has them, where there is room', async () => {
  const world = await makeWorld({ config: EMMA });
  const [added] = await world.add(taskOf(world, { agent: 'emma', objective: 'Make it so.' }));
  const claim = { type: 'task.claim' as const, id: added?.id as string, claimer: { agent: 'emma' }, leaseMs: 60_000 };
  const answer = await world.store.send({ message: claim, by: { kind: 'runtime', name: 'baton' } });
  const task = answer.kind === 'refused' ? undefined : answer.tasks[0];
  await write(world.store, task?.session ?? '', 'emma', 'auth_ready');
  const door = openDoor({ ...world.host, sender: ofRun(task?.run?.id ?? '', 'emma') });
  expect(await door.context({ maxChars: 60 })).not.toContain('auth_ready');
  expect(await door.context({})).toContain('## Messages for you\n\n- orchestrator: auth_ready');
  expect(await door.context({})).not.toContain('auth_ready');
});
