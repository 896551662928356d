/** For tests with real processes: folders of their own, programs that sleep under a name that can be found again. */
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach } from 'vitest';
import { isDead, statOf } from '../../src/process/identity.ts';
import { startProgram } from '../../src/process/start.ts';
import type { Program, SandboxSpec, StartOptions } from '../../src/process/types.ts';

const folders: string[] = [];
const programs: Program[] = [];

afterEach(async () => {
  await Promise.all(programs.splice(0).map((program) => program.end(0)));
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

export function newFolder(name = 'baton process '): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), name)));
  folders.push(folder);
  return folder;
}

let last = 0;
/** So many seconds that no other process sleeps as long. */
export const newSleep = (): string =>
  `${5000 + (process.pid % 1000)}.${Date.now() % 1e6}${String(++last).padStart(3, '0')}`;

export const newMark = (): string => `test-${process.pid}-${++last}`;

export const ENV = { PATH: process.env['PATH'] ?? '/usr/bin:/bin', HOME: '/root' };

export async function start(options: Partial<StartOptions> & Pick<StartOptions, 'command'>): Promise<Program> {
  const program = await startProgram({
    cwd: tmpdir(),
    env: ENV,
    stdin: null,
    mark: newMark(),
    sandbox: null,
    ...options,
  });
  programs.push(program);
  return program;
}

export const sh = (script: string, options: Partial<StartOptions> = {}): Promise<Program> =>
  start({ command: ['sh', '-c', script], ...options });

/** The processes with this text in their command line. */
export function withText(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = statOf(pid);
        return stat !== null && !isDead(stat) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        // It ended between the list and the look.
        return false;
      }
    });
}

export { until } from '../helpers/until.ts';

export async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}

export const boxed = (folder: string, more: Partial<SandboxSpec> = {}): SandboxSpec => ({
  readPaths: [],
  writePaths: [folder],
  binds: [],
  hide: [],
  network: 'none',
  home: '/home/nobody',
  ...more,
});
