/** Reads text after text, from one seed, until told to stop; what breaks a rule is made small and handed over. */
import { convert } from '../../../src/protocol/convert.ts';
import { detect } from '../../../src/protocol/detect.ts';
import { TARGETS } from '../../../src/protocol/dialects.ts';
import { cpuMs } from '../../helpers/cpu.ts';
import { type Random, seeded } from '../../helpers/random.ts';
import { examine } from './examine.ts';
import { corpus, mutant, type Pump, pump, pumped } from './generate.ts';

/** A finding, as it is kept in `test/fixtures/found`: a text, or one that is long by repetition. */
export type Finding = { readonly why: string } & ({ readonly text: string } | (Pump & { readonly times: number }));

export interface FuzzOptions {
  readonly seed: number;
  readonly fixtures: URL;
  /** Whether to go on, asked before each text. */
  readonly goesOn: (count: number) => boolean;
  /** Off where other work on the machine would be what is measured. */
  readonly timed: boolean;
  readonly onFound: (finding: Finding) => void;
}

const ANEW = 500;
const PUMPED = 0.1;
/** A small text takes no longer, in milliseconds of the processor. */
const SMALL_MS = 50;
/** Four times the text may take ten times the time; the square would be sixteen. */
const SIZES = [10_000, 40_000] as const;
const MOST_GROWTH = 10;

export function fuzz({ seed, fixtures, goesOn, timed, onFound }: FuzzOptions): number {
  let texts: string[] = [];
  let count = 0;
  for (; goesOn(count); count++) {
    if (count % ANEW === 0) texts = corpus(fixtures, seed + count);
    const random = seeded(seed, count);
    const finding =
      timed && random.chance(PUMPED) ? slow(pump(texts, random)) : broken(mutant(texts, random), random, timed);
    if (finding !== null) onFound(finding);
  }
  return count;
}

function broken(text: string, random: Random, timed: boolean): Finding | null {
  const [why] = examine(text, random);
  if (why !== undefined) return { why, text: smallest(text, rule(why)) };
  if (!timed || text.length > SIZES[0] || cost(text) <= SMALL_MS) return null;
  const ms = Math.min(cost(text), cost(text), cost(text));
  return ms <= SMALL_MS ? null : { why: `slow: ${Math.round(ms)} ms for ${text.length} characters`, text };
}

function slow(of: Pump): Finding | null {
  try {
    return slower(of);
  } catch (cause) {
    return { why: `threw ${String(cause)}`, ...of, times: Math.ceil(SIZES[1] / of.repeat.length) };
  }
}

function slower(of: Pump): Finding | null {
  const times = SIZES.map((size) => Math.ceil(size / of.repeat.length));
  const [few, many] = times.map((n) => pumped(of, n)) as [string, string];
  const least = (text: string): number => Math.min(cost(text), cost(text));
  let [short, long] = [cost(few), cost(many)];
  if (long <= SMALL_MS || long / short <= MOST_GROWTH) return null;
  [short, long] = [least(few), least(many)];
  if (long <= SMALL_MS || long / short <= MOST_GROWTH) return null;
  const why = `slow: ${Math.round(short)} ms for ${few.length} characters, ${Math.round(long)} ms for ${many.length}`;
  return { why, ...of, times: times[1] ?? 0 };
}

const CONTEXT = { now: '2026-03-01T09:00:00.000Z', workspaceRoot: '/ws', sessionId: 'S-1', taskId: 'TASK-001' };

/** What reading and converting a text costs. */
export const cost = (text: string): number =>
  cpuMs(() => {
    const found = detect(text);
    for (const target of TARGETS) convert(found, target, CONTEXT);
  });

/** The kind of a finding: what it says before it shows anything. */
const rule = (why: string): string => why.slice(0, 25);

const TRIES_MS = 3000;

/** As much of a text as it takes to break the same rule: halves of it go, then smaller parts, as long as it stays broken. */
function smallest(text: string, kind: string): string {
  let least = text;
  const until = Date.now() + TRIES_MS;
  const breaks = (candidate: string): boolean =>
    [1, 2, 3].some((seed) => examine(candidate, seeded(seed)).some((why) => rule(why) === kind));
  for (let size = Math.ceil(text.length / 2); size >= 1 && Date.now() < until; size = Math.floor(size / 2)) {
    for (let at = 0; at < least.length && Date.now() < until; ) {
      const candidate = least.slice(0, at) + least.slice(at + size);
      if (breaks(candidate)) least = candidate;
      else at += size;
    }
  }
  return least;
}
