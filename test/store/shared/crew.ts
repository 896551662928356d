/** Real processes around one data folder: built once, started, told what to do, killed. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { until } from '../../helpers/until.ts';
import type { WorkerOptions } from './worker.ts';

export interface Worker {
  readonly process: ChildProcess;
  readonly roles: string[];
  readonly acked: string[];
  readonly seqs: number[];
  readonly failures: { readonly code: string | null; readonly message: string; readonly hint: string | null }[];
  readonly told: Set<string>;
  isGone: boolean;
  order(name: 'add' | 'load' | 'rest' | 'follow' | 'close', argument?: string): void;
  /** kill -9, and waits until it is dead. */
  kill(): Promise<void>;
}

export interface Folder {
  readonly dir: string;
  readonly file: string;
  readonly runtimeDir: string;
}

const made: string[] = [];
const started: Worker[] = [];

export function newFolder(): Folder {
  const root = mkdtempSync(join(tmpdir(), 'baton-shared-'));
  made.push(root);
  return { dir: root, file: join(root, 'records.jsonl'), runtimeDir: join(root, 'run') };
}

let script: Promise<string> | null = null;

/** Node 20 runs no TypeScript. */
async function buildScript(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'baton-worker-'));
  made.push(folder);
  chmodSync(folder, 0o755); // a test runs it as another user
  const outfile = join(folder, 'worker.mjs');
  const entryPoints = [join(import.meta.dirname, 'worker.ts')];
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'node20.19' });
  return outfile;
}

export const workerScript = (): Promise<string> => {
  script ??= buildScript();
  return script;
};

export interface StartOptions extends Partial<WorkerOptions> {
  /** A program and its arguments to run Node with. */
  readonly under?: readonly string[];
  readonly uid?: number;
  readonly env?: Readonly<Record<string, string>>;
}

export async function start(folder: Partial<Folder>, { under, uid, env, ...more }: StartOptions = {}): Promise<Worker> {
  const path = await workerScript();
  const argument = JSON.stringify({ ...folder, ...more });
  const [program, ...args] = [...(under ?? []), process.execPath];
  const child = fork(path, [argument], {
    execPath: program ?? process.execPath,
    execArgv: args,
    ...(uid === undefined ? {} : { uid }),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const worker: Worker = {
    process: child,
    roles: [],
    acked: [],
    seqs: [],
    failures: [],
    told: new Set(),
    isGone: false,
    // One that is gone hears nothing; the test sees what that leads to.
    order: (...order) => void child.send(order, () => {}),
    async kill() {
      child.kill('SIGKILL');
      await until('the process is dead', () => worker.isGone);
    },
  };
  child.on('message', (message: Record<string, unknown>) => {
    if (typeof message['role'] === 'string') worker.roles.push(message['role']);
    else if (typeof message['acked'] === 'string') worker.acked.push(message['acked']);
    else if (typeof message['seq'] === 'number') worker.seqs.push(message['seq']);
    else if (message['failed']) worker.failures.push(message['failed'] as Worker['failures'][number]);
    else for (const key of Object.keys(message)) worker.told.add(key);
  });
  child.on('close', () => {
    worker.isGone = true;
  });
  started.push(worker);
  return worker;
}

export const isOwner = (worker: Worker): boolean => !worker.isGone && worker.roles.at(-1) === 'owner';

export { until };

/** After each test: no process and no file of it is left. */
export async function cleanUp(): Promise<void> {
  for (const worker of started.splice(0)) if (!worker.isGone) await worker.kill();
}

export function removeFolders(): void {
  for (const folder of made.splice(0)) rmSync(folder, { recursive: true, force: true });
}
