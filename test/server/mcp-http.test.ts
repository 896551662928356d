/** `/mcp` over HTTP, with the SDK's own client, the real router and the real door. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, test } from 'vitest';
import { type ApiWorld, type Json, makeApiWorld, PERSON } from './api-world.ts';

async function connect(world: ApiWorld, token: string): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${world.listening.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  await client.connect(transport as Parameters<typeof client.connect>[0]);
  return client;
}

test('who has the token of a person lists and calls the tools, and is a program', async () => {
  const world = await makeApiWorld({ real: true });
  const client = await connect(world, PERSON);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['aof_task_create', 'aof_task_list', 'baton_wait']),
  );
  const made: Json = await client.callTool({ name: 'aof_task_create', arguments: { title: 'Over MCP' } });
  expect(made.isError ?? false, JSON.stringify(made)).toBe(false);
  expect((await world.json('/v1/tasks')).body).toMatchObject([{ title: 'Over MCP', createdBy: 'mcp' }]);
  await client.close();
});

test('a run speaks as itself, and a wrong token not at all', async () => {
  const world = await makeApiWorld({ real: true });
  const { body: task } = await world.json('/v1/tasks', { body: { title: 'Own', agent: 'emma' } });
  const { body: other } = await world.json('/v1/tasks', { body: { title: 'Other', agent: 'emma' } });
  await world.store.send({
    message: {
      type: 'task.claim',
      id: task.id,
      claimer: { agent: 'emma' },
      leaseMs: 60_000,
      supervisor: world.host.supervisor,
    },
    by: { kind: 'runtime', name: 'baton' },
  });
  const client = await connect(world, world.tokens.open({ id: `${task.id}-r1`, task: task.id, agent: 'emma' }));
  const made: Json = await client.callTool({ name: 'aof_task_create', arguments: { title: 'A part' } });
  expect(made.isError ?? false, JSON.stringify(made)).toBe(false);
  const children = (await world.json('/v1/tasks')).body.filter(({ parentId }: Json) => parentId === task.id);
  expect(children).toMatchObject([{ title: 'A part', createdBy: 'emma' }]);
  const refused: Json = await client.callTool({
    name: 'aof_task_update',
    arguments: { taskId: other.id, status: 'blocked' },
  });
  expect([refused.isError, JSON.stringify(refused)]).toEqual([true, expect.stringContaining('E_PERMISSION_DENIED')]);
  const { resources } = await client.listResources();
  expect(JSON.stringify(resources)).not.toContain(other.id);
  await client.close();
  await expect(connect(world, 'wrong')).rejects.toThrow();
});

test('no session is kept: only POST, and JSON that is broken is answered', async () => {
  const world = await makeApiWorld({ real: true });
  expect((await world.call('/mcp')).status).toBe(405);
  expect((await world.call('/mcp', { method: 'DELETE' })).status).toBe(405);
  const headers = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
  const broken = await world.json('/mcp', { body: '{"jsonrpc": "2.0", "me', headers });
  expect([broken.status, broken.body.error.code]).toEqual([400, -32_700]);
  expect(
    (await world.call('/mcp', { body: 'x'.repeat(11 * 1024 * 1024), headers }).catch(() => ({ status: 413 }))).status,
  ).toBe(413);
});
