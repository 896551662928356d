/** What a session remembers outlives the process that was told: closed, or killed in the middle; and another process sees the same. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { logOf } from '../../src/session/log.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../helpers/until.ts';
import { type Talk, talk } from './talk.ts';

const ROOT = join(import.meta.dirname, '../..');
/** Says each line of its standard input in the session, as the agent that it was started for. */
const WORKER = `
import { createInterface } from 'node:readline';
import { DEFAULT_CONFIG } from './src/core/config.ts';
import { createInterpreter } from './src/session/interpreter.ts';
import { openStore } from './src/store/open.ts';
const [dir = '', agent = ''] = process.argv.slice(2);
const store = await openStore(dir);
const parts = { store, config: DEFAULT_CONFIG, dir, workspace: dir, now: Date.now, askAgent: null };
const interpreter = createInterpreter({ ...parts, countTokens: (text) => text.length / 4, warn: console.error });
const voice = { session: 's', speaker: { agent, run: null, priority: 'P2', leads: false }, actor: { kind: 'agent', name: agent } };
for await (const line of createInterface(process.stdin)) {
  console.log((await interpreter.do(line, voice)).reply.replaceAll('\\n', ' | '));
}
await store.close();
`;

let folder = '';
const script = (): string => join(folder, 'worker.mjs');
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-durable-'));
  await build({
    stdin: { contents: WORKER, resolveDir: ROOT, loader: 'ts' },
    outfile: script(),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    banner: { js: "import{createRequire as $r}from'node:module';const require=$r(import.meta.url);" },
  });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Speaking {
  readonly child: ChildProcess;
  say(line: string): Promise<string>;
  ended: Promise<unknown>;
}

function speaker(dir: string, agent: string): Speaking {
  const child = spawn(process.execPath, [script(), dir, agent], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const waiting: ((line: string) => void)[] = [];
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n')) {
      waiting.shift()?.(text.slice(0, end));
      text = text.slice(end + 1);
    }
  });
  return {
    child,
    say: (line) =>
      new Promise((resolve) => {
        waiting.push(resolve);
        child.stdin.write(`${line}\n`);
      }),
    ended: new Promise((resolve) => child.once('exit', resolve)),
  };
}

async function newFolder(): Promise<string> {
  const dir = join(mkdtempSync(join(folder, 'data-')), '.baton');
  await (await openStore(dir, { create: true })).close();
  return dir;
}

test('all that was answered is there after a kill -9, and the log too', async () => {
  const dir = await newFolder();
  const first = speaker(dir, 'DevAgent');
  for (let i = 0; i < 20; i++) expect(await first.say(`#STATE:save:k${i}:value ${i}`)).toBe(`saved:k${i}`);
  expect(await first.say('#LOCK:x:600')).toBe('locked');
  expect(await first.say('#SUBSCRIBE:news')).toBe('subscribed:news');
  expect(await first.say('{{V}}: "kept"')).toBe('saved:V');
  first.child.kill('SIGKILL');
  await first.ended;
  const second = speaker(dir, 'TestAgent');
  expect(await second.say('#STATE:load:k19')).toBe('value 19');
  expect(await second.say('#STATE:save:one_more:x')).toMatch(/^#ERROR:E003/);
  expect(await second.say('#LOCK:x:60')).toBe('busy:DevAgent');
  expect(await second.say('#BROADCAST:news:hello')).toBe('sent:1');
  expect(await second.say('#STATE:save:k0:{{V}}')).toBe('saved:k0');
  second.child.stdin?.end();
  await second.ended;
  const store = await openStore(dir);
  const it: Talk = await talk({ store });
  expect(await it.say('#STATE:load:k0')).toBe('kept');
  expect((await store.sessions()).map(({ id }) => id)).toEqual(['s']);
  expect((await store.verify()).ok).toBe(true);
  const log = readFileSync(logOf(dir, 's'), 'utf8').trimEnd().split('\n');
  expect(log).toHaveLength(23 + 5);
  expect(log[22]).toMatch(/^\[.*\] \[\{\{V\}\}: "kept"\] \[saved:V\] \[\d+ms\]$/);
  await store.close();
  await it.close();
});

test('a wait in one process is woken by a signal from another, also when the first to open is gone', async () => {
  const dir = await newFolder();
  const owner = speaker(dir, 'owner');
  expect(await owner.say('#LOCK:x:600')).toBe('locked');
  const [waiter, other] = [speaker(dir, 'a'), speaker(dir, 'b')];
  const ready = waiter.say('#WAIT:dev_complete:60');
  const lock = other.say('#WAIT:x:60');
  const store = await openStore(dir);
  const waiters = async (): Promise<number> => Object.keys((await store.session('s'))?.waiters ?? {}).length;
  await until('both wait', async () => (await waiters()) === 2);
  owner.child.kill('SIGKILL');
  await owner.ended;
  const last = speaker(dir, 'c');
  expect(await last.say('#SIGNAL:dev_complete:true')).toBe('signaled:1');
  expect(await ready).toBe('ready');
  // Nobody leads here, so nobody takes the lock of the one that is gone; whoever leads may.
  expect(await last.say('#UNLOCK:x')).toBe('not_owner');
  const it = await talk({ store });
  expect(await it.say('#UNLOCK:x')).toBe('unlocked');
  expect(await lock).toBe('ready');
  for (const each of [waiter, other, last]) each.child.stdin?.end();
  await Promise.all([waiter, other, last].map(({ ended }) => ended));
  await store.close();
  await it.close();
});
