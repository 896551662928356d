/** `baton serve`, as a user starts it: work and HTTP in one, and an end in order. */
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { whereIs } from '../../src/process/where.ts';
import { baton, startBaton, stopStarted } from './baton.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape are looked into
type Json = any;

let root: string;
let dir: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-serve-')));
  dir = join(root, '.baton');
  mkdirSync(dir);
});
afterEach(() => {
  stopStarted();
  rmSync(root, { recursive: true, force: true });
});

const configure = (agents: Record<string, string>): void => {
  const entries = Object.entries(agents).map(([name, script]) => {
    writeFileSync(join(root, `${name}.mjs`), script);
    return [name, { kind: 'command', command: [process.execPath, `${name}.mjs`] }];
  });
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ agents: Object.fromEntries(entries) }));
};

async function start(...args: string[]) {
  const started = startBaton(['serve', '--port', '0', '--json', ...args], root);
  await started.printed(/^\{"url".*\}\n/);
  const { url, token_file: file } = JSON.parse(started.out().split('\n', 1)[0] ?? '') as Record<string, string>;
  const headers = { authorization: `Bearer ${readFileSync(file ?? '', 'utf8').trim()}` };
  const call = async (path: string, body?: object): Promise<Json> => {
    const response = await fetch(`${url}${path}`, {
      ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      headers: { ...headers, 'content-type': 'application/json' },
    });
    return JSON.parse(await response.text());
  };
  return { ...started, url: url ?? '', file: file ?? '', headers, call };
}

/** Every event until the stream ends, or until one fits. */
async function eventsUntil(
  url: string,
  headers: Record<string, string>,
  fits: (event: Json) => boolean,
): Promise<Json[]> {
  const stop = new AbortController();
  const response = await fetch(url, { headers, signal: stop.signal });
  const events: Json[] = [];
  let held = '';
  for await (const chunk of response.body ?? []) {
    held += new TextDecoder().decode(chunk);
    const frames = held.split('\n\n');
    held = frames.pop() ?? '';
    for (const frame of frames) {
      const data = frame.split('\n').find((line) => line.startsWith('data: '));
      if (data !== undefined) events.push(JSON.parse(data.slice(6)));
    }
    if (events.some(fits)) break;
  }
  stop.abort();
  return events;
}

test('a task that is added over HTTP is run, its events arrive, and a run knows itself by its own token', async () => {
  configure({
    hi: `
      const headers = { authorization: 'Bearer ' + process.env.BATON_TOKEN };
      const { execFileSync } = await import('node:child_process');
      // A program like any other, by what its environment says of proxies: curl, where it is installed.
      const fetched = async (path) => (await fetch(process.env.BATON_URL + path, { headers })).text();
      const ask = ${whereIs('curl') === null} ? fetched : (path) => execFileSync('curl', ['-sS', '-m', '60', '-H', 'authorization: ' + headers.authorization, process.env.BATON_URL + path], { encoding: 'utf8' });
      console.log(JSON.stringify(JSON.parse(await ask('/v1/tasks')).map(({ id }) => id)));
      console.log(JSON.parse(await ask('/v1/sessions/default/report')).error.code);`,
  });
  const server = await start();
  expect(server.file).toBe(join(dir, 'serve.token'));
  expect(statSync(server.file).mode & 0o777).toBe(0o600);
  await server.call('/v1/tasks', { title: 'Not its business', status: 'backlog' });
  const events = eventsUntil(`${server.url}/v1/events?after=0`, server.headers, ({ type }) => type === 'run.output');
  const { id } = await server.call('/v1/tasks', { title: 'Say hi', agent: 'hi' });
  const seen = await events;
  const own = seen.filter(({ task }) => task === id).map(({ type }) => type);
  expect(own[0]).toBe('task.created');
  expect(own).toContain('run.started');
  expect(seen.map(({ seq }) => seq)).toEqual([...seen.map(({ seq }) => seq)].sort((a, b) => a - b));
  const log = await (await fetch(`${server.url}/v1/runs/${id}-r1/log?stream=out`, { headers: server.headers })).text();
  expect(log).toBe(`["${id}"]\nE_PERMISSION_DENIED\n`);
  expect(await server.call(`/v1/runs/${id}-r1/response`)).toMatchObject({ message_type: 'RESPONSE' });
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

test('SIGTERM ends it in order: streams hear the end, runs go back to be run again, nothing is left', async () => {
  configure({ slow: `console.log('at work'); setInterval(() => {}, 1000);` });
  const server = await start();
  const events = eventsUntil(`${server.url}/v1/events?after=0`, server.headers, () => false);
  const { id } = await server.call('/v1/tasks', { title: 'Take long', agent: 'slow' });
  const path = `${server.url}/v1/runs/${id}-r1`;
  await expect.poll(async () => (await fetch(path, { headers: server.headers })).status).toBe(200);
  const log = await fetch(`${path}/log?follow&stream=out`, { headers: server.headers });
  const reader = (log.body as ReadableStream<Uint8Array>).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('at work\n');
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  expect((await reader.read()).done).toBe(true);
  const seen = await events;
  expect(seen.at(-1)).toMatchObject({ type: 'shutdown' });
  expect(seen.filter(({ task }) => task === id).map(({ type }) => type)).toContain('run.stopped');
  const shown = baton(['task', 'show', id, '--json'], '', root).json();
  expect(shown).toMatchObject({ status: 'ready' });
  expect(server.err()).not.toMatch(/ {4}at |Error:/);
  const left = spawnSync('pgrep', ['-f', join(root, 'slow.mjs')], { encoding: 'utf8' });
  expect(left.stdout.trim()).toBe('');
});

test("an agent without a sandbox that has read the person's token is not the person", async () => {
  configure({
    sly: `
      import { readFileSync } from 'node:fs';
      const token = readFileSync('.baton/serve.token', 'utf8').trim();
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json' };
      const body = JSON.stringify({ title: 'By the person, it says' });
      const response = await fetch(process.env.BATON_URL + '/v1/tasks', { method: 'POST', headers, body });
      console.log(response.status, (await response.json()).error?.code);`,
  });
  const config = JSON.parse(readFileSync(join(dir, 'config.yaml'), 'utf8'));
  writeFileSync(join(dir, 'config.yaml'), JSON.stringify({ ...config, defaults: { sandbox: 'off' } }));
  const server = await start();
  const { id } = await server.call('/v1/tasks', { title: 'Be sly', agent: 'sly' });
  await eventsUntil(`${server.url}/v1/events?after=0`, server.headers, ({ type }) => type === 'run.output');
  const log = await (await fetch(`${server.url}/v1/runs/${id}-r1/log?stream=out`, { headers: server.headers })).text();
  expect(log).toBe('403 E_PERMISSION_DENIED\n');
  expect(await server.call('/v1/tasks')).toHaveLength(1);
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});

test('the token is kept, and made anew where others could have read it', async () => {
  const first = await start();
  const token = readFileSync(first.file, 'utf8');
  expect(token).toMatch(/^[\w-]{43}\n$/);
  first.child.kill('SIGINT');
  expect(await first.ended).toBe(0);
  const second = await start();
  expect(readFileSync(second.file, 'utf8')).toBe(token);
  second.child.kill('SIGINT');
  await second.ended;
  chmodSync(first.file, 0o644);
  const third = await start();
  expect(readFileSync(third.file, 'utf8')).not.toBe(token);
  expect(statSync(third.file).mode & 0o777).toBe(0o600);
  third.child.kill('SIGINT');
  await third.ended;
  rmSync(first.file);
  symlinkSync(join(root, 'elsewhere'), first.file);
  const refused = baton(['serve', '--port', '0'], '', root);
  expect([refused.exit, refused.err]).toEqual([1, expect.stringContaining('serve.token')]);
  expect(existsSync(join(root, 'elsewhere'))).toBe(false);
});

test('a port in use and a bad address are one clear sentence', async () => {
  const server = await start();
  const port = new URL(server.url).port;
  const taken = baton(['serve', '--port', port], '', root);
  expect([taken.exit, taken.err]).toEqual([
    2,
    expect.stringMatching(
      new RegExp(`^baton: expected a free port, but ${port} of 127.0.0.1 is in use \\(E_USAGE\\)\n`),
    ),
  ]);
  expect(baton(['serve', '--port', '99999'], '', root).exit).toBe(2);
  expect(baton(['serve', '--port', '0', '--host', '192.0.2.1'], '', root)).toMatchObject({ exit: 2 });
  server.child.kill('SIGTERM');
  await server.ended;
});

test('on all addresses it says so, and still asks for the token', async () => {
  const server = await start('--host', '0.0.0.0');
  expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect((await fetch(`${server.url}/v1/tasks`)).status).toBe(401);
  expect((await fetch(`${server.url}/v1/tasks`, { headers: server.headers })).status).toBe(200);
  await expect.poll(() => server.err()).toContain('other machines can reach this');
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
});
