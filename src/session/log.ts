/** Every command of a session, as it was given and what came of it: `[timestamp] [command] [result] [duration]`. */
import { hash } from 'node:crypto';
import { appendFile, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { redact } from '../core/redact.ts';
import { isoTime } from '../core/time.ts';

interface LogLine {
  readonly at: number;
  readonly command: string;
  readonly result: string;
  readonly ms: number;
}

/** A file a session, whatever characters its name has; a name that cannot be one as it is has a mark of its own. */
export function logOf(dir: string, session: string): string {
  const name = session.replace(/[^A-Za-z0-9_.-]/g, '_').slice(0, 100);
  const isWhole = name === session && /^[A-Za-z0-9_]/.test(name);
  const mark = isWhole ? '' : `~${hash('sha256', session, 'hex').slice(0, 8)}`;
  return join(dir, 'logs', 'sessions', `${name}${mark}.log`);
}

const MOST_CHARS = 1_000;

/** What would end a line, move a cursor, or turn the direction of what is read. */
const UNSAFE = /[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;

/** On one line, without secrets, and nothing in it that a terminal would act upon or that looks like the next field. */
const plain = (text: string): string => {
  // First: what is left of a secret that was cut is not known for one.
  const clean = redact(text);
  const line = clean.slice(0, MOST_CHARS).replace(UNSAFE, escaped).replaceAll('] [', ']\\x20[');
  return line + (clean.length > MOST_CHARS ? '…' : '');
};

const escaped = (char: string): string => {
  if (char === '\n') return '\\n';
  const code = char.charCodeAt(0).toString(16);
  return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`;
};

const lineOf = ({ at, command, result, ms }: LogLine): string =>
  `[${isoTime(at)}] [${plain(command)}] [${plain(result)}] [${Math.round(ms)}ms]\n`;

interface SessionLog {
  add(session: string, line: LogLine): void;
  /** Until all that was added is in its file. */
  written(): Promise<void>;
}

/** In the order in which they are given. What comes while something is written goes together in the next write. */
export function createSessionLog(dir: string | null, warn: (text: string) => void): SessionLog {
  if (dir === null) return { add: () => {}, written: async () => {} };
  const waiting = new Map<string, string>();
  let last: Promise<void> = Promise.resolve();
  /** The write that has not begun, and takes whatever is added until then. */
  let next: Promise<void> | null = null;

  const append = async (path: string, text: string): Promise<void> => {
    try {
      await appendFile(path, text, { mode: 0o600 });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw cause;
      await mkdir(dirname(path), { recursive: true });
      await appendFile(path, text, { mode: 0o600 });
    }
  };
  const writeAll = async (): Promise<void> => {
    const all = [...waiting];
    waiting.clear();
    next = null;
    for (const [path, text] of all) {
      // A log that cannot be written must not keep a command from its answer; it is said.
      await append(path, text).catch((cause: unknown) => warn(`the session's log: ${String(cause)}`));
    }
  };
  return {
    add(session, line) {
      const path = logOf(dir, session);
      waiting.set(path, (waiting.get(path) ?? '') + lineOf(line));
    },
    written() {
      if (waiting.size === 0) return last;
      if (next === null) {
        next = last.then(writeAll);
        last = next;
      }
      return next;
    },
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
