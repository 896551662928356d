/** What goes in in any order comes out in order. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createHeap } from '../../src/core/heap.ts';

describe('a heap', () => {
  test('that is empty', () => {
    const heap = createHeap<number>((a, b) => a < b);
    expect([heap.size, heap.peek(), heap.pop(), heap.size]).toEqual([0, undefined, undefined, 0]);
  });

  test('gives at every moment the least of what it holds', () => {
    const step = fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -20, max: 20 }) }, fc.constant(null));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const heap = createHeap<number>((a, b) => a < b);
        const held: number[] = [];
        for (const item of steps) {
          if (item !== null) {
            heap.push(item);
            held.push(item);
            held.sort((a, b) => a - b);
          } else {
            expect(heap.pop()).toBe(held.shift());
          }
          expect(heap.peek()).toBe(held[0]);
          expect(heap.size).toBe(held.length);
        }
        const rest = Array.from({ length: heap.size }, () => heap.pop());
        expect(rest).toEqual(held);
      }),
      { seed: 3, numRuns: 200 },
    );
  });
});
