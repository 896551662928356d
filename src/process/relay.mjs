/**
 * Runs inside a sandbox that has no network, around the program: it is the proxy that programs inside find on loopback, and passes what they
 * ask for on to Baton's proxy by its unix socket. What is asked of loopback, and listens inside, is reached inside. It starts the program,
 * passes signals on, and ends as the program does.
 *
 *     node relay.mjs <socket> <proxy port> <loopback ports, with commas> -- <program> <arguments…>
 *
 * It is plain JavaScript that needs no other file: it is shown alone inside the sandbox, from the sources, the library or the bundle.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { createServer as createProxy, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [socket = '', proxyPort = '', ports = '', , ...command] = process.argv.slice(2);
/** An answer of the proxy is shorter than this; a longer one is none. */
const LONGEST_HEAD = 16 * 1024;
/** Ports of loopback that are this machine's, and not the sandbox's own. */
const outer = new Set(ports.split(',').filter((text) => text !== ''));
/** Meant for the proxy, and not for whom it asks. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'te', 'trailer', 'upgrade'];

/** Either side may break off, and takes the other one with it. */
function join(client, gate) {
  lead(client, gate);
  lead(gate, client);
}

/**
 * With `end` left to `pipe` it would look at process.stdout, which makes standard output non-blocking, and not only ours: the program has
 * the same one, and many programs fail when it is full for a moment.
 */
function lead(from, to) {
  from.pipe(to, { end: false });
  from.once('end', () => to.end());
}

/** Standard error as it is: process.stderr would make it non-blocking. */
const complain = (text) => writeSync(2, `baton relay: ${text}\n`);

function open(client) {
  const gate = connect({ path: socket, allowHalfOpen: true });
  client.on('error', () => gate.destroy());
  gate.on('error', () => client.destroy());
  client.on('close', () => gate.destroy());
  gate.on('close', () => client.destroy());
  return gate;
}

/** To this machine's port of the same number, for a program that knows no proxy. */
function throughProxy(client, port) {
  const gate = open(client);
  gate.write(`CONNECT localhost:${port} HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
  let head = Buffer.alloc(0);
  const read = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length < LONGEST_HEAD) return;
    gate.off('data', read);
    if (end < 0 || !/^HTTP\/1\.1 200 /.test(head.toString('latin1', 0, 13))) {
      client.destroy();
      return;
    }
    if (head.length > end + 4) client.write(head.subarray(end + 4));
    join(client, gate);
  };
  gate.on('data', read);
}

function listen(port, host, onClient) {
  return new Promise((settle, fail) => {
    const server = createServer({ allowHalfOpen: true }, onClient);
    server.once('error', fail);
    server.listen(port, host, settle);
    // The program decides how long all of this lasts.
    server.unref();
  });
}

/** A connection to what listens inside at a port of loopback; null where nothing does. */
async function reachInside(port) {
  if (outer.has(port) || port === proxyPort) return null;
  for (const host of ['127.0.0.1', '::1']) {
    const found = await new Promise((settle) => {
      const socket = connect({ host, port: Number(port), allowHalfOpen: true });
      socket.once('connect', () => settle(socket));
      socket.once('error', () => settle(null));
    });
    if (found !== null) return found;
  }
  return null;
}

const isLoopback = (host) => /(^|\.)localhost\.?$|^127\.|^\[?::1\]?$/i.test(host);

/** CONNECT: bytes both ways. Baton's proxy answers for what is outside. */
async function tunnel(asked, client, head) {
  client.on('error', () => client.destroy());
  const [, host = '', port = ''] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(asked.url) ?? [];
  const inside = isLoopback(host) ? await reachInside(port) : null;
  if (inside === null) {
    const gate = open(client);
    gate.write(`CONNECT ${asked.url} HTTP/1.1\r\nhost: ${asked.url}\r\n\r\n`);
    if (head.length > 0) gate.write(head);
    return join(client, gate);
  }
  inside.on('error', () => client.destroy());
  inside.on('close', () => client.destroy());
  client.on('close', () => inside.destroy());
  client.write('HTTP/1.1 200 Connection established\r\n\r\n');
  if (head.length > 0) inside.write(head);
  join(client, inside);
}

/** `GET http://host/path`: of what listens inside, else of Baton's proxy, word for word. */
async function forward(asked, answer) {
  asked.on('error', () => {});
  answer.on('error', () => {});
  const url = URL.canParse(asked.url) ? new URL(asked.url) : null;
  const inside = url !== null && isLoopback(url.hostname) ? await reachInside(url.port || '80') : null;
  const headers = { ...asked.headers };
  for (const name of HOP_BY_HOP) delete headers[name];
  const way =
    inside === null
      ? { socketPath: socket, path: asked.url, headers }
      : {
          createConnection: () => inside,
          path: `${url.pathname}${url.search}`,
          headers: { ...headers, host: url.host },
        };
  const sent = request({ method: asked.method, ...way });
  answer.once('close', () => sent.destroy());
  sent.on('error', () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  sent.on('response', (got) => {
    const kept = { ...got.headers };
    for (const name of HOP_BY_HOP) delete kept[name];
    answer.writeHead(got.statusCode, kept);
    answer.flushHeaders();
    got.once('error', () => answer.destroy());
    lead(got, answer);
  });
  lead(asked, sent);
}

/** The program decides how long an answer may take. */
const proxy = createProxy({ requestTimeout: 0, headersTimeout: 0 }, (asked, answer) => void forward(asked, answer));
proxy.on('connect', (asked, client, head) => void tunnel(asked, client, head));
await new Promise((settle, fail) => {
  proxy.once('error', fail);
  proxy.listen(Number(proxyPort), '127.0.0.1', settle);
  proxy.unref();
});
for (const port of outer) {
  const onClient = (client) => throughProxy(client, port);
  await listen(Number(port), '127.0.0.1', onClient).catch((cause) => {
    complain(`port ${port} of 127.0.0.1 cannot be led outside: ${cause.message}`);
  });
  // Where there is no version 6 in here, nobody will ask for it.
  await listen(Number(port), '::1', onClient).catch(() => {});
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
// Before the program is there, for it may be signalled as soon as it is.
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
const child = spawn(command[0], command.slice(1), { stdio: 'inherit' });
child.on('error', (cause) => {
  complain(`${command[0]} cannot be started: ${cause.message}`);
  process.exit(cause.code === 'ENOENT' ? 127 : 126);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 0);
  for (const each of SIGNALS) process.removeAllListeners(each);
  // Ends as the program did. Where it cannot, the number says it, as shells do.
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
