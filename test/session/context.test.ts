/** A session's context as a file, and from one (§16): filters, merging, and what is refused of a file that anybody may have written. */
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readYaml } from '../../src/protocol/text/yaml.ts';
import { logOf } from '../../src/session/log.ts';
import { EMMA } from '../runtime/small-agents.ts';
import { taskOf, until } from '../runtime/world.ts';
import { makeScene, type Scene } from './scene.ts';
import { SESSION, voiceOf } from './talk.ts';

let scene: Scene;
beforeEach(async () => {
  scene = await makeScene({ git: true, config: EMMA });
});

type Parsed = Record<string, Record<string, unknown>>;
function parsed(name: string): Parsed {
  const read = readYaml(readFileSync(scene.path(name), 'utf8'));
  if (!read.ok) throw new Error(read.reason);
  return read.value as Parsed;
}

/** A session with something of everything in it. */
async function filled(): Promise<void> {
  await scene.say('#STATE:save:design:hexagonal:persistent');
  await scene.say('#STATE:save:scratch:temporary note');
  await scene.as(voiceOf('orchestrator'), '{{TECH_STACK}}: "Node,React"');
  await scene.say('#DELEGATE:emma:implement_auth:P1');
  await scene.say('#DELEGATE:emma:write_docs:P3');
}

describe('export', () => {
  test('in the form of the document, written whole, for its owner', async () => {
    await filled();
    const head = scene.git('rev-parse', 'HEAD');
    const reply = await scene.say('#CONTEXT:export:./context/session_final.ctx');
    expect(reply.split('\n')).toEqual([
      'exported:5 items',
      `→ git_ref:${head.slice(0, 12)}`,
      expect.stringMatching(/^→ file:\.\/context\/session_final\.ctx \([\d.]+k?\)$/),
    ]);
    const ids = (await scene.tasks()).map(({ id }) => id);
    expect(parsed('context/session_final.ctx')).toMatchObject({
      version: '1.1.0',
      exported: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      session_id: SESSION,
      git_checkpoint: head,
      state: { persistent: { design: 'hexagonal' }, temporary: {} },
      tasks: { completed: [], in_progress: {}, pending: expect.arrayContaining(ids) },
      configuration: { PROJECT_NAME: 'ws', TECH_STACK: 'Node,React' },
    });
    expect(readdirSync(scene.path('context'))).toEqual(['session_final.ctx']);
    expect(statSync(scene.path('context/session_final.ctx')).mode & 0o777).toBe(0o600);
  });

  test.each([
    ['all', 6, { persistent: { design: 'hexagonal' }, temporary: { scratch: 'temporary note' } }, 2, 2],
    ['critical', 3, { persistent: { design: 'hexagonal' }, temporary: {} }, 0, 2],
    ['tasks', 2, { persistent: {}, temporary: {} }, 2, 0],
    ['state', 2, { persistent: { design: 'hexagonal' }, temporary: { scratch: 'temporary note' } }, 0, 0],
  ])('%s', async (filter, items, state, tasks, configuration) => {
    await filled();
    expect(await scene.say(`#CONTEXT:export:x.ctx:${filter}`)).toContain(`exported:${items} items\n`);
    const file = parsed('x.ctx');
    expect(file['state']).toEqual(state);
    expect(file['tasks']?.['pending']).toHaveLength(tasks);
    expect(Object.keys(file['configuration'] ?? {})).toHaveLength(configuration);
  });

  test('what is temporary is not exported by an export that leaves it out: the next incremental one has it, once', async () => {
    await scene.say('#STATE:save:lasting:1:persistent');
    await scene.say('#STATE:save:passing:2');
    await scene.say('#CONTEXT:export:x.ctx');
    await scene.say('#CONTEXT:export:y.ctx:incremental');
    expect(parsed('y.ctx')['state']).toEqual({ persistent: {}, temporary: { passing: '2' } });
    await scene.say('#CONTEXT:export:z.ctx:incremental');
    expect(parsed('z.ctx')['state']).toEqual({ persistent: {}, temporary: {} });
  });

  test('incremental has what changed since the last export', async () => {
    await filled();
    const began = Date.now();
    await scene.say('#CONTEXT:export:x.ctx:all');
    await until('another millisecond', () => Date.now() > began);
    await scene.say('#STATE:save:later:yes');
    await scene.say('#CONTEXT:export:y.ctx:incremental');
    const file = parsed('y.ctx');
    expect(file['state']).toEqual({ persistent: {}, temporary: { later: 'yes' } });
    expect(file['tasks']?.['pending']).toEqual([]);
  });

  test('secrets are not written out', async () => {
    await scene.say('#STATE:save:key:password=hunter2:persistent');
    await scene.say('#CONTEXT:export:x.ctx');
    expect(readFileSync(scene.path('x.ctx'), 'utf8')).not.toContain('hunter2');
  });

  test.each([
    ['../out.ctx'],
    ['/tmp/out.ctx'],
    ['link/out.ctx'],
    ['dangling'],
    ['.git/config'],
    ['.baton/x.ctx'],
    ['a/../../out.ctx'],
  ])('never outside, through links, or into what is not ours: %s', async (path) => {
    symlinkSync(scene.root, scene.path('link'));
    symlinkSync(join(scene.root, 'nothing-yet'), scene.path('dangling'));
    const config = readFileSync(scene.path('.git/config'), 'utf8');
    expect(await scene.say(`#CONTEXT:export:${path}`)).toMatch(/^#ERROR:E005:/);
    expect(existsSync(join(scene.root, 'out.ctx')) || existsSync(join(scene.root, 'nothing-yet'))).toBe(false);
    expect(readFileSync(scene.path('.git/config'), 'utf8')).toBe(config);
  });

  test('nothing is written over but what was exported before', async () => {
    expect(await scene.say('#CONTEXT:export:README.md')).toMatch(/^#ERROR:E005:not_a_context_file/);
    expect(scene.read('README.md')).toBe('hello\n');
    mkdirSync(scene.path('folder'));
    expect(await scene.say('#CONTEXT:export:folder')).toMatch(/^#ERROR:E002:/);
    await scene.say('#CONTEXT:export:x.ctx');
    await scene.say('#STATE:save:k:v:persistent');
    expect(await scene.say('#CONTEXT:export:x.ctx')).toMatch(/^exported:2 items/);
  });

  test.each([
    ['#CONTEXT:export:README.md/x.ctx', 'not_a_folder'],
    ['#CONTEXT:export:README.md/deep/x.ctx', 'not_a_folder'],
    [`#CONTEXT:import:${'n'.repeat(300)}`, 'name_too_long'],
    [`#CONTEXT:export:${'n'.repeat(250)}`, 'name_too_long'],
    ['#CONTEXT:validate:circle/x', 'links_in_a_circle'],
    ['#CONTEXT:list:circle', 'links_in_a_circle'],
  ])('what the file system will not do is an answer, and is logged: %s', async (line, word) => {
    symlinkSync(scene.path('circle'), scene.path('circle'));
    const reply = await scene.say(line);
    expect(reply).toMatch(new RegExp(`^#ERROR:E002:${word}[ …]`));
    expect(readFileSync(logOf(scene.dir, SESSION), 'utf8')).toContain(`[#ERROR:E002:${word}`);
  });

  test('a run writes only where it may', async () => {
    const voice = await scene.claimed('emma');
    expect(await scene.as(voice, '#CONTEXT:export:x.ctx')).toMatch(/^exported:/);
    const [task] = await scene.add(
      taskOf(scene, {
        agent: 'emma',
        task: { access: { filesystem: { write_paths: ['only'] } } },
      }),
    );
    const run = `${task?.id}-r1`;
    await scene.store.send({
      message: { type: 'task.claim', id: task?.id ?? '', claimer: { agent: 'emma' }, leaseMs: 60_000 },
      by: { kind: 'runtime', name: 'baton' },
    });
    const bound = voiceOf('emma', { run }, task?.session);
    expect(await scene.as(bound, '#CONTEXT:export:y.ctx')).toMatch(/^#ERROR:E005:not_allowed/);
    // A backslash is a character of a name here: this file would lie beside the folder, and not in it.
    expect(await scene.as(bound, '#CONTEXT:export:x\\..\\only\\y.ctx')).toMatch(/^#ERROR:E005:not_allowed/);
    expect(await scene.as(bound, '#CONTEXT:export:only/y.ctx')).toMatch(/^exported:/);
  });
});

describe('import', () => {
  test('a new session goes on from it', async () => {
    await filled();
    const head = scene.git('rev-parse', 'HEAD').slice(0, 12);
    await scene.say('#CONTEXT:export:x.ctx:all');
    const reply = await scene.say('#CONTEXT:import:x.ctx', 'next');
    expect(reply.split('\n')).toEqual([
      `→ validated:git_ref:${head}`,
      'imported:4 items',
      expect.stringMatching(/^→ here already:2 \(.* in s.*\)$/),
      '→ ready to resume',
    ]);
    expect(await scene.say('#STATE:load:design', 'next')).toBe('hexagonal');
    expect(await scene.say('#STATE:save:stack:{{TECH_STACK}}', 'next')).toBe('saved:stack');
    expect(await scene.say('#STATE:load:stack', 'next')).toBe('Node,React');
    // They are here already, in their own session.
    expect(await scene.tasks('next')).toEqual([]);
  });

  test('tasks of another project become tasks here, once', async () => {
    scene.write(
      'x.ctx',
      [
        'version: 1.1.0',
        'exported: 2024-01-15T14:30:00Z',
        'session_id: ctx_789',
        'git_checkpoint: abc123',
        'state:\n  persistent:\n    key: value\n  temporary:\n    count: 3',
        'tasks:\n  completed: [task1, task2]\n  in_progress:\n    task3: 80%\n  pending: [task4, task5]',
        'configuration:\n  PROJECT_NAME: MyProject\n  TECH_STACK: Node,React',
      ].join('\n'),
    );
    expect((await scene.say('#CONTEXT:import:x.ctx')).split('\n')).toEqual([
      '→ missing:git_ref:abc123',
      'imported:7 items',
      '→ tasks:1 active, 2 pending',
      '→ ready to resume',
    ]);
    expect(await scene.say('#STATE:load:count')).toBe('3');
    const made = async (): Promise<unknown> =>
      (await scene.tasks()).map(({ externalId, status }) => `${externalId} ${status}`);
    expect(await made()).toEqual(['task3 ready', 'task4 backlog', 'task5 backlog']);
    // Once more: nothing of it is new.
    expect((await scene.say('#CONTEXT:import:x.ctx')).split('\n')).toEqual([
      '→ missing:git_ref:abc123',
      'imported:0 items',
      '→ here already:3 (1 ready, 2 backlog)',
      '→ ready to resume',
    ]);
    expect(await made()).toHaveLength(3);
  });

  test('tasks of another data folder come with their readiness, priority, agent, model, dependencies and TASK', async () => {
    const order = { agent: 'emma', model: 'opus-x', session: { session_id: SESSION } };
    const [first] = await scene.add(
      taskOf(scene, {
        ...order,
        objective: 'Write the parser.',
        task: {
          task_id: 'parser',
          priority: 'HIGH',
          budgets: { max_cost_usd: 3 },
          access: { network: 'FULL', filesystem: { write_paths: ['src', '/etc'] } },
          extensions: { x_checks: [{ name: 'tests', command: 'npm test' }] },
        },
        policy: { max_retries: 2 },
      }),
    );
    await scene.add(
      taskOf(scene, {
        ...order,
        objective: 'Use the parser.',
        task: { task_id: 'user', extensions: { x_depends_on: ['parser'] } },
      }),
    );
    await scene.say('#DELEGATE:emma:tidy up:P3');
    await scene.say('#DELEGATE:emma:release it:P0');
    await scene.say('#CONTEXT:export:x.ctx');

    const other = await makeScene({ config: { ...EMMA, defaults: { sandbox: 'off' } } });
    other.write('x.ctx', scene.read('x.ctx') ?? '');
    const reply = (await other.say('#CONTEXT:import:x.ctx')).split('\n');
    expect(reply).toContain('→ tasks:0 active, 4 pending');
    expect(reply.at(-1)).toBe('→ ready to resume');
    expect(reply.filter((line) => line.startsWith('→ warning:'))).toEqual([
      expect.stringContaining('parser asked for more'),
    ]);
    const tasks = await other.tasks();
    const told = tasks.map((task) => [task.title, task.status, task.priority, task.routing.agent, task.model]);
    expect(told).toEqual(
      expect.arrayContaining([
        ['Write the parser.', 'ready', 'high', 'emma', 'opus-x'],
        ['Use the parser.', 'ready', 'normal', 'emma', 'opus-x'],
        ['tidy up', 'backlog', 'low', 'emma', null],
        ['release it', 'ready', 'critical', 'emma', null],
      ]),
    );
    const [parser, user] = ['parser', 'user'].map((name) => tasks.find(({ externalId }) => externalId === name));
    expect(user?.dependsOn).toEqual([parser?.id]);
    expect(parser?.retry.maxRetries).toBe(2);
    const envelope = JSON.parse((await other.store.text(parser?.id ?? '', 'inputs/task.json')) ?? '');
    expect(envelope.task).toMatchObject({
      budgets: { max_cost_usd: 3 },
      environment: { workspace_root: expect.any(String) },
      access: { filesystem: { write_paths: ['src'] } },
      extensions: { x_checks: [{ name: 'tests', command: 'npm test' }] },
    });
    expect(envelope.task.access.network).toBeUndefined();
    expect(first).toBeDefined();
    expect((await other.say('#CONTEXT:import:x.ctx')).split('\n')).toContain('→ here already:4 (3 ready, 1 backlog)');
  });

  test('a task for an agent that is not here stays in the backlog, and the reply says so', async () => {
    scene.write(
      'x.ctx',
      'version: 1.1.0\nsession_id: a\ntasks:\n  pending: [one]\norders:\n  one: { status: ready, agent: ghost }\n',
    );
    const reply = await scene.say('#CONTEXT:import:x.ctx');
    expect(reply).toMatch(/→ warning:.*ghost.*not here.*backlog/);
    expect((await scene.tasks()).map(({ status, routing }) => [status, routing.agent])).toEqual([['backlog', null]]);
  });

  test('a task may be named like what every object has', async () => {
    const tasks = '{ in_progress: [constructor], pending: [toString] }';
    scene.write('odd.ctx', `version: 1.1.0\nsession_id: x\ntasks: ${tasks}\n`);
    expect(await scene.say('#CONTEXT:import:odd.ctx')).toContain('tasks:1 active, 1 pending');
    expect((await scene.tasks()).map(({ title }) => title)).toEqual(['constructor', 'toString']);
  });

  test('of a run that does not lead only what is saved: its file makes no tasks, and replaces nothing', async () => {
    scene.write(
      'x.ctx',
      'version: 1.1.0\nsession_id: a\nstate:\n  persistent:\n    one: new\ntasks:\n  in_progress:\n    evil: 10%\n',
    );
    await scene.say('#STATE:save:one:old');
    const emma = await scene.claimed('emma');
    expect(await scene.as(emma, '#CONTEXT:import:x.ctx:replace')).toMatch(/^#ERROR:E005:/);
    expect(await scene.say('#STATE:load:one')).toBe('old');
    expect(await scene.as(emma, '#CONTEXT:import:x.ctx')).toContain('→ tasks:left to who leads');
    expect(await scene.say('#STATE:load:one')).toBe('new');
    expect((await scene.tasks()).map(({ id }) => id)).toEqual([emma.task.id]);
    const lead = await scene.claimed('emma', { leads: true });
    expect(await scene.as(lead, '#CONTEXT:import:x.ctx')).toContain('→ tasks:1 active, 0 pending');
    expect((await scene.tasks()).map(({ externalId }) => externalId)).toContain('evil');
  });

  test('merge keeps what is there, replace does not', async () => {
    scene.write('x.ctx', 'version: 1.1.0\nsession_id: a\nstate:\n  persistent:\n    one: new\n    two: new\n');
    await scene.say('#STATE:save:one:old');
    await scene.say('#STATE:save:zero:old');
    const reply = await scene.say('#CONTEXT:import:x.ctx:merge');
    expect(reply).toContain('imported:2 items\n→ merged:1 new items\n→ updated:1 existing items');
    expect([await scene.say('#STATE:load:one'), await scene.say('#STATE:load:zero')]).toEqual(['new', 'old']);
    await scene.say('#CONTEXT:import:x.ctx:replace');
    expect([await scene.say('#STATE:load:one'), await scene.say('#STATE:load:zero')]).toEqual(['new', 'not_found']);
  });

  const HEAD = 'version: 1.1.0\nsession_id: a\n';
  test.each([
    ['version: 2.0.0\nsession_id: a\n', /^#ERROR:E002:incompatible_version 2\.0\.0$/],
    ['version: 1.2.0\nsession_id: a\n', /^#ERROR:E002:incompatible_version 1\.2\.0$/],
    ['session_id: a\n', /^#ERROR:E002:not_a_context_file/],
    ['just words', /^#ERROR:E002:not_a_context_file/],
    [`${HEAD}state: &all\n  persistent: {a: b}\n`, /^#ERROR:E002:not_a_context_file/],
    [`${HEAD}state:\n  persistent: {a: &x b, c: *x}\n`, /^#ERROR:E002:not_a_context_file/],
    [`${HEAD}state: [1, 2]\n`, /^#ERROR:E002:/],
    [`${HEAD}state:\n  persistent:\n    "a key": v\n`, /^#ERROR:E002:/],
    [`${HEAD}state:\n  persistent:\n    a: {b: c}\n`, /^#ERROR:E002:/],
    [`${HEAD}state:\n  persistent:\n    a: ${'word '.repeat(40)}\n`, /^#ERROR:E004:/],
    [
      `${HEAD}state:\n  persistent:\n${Array.from({ length: 21 }, (_, i) => `    k${i}: v\n`).join('')}`,
      /^#ERROR:E003:/,
    ],
    [`${HEAD}tasks: 7\n`, /^#ERROR:E002:/],
    [`${HEAD}a: [[[[`, /^#ERROR:E002:not_a_context_file/],
    [`${HEAD}# ${'x'.repeat(1024 * 1024)}`, /^#ERROR:E002:over_1_MB/],
  ])('refuses %j', async (text, expected) => {
    await scene.say('#STATE:save:k:before');
    scene.write('x.ctx', text);
    expect(await scene.say('#CONTEXT:import:x.ctx:replace')).toMatch(expected);
    expect(await scene.say('#CONTEXT:validate:x.ctx')).toMatch(expected);
    expect(await scene.say('#STATE:load:k')).toBe('before');
  });

  test('what is not known is left out, and said', async () => {
    scene.write('x.ctx', `${HEAD}surprise: 1\nstate:\n  persistent: {a: b}\nconfiguration: {lower: x, UPPER: y}\n`);
    const reply = await scene.say('#CONTEXT:import:x.ctx');
    expect(reply).toContain('imported:2 items');
    expect(reply).toMatch(/→ warning:.*surprise.*left out\n→ warning:.*lower.*left out/);
  });

  test('no file, a folder, a place outside', async () => {
    expect(await scene.say('#CONTEXT:import:nothing.ctx')).toBe('#ERROR:E002:no_file nothing.ctx');
    mkdirSync(scene.path('folder'));
    expect(await scene.say('#CONTEXT:import:folder')).toBe('#ERROR:E002:no_file folder');
    expect(await scene.say('#CONTEXT:import:/etc/passwd')).toMatch(/^#ERROR:E005:/);
    expect(await scene.say('#CONTEXT:validate:../x')).toMatch(/^#ERROR:E005:/);
    expect(await scene.say('#CONTEXT:list:..')).toMatch(/^#ERROR:E005:/);
  });

  test('over the limit of keys nothing of it is taken', async () => {
    for (let i = 0; i < 20; i++) await scene.say(`#STATE:save:k${i}:v`);
    scene.write('x.ctx', `${HEAD}state:\n  persistent: {one_more: v}\n`);
    expect(await scene.say('#CONTEXT:import:x.ctx')).toMatch(/^#ERROR:E003:/);
    expect(await scene.say('#STATE:load:one_more')).toBe('not_found');
  });
});

describe('list and validate', () => {
  test('the newest first, with age and size; only context files', async () => {
    expect(await scene.say('#CONTEXT:list:.')).toBe('none');
    await scene.say('#CONTEXT:export:./context/a.ctx');
    scene.write('context/notes.yaml', 'a: b\n');
    expect(await scene.say('#CONTEXT:list:./context/:detailed')).toMatch(/^• a\.ctx \(\d+s ago, \d+\)$/);
    // Where there is no room for all of it nothing is cut in the middle.
    expect(await scene.say('#CONTEXT:list:./context/')).toMatch(/^• a\.ctx(?: \(\d+s, \d+\)| \d+s)$/);
    expect(await scene.say('#CONTEXT:list:nowhere')).toBe('#ERROR:E002:no_folder nowhere');
  });

  test('a valid file in the form of the document', async () => {
    await filled();
    await scene.say('#CHECKPOINT:create:manual:here');
    await scene.say('#CONTEXT:export:x.ctx');
    expect((await scene.say('#CONTEXT:validate:x.ctx')).split('\n')).toEqual([
      'valid',
      '→ protocol v1.1',
      '→ git_checkpoint:found',
      '→ items:5 compatible',
    ]);
  });
});
