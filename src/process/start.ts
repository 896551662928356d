/** Starts a program in a process group and session of its own, with streams, an exit and an end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { BatonError } from '../core/errors.ts';
import { carries, markEntry } from './census.ts';
import { endNow, endTree, type Tree } from './end.ts';
import { statOf } from './identity.ts';
import { hostFor, sandboxCommand, wrappersOf } from './sandbox.ts';
import { NO_STREAMS, type Streams, streamsOf } from './streams.ts';
import { type Ended, type Exit, MARK, type Program, type StartOptions } from './types.ts';
import { type OnEscape, type Watch, watchEscapes } from './watch.ts';
import { notExecutable, whereIs } from './where.ts';

/** Where a program is looked for when its environment has no PATH. */
const DEFAULT_PATH = '/usr/local/bin:/usr/bin:/bin';

const UNWATCHED: Watch = { known: () => [], exited: () => {}, stop: () => {} };

/** What runs now. Whatever ends this process before it has ended these, nothing of them is left. */
const running = new Set<Tree>();
const endAll = (): void => running.forEach(endNow);

function holdUntilEnded(tree: Tree): void {
  if (running.size === 0) process.once('exit', endAll);
  running.add(tree);
}

function letGo(tree: Tree): void {
  running.delete(tree);
  if (running.size === 0) process.off('exit', endAll);
}

export async function startProgram(options: StartOptions): Promise<Program> {
  const { command, cwd, env, mark, sandbox } = options;
  const program = find(options);
  const [name = '', ...args] = command;
  const wrapped = sandbox === null ? null : sandboxCommand(sandbox, [program, ...args], hostFor(cwd, env['PATH']));
  const [file = '', ...argv] = wrapped ?? [program, ...args];

  const startedAt = performance.now();
  const child = await started(() =>
    spawn(file, argv, {
      argv0: wrapped === null ? name : file,
      cwd,
      env: { ...env, [MARK]: mark },
      detached: true,
      stdio: [options.stdin === null ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    }),
  ).catch((cause: unknown) => {
    throw notStarted(cause, name, file, cwd);
  });
  const pid = child.pid as number;
  const told = new Set<number>();
  const onEscape: OnEscape = (escaped, first) => {
    // Who carries the mark is found by it.
    if (told.has(first.pid) || carries(escaped.pid, markEntry(mark))) return;
    told.add(first.pid);
    options.onEscape?.(first);
  };
  const watch = sandbox === null ? watchEscapes({ pid, started: child.started }, onEscape) : UNWATCHED;

  let isExited = false;
  const exited = new Promise<Exit>((settle) => {
    child.process.once('exit', (code, signal) => {
      isExited = true;
      watch.exited();
      settle({ code, signal });
    });
  });

  const { stdin } = child.process;
  // A reader that is gone is no error of ours, and neither is one that never reads.
  stdin?.on('error', () => {});
  if (typeof options.stdin === 'string' && options.stdin !== 'open') stdin?.end(options.stdin);

  const tree: Tree = {
    program: { pid, started: child.started },
    mark,
    streams: sandbox === null ? child.streams : NO_STREAMS,
    startedAt,
    isExited: () => isExited,
    known: () => watch.known(),
    wrappers: sandbox === null ? 0 : wrappersOf(sandbox),
  };
  holdUntilEnded(tree);
  let ended: Promise<Ended> | null = null;
  const end = async (graceMs: number): Promise<Ended> => {
    const result = await endTree(tree, graceMs);
    letGo(tree);
    watch.stop();
    // The system has said that it is gone; whoever asks `exited` after this is to know it too.
    if (!result.left.includes(pid)) await exited;
    stdin?.destroy();
    return result;
  };
  return {
    pid,
    stdout: child.process.stdout as Readable,
    stderr: child.process.stderr as Readable,
    stdin: options.stdin === 'open' ? (stdin as Writable) : null,
    exited,
    end(graceMs) {
      ended ??= end(graceMs);
      return ended;
    },
  };
}

interface Started {
  readonly process: ChildProcess;
  readonly pid: number;
  readonly started: string | null;
  readonly streams: Streams;
}

/** Rejects with what kept the program from starting. */
function started(start: () => ChildProcess): Promise<Started> {
  return new Promise((settle, fail) => {
    const process = start();
    // Nobody has asked after it yet, so even one that ended at once still has its number and its start.
    const started = process.pid === undefined ? null : (statOf(process.pid)?.started ?? null);
    const streams = process.pid === undefined ? NO_STREAMS : streamsOf(process.pid);
    // It stays, for an error that comes later would be thrown at nobody.
    process.on('error', fail);
    process.once('spawn', () => settle({ process, pid: process.pid as number, started, streams }));
  });
}

/** The program's path. What is wrong with it is said before anything is started, for afterwards nobody can tell what was missing. */
function find({ command, cwd, env }: StartOptions): string {
  const name = command[0] ?? '';
  if (name === '') throw new BatonError('E_USAGE', 'expected a command to start, got none', null);
  const hasFolder = name.includes('/');
  // A program named by a path is looked for where it would be started.
  if (hasFolder && !isAbsolute(name)) checkFolder(cwd);
  const path = env['PATH'] ?? DEFAULT_PATH;
  const wanted = hasFolder ? resolve(cwd, name) : name;
  const found = whereIs(wanted, path, cwd);
  if (found === null) {
    const refused = notExecutable(wanted, path, cwd);
    if (refused !== null) {
      throw new BatonError(
        'E_PERMISSION_DENIED',
        `expected to be allowed to run ${name}, but ${refused} is not an executable file`,
        'make it executable, or name another program',
      );
    }
    throw new BatonError(
      'E_AGENT_NOT_FOUND',
      `expected the program ${name}, but there is no such file${hasFolder ? '' : ` in any folder of PATH (${path})`}`,
      'install it, or name it by its path in config.yaml',
    );
  }
  checkFolder(cwd);
  return found;
}

function checkFolder(cwd: string): void {
  const hint = 'make the folder, or name another one';
  const found = lookAt(cwd);
  if (found === null)
    throw new BatonError('E_FILE_NOT_FOUND', `expected the folder ${cwd} to work in; it is not there`, hint);
  if (!found) throw new BatonError('E_FILE_NOT_FOUND', `expected a folder to work in, but ${cwd} is a file`, hint);
  try {
    accessSync(cwd, constants.X_OK);
  } catch {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `expected to be allowed into the folder ${cwd}, which this user is not`,
      null,
    );
  }
}

/** Whether it is a folder; null where nothing is there. */
function lookAt(path: string): boolean | null {
  try {
    return statSync(path).isDirectory();
  } catch {
    return null;
  }
}

function notStarted(cause: unknown, name: string, program: string, cwd: string): BatonError {
  const { code, message } = cause as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      checkFolder(cwd);
      return new BatonError(
        'E_AGENT_NOT_FOUND',
        `expected to start ${name}, but ${program} is gone, or what it is written to be run by is not there`,
        'look at its first line, or install it again',
      );
    case 'EACCES':
    case 'EPERM':
      return new BatonError(
        'E_PERMISSION_DENIED',
        `expected to be allowed to run ${program}, but the system refused`,
        null,
      );
    case 'E2BIG':
      return new BatonError(
        'E_CONTEXT_OVERFLOW',
        `the arguments and environment of ${name} are longer than the system takes`,
        null,
      );
    case 'ERR_INVALID_ARG_VALUE':
      return new BatonError(
        'E_USAGE',
        `expected a command line and environment for ${name} without zero bytes: ${message}`,
        null,
      );
    default:
      return new BatonError(
        'E_PROCESS_CRASH',
        `expected to start ${program}, but the system refused: ${message}`,
        null,
      );
  }
}
