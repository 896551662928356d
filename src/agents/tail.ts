/** The last that a program said on its standard error, bounded: what stands in the message when it ends badly. */
import { stripControls } from '../protocol/text/clean.ts';

const MAX_TAIL = 2048;

interface Tail {
  push(chunk: Uint8Array): void;
  text(): string;
}

export function tailOf(max: number = MAX_TAIL): Tail {
  let kept = Buffer.alloc(0);
  let isCut = false;
  return {
    push(chunk) {
      const last = chunk.length > max ? chunk.subarray(chunk.length - max) : chunk;
      const joined = Buffer.concat([kept, last]);
      isCut ||= last.length < chunk.length || joined.length > max;
      kept = joined.length > max ? Buffer.from(joined.subarray(joined.length - max)) : joined;
    },
    text() {
      const text = kept.toString('utf8');
      // What was cut begins in the middle of a line, and maybe of a character.
      const whole = isCut && text.includes('\n') ? text.slice(text.indexOf('\n') + 1) : text;
      return stripControls(whole).trim();
    },
  };
}
