/** `runs/<task>/` is a contract (aof): what is there before the agent starts, what is written of it on the way, and what is read of others. */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { readRunFile } from '../../src/protocol/aof/run-files.ts';
import { recover } from '../../src/runtime/recovery.ts';
import { aof, as } from './messages.ts';
import { EMMA, emma, print } from './small-agents.ts';
import { makeWorld, reportText, taskOf, until, type World } from './world.ts';

const fileOf = (world: World, id: string, name: string): string => join(world.dir, 'runs', id, name);
const readJson = (path: string): Record<string, unknown> => JSON.parse(readFileSync(path, 'utf8'));

describe('before the agent starts', () => {
  test('run.json, the heartbeat and the file in in-progress are on disk, in each of many runs', async () => {
    const world = await makeWorld({ config: EMMA });
    const looked = join(world.root, 'looked');
    emma(
      world,
      `cat ${world.dir}/runs/$BATON_TASK_ID/run.json ${world.dir}/tasks/in-progress/$BATON_TASK_ID.md > ${looked}-$BATON_TASK_ID`,
      print(reportText()),
    );
    const ran = await world.runAll(Array.from({ length: 12 }, () => taskOf(world, { agent: 'emma' })));
    for (const { task } of ran) {
      expect(task.status).toBe('done');
      const seen = readFileSync(`${looked}-${task.id}`, 'utf8');
      expect(seen).toContain(`"runId": "${task.run?.id}"`);
      expect(seen).toContain('status: in-progress');
      const beat = readRunFile(
        'run_heartbeat.json',
        readFileSync(fileOf(world, task.id, 'run_heartbeat.json'), 'utf8'),
      );
      expect(beat).toMatchObject({ ok: true, problems: [], value: { runId: task.run?.id, agentId: 'emma' } });
    }
  });

  test('an agent that writes its result at once, and says nothing else, has reported', async () => {
    const world = await makeWorld({ config: EMMA });
    const result = {
      outcome: 'partial',
      summaryRef: 's.md',
      deliverables: ['a.ts'],
      tests: { total: 2, passed: 1, failed: 1 },
      mood: 'good',
    };
    emma(
      world,
      `sed "s/@RUN/$BATON_RUN_ID/; s/@OF/$BATON_TASK_ID/" > ${world.dir}/runs/$BATON_TASK_ID/run_result.json <<'END'`,
      JSON.stringify({ runId: '@RUN', taskId: '@OF', ...result }),
      'END',
    );
    const { task, told } = await world.run(taskOf(world, { agent: 'emma' }));
    expect(task).toMatchObject({ status: 'review', run: { outcome: 'partial' } });
    await world.store.settled();
    expect(readJson(fileOf(world, task.id, 'run_result.json'))).toMatchObject({ ...result, agentId: 'emma' });
    expect(told('protocol.message.received')).toMatchObject([{ channel: 'file', outcome: 'partial' }]);
    expect(JSON.stringify(told('protocol.message.warning'))).toContain('s.md is referred to, and it is not there');
  });
});

describe('run_result.json', () => {
  const said = {
    outcome: 'done',
    summaryRef: 'outputs/summary.md',
    handoffRef: 'outputs/handoff.md',
    deliverables: ['src/foo.ts'],
    tests: { total: 3, passed: 3, failed: 0 },
    blockers: ['none really'],
    notes: 'made',
    mood: 'good',
  };

  test('is whole, and there while the run still works; what it refers to and is not there is warned of', async () => {
    const world = await makeWorld({ config: EMMA });
    world.write('src/foo.ts', 'x');
    emma(
      world,
      `sed s/TASK-2000-01-01-001/$BATON_TASK_ID/ <<'END'`,
      aof('completion.report', 'TASK-2000-01-01-001', said),
      'END',
      // It goes on until the result is there.
      `while ! test -e ${world.dir}/runs/$BATON_TASK_ID/run_result.json; do sleep 0.05; done; echo seen > seen.txt`,
    );
    const { task, told } = await world.run(taskOf(world, { agent: 'emma' }));
    expect(world.read('seen.txt')).toBe('seen\n');
    await world.store.settled();
    const result = readJson(fileOf(world, task.id, 'run_result.json'));
    expect(result).toMatchObject({ ...said, runId: task.run?.id, taskId: task.id, agentId: 'emma' });
    expect(told('protocol.message.warning').map(({ reason }) => reason)).toEqual(
      expect.arrayContaining([
        expect.stringContaining('outputs/summary.md'),
        expect.stringContaining('outputs/handoff.md'),
      ]),
    );
    expect(told('protocol.message.received')).toMatchObject([
      { channel: 'stdout', unknown: { '/payload/mood': 'good' } },
    ]);
  });

  test('one of an earlier attempt that cannot be read is not charged to the next', async () => {
    const world = await makeWorld({ config: EMMA });
    emma(
      world,
      `[ $BATON_ATTEMPT = 1 ] && { echo '{"runId":' > ${world.dir}/runs/$BATON_TASK_ID/run_result.json; exit 1; }`,
      'echo quiet',
    );
    const policy = { timeout_seconds: 60, max_retries: 1, retry_backoff_seconds: [0] };
    const { task, events } = await world.run(taskOf(world, { agent: 'emma', policy }));
    expect(task).toMatchObject({ runs: 2, status: 'review' });
    const rejected = events.filter(({ type }) => type === 'protocol.message.rejected');
    expect(rejected.map(({ run }) => run).filter((run) => run === task.run?.id)).toEqual([]);
  });
});

test('unknown fields of a status.update are kept', async () => {
  const world = await makeWorld({ config: EMMA });
  const [task] = await world.add(taskOf(world, { agent: 'emma' }));
  const id = task?.id ?? '';
  const text = aof('status.update', id, { progress: 'half', mood: { is: 'good' } }, { trace: 7 });
  await world.host.router.take(text, as('emma'));
  const { told } = await world.ran(id, []);
  expect(told('protocol.message.received')).toMatchObject([
    { progress: 'half', unknown: { '/payload/mood': { is: 'good' }, '/trace': 7 } },
  ]);
});

test('blocked with blockers and no words: why names them', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(
    world,
    `sed s/TASK-2000-01-01-001/$BATON_TASK_ID/ <<'END'`,
    aof('completion.report', 'TASK-2000-01-01-001', {
      outcome: 'blocked',
      blockers: ['Awaiting API key', 'No network'],
    }),
    'END',
  );
  const { task } = await world.run(taskOf(world, { agent: 'emma' }));
  expect(task).toMatchObject({ status: 'blocked', cause: { message: 'Awaiting API key; No network' } });
});

describe('a task that another program has taken', () => {
  /** Moved to in-progress in the tree, as the document's own dispatcher does it, with a run of its own. */
  async function taken(world: World, files: Readonly<Record<string, object>>): Promise<Task> {
    const [task] = (await world.add(taskOf(world, { agent: 'emma' }))) as [Task];
    await world.store.settled();
    mkdirSync(join(world.dir, 'tasks/in-progress'), { recursive: true });
    renameSync(join(world.dir, `tasks/ready/${task.id}.md`), join(world.dir, `tasks/in-progress/${task.id}.md`));
    await until('the move is taken in', async () => (await world.store.find(task.id))?.status === 'in-progress');
    mkdirSync(join(world.dir, 'runs', task.id), { recursive: true });
    const run = { runId: 'claw-7', taskId: task.id, agentId: 'claw', startedAt: at(-600), mood: 'good' };
    writeFileSync(fileOf(world, task.id, 'run.json'), JSON.stringify(run));
    for (const [name, value] of Object.entries(files)) {
      writeFileSync(fileOf(world, task.id, name), JSON.stringify({ runId: 'claw-7', taskId: task.id, ...value }));
    }
    return task;
  }
  const at = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();
  const OLD = { lastHeartbeat: at(-3_600) };
  const NEW = { lastHeartbeat: at(0) };

  test.each([
    [
      'an old heartbeat and done',
      { 'run_heartbeat.json': OLD, 'run_result.json': { outcome: 'done', notes: 'made' } },
      'done',
    ],
    ['no heartbeat and done', { 'run_result.json': { outcome: 'done' } }, 'done'],
    ['partial', { 'run_heartbeat.json': OLD, 'run_result.json': { outcome: 'partial' } }, 'review'],
    ['needs_review', { 'run_heartbeat.json': OLD, 'run_result.json': { outcome: 'needs_review' } }, 'review'],
    [
      'blocked',
      { 'run_heartbeat.json': OLD, 'run_result.json': { outcome: 'blocked', blockers: ['no key'] } },
      'blocked',
    ],
    ['an old heartbeat and no result', { 'run_heartbeat.json': OLD }, 'ready'],
    ['a fresh heartbeat and no result', { 'run_heartbeat.json': NEW }, 'in-progress'],
    ['no heartbeat and no result', {}, 'in-progress'],
    ['an expired heartbeat', { 'run_heartbeat.json': { ...NEW, expiresAt: at(-1) } }, 'ready'],
    [
      'a result of another run',
      { 'run_heartbeat.json': NEW, 'run_result.json': { runId: 'claw-6', outcome: 'done' } },
      'in-progress',
    ],
  ] as const)('%s', async (_, files, status) => {
    const world = await makeWorld({ config: EMMA });
    const task = await taken(world, files);
    await recover(world.host);
    const after = (await world.store.find(task.id)) as Task;
    expect(after).toMatchObject({ status, runs: 1, run: { agent: 'claw', externalId: 'claw-7' } });
    await world.store.settled();
    const run = readJson(fileOf(world, task.id, 'run.json'));
    expect(run).toMatchObject({ runId: 'claw-7', agentId: 'claw', mood: 'good' });
    expect(run['status']).toBe(status === 'ready' ? 'expired' : status === 'in-progress' ? 'running' : 'completed');
    const before = await world.store.lastRecord();
    await recover(world.host);
    expect(await world.store.lastRecord()).toBe(before);
  });

  test('a result that cannot be read moves nothing and is told once', async () => {
    const world = await makeWorld({ config: EMMA });
    const task = await taken(world, { 'run_heartbeat.json': OLD });
    writeFileSync(fileOf(world, task.id, 'run_result.json'), '{"runId":');
    await recover(world.host);
    // The first look tells of it, the second counts it as none.
    expect(await world.store.find(task.id)).toMatchObject({ status: 'ready', run: { status: 'expired' } });
    const { told } = await world.ran(task.id, []);
    expect(told('protocol.message.rejected')).toHaveLength(1);
    expect(readdirSync(join(world.dir, 'runs', task.id))).toContain('run_result.json');
  });

  test('an old run.json of a run that is over is no new run', async () => {
    const world = await makeWorld({ config: EMMA });
    const task = await taken(world, { 'run_heartbeat.json': OLD });
    await recover(world.host);
    await world.store.send({
      message: { type: 'task.move', id: task.id, to: 'in-progress' },
      by: { kind: 'person', name: 'test' },
    });
    await recover(world.host);
    expect(await world.store.find(task.id)).toMatchObject({
      status: 'in-progress',
      runs: 1,
      run: { status: 'expired' },
    });
    expect(existsSync(fileOf(world, task.id, 'run.json'))).toBe(true);
  });
});
