// Tells Baton of OpenClaw's `message_received` and `session_end`. Thin on purpose: what is Baton's business, Baton decides.
import { readFile } from 'node:fs/promises';

const DEFAULT_URL = 'http://127.0.0.1:4700';
const WAIT_MS = 5_000;

/** A gateway never waits for Baton, and never fails because of it. */
async function tell({ url, tokenFile, token }, type, event, context, log) {
  try {
    // Read each time: it may be made anew.
    const secret = token ?? (await readFile(tokenFile, 'utf8')).trim();
    const response = await fetch(new URL('/v1/openclaw/events', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${secret}` },
      body: JSON.stringify({ type, event, context }),
      signal: AbortSignal.timeout(WAIT_MS),
      redirect: 'error',
    });
    if (!response.ok)
      log(`baton: ${type} was answered with ${response.status}: ${(await response.text()).slice(0, 300)}`);
    else await response.body?.cancel();
  } catch (cause) {
    log(`baton: ${type} could not be told: ${cause instanceof Error ? cause.message : cause}`);
  }
}

/** What may be ours; chat that is none of Baton's business stays in the gateway. */
const mayBeOurs = ({ content, payload, message, metadata }) =>
  [payload, message, content, metadata?.payload].some((value) => value?.protocol === 'aof') ||
  (typeof content === 'string' && /^\s*(?:AOF\/1 |\{)/.test(content));

/** Only what Baton reads, and only what is plain data. */
const plain = (value = {}) =>
  Object.fromEntries(
    ['agentId', 'sessionKey', 'sessionId', 'conversationId', 'channelId', 'accountId', 'runId']
      .filter((key) => typeof value[key] === 'string')
      .map((key) => [key, value[key]]),
  );

export function register(api) {
  const given = api.pluginConfig ?? api.config?.plugins?.entries?.baton?.config ?? {};
  const settings = {
    url: given.url ?? process.env.BATON_URL ?? DEFAULT_URL,
    tokenFile: given.tokenFile ?? process.env.BATON_TOKEN_FILE ?? '.baton/serve.token',
    token: process.env.BATON_SERVE_TOKEN,
  };
  const log = (text) => api.logger?.warn?.(text);
  api.on('message_received', (event, context) => {
    if (mayBeOurs(event)) void tell(settings, 'message_received', event, plain(context), log);
  });
  api.on('session_end', (event, context) => void tell(settings, 'session_end', event, plain(context), log));
}

export default { id: 'baton', name: 'Baton', register };
