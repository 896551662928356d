/** Requests that do not fit: each is answered, and in one sentence. The SDK drops some without a word, and answers others with all that its schema found. */
import { Transform, type TransformCallback } from 'node:stream';
import type { JSONRPCErrorResponse, JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isFields } from '../../core/fields.ts';

/** Of JSON-RPC. */
const INVALID_PARAMS = -32_602;

/** An error with a list of issues in it says the first of them. */
export function inOneSentence<T extends JSONRPCMessage>(message: T): T {
  if (!('error' in message)) return message;
  const { error } = message;
  const issue = firstIssue(error.message);
  if (issue === null) return message;
  return { ...message, error: { ...error, code: INVALID_PARAMS, message: `the request is not valid${issue}` } };
}

function firstIssue(text: string): string | null {
  const from = text.indexOf('[\n');
  if (from === -1) return null;
  try {
    const [issue]: unknown[] = JSON.parse(text.slice(from));
    if (!isFields(issue) || !Array.isArray(issue['path'])) return null;
    return ` at ${issue['path'].map((key) => `/${String(key)}`).join('')}: ${String(issue['message'])}`;
  } catch {
    // A message that only looks like one.
    return null;
  }
}

/** Passes on what comes in, line by line, but for requests whose `params` are no object: these are answered here. Longer lines than `most` are not looked at. */
export function withoutBadParams(answer: (message: JSONRPCErrorResponse) => void, most: number): Transform {
  let held: Buffer[] = [];
  let length = 0;
  const pass = (into: Transform, line: Buffer): void => {
    const wrong = badParams(line);
    if (wrong === null) into.push(line);
    else answer(wrong);
  };
  return new Transform({
    transform(chunk: Buffer, _: BufferEncoding, done: TransformCallback) {
      let rest = chunk;
      for (let end = rest.indexOf(10); end !== -1; end = rest.indexOf(10)) {
        pass(this, Buffer.concat([...held, rest.subarray(0, end + 1)]));
        [held, length, rest] = [[], 0, rest.subarray(end + 1)];
      }
      held.push(rest);
      length += rest.length;
      if (length > most) {
        this.push(Buffer.concat(held));
        [held, length] = [[], 0];
      }
      done();
    },
    flush(done) {
      done(null, Buffer.concat(held));
    },
  });
}

function badParams(line: Buffer): JSONRPCErrorResponse | null {
  if (!/"params"\s*:\s*[^{\s]/.test(line.toString('latin1'))) return null;
  let request: unknown;
  try {
    request = JSON.parse(line.toString('utf8'));
  } catch {
    // The transport says so.
    return null;
  }
  if (!isFields(request) || !('params' in request) || isFields(request['params'])) return null;
  const { id, params } = request;
  if (typeof id !== 'string' && typeof id !== 'number') return null;
  const got = params === null ? 'null' : Array.isArray(params) ? 'a list' : `a ${typeof params}`;
  const error = {
    code: INVALID_PARAMS,
    message: `the request is not valid at /params: expected an object, got ${got}`,
  };
  return { jsonrpc: '2.0', id, error };
}
