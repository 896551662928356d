/** Cuts a stream into pages, each read only when it is asked for. */

/** Items as the JSON that is sent, so that none is written out twice. */
interface Page {
  readonly items: readonly string[];
  readonly end: boolean;
}

export interface Pages {
  next(): Promise<Page>;
  /** Lets go of the stream. Never fails. */
  stop(): Promise<void>;
}

const MOST_ITEMS = 500;
const MOST_CHARS = 256 * 1024;

const TURN = Symbol('turn');
const turn = (): Promise<typeof TURN> => new Promise((resolve) => setImmediate(resolve, TURN));

/** With `hurry`, a page is sent with what there is: what comes later may be long in coming. */
export function pagesOf(stream: AsyncIterable<unknown>, hurry: boolean): Pages {
  const iterator = stream[Symbol.asyncIterator]();
  let coming: Promise<IteratorResult<unknown>> | null = null;
  return {
    async next() {
      const items: string[] = [];
      for (let chars = 0; items.length < MOST_ITEMS && chars < MOST_CHARS; ) {
        coming ??= iterator.next();
        const result = hurry && items.length > 0 ? await Promise.race([coming, turn()]) : await coming;
        if (result === TURN) break;
        coming = null;
        if (result.done) return { items, end: true };
        const item = JSON.stringify(result.value);
        items.push(item);
        chars += item.length;
      }
      return { items, end: false };
    },
    async stop() {
      try {
        await iterator.return?.();
      } catch {
        // What was still to come is wanted by nobody, and so is its failure.
      }
    },
  };
}
