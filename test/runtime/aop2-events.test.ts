/** The journal as aop2 EVENTs: each of the contract's six, valid by Baton's own schema, and with what was said. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventsOf } from '../../src/core/task-json.ts';
import { decodeAop2, type EventMessage, fallBack } from '../../src/protocol/aop2/index.ts';
import { createAop2Events } from '../../src/runtime/events/as-aop2.ts';
import { endSession } from '../../src/runtime/session.ts';
import { event, USER } from './messages.ts';
import { EMMA, emma, print } from './small-agents.ts';
import { makeWorld, taskOf, type World } from './world.ts';

async function eventsIn(world: World): Promise<EventMessage[]> {
  const events = createAop2Events({ store: world.store, auditPath: '/audit' });
  const found: EventMessage[] = [];
  for await (const record of world.store.eventsAfter({ after: 0 })) {
    for (const one of eventsOf(record)) {
      const message = await events.take(one);
      if (message === null) continue;
      expect(decodeAop2(message as never, JSON.stringify(message)), JSON.stringify(message)).toMatchObject({
        kind: 'EVENT',
        valid: true,
        problems: [],
      });
      found.push(message);
    }
  }
  return found;
}

test('what happens in a session is all six kinds of EVENT, each valid, with its words', async () => {
  const world = await makeWorld({ config: EMMA });
  const progress = event('PROGRESS_UPDATE', 'T', {
    session_id: 'test-session',
    agent: 'emma',
    progress: { percentage: 60, current_phase: 'P', current_checkpoint: 'C', message: '3 of 5' },
  });
  emma(world, print(progress), 'sleep 1.3; echo still here; echo changed > out.txt', 'exit 1');
  world.write('out.txt', 'before');
  const snapshot = { enabled: true, snapshot_strategy: 'COPY' as const };
  const asked = taskOf(world, {
    agent: 'emma',
    task: { task_id: 'T', expected_outputs: [{ type: 'FILE', path: 'out.txt', rollback_snapshot: snapshot }] },
    policy: { heartbeat: { enabled: true, interval_seconds: 1, max_missed_beats: 50 } },
    phases: [{ phase_id: 'P', checkpoints: [{ checkpoint_id: 'C' }] }],
  });
  await world.run(asked);
  const [waiting] = await world.add(taskOf(world, { agent: 'emma', task: { task_id: 'U' } }));
  const escalation = {
    session_id: 'test-session',
    old_priority: 'NORMAL',
    new_priority: 'CRITICAL',
    reason: 'The customer waits.',
    escalated_by: 'user@domain.com',
  };
  const [answer] = await world.host.router.take(event('PRIORITY_ESCALATION', 'U', escalation), USER);
  expect(answer?.result).toBe('accepted');
  const { event: fallback, lost } = fallBack({ task: { task_id: 'V' } }, [], '{"task": 1}', '2026-11-16T10:00:00Z');
  const detail = { ...fallback, lost };
  await world.store.send({
    message: { type: 'note', event: 'protocol.version.fallback', session: 'test-session', detail },
    by: { kind: 'runtime', name: 'baton' },
  });
  const options = { store: world.store, dir: world.dir, session: 'test-session', auditPath: 'audit', now: Date.now() };
  await endSession(options);

  const events = await eventsIn(world);
  // The same stand in the folder of the audit trail.
  const kept = readFileSync(join(world.dir, 'audit/test-session.events.jsonl'), 'utf8').trim().split('\n');
  expect(kept.map((line) => [JSON.parse(line).event, JSON.parse(line).extensions.x_event_id])).toEqual(
    events.map((one) => [one.event, one.extensions?.['x_event_id']]),
  );
  const of = (kind: string): EventMessage[] => events.filter((one) => one.event === kind);
  expect(of('HEARTBEAT').length).toBeGreaterThan(2);
  expect(of('HEARTBEAT').at(-1)).toMatchObject({
    task_id: 'T',
    agent: 'emma',
    session_id: 'test-session',
    progress_percentage: 60,
    current_phase: 'P',
  });
  expect(of('PROGRESS_UPDATE')).toMatchObject([
    {
      task_id: 'T',
      agent: 'emma',
      progress: { percentage: 60, current_phase: 'P', current_checkpoint: 'C', message: '3 of 5' },
    },
  ]);
  expect(of('ROLLBACK_INITIATED')).toMatchObject([
    { task_id: 'T', trigger: 'TASK_FAILED', artifacts_rolled_back: [{ path: 'out.txt', status: 'SUCCESS' }] },
  ]);
  expect(of('PRIORITY_ESCALATION')).toMatchObject([{ task_id: 'U', ...escalation }]);
  expect(of('VERSION_FALLBACK')).toMatchObject([{ task_id: 'V', input_preview: '{"task": 1}' }]);
  expect(of('SESSION_FINAL_REPORT')).toMatchObject([{ session_id: 'test-session', totals: { tasks: 2 } }]);
  // The runs that told them are there to be found.
  expect(of('PROGRESS_UPDATE')[0]?.extensions).toMatchObject({ x_run_id: expect.stringMatching(/-r1$/) });

  const history = await world.store.history(waiting?.id ?? '');
  const escalated = history.flatMap((record) => record.events).find(({ type }) => type === 'task.escalated');
  expect(escalated?.detail).toMatchObject({ reason: 'The customer waits.', escalatedBy: 'user@domain.com' });
});
