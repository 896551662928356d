/** The final report of a session is folded from its records, says all that the decision lists, and is a valid event. */
import { describe, expect, test } from 'vitest';
import type { Actor, TaskMessage } from '../../src/core/laws/messages.ts';
import { createSessionReport, type SessionFinalReport } from '../../src/core/session-report.ts';
import type { StoredRecord } from '../../src/core/store.ts';
import { EventMessage } from '../../src/protocol/aop2/schema.ts';
import { AOP_VERSION, SCHEMA_VERSION } from '../../src/protocol/aop2/version.ts';
import { detect } from '../../src/protocol/detect.ts';
import { openMemoryStore } from '../../src/store/memory.ts';

const AT = Date.UTC(2026, 10, 15, 12);
const USER: Actor = { kind: 'person', name: 'user' };
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
const id = (n: number): string => `TASK-2026-11-15-00${n}`;
const SECRET = `sk-${'aB3'.repeat(8)}`;

const claim = (of: string, agent: string, model?: string): TaskMessage => ({
  type: 'task.claim',
  id: of,
  claimer: { agent, any: true },
  leaseMs: 1000,
  ...(model === undefined ? {} : { model }),
});
const note = (event: string, run: string, detail: Record<string, unknown>): TaskMessage => ({
  type: 'note',
  event,
  task: run.slice(0, -3),
  run,
  detail,
});

/** A parent, a child that needs another model, one that waits for the child, and one of another session. Each step takes a second. */
const STORY: readonly TaskMessage[] = [
  {
    type: 'task.add',
    tasks: [
      { title: 'parent', session: 's', externalId: 'P', routing: { agent: 'emma', role: 'ORCHESTRATOR' } },
      {
        title: 'child',
        session: 's',
        parentId: 'P',
        routing: { agent: 'zed', role: 'EXECUTOR' },
        retry: {
          maxRetries: 0,
          backoffSeconds: [],
          alternatives: [{ provider: 'GEMINI', model: 'g-1', trigger: 'TIMEOUT' }],
        },
      },
      { title: 'later', session: 's', dependsOn: [id(2)] },
      { title: 'elsewhere', session: 'other' },
      { title: 'waits for elsewhere', session: 's', dependsOn: [id(4)] },
    ],
  },
  claim(id(2), 'zed', 'c-1'),
  note('run.estimate', `${id(2)}-r1`, { usd: 0.25, tokensInput: 1, tokensOutput: 2 }),
  note('run.usage', `${id(2)}-r1`, {
    usd: 0.1,
    tokensInput: 100,
    tokensOutput: 10,
    estimated: false,
    model: 'c-1-2026',
    provider: 'CLAUDE',
  }),
  {
    type: 'run.fail',
    run: `${id(2)}-r1`,
    code: 'E_TIMEOUT',
    message: `slow with ${SECRET}`,
    cost: { usd: 0.1, tokensInput: 100, tokensOutput: 10 },
  },
  note('rollback.initiated', `${id(2)}-r1`, {
    trigger: 'TASK_FAILED',
    artifacts_rolled_back: [
      { path: '/w/a', restored_from: '/s/a', status: 'SUCCESS' },
      { path: '/w/b', restored_from: '/s/b', status: 'FAILED', error: 'no space' },
    ],
  }),
  claim(id(2), 'zed'),
  note('run.estimate', `${id(2)}-r2`, { usd: 0.5, tokensInput: 1, tokensOutput: 2 }),
  note('run.checkpoint', `${id(2)}-r2`, { phase: 'PH', checkpoint: 'CP-1', status: 'FAIL', exitCode: 1 }),
  note('run.checkpoint', `${id(2)}-r2`, { phase: 'PH', checkpoint: 'CP-1', status: 'RECOVERED', exitCode: 0 }),
  note('run.context', `${id(2)}-r2`, { agent: 'zed', tokens: 300, prompt: 300, tool: 0, total: 300 }),
  note('run.context', `${id(2)}-r2`, { agent: 'zed', tokens: 50, prompt: 0, tool: 50, total: 350 }),
  note('run.output', `${id(2)}-r2`, {
    ...{ produced: 5004, produced_chars: 5000, produced_tokens: 1200, delivered: 400, delivered_tokens: 90 },
    ...{ estimated: true, log: '/l' },
  }),
  note('run.usage', `${id(2)}-r2`, { usd: null, tokensInput: 5, tokensOutput: 5, estimated: false }),
  note('run.usage', `${id(2)}-r2`, { usd: 0.2, tokensInput: 200, tokensOutput: 20, estimated: true }),
  { type: 'run.report', run: `${id(2)}-r2`, outcome: 'done', cost: { usd: 0.2, tokensInput: 200, tokensOutput: 20 } },
  note('run.evidence', `${id(2)}-r2`, {
    claims: [{ what: 'a exists', verdict: 'proven', detail: null }],
    artifacts: [{ path: '/w/a', type: 'FILE', hash: 'sha256:1', status: 'UPDATED', sizeBytes: 12 }],
  }),
  { type: 'run.judge', run: `${id(2)}-r2`, passed: true },
  claim(id(4), 'eve'),
  { type: 'run.fail', run: `${id(4)}-r1`, code: 'E_CREDENTIALS', message: 'no key', cost: { usd: 9 } },
  claim(id(1), 'emma', 'c-1'),
  note('run.usage', `${id(1)}-r1`, {
    usd: 0.05,
    tokensInput: 7,
    tokensOutput: 3,
    estimated: false,
    model: 'c-1',
    provider: 'CLAUDE',
  }),
  note('run.output', `${id(1)}-r1`, { produced: 100, delivered: 100, log: '/l' }),
  { type: 'task.cancel', id: id(1), reason: 'stopped' },
  { type: 'note', event: 'session.ended', session: 's', detail: { by: 'user' } },
];

async function records(): Promise<StoredRecord[]> {
  let now = AT;
  const store = openMemoryStore({ now: () => now });
  for (const message of STORY) {
    const by = message.type === 'task.add' || message.type === 'task.cancel' ? USER : RUNTIME;
    const answer = await store.send({ message, by });
    if (answer.kind === 'refused') throw new Error(answer.refusal.message);
    now += 1000;
  }
  const all: StoredRecord[] = [];
  for await (const record of store.eventsAfter({ after: 0 })) all.push(record);
  return all;
}

async function reportOf(session: string): Promise<SessionFinalReport> {
  const report = createSessionReport(session);
  // As the journal gives them back.
  for (const record of await records()) report.take(JSON.parse(JSON.stringify(record)) as StoredRecord);
  return report.finish(AT + 60_000, { auditPath: '/data/audit' });
}

describe('the final report', () => {
  test('is a valid event of the contract', async () => {
    const report = await reportOf('s');
    expect(EventMessage.parse(report)).toEqual(report);
    const [found] = detect(JSON.stringify(report));
    expect([found?.dialect, found?.kind, found?.valid]).toEqual(['aop2', 'EVENT', true]);
    expect([report.aop_version, report.schema_version]).toEqual([AOP_VERSION, SCHEMA_VERSION]);
    expect(report.timestamp).toBe('2026-11-15T12:01:00.000Z');
    expect(report.audit_trail).toEqual({ storage_path: '/data/audit' });
  });

  test('knows the session and its totals', async () => {
    const report = await reportOf('s');
    expect(report.session).toEqual({
      session_id: 's',
      started_at: '2026-11-15T12:00:00.000Z',
      ended_at: `2026-11-15T12:00:${STORY.length - 1}.000Z`,
      ended_by: 'user',
    });
    expect(report.totals).toEqual({
      tasks: 4,
      tasks_by_state: {
        backlog: 0,
        ready: 1,
        'in-progress': 0,
        blocked: 1,
        review: 0,
        done: 1,
        cancelled: 1,
        deadletter: 0,
      },
      tasks_undone: 0,
      runs: 3,
      retries: 1,
      fallbacks: 1,
      duration_seconds: STORY.length - 1,
    });
  });

  test('knows who worked, as what and with what', async () => {
    expect((await reportOf('s')).agents).toEqual([
      { name: 'zed', roles: ['EXECUTOR'], providers: ['CLAUDE', 'GEMINI'], models: ['c-1-2026', 'g-1'], runs: 2 },
      { name: 'emma', roles: ['ORCHESTRATOR'], providers: ['CLAUDE'], models: ['c-1'], runs: 1 },
    ]);
  });

  test('draws the graph', async () => {
    expect((await reportOf('s')).delegation_graph).toEqual({
      nodes: [
        {
          id: id(1),
          external_id: 'P',
          title: 'parent',
          status: 'cancelled',
          undone: false,
          verdict: null,
          agent: 'emma',
          attempts: 1,
          cost_usd: 0.05,
        },
        {
          id: id(2),
          external_id: null,
          title: 'child',
          status: 'done',
          undone: false,
          verdict: 'unverified',
          agent: 'zed',
          attempts: 2,
          cost_usd: 0.3,
        },
        {
          id: id(3),
          external_id: null,
          title: 'later',
          status: 'ready',
          undone: false,
          verdict: null,
          agent: null,
          attempts: 0,
          cost_usd: 0,
        },
        {
          id: id(5),
          external_id: null,
          title: 'waits for elsewhere',
          status: 'blocked',
          undone: false,
          verdict: null,
          agent: null,
          attempts: 0,
          cost_usd: 0,
        },
      ],
      edges: [
        { from: id(1), to: id(2), type: 'parent' },
        { from: id(2), to: id(3), type: 'dependency' },
      ],
    });
  });

  test('adds up the costs: what was charged, and of a run that was stopped what it was seen to use', async () => {
    const { cost_summary: costs } = await reportOf('s');
    expect(costs).toEqual({
      estimated_cost_usd: 0.75,
      actual_cost_usd: 0.35,
      known_cost_usd: 0.35,
      tokens_input: 307,
      tokens_output: 33,
      by_agent: {
        zed: { usd: 0.3, tokens_input: 300, tokens_output: 30 },
        emma: { usd: 0.05, tokens_input: 7, tokens_output: 3 },
      },
      by_model: {
        'c-1-2026': { usd: 0.1, tokens_input: 100, tokens_output: 10 },
        'g-1': { usd: 0.2, tokens_input: 200, tokens_output: 20 },
        'c-1': { usd: 0.05, tokens_input: 7, tokens_output: 3 },
      },
      includes_estimates: true,
    });
  });

  test('has the last word on checkpoints, evidence and artifacts, and how much text there was', async () => {
    const report = await reportOf('s');
    expect(report.checkpoints).toEqual([{ task_id: id(2), phase: 'PH', checkpoint: 'CP-1', status: 'RECOVERED' }]);
    expect(report.evidence).toEqual([{ task_id: id(2), what: 'a exists', verdict: 'proven', detail: null }]);
    expect(report.artifacts).toEqual([
      { task_id: id(2), path: '/w/a', type: 'FILE', hash: 'sha256:1', status: 'UPDATED', size_bytes: 12 },
    ]);
    expect(report.context).toEqual({
      ...{ characters_produced: 5100, characters_delivered: 500 },
      ...{ characters_saved: 4600, characters_saved_percent: 90.2 },
      ...{ tokens_produced: 1200, tokens_delivered: 90, tokens_saved: 1110, tokens_saved_percent: 92.5 },
      tokens_given: 350,
      includes_estimates: true,
      by_agent: {
        zed: {
          ...{ characters_produced: 5000, characters_delivered: 400 },
          ...{ characters_saved: 4600, characters_saved_percent: 92 },
          ...{ tokens_produced: 1200, tokens_delivered: 90, tokens_saved: 1110, tokens_saved_percent: 92.5 },
          tokens_given: 350,
        },
        // Told before tokens were counted, and no less than it said.
        emma: {
          ...{ characters_produced: 100, characters_delivered: 100 },
          ...{ characters_saved: 0, characters_saved_percent: 0 },
          ...{ tokens_produced: 0, tokens_delivered: 0, tokens_saved: 0, tokens_saved_percent: null },
          tokens_given: 0,
        },
      },
    });
  });

  test('tells what was rolled back and what went wrong, without secrets', async () => {
    const report = await reportOf('s');
    expect(report.rollbacks).toMatchObject([
      { task_id: id(2), trigger: 'TASK_FAILED', timestamp: '2026-11-15T12:00:05.000Z' },
    ]);
    expect(report.rollbacks[0]?.artifacts_rolled_back).toHaveLength(2);
    expect(report.errors.map(({ task_id, run, code, message }) => [task_id, run, code, message])).toEqual([
      [id(2), `${id(2)}-r1`, 'E_TIMEOUT', 'slow with [redacted]'],
      [id(2), `${id(2)}-r1`, 'E_ROLLBACK_FAILED', '/w/b: no space'],
      [id(5), null, 'E_DEPENDENCY_FAILED', `${id(4)} is deadletter`],
    ]);
    expect(JSON.stringify(report)).not.toContain(SECRET);
  });

  test('does not reach into another session', async () => {
    const report = await reportOf('other');
    expect(report.delegation_graph.nodes.map((node) => node.id)).toEqual([id(4)]);
    expect(report.cost_summary.actual_cost_usd).toBe(9);
    expect(report.errors.map(({ code }) => code)).toEqual(['E_CREDENTIALS']);
    expect([report.session.ended_at, report.rollbacks, report.checkpoints]).toEqual([null, [], []]);
  });

  test('of a session without records is empty and valid', () => {
    const report = createSessionReport('none').finish(AT, { auditPath: 'a' });
    expect(EventMessage.safeParse(report).success).toBe(true);
    expect(report.totals).toMatchObject({ tasks: 0, runs: 0, duration_seconds: 0 });
    expect(report.cost_summary).toMatchObject({
      estimated_cost_usd: null,
      actual_cost_usd: 0,
      includes_estimates: false,
    });
  });
});

test('what was written into the graph, what people said, and that the session went back', async () => {
  const store = openMemoryStore({ now: () => AT });
  await store.send({ message: { type: 'task.add', tasks: [{ title: 't' }] }, by: RUNTIME });
  const facts: readonly (readonly [string, string | null, string | null, Record<string, unknown>])[] = [
    ['node.added', null, null, { node: 'bug_1', type: 'BugBrief', confidence: 0.95 }],
    ['node.added', id(1), `${id(1)}-r1`, { node: 'implementation_1', type: 'Implementation', confidence: 0.9 }],
    [
      'question.answered',
      id(1),
      null,
      { question: 'ask-1', asked: 'May it?', status: 'approved', comment: 'go', by: 'ann' },
    ],
    ['session.rolledback', null, null, { checkpoint: 'cp_001', files: 2, kept: 'refs/baton/default/kept_001' }],
  ];
  for (const [event, task, run, detail] of facts) {
    const about = { ...(task === null ? { session: 'default' } : { task }), ...(run === null ? {} : { run }) };
    await store.send({ message: { type: 'note', event, detail, ...about }, by: RUNTIME });
  }
  const report = createSessionReport('default');
  for await (const record of store.eventsAfter({ after: 0 })) report.take(record);
  const { nodes, decisions, rollbacks } = report.finish(AT, { auditPath: 'a' });
  expect(nodes).toEqual([
    { node_id: 'bug_1', node_type: 'BugBrief', task_id: null, confidence: 0.95 },
    { node_id: 'implementation_1', node_type: 'Implementation', task_id: id(1), confidence: 0.9 },
  ]);
  expect(decisions).toMatchObject([
    { id: 'ask-1', task_id: id(1), by: 'ann', asked: 'May it?', status: 'approved', text: 'go' },
  ]);
  expect(rollbacks).toMatchObject([
    { task_id: null, trigger: '#ROLLBACK:cp_001', files: 2, kept: 'refs/baton/default/kept_001' },
  ]);
});

describe('errors', () => {
  const told = async (...messages: TaskMessage[]): Promise<unknown[]> => {
    const store = openMemoryStore({ now: () => AT });
    for (const message of messages) await store.send({ message, by: RUNTIME });
    const report = createSessionReport('default');
    for await (const record of store.eventsAfter({ after: 0 })) report.take(record);
    return report.finish(AT, { auditPath: 'a' }).errors.map(({ code, message }) => [code, message]);
  };
  const alternatives = [{ provider: 'GEMINI', model: 'g-1', trigger: 'FIRST_ERROR' }] as const;

  test('when all models have failed: each failure, and that there is none left', async () => {
    const add: TaskMessage = {
      type: 'task.add',
      tasks: [{ title: 't', retry: { maxRetries: 0, backoffSeconds: [], alternatives } }],
    };
    const fail = (n: number): TaskMessage => ({
      type: 'run.fail',
      run: `${id(1)}-r${n}`,
      code: 'E_TIMEOUT',
      message: 'slow',
    });
    expect(await told(add, claim(id(1), 'zed'), fail(1), claim(id(1), 'zed'), fail(2))).toEqual([
      ['E_TIMEOUT', 'slow'],
      ['E_TIMEOUT', 'slow'],
      ['E_ALL_MODELS_EXHAUSTED', expect.stringMatching(/^all 2 models failed/)],
    ]);
  });

  test('evidence that failed, a run that went silent, and what was refused', async () => {
    const add: TaskMessage = { type: 'task.add', tasks: [{ title: 'a' }, { title: 'b' }] };
    expect(
      await told(
        add,
        claim(id(1), 'zed'),
        { type: 'run.report', run: `${id(1)}-r1`, outcome: 'done' },
        { type: 'run.judge', run: `${id(1)}-r1`, passed: false, findings: ['empty', 'late'] },
        { type: 'run.judge', run: `${id(1)}-r1`, passed: false, code: 'E_FILE_NOT_FOUND', findings: ['gone'] },
        claim(id(2), 'zed'),
        { type: 'run.resume', run: `${id(2)}-r1`, result: 'none', gone: true },
        {
          type: 'note',
          event: 'handoff.rejected',
          task: id(1),
          detail: { code: 'E_MAX_DEPTH_EXCEEDED', reason: 'too deep' },
        },
      ),
    ).toEqual([
      ['E_EVIDENCE', 'empty; late'],
      ['E_FILE_NOT_FOUND', 'gone'],
      ['E_RUN_EXPIRED', `${id(2)}-r1 went silent and left no result`],
      ['E_MAX_DEPTH_EXCEEDED', 'too deep'],
    ]);
  });
});
