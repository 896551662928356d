/** The real command line, as a user runs it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Ran {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
  readonly json: () => Record<string, unknown>;
}

/** What the test's own surroundings must not decide. */
export const NEUTRAL = { FORCE_COLOR: undefined, NO_COLOR: undefined, BATON_DIR: undefined };

export function baton(
  args: readonly string[],
  input: string | Uint8Array = '',
  cwd?: string,
  env: NodeJS.ProcessEnv = {},
): Ran {
  const ran = spawnSync(process.execPath, [MAIN, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    ...(cwd ? { cwd } : {}),
    env: { ...process.env, ...NEUTRAL, ...env },
  });
  return {
    exit: ran.status,
    out: ran.stdout,
    err: ran.stderr,
    json: () => JSON.parse(ran.stdout) as Record<string, unknown>,
  };
}

const started = new Set<ChildProcess>();

/** For afterEach: a test that failed must leave nothing running. */
export function stopStarted(): void {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
}

/** One that goes on; its output so far, and a wait for something in it. */
export function startBaton(args: readonly string[], cwd: string) {
  const child = spawn(process.execPath, [MAIN, ...args], { cwd, env: { ...process.env, ...NEUTRAL } });
  started.add(child);
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text));
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      started.delete(child);
      resolve(code);
    });
  });
  return {
    child,
    ended,
    out: () => out,
    err: () => err,
    /** Resolves once the output fits; fails with what there is if the process ends before. */
    printed: (pattern: RegExp): Promise<void> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (pattern.test(out)) resolve();
        };
        child.stdout.on('data', look);
        child.on('close', () => reject(new Error(`it ended without ${pattern}: ${out}${err}`)));
        look();
      }),
  };
}

export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/documents/${name}`, import.meta.url));
