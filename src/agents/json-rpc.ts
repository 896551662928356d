/**
 * JSON-RPC 2.0, a message a line, for one side of a conversation that is fed with bytes. It answers within the call that feeds it,
 * so that nothing is still on its way when the program is gone. The official SDK of ACP reads through streams and promises, and
 * what a program said last would come after its end.
 */
import { at, parseObject, textOf } from './json.ts';
import { lineSplitter } from './lines.ts';

type RpcId = string | number | null;

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

export type RpcAnswer =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: RpcError };

const METHOD_NOT_FOUND = -32_601;

/** In bytes; a line longer than a message may be is skipped. */
const MOST_LINE = 10 * 1024 * 1024;

interface RpcHandlers {
  /** Writes one line. */
  say(line: string): void;
  /** What the other side asks. Null is answered with "method not found". */
  asked(method: string, params: unknown): { readonly result: unknown } | null;
  told(method: string, params: unknown): void;
  /** A piece of a line that is too long to be read. */
  dropped(): void;
}

interface RpcPeer {
  request(method: string, params: unknown, answered: (answer: RpcAnswer) => void): void;
  feed(chunk: Uint8Array): void;
  /** No more bytes will come; a last line without its end is read. */
  finish(): void;
}

export function createRpcPeer(handlers: RpcHandlers): RpcPeer {
  const waiting = new Map<RpcId, (answer: RpcAnswer) => void>();
  let nextId = 1;

  const send = (message: object): void => handlers.say(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  const answer = (id: RpcId, method: string, params: unknown): void => {
    const said = handlers.asked(method, params);
    if (said !== null) send({ id, result: said.result });
    else send({ id, error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } });
  };

  const take = (line: string): void => {
    const message = parseObject(line);
    // Programs print all sorts of things between their messages.
    if (message === null) return;
    const { id, method, params } = message;
    if (typeof method === 'string') return isId(id) ? answer(id, method, params) : handlers.told(method, params);
    const answered = isId(id) ? waiting.get(id) : undefined;
    if (answered === undefined) return;
    waiting.delete(id as RpcId);
    const error = message['error'];
    answered(error == null ? { ok: true, result: message['result'] } : { ok: false, error: errorOf(error) });
  };

  const lines = lineSplitter({ line: take, dropped: () => handlers.dropped() }, MOST_LINE);

  return {
    request(method, params, answered) {
      const id = nextId++;
      waiting.set(id, answered);
      send({ id, method, params });
    },
    feed: lines.push,
    finish: lines.end,
  };
}

const isId = (id: unknown): id is RpcId => typeof id === 'string' || typeof id === 'number' || id === null;

const errorOf = (error: unknown): RpcError => ({
  code: typeof at(error, 'code') === 'number' ? (at(error, 'code') as number) : 0,
  message: textOf(at(error, 'message')) ?? jsonOf(error),
  data: at(error, 'data'),
});

/** Whatever came, as text. What is nested so deep that it cannot be written was meant to harm. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? 'nothing';
  } catch {
    // Deeper than the stack.
    return 'JSON that is nested too deep';
  }
}
