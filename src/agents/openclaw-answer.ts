/**
 * What a gateway's answer to a tool says. The tool's own answer may stand in it in several ways (in `result`, in `result.details`, as JSON
 * in the text of `result.content[]`), so it is looked for, breadth first and within bounds. A 200 may hold a failure.
 */
import type { ErrorCode } from '../core/errors.ts';
import { ownerOf } from '../protocol/dialects.ts';
import { type Json, objectOf, parseObject, textOf } from './json.ts';
import { jsonOf } from './json-rpc.ts';
import { brief } from './words.ts';

interface Answer {
  readonly failure: { readonly code: ErrorCode; readonly message: string } | null;
  /** The session that was begun. */
  readonly conversation: string | null;
  /** What the work came to, where the answer holds it. */
  readonly result: string | null;
  /** What else it says. */
  readonly aside: string | null;
  /** It says that the work has begun, even if not where. */
  readonly isAccepted: boolean;
}

const MOST_DEPTH = 8;
const MOST_LAYERS = 1000;

/** Where the tool's answer may stand. What lies elsewhere is the work's, not the gateway's. */
const WITHIN = ['result', 'details', 'data', 'response', 'payload', 'output', 'content', 'session'] as const;

/** The child's before the caller's: some answers name both. */
const SESSIONS = [
  'childSessionKey',
  'child_session_key',
  'childSessionId',
  'child_session_id',
  'sessionId',
  'session_id',
  'sessionKey',
  'session_key',
] as const;

const RESULTS = ['reply', 'answer', 'output', 'response', 'finalText', 'final_text', 'resultText', 'result'] as const;

const BEGUN = new Set(['accepted', 'spawned', 'started', 'queued', 'pending', 'running', 'in_progress', 'created']);
const FINISHED = new Set(['completed', 'complete', 'done', 'finished', 'success', 'succeeded']);
const BAD: Readonly<Record<string, ErrorCode>> = {
  error: 'E_UNKNOWN',
  failed: 'E_UNKNOWN',
  failure: 'E_UNKNOWN',
  rejected: 'E_UNKNOWN',
  aborted: 'E_UNKNOWN',
  cancelled: 'E_UNKNOWN',
  forbidden: 'E_PERMISSION_DENIED',
  denied: 'E_PERMISSION_DENIED',
  unauthorized: 'E_CREDENTIALS',
  timeout: 'E_TIMEOUT',
  timed_out: 'E_TIMEOUT',
};

export function readAnswer(answer: Json | null): Answer {
  const { layers, words, messages } = layersOf(answer);
  const statuses = layers.map(statusOf);
  const isAccepted = statuses.some((status) => BEGUN.has(status));
  const isFinished = statuses.some((status) => FINISHED.has(status));
  const conversation = conversationIn(layers);
  const spoken = words.join('\n').trim() || null;
  // Beside a session, bare words are about its beginning, unless the work is said to be finished.
  const isAboutWork = !isAccepted && (conversation === null || isFinished);
  const message = messages.length === 0 ? null : messages.join('\n');
  return {
    failure: failureIn(layers, words),
    conversation,
    result: message ?? (isAccepted ? null : firstText(layers, RESULTS)) ?? (isAboutWork ? spoken : null),
    aside: isAboutWork ? null : spoken,
    isAccepted,
  };
}

interface Layers {
  /** The objects that speak for the gateway, from the outside in. */
  readonly layers: readonly Json[];
  /** Texts that are not JSON. */
  readonly words: readonly string[];
  /** Messages of a dialect: what the agent says, and its own failures are not the gateway's. */
  readonly messages: readonly string[];
}

function layersOf(answer: Json | null): Layers {
  const found = { layers: [] as Json[], words: [] as string[], messages: [] as string[] };
  let here: readonly unknown[] = [answer];
  for (let depth = 0; depth < MOST_DEPTH && here.length > 0; depth++) {
    const next: unknown[] = [];
    for (const value of here) {
      const layer = objectOf(value);
      if (layer === null || found.layers.length >= MOST_LAYERS) continue;
      if (ownerOf(layer) !== null) {
        found.messages.push(jsonOf(layer));
        continue;
      }
      found.layers.push(layer);
      for (const key of WITHIN)
        for (const each of manyOf(layer[key])) next.push(typeof each === 'string' ? parseObject(each) : each);
      for (const text of [layer['text'], layer['content']].map(textOf)) {
        const inner = parseObject(text ?? '');
        if (inner !== null) next.push(inner);
        else if (text !== null) found.words.push(text);
      }
    }
    here = next;
  }
  return found;
}

const manyOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [value]);

const statusOf = (layer: Json): string => (textOf(layer['status']) ?? '').toLowerCase();

function conversationIn(layers: readonly Json[]): string | null {
  const named = firstText(layers, SESSIONS);
  if (named !== null) return named;
  for (const layer of layers) {
    const session = layer['session'];
    const id = textOf(session) ?? firstText([objectOf(session) ?? {}], ['key', 'id']);
    if (id) return id;
  }
  return null;
}

/** By key first, then from the outside in. */
function firstText(layers: readonly Json[], keys: readonly string[]): string | null {
  for (const key of keys) {
    for (const layer of layers) {
      const text = textOf(layer[key]);
      // Text that is JSON was looked into.
      if (text !== null && text.trim() !== '' && parseObject(text) === null) return text;
    }
  }
  return null;
}

function failureIn(layers: readonly Json[], words: readonly string[]): Answer['failure'] {
  // Which layer calls it a failure, and which says why, may be two.
  const why = layers.map(reasonOf).find((reason) => reason !== '') ?? '';
  const bad = layers.map((layer) => BAD[statusOf(layer)]).find((code) => code !== undefined);
  const isBad = layers.some(
    ({ ok, success, isError, error }) => ok === false || success === false || isError === true || error === true,
  );
  if (bad === undefined && !isBad && why === '') return null;
  const message = why || brief(words.join(' '), 300) || 'it does not say why';
  return { code: bad === undefined || bad === 'E_UNKNOWN' ? codeOf(message) : bad, message };
}

/** An `error` is a text, or an object with a message. */
function reasonOf(layer: Json): string {
  const error = layer['error'];
  const fields = objectOf(error);
  const text = textOf(error) ?? textOf(fields?.['message']) ?? textOf(fields?.['type']) ?? textOf(fields?.['code']);
  return brief(text ?? textOf(layer['errorMessage']) ?? '', 300);
}

function codeOf(message: string): ErrorCode {
  if (/unauthori[sz]ed|invalid token|api.?key|credential/i.test(message)) return 'E_CREDENTIALS';
  if (/not allowed|forbidden|denied/i.test(message)) return 'E_PERMISSION_DENIED';
  if (/\bmodel\b/i.test(message)) return 'E_MODEL_UNAVAILABLE';
  if (/unknown agent|agent.{0,60}not (?:found|exist)|tool.{0,60}not (?:found|available)/i.test(message))
    return 'E_AGENT_NOT_FOUND';
  if (/timed? ?out/i.test(message)) return 'E_TIMEOUT';
  return 'E_UNKNOWN';
}
