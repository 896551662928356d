/** Waits for something that has to happen. The limit is there for what never happens: a busy machine does not reach it. */
import { setTimeout as sleep } from 'node:timers/promises';

export const PATIENCE_MS = 100_000;

export async function until(what: string, isSo: () => boolean | Promise<boolean>, ms = PATIENCE_MS): Promise<void> {
  for (const end = Date.now() + ms; !(await isSo()); await sleep(20)) {
    if (Date.now() > end) throw new Error(`waited ${ms} ms for: ${what}`);
  }
}
