/** What goes wrong, as HTTP says it: `{"error":{code,message,hint}}`, with the status of the error's table entry. */
import type { IncomingMessage } from 'node:http';
import { BatonError, ERRORS, type ErrorCode, messageOf } from '../../core/errors.ts';
import type { Refusal } from '../../core/laws/decision.ts';
import { stripControls } from '../../protocol/text/clean.ts';

/** Codes that are mere warnings elsewhere still refuse here. */
const statusOf = (code: ErrorCode): number => Math.max(ERRORS[code].http, 400);

export function problem({ code, message, hint }: Pick<Refusal, 'code' | 'message' | 'hint'>): Response {
  const error = { code, message: stripControls(message), hint: hint === null ? null : stripControls(hint) };
  return json({ error }, statusOf(code), code === 'E_CREDENTIALS' ? { 'www-authenticate': 'Bearer' } : {});
}

/** What is not ours to tell stays inside; `warn` hears it. */
export function problemOf(cause: unknown, warn: (text: string) => void): Response {
  if (cause instanceof BatonError) return problem(cause);
  warn(`HTTP: ${messageOf(cause)}`);
  return problem({
    code: 'E_UNKNOWN',
    message: 'something went wrong inside Baton; its own output says what',
    hint: null,
  });
}

/** Nobody hears it; it is counted. */
export const CUT: Refusal = { code: 'E_PARSE_FAILURE', message: 'expected a whole request, got a part', hint: null };

/** Whether a client went away in the middle of its request: that is no error of ours. */
export const isCut = (incoming: IncomingMessage | undefined, cause: unknown): boolean =>
  incoming?.complete === false && (cause as NodeJS.ErrnoException | undefined)?.code === 'ECONNRESET';

export const refusal = ({ code, message, hint }: Refusal): BatonError => new BatonError(code, message, hint);

export const json = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Response =>
  new Response(`${JSON.stringify(value)}\n`, {
    status,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers },
  });
