/** Takes secrets out of what is kept or shown. */

export const REDACTED = '[redacted]';

export function redact(text: string): string {
  return text;
}

/** The same value with every text in it redacted, keys too. */
export function redactDeep<T>(value: T): T {
  return value;
}
