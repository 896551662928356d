/** Prices are for a million tokens; an estimate grows with the prompt and with the complexity. */
import { describe, expect, test } from 'vitest';
import { costOf, estimate, priceOf } from '../../src/core/price.ts';

const PRICES = {
  'm-1': { input: 3, output: 15 },
  'm-1-mini': { input: 1, output: 2 },
  'vendor/m-2': { input: 5, output: 6 },
  constructor: { input: 7, output: 8 },
};

describe('the price of a model', () => {
  test.each([
    ['m-1', 3],
    ['vendor/m-2', 5],
    ['anthropic/m-1', 3],
    ['m-1-20260101', 3],
    ['m-1-mini-20260101', 1],
    ['m-1:latest', 3],
    ['m-1@eu', 3],
    ['constructor', 7],
  ])('%s', (model, input) => {
    expect(priceOf(PRICES, model)?.input).toBe(input);
  });

  test.each(['m-12', 'm', 'other/m-2', 'm-2', '', 'toString', '__proto__'])('%j has none', (model) => {
    expect(priceOf(PRICES, model)).toBeNull();
  });
});

test('what tokens cost', () => {
  expect(costOf({ tokensInput: 1_000_000, tokensOutput: 2_000_000 }, { input: 3, output: 15 })).toBe(33);
  expect(costOf({ tokensInput: 12_500, tokensOutput: 3_200 }, { input: 3, output: 15 })).toBeCloseTo(0.0855, 10);
  expect(costOf({ tokensInput: 0, tokensOutput: 0 }, { input: 3, output: 15 })).toBe(0);
});

describe('an estimate', () => {
  const price = { input: 3, output: 15 };
  const of = (promptTokens: number, complexity: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL') =>
    estimate({ promptTokens, complexity }, price);

  test('is what its tokens cost', () => {
    const { usd, ...tokens } = of(1000, 'MEDIUM');
    expect(usd).toBe(costOf(tokens, price));
    expect(tokens).toEqual({ tokensInput: 15 * 1000 + 1900 * 105, tokensOutput: 6000 });
  });

  test('grows with the prompt and with the complexity', () => {
    const costs = (['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const).map((complexity) => of(1000, complexity).usd);
    expect([...costs].sort((a, b) => a - b)).toEqual(costs);
    expect(new Set(costs).size).toBe(4);
    expect(of(2000, 'LOW').tokensInput - of(1000, 'LOW').tokensInput).toBe(5000);
  });
});
