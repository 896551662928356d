/** The writer in a thread of its own, so that whoever decides does not wait for the disk. */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { realDisk } from '../disk.ts';
import { applyJobs, type Job, type JobResult } from './writer.ts';

export interface TreeWorker {
  /** One batch after another. Rejects where the thread dies; after that, jobs are done right here. */
  apply(jobs: readonly Job[]): Promise<JobResult[]>;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

export interface ToThread {
  readonly number: number;
  readonly jobs: readonly Job[];
}

export type FromThread =
  | { readonly number: number; readonly results: JobResult[] }
  | { readonly number: number; readonly error: Error };

/** Beside this file in the library; beside the command line in its bundle, of which this file is a part or a chunk. */
const PLACES = ['./worker-main.js', '../worker-main.js'];

/** Null where the program runs from its sources. */
const findThread = (): URL | null =>
  PLACES.map((place) => new URL(place, import.meta.url)).find((url) => existsSync(fileURLToPath(url))) ?? null;

export function createTreeWorker(root: string, thread: URL | null = findThread()): TreeWorker {
  return thread === null ? inline(root) : threaded(root, thread);
}

const inline = (root: string): TreeWorker => ({
  apply: async (jobs) => applyJobs(realDisk, root, jobs),
  close: async () => {},
});

interface Waiting {
  resolve(results: JobResult[]): void;
  reject(cause: Error): void;
}

function threaded(root: string, url: URL): TreeWorker {
  const worker = new Worker(url, { workerData: { root } });
  const waiting = new Map<number, Waiting>();
  const idle: (() => void)[] = [];
  let last = 0;
  let isGone = false;

  /** An idle thread keeps no program from ending. */
  const done = (number: number): Waiting | undefined => {
    const found = waiting.get(number);
    waiting.delete(number);
    if (waiting.size === 0) {
      worker.unref();
      for (const resolve of idle.splice(0)) resolve();
    }
    return found;
  };

  const die = (cause: Error): void => {
    isGone = true;
    for (const number of [...waiting.keys()]) done(number)?.reject(cause);
  };

  worker.unref();
  worker.on('message', (message: FromThread) => {
    if ('error' in message) done(message.number)?.reject(message.error);
    else done(message.number)?.resolve(message.results);
  });
  worker.on('error', die);
  worker.on('exit', () => die(new Error('the thread that writes the task files has ended')));

  return {
    apply(jobs) {
      if (isGone) return inline(root).apply(jobs);
      return new Promise((resolve, reject) => {
        const number = ++last;
        waiting.set(number, { resolve, reject });
        worker.ref();
        worker.postMessage({ number, jobs } satisfies ToThread);
      });
    },
    async close() {
      if (waiting.size > 0) await new Promise<void>((resolve) => idle.push(resolve));
      isGone = true;
      await worker.terminate();
    },
  };
}
