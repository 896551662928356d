/** The way back: exactly what a task's outputs were, when it fails for good or is aborted, and nothing of anybody else's. */
import { chmodSync, existsSync, lstatSync, mkdirSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { recover } from '../../src/runtime/recovery.ts';
import { sessionReport } from '../../src/runtime/session.ts';
import { EMMA, emma, output, print, REPORT_DONE } from './small-agents.ts';
import { makeWorld, type Ran, reportText, taskOf, until, type World } from './world.ts';

const kept = (path: string, strategy?: 'COPY' | 'GIT_STASH' | 'DIFF', place?: string): { type: string; path: string } =>
  output(path, {
    rollback_snapshot: {
      enabled: true,
      ...(strategy === undefined ? {} : { snapshot_strategy: strategy }),
      ...(place === undefined ? {} : { snapshot_path: place }),
    },
  });

const FAIL = print(reportText('failure', '- It went wrong.'));
const rolledBack = (ran: Ran): readonly Record<string, unknown>[] =>
  ran.told('rollback.initiated').flatMap((detail) => detail['artifacts_rolled_back'] as Record<string, unknown>[]);

function someFiles(world: World): void {
  world.write('plain.txt', 'plain before\n');
  world.write('run.sh', '#!/bin/sh\n');
  chmodSync(world.path('run.sh'), 0o750);
  symlinkSync('plain.txt', world.path('link'));
  world.write('tree/deep/a.txt', 'a before\n');
  world.write('other.txt', 'of a person\n');
}

const SPOIL = [
  'echo after > plain.txt; chmod 600 run.sh; echo x >> run.sh',
  'rm link; echo "no link any more" > link',
  'rm -r tree/deep; mkdir -p tree/new; echo b > tree/new/b.txt',
  'mkdir made; echo new > made/new.txt',
  'echo "edited meanwhile" > other.txt',
];

test.each(['COPY', 'GIT_STASH', 'DIFF'] as const)(
  '%s: a task that fails for good leaves its outputs as they were',
  async (strategy) => {
    const world = await makeWorld({ config: EMMA, git: true });
    someFiles(world);
    emma(world, ...SPOIL, FAIL);
    const outputs = ['plain.txt', 'run.sh', 'link', 'tree', 'made/new.txt'].map((path) => kept(path, strategy));
    const ran = await world.run(taskOf(world, { agent: 'emma', task: { expected_outputs: outputs } }));
    expect(ran.task.status).toBe('deadletter');
    expect(world.read('plain.txt')).toBe('plain before\n');
    expect(world.read('run.sh')).toBe('#!/bin/sh\n');
    expect(lstatSync(world.path('run.sh')).mode & 0o777).toBe(0o750);
    expect(readlinkSync(world.path('link'))).toBe('plain.txt');
    expect(world.read('tree/deep/a.txt')).toBe('a before\n');
    expect(world.read('tree/new/b.txt')).toBeNull();
    expect(world.read('made/new.txt')).toBeNull();
    // Not one of its outputs, so not ours to touch.
    expect(world.read('other.txt')).toBe('edited meanwhile\n');
    expect(ran.told('rollback.initiated')).toMatchObject([{ trigger: 'TASK_FAILED' }]);
    expect(new Set(rolledBack(ran).map(({ status }) => status))).toEqual(new Set(['SUCCESS']));
    expect(rolledBack(ran).map(({ path }) => path)).toEqual(
      expect.arrayContaining(outputs.map(({ path }) => expect.stringContaining(path))),
    );
    const report = await sessionReport({
      store: world.store,
      dir: world.dir,
      session: 'test-session',
      auditPath: 'audit',
      now: Date.now(),
    });
    expect(JSON.stringify(report)).toContain('TASK_FAILED');
    expect((report as unknown as { rollbacks: unknown[] }).rollbacks).toHaveLength(1);
  },
);

test('a task that is cancelled while it runs is rolled back too', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, 'echo after > out.txt; sleep 60');
  const message = taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt')] } });
  const running = world.run(message);
  await until('it has written', () => world.read('out.txt') === 'after\n');
  const { id = '' } = (await world.store.find(message.task.task_id)) ?? {};
  await world.store.send({
    message: { type: 'task.cancel', id, reason: 'enough' },
    by: { kind: 'person', name: 'me' },
  });
  const ran = await running;
  expect(ran.task.status).toBe('cancelled');
  expect(world.read('out.txt')).toBe('before');
  expect(ran.told('rollback.initiated')).toMatchObject([{ trigger: 'TASK_CANCELLED' }]);
  expect(world.alive()).toEqual([]);
});

test('all attempts go back to the beginning of the first', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, 'cat out.txt >> seen.txt; echo attempt $BATON_ATTEMPT > out.txt; exit 1');
  const ran = await world.run(
    taskOf(world, {
      agent: 'emma',
      task: { expected_outputs: [kept('out.txt')] },
      policy: { max_retries: 2, retry_backoff_seconds: [0] },
    }),
  );
  expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 3 });
  // Between attempts nothing is taken back.
  expect(world.read('seen.txt')).toBe('beforeattempt 1\nattempt 2\n');
  expect(world.read('out.txt')).toBe('before');
  expect(ran.told('rollback.initiated')).toHaveLength(1);
});

test('what is done, and what stays in review, is not taken back', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, 'echo after > out.txt', REPORT_DONE);
  const done = await world.run(taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt')] } }));
  expect(done.task.status).toBe('done');
  expect(world.read('out.txt')).toBe('after\n');
  emma(world, 'echo again > out.txt', REPORT_DONE);
  const review = await world.run(
    taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt'), output('missing.txt')] } }),
  );
  expect(review.task.status).toBe('review');
  expect(world.read('out.txt')).toBe('again\n');
  expect([...done.told('rollback.initiated'), ...review.told('rollback.initiated')]).toEqual([]);
});

test('snapshot_path holds the copy while the task runs', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, 'cat .aop_snapshots/out.before > copied.txt; echo after > out.txt', FAIL);
  const place = world.path('.aop_snapshots/out.before');
  const ran = await world.run(
    taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt', 'COPY', place)] } }),
  );
  expect(world.read('copied.txt')).toBe('before');
  expect(world.read('out.txt')).toBe('before');
  expect(rolledBack(ran)).toMatchObject([{ path: 'out.txt', restored_from: place, status: 'SUCCESS' }]);
});

test('a snapshot that cannot be restored is told, and kept', async () => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, `echo after > out.txt; find ${join(world.dir, 'snapshots')} -name content -exec rm {} +`, FAIL);
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt')] } }));
  expect(ran.task.status).toBe('deadletter');
  expect(rolledBack(ran)).toMatchObject([{ status: 'FAILED' }]);
  expect(ran.told('rollback.failed')).toMatchObject([{ code: 'E_ROLLBACK_FAILED' }]);
  expect(world.read('out.txt')).toBe('after\n');
  expect(world.warnings.join('\n')).toContain('0 of 1 outputs put back');
});

test('whoever waits to write the same place begins only when the way back is over', async () => {
  const world = await makeWorld({ config: EMMA });
  mkdirSync(world.path('src'));
  for (let i = 0; i < 300; i++) writeFileSync(world.path(`src/${i}.txt`), `before ${i}\n`);
  emma(
    world,
    'case "$(cat)" in *FIRST*) rm -r src; mkdir src; echo spoilt > src/0.txt; exit 1;; esac',
    'ls src | wc -l > count.txt; cat src/0.txt > first.txt; echo second > src/0.txt',
    REPORT_DONE,
  );
  const access = {
    filesystem: {
      read_paths: [world.workspace],
      write_paths: [world.path('src'), world.path('count.txt'), world.path('first.txt')],
    },
  };
  const [first, second] = await world.runAll([
    taskOf(world, { agent: 'emma', objective: 'FIRST', task: { expected_outputs: [kept('src')], access } }),
    taskOf(world, { agent: 'emma', objective: 'second', task: { access } }),
  ]);
  expect(first?.task.status).toBe('deadletter');
  expect(second?.task.status).toBe('done');
  expect(world.read('count.txt')?.trim()).toBe('300');
  expect(world.read('first.txt')).toBe('before 0\n');
  expect(world.read('src/0.txt')).toBe('second\n');
});

test.each([
  ['is put back', null, 'before'],
  ['is not touched where a person has changed it', 'by hand', 'by hand'],
])('a task that is cancelled while it waits: what it wrote %s', async (_how, edit, after) => {
  const world = await makeWorld({ config: EMMA });
  world.write('out.txt', 'before');
  emma(world, 'echo after > out.txt', REPORT_DONE);
  const { task } = await world.run(
    taskOf(world, { agent: 'emma', task: { expected_outputs: [kept('out.txt'), output('missing.txt')] } }),
  );
  expect(task.status).toBe('review');
  await world.store.send({ message: { type: 'task.cancel', id: task.id }, by: { kind: 'person', name: 'me' } });
  if (edit !== null) world.write('out.txt', edit);
  await recover(world.host);
  await recover(world.host);
  expect(world.read('out.txt')).toBe(after);
  const ran = await world.ran(task.id, []);
  expect(rolledBack(ran)).toMatchObject([{ status: edit === null ? 'SUCCESS' : 'FAILED' }]);
  expect(ran.told('rollback.failed')).toHaveLength(edit === null ? 0 : 1);
  expect(existsSync(join(world.dir, 'snapshots', task.id, 'manifest.json'))).toBe(edit !== null);
});
