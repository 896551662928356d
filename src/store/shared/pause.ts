/** Waiting that can be told to stop. */
import { setMaxListeners } from 'node:events';

/** Ends early, and without an error, when it is told to stop. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}

/** Says stop when one of these does, until it is let go. AbortSignal.any would leave something behind in the one that lives longest. */
export function anyOf(signals: readonly AbortSignal[]): { readonly signal: AbortSignal; readonly letGo: () => void } {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const signal of signals) {
    setMaxListeners(0, signal); // many streams may have one signal, and each lets go of it
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  }
  return {
    signal: controller.signal,
    letGo: () => {
      for (const signal of signals) signal.removeEventListener('abort', abort);
    },
  };
}
