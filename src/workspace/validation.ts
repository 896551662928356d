/**
 * A validation command, run by us: what an agent says of its own tests is no evidence. The whole output goes to a file, its beginning
 * and its end into the answer.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import type { startProgram } from '../process/start.ts';
import type { Exit, Program, SandboxSpec } from '../process/types.ts';
import { within } from '../process/waiting.ts';
import { whereIs } from '../process/where.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { resolveIn } from './paths.ts';

type Expects = 'EXIT_CODE_0' | 'MATCH_FOUND' | 'NO_MATCH' | 'FILE_EXISTS';

export interface Check {
  readonly command?: string | undefined;
  readonly expects?: Expects | undefined;
  /** The artifact that is validated, where there is one. */
  readonly path?: string | undefined;
}

interface How {
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
  readonly mark: string;
  readonly sandbox: SandboxSpec | null;
  readonly timeoutMs: number;
  /** Gets all that the command prints. */
  readonly outputFile: string;
  readonly start: typeof startProgram;
  /** Ends the command before its time: nobody wants the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

export interface Verdict {
  readonly status: 'PASS' | 'FAIL';
  /** Null where no command ran, or it ended by a signal. */
  readonly exitCode: number | null;
  readonly output: string;
  readonly reason: string;
  readonly timedOut: boolean;
}

export const OUTPUT_CHARS = 2000;
/** What is kept of an endless output. */
const OUTPUT_FILE_BYTES = 64 * 1024 * 1024;
const GRACE_MS = 2000;
/** After the end of all processes there is nobody left who holds a stream; should one be held, it is not waited for. */
const DRAIN_MS = 2000;

/** Runs a check. A command that can't be started is a FAIL too; only what is wrong with us throws. */
export async function validate(check: Check, how: How): Promise<Verdict> {
  const expects = check.expects ?? (check.command === undefined ? 'FILE_EXISTS' : 'EXIT_CODE_0');
  if (expects === 'FILE_EXISTS') return validateFile(check, how);
  if (check.command === undefined) return told('FAIL', `${expects} needs a command, and there is none`);
  const ran = await run(check.command, how);
  return { ...judge(expects, ran), ...ran.seen };
}

const told = (status: Verdict['status'], reason: string): Verdict => ({
  status,
  exitCode: null,
  output: '',
  reason,
  timedOut: false,
});

/** A command beside FILE_EXISTS has to succeed as well, unless it is no command but the name of the file. */
async function validateFile({ command, path }: Check, how: How): Promise<Verdict> {
  const named = command !== undefined && isName(command, path, how) ? command : undefined;
  const file = path ?? named;
  if (command !== undefined && named === undefined) {
    const ran = await run(command, how);
    const verdict = judge('EXIT_CODE_0', ran);
    if (verdict.status === 'FAIL' || file === undefined) return { ...verdict, ...ran.seen };
    return { ...(await judgeFile(how.workspace, file)), ...ran.seen };
  }
  if (file === undefined) return told('FAIL', 'FILE_EXISTS needs a path or a command, and there is neither');
  return { ...told('PASS', ''), ...(await judgeFile(how.workspace, file)) };
}

/**
 * Whether what stands in the place of a command is the name of a file. That is told by how it is written: what is there by now was made by
 * whom we check.
 */
function isName(command: string, path: string | undefined, { workspace, env }: How): boolean {
  if (path !== undefined) return resolve(workspace, command) === resolve(workspace, path);
  return (
    /^[^\s;&|<>()$`"'*?#~!{}\\]+$/.test(command) &&
    !/^\.\.?\//.test(command) &&
    whereIs(command, env['PATH'], workspace) === null
  );
}

type Judged = Pick<Verdict, 'status' | 'reason'>;

async function judgeFile(workspace: string, path: string): Promise<Judged> {
  const state = await fileState(workspace, path);
  return state === 'full'
    ? { status: 'PASS', reason: `${path} exists and is not empty` }
    : { status: 'FAIL', reason: state === 'empty' ? `${path} exists but is empty` : `${path} does not exist` };
}

async function fileState(workspace: string, path: string): Promise<'missing' | 'empty' | 'full'> {
  try {
    const real = await resolveIn(workspace, path);
    const found = await stat(real);
    const size = found.isDirectory() ? (await readdir(real)).length : found.size;
    return size > 0 ? 'full' : 'empty';
  } catch {
    // Whatever the reason, nothing can be shown to be there.
    return 'missing';
  }
}

interface Ran {
  readonly seen: Pick<Verdict, 'exitCode' | 'output' | 'timedOut'>;
  /** Why it did not run to its end; null where it did. */
  readonly failed: string | null;
  readonly saidOut: boolean;
  readonly saidErr: boolean;
}

function judge(expects: Exclude<Expects, 'FILE_EXISTS'>, { seen, failed, saidOut, saidErr }: Ran): Judged {
  if (failed !== null) return { status: 'FAIL', reason: failed };
  const code = seen.exitCode;
  const pass = (reason: string): Judged => ({ status: 'PASS', reason });
  const fail = (reason: string): Judged => ({ status: 'FAIL', reason });
  if (expects === 'EXIT_CODE_0') return code === 0 ? pass('exit code 0') : fail(`exit code ${code}, expected 0`);
  if (expects === 'MATCH_FOUND') {
    if (code !== 0) return fail(`exit code ${code}, expected a match and exit code 0`);
    return saidOut ? pass('exit code 0 and something was found') : fail('it printed nothing, expected a match');
  }
  if (saidOut) return fail('it printed something, expected no match');
  if (code === 0) return pass('exit code 0 and nothing was found');
  if (code !== 1) return fail(`exit code ${code}, expected no match (exit code 0 or 1)`);
  return saidErr ? fail('exit code 1 with an error printed: it failed, it did not search') : pass('nothing was found');
}

async function run(command: string, how: How): Promise<Ran> {
  const excerpt = openExcerpt();
  let program: Program;
  try {
    await mkdir(dirname(how.outputFile), { recursive: true });
    program = await how.start({
      command: ['/bin/sh', '-c', command],
      cwd: how.workspace,
      env: how.env,
      stdin: null,
      mark: how.mark,
      sandbox: how.sandbox,
    });
  } catch (cause) {
    const failed = `the command could not be started: ${(cause as Error).message}`;
    return { seen: { exitCode: null, output: '', timedOut: false }, failed, saidOut: false, saidErr: false };
  }
  const file = createWriteStream(how.outputFile, { mode: 0o600 });
  let fileFailure: Error | null = null;
  file.on('error', (cause) => {
    fileFailure = cause;
  });
  let written = 0;
  const said = { stdout: false, stderr: false };
  const streams = (['stdout', 'stderr'] as const).map((name) => {
    const stream = program[name];
    stream.on('data', (chunk: Buffer) => {
      said[name] ||= /\S/.test(chunk.toString('latin1'));
      excerpt.add(name, chunk);
      const room = OUTPUT_FILE_BYTES - written;
      if (room <= 0 || fileFailure !== null) return;
      written += chunk.length;
      // The program waits for the disk: else all that it prints would be kept in memory.
      if (!file.write(room < chunk.length ? chunk.subarray(0, room) : chunk)) pauseFor(stream, file);
    });
    // A broken pipe at its end is an end.
    return finished(stream, { cleanup: true }).catch(() => undefined);
  });
  const exit = await within(program.exited, how.timeoutMs, how.signal);
  const ended = await program.end(exit === null ? GRACE_MS : 0);
  await within(Promise.all(streams), DRAIN_MS);
  for (const stream of [program.stdout, program.stderr]) stream.destroy();
  if (written >= OUTPUT_FILE_BYTES && fileFailure === null) file.write('\n[the rest was not kept]\n');
  file.end();
  await finished(file).catch(() => undefined);
  const seen = { exitCode: exit?.code ?? null, output: excerpt.text(), timedOut: exit === null };
  const failed = how.signal?.aborted
    ? 'the command was ended because its run was'
    : whyFailed(exit, how.timeoutMs, ended.left, fileFailure);
  return { seen, failed, saidOut: said.stdout, saidErr: said.stderr };
}

function whyFailed(exit: Exit | null, timeoutMs: number, left: readonly number[], file: Error | null): string | null {
  if (exit === null) {
    const rest = left.length === 0 ? '' : ` (still alive: ${left.join(', ')})`;
    return `E_TIMEOUT: the command did not end within ${timeoutMs / 1000} s and was ended with all it had started${rest}`;
  }
  if (exit.code === null) return `the command was ended by the signal ${exit.signal ?? 'unknown'}`;
  return file === null ? null : `its output could not be kept: ${file.message}`;
}

function pauseFor(stream: NodeJS.ReadableStream, file: NodeJS.WritableStream): void {
  stream.pause();
  const goOn = (): void => {
    file.removeListener('drain', goOn).removeListener('close', goOn);
    stream.resume();
  };
  file.once('drain', goOn).once('close', goOn);
}

interface Excerpt {
  add(name: 'stdout' | 'stderr', chunk: Buffer): void;
  text(): string;
}

/** The beginning and the end of what is printed, in the order in which it came. */
function openExcerpt(): Excerpt {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') };
  // Twice as much as is told: control characters are taken out in the end.
  const room = OUTPUT_CHARS * 2;
  let head = '';
  let tail = '';
  let dropped = false;
  return {
    add(name, chunk) {
      const text = decoders[name].write(chunk);
      const fits = room - head.length;
      head += text.slice(0, fits);
      const more = tail + text.slice(fits);
      tail = more.slice(-room);
      dropped ||= more.length > room;
    },
    text() {
      const all = stripControls(head) + (dropped ? '\0' : '') + stripControls(tail);
      if (!dropped && all.length <= OUTPUT_CHARS) return all;
      const half = OUTPUT_CHARS / 2 - 10;
      return `${all.slice(0, half)}\n[…]\n${all.slice(-half)}`.replace('\0', '…');
    },
  };
}
