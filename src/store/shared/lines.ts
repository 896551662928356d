/** Bytes to lines, with a bound: a line that is too long is skipped to its end, and told. */
interface LineHandler {
  line(text: string): void;
  /** Once for each line over the limit, when the limit is passed. */
  tooLong(): void;
}

/** Takes chunks as they come. */
export function lineReader(limit: number, handler: LineHandler): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let isSkipping = false;

  const keep = (part: Buffer): void => {
    if (isSkipping) return;
    length += part.length;
    if (length > limit) {
      parts = [];
      isSkipping = true;
      handler.tooLong();
    } else {
      parts.push(part);
    }
  };

  return (chunk) => {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      keep(chunk.subarray(from, end));
      from = end + 1;
      const line = isSkipping ? null : Buffer.concat(parts, length).toString('utf8');
      parts = [];
      length = 0;
      isSkipping = false;
      if (line !== null && line.trim() !== '') handler.line(line);
    }
    if (from < chunk.length) keep(chunk.subarray(from));
  };
}
