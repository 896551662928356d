/** The real command line, as a user runs it. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));

export interface Ran {
  readonly exit: number | null;
  readonly out: string;
  readonly err: string;
  readonly json: () => Record<string, unknown>;
}

export function baton(args: readonly string[], input: string | Uint8Array = '', cwd?: string): Ran {
  const ran = spawnSync(process.execPath, [MAIN, ...args], {
    input,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    ...(cwd ? { cwd } : {}),
    env: { ...process.env, FORCE_COLOR: undefined },
  });
  return {
    exit: ran.status,
    out: ran.stdout,
    err: ran.stderr,
    json: () => JSON.parse(ran.stdout) as Record<string, unknown>,
  };
}

export const fixture = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/documents/${name}`, import.meta.url));
