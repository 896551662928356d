/**
 * The one way out for a program in a sandbox that has no network: an HTTP proxy on a unix socket, which lets through what is allowed and
 * remembers what was refused. Names are looked up here, outside. `relay.mjs` leads to it from inside.
 */
import { lookup } from 'node:dns/promises';
import { chmod } from 'node:fs/promises';
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { connect, type LookupFunction, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { BatonError } from '../core/errors.ts';
import { proxyPort } from './gate-port.ts';
import {
  isLoopback,
  parseTarget,
  type Rules,
  rulesFor,
  showTarget,
  type Target,
  targetOfUrl,
} from './network-rules.ts';
import { newSuffix } from './new-id.ts';
import type { NetworkGate } from './types.ts';
import { connectThrough, type Upstream, upstreamFrom } from './upstream.ts';
import { answersReader, type OnUsage, usageReader } from './usage-tap.ts';

export interface GateOptions {
  /** `host`, `host:port`, `*.host` or `*.host:port`. */
  readonly allow: readonly string[];
  /** URLs of models. */
  readonly endpoints: readonly string[];
  /** Whether all of this machine's loopback may be reached. */
  readonly loopback: boolean;
  /** Where the socket is made; a short path, for sockets cannot have long ones. */
  readonly folder: string;
  /** The environment that says which proxy this machine itself has to use; that of this process where it is not given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  log?(line: string): void;
  /** The tokens that a plain-HTTP endpoint says were used; each call is an increase. */
  onUsage?: OnUsage;
}

export interface Gate {
  readonly gate: NetworkGate;
  /** What a program inside has to have in its environment. */
  readonly env: Readonly<Record<string, string>>;
  /** `host:port` of what was asked for and refused, each once and so many at most; it grows while the gate is open. */
  readonly refused: readonly string[];
  close(): Promise<void>;
}

/** A program that asks for ever new names is told no, and no more is remembered of it. */
const MOST_REFUSED = 100;
/** The shortest limit of the systems we know. */
const LONGEST_SOCKET_PATH = 103;
/** Meant for us, and not for whom we ask. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade'];

interface Way {
  readonly rules: Rules;
  readonly upstream: Upstream;
  readonly onUsage: OnUsage | null;
  /** `host:port` of the endpoints that speak plain HTTP. */
  readonly plain: ReadonlySet<string>;
  /** Says why not, and remembers it. */
  refusal(target: Target): string | null;
}

export async function openGate(options: GateOptions): Promise<Gate> {
  const rules = rulesFor(options);
  const refused: string[] = [];
  const way: Way = {
    rules,
    upstream: upstreamFrom(options.environment ?? process.env),
    onUsage: options.onUsage ?? null,
    plain: new Set(options.endpoints.filter((url) => url.startsWith('http:') && URL.canParse(url)).map(plainName)),
    refusal(target) {
      const why = rules.refusal(target);
      const name = showTarget(target);
      if (why !== null && refused.length < MOST_REFUSED && !refused.includes(name)) {
        refused.push(name);
        options.log?.(`refused: ${why}`);
      }
      return why;
    },
  };

  const socket = join(options.folder, `gate-${newSuffix(4)}.sock`);
  if (Buffer.byteLength(socket) > LONGEST_SOCKET_PATH) {
    throw new BatonError(
      'E_USAGE',
      `expected a path of at most ${LONGEST_SOCKET_PATH} bytes for a socket, got ${Buffer.byteLength(socket)}: ${socket}`,
      'set XDG_RUNTIME_DIR or TMPDIR to a folder with a shorter path',
    );
  }

  const open = new Set<Duplex>();
  const keep = (each: Duplex): void => {
    open.add(each);
    each.once('close', () => open.delete(each));
  };
  // A model may think for as long as it likes; the run's own clocks are elsewhere.
  const server = createServer({ requestTimeout: 0, headersTimeout: 0 });
  server.on('connection', keep);
  server.on('connect', (asked: IncomingMessage, client: Duplex, head: Buffer) => {
    // A client that goes away in the middle is no error of ours.
    client.on('error', () => client.destroy());
    void tunnel(way, asked.url ?? '', client, head, keep);
  });
  server.on('request', (asked, answer) => void forward(way, asked, answer));
  server.on('clientError', (_, client) => {
    if (client.writable) client.end('HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n');
  });
  await new Promise<void>((settle, fail) => {
    server.once('error', fail);
    server.listen(socket, settle);
  });
  await chmod(socket, 0o600);
  server.unref();

  return {
    gate: { socket, loopback: rules.loopback },
    env: environmentFor(rules.loopback),
    refused,
    close() {
      for (const each of open) each.destroy();
      return new Promise((settle) => server.close(() => settle()));
    },
  };
}

const plainName = (url: string): string => nameOf(targetOfUrl(new URL(url)));
/** The names of loopback are one. */
const nameOf = (target: Target): string =>
  showTarget(isLoopback(target.host) ? { ...target, host: 'localhost' } : target);

/**
 * Nothing goes past the proxy, loopback neither: the relay reaches inside what listens inside, and asks outside for the rest. A program that
 * knows no proxy reaches the ports that config names, under the same numbers.
 */
function environmentFor(loopback: readonly number[]): Record<string, string> {
  const proxy = `http://127.0.0.1:${proxyPort(loopback)}`;
  const env: Record<string, string> = { NO_PROXY: '', no_proxy: '', NODE_USE_ENV_PROXY: '1' };
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    env[name] = proxy;
    env[name.toLowerCase()] = proxy;
  }
  return env;
}

/** Where a target is, of the addresses that it may be at. Rejects with the reason why there is none. */
async function addressesOf({ rules }: Way, target: Target): Promise<{ address: string; family: number }[]> {
  if (isLoopback(target.host)) {
    // `localhost` may listen on one of the two only.
    return [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
  }
  const found = await lookup(target.host, { all: true });
  const allowed = found.filter(({ address }) => rules.mayLeadTo(target, address));
  if (allowed.length === 0)
    throw new Refusal(`${target.host} leads to this machine itself, which this run may not reach`);
  return allowed;
}

class Refusal extends Error {}

const lookupGiving =
  (addresses: readonly { address: string; family: number }[]): LookupFunction =>
  (_, options, give) => {
    const [first] = addresses;
    if (options.all) give(null, [...addresses]);
    else give(null, first?.address ?? '', first?.family ?? 4);
  };

const said = (status: string, sentence: string): string => {
  const text = `Baton: ${sentence}.\n`;
  const head = `content-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(text)}\r\nconnection: close`;
  return `HTTP/1.1 ${status}\r\n${head}\r\n\r\n${text}`;
};

const statusFor = (cause: unknown): 403 | 502 => (cause instanceof Refusal ? 403 : 502);
const NAMES = { 403: '403 Forbidden', 502: '502 Bad Gateway' } as const;
const reasonOf = (cause: unknown, target: Target): string =>
  cause instanceof Refusal
    ? cause.message
    : `${showTarget(target)} cannot be reached: ${(cause as Error).message || (cause as NodeJS.ErrnoException).code}`;

/** CONNECT: bytes both ways. */
async function tunnel(
  way: Way,
  asked: string,
  client: Duplex,
  head: Buffer,
  keep: (each: Duplex) => void,
): Promise<void> {
  const target = parseTarget(asked);
  if (target === null) return void client.end(said('400 Bad Request', `expected host:port, got ${asked}`));
  const why = way.refusal(target);
  if (why !== null) return void client.end(said(NAMES[403], why));
  let remote: Socket;
  try {
    remote = await reach(way, target);
  } catch (cause) {
    client.end(said(NAMES[statusFor(cause)], reasonOf(cause, target)));
    return;
  }
  keep(remote);
  if (client.destroyed) return void remote.destroy();
  // Either side may break off; the other one is then of no use.
  remote.on('error', () => client.destroy());
  remote.once('close', () => client.destroy());
  client.once('close', () => remote.destroy());
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) remote.write(head);
  if (way.onUsage !== null && way.plain.has(nameOf(target))) remote.on('data', answersReader(way.onUsage));
  client.pipe(remote);
  remote.pipe(client);
}

async function reach(way: Way, target: Target): Promise<Socket> {
  const upstream = way.upstream(target);
  if (upstream !== null) return connectThrough(upstream, target);
  const addresses = await addressesOf(way, target);
  return new Promise((settle, fail) => {
    // A number would not be looked up; where it is loopback's, the name stands for both of them.
    const host = isLoopback(target.host) ? 'localhost' : target.host;
    const remote = connect({ host, port: target.port, lookup: lookupGiving(addresses) });
    remote.once('error', fail);
    remote.once('connect', () => {
      remote.off('error', fail);
      remote.setNoDelay(true);
      settle(remote);
    });
  });
}

/** `GET http://host/path`: asked for on behalf of the client. */
async function forward(way: Way, asked: IncomingMessage, answer: ServerResponse): Promise<void> {
  const refuse = (status: number, sentence: string): void => {
    answer.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' }).end(`Baton: ${sentence}.\n`);
  };
  // A client that goes away in the middle is no error of ours.
  asked.on('error', () => {});
  answer.on('error', () => {});
  const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : null;
  if (url?.protocol !== 'http:') return refuse(400, `expected a URL that begins with http://, got ${asked.url}`);
  const target = targetOfUrl(url);
  const why = way.refusal(target);
  if (why !== null) return refuse(403, why);
  try {
    const remote = await reach(way, target);
    if (answer.destroyed) return void remote.destroy();
    const headers = { ...asked.headers, host: url.host };
    for (const name of HOP_BY_HOP) delete (headers as Record<string, unknown>)[name];
    const sent = request({
      createConnection: () => remote,
      method: asked.method,
      path: `${url.pathname}${url.search}`,
      headers,
    });
    // One that came through another proxy waits for its reader, which is there by then.
    remote.resume();
    answer.once('close', () => sent.destroy());
    sent.on('error', (cause) => {
      if (answer.headersSent) answer.destroy();
      else refuse(502, reasonOf(cause, target));
    });
    sent.on('response', (got) => {
      const kept = { ...got.headers };
      for (const name of HOP_BY_HOP) delete kept[name];
      answer.writeHead(got.statusCode ?? 502, kept);
      answer.flushHeaders();
      if (way.onUsage !== null && way.plain.has(nameOf(target)) && got.headers['content-encoding'] === undefined) {
        const reader = usageReader(got.headers['content-type'] ?? '', way.onUsage);
        got.on('data', (chunk: Buffer) => reader.write(chunk));
        got.once('end', () => reader.end());
      }
      // Cut off on that side is cut off on this one.
      got.once('error', () => answer.destroy());
      got.pipe(answer);
    });
    asked.pipe(sent);
  } catch (cause) {
    refuse(statusFor(cause), reasonOf(cause, target));
  }
}
