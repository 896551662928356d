/** Who leads: a person, and a run whose agent has the role, but not one that was called by somebody who does not lead. */
import { afterEach, expect, test } from 'vitest';
import { configOf } from '../../src/core/config.ts';
import type { Actor, NewTask } from '../../src/core/laws/messages.ts';
import type { Store } from '../../src/core/store.ts';
import { voiceOf } from '../../src/session/voice.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const config = configOf({
  agents: { lead: { kind: 'claude', roles: ['ORCHESTRATOR'] }, emma: { kind: 'codex' } },
});
const PERSON: Actor = { kind: 'person', name: 'ann' };
const agent = (name: string): Actor => ({ kind: 'agent', name });

const open: Store[] = [];
afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
});

function setting() {
  const store = openMemoryStore({ now: Date.now });
  open.push(store);
  const send = async (message: Parameters<Store['send']>[0]['message'], by: Actor): Promise<string> => {
    const answer = await store.send({ message, by });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    return answer.tasks[0]?.id ?? '';
  };
  return {
    /** A task of an agent that is at work. */
    async at(name: string, by: Actor, more: Partial<NewTask> = {}): Promise<string> {
      const task = { title: 'a task', session: 's', routing: { agent: name }, ...more };
      const id = await send({ type: 'task.add', tasks: [task] }, by);
      return send({ type: 'task.claim', id, claimer: { agent: name }, leaseMs: 60_000 }, PERSON);
    },
    async leads(id: string, name: string): Promise<boolean> {
      const sender = { channel: 'socket', run: `${id}-r1`, agent: name, actor: agent(name) } as const;
      return (await voiceOf({ store, config }, sender)).speaker.leads;
    },
  };
}

test('a run leads by its role, as far as those who called it do', async () => {
  const { at, leads } = setting();
  const [first, worker] = [await at('lead', PERSON), await at('emma', PERSON)];
  expect([await leads(first, 'lead'), await leads(worker, 'emma')]).toEqual([true, false]);
  expect(await leads(await at('lead', agent('lead'), { parentId: first }), 'lead')).toBe(true);
  const called = await at('lead', agent('emma'), { parentId: worker });
  expect(await leads(called, 'lead')).toBe(false);
  // Nor does what that one calls in its turn.
  expect(await leads(await at('lead', agent('lead'), { parentId: called }), 'lead')).toBe(false);
  expect(await leads(await at('lead', agent('emma')), 'lead')).toBe(false);
});
