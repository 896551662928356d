/** A person at a terminal: the real command line on a real pseudo-terminal, which util-linux's `script` makes. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { MAIN } from './baton.ts';

/** Without it nothing can be said of how it is at a terminal. macOS has another `script`. */
export const hasTerminal =
  process.platform === 'linux' &&
  /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '');

export interface Terminal {
  /** As keys are pressed. */
  type(keys: string): void;
  /** Until what has come since the last look fits; that part is what it answers. */
  shows(pattern: RegExp): Promise<string>;
  /** All that came. */
  all(): string;
  readonly ended: Promise<number | null>;
}

export const KEYS = { enter: '\r', tab: '\t', up: '\x1b[A', ctrlC: '\x03', ctrlD: '\x04' } as const;

const open = new Set<ChildProcess>();

/** For afterEach. */
export function closeTerminals(): void {
  for (const child of open) child.kill('SIGKILL');
  open.clear();
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;

export function openTerminal(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Terminal {
  const command = [process.execPath, MAIN, ...args].map(quoted).join(' ');
  const child = spawn('script', ['-qefc', `exec ${command}`, '/dev/null'], {
    cwd,
    env: {
      ...process.env,
      TERM: 'xterm',
      SHELL: '/bin/sh',
      FORCE_COLOR: undefined,
      NO_COLOR: undefined,
      BATON_DIR: undefined,
      ...env,
    },
  });
  open.add(child);
  let out = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const ended = new Promise<number | null>((resolve) => {
    child.on('close', (code) => {
      open.delete(child);
      resolve(code);
    });
  });
  return {
    type: (keys) => void child.stdin.write(keys),
    all: () => out,
    ended,
    async shows(pattern) {
      for (const end = Date.now() + 20_000; !pattern.test(out.slice(seen)); await sleep(20)) {
        if (Date.now() > end) throw new Error(`expected ${pattern}, got ${JSON.stringify(out.slice(seen))}`);
      }
      const part = out.slice(seen);
      const found = pattern.exec(part);
      seen += (found?.index ?? 0) + (found?.[0].length ?? 0);
      return part;
    },
  };
}
