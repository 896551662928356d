/**
 * The real command line, built as a user has it, within the test's own process: its modules are loaded once a file and not once a
 * command. For commands that come to an end by themselves. What is about a process of its own (signals, pipes, who calls, several
 * at once) is tested with `baton` and `startBaton`.
 */
import { createRequire } from 'node:module';
import { Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { type baton, MAIN, NEUTRAL, type Ran } from './baton.ts';

const { nativeImport } = createRequire(import.meta.url)('./native-import.cjs') as {
  nativeImport(url: string): Promise<unknown>;
};

type Call = Parameters<typeof baton>;

let count = 0;
let last: Promise<unknown> = Promise.resolve();

/** One at a time: output, folder and surroundings are the whole process's. */
export function batonHere(...call: Call): Promise<Ran> {
  const ran = last.then(() => runHere(...call));
  last = ran.catch(() => {});
  return ran;
}

async function runHere(...[args, input = '', cwd, env = {}]: Call): Promise<Ran> {
  const before = { cwd: process.cwd(), argv: process.argv, exitCode: process.exitCode, env: { ...process.env } };
  const listeners = SIGNALS.map((signal) => [signal, process.rawListeners(signal)] as const);
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') as PropertyDescriptor;
  const [out, err] = [capture(process.stdout), capture(process.stderr)];
  try {
    if (cwd !== undefined) process.chdir(cwd);
    setEnvironment({ ...before.env, ...NEUTRAL, ...env });
    process.argv = [process.execPath, MAIN, ...args];
    process.exitCode = undefined;
    const stream = Readable.from(input.length === 0 ? [] : [Buffer.from(input)], { objectMode: false });
    Object.defineProperty(process, 'stdin', { ...stdin, get: () => stream });
    // Another address, so that the door is opened anew; what is behind it stays loaded.
    await nativeImport(`${pathToFileURL(MAIN).href}?${++count}`);
    const printed = out.text();
    return {
      exit: Number(process.exitCode ?? 0),
      out: printed,
      err: err.text(),
      json: () => JSON.parse(printed) as Record<string, unknown>,
    };
  } finally {
    out.restore();
    err.restore();
    Object.defineProperty(process, 'stdin', stdin);
    process.argv = before.argv;
    process.exitCode = before.exitCode;
    setEnvironment(before.env);
    process.chdir(before.cwd);
    for (const [signal, had] of listeners) {
      for (const one of process.rawListeners(signal)) {
        if (!had.includes(one)) process.removeListener(signal, one as () => void);
      }
    }
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

function capture(stream: NodeJS.WriteStream): { text(): string; restore(): void } {
  const had = Object.getOwnPropertyDescriptor(stream, 'write');
  const pieces: Buffer[] = [];
  const write = (piece: string | Uint8Array, ...rest: unknown[]): boolean => {
    pieces.push(Buffer.from(piece as string));
    const done = rest.at(-1);
    if (typeof done === 'function') queueMicrotask(done as () => void);
    return true;
  };
  Object.defineProperty(stream, 'write', { value: write, configurable: true, writable: true });
  return {
    text: () => Buffer.concat(pieces).toString('utf8'),
    restore() {
      if (had === undefined) Reflect.deleteProperty(stream, 'write');
      else Object.defineProperty(stream, 'write', had);
    },
  };
}

function setEnvironment(wanted: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) if (wanted[name] === undefined) delete process.env[name];
  for (const [name, value] of Object.entries(wanted)) {
    if (value !== undefined && process.env[name] !== value) process.env[name] = value;
  }
}
