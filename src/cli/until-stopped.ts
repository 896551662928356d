/**
 * For commands that go on: until somebody presses Ctrl-C, closes the terminal or asks the process to end. A second time ends it at once, and
 * what it has started with it.
 */
import { constants } from 'node:os';
import { note, whenUnread } from './io.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** @param ending said to whoever stops it, where that may take a while; such a command stops in order where nobody reads it any more, too */
export function untilStopped(ending?: string): AbortSignal {
  const stop = new AbortController();
  for (const signal of SIGNALS) {
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(128 + constants.signals[signal]);
      stop.abort(signal);
      if (ending !== undefined) note(`baton: ${ending}; once more ends it at once`);
    });
  }
  if (ending !== undefined) whenUnread(() => stop.abort());
  return stop.signal;
}

/** The exit code of a command that was stopped: 130 after Ctrl-C. @param otherwise where it was asked to end in another way */
export const stoppedCode = ({ reason }: AbortSignal, otherwise: 0 | 1): number =>
  reason === 'SIGINT' ? 128 + constants.signals.SIGINT : otherwise;

export const ENDING_RUNS = 'what runs is being ended';
