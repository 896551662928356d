/**
 * Long answers, made as fast as they are read: the next piece is asked for when the one before is out. Whoever does not read has one piece of
 * ours and what the system holds for him, and is sent away after a while.
 */
interface StreamOptions {
  readonly type: string;
  /** How long one piece may wait for its reader. */
  readonly stallMs: number;
  /** Ends the connection; a stream that merely stops would wait for the same reader. */
  cutOff(): void;
  /** Told when nobody reads any more, whatever the reason. */
  onEnd?(): void;
}

export const STALL_MS = 30_000;

export function streamed(pieces: AsyncIterator<string | Uint8Array>, options: StreamOptions): Response {
  const encoder = new TextEncoder();
  let stall: NodeJS.Timeout | undefined;
  let isOver = false;
  const over = async (): Promise<void> => {
    clearTimeout(stall);
    if (isOver) return;
    isOver = true;
    options.onEnd?.();
    await pieces.return?.();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(stall);
        let next: IteratorResult<string | Uint8Array>;
        try {
          next = await pieces.next();
        } catch (cause) {
          // The answer has begun, so its end is all that can be said; a cut connection is not taken for a whole answer.
          await over();
          options.cutOff();
          throw cause;
        }
        if (isOver) return;
        if (next.done === true) {
          await over();
          controller.close();
          return;
        }
        const { value } = next;
        controller.enqueue(typeof value === 'string' ? encoder.encode(value) : value);
        stall = setTimeout(() => {
          void over();
          options.cutOff();
        }, options.stallMs);
        stall.unref();
      },
      cancel: over,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, {
    headers: { 'content-type': options.type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' },
  });
}
