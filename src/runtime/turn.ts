/** One turn of an agent: started, listened to, and ended with everything it started, whatever happens. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import type { AgentSign, ProgramAdapter, RemoteAdapter, TurnRequest } from '../agents/adapter.ts';
import { BatonError, type ErrorCode } from '../core/errors.ts';
import { type ProcessMark, statOf } from '../process/identity.ts';
import { startProgram } from '../process/start.ts';
import type { Ended, Exit, Program } from '../process/types.ts';
import { within } from '../process/waiting.ts';
import { storeFailure } from '../store/fs/failures.ts';
import type { RunLog, Stream } from './log.ts';
import type { Surroundings } from './surroundings.ts';

export interface TurnEnd {
  readonly exit: Exit | null;
  /** The agent's own last event; null where it was cut off, or has none. */
  readonly end: Extract<AgentSign, { kind: 'end' }> | null;
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  readonly ended: Ended | null;
}

interface TurnOptions {
  readonly request: TurnRequest;
  readonly log: RunLog;
  /** Stops the turn; why is the caller's business. */
  readonly signal: AbortSignal;
  onSign(sign: AgentSign): void;
}

interface ProgramTurn extends TurnOptions {
  readonly adapter: ProgramAdapter;
  readonly surroundings: Surroundings;
  /** BATON_… and whatever else this turn has in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Told of the program, and of what it started that can be known by nothing else. */
  onProcess?(found: ProcessMark): void;
  /** The program itself has gone; what it left has not, perhaps. */
  onExit?(): void;
}

/** Between SIGTERM and SIGKILL. */
export const GRACE_MS = 5_000;
/** How long a program may stay after it said that it has finished. */
const LINGER_MS = 3_000;
/** How long to wait for the end of output once nothing of the run is alive any more. */
const DRAIN_MS = 2_000;

export async function programTurn(options: ProgramTurn): Promise<TurnEnd> {
  const { adapter, request, surroundings, log, signal, env } = options;
  const launch = adapter.launch(request);
  for (const { path, content } of launch.files) {
    await mkdir(dirname(path), { recursive: true });
    // Made anew each time: what an agent without a sandbox put there in its last turn is not followed.
    await rm(path, { recursive: true, force: true });
    await writeFile(path, content, { mode: 0o600, flag: 'wx' });
  }
  const program = await startProgram({
    command: launch.command,
    cwd: request.workspace,
    env: { ...surroundings.environment(launch), ...env },
    stdin: launch.stdin,
    mark: surroundings.mark,
    sandbox: surroundings.sandbox,
    onEscape: (escaped) => options.onProcess?.(escaped),
  });
  options.onProcess?.({ pid: program.pid, started: statOf(program.pid)?.started ?? null });
  const told = createEar(options.onSign);
  const reader = adapter.reader({
    request,
    emit: told.emit,
    say: (text) => void program.stdin?.write(text),
    hangUp: () => void program.stdin?.end(),
  });
  let unlogged: unknown = null;
  /** What cannot be written down is not let happen: this run ends, and no other. */
  const orEnd = (cause: unknown): void => {
    unlogged ??= cause;
    void program.end(GRACE_MS);
  };
  const pumps = [
    pump(program.stdout, 'out', log, (chunk) => reader.stdout(chunk)).catch(orEnd),
    pump(program.stderr, 'err', log, (chunk) => reader.stderr(chunk)).catch(orEnd),
  ];
  const exit = await untilOver(program, told, signal);
  options.onExit?.();
  // Also after an exit by itself: what it left running goes with it.
  const ended = await program.end(GRACE_MS);
  await drained(program, pumps);
  if (unlogged !== null && !isOurDoing(unlogged)) throw storeFailure(unlogged, log.paths.out);
  reader.end(exit);
  return { exit, end: told.end, error: told.error, ended };
}

/** Until it has gone by itself, or was told to. */
async function untilOver(program: Program, told: Ear, signal: AbortSignal): Promise<Exit> {
  const letGo: (() => void)[] = [];
  const aborted = new Promise<void>((resolve) => {
    const stop = (): void => resolve();
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    letGo.push(() => signal.removeEventListener('abort', stop));
  });
  const lingering = told.finished.then(
    () =>
      new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, LINGER_MS);
        letGo.push(() => clearTimeout(timer));
      }),
  );
  await Promise.race([program.exited, aborted, lingering]);
  for (const release of letGo) release();
  let gone = false;
  void program.exited.then(() => {
    gone = true;
  });
  await Promise.resolve();
  if (!gone) await program.end(GRACE_MS);
  return program.exited;
}

async function pump(stream: Readable, name: Stream, log: RunLog, take: (chunk: Uint8Array) => void): Promise<void> {
  for await (const chunk of stream) {
    take(chunk as Uint8Array);
    await log.write(name, chunk as Uint8Array);
  }
}

/** Something of another run, or of nobody, may hold the pipe open for ever; we do not wait for that. */
async function drained(program: Program, pumps: readonly Promise<void>[]): Promise<void> {
  const all = Promise.all(pumps);
  if ((await within(all, DRAIN_MS)) === null) {
    program.stdout.destroy();
    program.stderr.destroy();
  }
  await all;
}

/** A stream that we destroyed ourselves ends early, and that is what we wanted. */
const isOurDoing = (cause: unknown): boolean => (cause as NodeJS.ErrnoException).code === 'ERR_STREAM_PREMATURE_CLOSE';

interface Ear {
  emit(sign: AgentSign): void;
  readonly end: Extract<AgentSign, { kind: 'end' }> | null;
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
  readonly finished: Promise<void>;
}

function createEar(onSign: (sign: AgentSign) => void): Ear {
  let end: Extract<AgentSign, { kind: 'end' }> | null = null;
  let error: { code: ErrorCode; message: string } | null = null;
  let finish = (): void => {};
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return {
    emit(sign) {
      if (sign.kind === 'end') {
        end = sign;
        finish();
      }
      if (sign.kind === 'error') error = { code: sign.code, message: sign.message };
      onSign(sign);
    },
    get end() {
      return end;
    },
    get error() {
      return error;
    },
    finished,
  };
}

/** A turn of an agent that is not a program here. What it says is logged as it is heard. */
export async function remoteTurn(options: TurnOptions & { readonly adapter: RemoteAdapter }): Promise<TurnEnd> {
  const { adapter, request, log, signal, onSign } = options;
  const writes: Promise<void>[] = [];
  const told = createEar((sign) => {
    if (sign.kind === 'text') {
      const written = log.write('out', Buffer.from(sign.text));
      // Waited for at the end; a failure before that is not lost.
      written.catch(() => {});
      writes.push(written);
    }
    onSign(sign);
  });
  await adapter.call(request, { emit: told.emit, fetch, signal });
  try {
    await Promise.all(writes);
  } catch (cause) {
    throw storeFailure(cause, log.paths.out);
  }
  return { exit: null, end: told.end, error: told.error, ended: null };
}

/** Why a turn did not do its work; null where it did. */
export function turnFailure(adapter: ProgramAdapter | RemoteAdapter, turn: TurnEnd): BatonError | null {
  const { exit, end, error } = turn;
  if (end?.ok === true && (exit === null || exit.code === 0 || exit.code === null)) return null;
  if (end?.ok === true && adapter.hasEnd) return null;
  if (error !== null) return new BatonError(error.code, error.message);
  if (end !== null && !end.ok) return new BatonError('E_PROCESS_CRASH', `the agent ended its turn: ${end.reason}`);
  if (exit !== null && exit.code !== 0) {
    const how = exit.signal === null ? `with exit code ${exit.code}` : `by ${exit.signal}`;
    return new BatonError('E_PROCESS_CRASH', `the agent's process ended ${how}`);
  }
  if (adapter.hasEnd && end === null) {
    return new BatonError(
      'E_PROCESS_CRASH',
      "the agent's process ended without the last event of its turn: it was cut off",
    );
  }
  return null;
}
