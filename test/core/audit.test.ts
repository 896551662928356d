/** The audit trail is a projection of the journal, the same whenever it is made. */
import { describe, expect, test } from 'vitest';
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

async function journal(story: readonly (readonly [TaskMessage, Actor])[] = STORY): Promise<StoredRecord[]> {
  const store = openMemoryStore({ now: () => AT });
  for (const [i, [message, by]] of story.entries()) {
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

describe('what running tasks leave in the trail', () => {
  const RUN = `${PARENT}-r1`;
  const SECRET = `sk-${'aB3'.repeat(8)}`;
  const alternatives = [{ provider: 'GEMINI', model: 'g-1', trigger: 'TIMEOUT' }] as const;
  const note = (event: string, detail: Record<string, unknown>): readonly [TaskMessage, Actor] => [
    { type: 'note', event, task: PARENT, run: RUN, detail },
    RUNTIME,
  ];
  const BEGIN: readonly (readonly [TaskMessage, Actor])[] = [
    [{ type: 'task.add', tasks: [{ title: 'a', retry: { maxRetries: 0, backoffSeconds: [], alternatives } }] }, USER],
    [{ type: 'task.claim', id: PARENT, claimer: { agent: 'emma' }, leaseMs: 1, model: 'm-1' }, RUNTIME],
  ];
  const last = async (...story: (readonly [TaskMessage, Actor])[]): Promise<AuditRecord | undefined> =>
    trail(await journal([...BEGIN, ...story])).at(-1);

  test.each([
    [
      'run.enforced',
      { sandbox: 'bubblewrap', by: ['x'], missing: [], network: 'NONE' },
      ['access', 'network', 'sandbox'],
      null,
    ],
    ['run.enforced', { sandbox: 'none', by: [], missing: ['write paths'], network: 'NONE' }, [], null],
    ['run.overdue', { code: 'E_TIMEOUT', message: 'm' }, ['timeout'], 'E_TIMEOUT'],
    ['run.silent', { code: 'E_HEARTBEAT_FAILURE', message: 'm' }, ['heartbeat'], 'E_HEARTBEAT_FAILURE'],
    ['run.checkpoint', { checkpoint: 'C', status: 'PASS' }, ['checkpoint'], null],
    ['run.checkpoint', { checkpoint: 'C', status: 'FAIL' }, ['checkpoint', 'evidence'], 'E_EVIDENCE'],
    ['run.evidence', { claims: [{ what: 'w', verdict: 'proven' }] }, ['evidence'], null],
    ['run.evidence', { claims: [{ what: 'w', verdict: 'contradicted' }] }, ['evidence'], 'E_EVIDENCE'],
  ])('%s %j', async (event, detail, rails, code) => {
    expect(await last(note(event, detail))).toMatchObject({
      type: 'GUARD_RAIL_CHECK',
      payload: { event, run: RUN, ...detail },
      context: { attempt: 1, correlation_id: RUN },
      governance: { guard_rails_applied: rails, reason_code: code },
    });
  });

  test.each([
    ['E_TIMEOUT', 'timeout'],
    ['E_HEARTBEAT_FAILURE', 'heartbeat'],
    ['E_COST_LIMIT_EXCEEDED', 'budget'],
    ['E_PERMISSION_DENIED', 'access'],
  ])('a run that %s stopped', async (code, rail) => {
    const records = trail(await journal([...BEGIN, [{ type: 'run.fail', run: RUN, code, message: 'm' }, RUNTIME]]));
    expect(records.find(({ payload }) => payload['event'] === 'run.failed')?.governance).toEqual({
      guard_rails_applied: [rail],
      budget_status: rail === 'budget' ? 'exceeded' : null,
      access_decision: rail === 'access' ? 'refused' : 'allowed',
      reason_code: code,
    });
  });

  test('another model is a decision on the way', async () => {
    expect(await last([{ type: 'run.fail', run: RUN, code: 'E_TIMEOUT', message: 'm' }, RUNTIME])).toMatchObject({
      type: 'ROUTING_DECISION',
      payload: { event: 'task.fallback', from: 'm-1', to: 'g-1', provider: 'GEMINI', trigger: 'TIMEOUT' },
      governance: { guard_rails_applied: ['timeout'], reason_code: 'E_TIMEOUT' },
    });
  });

  test('provider and model are as the run told them, from then on', async () => {
    const usage = note('run.usage', { usd: 1, model: 'm-1-2026', provider: 'CLAUDE' });
    const report: TaskMessage = { type: 'run.report', run: RUN, outcome: 'done', cost: { usd: 1 } };
    expect(await last(usage, [report, EMMA])).toMatchObject({
      actor: { name: 'emma', role: 'agent', provider: 'CLAUDE', model: 'm-1-2026' },
      governance: { budget_status: null },
    });
    const budget = note('run.enforced', { sandbox: 'none', budget: true });
    expect(await last(budget, usage, [report, EMMA])).toMatchObject({ governance: { budget_status: 'within' } });
    expect(await last([report, EMMA])).toMatchObject({ actor: { provider: null, model: 'm-1' } });
  });

  test('a rollback that failed', async () => {
    const artifacts = [{ path: '/a', status: 'FAILED', error: 'no space' }];
    expect(await last(note('rollback.initiated', { artifacts_rolled_back: artifacts }))).toMatchObject({
      type: 'ROLLBACK_EVENT',
      governance: { guard_rails_applied: ['rollback'], reason_code: 'E_ROLLBACK_FAILED' },
    });
  });

  test.each([
    ['session.rolledback', 'ROLLBACK_EVENT'],
    ['stage.handed', 'ROUTING_DECISION'],
    ['question.opened', 'ROUTING_DECISION'],
    ['question.answered', 'ROUTING_DECISION'],
  ])('%s is in the trail', async (event, type) => {
    expect(await last(note(event, { by: 'ann' }))).toMatchObject({ type, payload: { event, by: 'ann' } });
  });

  test('the end of a session has its totals', async () => {
    const story: (readonly [TaskMessage, Actor])[] = [
      [{ type: 'run.fail', run: RUN, code: 'E_TIMEOUT', message: 'm', cost: { usd: 0.5, tokensInput: 10 } }, RUNTIME],
      [{ type: 'task.claim', id: PARENT, claimer: { agent: 'emma' }, leaseMs: 1 }, RUNTIME],
      [{ type: 'run.report', run: `${PARENT}-r2`, outcome: 'done', cost: { usd: 0.25, tokensOutput: 3 } }, EMMA],
      [{ type: 'run.judge', run: `${PARENT}-r2`, passed: true }, RUNTIME],
      [{ type: 'task.add', tasks: [{ title: 'b' }, { title: 'c', session: 'other' }] }, USER],
      [{ type: 'note', event: 'session.ended', session: 'default', detail: { by: 'user' } }, RUNTIME],
    ];
    expect(await last(...story)).toMatchObject({
      type: 'SESSION_SUMMARY',
      payload: {
        event: 'session.ended',
        by: 'user',
        totals: {
          tasks: { done: 1, ready: 1 },
          runs: 2,
          retries: 1,
          cost: { usd: 0.75, tokensInput: 10, tokensOutput: 3 },
        },
      },
    });
  });

  test('secrets are in no record', async () => {
    const story: (readonly [TaskMessage, Actor])[] = [
      note('run.checkpoint', { status: 'FAIL', command: `curl -H 'x: ${SECRET}'`, output: { password: 'hunter2' } }),
      [
        { type: 'run.fail', run: RUN, code: 'E_TIMEOUT', message: `token=${SECRET}` },
        { kind: 'agent', name: SECRET },
      ],
    ];
    const records = trail(await journal([...BEGIN, ...story]));
    expect(records.length).toBeGreaterThan(4);
    expect(JSON.stringify(records)).not.toContain(SECRET);
    expect(JSON.stringify(records)).not.toContain('hunter2');
    expect(records.at(-1)?.actor.name).toBe('[redacted]');
  });
});
