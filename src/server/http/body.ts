/** What a request brings, in bounded memory, and read as strictly as it is kept. */
import type * as z from 'zod';
import { BatonError } from '../../core/errors.ts';
import { quote } from '../../protocol/text/quote.ts';

/** What a message may be. */
export const MOST_BODY = 10 * 1024 * 1024;

export async function bodyBytes(request: Request, most = MOST_BODY): Promise<Uint8Array> {
  if (Number(request.headers.get('content-length') ?? 0) > most) throw tooLong(most);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of request.body ?? []) {
    length += part.length;
    if (length > most) throw tooLong(most);
    parts.push(part);
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

const tooLong = (most: number): BatonError =>
  new BatonError('E_CONTEXT_OVERFLOW', `expected a body of at most ${most} bytes, got more`);

/** What is kept is kept as it is: what is not UTF-8 is refused, and not replaced. */
export async function bodyText(request: Request): Promise<string> {
  const bytes = await bodyBytes(request);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new BatonError('E_INVALID_UTF8', 'expected UTF-8 in the body, got other bytes');
  }
}

export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BatonError('E_PARSE_FAILURE', `expected JSON in the body, got ${text === '' ? 'nothing' : quote(text)}`);
  }
}

/** The first thing that does not fit is what is said. */
export function fitting<T extends z.ZodType>(schema: T, value: unknown, where: string): z.output<T> {
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const path = issue?.path.map((key) => `/${String(key)}`).join('') ?? '';
  throw new BatonError(
    'E_SCHEMA_VALIDATION',
    `the ${where} is not valid${path === '' ? '' : ` at ${path}`}: ${issue?.message ?? ''}`,
  );
}
