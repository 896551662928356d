/**
 * What an agent said in its RESPONSE and Baton's own RESPONSE has no better word for: it is kept there, beside what Baton says itself, and never
 * in its place. All of it, whatever its size, is in the details file.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ResponseMessage } from '../../protocol/aop2/schema.ts';
import { shorten } from '../../protocol/text/shorten.ts';
import type { Used } from '../meter.ts';
import { type EarlierAttempts, together } from './all-attempts.ts';

type CheckpointResult = NonNullable<ResponseMessage['checkpoint_results']>[number];
type Extensions = NonNullable<ResponseMessage['extensions']>;
type Cost = NonNullable<ResponseMessage['cost_tracking']>;

/** In bytes of JSON; an agent's extensions may be as large as a whole RESPONSE. */
const MOST_EXTENSIONS = 48 * 1024;
const MOST_OF_CHECKPOINT = 2 * 1024;

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));
const isWithin = (value: unknown, most: number): boolean => sizeOf(value) <= most;

/** Baton's extensions and the agent's. A key that both use is Baton's, and the agent's value is in `x_agent`. */
export function keepExtensions(own: Extensions, said: ResponseMessage | null): Extensions {
  const given = said?.extensions ?? {};
  const hidden = Object.entries(given).filter(
    ([key, value]) => key === 'x_agent' || (Object.hasOwn(own, key) && !isDeepStrictEqual(own[key], value)),
  );
  const error = said?.error_details ?? null;
  const agent = {
    ...(hidden.length === 0 ? {} : { extensions: Object.fromEntries(hidden) }),
    ...(error === null ? {} : { error_details: error }),
  };
  const kept = { ...given, ...(Object.keys(agent).length === 0 ? {} : { x_agent: agent }) };
  if (Object.keys(kept).length === 0) return own;
  return isWithin(kept, MOST_EXTENSIONS)
    ? { ...kept, ...own }
    : { ...own, x_agent: { omitted: 'the extensions of the agent are too large; they are in the details file' } };
}

/** The extensions of the agent's summary, which Baton's has none of. */
export function keepSummaryExtensions(said: ResponseMessage | null): { readonly extensions?: Extensions } {
  const extensions = said?.execution_summary?.extensions;
  return extensions === undefined || !isWithin(extensions, MOST_EXTENSIONS) ? {} : { extensions };
}

/** What Baton saw of each checkpoint, with the agent's own words beside it; and those of which only the agent speaks, as it says them. */
export function keepCheckpoints(
  seen: readonly CheckpointResult[],
  said: ResponseMessage | null,
): readonly CheckpointResult[] {
  const claims = said?.checkpoint_results ?? [];
  if (claims.length === 0) return seen;
  const own = seen.map((result) => {
    const claim = claims.findLast(({ checkpoint_id: id }) => id === result.checkpoint_id);
    if (claim === undefined) return result;
    const { checkpoint_id: _, ...words } = claim;
    return withExtension(result, { x_agent: words });
  });
  const known = new Set(seen.map(({ checkpoint_id: id }) => id));
  const others = claims
    .filter(({ checkpoint_id: id }) => !known.has(id))
    .map((claim) => withExtension(claim, { x_verdict: 'unverified' }));
  return [...own, ...others];
}

const withExtension = (result: CheckpointResult, more: Extensions): CheckpointResult =>
  isWithin(more, MOST_OF_CHECKPOINT) ? { ...result, extensions: { ...result.extensions, ...more } } : result;

const WORDS = 4_000;

/** Baton's sentence about how it ended, and the agent's. */
export const keepMessage = (own: string, said: string | null | undefined): string =>
  said == null || said.trim() === '' || own.includes(said.trim())
    ? own
    : `${own} The agent says: ${shorten(said.trim(), WORDS)}`;

interface Paid {
  readonly used: Used;
  readonly estimatedUsd: number | null;
  readonly earlier?: EarlierAttempts | null;
}

/** What all attempts used; the last one's own, and what its agent says that it used where that differs, are in the extensions. */
export function keepCost({ used, estimatedUsd, earlier = null }: Paid, said: ResponseMessage | null): Cost {
  const claim = said?.cost_tracking;
  const estimate = estimatedUsd ?? claim?.estimated_cost_usd ?? null;
  const own = costOf([used], estimate, claim);
  const isKnown = claim === undefined || isSaidBy(own, claim);
  const claimed = isKnown || !isWithin(claim, MOST_OF_CHECKPOINT) ? {} : { x_claimed: claim };
  const all = [...(earlier?.used ?? []), used];
  const expected = earlier?.estimatedUsd == null ? estimate : earlier.estimatedUsd + (estimate ?? 0);
  const { usd, knownUsd } = together(all);
  const extensions = {
    ...(earlier === null ? {} : { x_attempt_cost: own }),
    ...(usd === null && knownUsd > 0 ? { x_known_usd: knownUsd } : {}),
    ...claimed,
  };
  const cost = earlier === null ? own : costOf(all, expected, claim);
  return Object.keys(extensions).length === 0 ? cost : { ...cost, extensions };
}

/** @param attempts the last one is that of which the claim is */
function costOf(attempts: readonly Used[], estimate: number | null, claim: Cost | undefined): Cost {
  const last = attempts.at(-1) as Used;
  const { usd, tokensInput, tokensOutput } = together(attempts);
  // Its own estimate is the only number there is, and it says so.
  const isOnlyEstimate = last.claimed === true && last.estimated && claim?.actual_cost_usd === undefined;
  const isReckoned =
    (last.estimated && !isOnlyEstimate) ||
    attempts.slice(0, -1).some(({ estimated, claimed }) => estimated && claimed !== true);
  const tier = isReckoned ? 'estimated from config prices' : claim?.model_pricing_tier;
  return {
    ...(estimate === null ? {} : { estimated_cost_usd: estimate }),
    ...(usd === null || (isOnlyEstimate && usd === estimate) ? {} : { actual_cost_usd: usd }),
    tokens_input: tokensInput,
    tokens_output: tokensOutput,
    ...(tier === undefined ? {} : { model_pricing_tier: tier }),
  };
}

const isSaidBy = (cost: Cost, claim: Cost): boolean =>
  Object.entries(claim).every(([key, value]) => isDeepStrictEqual((cost as Record<string, unknown>)[key], value));
