/** What the port promises of the knowledge graph and of questions. What may be written is the laws' matter and is tested there. */
import { afterEach, describe, expect, test } from 'vitest';
import type { Actor, AnyMessage, GraphMessage } from '../../src/core/laws/messages.ts';
import type { GraphUpdate, Node } from '../../src/core/node.ts';
import type { Answer, NodeFilter, Store, WholeNode } from '../../src/core/store.ts';
import type { Opened, OpenStore } from './conformance.ts';

const START = Date.UTC(2026, 2, 1, 9);
export const PERSON: Actor = { kind: 'person', name: 'ann' };
const EMMA: Actor = { kind: 'agent', name: 'emma' };
const ESCALATE = { below: 0.9, domains: {} };

type NewNode = Partial<Extract<GraphUpdate, { kind: 'add-node' }>['node']>;

export const adding = (id: string, more: NewNode = {}, data: object = { summary: `about ${id}` }): GraphUpdate => ({
  kind: 'add-node',
  node: {
    id,
    type: 'BugBrief',
    createdBy: 'emma',
    confidence: 0.95,
    sources: [],
    domain: 'software',
    outputType: 'brief',
    ready: null,
    nextStage: 'implementation',
    topic: null,
    ...more,
  },
  document: JSON.stringify({ type: 'add_node', node_id: id, metadata: { created_by: 'emma' }, data }),
});

export const updating = (
  id: string,
  data: object,
  set: Extract<GraphUpdate, { kind: 'update-node' }>['set'] = {},
): GraphUpdate => ({
  kind: 'update-node',
  id,
  set,
  changesData: true,
  document: JSON.stringify({ type: 'update_node', node_id: id, data }),
});

export const edge = (source: string, target: string, relation: string | null = null, fields = {}): GraphUpdate => ({
  kind: 'add-edge',
  source,
  target,
  relation,
  fields,
});

export const applying = (...updates: readonly GraphUpdate[]): GraphMessage => ({
  type: 'graph.apply',
  updates,
  escalate: ESCALATE,
});

export async function taken(
  store: Store,
  message: AnyMessage,
  by: Actor = PERSON,
): Promise<Exclude<Answer, { kind: 'refused' }>> {
  const answer = await store.send({ message, by });
  if (answer.kind === 'refused') throw new Error(`refused: ${answer.refusal.code} ${answer.refusal.message}`);
  return answer;
}

export const apply = (store: Store, ...updates: readonly GraphUpdate[]): ReturnType<typeof taken> =>
  taken(store, applying(...updates));

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

const idsOf = (nodes: readonly Node[] | undefined): string[] => (nodes ?? []).map(({ id }) => id);

/** A list in no order is put in one. */
const inOrder = <T extends WholeNode>(node: T): T => ({ ...node, consumers: node.consumers.toSorted() });

/** All that the port tells of the graph and of questions. */
export async function everything(store: Store): Promise<unknown> {
  const nodes = await all(store.nodes());
  return {
    nodes: nodes.map(inOrder),
    one: await Promise.all(nodes.map(async ({ id }) => inOrder((await store.node(id)) as WholeNode))),
    lineage: await Promise.all(
      nodes.map(async ({ id }) => {
        const found = await store.lineage(id);
        return [idsOf(found?.nodes).sort(), found?.edges.map((one) => JSON.stringify(one)).sort()];
      }),
    ),
    edges: await store.edges(),
    questions: await store.questions(),
  };
}

/** Nodes made from each other, changed, superseded, asked about and answered. */
export async function story(store: Store): Promise<void> {
  await apply(
    store,
    adding('bug_a_20260301_090000'),
    adding('fix_a', { type: 'Implementation', sources: ['bug_a_20260301_090000'] }),
  );
  await apply(
    store,
    adding('test_a', { type: 'TestResults', sources: ['fix_a'], domain: null }, { log: 'ü'.repeat(9_000) }),
  );
  await apply(store, updating('fix_a', { files: ['a.ts'] }, { confidence: 0.97 }));
  await apply(
    store,
    edge('bug_a_20260301_090000', 'fix_a', 'asks for', { weight: 2 }),
    edge('fix_a', 'test_a', 'asks for'),
  );
  await taken(store, { type: 'task.add', tasks: [{ title: 'a task' }] });
  await taken(store, { type: 'graph.load', node: 'fix_a', by: { task: 'TASK-2026-03-01-001' } });
  await apply(store, adding('unsure', { confidence: 0.5 }), adding('topical', { topic: 'a topic of its own' }));
  await apply(store, adding('doubt', { confidence: 0.6, createdBy: 'zed' }));
  await taken(store, { type: 'question.answer', id: 'ask-1', status: 'answered', text: 'go on' });
  await taken(store, { type: 'graph.stale', nodes: ['bug_a_20260301_090000'], reason: 'it was rolled back' });
}

export function graphConformance(name: string, open: OpenStore): void {
  let clock = START;
  const opened: Opened[] = [];
  const openOne = async (): Promise<Opened> => {
    clock = START;
    const one = await open({ now: () => clock });
    opened.push(one);
    return one;
  };
  const openStore = async (): Promise<Store> => (await openOne()).store;

  afterEach(async () => {
    for (const one of opened.splice(0)) await one.destroy();
  });

  describe(`${name}: the graph`, () => {
    test('an answer has the nodes as they are after it, and only where it speaks of any', async () => {
      const store = await openStore();
      const answer = await apply(store, adding('a'), adding('b', { sources: ['a'] }));
      expect(answer).toMatchObject({ kind: 'changed', tasks: [], nodes: [{ id: 'a' }, { id: 'b', sources: ['a'] }] });
      expect(answer).not.toHaveProperty('questions');
      const added = await taken(store, { type: 'task.add', tasks: [{ title: 't' }] });
      expect(Object.keys(added)).toEqual(['kind', 'tasks', 'events']);
    });

    test('a node comes back whole, with what was written in it and what is known of it', async () => {
      const store = await openStore();
      await apply(store, adding('a'), adding('b', { sources: ['a'] }));
      expect(await store.node('a')).toEqual({
        id: 'a',
        type: 'BugBrief',
        session: 'default',
        createdBy: 'emma',
        createdAt: START,
        updatedAt: START,
        domain: 'software',
        outputType: 'brief',
        confidence: 0.95,
        ready: true,
        nextStage: 'implementation',
        topic: 'a',
        sources: [],
        uses: [],
        task: null,
        run: null,
        stale: null,
        approval: null,
        document: { type: 'add_node', node_id: 'a', metadata: { created_by: 'emma' }, data: { summary: 'about a' } },
        consumers: ['b'],
        effectiveConfidence: 0.95,
        degree: 1,
      });
      for (const nothing of ['c', '', '__proto__', 'constructor']) expect(await store.node(nothing)).toBeUndefined();
    });

    test('documents of any size and script come back as they were written', async () => {
      const store = await openStore();
      const data = { short: '\u{1F3C3} \u2028 走る', long: 'ü'.repeat(20_000), longer: 'x'.repeat(500_000) };
      for (const [key, text] of Object.entries(data)) await apply(store, adding(key, {}, { text }));
      for (const [key, text] of Object.entries(data)) {
        const found = (await store.node(key))?.document['data'] as { text: string };
        expect(found.text === text, key).toBe(true);
      }
    });

    test('what is changed is merged into what was written, also in one message and over many', async () => {
      const store = await openStore();
      await apply(store, adding('a', {}, { one: 1, deep: { x: 1 } }), updating('a', { two: 2 }));
      await apply(store, adding('other'));
      for (let i = 3; i < 8; i++)
        await apply(store, updating('a', { [`n${i}`]: i, deep: { y: i } }, { confidence: 0.9 + i / 100 }));
      await apply(store, updating('a', { one: null, long: 'z'.repeat(30_000) }));
      const { document, confidence } = (await store.node('a')) as WholeNode;
      expect(document).toEqual({
        type: 'add_node',
        node_id: 'a',
        metadata: { created_by: 'emma' },
        data: { one: null, two: 2, n3: 3, n4: 4, n5: 5, n6: 6, n7: 7, deep: { y: 7 }, long: 'z'.repeat(30_000) },
      });
      expect(confidence).toBe(0.97);
    });

    test('a refusal changes nothing, however much of it was right', async () => {
      const store = await openStore();
      await apply(store, adding('a'));
      const before = await everything(store);
      for (const [code, updates] of [
        ['E_DUPLICATE', [adding('b'), updating('a', { x: 1 }), adding('a')]],
        ['E_NOT_FOUND', [adding('b'), edge('b', 'nowhere')]],
        ['E_NOT_FOUND', [updating('a', { x: 1 }), updating('b', {})]],
        ['E_CYCLE', [adding('b', { sources: ['c'] }), adding('c', { sources: ['b'] })]],
      ] as const) {
        const answer = await store.send({ message: applying(...updates), by: PERSON });
        expect(answer).toMatchObject({ kind: 'refused', refusal: { code } });
      }
      expect(await everything(store)).toEqual(before);
      expect(await store.lastRecord()).toBe(1);
    });

    test('lineage goes both ways, as far as asked', async () => {
      const store = await openStore();
      await apply(
        store,
        ...[...'abcde'].map((id, i) => adding(id, { sources: i === 0 ? [] : ['abcde'[i - 1] as string] })),
      );
      await apply(store, adding('side', { sources: ['c'] }), adding('alone'));
      const ids = async (...args: Parameters<Store['lineage']>) => idsOf((await store.lineage(...args))?.nodes).sort();
      expect(await ids('c')).toEqual(['a', 'b', 'c', 'd', 'e', 'side']);
      expect(await ids('c', { down: false })).toEqual(['a', 'b', 'c']);
      expect(await ids('c', { up: false })).toEqual(['c', 'd', 'e', 'side']);
      expect(await ids('c', { hops: 1 })).toEqual(['b', 'c', 'd', 'side']);
      expect(await ids('alone')).toEqual(['alone']);
      expect(await store.lineage('nobody')).toBeUndefined();
      expect((await store.lineage('a', { most: 3 }))?.isCut).toBe(true);
      const { edges } = (await store.lineage('e', { hops: 1 })) ?? {};
      expect(edges).toEqual([{ from: 'd', to: 'e', relation: null }]);
    });

    test('nodes by what they are, in the order in which they came', async () => {
      const store = await openStore();
      await apply(
        store,
        adding('z', { domain: 'writing' }),
        adding('a', { type: 'Review', nextStage: null }, { word: 'Parsers' }),
      );
      await apply(store, adding('m', { type: 'Review' }, { word: 'other' }));
      await taken(store, { ...applying(adding('s')), session: 'S' } as GraphMessage);
      const found = async (filter?: NodeFilter) => idsOf(await all(store.nodes(filter)));
      expect(await found()).toEqual(['z', 'a', 'm', 's']);
      expect(await found({ type: ['Review'] })).toEqual(['a', 'm']);
      expect(await found({ type: ['Review', 'BugBrief'], domain: 'software' })).toEqual(['a', 'm', 's']);
      expect(await found({ domain: 'writing' })).toEqual(['z']);
      expect(await found({ stage: 'implementation', type: ['Review'] })).toEqual(['m']);
      expect(await found({ session: 'S' })).toEqual(['s']);
      expect(await found({ text: 'parser' })).toEqual(['a']);
      expect(await found({ text: 'nowhere' })).toEqual([]);
      expect(await found({ task: 'TASK-2026-03-01-001' })).toEqual([]);
      expect(await found({ after: 'z' })).toEqual(['a', 'm', 's']);
      expect(await found({ after: 'a', type: ['BugBrief'] })).toEqual(['s']);
      expect(await found({ after: 's' })).toEqual([]);
      expect(await found({ after: 'nobody' })).toEqual([]);
    });

    test('many nodes, of which one stops in the middle, and one more than a page', async () => {
      const store = await openStore();
      const ids = Array.from({ length: 1_200 }, (_, i) => `n${i}`);
      await Promise.all(ids.map((id) => apply(store, adding(id))));
      const seen: string[] = [];
      for await (const { id, document } of store.nodes()) {
        seen.push(id);
        expect(document['node_id']).toBe(id);
        if (seen.length === 700) break;
      }
      expect(seen).toEqual(ids.slice(0, 700));
      expect(idsOf(await all(store.nodes({ after: 'n699' })))).toEqual(ids.slice(700));
    });

    test('nodes alike raise what each comes to', async () => {
      const store = await openStore();
      await apply(
        store,
        adding('a', { topic: 'leak', confidence: 0.9 }),
        adding('b', { topic: 'leak', confidence: 0.9, createdBy: 'zed' }),
      );
      expect((await store.node('a'))?.effectiveConfidence).toBeCloseTo(0.99);
      expect((await store.node('a'))?.confidence).toBe(0.9);
      await taken(store, { type: 'graph.stale', nodes: ['b'], reason: 'no more' });
      expect((await store.node('a'))?.effectiveConfidence).toBe(0.9);
    });

    test('edges of a node and all of them; a changed one stands in the place of the one before', async () => {
      const store = await openStore();
      await apply(store, adding('a'), adding('b'), adding('c'));
      await apply(store, edge('b', 'c', 'r'), edge('a', 'b', 'r', { w: 1 }), edge('a', 'b', 's'));
      const ab = { source: 'a', target: 'b', relation: 'r', fields: { w: 1 } };
      expect(await store.edges('a')).toEqual([ab, { ...ab, relation: 's', fields: {} }]);
      expect(await store.edges()).toHaveLength(3);
      expect(await store.edges('nobody')).toEqual([]);
      await apply(store, { kind: 'update-edge', source: 'b', target: 'c', relation: 'r', fields: { w: 2 } });
      expect(await store.edges('c')).toEqual([{ source: 'b', target: 'c', relation: 'r', fields: { w: 2 } }]);
      expect(await store.edges()).toHaveLength(3);
    });

    test('records tell what changed, without the documents', async () => {
      const store = await openStore();
      await apply(store, adding('a', {}, { long: 'x'.repeat(40_000) }));
      const [record] = await all(store.eventsAfter({ after: 0 }));
      expect(record?.graph).toMatchObject([
        { kind: 'node', node: 'a', set: { id: 'a', type: 'BugBrief' }, document: null },
      ]);
      expect(JSON.stringify(record).length).toBeLessThan(2_000);
    });

    test('the same request twice acts once, and is answered with the same nodes', async () => {
      const store = await openStore();
      const ask = { message: applying(adding('a')), by: PERSON, request: 'q1' };
      const [once, twice] = [await store.send(ask), await store.send(ask)];
      expect(twice).toEqual({ ...once, kind: 'same', events: undefined });
      expect(await all(store.nodes())).toHaveLength(1);
    });

    test('read in the middle of many sends, a node and its document are of one piece', async () => {
      const store = await openStore();
      await apply(store, adding('a', {}, { n: 0 }));
      const sent = [];
      const read = [];
      for (let n = 1; n <= 60; n++) {
        sent.push(apply(store, updating('a', { n }, { confidence: 0.9 + n / 1000 }), adding(`b${n}`, {}, { n })));
        if (n % 7 === 0) read.push(store.node('a'), store.node(`b${n}`), store.history('none'));
        if (n % 20 === 0) await new Promise(setImmediate);
      }
      await Promise.all(sent);
      for (const found of await Promise.all(read)) {
        if (found === undefined || Array.isArray(found)) continue;
        const { document, confidence, id } = found as WholeNode;
        const { n } = document['data'] as { n: number };
        if (id === 'a') expect(n === 0 ? 0.95 : 0.9 + n / 1000).toBeCloseTo(confidence, 6);
        else expect(id).toBe(`b${n}`);
      }
      expect(await store.node('a')).toMatchObject({ document: { data: { n: 60 } } });
    });
  });

  describe(`${name}: questions`, () => {
    test('are told with the answer that opened them, one by one, open ones and all', async () => {
      const store = await openStore();
      expect(await store.questions()).toEqual([]);
      const asked = await apply(store, adding('a', { confidence: 0.4 }));
      expect(asked.questions).toMatchObject([{ id: 'ask-1', kind: 'uncertainty', about: 'a', answer: null }]);
      await taken(store, { ...applying(adding('b', { confidence: 0.5 })), session: 'S' } as GraphMessage);
      const ids = async (...args: Parameters<Store['questions']>) =>
        (await store.questions(...args)).map(({ id }) => id);
      expect(await ids()).toEqual(['ask-1', 'ask-2']);
      expect(await ids({ session: 'S' })).toEqual(['ask-2']);
      expect(await store.question('ask-1')).toEqual(asked.questions?.[0]);
      expect(await store.question('ask-9')).toBeUndefined();
      const answered = await taken(store, { type: 'question.answer', id: 'ask-1', status: 'answered', text: 'accept' });
      expect(answered.questions).toMatchObject([{ id: 'ask-1', answer: { by: 'ann' } }]);
      expect(await ids({ open: true })).toEqual(['ask-2']);
      expect(await ids({ open: false })).toEqual(['ask-1']);
      expect(await ids({ open: true, session: 'default' })).toEqual([]);
      const { node } = (await store.question('ask-1'))?.answer ?? {};
      expect(await store.node(node ?? '')).toMatchObject({ type: 'Approval', createdBy: 'user' });
    });

    test('are no agent’s to answer, and are answered once', async () => {
      const store = await openStore();
      await apply(store, adding('a', { confidence: 0.4 }));
      const message = { type: 'question.answer', id: 'ask-1', status: 'approved' } as const;
      expect(await store.send({ message, by: EMMA })).toMatchObject({ refusal: { code: 'E_PERMISSION_DENIED' } });
      await taken(store, message);
      expect(await store.send({ message, by: PERSON })).toMatchObject({ refusal: { code: 'E_ANSWERED' } });
    });
  });

  describe(`${name}: the graph after a restart`, () => {
    /** A store that forgets has nothing to show here. */
    const restartable = (what: string, check: (store: Store, reopen: () => Promise<Store>) => Promise<void>): void =>
      test(what, async ({ skip }) => {
        const { store, reopen } = await openOne();
        if (reopen === undefined) return skip('it forgets');
        await check(store, reopen);
      });

    restartable('nodes, documents, lineage, edges, loads and questions are there again', async (store, reopen) => {
      await story(store);
      const before = await everything(store);
      let again = await reopen();
      expect(await everything(again)).toEqual(before);
      again = await reopen();
      // By a law that needs the graph first, this time.
      await apply(again, adding('later', { sources: ['fix_a'] }));
      expect(await again.node('fix_a')).toMatchObject({ consumers: expect.arrayContaining(['test_a', 'later']) });
      await apply(again, updating('fix_a', { more: true }));
      const then = await everything(again);
      expect(await everything(await reopen())).toEqual(then);
    });

    restartable('again and again, each time with a little more', async (store, reopen) => {
      let now = store;
      for (let round = 1; round <= 5; round++) {
        if (round !== 3)
          await apply(
            now,
            adding(`n${round}`, { sources: round === 1 ? [] : ['n1'] }),
            ...(round < 4 ? [] : [updating('n1', { round })]),
          );
        for (let i = 0; i < 4; i++) await taken(now, { type: 'note', event: 'noted', detail: { i } });
        now = await reopen();
        await taken(now, { type: 'task.add', tasks: [{ title: `t${round}` }] });
      }
      expect(idsOf(await all(now.nodes()))).toEqual(['n1', 'n2', 'n4', 'n5']);
      expect(await now.node('n1')).toMatchObject({ document: { data: { round: 5 } }, consumers: ['n2', 'n4', 'n5'] });
    });

    restartable('read for the first time in the middle of many sends', async (store, reopen) => {
      await story(store);
      const before = idsOf(await all(store.nodes()));
      const again = await reopen();
      const sent: Promise<unknown>[] = [];
      for (let i = 0; i < 30; i++) sent.push(taken(again, { type: 'task.add', tasks: [{ title: `t${i}` }] }));
      await new Promise(setImmediate);
      for (let i = 0; i < 30; i++) {
        sent.push(taken(again, { type: 'task.add', tasks: [{ title: `u${i}` }] }), apply(again, adding(`late${i}`)));
        if (i === 10) sent.push(all(again.nodes()));
      }
      await Promise.all(sent);
      const late = Array.from({ length: 30 }, (_, i) => `late${i}`);
      expect(idsOf(await all(again.nodes()))).toEqual([...before, ...late]);
      expect(idsOf(await all((await reopen()).nodes()))).toEqual([...before, ...late]);
    });

    restartable('requests are known with the nodes that they were about', async (store, reopen) => {
      const ask = { message: applying(adding('a', { confidence: 0.3 })), by: PERSON, request: 'q1' };
      await store.send(ask);
      const answer = await (await reopen()).send(ask);
      expect(answer).toMatchObject({ kind: 'same', nodes: [{ id: 'a' }, {}], questions: [{ id: 'ask-1' }] });
    });
  });
}
