/** Starts the processes of `worker.ts` around one data folder, and looks at what they have seen: never two owners, and no wake-up that was lost. */
import { fork } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../../src/store/open.ts';

export interface WorkerOptions {
  readonly dir: string;
  /** Where the marks and the numbers are. */
  readonly proof: string;
  readonly number: number;
  readonly agents: number;
  readonly locks: number;
  readonly seconds: number;
}

/** One time that somebody had a lock; milliseconds. */
export interface Seen {
  readonly lock: string;
  readonly agent: string;
  /** When it first asked, and when it had it. */
  readonly since: number;
  readonly from: number;
  /** When it gave it back, and when that was answered. */
  readonly to: number;
  readonly freed: number;
  readonly hasWaited: boolean;
}

export interface Outcome {
  readonly turns: number;
  readonly waits: number;
  readonly problems: readonly string[];
  /** The longest time that a lock was free while somebody waited for it, and how long one wait took at most; milliseconds. */
  readonly longestFree: number;
  readonly longestWait: number;
}

interface Told {
  readonly seen?: readonly Seen[];
  readonly problems?: readonly string[];
  readonly counts?: Readonly<Record<string, number>>;
  readonly problem?: string;
}

export interface StressOptions {
  readonly script: string;
  readonly processes: number;
  /** In each process. */
  readonly agents: number;
  readonly locks: number;
  readonly seconds: number;
}

export async function stress({ script, processes, agents, locks, seconds }: StressOptions): Promise<Outcome> {
  const root = mkdtempSync(join(tmpdir(), 'baton-locks-'));
  const dir = join(root, '.baton');
  try {
    await (await openStore(dir, { create: true })).close();
    for (let i = 0; i < locks; i++) writeFileSync(join(root, `lock_${i}.count`), '0');
    const told = await Promise.all(
      Array.from({ length: processes }, (_, number) =>
        worker(script, { dir, proof: root, number, agents, locks, seconds }),
      ),
    );
    const seen = told.flatMap((each) => each.seen ?? []);
    const problems = told.flatMap((each) => [...(each.problems ?? []), ...(each.problem ? [each.problem] : [])]);
    for (let i = 0; i < locks; i++) {
      const lock = `lock_${i}`;
      const counted = Number(readFileSync(join(root, `${lock}.count`), 'utf8'));
      const made = told.reduce((sum, { counts = {} }) => sum + (counts[lock] ?? 0), 0);
      if (counted !== made) problems.push(`${lock} was counted to ${counted}, and ${made} times somebody had it`);
    }
    return {
      turns: seen.length,
      waits: seen.filter(({ hasWaited }) => hasWaited).length,
      problems,
      longestFree: Math.max(0, ...freeTimes(seen)),
      longestWait: Math.max(0, ...seen.map(({ since, from }) => from - since)),
    };
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** How long each lock was nobody's while its next owner was there already. */
function freeTimes(seen: readonly Seen[]): number[] {
  const byLock = new Map<string, Seen[]>();
  for (const each of seen) {
    const turns = byLock.get(each.lock);
    if (turns === undefined) byLock.set(each.lock, [each]);
    else turns.push(each);
  }
  return [...byLock.values()].flatMap((turns) => {
    const inOrder = [...turns].sort((a, b) => a.from - b.from);
    return inOrder.slice(1).map(({ from, since }, i) => from - Math.max(since, inOrder[i]?.freed ?? from));
  });
}

function worker(script: string, options: WorkerOptions): Promise<Told> {
  return new Promise((resolve) => {
    const child = fork(script, [JSON.stringify(options)], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let told: Told = { problems: [`process ${options.number} said nothing`] };
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2_000);
    });
    child.on('message', (message: Told) => {
      told = { ...told, ...message };
    });
    child.on('exit', (code) => {
      resolve(code === 0 ? told : { problems: [`process ${options.number} ended with ${code}: ${said}`] });
    });
  });
}
