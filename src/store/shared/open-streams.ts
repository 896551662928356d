/** The streams that one client has open at the owner's end. A page is read when it is asked for, and not before. */
import type { Pages } from './pages.ts';
import { pagesOf } from './pages.ts';
import type { StreamQuery } from './streams.ts';
import { doesFollow } from './streams.ts';
import type { Peer } from './wire.ts';
import { checkedLine } from './wire.ts';

interface OpenStreams {
  open(n: number, query: StreamQuery): void;
  /** False where there is no such stream, or its last page is still being read. */
  next(n: number): boolean;
  stop(n: number): Promise<void>;
  stopAll(): Promise<void>;
}

interface OpenStream {
  readonly pages: Pages;
  readonly stopping: AbortController;
  isBusy: boolean;
}

export function openStreams(
  owner: Peer,
  say: (line: string) => void,
  sayError: (n: number, cause: unknown) => void,
): OpenStreams {
  const streams = new Map<number, OpenStream>();

  const stop = async (n: number): Promise<void> => {
    const stream = streams.get(n);
    streams.delete(n);
    stream?.stopping.abort();
    await stream?.pages.stop();
  };

  const sendPage = async (n: number, stream: OpenStream): Promise<void> => {
    const { signal } = stream.stopping;
    stream.isBusy = true;
    try {
      const { items, end } = await stream.pages.next();
      // One that was told to stop ends early, which must not look like its end.
      if (signal.aborted) return;
      if (end) streams.delete(n);
      say(checkedLine(`{"n":${n},"page":[${items.join(',')}],"end":${end}}`, 'a page'));
    } catch (cause) {
      if (signal.aborted) return;
      sayError(n, cause);
      await stop(n);
    } finally {
      stream.isBusy = false;
    }
  };

  return {
    open(n, query) {
      void stop(n); // a number used again begins anew
      const stopping = new AbortController();
      try {
        const pages = pagesOf(owner.stream(query, stopping.signal), doesFollow(query));
        const stream = { pages, stopping, isBusy: false };
        streams.set(n, stream);
        void sendPage(n, stream);
      } catch (cause) {
        sayError(n, cause);
      }
    },
    next(n) {
      const stream = streams.get(n);
      if (stream === undefined || stream.isBusy) return false;
      void sendPage(n, stream);
      return true;
    },
    stop,
    async stopAll() {
      await Promise.all([...streams.keys()].map(stop));
    },
  };
}
