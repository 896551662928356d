/**
 * What a run costs, from tokens and the prices in config (dollars for a million tokens), and what it may cost, before it runs.
 *
 * The estimate is a rule of thumb and is called one wherever it is shown. An agent at work sends its prompt and what it has read again with
 * every step, so the input grows with the steps, and how many steps there are goes with the complexity of the task.
 */
import type { Config } from './config.ts';

/** Dollars for a million tokens. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

interface Tokens {
  readonly tokensInput: number;
  readonly tokensOutput: number;
}

export interface Estimate extends Tokens {
  readonly usd: number;
}

type Complexity = 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';

const MILLION = 1_000_000;

/**
 * The price of a model: under its own name, else under the name without its provider (`anthropic/claude-x`), else under the longest name
 * that it begins with (`claude-x` for `claude-x-20260101`). Null where none is known.
 */
export function priceOf(prices: Config['prices'], model: string): Price | null {
  const bare = model.slice(model.lastIndexOf('/') + 1);
  for (const name of [model, bare]) if (Object.hasOwn(prices, name)) return prices[name] as Price;
  const nearest = Object.keys(prices)
    .filter((name) => bare.startsWith(`${name}-`) || bare.startsWith(`${name}@`) || bare.startsWith(`${name}:`))
    .sort((a, b) => b.length - a.length)[0];
  return nearest === undefined ? null : (prices[nearest] as Price);
}

export const costOf = ({ tokensInput, tokensOutput }: Tokens, price: Price): number =>
  (tokensInput * price.input + tokensOutput * price.output) / MILLION;

/** How often a task of a complexity asks its model, and how many tokens each step reads anew and writes. */
const STEPS: Readonly<Record<Complexity, number>> = { LOW: 5, MEDIUM: 15, HIGH: 40, CRITICAL: 60 };
const READ_EACH_STEP = 1_500;
const WRITTEN_EACH_STEP = 400;

/** With n steps the prompt is sent n times, and what a step reads and writes is sent again with every step after it. */
export function estimate(
  { promptTokens, complexity }: { readonly promptTokens: number; readonly complexity: Complexity },
  price: Price,
): Estimate {
  const steps = STEPS[complexity];
  const grown = (READ_EACH_STEP + WRITTEN_EACH_STEP) * ((steps * (steps - 1)) / 2);
  const tokens = { tokensInput: steps * promptTokens + grown, tokensOutput: steps * WRITTEN_EACH_STEP };
  return { ...tokens, usd: costOf(tokens, price) };
}
