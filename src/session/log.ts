/** Every command of a session, as it was given and what came of it: `[timestamp] [command] [result] [duration]` (issue of the language; DECISIONS §10). */
import { appendFile, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';

export interface LogLine {
  readonly at: number;
  readonly command: string;
  readonly result: string;
  readonly ms: number;
}

/** A file a session, whatever characters its name has. */
export const logOf = (dir: string, session: string): string =>
  join(dir, 'logs', 'sessions', `${session.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 100) || '_'}.log`);

const MOST_CHARS = 1_000;

/** On one line, and nothing in it that a terminal would act upon. */
const plain = (text: string): string => {
  const line = [...text.slice(0, MOST_CHARS)].map((char) => (char < ' ' || char === '\u007f' ? escaped(char) : char));
  return line.join('') + (text.length > MOST_CHARS ? '…' : '');
};

const escaped = (char: string): string =>
  char === '\n' ? '\\n' : `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;

export const lineOf = ({ at, command, result, ms }: LogLine): string =>
  `[${new Date(at).toISOString()}] [${plain(command)}] [${plain(result)}] [${Math.round(ms)}ms]\n`;

/** Written one after the other, in the order in which they are given. */
export function createSessionLog(
  dir: string | null,
  warn: (text: string) => void,
): {
  add(session: string, line: LogLine): void;
  written(): Promise<void>;
} {
  let last: Promise<void> = Promise.resolve();
  return {
    add(session, line) {
      if (dir === null) return;
      const path = logOf(dir, session);
      last = last.then(async () => {
        try {
          await appendFile(path, lineOf(line));
        } catch (cause) {
          if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') return warn(`the session's log: ${String(cause)}`);
          await mkdir(dirname(path), { recursive: true });
          await appendFile(path, lineOf(line)).catch((again: unknown) => warn(`the session's log: ${String(again)}`));
        }
      });
    },
    written: () => last,
  };
}

const TAIL_BYTES = 64 * 1024;

/** The results of the last commands, oldest first. */
export async function lastResults(dir: string | null, session: string, count: number): Promise<readonly string[]> {
  if (dir === null) return [];
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(logOf(dir, session));
  } catch {
    // Nothing was ever said in it.
    return [];
  }
  try {
    const { size } = await file.stat();
    const length = Math.min(size, TAIL_BYTES);
    const bytes = Buffer.alloc(length);
    await file.read(bytes, 0, length, size - length);
    const lines = bytes
      .toString('utf8')
      .split('\n')
      .filter((line) => /^\[.*ms\]$/.test(line));
    return lines
      .slice(-count)
      .map((line) => line.slice(line.lastIndexOf('] [', line.lastIndexOf('] [') - 1) + 3, line.lastIndexOf('] [')));
  } finally {
    await file.close();
  }
}
