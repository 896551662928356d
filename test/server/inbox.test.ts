/** The graph and the inbox over HTTP: what a person sees and answers, and what a run is refused. */
import { describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import type { Peer } from '../../src/process/peer.ts';
import { type ApiWorld, type ApiWorldOptions, type Json, makeApiWorld } from './api-world.ts';

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;

const CONFIG = {
  agents: { emma: { kind: 'command', command: ['true'] } },
  stages: { 'implementation-triad': { agent: 'emma' } },
};

const add = (id: string, more: object = {}, document: object = {}): Json => ({
  kind: 'add-node',
  node: {
    id,
    type: 'DesignSummary',
    createdBy: 'architect',
    confidence: 0.95,
    sources: [],
    domain: 'software-development',
    outputType: 'specification',
    ready: true,
    nextStage: 'implementation-triad',
    topic: null,
    ...more,
  },
  document: JSON.stringify({
    type: 'add_node',
    node_id: id,
    node_type: 'DesignSummary',
    metadata: { created_by: 'architect', confidence: 0.95 },
    data: { key_decisions: ['a queue'] },
    ...document,
  }),
});

async function ok(world: ApiWorld, message: Json): Promise<readonly Task[]> {
  const answer = await world.store.send({ message, by: RUNTIME });
  if (answer.kind === 'refused') throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
  return answer.tasks;
}

/** A run hands a design to a person, and its task waits in review. */
async function gated(options: ApiWorldOptions = {}): Promise<{ world: ApiWorld; task: string; run: string }> {
  const world = await makeApiWorld({ config: CONFIG, ...options });
  const [made] = await ok(world, { type: 'task.add', tasks: [{ title: 'design it' }] });
  const task = made?.id ?? '';
  const run = await claim(world, task);
  await ok(world, {
    type: 'graph.apply',
    updates: [
      add('adr_queue_20251028_110000'),
      add('design_queue_20251028_120000', { sources: ['adr_queue_20251028_110000'] }),
    ],
    handed: [
      {
        node: 'design_queue_20251028_120000',
        nextStage: 'user',
        requiredFields: ['key_decisions'],
        optionalFields: [],
        confidence: 0.95,
        outputType: 'specification',
        approval: { question: 'Do you approve this architecture design?' },
        escalationReason: null,
      },
    ],
    escalate: { below: 0.9, domains: {} },
    task,
    run,
  });
  await ok(world, { type: 'run.report', run, outcome: 'needs_review' });
  await ok(world, { type: 'run.judge', run, passed: true });
  return { world, task, run };
}

const claim = async (world: ApiWorld, id: string): Promise<string> =>
  (
    await ok(world, {
      type: 'task.claim',
      id,
      claimer: { agent: 'emma', any: true },
      leaseMs: 60_000,
      supervisor: world.host.supervisor,
    })
  )[0]?.run?.id ?? '';

/** A run of another task, with its token. */
async function other(world: ApiWorld, session?: string): Promise<string> {
  const [task] = await ok(world, {
    type: 'task.add',
    tasks: [{ title: 'something else', ...(session === undefined ? {} : { session }) }],
  });
  const run = await claim(world, task?.id ?? '');
  return world.tokens.open({ id: run, task: task?.id ?? '', agent: 'emma' });
}

const refusals = async (world: ApiWorld): Promise<Json[]> => {
  const found: Json[] = [];
  for await (const { events, by } of world.store.eventsAfter({ after: 0 })) {
    for (const { type, detail } of events) if (type === 'question.refused') found.push({ ...detail, by: by.kind });
  }
  return found;
};

describe('the graph', () => {
  test('nodes by type, text and session; one; its lineage both ways', async () => {
    const { world } = await gated();
    const all = await world.json('/v1/nodes');
    expect(all.body.map((node: Json) => node.node_id)).toEqual([
      'adr_queue_20251028_110000',
      'design_queue_20251028_120000',
    ]);
    for (const [query, count] of [
      ['type=DesignSummary', 2],
      ['type=ADR&type=Review', 0],
      ['text=A%20QUEUE', 2],
      ['stage=implementation-triad&limit=1', 1],
      ['session=elsewhere', 0],
    ] as const) {
      expect((await world.json(`/v1/nodes?${query}`)).body.length, query).toBe(count);
    }
    expect((await world.json('/v1/nodes?kind=x')).status).toBe(422);
    const one = await world.json('/v1/nodes/adr_queue_20251028_110000');
    expect(one.body).toMatchObject({
      node_type: 'DesignSummary',
      data: { key_decisions: ['a queue'] },
      lineage: { created_from_nodes: [], consumed_by_nodes: ['design_queue_20251028_120000'] },
    });
    expect((await world.json('/v1/nodes/nothing')).status).toBe(404);
    const lineage = await world.json('/v1/nodes/adr_queue_20251028_110000/lineage');
    expect(lineage.body.nodes.length).toBe(2);
    expect(lineage.body.edges).toEqual([
      { from: 'adr_queue_20251028_110000', to: 'design_queue_20251028_120000', relation: null },
    ]);
    expect((await world.json('/v1/nodes/adr_queue_20251028_110000/lineage?direction=up')).body.nodes.length).toBe(1);
  });

  test('a run reads the nodes of every session', async () => {
    const { world } = await gated();
    for (const token of [await other(world), await other(world, 'elsewhere')]) {
      expect((await world.json('/v1/nodes', { token })).body.length).toBe(2);
      expect((await world.json('/v1/nodes?session=default', { token })).body.length).toBe(2);
      for (const path of ['', '/lineage']) {
        const asked = await world.json(`/v1/nodes/adr_queue_20251028_110000${path}`, { token });
        expect(asked.status).toBe(200);
      }
    }
  });

  test('a text goes into the router whole, as whoever the token stands for', async () => {
    const { world } = await gated();
    const token = await other(world);
    await world.json('/v1/graph', { method: 'POST', body: '[GRAPH_UPDATE]\n[/GRAPH_UPDATE]', token });
    await world.json('/v1/graph?as=emma', { method: 'POST', body: 'OUTPUT:\n' });
    expect(world.taken.map(({ sender }) => [sender.agent, sender.actor.kind])).toEqual([
      ['emma', 'agent'],
      ['emma', 'person'],
    ]);
  });
});

describe('the inbox', () => {
  test('lists what waits, and takes the answer: the task is done, the next stage is made', async () => {
    const { world, task } = await gated();
    const listed = await world.json('/v1/inbox');
    expect(listed.body).toMatchObject([
      { id: 'ask-1', kind: 'approval', question: 'Do you approve this architecture design?', blocks: [task] },
    ]);
    const answered = await world.json('/v1/inbox/ask-1/answer', { body: { status: 'approved', comment: 'go' } });
    expect(answered.status).toBe(200);
    expect(answered.body).toMatchObject({
      id: 'ask-1',
      answer: { status: 'approved', comment: 'go', by: 'user' },
      output: { _meta: { created_by: 'user', output_type: 'approval' }, _handoff: { approval_status: 'approved' } },
      status: 'done',
    });
    expect((await world.store.find(answered.body.tasks[0]))?.routing.agent).toBe('emma');
    expect((await world.json('/v1/inbox')).body).toEqual([]);
    const again = await world.json('/v1/inbox/ask-1/answer', { body: { status: 'rejected' } });
    expect([again.status, again.body.error.code]).toEqual([409, 'E_ANSWERED']);
  });

  test('what is not an answer is refused', async () => {
    const { world } = await gated();
    for (const [body, status] of [
      [{ status: 'maybe' }, 422],
      [{}, 422],
      [{ status: 'approved', by: 'me' }, 422],
      [{ status: 'approved', next: 'nobody-knows' }, 404],
    ] as const) {
      expect((await world.json('/v1/inbox/ask-1/answer', { body })).status, JSON.stringify(body)).toBe(status);
    }
    expect((await world.json('/v1/inbox/ask-7/answer', { body: { status: 'approved' } })).status).toBe(404);
    expect((await world.json('/v1/inbox')).body.length).toBe(1);
  });

  test('a run neither sees it nor answers, and that it tried is written down', async () => {
    const { world, task } = await gated();
    const token = await other(world);
    expect((await world.json('/v1/inbox', { token })).status).toBe(403);
    for (const id of ['ask-1', task, 'design_queue_20251028_120000']) {
      const tried = await world.json(`/v1/inbox/${id}/answer`, { body: { status: 'approved' }, token });
      expect([tried.status, tried.body.error.code]).toEqual([403, 'E_PERMISSION_DENIED']);
    }
    expect(await refusals(world)).toMatchObject(
      Array.from({ length: 3 }, () => ({ question: 'ask-1', status: 'approved', by: 'agent' })),
    );
    expect((await world.store.find(task))?.status).toBe('review');
  });

  test("the person's token, while a run is live and nobody can tell whose process has it, answers nothing", async () => {
    let peer: Peer = { kind: 'unknown' };
    const { world, task } = await gated({ peerOf: () => peer });
    await other(world);
    const tried = await world.json('/v1/inbox/ask-1/answer', { body: { status: 'approved' } });
    expect([tried.status, tried.body.error.code]).toEqual([403, 'E_PERMISSION_DENIED']);
    expect(await refusals(world)).toMatchObject([{ question: 'ask-1', by: 'unknown' }]);
    peer = { kind: 'run', run: 'TASK-2026-01-01-001-r1' };
    const stolen = await world.json('/v1/inbox/ask-1/answer', {
      body: { status: 'approved' },
      headers: { connection: 'close' },
    });
    expect(stolen.status).toBe(403);
    expect((await world.store.find(task))?.status).toBe('review');
  });

  test('what a run may have left behind answers nothing, however long the run is over', async () => {
    let peer: Peer = { kind: 'other' };
    const { world, task } = await gated({ real: true, peerOf: () => peer });
    const { startedAt = 0 } = (await world.store.find(task))?.run ?? {};
    const answer = async () =>
      (
        await world.json('/v1/inbox/ask-1/answer', {
          body: { status: 'approved' },
          headers: { connection: 'close' },
        })
      ).status;
    const doubtful: readonly Peer[] = [
      { kind: 'other', orphans: [startedAt] },
      { kind: 'other', orphans: [startedAt - 3_600_000, startedAt] },
      { kind: 'unknown', isGone: true },
      { kind: 'run', run: 'TASK-2026-01-01-001-r1' },
    ];
    for (peer of doubtful) expect(await answer(), JSON.stringify(peer)).toBe(403);
    expect((await world.store.find(task))?.status).toBe('review');
    // A daemon that was there before.
    peer = { kind: 'other', orphans: [startedAt - 3_600_000] };
    expect(await answer()).toBe(200);
  });

  test('stands in the document that describes the API', async () => {
    const { world } = await gated();
    const { paths, components } = (await world.json('/openapi.json')).body;
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        '/v1/nodes',
        '/v1/nodes/{id}',
        '/v1/nodes/{id}/lineage',
        '/v1/graph',
        '/v1/inbox',
        '/v1/inbox/{id}/answer',
      ]),
    );
    expect(Object.keys(components.schemas)).toEqual(
      expect.arrayContaining(['Node', 'Lineage', 'InboxItem', 'Answered', 'Answer']),
    );
  });
});
