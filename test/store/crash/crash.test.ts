/** Ten thousand crashes of made-up work, at every operation that it makes on its disk; `npm run crash` makes as many as one likes. */
import { describe, expect, it } from 'vitest';
import { runPoints } from './points.ts';

/** Each has its own seeds; a failure prints what makes it happen again: `npm run crash -- --seed S --at K --way W --variant V`. */
const SEEDS = [1_000, 2_000, 3_000, 4_000];
const POINTS = 2_510;

describe('a crash at any operation', () => {
  it.each(SEEDS)(
    'loses nothing that was acknowledged, and does nothing twice (seeds from %d)',
    { timeout: 300_000 },
    async (seed) => {
      const result = await runPoints({ seed, points: POINTS });
      expect(result.failure).toBeNull();
      expect(result.points).toBeGreaterThanOrEqual(POINTS);
      // The recovery is crashed too.
      expect(result.second).toBeGreaterThan(POINTS / 10);
    },
  );
});
