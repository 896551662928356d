/** MCP on a stream, in this process: every request that has an id is answered, and what does not fit in one sentence. */
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { createMcpServer, serveStdio } from '../../src/server/mcp/index.ts';
import { fakeDoor } from './fake-door.ts';

test('requests whose params do not fit are answered with one sentence each', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const warnings: string[] = [];
  const ask = (id: number, more: object): string => JSON.stringify({ jsonrpc: '2.0', id, ...more });
  const client = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } };
  const lines = [
    ask(1, { method: 'initialize', params: client }),
    ask(2, { method: 'tools/call', params: null }),
    ask(3, { method: 'tools/call', params: [] }),
    ask(4, { method: 'tools/call' }),
    ask(5, { method: 'tools/call', params: { name: 'aof_task_list', arguments: [] } }),
    ask(6, { method: 'tools/list' }),
  ];
  // In two pieces, of which none is a line.
  const whole = `${lines.join('\n')}\n`;
  input.write(whole.slice(0, 200));
  input.end(whole.slice(200));
  const said = text(output);
  await serveStdio(createMcpServer(fakeDoor()), { warn: (words) => void warnings.push(words), input, output });
  output.end();
  const answers = (await said)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const byId = new Map(answers.map(({ id, error, result }) => [id, error ?? Object.keys(result)]));
  const invalid = (message: string): object => ({ code: -32_602, message: `the request is not valid at ${message}` });
  expect(byId.get(2)).toEqual(invalid('/params: expected an object, got null'));
  expect(byId.get(3)).toEqual(invalid('/params: expected an object, got a list'));
  expect(byId.get(4)).toEqual(invalid('/params: Invalid input: expected object, received undefined'));
  expect(byId.get(5)).toMatchObject({
    code: -32_602,
    message: expect.stringMatching(/^the request is not valid at \/params\/arguments: .{1,80}$/),
  });
  expect(byId.get(6)).toEqual(['tools']);
  expect(warnings).toEqual([]);
});
