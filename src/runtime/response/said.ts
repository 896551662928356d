/** What of an agent's RESPONSE acts beyond its report: the error that it names, what it says that it cost, and what its guard rails make of it. */
import { type ErrorCode, isErrorCode } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import type { Amount } from '../../core/laws/messages.ts';
import type { Report } from '../../core/report.ts';
import { type GuardRails, type ResponseMessage, reportUnder } from '../../protocol/aop2/index.ts';
import type { Message } from '../../protocol/message.ts';
import { shorten } from '../../protocol/text/shorten.ts';

/** The RESPONSE that a message is; null where it is another message, or none that could be read. */
export const responseIn = (message: Message | null): ResponseMessage | null =>
  message !== null && message.dialect === 'aop2' && message.kind === 'RESPONSE' && message.valid
    ? (message.value as ResponseMessage)
    : null;

/** A report as the guard rails of its task read it. */
export function asRailsSay(report: Report, message: Message, rails: GuardRails): Report {
  const response = responseIn(message);
  return response === null ? report : reportUnder(report, response, rails);
}

export interface SaidError {
  readonly code: ErrorCode;
  readonly message: string;
}

const REASON_CHARS = 1_000;

/** The error that a RESPONSE names; a code that is none of the table is E_UNKNOWN, and stays in the sentence. Null where it names none. */
export function errorIn(message: Message | null): SaidError | null {
  const said = responseIn(message)?.error_details;
  if (typeof said === 'string' && said.trim() !== '')
    return { code: 'E_UNKNOWN', message: shorten(said, REASON_CHARS) };
  if (!isFields(said)) return null;
  const code = typeof said['code'] === 'string' ? said['code'].trim() : '';
  const words = typeof said['message'] === 'string' ? said['message'].trim() : '';
  if (code === '' && words === '') return null;
  if (isErrorCode(code)) return { code, message: shorten(words || `the agent says ${code}`, REASON_CHARS) };
  return { code: 'E_UNKNOWN', message: shorten([code, words].filter((text) => text !== '').join(': '), REASON_CHARS) };
}

/** What an agent says that it used. */
export interface SaidCost {
  readonly usd: number | null;
  readonly tokensInput: number;
  readonly tokensOutput: number;
  /** The dollars are its own estimate. */
  readonly estimated: boolean;
}

/** What a report says that it cost: `actual_cost_usd`, else `estimated_cost_usd`, and the tokens. Null where it says nothing of it. */
export function costIn(message: Message | null, report: Report): SaidCost | null {
  const { usd = null, tokensInput = null, tokensOutput = null } = report.cost ?? {};
  const estimate = responseIn(message)?.cost_tracking?.estimated_cost_usd ?? null;
  if (usd === null && estimate === null && tokensInput === null && tokensOutput === null) return null;
  return {
    usd: usd ?? estimate,
    tokensInput: tokensInput ?? 0,
    tokensOutput: tokensOutput ?? 0,
    estimated: usd === null && estimate !== null,
  };
}

/** As the store takes it. */
export const amountOf = ({ usd, tokensInput, tokensOutput }: Omit<SaidCost, 'estimated'>): Amount => ({
  ...(usd === null ? {} : { usd }),
  tokensInput,
  tokensOutput,
});
