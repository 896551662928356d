/** The tools and resources of the MCP server, by the SDK's own client: what goes to the door, what comes back, and that nothing is ever large. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { afterEach, describe, expect, test } from 'vitest';
import { BatonError } from '../../src/core/errors.ts';
import type { Door } from '../../src/runtime/doors.ts';
import { createMcpServer, type McpOptions } from '../../src/server/mcp/index.ts';
import { aTask, type FakeDoor, fakeDoor } from './fake-door.ts';

const clients: Client[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) await client.close();
});

interface Said {
  readonly text: string;
  readonly structured: Record<string, unknown> | undefined;
  readonly isError: boolean;
}

async function connect(
  answers: Partial<Door> = {},
  options: McpOptions = {},
): Promise<{ client: Client; door: FakeDoor; call(name: string, input?: object): Promise<Said> }> {
  const door = fakeDoor(answers);
  const client = new Client({ name: 'test', version: '1' });
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  await createMcpServer(door, options).connect(theirs);
  await client.connect(ours);
  clients.push(client);
  // So that the client holds each answer to the tool's own schema.
  await client.listTools();
  return {
    client,
    door,
    async call(name, input = {}) {
      const answer = await client.callTool({ name, arguments: input as Record<string, unknown> });
      const [content] = answer.content as { type: string; text: string }[];
      return {
        text: content?.text ?? '',
        structured: answer.structuredContent as Record<string, unknown> | undefined,
        isError: answer.isError === true,
      };
    },
  };
}

const TASK = aTask().id;
const CALLS: readonly (readonly [tool: string, method: string, input: object, asked?: unknown])[] = [
  ['aof_task_create', 'create', { title: 'x', body: 'y', agent: 'codex', priority: 'high', dependsOn: [TASK] }],
  ['aof_task_update', 'update', { taskId: TASK, status: 'blocked', blockers: ['no key'], reason: 'r' }],
  [
    'aof_task_complete',
    'complete',
    { outcome: 'done', summary: 's', deliverables: ['a'], tests: { total: 2, passed: 2, failed: 0 } },
  ],
  ['aof_task_list', 'list', { status: ['ready'], limit: 5 }],
  ['aof_task_list', 'list', {}, { limit: 20 }],
  ['aof_handoff', 'handoff', { toAgent: 'codex', acceptanceCriteria: ['it works'], dueBy: '2026-11-17T00:00:00Z' }],
  ['aof_message', 'message', { text: 'AOF/1 {}' }],
  ['baton_report', 'report', { status: 'success', summary: '- made', metrics: { files: '1' } }],
  ['baton_context', 'context', { maxChars: 300 }],
  ['baton_load', 'load', { node_id: 'n_1', require: ['summary'] }, { node: 'n_1', require: ['summary'] }],
  [
    'baton_do',
    'do',
    { line: '#STATE:save:a:b', session: 's', dryRun: true },
    { line: '#STATE:save:a:b', session: 's', dryRun: true, timeoutMs: 54_000 },
  ],
  ['baton_wait', 'wait', { taskIds: [TASK], timeoutMs: 10 }],
  ['baton_wait', 'wait', { taskIds: [TASK] }, { taskIds: [TASK], timeoutMs: 30_000 }],
];

test.each(CALLS.map(([tool, method, input, asked = input]) => ({ tool, method, input, asked })))(
  '$tool asks the door to $method, and answers in words and in structure',
  async ({ tool, method, input, asked }) => {
    const { call, door } = await connect();
    const said = await call(tool, input);
    expect(door.asked).toEqual([[method, asked]]);
    expect(said.isError).toBe(false);
    expect(said.text).not.toBe('');
    expect(said.structured).toBeDefined();
  },
);

test('eleven tools, each with what it takes and gives', async () => {
  const { client } = await connect();
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual([...new Set(CALLS.map(([tool]) => tool))]);
  for (const { name, inputSchema, outputSchema, annotations, description } of tools) {
    expect([name, inputSchema['additionalProperties']]).toEqual([name, false]);
    expect(outputSchema).toBeDefined();
    expect(description).not.toBe('');
    expect(annotations?.destructiveHint).toBe(false);
  }
  // What every run pays for in its context.
  expect(JSON.stringify(tools).length).toBeLessThan(20_000);
});

test('a run is told how to report', async () => {
  const inRun = await connect({}, { inRun: true });
  expect(inRun.client.getInstructions()).toContain('baton_report');
  const outside = await connect();
  expect(outside.client.getInstructions()).not.toContain('baton_report');
});

describe('errors are answers', () => {
  test.each<[string, string, object, RegExp]>([
    [
      'a field that is missing',
      'aof_task_create',
      {},
      /^E_SCHEMA_VALIDATION: .*expected a string, got nothing, at \/title$/,
    ],
    ['a field that is not known', 'aof_task_create', { title: 'x', owner: 'y' }, /unknown field "owner", at \/owner$/],
    ['a wrong value', 'aof_task_complete', { outcome: 'failed' }, /expected one of done partial needs_review blocked/],
    [
      'counts that cannot be',
      'aof_task_complete',
      { outcome: 'done', tests: { total: 1, passed: 1, failed: 1 } },
      /total/,
    ],
    ['a wait that is too long', 'baton_wait', { taskIds: ['x'], timeoutMs: 55_000 }, /at most 54000, got 55000/],
    ['a text that is too long', 'aof_task_update', { progress: 'x'.repeat(1001) }, /at most 1000 characters/],
    ['a list that is too long', 'aof_task_update', { blockers: Array(100_000).fill('x') }, /at most 20 items/],
    ['11 MB', 'aof_message', { text: 'x'.repeat(11 * 1024 * 1024) }, /at most 10485760 characters/],
    [
      'many metrics',
      'baton_report',
      {
        status: 'success',
        summary: 's',
        metrics: Object.fromEntries(Array.from({ length: 51 }, (_, i) => [`k${i}`, 'v'])),
      },
      /at most 50 metrics/,
    ],
    [
      'no such tool',
      'aof_task_delete',
      {},
      /^E_NOT_FOUND: expected one of aof_task_create .*got the tool "aof_task_delete"/,
    ],
  ])('%s', async (_, tool, input, sentence) => {
    const { call, door } = await connect();
    const said = await call(tool, input);
    expect(said).toMatchObject({ isError: true, structured: undefined });
    expect(said.text).toMatch(sentence);
    expect(said.text.length).toBeLessThanOrEqual(500);
    expect(door.asked).toEqual([]);
  });

  test('a refusal has its code, one sentence and what to do', async () => {
    const { call } = await connect({
      update: async () => {
        throw new BatonError('E_ILLEGAL_MOVE', 'a task that is done stays done', 'make a new one');
      },
    });
    const said = await call('aof_task_update', { status: 'ready' });
    expect(said).toMatchObject({
      isError: true,
      text: 'E_ILLEGAL_MOVE: a task that is done stays done (make a new one)',
    });
  });

  test('a door that breaks does not break the server', async () => {
    const { call } = await connect({
      create: async () => {
        throw new Error(`no such file\n${'    at Object.open (node:fs)\n'.repeat(1000)}`);
      },
      // As a door that is badly made might.
      list: (() => {
        throw 'a text';
      }) as unknown as Door['list'],
    });
    const said = await call('aof_task_create', { title: 'x' });
    expect(said.isError).toBe(true);
    expect(said.text).toMatch(/^E_UNKNOWN: no such file/);
    expect(said.text.length).toBeLessThanOrEqual(500);
    expect((await call('aof_task_list')).text).toBe('E_UNKNOWN: a text');
    expect((await call('baton_context')).isError).toBe(false);
  });
});

describe('nothing floods', () => {
  const long = 'a word and \u001b[31mmore\u0007 '.repeat(50_000);
  const huge = aTask({
    title: long,
    summary: long,
    agent: long,
    externalId: long,
    cause: { code: 'E_UNKNOWN', message: long, run: null } as never,
    dependsOn: Array(5000).fill(TASK),
    blockedBy: Array(5000).fill(TASK),
  });

  test('of a task, of many tasks, of many answers', async () => {
    const routed = { result: 'rejected', reason: long, task: TASK, events: Array(500).fill('x') } as const;
    const { call } = await connect({
      create: async () => huge,
      list: async () => Array(1000).fill(huge),
      wait: async () => Array(50).fill(huge),
      message: async () => Array(1000).fill(routed),
      report: async () => ({ accepted: false, reason: long }),
      context: async () => long,
    });
    const sizes: [string, object, number][] = [
      ['aof_task_create', { title: 'x' }, 6000],
      ['aof_task_list', {}, 21_000],
      ['baton_wait', { taskIds: [TASK] }, 2_001],
      ['aof_message', { text: 'x' }, 40_000],
      ['baton_report', { status: 'success', summary: 's' }, 1000],
      ['baton_context', { maxChars: 1000 }, 1300],
    ];
    for (const [tool, input, most] of sizes) {
      const { text, structured } = await call(tool, input);
      const words = tool === 'baton_context' ? 1000 : tool === 'baton_wait' ? 2000 : 500;
      expect([tool, text.length <= words]).toEqual([tool, true]);
      expect([tool, JSON.stringify(structured).length < most]).toEqual([tool, true]);
      expect(`${text}${JSON.stringify(structured)}`).not.toContain('\u0007');
    }
    const { structured } = await call('aof_task_list');
    const { tasks, more } = structured as { tasks: unknown[]; more: number };
    expect(tasks.length + more).toBe(1000);
  });
});

describe('resources', () => {
  const look = {
    task: async (id: string) => (id === TASK ? '{"id":"x"}' : null),
    log: async (id: string) => (id === 'a b/c' ? 'printed' : null),
    response: async () => {
      throw new BatonError('E_STORE_FAILED', 'the disk failed');
    },
  };

  test('the details of each, under its address', async () => {
    const { client } = await connect({}, { look });
    const { resources } = await client.listResources();
    expect(resources).toMatchObject([{ uri: `baton://task/${TASK}`, name: TASK }]);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'baton://task/{id}',
      'baton://task/{id}/log',
      'baton://run/{id}/response',
    ]);
    const read = async (uri: string): Promise<unknown> => (await client.readResource({ uri })).contents;
    expect(await read(`baton://task/${TASK}`)).toMatchObject([{ text: '{"id":"x"}', mimeType: 'application/json' }]);
    expect(await read('baton://task/a%20b%2Fc/log')).toMatchObject([{ text: 'printed', mimeType: 'text/plain' }]);
    await expect(read('baton://task/TASK-2026-11-16-999')).rejects.toThrow(/there is no baton:\/\/task/);
    await expect(read('baton://task/%/log')).rejects.toThrow(/there is no/);
    await expect(read(`baton://run/${TASK}-r1/response`)).rejects.toThrow(/E_STORE_FAILED: the disk failed/);
    await expect(read('file:///etc/passwd')).rejects.toThrow();
  });

  test('none without something to read', async () => {
    const { client } = await connect();
    expect(client.getServerCapabilities()?.resources).toBeUndefined();
  });
});
