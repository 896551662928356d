/** How long an answer may be: the default of its kind, moved by what the command asks for (§5, §14). */
import { type Command, type Limit, MAX_LIMIT } from './command.ts';
import type { Reply } from './form.ts';
import { formOf, isBuiltIn, OPEN_FORM, STATUS_REPLY } from './table.ts';

/** The limit in tokens. A share is rounded down, since it is a limit, but a word is always left. */
export function limitFor({ limit }: Pick<Command, 'limit'>, defaultTokens: number): number {
  if (typeof limit === 'number') return Math.min(limit, MAX_LIMIT);
  if (limit === 'brief') return Math.max(1, Math.floor(defaultTokens / 2));
  return limit === 'detailed' ? defaultTokens * 2 : defaultTokens;
}

/** What the formatter has to keep to. `exempt`: the document quotes the answer's words. */
export type Budget =
  | { readonly kind: 'exempt' }
  | { readonly kind: 'text'; readonly tokens: number }
  | {
      readonly kind: 'list';
      readonly maxItems: number;
      /** So many entries are there whatever the total; more only where they fit into it. */
      readonly sureItems: number;
      readonly tokensPerItem: number;
      /** For the whole list; only `:limit=N` and `:detailed` set it. */
      readonly totalTokens: number | null;
    };

/** The budget of a command's answer: rule, table and example, the first that speaks. */
export function budgetFor(command: Command): Budget {
  const reply = replyOf(command);
  switch (reply.kind) {
    case 'form':
      return { kind: 'exempt' };
    case 'acknowledgement': // "fixed": no modifier moves it
      return { kind: 'text', tokens: reply.tokens };
    case 'list':
      return listBudget(command, reply.items, reply.tokensPerItem);
    default:
      return { kind: 'text', tokens: limitFor(command, reply.tokens) };
  }
}

/**
 * The shares move an item's tokens (§5: "≤ 4 tokens/item"); `:detailed` has more items too, as long as the whole is twice the default. A custom
 * limit is a total, and as many items are there as fit into it.
 */
function listBudget(command: Command, items: number, tokensPerItem: number): Budget {
  const tokens = limitFor(command, tokensPerItem);
  const budget = { kind: 'list', tokensPerItem: tokens } as const;
  if (typeof command.limit === 'number')
    return { ...budget, maxItems: Number.POSITIVE_INFINITY, sureItems: 1, totalTokens: tokens };
  if (command.limit === 'detailed')
    return { ...budget, maxItems: 2 * items, sureItems: items, totalTokens: 2 * items * tokensPerItem };
  return { ...budget, maxItems: items, sureItems: items, totalTokens: null };
}

function replyOf({ name, params }: Command): Reply {
  // §5 has a rule for status reports, and it speaks before the examples that show REPORT as a list.
  if (name === 'REPORT' && params[1] === 'status') return STATUS_REPLY;
  return ((isBuiltIn(name) ? formOf(name, params) : null) ?? OPEN_FORM).reply;
}

/** What is known of the case an answer is about. */
export interface Situation {
  readonly isError?: boolean;
  /** The priority of the task it is about. */
  readonly priority?: 'P0' | 'P1' | 'P2' | 'P3' | null;
  /** What is asked for: `progress`, `security`, `audit`. */
  readonly topic?: string | null;
  /** Of a checkpoint's diff. */
  readonly filesChanged?: number;
}

/** From this many files on a diff gets twice the room. */
const MANY_FILES = 10;

/** §14: what the command asks for, or else what the case calls for. An error is never made brief. */
export function smartLimit(asked: Limit, { isError, priority, topic, filesChanged }: Situation): Exclude<Limit, null> {
  if (asked !== null) return asked;
  const words = (topic ?? '').toLowerCase().split(/[^a-z]+/);
  const isLong =
    (isError === true && priority === 'P0') ||
    words.includes('security') ||
    words.includes('audit') ||
    (filesChanged ?? 0) >= MANY_FILES;
  if (isLong) return 'detailed';
  return isError !== true && words.includes('progress') ? 'brief' : 'standard';
}
