/** Chunks of text → lines, whatever the line ends (LF, CRLF, CR), with a bound on what is held of a line that does not end. */
import { BLANK, glance, MAYBE } from './openers.ts';

/** The longest message of any dialect (aof: 10 MB). */
export const MAX_MESSAGE = 10 * 1024 * 1024;

/** What is held of a line or of a value: a message, and room for what stands before it on its line. */
export const MAX_LINE = MAX_MESSAGE + 4096;

export interface LineSink {
  /** Whether the sink wants every line as text; else only those that may begin something. */
  readonly wantsAll: boolean;
  /** A line without its line feed; a carriage return before that is still there, since some limits count bytes as received. */
  line(line: string, number: number, cut: boolean): void;
  /** A line that is not blank, begins nothing and was not sent. */
  passed(): void;
}

interface LineCutter {
  feed(text: string): void;
  end(): void;
}

export function createLineCutter(sink: LineSink): LineCutter {
  let number = 0;
  /** The beginning of a line whose end has not come yet. */
  let carry = '';
  /** A carriage return at the end of a chunk: half of a CRLF, or a line end of its own. */
  let heldReturn = false;
  /** The line was cut at its bound; what comes up to its end is dropped. */
  let skipping = false;
  let begun = false;

  const send = (line: string): void => {
    if (line.length > MAX_LINE) sink.line(line.slice(0, MAX_LINE), number, true);
    else sink.line(line, number, false);
  };

  const hold = (text: string): void => {
    if (skipping) return;
    carry += text;
    if (carry.length <= MAX_LINE) return;
    number++;
    send(carry);
    carry = '';
    skipping = true;
  };

  const finishLine = (rest: string): void => {
    if (skipping) skipping = false;
    else {
      const line = carry + rest;
      carry = '';
      number++;
      send(line);
    }
  };

  return {
    feed(chunk) {
      let text = heldReturn ? `\r${chunk}` : chunk;
      if (text === '') return;
      heldReturn = text.endsWith('\r');
      if (heldReturn) text = text.slice(0, -1);
      if (!begun && text !== '') {
        begun = true;
        if (text.charCodeAt(0) === 0xfeff) text = text.slice(1);
      }
      if (text.includes('\r')) text = text.replace(/\r(?!\n)/g, '\n');
      let start = 0;
      let newline = text.indexOf('\n');
      if (newline >= 0 && (carry !== '' || skipping)) {
        finishLine(text.slice(0, newline));
        start = newline + 1;
        newline = text.indexOf('\n', start);
      }
      // What the sink wants can change only by what it was sent.
      let all = sink.wantsAll;
      for (; newline >= 0; newline = text.indexOf('\n', start)) {
        number++;
        const kind = all ? MAYBE : glance(text, start, newline);
        if (kind === MAYBE) {
          send(text.slice(start, newline));
          all = sink.wantsAll;
        } else if (kind !== BLANK) sink.passed();
        start = newline + 1;
      }
      if (start < text.length) hold(text.slice(start));
    },
    end() {
      // A held return ends the line it stands in; so does the end of the text.
      if (carry !== '' || heldReturn) finishLine('');
      heldReturn = false;
    },
  };
}
