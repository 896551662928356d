/** Waking those who wait for something to be written. */
export interface Signal {
  raise(): void;
  /** True once `isThere` holds, false when the wait is called off. */
  wait(until: AbortSignal, isThere: () => boolean): Promise<boolean>;
}

export function createSignal(): Signal {
  let waiting: (() => void)[] = [];
  return {
    raise() {
      const woken = waiting;
      waiting = [];
      for (const wake of woken) wake();
    },
    async wait(until, isThere) {
      while (!isThere()) {
        if (until.aborted) return false;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            until.removeEventListener('abort', wake);
            resolve();
          };
          waiting.push(wake);
          until.addEventListener('abort', wake);
        });
      }
      return !until.aborted;
    },
  };
}
