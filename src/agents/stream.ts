/** What the readers of all programs with a JSON stream share: lines, signs of life, the last words, and an exit that explains itself. */
import type { AgentSign, Reader, ReaderContext } from './adapter.ts';
import type { Failure } from './failures.ts';
import { type Json, parseObject } from './json.ts';
import { lineSplitter } from './lines.ts';
import { tailOf } from './tail.ts';

interface StreamHandlers {
  /** One event of standard output. */
  event(event: Json): void;
  /** One line of standard error. */
  complaint?(line: string): void;
  /** Why it went in peace, but without its terminal event, where that is known. */
  unfinished?(): Failure | null;
}

interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** How a program ended, in words. */
export const exitWords = ({ code, signal }: Exit): string =>
  signal === null ? `ended with code ${code ?? 'unknown'}` : `was ended by ${signal}`;

/** A reader of one JSON object a line; `handlers` gets the way to emit signs. */
export function streamReader(
  context: ReaderContext,
  program: string,
  handlers: (emit: (sign: AgentSign) => void) => StreamHandlers,
): Reader {
  let signs = 0;
  let hasEnded = false;
  let hasFailed = false;
  const emit = (sign: AgentSign): void => {
    signs++;
    if (sign.kind === 'end') hasEnded = true;
    if (sign.kind === 'error') hasFailed = true;
    context.emit(sign);
  };
  const on = handlers(emit);
  const ignore = (): void => {};
  const stdout = lineSplitter({
    line: (text) => {
      const event = parseObject(text);
      if (event !== null) on.event(event);
    },
    dropped: ignore,
  });
  const stderr = lineSplitter({ line: (text) => on.complaint?.(text), dropped: ignore });
  const tail = tailOf();

  /** Bytes are a sign of life, whatever is in them: one a chunk where they said nothing else. */
  const living = (read: () => void): void => {
    const before = signs;
    read();
    if (signs === before) emit({ kind: 'alive' });
  };

  const lastWords = (): string => {
    const said = tail.text();
    return said === '' ? '' : `; the last it said: ${said}`;
  };

  return {
    stdout: (chunk) => living(() => stdout.push(chunk)),
    stderr: (chunk) =>
      living(() => {
        tail.push(chunk);
        stderr.push(chunk);
      }),
    end(exit) {
      stdout.end();
      stderr.end();
      if (hasFailed) return;
      if (exit.code !== 0) {
        emit({ kind: 'error', code: 'E_PROCESS_CRASH', message: `${program} ${exitWords(exit)}${lastWords()}` });
      } else if (!hasEnded) {
        const known = on.unfinished?.() ?? null;
        const message = `${program} ended with code 0, but without the event that ends a turn${lastWords()}`;
        emit({ kind: 'error', ...(known ?? { code: 'E_PROCESS_CRASH', message }) });
      }
    },
  };
}
