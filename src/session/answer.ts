/** What a command says, within its limits (shared agent protocol §5, §14). */
import {
  budgetFor,
  bullets,
  type Command,
  errorReply,
  exceedsTokens,
  fitText,
  limitFor,
  smartLimit,
  writeCommand,
} from '../protocol/command/index.ts';
import type { Said } from './call.ts';

/** §5: of an error's description. */
const ERROR_TOKENS = 10;

const MORE = '…';

type Count = (text: string) => number;

/** `tokens` is the limit of a project's own command, which the table does not know. */
export function answerOf(command: Command, said: Said, countTokens: Count, tokens: number | null = null): string {
  if (said.kind === 'form') return said.text;
  const limit = smartLimit(command.limit, { ...said.situation, ...(said.kind === 'error' ? { isError: true } : {}) });
  const asked: Command = { ...command, limit };
  if (said.kind === 'error') {
    const room = limitFor(asked, ERROR_TOKENS);
    const words = shortest(said.description, room, countTokens);
    const line = errorReply(said.code, words, { tokens: room, countTokens });
    return [line, ...(said.candidates ?? []).map((each) => `• ${each}`)].join('\n');
  }
  const budget = tokens === null ? budgetFor(asked) : { kind: 'text' as const, tokens: limitFor(asked, tokens) };
  if (said.kind === 'list') {
    if (said.items.length === 0) return 'none';
    const { from = 1 } = command;
    if (from > said.items.length) return errorReply('E002', `expected from=1 to from=${said.items.length}`);
    const next = said.next ?? ((first: number) => writeCommand({ ...command, from: first }));
    // Where there is no room for a bullet with a word, it is still seen that there is something.
    if (budget.kind === 'list') return bullets(said.items, { ...budget, countTokens, from, next }) || MORE;
    const words = said.items.join('; ');
    return budget.kind === 'exempt' ? words : fitText(words, budget.tokens, countTokens);
  }
  if (budget.kind === 'exempt') return said.text;
  const room = budget.kind === 'text' ? budget.tokens : (budget.totalTokens ?? budget.tokensPerItem * budget.maxItems);
  return fitText(said.text, room, countTokens) || 'none';
}

/**
 * Of a sentence that says what was expected and what came, as much as there is room for: all of it, what was expected, or the bare form
 * of that. One that begins with a name for itself (`max_limit_100: …`) is that name, as the document writes it.
 */
function shortest(description: string, tokens: number, countTokens: Count): string {
  const named = /^([a-z0-9_]+): /.exec(description)?.[1];
  if (named !== undefined) return named;
  const [wanted = ''] = description.split(/, (?:got|and|but|which|nearest) |; /, 1);
  const candidates = [description, wanted, wanted.replace(/^expected /, '')];
  return candidates.find((words) => !exceedsTokens(words, tokens, countTokens)) ?? (candidates.at(-1) as string);
}
