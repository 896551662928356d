/** Bytes to lines, with a bound: of a line over the limit nothing is kept, and each piece of it is told as a sign of life. */

/** What a line of a program's output may weigh. */
const MAX_LINE = 4 * 1024 * 1024;

/** What is kept between two lines; a long line does not hold its memory for ever. */
const SMALL = 64 * 1024;

interface LineHandler {
  /** A line without its end; UTF-8 that is broken is replaced. */
  line(text: string): void;
  /** Some of a line over the limit was thrown away. */
  dropped(): void;
}

interface LineSplitter {
  push(chunk: Uint8Array): void;
  /** No more comes: what stands there is a line too. */
  end(): void;
}

/** Takes chunks as they come, cut anywhere. Each byte is copied a bounded number of times. */
export function lineSplitter(handler: LineHandler, limit: number = MAX_LINE): LineSplitter {
  let kept = Buffer.allocUnsafe(0);
  let length = 0;
  let isDropping = false;

  const keep = (part: Uint8Array): void => {
    if (!isDropping && length + part.length > limit) {
      isDropping = true;
      kept = Buffer.allocUnsafe(0);
      length = 0;
    }
    if (isDropping) {
      handler.dropped();
      return;
    }
    if (length + part.length > kept.length) {
      const grown = Buffer.allocUnsafe(Math.max(1024, kept.length * 2, length + part.length));
      kept.copy(grown, 0, 0, length);
      kept = grown;
    }
    kept.set(part, length);
    length += part.length;
  };

  const finish = (): void => {
    const wasDropped = isDropping;
    const end = length > 0 && kept[length - 1] === 13 ? length - 1 : length;
    const text = wasDropped ? '' : kept.toString('utf8', 0, end);
    isDropping = false;
    length = 0;
    if (kept.length > SMALL) kept = Buffer.allocUnsafe(0);
    if (!wasDropped) handler.line(text);
  };

  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
        if (at > from) keep(chunk.subarray(from, at));
        finish();
        from = at + 1;
      }
      if (from < chunk.length) keep(chunk.subarray(from));
    },
    end() {
      if (length > 0 || isDropping) finish();
    },
  };
}
