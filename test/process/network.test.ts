/** The way out of a sandbox: what is let through, from inside as from outside, and what is refused. */

import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type Gate, type GateOptions, openGate } from '../../src/process/network.ts';
import { rulesFor } from '../../src/process/network-rules.ts';
import { upstreamFrom } from '../../src/process/upstream.ts';
import { answersReader } from '../../src/process/usage-tap.ts';
import { whereIs } from '../../src/process/where.ts';
import { hasSandbox, sandboxTest } from '../helpers/sandbox.ts';
import { boxed, ENV, newFolder, sh, start, textOf } from './real.ts';

const toClose: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of toClose.splice(0)) await close();
});

type Answer = (asked: IncomingMessage, answer: ServerResponse) => void;

async function serve(
  answer: Answer = (asked, out) => out.end(`you asked ${asked.url}`),
): Promise<{ server: Server; port: number; url: string }> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  toClose.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { server, port, url: `http://127.0.0.1:${port}` };
}

async function gateFor(options: Partial<GateOptions> = {}): Promise<Gate> {
  const gate = await openGate({ allow: [], endpoints: [], loopback: false, folder: newFolder('g-'), ...options });
  toClose.push(() => gate.close());
  return gate;
}

/** What the proxy says to some bytes, until it closes or `enough` has come. */
async function say(gate: Gate, text: string, enough: RegExp = /$^/): Promise<string> {
  const socket = connect(gate.gate.socket);
  socket.write(text);
  let got = '';
  for await (const chunk of socket) {
    got += String(chunk);
    if (enough.test(got)) break;
  }
  return got;
}

const get = (gate: Gate, url: string): Promise<string> =>
  say(gate, `GET ${url} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);

const may = (host: string, port: number, options: Partial<GateOptions>): boolean =>
  rulesFor({ allow: [], endpoints: [], loopback: false, ...options }).refusal({ host, port }) === null;

test('names are compared as names, ports as ports', () => {
  const allow = ['Example.com', '*.sub.org', 'one.net:8443', '10.1.2.3'];
  expect(may('example.com', 443, { allow })).toBe(true);
  expect(may('www.example.com', 443, { allow })).toBe(false);
  expect(may('evil-example.com', 443, { allow })).toBe(false);
  expect(may('example.com.evil.net', 443, { allow })).toBe(false);
  expect(may('a.sub.org', 80, { allow })).toBe(true);
  expect(may('a.b.sub.org', 80, { allow })).toBe(true);
  expect(may('sub.org', 80, { allow })).toBe(false);
  expect(may('xsub.org', 80, { allow })).toBe(false);
  expect(may('one.net', 8443, { allow })).toBe(true);
  expect(may('one.net', 443, { allow })).toBe(false);
  expect(may('10.1.2.3', 22, { allow })).toBe(true);
  expect(may('10.1.2.4', 22, { allow })).toBe(false);
  const endpoints = ['https://api.model.com/v1', 'http://[::1]:7000/x', 'no url'];
  expect(may('api.model.com', 443, { endpoints })).toBe(true);
  expect(may('api.model.com', 80, { endpoints })).toBe(false);
  expect(may('127.0.0.1', 7000, { endpoints })).toBe(true);
  expect(may('localhost', 7001, { endpoints })).toBe(false);
  expect(may('localhost', 7001, { loopback: true })).toBe(true);
  // Other ways to write 127.0.0.1 are no names of it.
  for (const host of ['2130706433', '0x7f.1', '127.0.0.1.nip.io'])
    expect(may(host, 80, { loopback: true }), host).toBe(false);
});

test('a name that is allowed does not lead to this machine', () => {
  const rules = rulesFor({ allow: ['*.org'], endpoints: ['http://model.lan:1'], loopback: false });
  const target = { host: 'a.org', port: 80 };
  for (const address of ['127.0.0.1', '::1', '0.0.0.0', '::ffff:127.0.0.1', '169.254.169.254', 'fe80::1']) {
    expect(rules.mayLeadTo(target, address), address).toBe(false);
  }
  expect(rules.mayLeadTo(target, '10.0.0.1')).toBe(true);
  expect(rules.mayLeadTo({ host: 'model.lan', port: 1 }, '127.0.0.1')).toBe(true);
});

test('requests and tunnels are let through or refused, and what was refused is remembered', async () => {
  const { url, port } = await serve();
  const other = await serve();
  const lines: string[] = [];
  const gate = await gateFor({ endpoints: [`${url}/v1`], log: (line) => lines.push(line) });
  expect(gate.gate.loopback).toEqual([port]);
  expect(await get(gate, `${url}/a?b=c`)).toMatch(/^HTTP\/1.1 200 [\s\S]*you asked \/a\?b=c/);
  expect(await get(gate, `http://localhost:${port}/a`)).toMatch(/you asked \/a/);
  expect(await get(gate, `${other.url}/`)).toMatch(/^HTTP\/1.1 403 [\s\S]*Baton: 127.0.0.1:\d+ is not among the hosts/);
  expect(await say(gate, `CONNECT example.com:443 HTTP/1.1\r\n\r\n`)).toMatch(
    /^HTTP\/1.1 403 [\s\S]*example.com:443 is not/,
  );
  await say(gate, `CONNECT example.com:443 HTTP/1.1\r\n\r\n`);
  const tunnel = `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\nGET /t HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;
  expect(await say(gate, tunnel)).toMatch(
    /^HTTP\/1.1 200 Connection established\r\n\r\nHTTP\/1.1 200 OK[\s\S]*you asked \/t/,
  );
  expect(await say(gate, 'CONNECT nonsense HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 400/);
  expect(await get(gate, '/path')).toMatch(/^HTTP\/1.1 400/);
  expect(await get(gate, `https://127.0.0.1:${port}/`)).toMatch(/^HTTP\/1.1 400/);
  expect(await say(gate, 'garbage\r\n\r\n')).toMatch(/^HTTP\/1.1 400/);
  expect(gate.refused).toEqual([`127.0.0.1:${other.port}`, 'example.com:443']);
  expect(lines).toHaveLength(2);
});

test('what cannot be reached is said, and what breaks off breaks off here too', async () => {
  const { server, url, port } = await serve((_, answer) => {
    answer.writeHead(200, { 'content-length': '100' }).write('half');
    setImmediate(() => answer.destroy());
  });
  const gate = await gateFor({ endpoints: [url] });
  expect(await get(gate, url).catch(String)).toMatch(/half$|ECONNRESET/);
  server.close();
  await once(server, 'close');
  expect(await get(gate, url)).toMatch(/^HTTP\/1.1 502 [\s\S]*cannot be reached/);
  expect(await say(gate, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 502 /);
});

test('where this machine has to use a proxy itself, that is the way', async () => {
  const { url, port } = await serve();
  const asked: string[] = [];
  const upstream = createServer().on('connect', (request: IncomingMessage, client: Socket) => {
    asked.push(`${request.url} ${request.headers['proxy-authorization']}`);
    if (request.url === 'closed.test:443') return client.end('HTTP/1.1 407 Login\r\n\r\n');
    const remote = connect(port, '127.0.0.1');
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    return client.pipe(remote).pipe(client);
  });
  await once(upstream.listen(0, '127.0.0.1'), 'listening');
  toClose.push(() => upstream.close());
  const proxy = `http://me:pass@127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  const environment = { HTTPS_PROXY: proxy, NO_PROXY: 'direct.test,.lan' };
  const gate = await gateFor({ endpoints: [url], allow: ['*.test'], environment });
  expect(await get(gate, 'http://model.test/a')).toMatch(/you asked \/a/);
  expect(await get(gate, `${url}/b`)).toMatch(/you asked \/b/);
  const tunnel = 'CONNECT model.test:443 HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n';
  expect(await say(gate, tunnel)).toMatch(/you asked \/c/);
  expect(await say(gate, 'CONNECT closed.test:443 HTTP/1.1\r\n\r\n')).toMatch(/^HTTP\/1.1 502 [\s\S]*407 Login/);
  const login = `Basic ${Buffer.from('me:pass').toString('base64')}`;
  expect(asked).toEqual(['model.test:80', 'model.test:443', 'closed.test:443'].map((each) => `${each} ${login}`));
  const way = upstreamFrom(environment);
  expect(['direct.test', 'a.lan', 'localhost', '127.0.0.1'].map((host) => way({ host, port: 1 }))).toEqual([
    null,
    null,
    null,
    null,
  ]);
  expect(upstreamFrom({})({ host: 'a.test', port: 1 })).toBe(null);
});

test('a stream comes through piece by piece, and a closed gate holds nobody', async () => {
  let go = (): void => {};
  const { url } = await serve((_, answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
    go = () => answer.write('data: 2\n\n');
  });
  const gate = await gateFor({ endpoints: [url] });
  const asked = request({ socketPath: gate.gate.socket, path: `${url}/`, headers: { host: 'x' } }).end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const [first] = (await once(answer, 'data')) as [Buffer];
  expect(String(first)).toBe('data: 1\n\n');
  go();
  const [second] = (await once(answer, 'data')) as [Buffer];
  expect(String(second)).toBe('data: 2\n\n');
  // It is broken off in the middle, which is an error to who asked.
  const broken = once(answer, 'end').catch((cause: Error) => cause.message);
  await gate.close();
  expect(await broken).toBe('aborted');
});

test('the tokens that an endpoint says it used are counted, in streams as they grow', async () => {
  const { url, port } = await serve((asked, answer) => {
    if (asked.url === '/json') {
      answer.end(JSON.stringify({ usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4 } }));
      return;
    }
    answer.writeHead(200, { 'content-type': 'text/event-stream' });
    answer.write(
      'event: a\ndata: {"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}\n\nda',
    );
    setTimeout(() => answer.end('ta: {"type":"message_delta","usage":{"output_tokens":21}}\n\ndata: [DONE]\n\n'), 20);
  });
  const counts: number[][] = [];
  const gate = await gateFor({ endpoints: [url], onUsage: (...tokens) => counts.push(tokens) });
  await get(gate, `${url}/json`);
  await get(gate, `${url}/stream`);
  const tunnel = `CONNECT localhost:${port} HTTP/1.1\r\n\r\n`;
  await say(
    gate,
    `${tunnel}GET /stream HTTP/1.1\r\nhost: x\r\n\r\nGET /json HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
  );
  expect(counts).toEqual([
    [3, 4],
    [10, 1],
    [0, 20],
    [10, 1],
    [0, 20],
    [3, 4],
  ]);
});

test('bytes that are no answers are read along without harm', () => {
  const counts: number[][] = [];
  for (const text of [
    'HTTP/1.1 101 Switching\r\n\r\nHTTP/1.1 200 OK\r\n\r\n{"usage":{"input_tokens":1}}',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 28\r\n\r\n{"usage":{"input_tokens":1}}',
    'x'.repeat(100),
  ]) {
    const read = answersReader((...tokens) => counts.push(tokens));
    for (const byte of text) read(Buffer.from(byte));
  }
  expect(counts).toEqual([]);
});

test('of a program that asks for ever new names so many are remembered', async () => {
  const gate = await gateFor({ endpoints: [] });
  const asked = Array.from({ length: 150 }, (_, i) => say(gate, `CONNECT h${i}.example.com:443 HTTP/1.1\r\n\r\n`));
  for (const answer of await Promise.all(asked)) expect(answer).toMatch(/^HTTP\/1.1 403/);
  expect(gate.refused).toHaveLength(100);
});

test('a path that is too long for a socket is refused', async () => {
  await expect(gateFor({ folder: `/tmp/${'x'.repeat(120)}` })).rejects.toMatchObject({ code: 'E_USAGE' });
});

sandboxTest('from inside: the endpoint with and without a proxy, and nothing else', async () => {
  const ws = newFolder();
  const { url, port } = await serve((asked, answer) => {
    let text = '';
    asked.on('data', (chunk) => {
      text += chunk;
    });
    asked.on('end', () => answer.end(`${asked.method} ${asked.url} ${text.length}`));
  });
  const other = await serve();
  const gate = await gateFor({ endpoints: [url] });
  const sandbox = boxed(ws, { network: gate.gate });
  const env = { ...ENV, ...gate.env };
  const script = `
    const http = require('node:http');
    const ask = (options, body) => new Promise((settle) => {
      const sent = http.request(options, (got) => { let t = ''; got.on('data', (c) => { t += c; }); got.on('end', () => settle(got.statusCode + ' ' + t)); });
      sent.on('error', (e) => settle(e.code)); sent.end(body);
    });
    const proxy = new URL(process.env.HTTP_PROXY);
    (async () => {
      console.log(await ask({ host: '127.0.0.1', port: ${port}, path: '/direct', method: 'POST' }, 'x'.repeat(1000000)));
      console.log(await ask({ host: 'localhost', port: ${port}, path: '/by-name' }));
      console.log(await ask({ host: proxy.hostname, port: proxy.port, path: '${url}/by-proxy' }));
      console.log(await ask({ host: '127.0.0.1', port: ${other.port}, path: '/' }));
      console.log((await ask({ host: proxy.hostname, port: proxy.port, path: '${other.url}/' })).slice(0, 10));
      console.log(await Promise.all(Array.from({ length: 20 }, (_, i) => ask({ host: '127.0.0.1', port: ${port}, path: '/' + i }))).then((all) => all.length + ' ' + all.every((t) => t.startsWith('200'))));
      const own = http.createServer((q, r) => r.end('own')).listen(0, '127.0.0.1', async () => {
        console.log(await ask({ host: '127.0.0.1', port: own.address().port }));
        process.exit(11);
      });
    })();`;
  const program = await start({ command: ['node', '-e', script], cwd: ws, env, sandbox });
  const [out, err, exit] = await Promise.all([textOf(program.stdout), textOf(program.stderr), program.exited]);
  expect(err).toBe('');
  expect(out.split('\n')).toEqual([
    '200 POST /direct 1000000',
    '200 GET /by-name 0',
    '200 GET /by-proxy 0',
    'ECONNREFUSED',
    '403 Baton:',
    '20 true',
    '200 own',
    '',
  ]);
  expect(exit).toEqual({ code: 11, signal: null });
  expect(gate.refused).toEqual([`127.0.0.1:${other.port}`]);
});

const curlTest = hasSandbox && whereIs('curl') !== null ? test : test.skip;
curlTest(
  'an ordinary client reaches a loopback service that is allowed, one that listens inside, and no other',
  async () => {
    const ws = newFolder();
    const [allowed, other] = [await serve((_, out) => out.end('OUTSIDE')), await serve((_, out) => out.end('OTHER'))];
    const script = `
      node -e 'require("node:http").createServer((q, r) => r.end("INSIDE")).listen(0, "127.0.0.1", function () { console.log(this.address().port) })' > port &
      until [ -s port ]; do sleep 0.05; done
      for way in "" --proxytunnel; do
        for name in 127.0.0.1 localhost; do
          curl -sS -m 60 $way -X POST -d body "http://$name:${allowed.port}/"; echo; curl -sS -m 60 $way "http://$name:$(cat port)/"; echo
          curl -sS -m 60 $way "http://$name:${other.port}/"; echo
        done
      done 2>&1
      kill %1`;
    const reached = async (options: Partial<GateOptions>): Promise<string[]> => {
      const gate = await gateFor(options);
      const program = await sh(script, {
        cwd: ws,
        env: { ...ENV, ...gate.env },
        sandbox: boxed(ws, { network: gate.gate }),
      });
      const out = await textOf(program.stdout);
      await program.end(1000);
      rmSync(join(ws, 'port'));
      return out.match(/OUTSIDE|INSIDE|OTHER|403/g) ?? [];
    };
    const four = (...said: string[]): string[] => [...said, ...said, ...said, ...said];
    // All of loopback, as for RESTRICTED; one port of it; and none.
    expect(await reached({ loopback: true })).toEqual(four('OUTSIDE', 'INSIDE', 'OTHER'));
    const only = await reached({ allow: [`localhost:${allowed.port}`] });
    expect(only.filter((word) => word !== '403')).toEqual(four('OUTSIDE', 'INSIDE'));
    const none = await reached({});
    expect(none.filter((word) => word !== '403')).toEqual(four('INSIDE'));
  },
);

sandboxTest('the relay passes input and signals on, and ends as the program does', async () => {
  const ws = newFolder();
  const gate = await gateFor();
  const options = { cwd: ws, env: { ...ENV, ...gate.env }, sandbox: boxed(ws, { network: gate.gate }) };
  const echo = await sh('cat; exit 3', { ...options, stdin: 'through' });
  expect(await textOf(echo.stdout)).toBe('through');
  expect(await echo.exited).toEqual({ code: 3, signal: null });

  const script = `process.on('SIGTERM', () => console.log('bye')); console.log('up'); setInterval(() => {}, 1000)`;
  const polite = await start({ command: ['node', '-e', script], ...options });
  const out = textOf(polite.stdout);
  await once(polite.stdout, 'data');
  expect(await polite.end(300)).toEqual({ signal: 'SIGKILL', swept: [], left: [] });
  expect((await out).match(/bye/g)).toHaveLength(1);

  const killed = await sh('kill -KILL $$', options);
  // Bubblewrap tells a signal as shells do.
  expect(await killed.exited).toEqual({ code: 137, signal: null });
});

test('the relay by itself: a signal to it is one to the program', async () => {
  const relay = new URL('../../src/process/relay.mjs', import.meta.url).pathname;
  const { server, port } = await serve();
  server.close();
  await once(server, 'close');
  const script = `trap 'exit 7' TERM; echo up; while :; do sleep 0.02; done`;
  const program = await start({ command: ['node', relay, '/no/socket', String(port), '', '--', 'sh', '-c', script] });
  await once(program.stdout, 'data');
  process.kill(program.pid, 'SIGTERM');
  expect(await program.exited).toEqual({ code: 7, signal: null });
  const absent = await start({ command: ['node', relay, '/no/socket', String(port), '', '--', '/no/program'] });
  expect(await textOf(absent.stderr)).toMatch(/relay: \/no\/program cannot be started/);
  expect(await absent.exited).toEqual({ code: 127, signal: null });
});

sandboxTest('a port of a name that speaks another language is led through as it is', async () => {
  const ws = newFolder();
  const server = createTcpServer((socket) => socket.end('not http\n')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  toClose.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const gate = await gateFor({ allow: [`localhost:${port}`] });
  const script = `require('node:net').connect(${port}, '127.0.0.1').pipe(process.stdout)`;
  const program = await start({ command: ['node', '-e', script], cwd: ws, sandbox: boxed(ws, { network: gate.gate }) });
  expect(await textOf(program.stdout)).toBe('not http\n');
});
