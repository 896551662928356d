/** Waiting that can be told to stop: for a time, for a bell, for what was promised. */
import { setMaxListeners } from 'node:events';

/** A timer that is set further ahead fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Ends early, and without an error, when it is told to stop, or by what `onBegun` is given. */
function wait(ms: number, signal: AbortSignal | undefined, onBegun: (end: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, Math.min(ms, LONGEST_TIMER_MS));
    signal?.addEventListener('abort', end);
    onBegun(end);
  });
}

/** Ends early, and without an error, when it is told to stop. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> => wait(ms, signal, () => {});

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

interface Bell {
  ring(): void;
  /** Forgets that it has rung. */
  quiet(): void;
  /** Until it rings, unless it has rung already or is told to stop; at most so long. */
  wait(ms: number): Promise<void>;
}

/** One waits, others ring. It is silent for good when it is told to stop. */
export function createBell(stop: AbortSignal): Bell {
  let hasRung = false;
  let wake = (): void => {};
  return {
    ring() {
      hasRung = true;
      wake();
    },
    quiet() {
      hasRung = false;
    },
    async wait(ms) {
      if (!hasRung) {
        await wait(ms, stop, (end) => {
          wake = end;
        });
      }
    },
  };
}

/** What was promised; null where it did not come in time, or before it was told to stop. */
export async function within<T>(promise: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | null> {
  const came = new AbortController();
  const { signal: over, letGo } = anyOf(signal === undefined ? [came.signal] : [signal, came.signal]);
  try {
    return await Promise.race([promise, pause(ms, over).then(() => null)]);
  } finally {
    came.abort();
    letGo();
  }
}
