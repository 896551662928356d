/** What a run changes without the right to is found however the run ends, and after the next attempts too. */
import { expect, test } from 'vitest';
import { why } from '../../src/core/why.ts';
import type { RunResult } from '../../src/runtime/run.ts';
import { sandboxTest } from '../helpers/sandbox.ts';
import { makeWorld, type Ran, reportText, type TaskParts, taskOf, type World } from './world.ts';

/** The first attempt damages and ends badly; later ones do nothing wrong. */
const agent = (ending: string): readonly string[] => [
  'sh',
  '-c',
  `if [ "$BATON_ATTEMPT" = 1 ]; then echo x >> in/deep/a.txt; rm -f in/b.txt; echo x >> beside.txt; ${ending}; fi; echo made > out/made.txt
   cat <<'END'\n${reportText()}\nEND`,
];

const TASK: TaskParts['task'] = {
  access: { filesystem: { read_paths: ['.'], write_paths: ['out'] } },
  inputs: [{ path: 'in' }],
  expected_outputs: [{ path: 'out/made.txt' }],
};

async function worldWith(ending: string, config: object = {}): Promise<World> {
  const world = await makeWorld({
    config: { defaults: { sandbox: 'off' }, agents: { a: { kind: 'command', command: agent(ending) } }, ...config },
  });
  for (const name of ['in/deep/a.txt', 'in/b.txt', 'beside.txt', 'out/.keep']) world.write(name, 'as it was\n');
  return world;
}

const wrong = (result: RunResult | undefined): unknown => result?.response.error_details;

const NAMED = (world: World): RegExp =>
  new RegExp(
    `the input ${world.path('in')} is read-only, and it was changed.*${world.path('beside.txt')} \\(updated\\)`,
  );

const findingsOf = (ran: Ran): string => JSON.stringify(ran.told('run.damaged'));

test.each([
  ['fails', 'exit 3', {}],
  ['takes too long', 'sleep 600', { rails: { timeout_seconds: 1 } }],
])(
  'the damage of an attempt that %s is named with its failure, and found after the next one',
  async (_, ending, parts) => {
    const world = await worldWith(ending);
    const policy = { max_retries: 1, retry_backoff_seconds: [0] };
    const ran = await world.run(taskOf(world, { agent: 'a', task: TASK, policy, ...parts }));
    expect(ran.results).toHaveLength(2);
    const [first, second] = ran.results;
    expect(wrong(first)).toMatchObject({ message: expect.stringMatching(NAMED(world)) });
    expect(first?.block).toContain('is read-only');
    expect(second?.task.status).toBe('review');
    expect(wrong(second)).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    expect(findingsOf(ran)).toMatch(NAMED(world));
    const history = await world.store.history(ran.task.id);
    const because = why(ran.task, history, () => undefined, Date.now()).because;
    expect(because.filter(({ event }) => event === 'run.damaged')).toHaveLength(2);

    // A person has seen it: what they leave so is no damage of the next attempt.
    await world.store.send({ message: { type: 'task.retry', id: ran.task.id }, by: { kind: 'person', name: 'test' } });
    const moved = { type: 'task.move', id: ran.task.id, to: 'ready' } as const;
    await world.store.send({ message: moved, by: { kind: 'person', name: 'test' } });
    expect((await world.store.find(ran.task.id))?.status).toBe('ready');
  },
);

test('another model after a failure does not begin with a clean slate, and what is put back is no damage', async () => {
  // The second attempt puts the content back, under new times; the file beside stays as it is.
  const mend = `if [ "$BATON_ATTEMPT" = 2 ]; then echo 'as it was' > in/deep/a.txt; echo 'as it was' > in/b.txt; fi`;
  const [shell = '', flag = '', script = ''] = agent('exit 3');
  const world = await worldWith('exit 3', {
    agents: { a: { kind: 'command', command: [shell, flag, `${mend}; ${script}`] } },
  });
  const policy = {
    alternative_models: [{ provider: 'OTHER' as const, model: 'other', fallback_trigger: 'FIRST_ERROR' as const }],
  };
  const ran = await world.run(taskOf(world, { agent: 'a', task: TASK, policy }));
  expect(ran.results.map(({ task }) => task.status)).toEqual(['ready', 'review']);
  const message = JSON.stringify(wrong(ran.last));
  expect(message).not.toContain('is read-only');
  expect(message).toContain(`${world.path('beside.txt')} (updated)`);
});

sandboxTest(
  'in the sandbox a folder that is a read-only input stays as it is, though it lies where the rest may be written',
  async () => {
    const world = await worldWith('true', { defaults: { sandbox: 'require' } });
    const task = { ...TASK, access: { filesystem: { write_paths: ['.'] } } };
    const ran = await world.run(taskOf(world, { agent: 'a', task }));
    expect(world.read('in/deep/a.txt')).toBe('as it was\n');
    expect(world.read('in/b.txt')).toBe('as it was\n');
    expect(world.read('beside.txt')).toBe('as it was\nx\n');
    expect(ran.task.status).toBe('done');
  },
);

sandboxTest('a read-only folder in which the task has an output can be written there, and is compared', async () => {
  const world = await worldWith('true', { defaults: { sandbox: 'require' } });
  const task = { inputs: [{ path: 'in' }], expected_outputs: [{ path: 'in/made.txt' }, { path: 'out/made.txt' }] };
  const command = ['sh', '-c', `echo x > in/made.txt; echo x > out/made.txt; cat <<'END'\n${reportText()}\nEND`];
  const good = await makeWorld({ config: { agents: { a: { kind: 'command', command } } } });
  for (const name of ['in/b.txt', 'out/.keep']) good.write(name, 'as it was\n');
  const ran = await good.run(taskOf(good, { agent: 'a', task }));
  expect(ran.task.status).toBe('done');
  const missing = [
    `the read-only input ${good.path('in')}: the task has an output in it, so it is compared after the run`,
  ];
  expect(ran.told('run.enforced')[0]).toMatchObject({ missing });
  const bad = await world.run(taskOf(world, { agent: 'a', task }));
  expect(bad.told('run.damaged')).toEqual([
    { findings: [`the input ${world.path('in')} is read-only, and it was changed`] },
  ]);
});
