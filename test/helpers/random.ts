/** Chance that can be had again: the same seeds give the same choices. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** A whole number from 0 up to, not including, `n`. */
  below(n: number): number;
  chance(p: number): boolean;
  pick<T>(list: readonly T[]): T;
}

export function seeded(...seeds: readonly number[]): Random {
  let state = 0x1234567;
  const stir = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  for (const seed of seeds) {
    state = Math.imul(state ^ (seed + 1), 0x2545f491) || 1;
    for (let i = 0; i < 4; i++) stir();
  }
  const next = (): number => stir() / 2 ** 32;
  const below = (n: number): number => Math.floor(next() * n);
  return {
    next,
    below,
    chance: (p) => next() < p,
    pick: (list) => {
      if (list.length === 0) throw new RangeError('nothing to pick from');
      return list[below(list.length)] as (typeof list)[number];
    },
  };
}
