/**
 * An agent of an OpenClaw gateway: `sessions_spawn`, called by `POST {url}/tools/invoke` (aof's executor).
 *
 * The gateway mostly answers at once, when the session has begun and long before its work is done. Then the turn ends with
 * `ok: true, reason: 'spawned'`, the session as its conversation and no text: nothing was reported, so the task is for review, and the
 * session reports by itself, with a `completion.report` or by the files of the run. Where the answer holds the work's result, that
 * is the turn's text, and the reason is `completed`.
 *
 * `args` of its config names the gateway's agent (`args: [swe-backend]`); without it the gateway chooses. Each turn is a new session: the
 * tool has no way to go on with one. What the session touches is the gateway's business; nothing of the access is enforced here.
 */
import type { ErrorCode } from '../core/errors.ts';
import type { AgentSign, RemoteAdapter, TurnRequest } from './adapter.ts';
import { parseObject } from './json.ts';
import { readAnswer } from './openclaw-answer.ts';
import { brief } from './words.ts';

const TOOL = 'sessions_spawn';

/** In bytes; what a message may be. */
const MOST_ANSWER = 10 * 1024 * 1024;

type Call = Parameters<RemoteAdapter['call']>[1];

export const openclaw: RemoteAdapter = {
  way: 'remote',
  kind: 'openclaw',
  provider: 'OTHER',
  goesOn: false,
  hasEnd: true,
  usage: 'never',
  streamsDollars: false,
  async call(request, call) {
    for (const sign of await signsOf(request, call)) call.emit(sign);
  },
};

async function signsOf(request: TurnRequest, call: Call): Promise<readonly AgentSign[]> {
  const { url = '', token_env: name } = request.agent;
  const token = name === undefined ? null : (request.environment[name] ?? '');
  if (token === '') return failed('E_CREDENTIALS', `expected the gateway's token in the variable ${name}, got none`);
  if (!/^https?:/.test(url))
    return failed('E_AGENT_NOT_FOUND', `expected the http address of a gateway, got ${brief(url) || 'none'}`);

  let response: Response;
  let text: string | null;
  try {
    response = await call.fetch(addressOf(url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(token === null ? {} : { authorization: `Bearer ${token}` }) },
      body: JSON.stringify(bodyOf(request)),
      signal: call.signal,
      // A token is for the one it was meant for.
      redirect: 'manual',
    });
    call.emit({ kind: 'alive' });
    text = await boundedText(response, call);
  } catch (error) {
    return unreached(error, call.signal, url);
  }
  if (text === null)
    return failed('E_CONTEXT_OVERFLOW', 'expected an answer of at most 10 MB from the gateway, got more');
  const hide = (said: string): string => (token === null ? said : said.replaceAll(token, '[token]'));
  return judged(response.status, hide(text));
}

const addressOf = (url: string): string => {
  const base = url.replace(/\/+$/, '');
  return base.endsWith('/tools/invoke') ? base : `${base}/tools/invoke`;
};

const bodyOf = ({ prompt, model, agent }: TurnRequest): object => ({
  tool: TOOL,
  args: {
    task: prompt,
    ...(agent.args[0] === undefined ? {} : { agentId: agent.args[0] }),
    ...(model === null ? {} : { model }),
  },
});

/** The body, in bounded memory; null where it is longer than that. */
async function boundedText(response: Response, { emit }: Call): Promise<string | null> {
  const parts: Uint8Array[] = [];
  let length = 0;
  // Leaving the loop early closes the connection.
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > MOST_ANSWER) return null;
    parts.push(part);
    emit({ kind: 'alive' });
  }
  return Buffer.concat(parts).toString('utf8');
}

function judged(status: number, text: string): readonly AgentSign[] {
  const said = brief(text, 300);
  const answer = parseObject(text);
  const { failure, conversation, result, aside, isAccepted } = readAnswer(answer);
  const isGood = status >= 200 && status < 300;
  if (!isGood) {
    const words = failure?.message ?? said;
    return failed(
      codeOf(status, words),
      `expected the gateway to run ${TOOL}, got HTTP ${status}: ${words || 'it said no more'}${hintOf(status)}`,
    );
  }
  if (answer === null) return failed('E_PARSE_FAILURE', `expected JSON from the gateway, got ${said || 'nothing'}`);
  if (failure !== null)
    return failed(
      failure.code,
      `expected the gateway to run ${TOOL}, got a failure with HTTP ${status}: ${failure.message}`,
    );
  const begun: AgentSign[] = conversation === null ? [] : [{ kind: 'conversation', id: conversation }];
  if (result !== null) {
    return [
      ...begun,
      { kind: 'text', text: result, whole: true },
      { kind: 'end', ok: true, reason: 'completed', text: result },
    ];
  }
  if (conversation !== null || isAccepted) {
    if (aside !== null) begun.push({ kind: 'text', text: aside, whole: true });
    return [...begun, { kind: 'end', ok: true, reason: 'spawned', text: null }];
  }
  return failed('E_SCHEMA_VALIDATION', `expected a session or a result from ${TOOL}, got ${said}`);
}

function codeOf(status: number, words: string): ErrorCode {
  if (status === 401 || status === 403) return 'E_CREDENTIALS';
  if (status === 413) return 'E_CONTEXT_OVERFLOW';
  if (status === 408 || status === 504) return 'E_TIMEOUT';
  // Both pass with time, so the code is one that is tried again.
  if (status === 429 || status >= 500) return 'E_PROCESS_CRASH';
  if (status === 404 || status === 405 || (status >= 300 && status < 400)) return 'E_AGENT_NOT_FOUND';
  return /\bmodel\b/i.test(words) ? 'E_MODEL_UNAVAILABLE' : 'E_UNKNOWN';
}

const hintOf = (status: number): string =>
  status === 404 ? ` (a gateway refuses ${TOOL} over HTTP until its gateway.tools.allow names it)` : '';

/** Nobody there is an agent that cannot be reached; a connection that broke may hold the next time. */
function unreached(error: unknown, signal: AbortSignal, url: string): readonly AgentSign[] {
  if (signal.aborted) return failed('E_TIMEOUT', `expected an answer from ${url} in time, and it was called off`);
  const words = causesOf(error);
  if (/TIMEOUT|ETIMEDOUT/.test(words))
    return failed('E_TIMEOUT', `expected an answer from ${url} in time, got ${brief(words, 300)}`);
  const isNobody = /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ECONNABORTED|bad port|Invalid URL/i.test(
    words,
  );
  return failed(
    isNobody ? 'E_AGENT_NOT_FOUND' : 'E_PROCESS_CRASH',
    `expected an answer from the gateway at ${url}, got ${brief(words, 300)}`,
  );
}

/** fetch says only that it failed; why stands in its causes. */
function causesOf(error: unknown): string {
  const words: string[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth++) {
    const code = 'code' in at && typeof at.code === 'string' ? ` ${at.code}` : '';
    words.push(`${at.message}${code}`);
  }
  return words.join(': ') || String(error);
}

const failed = (code: ErrorCode, message: string): readonly AgentSign[] => [
  { kind: 'error', code, message },
  { kind: 'end', ok: false, reason: 'error', text: null },
];
