/** A door that remembers what it was asked, and answers what a test tells it to. */
import type { TaskJson } from '../../src/core/task-json.ts';
import type { Door, LoadedNode } from '../../src/runtime/doors.ts';

export const aTask = (fields: Partial<TaskJson> = {}): TaskJson => ({
  id: 'TASK-2026-11-16-001',
  externalId: null,
  title: 'Do it',
  status: 'ready',
  priority: 'normal',
  agent: null,
  model: null,
  workspace: null,
  verdict: null,
  session: 'default',
  parentId: null,
  depth: 0,
  dependsOn: [],
  attempts: 0,
  createdAt: '2026-11-16T00:00:00.000Z',
  updatedAt: '2026-11-16T00:00:00.000Z',
  blockedBy: [],
  waitsFor: [],
  cost: { usd: 0, known_usd: 0, tokens_input: 0, tokens_output: 0 },
  summary: null,
  undone: false,
  role: null,
  team: null,
  tags: [],
  reviewRequired: false,
  maxRetries: 0,
  availableAt: null,
  cause: null,
  createdBy: 'test',
  lastTransitionAt: '2026-11-16T00:00:00.000Z',
  ...fields,
});

export const aNode = (id: string, data: Readonly<Record<string, unknown>> = { summary: 's' }): LoadedNode => ({
  node_id: id,
  node_type: 'Findings',
  metadata: { created_by: 'x', confidence: 0.95 },
  data,
  handoff: { ready_for_next: true },
  lineage: { created_from_nodes: [], consumed_by_nodes: [] },
  effective_confidence: 0.95,
  approval: null,
  stale: null,
  session: 'default',
  task: null,
  run: null,
  shortened: [],
});

export interface FakeDoor extends Door {
  readonly asked: (readonly [method: string, input: unknown])[];
}

export function fakeDoor(answers: Partial<Door> = {}): FakeDoor {
  const asked: [string, unknown][] = [];
  const usual: Door = {
    create: async () => aTask(),
    update: async () => aTask({ status: 'in-progress' }),
    complete: async () => aTask({ status: 'in-progress' }),
    list: async () => [aTask()],
    handoff: async () => aTask({ agent: 'codex', parentId: 'TASK-2026-11-16-000' }),
    message: async () => [{ result: 'accepted', reason: null, task: aTask().id, events: ['run.reported'] }],
    report: async () => ({ accepted: true, reason: null }),
    context: async () => 'You make a thing.',
    load: async ({ node }) => aNode(node),
    wait: async () => [aTask({ status: 'done' })],
    do: async ({ line }) => ({ reply: 'saved:a', commands: [line], clarify: null, failed: false }),
  };
  const door = { ...usual, ...answers } as unknown as Record<string, (input: unknown) => Promise<unknown>>;
  const watched = Object.fromEntries(
    Object.entries(door).map(([method, call]) => [
      method,
      (input: unknown) => {
        asked.push([method, input]);
        return call(input);
      },
    ]),
  );
  return { ...(watched as unknown as Door), asked };
}
