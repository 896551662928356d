/** What a run has used, in tokens and dollars, and whether that is more than it may. Dollars that the program does not tell are reckoned from config's prices. */

import type { Budget } from '../core/policy.ts';
import { costOf, type Price } from '../core/price.ts';
import type { SaidCost } from './response/said.ts';

export interface Used {
  readonly usd: number | null;
  readonly tokensInput: number;
  readonly tokensOutput: number;
  /** The dollars are reckoned by us, not told by the program. */
  readonly estimated: boolean;
  /** Something of it only the agent's RESPONSE says: nothing measured it. */
  readonly claimed?: boolean;
}

export const NOTHING_USED: Used = { usd: null, tokensInput: 0, tokensOutput: 0, estimated: false };

export interface Meter {
  /** What this turn has used so far, all together. */
  turn(usage: { readonly tokensInput: number; readonly tokensOutput: number; readonly usd: number | null }): void;
  /** What the agent's report says of this turn: it counts for what nothing has measured, tokens and dollars each for themselves. */
  claim(cost: SaidCost): void;
  /** The next turn counts from nothing. */
  nextTurn(): void;
  readonly used: Used;
  /** A sentence where the budget is reached; null while it is not. */
  exceeded(): string | null;
}

/** @param before what earlier attempts of the task have used already */
export function createMeter(
  budget: Budget,
  price: Price | null,
  before: Pick<Used, 'usd' | 'tokensInput' | 'tokensOutput'>,
): Meter {
  let past = NOTHING_USED;
  let now: Used = past;

  const total = (): Used => plus(past, now);

  return {
    turn({ tokensInput, tokensOutput, usd }) {
      const reckoned = usd === null && price !== null ? costOf({ tokensInput, tokensOutput }, price) : usd;
      now = { usd: reckoned, tokensInput, tokensOutput, estimated: usd === null && reckoned !== null };
    },
    claim({ usd, tokensInput, tokensOutput, estimated }) {
      const isMeasured = now.tokensInput + now.tokensOutput > 0;
      const tokens = isMeasured ? now : { tokensInput, tokensOutput };
      if (now.usd !== null && isMeasured) return;
      const reckoned = usd === null && price !== null ? costOf(tokens, price) : usd;
      now = {
        usd: now.usd ?? reckoned,
        tokensInput: tokens.tokensInput,
        tokensOutput: tokens.tokensOutput,
        estimated: now.usd === null ? reckoned !== null && (estimated || usd === null) : now.estimated,
        claimed: true,
      };
    },
    nextTurn() {
      past = total();
      now = NOTHING_USED;
    },
    get used() {
      return total();
    },
    exceeded() {
      const used = total();
      const usd = (before.usd ?? 0) + (used.usd ?? 0);
      const tokens = before.tokensInput + before.tokensOutput + used.tokensInput + used.tokensOutput;
      if (budget.maxCostUsd !== null && usd > budget.maxCostUsd - EPSILON && usd > 0) {
        return `expected at most ${budget.maxCostUsd} dollars for this task, and ${round(usd)} are used`;
      }
      if (budget.maxTokens !== null && tokens >= budget.maxTokens && tokens > 0) {
        return `expected at most ${budget.maxTokens} tokens for this task, and ${tokens} are used`;
      }
      return null;
    },
  };
}

/** Sums of dollars are not exact. */
export const EPSILON = 1e-9;
const round = (usd: number): number => Math.round(usd * 1e6) / 1e6;

const plus = (a: Used, b: Used): Used => ({
  usd: a.usd === null && b.usd === null ? null : (a.usd ?? 0) + (b.usd ?? 0),
  tokensInput: a.tokensInput + b.tokensInput,
  tokensOutput: a.tokensOutput + b.tokensOutput,
  estimated: a.estimated || b.estimated,
  ...(a.claimed === true || b.claimed === true ? { claimed: true } : {}),
});
