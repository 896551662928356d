/** Standard input and output, files, and how a command ends. The only place that prints. */
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { BatonError, ERRORS, type ExitCode, isMissing, isOutOfFiles, messageOf, RAISE_LIMIT } from '../core/errors.ts';
import { stripControls } from '../protocol/text/clean.ts';

/** What is to be ended in order when nobody reads any more. */
const unread: (() => void)[] = [];
export const whenUnread = (stop: () => void): void => void unread.push(stop);

let isUnread = false;
/** A reader that goes away early (`baton check | head`), or with its terminal, is no error of ours. */
process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
  if (isUnread) return;
  isUnread = true;
  if (cause.code !== 'EPIPE' && cause.code !== 'EIO')
    fail(new BatonError('E_UNKNOWN', `standard output could not be written: ${cause.message}`), false);
  if (unread.length === 0) process.exit();
  for (const stop of unread) stop();
});
// What is noted is for whoever looks on; that nobody does ends no work.
process.stderr.on('error', () => {});

export const print = (text: string): void => void process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
export const printJson = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);

/** A piece of a long answer. Waits where the reader is slower than we are, so that nothing piles up in memory. */
async function write(text: string): Promise<void> {
  if (!process.stdout.write(text)) await once(process.stdout, 'drain');
}

/** Gathers small pieces into writes of a sensible size. */
export function createWriter(): { write(text: string): Promise<void>; end(): Promise<void> } {
  let held = '';
  const flush = async (): Promise<void> => {
    const text = held;
    held = '';
    if (text !== '') await write(text);
  };
  return {
    async write(text) {
      held += text;
      if (held.length >= 65_536) await flush();
    },
    end: flush,
  };
}

export const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** What the laws say no to ends with 3, whatever its code means elsewhere, but for wrong input (1) and what is not there (4). */
export class Refused extends BatonError {
  get exit(): ExitCode {
    const { exit } = ERRORS[this.code];
    return exit === 4 || this.code === 'E_SCHEMA_VALIDATION' ? exit : 3;
  }
}

const unforeseen = (cause: unknown): BatonError =>
  isOutOfFiles(cause)
    ? new BatonError('E_OPEN_FILES', `this process may open no more files: ${messageOf(cause)}`, RAISE_LIMIT)
    : (cause as NodeJS.ErrnoException | null)?.syscall === 'uv_cwd'
      ? new BatonError('E_FILE_NOT_FOUND', 'the folder that this is run in is not there any more', 'go to one that is')
      : new BatonError('E_UNKNOWN', messageOf(cause));

/** One sentence and a hint on stderr, never a stack trace; the exit code is that of the error's table entry. */
export function fail(cause: unknown, json: boolean): void {
  const failure = cause instanceof BatonError ? cause : unforeseen(cause);
  process.exitCode = failure instanceof Refused ? failure.exit : ERRORS[failure.code].exit;
  const { code } = failure;
  const message = stripControls(failure.message);
  const hint = failure.hint === null ? null : stripControls(failure.hint);
  if (json) note(JSON.stringify({ error: { code, message, hint } }));
  else note(`baton: ${message} (${code})${hint === null ? '' : `\n  ${hint}`}`);
}

export const STDIN = '-';

/** The bytes of a file, or of standard input for `-`. Big files come in pieces. */
export async function* readInput(file: string): AsyncGenerator<Uint8Array> {
  if (file === STDIN) {
    if (process.stdin.isTTY) {
      throw new BatonError(
        'E_USAGE',
        'expected a FILE or text on standard input, got a terminal',
        'try: baton check FILE',
      );
    }
    yield* process.stdin;
    return;
  }
  const found = await stat(file).catch((cause: NodeJS.ErrnoException) => {
    throw fileError(file, cause);
  });
  if (found.isDirectory()) throw new BatonError('E_USAGE', `expected a file, got the folder ${file}`);
  try {
    yield* createReadStream(file);
  } catch (cause) {
    throw fileError(file, cause as NodeJS.ErrnoException);
  }
}

/** A text that is kept is kept as it is: what is not UTF-8 is refused, and not replaced. */
export async function readExactText(file: string): Promise<string> {
  try {
    return await readText(file, new TextDecoder('utf-8', { fatal: true }));
  } catch (cause) {
    if (!(cause instanceof TypeError)) throw cause;
    throw new BatonError(
      'E_INVALID_UTF8',
      `expected UTF-8 in ${file === STDIN ? 'standard input' : file}, got other bytes`,
    );
  }
}

/** As much as can be sent to whoever owns the data folder. */
const MOST_BYTES = 64 * 1024 * 1024;

export async function readText(
  file: string,
  decoder: InstanceType<typeof TextDecoder> = new TextDecoder(),
): Promise<string> {
  let text = '';
  let bytes = 0;
  for await (const chunk of readInput(file)) {
    bytes += chunk.length;
    if (bytes > MOST_BYTES) {
      const where = file === STDIN ? 'on standard input' : `in ${file}`;
      throw new BatonError('E_CONTEXT_OVERFLOW', `expected at most ${MOST_BYTES} bytes, got more ${where}`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function fileError(file: string, cause: NodeJS.ErrnoException): BatonError {
  if (isMissing(cause)) return new BatonError('E_FILE_NOT_FOUND', `there is no file ${file}`);
  if (cause.code === 'EACCES' || cause.code === 'EPERM') {
    return new BatonError('E_PERMISSION_DENIED', `the file ${file} may not be read`);
  }
  return new BatonError('E_UNKNOWN', `the file ${file} could not be read: ${cause.message}`);
}
