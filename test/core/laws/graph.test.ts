/** The laws of the knowledge graph: all blocks or none, no circles, nothing that leads nowhere, and what is stale takes along what came from it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { upstream } from '../../../src/core/graph.ts';
import { effectiveConfidence, lineageOf } from '../../../src/core/graph-queries.ts';
import type { Actor, GraphMessage } from '../../../src/core/laws/messages.ts';
import type { GraphUpdate, Node } from '../../../src/core/node.ts';
import { AGENT, createWorld, eventsOf, PERSON, RUNTIME, type World } from './world.ts';

const ESCALATE = { below: 0.9, domains: { research: 0.5 } };
type Apply = Extract<GraphMessage, { type: 'graph.apply' }>;

const node = (
  id: string,
  fields: Partial<Extract<GraphUpdate, { kind: 'add-node' }>['node']> = {},
  data: object = { summary: id },
): GraphUpdate => ({
  kind: 'add-node',
  node: {
    id,
    type: 'Findings',
    createdBy: 'emma',
    confidence: 0.95,
    sources: [],
    domain: null,
    outputType: null,
    ready: null,
    nextStage: null,
    topic: null,
    ...fields,
  },
  document: JSON.stringify({ type: 'add_node', node_id: id, data }),
});
const edge = (source: string, target: string, relation: string | null = null): GraphUpdate => ({
  kind: 'add-edge',
  source,
  target,
  relation,
  fields: {},
});
const update = (id: string, set: object = {}, changesData = true): GraphUpdate => ({
  kind: 'update-node',
  id,
  set,
  changesData,
  document: JSON.stringify({ data: { more: 1 } }),
});
const apply = (updates: readonly GraphUpdate[], more: Partial<Apply> = {}): Apply => ({
  type: 'graph.apply',
  updates,
  escalate: ESCALATE,
  ...more,
});
const at = (world: World, id: string): Node => world.state.graph.node(id) as Node;
test('a task that stands for one that was undone writes the same node anew; no other task may', () => {
  const world = createWorld();
  const [undone = ''] = world.add({ session: 's' });
  world.finish(undone);
  world.ok(apply([node('n')], { task: undone }), RUNTIME);
  const [redo = '', other = ''] = world.add({ session: 's', metadata: { anew: undone } }, { session: 's' });
  // While it counts, it is nobody else's to write.
  expect(world.no(apply([node('n')], { task: redo }), RUNTIME).code).toBe('E_DUPLICATE');
  world.ok({ type: 'graph.stale', task: undone, reason: 'rolled back' }, RUNTIME);
  expect(world.no(apply([node('n')], { task: other }), RUNTIME).code).toBe('E_DUPLICATE');
  world.ok(apply([node('n')], { task: redo }), RUNTIME);
  expect(world.state.graph.node('n')).toMatchObject({ task: redo, stale: null });
});

const no = (world: World, message: GraphMessage, by?: Actor): string => {
  const before = [...world.state.graph.all()];
  const { code } = world.no(message, by);
  expect([...world.state.graph.all()]).toEqual(before);
  return code;
};

describe('nodes', () => {
  test('are written as they are, with what is filled in', () => {
    const world = createWorld();
    const facts = world.ok(apply([node('bug_login_500_20251028_103045', { type: 'BugBrief' })]));
    expect(facts.about).toEqual(['node:bug_login_500_20251028_103045']);
    expect(at(world, 'bug_login_500_20251028_103045')).toMatchObject({
      type: 'BugBrief',
      topic: 'login_500',
      ready: true,
      stale: null,
      createdAt: world.now(),
      session: 'default',
    });
  });

  test('one that is there is not written again, one that is not there is not changed', () => {
    const world = createWorld();
    world.ok(apply([node('a')]));
    expect(no(world, apply([node('b'), node('a')]))).toBe('E_DUPLICATE');
    expect(no(world, apply([node('b'), node('b')]))).toBe('E_DUPLICATE');
    expect(no(world, apply([update('c')]))).toBe('E_NOT_FOUND');
    expect(no(world, apply([]))).toBe('E_SCHEMA_VALIDATION');
  });

  test('all blocks of a report or none', () => {
    const world = createWorld();
    expect(no(world, apply([node('a'), node('b'), edge('a', 'nothing')]))).toBe('E_NOT_FOUND');
    world.ok(apply([node('a'), node('b'), edge('a', 'b', 'supports')]));
    expect(world.state.graph.size).toBe(2);
  });

  test('bad values are refused', () => {
    const world = createWorld();
    expect(no(world, apply([node('a', { confidence: 1.5 })]))).toBe('E_SCHEMA_VALIDATION');
    expect(no(world, apply([node('a', { confidence: Number.NaN })]))).toBe('E_SCHEMA_VALIDATION');
    expect(no(world, apply([node('a/b')]))).toBe('E_SCHEMA_VALIDATION');
    expect(no(world, apply([node('..')]))).toBe('E_SCHEMA_VALIDATION');
    const long = node('a', {}, { text: 'x'.repeat(1024 * 1024) });
    expect(no(world, apply([long]))).toBe('E_CONTEXT_OVERFLOW');
  });

  test('a source may stand behind what was made from it, but has to be there', () => {
    const world = createWorld();
    world.ok(apply([node('b', { sources: ['a'] }), node('a')]));
    expect([...world.state.graph.consumers('a')]).toEqual(['b']);
    expect(no(world, apply([node('c', { sources: ['x'] })]))).toBe('E_NOT_FOUND');
  });

  test('no node comes from itself, by whatever way', () => {
    const world = createWorld();
    expect(no(world, apply([node('a', { sources: ['a'] })]))).toBe('E_CYCLE');
    expect(no(world, apply([node('a', { sources: ['b'] }), node('b', { sources: ['a'] })]))).toBe('E_CYCLE');
    world.ok(apply([node('a'), node('b', { sources: ['a'] }), node('c', { sources: ['b'] })]));
    expect(no(world, apply([update('a', { sources: ['c'] })]))).toBe('E_CYCLE');
    expect(no(world, apply([edge('c', 'a')]))).toBe('E_CYCLE');
    expect(no(world, apply([edge('a', 'a', 'likes')]))).toBe('E_CYCLE');
    const { message } = world.no(apply([edge('c', 'a')]));
    expect(message).toContain('c → a → b → c');
  });

  test('edges of one relation do not go in a circle; another relation is another matter', () => {
    const world = createWorld();
    world.ok(apply([node('impl'), node('review', { sources: ['impl'] }), edge('review', 'impl', 'reviews')]));
    expect(no(world, apply([edge('impl', 'review', 'reviews')]))).toBe('E_CYCLE');
    expect(no(world, apply([edge('review', 'impl', 'reviews')]))).toBe('E_DUPLICATE');
    world.ok(
      apply([{ ...edge('review', 'impl', 'criticises'), kind: 'update-edge', fields: { weight: 2 } } as GraphUpdate]),
    );
    expect([...world.state.graph.edgesFrom('review')]).toEqual([
      { source: 'review', target: 'impl', relation: 'criticises', fields: { weight: 2 } },
    ]);
    expect([...world.state.graph.edgesTo('impl')]).toHaveLength(1);
    expect(no(world, apply([{ ...edge('impl', 'review'), kind: 'update-edge' } as GraphUpdate]))).toBe('E_NOT_FOUND');
  });
});

describe('who may write', () => {
  test("an agent does not write a person's word", () => {
    const world = createWorld();
    for (const fields of [
      { type: 'Approval' },
      { createdBy: 'user' },
      { createdBy: 'baton' },
      { outputType: 'approval' },
    ]) {
      expect(no(world, apply([node('a', fields)]), AGENT)).toBe('E_PERMISSION_DENIED');
      expect(no(world, apply([node('a', fields)]), { kind: 'unknown', name: 'x' })).toBe('E_PERMISSION_DENIED');
    }
    world.ok(apply([node('a', { createdBy: 'user' })]), PERSON);
    expect(no(world, apply([update('a')]), AGENT)).toBe('E_PERMISSION_DENIED');
    world.ok(apply([node('b')]), AGENT);
    expect(no(world, apply([update('b', { createdBy: 'user' })]), AGENT)).toBe('E_PERMISSION_DENIED');
    // Nor a name that only looks like a person's.
    for (const createdBy of ['user ', 'User', 'ｕｓｅｒ', 'us\u200ber', ' BATON'])
      expect(no(world, apply([update('b', { createdBy })]), AGENT), createdBy).toBe('E_PERMISSION_DENIED');
    world.ok(apply([update('b', { createdBy: 'user-story-writer' })]), AGENT);
  });

  test('an agent reads the nodes of every session and writes those of its own', () => {
    const world = createWorld();
    world.ok(apply([node('a')], { session: 'one' }));
    world.ok(apply([node('b')], { session: 'two' }));
    for (const updates of [[update('a')], [edge('b', 'a', 'supersedes')]]) {
      expect(no(world, apply(updates, { session: 'two' }), AGENT)).toBe('E_PERMISSION_DENIED');
    }
    expect(no(world, apply([edge('a', 'b', 'x')], { session: 'three' }), AGENT)).toBe('E_PERMISSION_DENIED');
    world.ok(apply([node('c', { sources: ['a'] }), edge('c', 'a', 'implements')], { session: 'two' }), AGENT);
    world.ok(apply([edge('b', 'a', 'supersedes')]), PERSON);
  });

  test('what a run says counts while it runs, and once', () => {
    const world = createWorld();
    const task = world.addOne();
    const run = world.claim({ id: task });
    const message = apply([node('a')], { task, run });
    world.ok(message, AGENT);
    expect(world.ask(message, AGENT)).toEqual({ kind: 'same', about: ['node:a'] });
    const edges = apply([edge('a', 'a2', 'x')], { task, run });
    expect(world.ask(edges, AGENT).kind).toBe('same');
    world.report(run);
    expect(no(world, apply([node('b')], { task, run }), AGENT)).toBe('E_STALE_RUN');
    expect(no(world, apply([node('b')], { task: 'TASK-1', run }), AGENT)).toBe('E_NOT_FOUND');
  });

  test('what a run says of edges alone counts once too', () => {
    const world = createWorld();
    world.ok(apply([node('a'), node('b')]));
    const task = world.addOne();
    const run = world.claim({ id: task });
    const message = apply([edge('a', 'b', 'x')], { task, run });
    world.ok(message, AGENT);
    expect(world.ask(message, AGENT).kind).toBe('same');
  });

  test('a later run of a task writes its node anew, and what was made of the old one is stale', () => {
    const world = createWorld();
    const task = world.addOne({ retry: { maxRetries: 2, backoffSeconds: [0] } });
    const first = world.claim({ id: task });
    world.ok(apply([node('a', { confidence: 0.91 })], { task, run: first }), AGENT);
    world.ok(apply([node('b', { sources: ['a'] })]), PERSON);
    world.fail(first);
    world.wait(1);
    const second = world.claim({ id: task });
    world.ok(apply([node('a', { confidence: 0.97 })], { task, run: second }), AGENT);
    expect(at(world, 'a')).toMatchObject({ confidence: 0.97, run: second, stale: null });
    expect(at(world, 'b').stale).toMatchObject({ from: 'a' });
    expect(no(world, apply([node('a')]), AGENT)).toBe('E_DUPLICATE');
  });
});

describe('use', () => {
  test('what a task has loaded is consumed by the node that it writes', () => {
    const world = createWorld();
    world.ok(apply([node('brief'), node('other')]));
    const task = world.addOne();
    world.ok({ type: 'graph.load', node: 'brief', by: { task } }, RUNTIME);
    expect(world.ask({ type: 'graph.load', node: 'brief', by: { task } }, RUNTIME).kind).toBe('same');
    expect([...world.state.graph.consumers('brief')]).toEqual([]);
    const run = world.claim({ id: task });
    world.ok(apply([node('fix')], { task, run }), AGENT);
    expect([...world.state.graph.consumers('brief')]).toEqual(['fix']);
    expect([...world.state.graph.consumers('other')]).toEqual([]);
    expect(no(world, { type: 'graph.load', node: 'x', by: { task } })).toBe('E_NOT_FOUND');
    expect(no(world, { type: 'graph.load', node: 'brief', by: { task: 'x' } })).toBe('E_NOT_FOUND');
  });

  test('a node may be said to use another, but not in a circle', () => {
    const world = createWorld();
    world.ok(apply([node('a'), node('b', { sources: ['a'] })]));
    expect(no(world, { type: 'graph.load', node: 'b', by: { node: 'a' } })).toBe('E_CYCLE');
    expect(no(world, { type: 'graph.load', node: 'a', by: { node: 'a' } })).toBe('E_CYCLE');
    expect(world.ask({ type: 'graph.load', node: 'a', by: { node: 'b' } }).kind).toBe('same');
    world.ok(apply([node('c')]));
    world.ok({ type: 'graph.load', node: 'a', by: { node: 'c' } });
    expect([...world.state.graph.consumers('a')]).toEqual(['b', 'c']);
  });
});

describe('stale', () => {
  const chain = (): World => {
    const world = createWorld();
    world.ok(
      apply(
        [
          node('a'),
          node('b', { sources: ['a'] }),
          node('c', { sources: ['b'] }),
          node('d', { sources: ['c'] }),
          node('e'),
          edge('c', 'e'),
          edge('c', 'f_not', 'x'),
        ].slice(0, 6),
      ),
    );
    return world;
  };
  const stale = (world: World): string[] =>
    [...world.state.graph.all()].filter(({ stale: s }) => s !== null).map(({ id }) => id);

  test('what is superseded, with all downstream; nothing upstream', () => {
    const world = chain();
    world.ok(apply([node('b2'), edge('b2', 'b', 'supersedes')]));
    expect(stale(world).sort()).toEqual(['b', 'c', 'd', 'e']);
    expect(at(world, 'd').stale).toMatchObject({ from: 'b2', because: 'its source c is stale' });
  });

  test('what was made from a node that changes, but not the node', () => {
    const world = chain();
    world.ok(apply([update('b')]));
    expect(stale(world).sort()).toEqual(['c', 'd', 'e']);
    world.ok(apply([update('c', {}, false)]));
    expect(stale(world).sort()).toEqual(['d', 'e']);
  });

  test('all that a task has written', () => {
    const world = createWorld();
    const task = world.addOne();
    const run = world.claim({ id: task });
    world.ok(apply([node('a'), node('b')], { task, run }), AGENT);
    world.ok(apply([node('c', { sources: ['b'] }), node('z')]));
    const facts = world.ok({ type: 'graph.stale', task, reason: 'rolled back' }, RUNTIME);
    expect(stale(world)).toEqual(['a', 'b', 'c']);
    expect(eventsOf(facts)).toEqual(['node.stale', 'node.stale', 'node.stale']);
    expect(world.ask({ type: 'graph.stale', task, reason: 'again' }, RUNTIME).kind).toBe('same');
  });
});

describe('corroboration', () => {
  const confidence = (world: World, id: string): number => effectiveConfidence(world.state.graph, at(world, id));

  test('others who say the same raise it, up to 0.99; the same creator, a descendant, a stale or a contrary one do not', () => {
    const world = createWorld();
    const one = (id: string, createdBy: string, sources: string[] = [], sure = 0.9): GraphUpdate =>
      node(id, { topic: 'gate', createdBy, sources, confidence: sure, domain: 'research' });
    world.ok(apply([one('a', 'emma')]));
    expect(confidence(world, 'a')).toBe(0.9);
    world.ok(apply([one('a2', 'emma'), one('a3', 'carl', ['a'])]));
    expect(confidence(world, 'a')).toBe(0.9);
    world.ok(apply([one('b', 'ben', [], 0.5)]));
    expect(confidence(world, 'a')).toBeCloseTo(0.95);
    expect(confidence(world, 'b')).toBeCloseTo(0.95);
    world.ok(apply([one('d', 'dora', [], 0.95), edge('d', 'a', 'contradicts')]));
    expect(confidence(world, 'a')).toBeCloseTo(0.95);
    world.ok(apply([one('e', 'eve', [], 0.95)]));
    expect(confidence(world, 'a')).toBe(0.99);
    world.ok({ type: 'graph.stale', nodes: ['e', 'b'], reason: 'x' });
    expect(confidence(world, 'a')).toBe(0.9);
  });
});

describe('lineage', () => {
  test('both ways, by hops, with the edges between what was found', () => {
    const world = createWorld();
    world.ok(
      apply([
        node('a'),
        node('b', { sources: ['a'] }),
        node('c', { sources: ['b'] }),
        node('side', { sources: ['a'] }),
        edge('c', 'side', 'supports'),
      ]),
    );
    const names = (query?: object): string[] =>
      (lineageOf(world.state.graph, 'b', query)?.nodes ?? []).map(({ id }) => id);
    expect(names()).toEqual(['b', 'a', 'c']);
    expect(names({ up: false })).toEqual(['b', 'c']);
    expect(names({ down: false })).toEqual(['b', 'a']);
    expect(lineageOf(world.state.graph, 'a')?.edges).toContainEqual({ from: 'c', to: 'side', relation: 'supports' });
    expect(lineageOf(world.state.graph, 'a', { hops: 1 })?.nodes.map(({ id }) => id)).toEqual(['a', 'b', 'side']);
    expect(lineageOf(world.state.graph, 'a', { most: 2 })?.isCut).toBe(true);
    expect(lineageOf(world.state.graph, 'x')).toBeUndefined();
  });
});

describe('whatever is asked', () => {
  const names = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
  const anyUpdate: fc.Arbitrary<GraphUpdate> = fc.oneof(
    fc.tuple(names, fc.uniqueArray(names, { maxLength: 2 })).map(([id, sources]) => node(id, { sources })),
    fc.tuple(names, fc.uniqueArray(names, { maxLength: 2 })).map(([id, sources]) => update(id, { sources })),
    fc.tuple(names, names, fc.constantFrom(null, 'x', 'supersedes')).map(([a, b, relation]) => edge(a, b, relation)),
  );
  test('lineage has no circle, indices are true, a refusal changes nothing, and what comes from a stale node by a mark is stale', () => {
    fc.assert(
      fc.property(fc.array(fc.array(anyUpdate, { minLength: 1, maxLength: 3 }), { maxLength: 25 }), (reports) => {
        const world = createWorld();
        for (const report of reports) {
          const before = [...world.state.graph.all()];
          const decision = world.ask(apply(report));
          if (decision.kind !== 'changed') expect([...world.state.graph.all()]).toEqual(before);
          const { graph } = world.state;
          for (const each of graph.all()) {
            const found = lineageOf(graph, each.id, { down: false });
            expect(
              found?.nodes.some(
                (other) =>
                  other.id !== each.id &&
                  lineageOf(graph, other.id, { down: false })?.nodes.some(({ id }) => id === each.id),
              ),
            ).toBe(false);
            for (const id of upstream(each)) expect([...graph.consumers(id)]).toContain(each.id);
            for (const id of graph.consumers(each.id)) expect(upstream(graph.node(id) as Node)).toContain(each.id);
          }
        }
      }),
      { numRuns: 200 },
    );
  });
});
