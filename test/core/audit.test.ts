/** DECISIONS §7: the audit trail is a projection of the journal, the same whenever it is made. */
import { expect, test } from 'vitest';
import { AUDIT_TYPES, type AuditRecord, createAudit } from '../../src/core/audit.ts';
import type { Actor, TaskMessage } from '../../src/core/laws/messages.ts';
import type { StoredRecord } from '../../src/core/store.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const USER: Actor = { kind: 'person', name: 'user' };
const EMMA: Actor = { kind: 'agent', name: 'emma' };
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
const PARENT = 'TASK-2026-11-15-001';
const CHILD = 'TASK-2026-11-15-002';
const AT = Date.UTC(2026, 10, 15, 12);

const STORY: readonly (readonly [TaskMessage, Actor])[] = [
  [{ type: 'task.add', tasks: [{ title: 'parent' }] }, USER],
  [{ type: 'task.add', tasks: [{ title: 'child', parentId: PARENT }] }, USER],
  [{ type: 'task.claim', id: CHILD, claimer: { agent: 'emma' }, leaseMs: 1, model: 'm-1' }, RUNTIME],
  [{ type: 'run.report', run: `${CHILD}-r1`, outcome: 'done', summary: 'ok' }, EMMA],
  [{ type: 'run.judge', run: `${CHILD}-r1`, passed: false, findings: ['empty'] }, RUNTIME],
  [{ type: 'task.move', id: CHILD, to: 'ready', reason: 'again' }, USER],
  [{ type: 'task.claim', id: CHILD, claimer: { agent: 'emma' }, leaseMs: 1 }, RUNTIME],
  [{ type: 'run.fail', run: `${CHILD}-r2`, code: 'E_COST_LIMIT_EXCEEDED', message: 'too dear' }, RUNTIME],
  [{ type: 'task.edit', id: PARENT, priority: 'high' }, USER],
  [{ type: 'note', event: 'tree.refused', task: PARENT, detail: { code: 'E_ILLEGAL_MOVE' } }, RUNTIME],
  [{ type: 'note', event: 'rollback.initiated', task: CHILD, detail: {} }, RUNTIME],
  [{ type: 'note', event: 'session.ended', session: 'default', detail: { tasks: 2 } }, RUNTIME],
  [{ type: 'note', event: 'tree.repaired', detail: {} }, RUNTIME],
];

async function journal(): Promise<StoredRecord[]> {
  const store = openMemoryStore({ now: () => AT });
  for (const [i, [message, by]] of STORY.entries()) {
    const answer = await store.send({ message, by, request: `request-${i}` });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
  }
  const records: StoredRecord[] = [];
  for await (const record of store.eventsAfter({ after: 0 })) records.push(record);
  return records;
}

const trail = (records: readonly StoredRecord[]): AuditRecord[] => records.flatMap(createAudit());

test('which event becomes which record', async () => {
  expect(trail(await journal()).map(({ type, payload }) => [type, payload['event']])).toEqual([
    ['ROUTING_DECISION', 'task.created'],
    ['ROUTING_DECISION', 'task.created'],
    ['ROUTING_DECISION', 'delegation.requested'],
    ['ROUTING_DECISION', 'task.transitioned'],
    ['TASK_DISPATCHED', 'run.started'],
    ['RESPONSE_RECEIVED', 'run.reported'],
    ['GUARD_RAIL_CHECK', 'run.judged'],
    ['ROUTING_DECISION', 'task.transitioned'],
    ['ROUTING_DECISION', 'task.transitioned'],
    ['TASK_DISPATCHED', 'run.started'],
    ['GUARD_RAIL_CHECK', 'run.failed'],
    ['ROUTING_DECISION', 'task.edited'],
    ['ROUTING_DECISION', 'task.escalated'],
    ['GUARD_RAIL_CHECK', 'tree.refused'],
    ['ROLLBACK_EVENT', 'rollback.initiated'],
    ['SESSION_SUMMARY', 'session.ended'],
  ]);
});

test('a record has every field of the decision', async () => {
  const reported = trail(await journal()).find(({ type }) => type === 'RESPONSE_RECEIVED');
  expect(reported).toEqual({
    id: 'audit-4-0',
    version: '1.0',
    timestamp: '2026-11-15T12:00:00.000Z',
    session: 'default',
    task: CHILD,
    type: 'RESPONSE_RECEIVED',
    actor: { name: 'emma', role: 'agent', provider: null, model: 'm-1' },
    payload: { event: 'run.reported', run: `${CHILD}-r1`, outcome: 'done', summary: 'ok' },
    context: { parent_task_id: PARENT, attempt: 1, correlation_id: `${CHILD}-r1` },
    governance: { guard_rails_applied: [], budget_status: null, access_decision: 'allowed', reason_code: null },
  });
});

test('what was refused, what a budget stopped and what the evidence says are in the governance', async () => {
  const checks = trail(await journal()).filter(({ type }) => type === 'GUARD_RAIL_CHECK');
  expect(checks.map(({ governance }) => governance)).toEqual([
    { guard_rails_applied: ['evidence'], budget_status: null, access_decision: 'allowed', reason_code: 'E_EVIDENCE' },
    {
      guard_rails_applied: ['budget'],
      budget_status: 'exceeded',
      access_decision: 'allowed',
      reason_code: 'E_COST_LIMIT_EXCEEDED',
    },
    { guard_rails_applied: [], budget_status: null, access_decision: 'refused', reason_code: 'E_ILLEGAL_MOVE' },
  ]);
});

test('who asked is known where there is no run', async () => {
  const [first] = trail(await journal());
  expect([first?.context, first?.actor]).toEqual([
    { parent_task_id: null, attempt: null, correlation_id: 'request-0' },
    { name: 'user', role: 'person', provider: null, model: null },
  ]);
});

test('ids are unique, and the same each time', async () => {
  const records = await journal();
  const ids = trail(records).map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  expect(trail(records).map(({ id }) => id)).toEqual(ids);
});

test('all types occur', async () => {
  expect(new Set(trail(await journal()).map(({ type }) => type))).toEqual(new Set(AUDIT_TYPES));
});
