/** The store as other programs get it (`baton-run/store`): a message that is not what its type says is refused, and nothing is written. */
import { describe, expect, test } from 'vitest';
import type { Ask, Store } from '../../src/core/store.ts';
import { openMemoryStore, openStore } from '../../src/store/index.ts';
import { type OpenStore, storeConformance } from './conformance.ts';
import { graphConformance } from './conformance-graph.ts';
import { temporaryFolder } from './fs/folder.ts';

const by = { kind: 'person', name: 'ann' } as const;
const send = (store: Store, message: unknown, more: object = {}) => store.send({ message, by, ...more } as Ask);
const adding = (task: object) => ({ type: 'task.add', tasks: [{ title: 'a task', ...task }] });

const BAD: readonly (readonly [string, unknown, string])[] = [
  ['a bad retry rule', adding({ retry: { maxRetries: -1, backoffSeconds: [1] } }), '/tasks/0/retry/maxRetries'],
  ['a retry rule that is no object', adding({ retry: 3 }), '/tasks/0/retry'],
  ['a time that is no number', adding({ retry: { maxRetries: 1, backoffSeconds: [Number.NaN] } }), '/tasks/0/retry'],
  ['a status that there is not', { type: 'task.move', id: 'x', to: 'dane' }, '/to'],
  ['a priority that there is not', adding({ priority: 'urgent' }), '/tasks/0/priority'],
  ['a title that is no text', adding({ title: 7 }), '/tasks/0/title'],
  ['an unknown field', adding({ color: 'red' }), '/tasks/0/color'],
  ['texts that are no texts', adding({ texts: { body: { a: 1 } } }), '/tasks/0/texts/body'],
  ['metadata that JSON cannot hold', adding({ metadata: { at: 10n } }), '/tasks/0/metadata/at'],
  ['a detail that JSON cannot hold', { type: 'note', event: 'x', detail: { f: () => 1 } }, '/detail/f'],
  ['a claim without a lease', { type: 'task.claim', claimer: { agent: 'emma' } }, '/leaseMs'],
  ['a report without an outcome', { type: 'run.report', run: 'r' }, '/outcome'],
  [
    'a node without a type',
    { type: 'graph.apply', escalate: { below: 1, domains: {} }, updates: [{ kind: 'add-node' }] },
    '/updates/0',
  ],
  ['a speaker who is nobody', { type: 'session.clear', session: 's', speaker: { agent: 'a' } }, '/speaker'],
  ['a type that there is not', { type: 'task.sing' }, 'task.sing'],
  ['no message', undefined, 'type such as task.add'],
];

describe.each([
  ['in memory', async () => openMemoryStore()],
  ['on disk', async () => openStore(temporaryFolder(), { create: true })],
])('%s', (_, open) => {
  test.each(BAD)('%s is refused, and nothing is written', async (__, message, place) => {
    const store = await open();
    const answer = await send(store, message);
    expect(answer).toMatchObject({ kind: 'refused', refusal: { code: 'E_SCHEMA_VALIDATION' } });
    expect(answer.kind === 'refused' ? answer.refusal.message : '').toContain(place);
    expect(await store.lastRecord()).toBe(0);
    await send(store, adding({ title: 'the next' }));
    await store.settled();
    expect(await store.examine()).toEqual((await store.examine()).map((check) => ({ ...check, ok: true })));
    await store.close();
  });

  test('a sender and a request that are not what they should be are refused too', async () => {
    const store = await open();
    for (const more of [{ by: { kind: 'god', name: 'x' } }, { by: 'ann' }, { request: 7 }]) {
      expect(await send(store, adding({}), more)).toMatchObject({ kind: 'refused' });
    }
    expect(await store.send(null as unknown as Ask)).toMatchObject({ kind: 'refused' });
    expect(await store.lastRecord()).toBe(0);
    await store.close();
  });

  test('what is right is sent as it is', async () => {
    const store = await open();
    const retry = { maxRetries: 2, backoffSeconds: [0, 1.5], stopOnCritical: true } as const;
    const answer = await send(store, adding({ retry, metadata: { a: [1, { b: null }], c: undefined } }));
    expect(answer).toMatchObject({ kind: 'changed', tasks: [{ retry }] });
    await store.close();
  });
});

// What the laws take is taken here too.
const checked: OpenStore = async ({ now }) => {
  const store = openMemoryStore({ now });
  return { store, destroy: () => store.close() };
};
storeConformance('memory with checked messages', checked);
graphConformance('memory with checked messages', checked);
