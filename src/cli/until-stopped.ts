/** For commands that go on: until somebody presses Ctrl-C, closes the terminal or asks the process to end. A second time ends it at once, as ever. */
export function untilStopped(): AbortSignal {
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => stop.abort());
  return stop.signal;
}
