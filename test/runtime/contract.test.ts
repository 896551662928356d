/** The rest of the envelope acts too: guard rails, dialects, surroundings, limits, progress; and what is wrong is refused before anything changes. */
import { chmodSync, existsSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newTasksOf } from '../../src/cli/new-tasks.ts';
import { BatonError } from '../../src/core/errors.ts';
import { emptyReport } from '../../src/core/report.ts';
import { aof, aop1, aop2, output as outputs } from '../../src/protocol/index.ts';
import { callsOf, claude, EMMA, emma, fakeCli, output, print, REPORT_DONE, responseText } from './small-agents.ts';
import { makeWorld, reportText, type TaskParts, taskOf, until, type World } from './world.ts';

const claimOf = (claims: unknown, what: string): unknown =>
  (claims as readonly { what: string }[]).find((claim) => claim.what === what);

const INCOMPLETE: readonly [string, object, object][] = [
  ['no final_signal', { task_status: { state: 'COMPLETED' } }, { require_final_signal: false }],
  ['no actions', { execution_summary: { summary: 's', actions: [] } }, { require_minimal_report: false }],
  ['no summary', { execution_summary: { summary: '', actions: ['a'] } }, { require_minimal_report: false }],
];
test.each(INCOMPLETE)(
  'a RESPONSE with %s is malformed where the guard rails ask for it, and taken where they do not',
  async (_name, fields, rails) => {
    const world = await makeWorld({ config: EMMA });
    emma(world, print(responseText({ task_id: 'T', ...fields })));
    const strict = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
    expect(strict.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_MALFORMED_RESPONSE' } });
    const session = { session_id: 'without-rails' };
    const loose = await world.run(taskOf(world, { agent: 'emma', session, task: { task_id: 'T' }, rails }));
    expect(['done', 'review']).toContain(loose.task.status);
    expect(loose.task.cause).toBeNull();
  },
);

test('a RESPONSE for another task is not heard', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, print(responseText({ task_id: 'SOMEBODY-ELSES' })));
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  expect(ran.task).toMatchObject({ status: 'review', run: { outcome: 'needs_review' } });
  expect(JSON.stringify(ran.last.response.execution_summary?.warnings)).toContain('SOMEBODY-ELSES');
});

const said = { ...emptyReport('done', 'It is made.'), task: 'the task', actions: ['made it'], confidence: 0.95 };
const NOW = '2026-11-16T00:00:00Z';
const FAKE_ID = 'TASK-2000-01-01-001';
const DIALECTS: readonly [string, string][] = [
  ['aop1', aop1.fromReport(said).text],
  ['aop2 RESPONSE', JSON.stringify(aop2.fromReport({ ...said, taskId: 'T', sessionId: 'test-session' }).response)],
  [
    'aof completion.report',
    JSON.stringify(aof.fromReport(said, { taskId: FAKE_ID, fromAgent: 'emma', now: NOW }).envelope),
  ],
  ['OUTPUT with GRAPH_UPDATE', outputs.fromReport(said, NOW).text],
];
const SEND = `
const socket = require('node:net').connect(process.env.BATON_SOCKET);
let said = '';
socket.on('data', (chunk) => { said += chunk; });
socket.on('close', () => require('node:fs').writeFileSync('answers.txt', said));
socket.end(require('node:fs').readFileSync(0));
`;
test.each(DIALECTS)('a report in %s is heard, on standard output and on the socket', async (_name, text) => {
  const world = await makeWorld({ config: EMMA });
  writeFileSync(join(world.root, 'report'), text);
  const report = `sed s/${FAKE_ID}/$BATON_TASK_ID/g ${join(world.root, 'report')}`;
  emma(world, `echo "Some words before."; ${report}`);
  const loud = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  expect(loud.task).toMatchObject({ status: 'done', run: { outcome: 'done' } });
  expect(loud.last.response.execution_summary?.summary).toContain('It is made.');
  const send = world.script('send', SEND);
  // A node is written once.
  emma(world, `${report} | sed 's/report_/again_/g; s/"test-session"/"test-session-2"/' | node ${send}; echo bye`);
  const quiet = await world.run(
    taskOf(world, { agent: 'emma', session: { session_id: 'test-session-2' }, task: { task_id: 'T' } }),
  );
  expect(world.read('answers.txt')).toContain('"result":"accepted"');
  expect(world.read('answers.txt')).not.toContain('rejected');
  expect(quiet.task).toMatchObject({ status: 'done', run: { outcome: 'done' } });
});

test('what a run cannot ask for on its socket is refused, not accepted and forgotten', async () => {
  const world = await makeWorld({ config: EMMA });
  const escalation = {
    aop_version: '2.0.2-C',
    message_type: 'EVENT',
    event: 'PRIORITY_ESCALATION',
    session_id: 'test-session',
    task_id: 'T',
    timestamp: NOW,
    old_priority: 'NORMAL',
    new_priority: 'CRITICAL',
    reason: 'me first',
    escalated_by: 'emma',
  };
  writeFileSync(join(world.root, 'asks'), `${JSON.stringify(escalation)}\n`);
  const send = world.script('send', SEND);
  emma(world, `sed s/${FAKE_ID}/$BATON_TASK_ID/g ${join(world.root, 'asks')} | node ${send}`, REPORT_DONE);
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  const answers = (world.read('answers.txt') ?? '')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).result);
  expect(answers).toEqual(['rejected']);
  expect(ran.task).toMatchObject({ status: 'done', priority: 'normal' });
});

test('progress is one record in 30 seconds, the latest kept, and the log of it is filled in', async () => {
  let late = 0;
  const now = (): number => Date.now() + late;
  const world = await makeWorld({ config: EMMA, host: { now } });
  const update = (percentage: number): string =>
    print(
      JSON.stringify({
        aop_version: '2.0.2-C',
        message_type: 'EVENT',
        event: 'PROGRESS_UPDATE',
        session_id: 'test-session',
        task_id: 'T',
        timestamp: NOW,
        agent: 'emma',
        progress: { percentage, message: `at ${percentage}` },
      }),
    );
  const wait = (name: string): string => `while [ ! -e ${name} ]; do sleep 0.05; done`;
  emma(
    world,
    update(10),
    update(20),
    update(30),
    wait('go'),
    update(40),
    update(50),
    update(60),
    wait('on'),
    print(reportText('partial', '- Half.')),
  );
  const running = world.run(taskOf(world, { agent: 'emma', task: { task_id: 'T' } }));
  const shown = (percentage: number) => (): boolean => world.lives.some((live) => live.percentage === percentage);
  await until('30 % are shown', shown(30));
  late = 31_000;
  world.write('go', '');
  await until('60 % are shown', shown(60));
  world.write('on', '');
  const ran = await running;
  expect(ran.told('run.progress').map(({ percentage }) => percentage)).toEqual([10, 40, 60]);
  expect(ran.last.response.progress_log).toMatchObject({ progress_percentage: 60 });
  expect(Date.parse(ran.last.response.progress_log?.last_progress_event_at ?? '')).toBeGreaterThan(Date.now() + 20_000);
});

/** Every file of a folder but the data folder, as it can be told from outside. */
const listing = (world: World): string[] =>
  readdirSync(world.workspace, { recursive: true, encoding: 'utf8' })
    .filter((name) => !name.startsWith('.baton'))
    .sort();

const file = (path: string): { type: string; path: string } => ({ type: 'FILE', path });
const BAD: readonly [string, string, (world: World) => Partial<TaskParts>][] = [
  [
    'a workspace that is not there',
    'E_FILE_NOT_FOUND',
    (world) => ({ task: { environment: { workspace_root: world.path('nowhere') } } }),
  ],
  ['an agent that nobody knows', 'E_AGENT_NOT_FOUND', () => ({ agent: 'nobody-knows', provider: 'OTHER' as const })],
  ['a program that has vanished', 'E_AGENT_NOT_FOUND', () => ({ agent: 'gone' })],
  ['an input that is not there', 'E_FILE_NOT_FOUND', () => ({ task: { inputs: [file('missing.txt')] } })],
  [
    'an input outside of what may be read',
    'E_PERMISSION_DENIED',
    (world) => ({ task: { inputs: [file(join(world.root, 'home'))] } }),
  ],
  [
    'another system',
    'E_SCHEMA_VALIDATION',
    (world) => ({ task: { environment: { workspace_root: world.workspace, os: 'win32' } } }),
  ],
  [
    'a shell that is not there',
    'E_FILE_NOT_FOUND',
    (world) => ({ task: { environment: { workspace_root: world.workspace, shell: 'powershell' } } }),
  ],
  [
    'another branch',
    'E_SCHEMA_VALIDATION',
    (world) => ({ task: { environment: { workspace_root: world.workspace, git_branch: 'feature/x' } } }),
  ],
  [
    'an agent that needs a terminal',
    'E_PERMISSION_DENIED',
    () => ({ target: { capabilities: { headless_mode: false } } }),
  ],
  [
    'a snapshot outside of workspace and data folder',
    'E_PERMISSION_DENIED',
    (world) => ({
      task: {
        expected_outputs: [
          output('a.txt', { rollback_snapshot: { enabled: true, snapshot_path: join(world.root, 'home/snap') } }),
        ],
      },
    }),
  ],
  [
    'a snapshot through a symlink',
    'E_PERMISSION_DENIED',
    (world) => ({
      task: {
        expected_outputs: [
          output('a.txt', { rollback_snapshot: { enabled: true, snapshot_path: world.path('link/snap') } }),
        ],
      },
    }),
  ],
];
test.each(BAD)('%s is refused with its code, before anything is changed', async (_name, code, parts) => {
  const world = await makeWorld({
    config: { ...EMMA, agents: { ...EMMA.agents, gone: { kind: 'command', command: ['/no/such/program'] } } },
    git: true,
  });
  world.write('a.txt', 'before');
  symlinkSync(join(world.root, 'home'), world.path('link'));
  emma(world, 'echo x > begun.txt', REPORT_DONE);
  const before = listing(world);
  const ran = await world.run(taskOf(world, { agent: 'emma', ...parts(world) }));
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code } });
  expect(listing(world)).toEqual(before);
  expect(readdirSync(join(world.root, 'home'))).toEqual([]);
  expect(existsSync(join(world.dir, 'snapshots'))).toBe(false);
  expect(ran.last.response).toMatchObject({ task_status: { state: 'FAILED' }, error_details: { code } });
});

test('an input that may not be read is refused', async ({ skip }) => {
  if (process.getuid?.() === 0) skip('root may read everything');
  const world = await makeWorld({ config: EMMA });
  chmodSync(world.write('secret.txt', 'x'), 0);
  emma(world, REPORT_DONE);
  const ran = await world.run(taskOf(world, { agent: 'emma', task: { inputs: [file('secret.txt')] } }));
  expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_PERMISSION_DENIED' } });
});

const codeOf = (run: () => unknown): string => {
  try {
    run();
    return 'nothing';
  } catch (cause) {
    return cause instanceof BatonError ? cause.code : String(cause);
  }
};

test('payload limits: the hard ones refuse a TASK before it is a task, the soft ones only warn', async () => {
  const world = await makeWorld({ config: EMMA });
  const base = taskOf(world, { agent: 'emma' });
  const withTask = (task: object): string => JSON.stringify({ ...base, task: { ...base.task, ...task } });
  const many = (count: number): object[] => Array.from({ length: count }, (_, i) => file(`f${i}.txt`));
  expect(codeOf(() => newTasksOf(withTask({ inputs: many(101) })))).toBe('E_CONTEXT_OVERFLOW');
  expect(codeOf(() => newTasksOf(withTask({ expected_outputs: many(51) })))).toBe('E_CONTEXT_OVERFLOW');
  expect(codeOf(() => newTasksOf(withTask({ objective: 'x'.repeat(201 * 1024) })))).toBe('E_CONTEXT_OVERFLOW');
  expect(codeOf(() => newTasksOf(withTask({ inputs: many(100), expected_outputs: many(50) })))).toBe('nothing');
  // Above 50,000 characters, and eleven phases of twenty-one checkpoints: it runs.
  emma(world, 'cat > /dev/null', REPORT_DONE);
  const phases = Array.from({ length: 11 }, (_, i) => ({ phase_id: `P${i}`, phase_order: i, checkpoints: [] }));
  const ran = await world.run(taskOf(world, { agent: 'emma', objective: 'y'.repeat(60_000), phases }));
  expect(ran.task.status).toBe('done');
});

test('an agent that does not speak 2.x gets the prompt of version 1; one that may not delegate is told so', async () => {
  const world = await makeWorld({ config: EMMA });
  emma(world, 'cat > prompt.txt', REPORT_DONE);
  await world.run(
    taskOf(world, {
      agent: 'emma',
      target: { capabilities: { aop_versions_supported: ['1.x'] } },
      task: { constraints: { delegation_allowed: false } },
    }),
  );
  const old = world.read('prompt.txt') ?? '';
  await world.run(
    taskOf(world, { agent: 'emma', target: { capabilities: { aop_versions_supported: ['2.0.0', '1.x'] } } }),
  );
  const fresh = world.read('prompt.txt') ?? '';
  expect(old).toMatch(/^#+ Objective|^Objective/m);
  expect(old.split('\n')[0]).not.toBe(fresh.split('\n')[0]);
  expect(old).toContain('Do not hand this on');
  expect(fresh).not.toContain('Do not hand this on');
});

test('a model that is left open is chosen by profile, complexity and category, where config maps them', async () => {
  const models = { thorough: { CLAUDE: 'big' }, CRITICAL: { CLAUDE: 'biggest' }, TESTING: { CLAUDE: 'tester' } };
  const world = await makeWorld({ config: { defaults: { sandbox: 'off' }, models } });
  fakeCli(world, 'claude', claude.begin, claude.says(reportText()), claude.ends('done', { input: 1, output: 1 }));
  const open = { agent: 'claude', provider: 'CLAUDE' as const, model: 'default' };
  await world.run(
    taskOf(world, { ...open, target: { execution_profile: 'thorough' }, task: { complexity: 'CRITICAL' } }),
  );
  await world.run(taskOf(world, { ...open, task: { complexity: 'CRITICAL' } }));
  await world.run(taskOf(world, { ...open, task: { category: 'TESTING' } }));
  await world.run(taskOf(world, { ...open, model: 'my-own', target: { execution_profile: 'thorough' } }));
  await world.run(taskOf(world, open));
  expect(callsOf(world)).toEqual(['claude big', 'claude biggest', 'claude tester', 'claude my-own', 'claude']);
});

test('a claim of tests is unverified, and told as such', async () => {
  const world = await makeWorld({ config: EMMA });
  writeFileSync(
    join(world.root, 'report'),
    JSON.stringify(
      aof.fromReport(
        { ...said, tests: { total: 3, passed: 3, failed: 0 } },
        { taskId: FAKE_ID, fromAgent: 'emma', now: NOW },
      ).envelope,
    ),
  );
  emma(world, `sed s/${FAKE_ID}/$BATON_TASK_ID/g ${join(world.root, 'report')}`);
  const ran = await world.run(taskOf(world, { agent: 'emma' }));
  expect(claimOf(ran.last.response.extensions?.['x_claims'], 'tests 3/3')).toMatchObject({ verdict: 'unverified' });
});
