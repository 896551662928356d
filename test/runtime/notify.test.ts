/** Who is told of what happens: by webhook, command and file; once within a window; and never so that work waits for it. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { configOf } from '../../src/core/config.ts';
import type { Event } from '../../src/core/laws/decision.ts';
import type { Store, StoredRecord } from '../../src/core/store.ts';
import { type Notifier, type NotifyOptions, openNotifier } from '../../src/runtime/notify.ts';
import { signature } from '../../src/runtime/notify-channels.ts';
import { type RunWatch, watchRuns } from '../../src/runtime/run-watch.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { openStore } from '../../src/store/open.ts';
import { makeWorld, reportText, taskOf, until } from './world.ts';

interface Request {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly url: string;
  readonly json: Record<string, unknown>;
}

interface Receiver {
  readonly url: string;
  readonly requests: Request[];
  /** What it answers, by the number of the request. */
  answer: (response: ServerResponse, number: number) => void;
}

const servers: Server[] = [];
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function receive(): Promise<Receiver> {
  const receiver = {
    url: '',
    requests: [] as Request[],
    answer: (response: ServerResponse) => void response.end('ok'),
  };
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { headers, url = '' } = request;
      receiver.requests.push({ headers, body, url, json: JSON.parse(body) as Record<string, unknown> });
      (receiver.answer as Receiver['answer'])(response, receiver.requests.length);
    });
  });
  servers.push(server);
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook/sesame`;
  return receiver;
}

interface Scene {
  readonly dir: string;
  readonly store: Store;
  readonly watch: RunWatch;
  readonly notifier: Notifier;
  readonly warnings: string[];
  add(title: string): Promise<string>;
  move(id: string, to: 'ready' | 'blocked' | 'deadletter'): Promise<void>;
  note(event: string, task?: string): Promise<void>;
  /** What the journal says that notifying left in it. */
  own(): Promise<readonly Event[]>;
}

const FAST = { backoffMs: [20, 20], timeoutMs: 60_000 };

async function scene(notify: readonly object[], more: Partial<NotifyOptions> = {}): Promise<Scene> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-notify-')));
  const dir = join(root, '.baton');
  const store = await openStore(dir, { create: true });
  const watch = await watchRuns(store);
  const warnings: string[] = [];
  const notifier = openNotifier({
    store,
    dir,
    config: configOf({ notify }),
    environment: process.env,
    watch,
    now: Date.now,
    warn: (text) => void warnings.push(text),
    attempts: FAST,
    closeMs: 60_000,
    ...more,
  });
  let isClosed = false;
  const once: Notifier = {
    async close() {
      if (isClosed) return;
      isClosed = true;
      await notifier.close();
    },
  };
  undo.push(async () => {
    await once.close();
    await watch.close();
    await store.close();
    rmSync(root, { recursive: true, force: true });
  });
  const by = { kind: 'person' as const, name: 'test' };
  return {
    dir,
    store,
    watch,
    notifier: once,
    warnings,
    async add(title) {
      const answer = await store.send({ message: { type: 'task.add', tasks: [{ title, status: 'ready' }] }, by });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
      return answer.tasks[0]?.id ?? '';
    },
    async move(id, to) {
      const answer = await store.send({ message: { type: 'task.move', id, to, reason: 'because' }, by });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    },
    async note(event, task) {
      await store.send({ message: { type: 'note', event, detail: {}, ...(task === undefined ? {} : { task }) }, by });
    },
    async own() {
      const found: Event[] = [];
      for await (const { events } of store.eventsAfter({ after: 0 }))
        found.push(...events.filter(({ type }) => type.startsWith('notify.')));
      return found;
    },
  };
}

const linesOf = (path: string): Record<string, unknown>[] =>
  existsSync(path)
    ? readFileSync(path, 'utf8')
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line) as Record<string, unknown>)
    : [];

describe('webhook', () => {
  test('is signed, and says what happened to which task', async () => {
    const receiver = await receive();
    const rule = { on: ['task.blocked'], to: { webhook: receiver.url, secret_env: 'HOOK_SECRET' } };
    const at = await scene([rule], { environment: { HOOK_SECRET: 'open' } });
    const id = await at.add('Mend the roof');
    await at.move(id, 'blocked');
    await until('it is told', () => receiver.requests.length === 1);
    const [{ headers, body, json }] = receiver.requests as [Request];
    expect(json).toMatchObject({
      ...{ event: 'task.blocked', type: 'task.transitioned', task: id, title: 'Mend the roof', status: 'blocked' },
      ...{ by: 'test', byKind: 'person', cause: { code: 'E_MOVED', message: 'because' } },
      detail: { from: 'ready', to: 'blocked', reason: 'because' },
    });
    expect(headers['x-baton-event']).toBe('task.blocked');
    expect(headers['x-baton-delivery']).toBe(json['id']);
    const timestamp = String(headers['x-baton-timestamp']);
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(30);
    expect(headers['x-baton-signature']).toBe(signature('open', timestamp, body));
    expect(headers['x-baton-signature']).not.toBe(signature('shut', timestamp, body));
    expect(await at.own()).toEqual([]);
  });

  test('is not sent unsigned where its secret is not set', async () => {
    const receiver = await receive();
    const at = await scene([{ on: ['*'], to: { webhook: receiver.url, secret_env: 'NOT_SET' } }], { environment: {} });
    await at.add('x');
    await at.notifier.close();
    expect(receiver.requests).toEqual([]);
    expect(await at.own()).toMatchObject([
      { type: 'notify.failed', detail: { reason: 'the variable NOT_SET that holds its secret is not set' } },
    ]);
  });

  test('is tried again when it fails, with the same delivery id', async () => {
    const receiver = await receive();
    receiver.answer = (response, number) => {
      if (number === 1) response.destroy();
      else response.writeHead(number === 2 ? 503 : 204).end();
    };
    const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }]);
    await at.add('x');
    await until('it is taken', () => receiver.requests.length === 3);
    expect(new Set(receiver.requests.map(({ headers }) => headers['x-baton-delivery'])).size).toBe(1);
    expect(receiver.requests[0]?.headers['x-baton-signature']).toBeUndefined();
    await at.notifier.close();
    expect(await at.own()).toEqual([]);
  });

  test('that stays away is given up, which is written down without its secret path, and told to nobody', async () => {
    const receiver = await receive();
    receiver.answer = (response) => void response.writeHead(500).end();
    const at = await scene([{ on: ['*'], to: { webhook: receiver.url } }]);
    const id = await at.add('x');
    await until('it is tried three times', () => receiver.requests.length === 3);
    await at.notifier.close();
    const own = await at.own();
    expect(own).toMatchObject([
      {
        type: 'notify.failed',
        task: id,
        detail: { rule: 0, event: 'task.created', attempts: 3, reason: 'it answered 500' },
      },
    ]);
    expect(JSON.stringify(own)).not.toContain('sesame');
    // The note itself was not told.
    expect(receiver.requests).toHaveLength(3);
  });

  test('that nobody listens to is tried again, whatever its port', async () => {
    const at = await scene([{ on: ['task.created'], to: { webhook: 'http://127.0.0.1:9/x' } }]);
    await at.add('x');
    await at.notifier.close();
    expect(await at.own()).toMatchObject([
      { detail: { channel: 'webhook http://127.0.0.1:9', attempts: 3, reason: 'connect ECONNREFUSED 127.0.0.1:9' } },
    ]);
  });

  test('what is refused for good is not tried again', async () => {
    const receiver = await receive();
    receiver.answer = (response) => void response.writeHead(404).end();
    const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }]);
    await at.add('x');
    await at.notifier.close();
    expect(receiver.requests).toHaveLength(1);
    expect(await at.own()).toMatchObject([{ detail: { attempts: 1, reason: 'it answered 404' } }]);
  });

  test('is led on within its host, and to no other', async () => {
    const [receiver, other] = [await receive(), await receive()];
    receiver.answer = (response, number) =>
      void response.writeHead(number === 2 ? 200 : 307, { location: number === 1 ? '/there' : other.url }).end();
    const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }]);
    await at.add('x');
    await until('it was led on', () => receiver.requests[1]?.url === '/there');
    await at.add('y');
    await at.notifier.close();
    expect(other.requests).toEqual([]);
    expect(await at.own()).toMatchObject([
      { detail: { attempts: 1, reason: 'it answered 307 and leads to another host, which is not followed' } },
    ]);
  });

  test('that never answers is given up in time, and the end does not wait for long', async () => {
    const receiver = await receive();
    receiver.answer = () => {};
    const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }], {
      attempts: { backoffMs: [300_000], timeoutMs: 300_000 },
      closeMs: 300,
    });
    await at.add('x');
    await at.add('y');
    await until('it was asked', () => receiver.requests.length === 1);
    await at.notifier.close();
    expect((await at.own()).map(({ detail }) => detail?.['reason']).sort()).toEqual([
      'Baton ended before they were sent',
      'there was no time left',
    ]);
  });

  test('one with a time-out is tried again', async () => {
    const receiver = await receive();
    receiver.answer = (response, number) => {
      if (number > 1) response.end();
    };
    const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }], {
      // On a busy machine the answer too may take longer than that; then it is asked once more.
      attempts: { backoffMs: Array.from({ length: 50 }, () => 10), timeoutMs: 150 },
    });
    await at.add('x');
    await until('it was asked again', () => receiver.requests.length > 1);
    await at.notifier.close();
    expect(await at.own()).toEqual([]);
  });
});

describe('the same thing', () => {
  test('is told once within the window, of each task and each rule', async () => {
    let now = 1_000_000_000_000;
    const at = await scene(
      [
        { on: ['task.blocked'], to: { file: 'a.jsonl' } },
        { on: ['blocked'], to: { file: 'b.jsonl' }, window_seconds: 0 },
      ],
      { now: () => now },
    );
    const [one, two] = [await at.add('one'), await at.add('two')];
    for (const id of [one, one, two]) {
      await at.move(id, 'blocked');
      await at.move(id, 'ready');
    }
    await at.watch.caughtUp();
    now += 299_000;
    await at.move(one, 'blocked');
    await at.move(one, 'ready');
    await at.watch.caughtUp();
    now += 2_000;
    await at.move(one, 'blocked');
    await at.notifier.close();
    expect(linesOf(join(at.dir, 'a.jsonl')).map(({ title }) => title)).toEqual(['one', 'two', 'one']);
    expect(linesOf(join(at.dir, 'b.jsonl'))).toHaveLength(5);
  });

  test('is told every time where it is a deadletter, a shutdown or a recovery', async () => {
    const at = await scene([{ on: ['task.deadletter', 'shutdown', '*.recovered'], to: { file: 'a.jsonl' } }]);
    const id = await at.add('x');
    for (const _ of [1, 2]) {
      await at.move(id, 'deadletter');
      await at.move(id, 'ready');
      for (const event of ['shutdown', 'run.expired', 'run.resumed', 'store.recovered']) await at.note(event, id);
    }
    await at.notifier.close();
    const told = linesOf(join(at.dir, 'a.jsonl')).map(({ event }) => event);
    const once = ['task.deadletter', 'shutdown', 'run.recovered', 'run.recovered', 'store.recovered'];
    expect(told).toEqual([...once, ...once]);
  });

  test('is told by one of several Batons in a folder; when that one goes, by another', async () => {
    const at = await scene([{ on: ['task.created'], to: { file: 'a.jsonl' } }]);
    const second = openNotifier({
      ...{ store: at.store, dir: at.dir, environment: {}, watch: at.watch, now: Date.now, warn: () => {} },
      config: configOf({ notify: [{ on: ['task.created'], to: { file: 'b.jsonl' } }] }),
    });
    await at.add('x');
    await at.watch.caughtUp();
    await at.notifier.close();
    await at.add('y');
    await at.watch.caughtUp();
    await second.close();
    expect(linesOf(join(at.dir, 'a.jsonl')).map(({ title }) => title)).toEqual(['x']);
    expect(linesOf(join(at.dir, 'b.jsonl')).map(({ title }) => title)).toEqual(['y']);
  });

  test('is not told by one that ends while it is the turn of another', async () => {
    const at = await scene([{ on: ['task.created'], to: { file: 'a.jsonl' } }]);
    // What it sees, it sees while it closes.
    const records: StoredRecord[] = [];
    undo.push(at.watch.onRecord((record) => void records.push(record)));
    let see: (record: StoredRecord) => void = () => {};
    const watch: NotifyOptions['watch'] = {
      onRecord(listener) {
        see = listener;
        return () => {};
      },
      async caughtUp() {
        for (const record of records) see(record);
      },
    };
    const second = openNotifier({
      ...{ store: at.store, dir: at.dir, environment: {}, watch, now: Date.now, warn: () => {} },
      config: configOf({ notify: [{ on: ['task.created'], to: { file: 'b.jsonl' } }] }),
    });
    await at.add('x');
    await at.watch.caughtUp();
    await second.close();
    await at.notifier.close();
    expect(linesOf(join(at.dir, 'a.jsonl')).map(({ title }) => title)).toEqual(['x']);
    expect(existsSync(join(at.dir, 'b.jsonl'))).toBe(false);
  });
});

test('a queue is bounded: the oldest go, and that is written down', async () => {
  const receiver = await receive();
  const held: ServerResponse[] = [];
  receiver.answer = (response) => void held.push(response);
  const at = await scene([{ on: ['task.created'], to: { webhook: receiver.url } }], { mostWaiting: 3 });
  await at.add('0');
  await until('the first is under way', () => held.length === 1);
  for (const title of ['1', '2', '3', '4', '5', '6']) await at.add(title);
  await at.watch.caughtUp();
  receiver.answer = (response) => void response.end();
  held[0]?.end();
  await until('the rest is told', () => receiver.requests.length === 4);
  await at.notifier.close();
  expect(receiver.requests.map(({ json }) => json['title'])).toEqual(['0', '4', '5', '6']);
  expect(await at.own()).toMatchObject([{ type: 'notify.dropped', detail: { rule: 0, count: 3 } }]);
});

describe('command', () => {
  const script = (at: string, content: string): string => {
    const path = join(realpathSync(mkdtempSync(join(tmpdir(), 'baton-tell-'))), at);
    writeFileSync(path, content, { mode: 0o755 });
    undo.push(() => rmSync(join(path, '..'), { recursive: true, force: true }));
    return path;
  };

  test('gets it on its stdin', async () => {
    const tell = script(
      'tell',
      '#!/bin/sh\ncat > "$(dirname "$0")/got"; echo "$BATON_EVENT" > "$(dirname "$0")/event"\n',
    );
    const at = await scene([{ on: ['task.blocked'], to: { command: [tell] } }]);
    const id = await at.add('Mend the roof');
    await at.move(id, 'blocked');
    await at.notifier.close();
    expect(linesOf(join(tell, '..', 'got'))).toMatchObject([{ event: 'task.blocked', title: 'Mend the roof' }]);
    expect(readFileSync(join(tell, '..', 'event'), 'utf8')).toBe('task.blocked\n');
    expect(await at.own()).toEqual([]);
  });

  test.each([
    ['that fails', 60_000, '#!/bin/sh\necho no such luck >&2\nexit 3\n', /^it ended with 3: no such luck$/],
    ['that hangs is ended', 200, '#!/bin/sh\nsleep 600\n', /^it took longer than 200 ms$/],
  ])('%s', async (_, timeoutMs, content, reason) => {
    const tell = script('tell', content);
    const at = await scene([{ on: ['task.created'], to: { command: [tell] } }], {
      attempts: { backoffMs: [], timeoutMs },
    });
    await at.add('x');
    await at.notifier.close();
    expect(await at.own()).toMatchObject([
      { type: 'notify.failed', detail: { channel: `command ${tell}`, reason: expect.stringMatching(reason) } },
    ]);
  });

  test('that is not there', async () => {
    const at = await scene([{ on: ['task.created'], to: { command: ['no-such-program-at-all'] } }]);
    await at.add('x');
    await at.notifier.close();
    expect(await at.own()).toMatchObject([
      { detail: { reason: expect.stringContaining('expected the program no-such-program-at-all') } },
    ]);
  });
});

test('a file that cannot be written is written down, and harms nothing', async () => {
  const at = await scene([{ on: ['task.created'], to: { file: 'config.yaml/x' } }]);
  writeFileSync(join(at.dir, 'config.yaml'), '');
  await at.add('x');
  await at.notifier.close();
  expect(await at.own()).toMatchObject([{ type: 'notify.failed', detail: { channel: 'file config.yaml/x' } }]);
});

test('what would be a secret in a detail is not told', async () => {
  const at = await scene([{ on: ['odd'], to: { file: 'a.jsonl' } }]);
  const message = { type: 'note' as const, event: 'odd', detail: { password: 'hunter2', text: 'x'.repeat(10) } };
  await at.store.send({ message, by: { kind: 'person', name: 'test' } });
  await at.notifier.close();
  expect(JSON.stringify(linesOf(join(at.dir, 'a.jsonl')))).not.toContain('hunter2');
});

test('a run is not delayed by a server that never answers, and its end is told', async () => {
  const [deaf, good] = [await receive(), await receive()];
  deaf.answer = () => {};
  const world = await makeWorld({
    config: {
      agents: { a: { kind: 'command', command: ['agent'] } },
      defaults: { sandbox: 'off' },
      notify: [
        { on: ['*'], to: { webhook: deaf.url } },
        { on: ['run.started', 'done'], to: { webhook: good.url } },
      ],
    },
  });
  world.script('agent', `#!/bin/sh\ncat <<'E'\n${reportText()}\nE\n`);
  const ran = await world.run(taskOf(world, { agent: 'a' }));
  expect(ran.task.status).toBe('done');
  await until('its end is told', () => good.requests.length === 2);
  expect(good.requests.map(({ json }) => json['event'])).toEqual(['run.started', 'task.done']);
  // The first message for the deaf server is still being tried: each has four attempts of ten seconds.
  expect(new Set(deaf.requests.map(({ headers }) => headers['x-baton-delivery'])).size).toBe(1);
});

test('being told to stop is told, once', async () => {
  const world = await makeWorld({
    config: {
      agents: { a: { kind: 'command', command: ['agent'] } },
      defaults: { sandbox: 'off' },
      notify: [{ on: ['shutdown'], to: { file: 'a.jsonl' } }],
    },
  });
  world.script('agent', '#!/bin/sh\ntouch started\nsleep 600\n');
  const leaving = new AbortController();
  const running = world.run(taskOf(world, { agent: 'a' }), { leaving: leaving.signal });
  await until('it runs', () => world.read('started') !== null);
  leaving.abort();
  await running.catch(() => {});
  await workOn(world.host, { parallel: 1, untilEmpty: true, leaving: leaving.signal });
  await until('it is told', () => linesOf(join(world.dir, 'a.jsonl')).length > 0);
  const records: StoredRecord[] = [];
  for await (const record of world.store.eventsAfter({ after: 0 })) records.push(record);
  const noted = records.flatMap(({ events }) => events).filter(({ type }) => type === 'shutdown');
  expect(noted).toMatchObject([{ detail: { pid: process.pid, stopped: [expect.stringMatching(/^TASK-/)] } }]);
  expect(linesOf(join(world.dir, 'a.jsonl'))).toMatchObject([{ event: 'shutdown', task: null }]);
});
