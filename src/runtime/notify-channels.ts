/** The ways in which somebody is told: a webhook, a program, a line in a file. Each either has delivered or throws with the reason. */
import { createHmac } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import http from 'node:http';
import https from 'node:https';
import { basename, dirname, resolve } from 'node:path';
import type { Config } from '../core/config.ts';
import { VERSION } from '../core/version.ts';
import { newId } from '../process/new-id.ts';
import { startProgram } from '../process/start.ts';
import { pause, within } from '../process/waiting.ts';

/** One thing to tell, as it goes out. `id` stays the same over retries, so that a receiver can tell them apart from news. */
export interface Notification {
  readonly id: string;
  /** The name of what happened: `task.blocked`, `shutdown`, … */
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface Attempts {
  /** Before each further attempt. */
  readonly backoffMs: readonly number[];
  /** Of one attempt. */
  readonly timeoutMs: number;
}

export interface Channel {
  /** What it is and where it leads, without what may be secret: many webhooks carry their key in the path. */
  readonly name: string;
  /** Throws a `NotDelivered`. `hurry` says that Baton has to go: no waiting between attempts. */
  send(notification: Notification, hurry: AbortSignal, stop: AbortSignal): Promise<void>;
}

/** Why it did not arrive, and after how many attempts. */
export class NotDelivered extends Error {
  readonly attempts: number;
  constructor(message: string, attempts: number) {
    super(message);
    this.name = 'NotDelivered';
    this.attempts = attempts;
  }
}

interface ChannelOptions {
  readonly dir: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly attempts?: Attempts;
}

const ATTEMPTS: Attempts = { backoffMs: [1_000, 4_000, 16_000], timeoutMs: 10_000 };
/** A receiver may ask for a pause, but not for the rest of the day. */
const LONGEST_PAUSE_MS = 60_000;
const MOST_REDIRECTS = 3;
const COMMAND_MS = 30_000;
const GRACE_MS = 1_000;

export function openChannel(to: Config['notify'][number]['to'], options: ChannelOptions): Channel {
  if (to.webhook !== undefined) return webhook(to.webhook, to.secret_env, options);
  if (to.command !== undefined) return command(to.command, options);
  return file(to.file ?? '', options);
}

/** `sha256=` and the HMAC of the time, a dot and the body, so that neither can be changed, and an old one is known as such. */
export const signature = (secret: string, timestamp: string, body: string): string =>
  `sha256=${createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')}`;

function webhook(url: string, secretEnv: string | undefined, options: ChannelOptions): Channel {
  const { backoffMs, timeoutMs } = options.attempts ?? ATTEMPTS;
  const { origin } = new URL(url);
  return {
    name: `webhook ${origin}`,
    async send(notification, hurry, stop) {
      const secret = secretEnv === undefined ? null : options.environment[secretEnv];
      // One that should be signed and is not would teach its receiver to take unsigned ones.
      if (secret === undefined || secret === '')
        throw new NotDelivered(`the variable ${secretEnv} that holds its secret is not set`, 0);
      const body = JSON.stringify(notification);
      for (let attempt = 1; ; attempt++) {
        const outcome = await post(url, body, notification, secret, timeoutMs, stop);
        if (outcome === null) return;
        const backoff = backoffMs[attempt - 1];
        if (!outcome.again || backoff === undefined || stop.aborted) throw new NotDelivered(outcome.reason, attempt);
        await pause(Math.max(backoff, outcome.afterMs), hurry);
        if (stop.aborted) throw new NotDelivered(outcome.reason, attempt);
      }
    },
  };
}

interface Miss {
  readonly reason: string;
  readonly again: boolean;
  readonly afterMs: number;
}

/** Null when it was taken. */
async function post(
  url: string,
  body: string,
  { id, event }: Notification,
  secret: string | null,
  timeoutMs: number,
  stop: AbortSignal,
): Promise<Miss | null> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const headers = {
    'content-type': 'application/json',
    'user-agent': `baton/${VERSION}`,
    'x-baton-event': event,
    'x-baton-delivery': id,
    'x-baton-timestamp': timestamp,
    ...(secret === null ? {} : { 'x-baton-signature': signature(secret, timestamp, body) }),
  };
  const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)]);
  let target = url;
  try {
    for (let hops = 0; ; hops++) {
      const response = await postOnce(target, headers, body, signal);
      if (response.status >= 200 && response.status < 300) return null;
      const next = redirectOf(response, target);
      if (next === null) return refusal(response);
      if (new URL(next).origin !== new URL(url).origin)
        return { reason: `it answered ${response.status} and leads to another host, which is not followed`, ...NO };
      if (hops === MOST_REDIRECTS) return { reason: `it led on more than ${MOST_REDIRECTS} times`, ...NO };
      target = next;
    }
  } catch (cause) {
    if (stop.aborted) return { reason: 'there was no time left', ...NO };
    if (signal.aborted) return { reason: `no answer within ${timeoutMs} ms`, again: true, afterMs: 0 };
    const { message, code } = cause as NodeJS.ErrnoException;
    return { reason: message || (code ?? 'no connection'), again: true, afterMs: 0 };
  }
}

interface Response {
  readonly status: number;
  readonly location: string | null;
  readonly retryAfter: string | null;
}

/** Not by fetch, which refuses some ports that people do use. What is answered beside the head is read by nobody and kept nowhere. */
const postOnce = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<Response> =>
  new Promise((settle, fail) => {
    const start = url.startsWith('https:') ? https.request : http.request;
    const length = { 'content-length': Buffer.byteLength(body) };
    const request = start(url, { method: 'POST', headers: { ...headers, ...length }, agent: false, signal });
    // It stays, for an answer that breaks off after its head is an answer.
    request.on('error', fail);
    request.on('response', (response) => {
      response.on('error', () => {});
      response.resume();
      const { location, 'retry-after': retryAfter } = response.headers;
      settle({ status: response.statusCode ?? 0, location: location ?? null, retryAfter: retryAfter ?? null });
    });
    request.end(body);
  });

const NO = { again: false, afterMs: 0 } as const;

/** Only those that ask for the same request once more; the others turn a POST into a GET. */
function redirectOf(response: Response, from: string): string | null {
  const { status, location } = response;
  if ((status !== 307 && status !== 308) || location === null) return null;
  return URL.canParse(location, from) ? new URL(location, from).href : null;
}

function refusal(response: Response): Miss {
  const { status } = response;
  const seconds = Number(response.retryAfter ?? 0);
  return {
    reason: `it answered ${status}`,
    again: status >= 500 || status === 408 || status === 429,
    afterMs: Number.isFinite(seconds) ? Math.min(Math.max(seconds * 1000, 0), LONGEST_PAUSE_MS) : 0,
  };
}

function command(argv: readonly string[], { dir, environment, attempts }: ChannelOptions): Channel {
  const timeoutMs = attempts?.timeoutMs ?? COMMAND_MS;
  const cwd = basename(dir) === '.baton' ? dirname(dir) : dir;
  const env = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
  return {
    name: `command ${argv[0]}`,
    async send(notification, _hurry, stop) {
      const program = await startProgram({
        command: argv,
        cwd,
        env: { ...(env as Record<string, string>), BATON_EVENT: notification.event },
        stdin: `${JSON.stringify(notification)}\n`,
        mark: `notify-${newId()}`,
        sandbox: null,
      }).catch((cause: Error) => {
        throw new NotDelivered(cause.message, 1);
      });
      let said = '';
      program.stdout.resume();
      program.stderr.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-200);
      });
      const exit = await within(program.exited, timeoutMs, stop);
      await program.end(exit === null ? GRACE_MS : 0);
      if (exit === null)
        throw new NotDelivered(stop.aborted ? 'there was no time left' : `it took longer than ${timeoutMs} ms`, 1);
      if (exit.code !== 0) {
        const how = exit.code === null ? `by ${exit.signal}` : `with ${exit.code}`;
        throw new NotDelivered(`it ended ${how}${said.trim() === '' ? '' : `: ${said.trim()}`}`, 1);
      }
    },
  };
}

function file(name: string, { dir }: ChannelOptions): Channel {
  const path = resolve(dir, name);
  return {
    name: `file ${name}`,
    async send(notification) {
      try {
        await mkdir(dirname(path), { recursive: true });
        // A pipe that nobody reads would hold us here for ever; so it refuses.
        const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
        const handle = await open(path, flags, 0o600);
        try {
          await handle.writeFile(`${JSON.stringify(notification)}\n`);
        } finally {
          await handle.close();
        }
      } catch (cause) {
        throw new NotDelivered((cause as Error).message, 1);
      }
    },
  };
}
