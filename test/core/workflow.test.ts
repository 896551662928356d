/** What each workflow pattern makes of tasks that come together. */
import { describe, expect, test } from 'vitest';
import { inPattern, type PatternItem, type WorkflowPattern } from '../../src/core/workflow.ts';
import { createWorld, id } from './laws/world.ts';

const item = (name: string, pattern: WorkflowPattern | null, more: Partial<PatternItem> = {}): PatternItem => ({
  id: name,
  session: 's',
  pattern,
  dependsOn: [],
  parentId: null,
  ...more,
});
const three = (pattern: WorkflowPattern | null): PatternItem[] => ['A', 'B', 'C'].map((name) => item(name, pattern));

describe('a pattern', () => {
  test.each([
    [null, [{}, {}, {}]],
    ['SINGLE', [{}, {}, {}]],
    ['PARALLEL', [{}, {}, {}]],
    ['CHAIN', [{}, { dependsOn: ['A'] }, { dependsOn: ['B'] }]],
    ['MAP_REDUCE', [{}, {}, { dependsOn: ['A', 'B'] }]],
    ['HIERARCHICAL', [{ dependsOn: ['B', 'C'] }, { parentId: 'A' }, { parentId: 'A' }]],
  ] as const)('%s', (pattern, placed) => {
    expect(inPattern(three(pattern))).toEqual(placed);
  });

  test.each(['SINGLE', 'CHAIN', 'PARALLEL', 'MAP_REDUCE', 'HIERARCHICAL'] as const)('%s of one', (pattern) => {
    expect(inPattern([item('A', pattern)])).toEqual([{}]);
  });

  test('what a task says itself stays', () => {
    const own = { dependsOn: ['Z'] };
    expect(inPattern([item('A', 'CHAIN', own), item('B', 'CHAIN'), item('C', 'CHAIN', own)])).toEqual([
      {},
      { dependsOn: ['A'] },
      {},
    ]);
    expect(inPattern([item('A', 'MAP_REDUCE'), item('B', 'MAP_REDUCE', own)])).toEqual([{}, {}]);
    expect(inPattern([item('A', 'HIERARCHICAL', own), item('B', 'HIERARCHICAL', { parentId: 'Y' })])).toEqual([{}, {}]);
  });

  test('sessions are apart, whatever their order', () => {
    const items = [item('A', 'CHAIN'), item('A', 'MAP_REDUCE', { session: 't' }), item('B', 'CHAIN')];
    expect(inPattern([...items, item('B', 'MAP_REDUCE', { session: 't' })])).toEqual([
      {},
      {},
      { dependsOn: ['A'] },
      { dependsOn: ['A'] },
    ]);
  });

  test('a hierarchy of several levels: every parent waits for its own children', () => {
    const items = [
      item('A', 'HIERARCHICAL'),
      item('B', 'HIERARCHICAL'),
      item('C', 'HIERARCHICAL', { parentId: 'B' }),
      item('D', 'HIERARCHICAL', { dependsOn: ['C'] }),
    ];
    expect(inPattern(items)).toEqual([
      { dependsOn: ['B', 'D'] },
      { dependsOn: ['C'], parentId: 'A' },
      {},
      { parentId: 'A' },
    ]);
  });

  test('a parent does not wait for a child that waits for it, near or far', () => {
    const items = [
      item('A', 'HIERARCHICAL'),
      item('B', 'HIERARCHICAL', { dependsOn: ['A'] }),
      item('C', 'HIERARCHICAL', { dependsOn: ['B'] }),
      item('D', 'HIERARCHICAL'),
    ];
    expect(inPattern(items)[0]).toEqual({ dependsOn: ['D'] });
  });

  test('one that stands above the first is not put below it', () => {
    expect(inPattern([item('A', 'HIERARCHICAL', { parentId: 'B' }), item('B', 'HIERARCHICAL')])).toEqual([
      {},
      { dependsOn: ['A'] },
    ]);
  });
});

test('the laws take a hierarchy: the children run first, then their parent', () => {
  const world = createWorld();
  const placed = inPattern(three('HIERARCHICAL'));
  world.add(...['A', 'B', 'C'].map((externalId, i) => ({ externalId, session: 's', ...placed[i] })));
  expect([1, 2, 3].map((n) => [world.task(id(n)).parentId, world.task(id(n)).depth])).toEqual([
    [null, 0],
    [id(1), 1],
    [id(1), 1],
  ]);
  const order: string[] = [];
  for (let next = world.next(); next !== undefined; next = world.next()) {
    order.push(next);
    world.finish(next);
  }
  expect(order).toEqual([id(2), id(3), id(1)]);
});
