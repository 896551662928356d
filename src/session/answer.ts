/** What a command says, within its limits (shared agent protocol §5, §14). */
import {
  budgetFor,
  bullets,
  type Command,
  errorReply,
  fitText,
  limitFor,
  smartLimit,
} from '../protocol/command/index.ts';
import type { Said } from './call.ts';

/** §5: of an error's description. */
const ERROR_TOKENS = 10;

export function answerOf(command: Command, said: Said, countTokens: (text: string) => number): string {
  if (said.kind === 'form') return said.text;
  const limit = smartLimit(command.limit, { ...said.situation, ...(said.kind === 'error' ? { isError: true } : {}) });
  const asked: Command = { ...command, limit };
  if (said.kind === 'error') {
    return errorReply(said.code, said.description, { tokens: limitFor(asked, ERROR_TOKENS), countTokens });
  }
  const budget = budgetFor(asked);
  if (said.kind === 'list') {
    if (said.items.length === 0) return 'none';
    if (budget.kind === 'list') return bullets(said.items, { ...budget, countTokens });
    const words = said.items.join('; ');
    return budget.kind === 'exempt' ? words : fitText(words, budget.tokens, countTokens);
  }
  if (budget.kind === 'exempt') return said.text;
  const tokens =
    budget.kind === 'text' ? budget.tokens : (budget.totalTokens ?? budget.tokensPerItem * budget.maxItems);
  return fitText(said.text, tokens, countTokens) || 'none';
}
