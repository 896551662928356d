/** One process group a run, and nothing survives it; what others do to a run, and its place among them. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configOf } from '../../src/core/config.ts';
import type { Task } from '../../src/core/task.ts';
import { openHost } from '../../src/runtime/host.ts';
import { logFolder } from '../../src/runtime/places.ts';
import { runTask } from '../../src/runtime/run.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { openStore } from '../../src/store/open.ts';
import { hasSandbox } from '../helpers/sandbox.ts';
import {
  alivePids,
  makeWorld,
  newSleep,
  REPORT,
  reportText,
  sh,
  shellWorld,
  taskOf,
  until,
  type World,
} from './world.ts';

const PERSON = { kind: 'person', name: 'test' } as const;
const NEVER = new AbortController().signal;

const escapes: readonly (readonly [string, (name: string) => string])[] = [
  ['a background child', (name) => `sleep ${name} &`],
  ['a daemon in a session of its own', (name) => `setsid sleep ${name} </dev/null >/dev/null 2>&1 &`],
  ['a double fork', (name) => `(setsid sh -c 'sleep ${name} & exit 0' &)`],
  [
    'a double fork with nothing in its environment',
    (name) => `(setsid env -i PATH="$PATH" sh -c 'sleep ${name} & exit 0' &) ; sleep 0.6`,
  ],
];

test.each<'off' | 'require'>(hasSandbox ? ['off', 'require'] : ['off'])(
  'what an agent leaves running ends with it (sandbox %s)',
  async (sandbox) => {
    const names = escapes.map(() => newSleep());
    const agents = Object.fromEntries(
      escapes.map(([, script], i) => [`a${i}`, `${script(names[i] as string)}\n${REPORT}`]),
    );
    const world = await shellWorld(agents, sandbox);
    const all = await world.runAll(
      escapes.map((_, i) => taskOf(world, { agent: `a${i}` })),
      { parallel: 4 },
    );
    for (const [i, { task, told }] of all.entries()) {
      expect([escapes[i]?.[0], task.status, alivePids(names[i] as string)]).toEqual([escapes[i]?.[0], 'done', []]);
      expect(told('run.enforced')[0]?.['sandbox']).toBe(sandbox === 'off' ? 'none' : 'bubblewrap');
    }
    expect(world.alive()).toEqual([]);
  },
);

const snapshotOf = (path: string) => ({
  type: 'text',
  path,
  rollback_snapshot: { enabled: true, snapshot_strategy: 'COPY' as const },
});

test('a task that another client cancels: its run stops, its processes end, its work is taken back', async () => {
  const name = newSleep();
  const world = await shellWorld({ a: `echo after > out.txt; setsid sleep ${name} & sleep ${name}` });
  world.write('out.txt', 'before\n');
  const client = await openStore(world.dir);
  try {
    const running = world.run(taskOf(world, { agent: 'a', task: { expected_outputs: [snapshotOf('out.txt')] } }));
    await until('it works', () => alivePids(`sleep\0${name}`).length === 2);
    let [id] = ['' as string | undefined];
    for await (const task of client.tasks({ status: ['in-progress'] })) id = task.id;
    const answer = await client.send({ message: { type: 'task.cancel', id: id ?? '', reason: 'enough' }, by: PERSON });
    expect(answer.kind).toBe('changed');
    const { task, last, told } = await running;
    expect(task).toMatchObject({ status: 'cancelled', run: { status: 'cancelled' } });
    expect(last.response.task_status).toMatchObject({ state: 'ABORTED', final_signal: 'ABORTED' });
    expect(told('rollback.initiated')).toMatchObject([{ trigger: 'TASK_CANCELLED' }]);
    expect(world.read('out.txt')).toBe('before\n');
    expect([...alivePids(name), ...world.alive()]).toEqual([]);
  } finally {
    await client.close();
  }
});

const claim = async (world: World, id: string): Promise<Task> => {
  const answer = await world.store.send({
    message: {
      type: 'task.claim',
      id,
      claimer: { agent: 'a', any: true },
      leaseMs: 60_000,
      supervisor: world.host.supervisor,
    },
    by: { kind: 'runtime', name: 'baton' },
  });
  if (answer.kind !== 'changed') throw new Error(JSON.stringify(answer));
  return answer.tasks[0] as Task;
};

test('a task that was cancelled before its run began to listen is not begun', async () => {
  const world = await shellWorld({ a: `touch begun; ${REPORT}` });
  const [added] = await world.add(taskOf(world, { agent: 'a' }));
  const task = await claim(world, added?.id ?? '');
  await world.store.send({ message: { type: 'task.cancel', id: task.id }, by: PERSON });
  const result = await runTask(world.host, task);
  expect(result.task.status).toBe('cancelled');
  expect(world.read('begun')).toBeNull();
});

test('a check that is under way ends with its run', async () => {
  const name = newSleep();
  const world = await shellWorld({ a: `echo made > out.txt; ${REPORT}` });
  const leaving = new AbortController();
  const validation = { command: `sleep ${name}`, expects: 'EXIT_CODE_0' as const };
  const running = world.run(
    taskOf(world, { agent: 'a', task: { expected_outputs: [{ type: 'text', path: 'out.txt', validation }] } }),
    { leaving: leaving.signal },
  );
  await until('it is checked', () => alivePids(`sleep\0${name}`).length === 1);
  leaving.abort();
  const { task } = await running;
  expect(task).toMatchObject({ status: 'ready', attempts: 0, cause: { code: 'E_RUN_EXPIRED' } });
  expect(task.cause?.message).toContain('asked to stop');
  expect(alivePids(name)).toEqual([]);
});

test('a task that is made ready while it runs is begun again only when the first run is over', async () => {
  const world = await shellWorld({
    a: `echo start $BATON_ATTEMPT >> trace
trap 'sleep 0.7; echo end 1 >> trace; exit 1' TERM
if [ $BATON_ATTEMPT = 1 ]; then while :; do sleep 0.05; done; fi
echo end 2 >> trace
${REPORT}`,
  });
  const running = world.run(taskOf(world, { agent: 'a' }));
  await until('it works', () => world.read('trace') === 'start 1\n');
  for await (const { id } of world.store.tasks())
    await world.store.send({ message: { type: 'task.move', id, to: 'ready' }, by: PERSON });
  const { task } = await running;
  expect(task).toMatchObject({ status: 'done', attempts: 2 });
  expect(world.read('trace')).toBe('start 1\nend 1\nstart 2\nend 2\n');
});

test('the same, when it is another Baton that takes the task', async () => {
  const world = await shellWorld({
    a: `echo start $BATON_ATTEMPT >> trace
trap 'sleep 0.7; echo end 1 >> trace; exit 1' TERM
if [ $BATON_ATTEMPT = 1 ]; then while :; do sleep 0.05; done; fi
echo end 2 >> trace
${REPORT}`,
  });
  const [added] = await world.add(taskOf(world, { agent: 'a' }));
  const first = runTask(world.host, await claim(world, added?.id ?? ''));
  await until('it works', () => world.read('trace') === 'start 1\n');
  await world.store.send({ message: { type: 'task.move', id: added?.id ?? '', to: 'ready' }, by: PERSON });
  const second = await runTask(world.host, await claim(world, added?.id ?? ''));
  await first;
  expect(second.task).toMatchObject({ status: 'done', attempts: 2 });
  expect(world.read('trace')).toBe('start 1\nend 1\nstart 2\nend 2\n');
});

test('fifty runs at once leave nothing', async () => {
  const name = newSleep();
  const world = await shellWorld({ a: `sleep ${name} & setsid sleep ${name} & ${REPORT}` });
  const messages = Array.from({ length: 50 }, () => taskOf(world, { agent: 'a' }));
  const all = await world.runAll(messages, { parallel: 50 });
  expect(all.filter(({ task }) => task.status === 'done')).toHaveLength(50);
  expect([...alivePids(name), ...world.alive()]).toEqual([]);
});

test('an agent that closes its output and works on is waited for', async () => {
  const world = await shellWorld({ a: `${REPORT}\nexec 1>&- 2>&-\nsleep 0.7\necho made > out.txt` });
  const { task } = await world.run(
    taskOf(world, { agent: 'a', task: { expected_outputs: [{ type: 'text', path: 'out.txt' }] } }),
  );
  expect([task.status, world.read('out.txt')]).toEqual(['done', 'made\n']);
});

test('an agent that prints 200 MB costs no memory, and all of it is in the log', async () => {
  const bytes = 200 * 1024 * 1024;
  const world = await shellWorld({
    a: `yes 'a line of what some agents print all day long' | head -c ${bytes}; echo; ${REPORT}`,
  });
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 20);
  const { task, last } = await world.run(taskOf(world, { agent: 'a' }));
  clearInterval(timer);
  expect(task.status).toBe('done');
  const log = statSync(join(logFolder(world.dir, task.run?.id ?? ''), 'out.log'));
  expect(log.size).toBe(bytes + 1 + reportText().length + 1);
  expect((most - before) / 1024 / 1024).toBeLessThan(64);
  expect(last.block.length).toBeLessThan(2000);
});

test('a prompt that nobody reads', async () => {
  const world = await shellWorld({ a: `sleep 0.3; ${REPORT}` });
  const { task } = await world.run(taskOf(world, { agent: 'a', objective: 'Read this. '.repeat(18_000) }));
  expect(task.status).toBe('done');
});

/** Each run notes how many there are while it is there, and stays until as many have come as there is room for. */
const counting = (room: number): string => `mkdir -p now; : > now/$BATON_RUN_ID; ls now | wc -l >> counts; sleep 0.15
i=0; while [ $(wc -l < counts) -lt ${room} ] && [ $i -lt 500 ]; do sleep 0.05; i=$((i+1)); done
rm now/$BATON_RUN_ID; ${REPORT}`;
const mostOf = (world: World): number => Math.max(...(world.read('counts') ?? '0').trim().split('\n').map(Number));

test('never more at once than `parallel`, and as many as that', async () => {
  const world = await shellWorld({ a: counting(3) });
  await world.runAll(
    Array.from({ length: 8 }, () => taskOf(world, { agent: 'a' })),
    { parallel: 3 },
  );
  expect(mostOf(world)).toBe(3);
});

test.each(['by name', 'as the default', 'freely'])('never more of one agent than its max_parallel: %s', async (how) => {
  const world = await makeWorld({
    config: {
      defaults: { sandbox: 'off', agent: 'one' },
      agents: { one: sh(counting(1), { max_parallel: 1 }), other: sh(REPORT) },
    },
  });
  const open = { orchestrator: 'baton' };
  const parts = how === 'as the default' ? { agent: 'default', model: 'default', session: open } : { agent: 'one' };
  const messages = Array.from({ length: 4 }, () => taskOf(world, parts));
  if (how !== 'freely') await world.runAll(messages, { parallel: 4 });
  else {
    await world.add(...messages);
    await workOn(world.host, { parallel: 4, untilEmpty: true, leaving: NEVER });
  }
  const done: string[] = [];
  for await (const task of world.store.tasks({ status: ['done'] })) done.push(task.run?.agent ?? '');
  expect([done, mostOf(world)]).toEqual([['one', 'one', 'one', 'one'], 1]);
});

test('two hosts on one store: each stops its own', async () => {
  const name = newSleep();
  const agents = { a: sh(`sleep ${name}`), b: sh(`until [ -e go ]; do sleep 0.05; done; ${REPORT}`) };
  const world = await makeWorld({ config: { defaults: { sandbox: 'off' }, agents } });
  const second = await openHost({
    store: world.store,
    dir: world.dir,
    config: configOf({ defaults: { sandbox: 'off' }, agents }),
    environment: world.host.environment,
    workspace: world.workspace,
  });
  try {
    const [a, b] = await world.add(taskOf(world, { agent: 'a' }), taskOf(world, { agent: 'b' }));
    const leaving = new AbortController();
    const first = workOn(world.host, { only: [a?.id ?? ''], parallel: 1, untilEmpty: true, leaving: leaving.signal });
    const other = workOn(second, { only: [b?.id ?? ''], parallel: 1, untilEmpty: true, leaving: NEVER });
    await until('both work', () => world.alive().length >= 2);
    leaving.abort();
    await first;
    expect(alivePids(name)).toEqual([]);
    expect(world.alive().length).toBeGreaterThan(0);
    world.write('go', '');
    await other;
    expect((await world.store.find(a?.id ?? ''))?.status).toBe('ready');
    expect((await world.store.find(b?.id ?? ''))?.status).toBe('done');
  } finally {
    await second.close();
  }
});

test('a program that names ever new conversations and is refused for ever fills neither the journal nor its report', async () => {
  const world = await makeWorld({
    config: { agents: { f: { kind: 'claude', command: ['node', 'f.mjs'] } }, defaults: { sandbox: 'off' } },
  });
  world.write(
    'f.mjs',
    `const say = (event) => console.log(JSON.stringify(event));
    for (let i = 0; i < 200; i++) say({ type: 'system', subtype: 'init', session_id: 's' + i });
    const permission_denials = Array.from({ length: 200 }, (_, i) => ({ tool_name: 'Bash', tool_use_id: 't' + i, tool_input: {} }));
    say({ type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: 's', permission_denials });`,
  );
  const ran = await world.run(taskOf(world, { agent: 'f', provider: 'CLAUDE' }));
  expect(ran.told('run.conversation')).toHaveLength(20);
  const refusals = ran.log('details.json').match(/was not allowed/g) ?? [];
  expect(refusals).toHaveLength(100);
});
