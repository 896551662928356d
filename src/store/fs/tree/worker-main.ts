/** What runs in the thread of `worker.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { realDisk } from '../disk.ts';
import type { FromThread, ToThread } from './worker.ts';
import { applyJobs } from './writer.ts';

const { root } = workerData as { readonly root: string };

parentPort?.on('message', ({ number, jobs }: ToThread) => {
  parentPort?.postMessage(answer(number, jobs));
});

function answer(number: number, jobs: ToThread['jobs']): FromThread {
  try {
    return { number, results: applyJobs(realDisk, root, jobs) };
  } catch (cause) {
    return { number, error: cause instanceof Error ? cause : new Error(String(cause)) };
  }
}
