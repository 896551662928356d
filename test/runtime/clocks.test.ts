/** The clocks of a run: how long it may take, how long it may be silent, and what comes of it; and its progress, told often and written seldom. */
import { expect, test } from 'vitest';
import type { TaskMessage } from '../../src/protocol/aop2/index.ts';
import { alivePids, makeWorld, newSleep, REPORT, reportText, sh, shellWorld, taskOf, until } from './world.ts';

test('a time-out ends the one run with all of it, SIGTERM or not, and no other', async () => {
  const [deaf, other] = [newSleep(), newSleep()];
  const world = await shellWorld({
    deaf: `trap '' TERM; setsid sleep ${deaf} & while :; do sleep 0.05; done`,
    slow: `sleep ${other} & until [ -e go ]; do sleep 0.05; done; ${REPORT}`,
  });
  const messages = [
    taskOf(world, { agent: 'deaf', policy: { timeout_seconds: 0.6 } }),
    taskOf(world, { agent: 'slow' }),
  ];
  const running = world.runAll(messages, {
    onResult: ({ task }) => {
      // The other one outlives it, and goes on as if nothing had been.
      if (task.status !== 'deadletter') return;
      expect(alivePids(other).length).toBeGreaterThan(0);
      world.write('go', '');
    },
  });
  await until('it is over', () => world.read('go') !== null).catch(() => world.write('go', ''));
  await running;
  const tasks = await Promise.all(messages.map(({ task }) => world.store.find(task.task_id, 'test-session')));
  expect(tasks.map((task) => [task?.status, task?.cause?.code])).toEqual([
    ['deadletter', 'E_TIMEOUT'],
    ['done', undefined],
  ]);
  expect([...alivePids(deaf), ...alivePids(other), ...world.alive()]).toEqual([]);
});

test('a clock of the machine that is set is no time that passes', async () => {
  let jump = 0;
  const world = await makeWorld({
    config: { agents: { a: sh(REPORT) }, defaults: { sandbox: 'off' } },
    host: {
      now: () => Date.now() + jump,
      onLive: ({ state }) => {
        if (state === 'working') jump = 24 * 60 * 60 * 1000;
      },
    },
  });
  const { task } = await world.run(taskOf(world, { agent: 'a' }));
  expect([task.status, task.cause]).toEqual(['done', null]);
});

const BEAT = `
const { createConnection } = require('node:net');
const { readFileSync, writeFileSync } = require('node:fs');
const { session, task } = JSON.parse(readFileSync(process.env.BATON_TASK_FILE, 'utf8'));
const socket = createConnection(process.env.BATON_SOCKET);
const beat = () => socket.write(JSON.stringify({ aop_version: '2.0.2-C', message_type: 'EVENT', event: 'HEARTBEAT', session_id: session.session_id, task_id: task.task_id,
  timestamp: new Date().toISOString(), agent: 'beats', progress_percentage: 50 }) + '\\n');
beat();
const timer = setInterval(beat, 100);
socket.on('data', (data) => writeFileSync('answers', data));
setTimeout(() => { clearInterval(timer); socket.end(); }, 7000);
socket.on('close', () => console.log(${JSON.stringify(reportText())}));
`;

test('heartbeats: who is silent is ended, warned of or let be; who speaks lives on', async () => {
  // Silence is 6 seconds: on a busy machine a program takes some to say its first word.
  const silent = `sleep 8; ${REPORT}`;
  const dots = `i=0; while [ $i -lt 75 ]; do printf .; i=$((i+1)); sleep 0.1; done; echo; ${REPORT}`;
  const beats = { kind: 'command', command: [process.execPath, '-e', BEAT] };
  const world = await shellWorld({ silent, dots, beats });
  const task = (agent: string, onFailure: 'ABORT' | 'WARN' | 'CONTINUE') => {
    const beat = { enabled: true, interval_seconds: 0.2, max_missed_beats: 30, on_heartbeat_failure: onFailure };
    return taskOf(world, { agent, policy: { heartbeat: beat } });
  };
  const [aborted, dotted, beating, warned, left] = await world.runAll(
    [
      task('silent', 'ABORT'),
      task('dots', 'ABORT'),
      task('beats', 'ABORT'),
      task('silent', 'WARN'),
      task('silent', 'CONTINUE'),
    ],
    { parallel: 5 },
  );
  expect(aborted?.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_HEARTBEAT_FAILURE' } });
  expect(aborted?.last.response.error_details).toMatchObject({ code: 'E_HEARTBEAT_FAILURE' });
  expect([dotted, beating, warned, left].map((ran) => ran?.task.status)).toEqual(['done', 'done', 'done', 'done']);
  expect(world.read('answers')).toContain('"accepted"');
  expect([dotted, beating].flatMap((ran) => ran?.told('run.silent'))).toEqual([]);
  expect(warned?.told('run.silent')).toMatchObject([{ code: 'E_HEARTBEAT_FAILURE', policy: 'WARN' }]);
  expect(left?.told('run.silent')).toMatchObject([{ code: 'E_HEARTBEAT_FAILURE', policy: 'CONTINUE' }]);
  expect(world.warnings.filter((text) => text.includes('no sign of life'))).toEqual([
    expect.stringContaining(warned?.task.id ?? ''),
  ]);
  expect(JSON.stringify(warned?.last.response)).toContain('E_HEARTBEAT_FAILURE');
  expect(world.alive()).toEqual([]);
});

test('nobody is silent while what an agent left is ended, or its checkpoint is looked at', async () => {
  const world = await shellWorld({ a: `(trap '' TERM; sleep 4) & sleep 0.2; ${REPORT}` });
  const validation = { command: 'sleep 4', expects: 'EXIT_CODE_0' as const };
  const phases = [{ phase_id: 'p', phase_order: 1, label: 'p', checkpoints: [{ checkpoint_id: 'c', validation }] }];
  const heartbeat = { enabled: true, interval_seconds: 0.2, max_missed_beats: 15 };
  const { task } = await world.run(
    taskOf(world, { agent: 'a', policy: { heartbeat }, phases: phases as TaskMessage['phases'] }),
  );
  expect([task.status, task.cause]).toEqual(['done', null]);
});

test('a time-out that may not end the run is written down, and the run goes on', async () => {
  const world = await shellWorld({ a: `sleep 1; ${REPORT}` });
  const { task, told, last } = await world.run(
    taskOf(world, { agent: 'a', policy: { timeout_seconds: 0.2, auto_terminate_on_timeout: false } }),
  );
  expect(task.status).toBe('done');
  expect(told('run.overdue')).toMatchObject([{ code: 'E_TIMEOUT' }]);
  expect(JSON.stringify(last.response)).toContain('E_TIMEOUT');
});

test('progress that is told often is written down seldom, and its last word is kept', async () => {
  const script = `
for (let i = 1; i <= 200; i++) console.log(JSON.stringify({ aop_version: '2.0.2-C', message_type: 'EVENT', event: 'PROGRESS_UPDATE', session_id: 'test-session', task_id: 'P-1',
  timestamp: new Date().toISOString(), agent: 'a', progress: { percentage: i / 2, message: 'step ' + i } }));
console.log(${JSON.stringify(reportText())});`;
  const world = await shellWorld({ a: { kind: 'command', command: [process.execPath, '-e', script] } });
  const { told, last } = await world.run(taskOf(world, { agent: 'a', task: { task_id: 'P-1' } }));
  expect(told('run.progress').map((detail) => detail['percentage'])).toEqual([0.5, 100]);
  expect(last.response.progress_log).toMatchObject({ progress_percentage: 100 });
});
