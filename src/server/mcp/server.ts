/**
 * Baton as an MCP server, over any transport: the tools and resources of one door. Whatever is asked, it answers: a refusal, a bad input and
 * a door that fails are results that say so, and none of them ends the server.
 */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema, type CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { BatonError } from '../../core/errors.ts';
import { VERSION } from '../../core/version.ts';
import { quote } from '../../protocol/text/quote.ts';
import { checkInput } from '../../runtime/door-inputs.ts';
import type { Door } from '../../runtime/doors.ts';
import { sentenceOf } from './failure.ts';
import { addResources, type Look } from './resources.ts';
import { words } from './shown.ts';
import { TOOLS, type Tool } from './tools.ts';

export interface McpOptions {
  /** What is behind the addresses of the results; without it there are no resources. */
  readonly look?: Look;
  /** Whether it is an agent at work on a task that asks. */
  readonly inRun?: boolean;
}

const byName = new Map<string, Tool>(TOOLS.map((tool) => [tool.name, tool]));

export function createMcpServer(door: Door, { look, inRun = false }: McpOptions = {}): McpServer {
  const server = new McpServer(
    { name: 'baton', title: 'Baton', version: VERSION },
    { instructions: inRun ? IN_RUN : OUTSIDE },
  );
  for (const { name, title, description, input, output, reads } of TOOLS) {
    const annotations = { readOnlyHint: reads, destructiveHint: false, openWorldHint: false };
    const config = { title, description, inputSchema: input, outputSchema: output, annotations };
    // What is registered here is listed; calls go to the handler below.
    server.registerTool(name, config, () => ({ content: [] }));
  }
  // In place of the SDK's own, which answers a bad input with all that its schema found.
  server.server.setRequestHandler(CallToolRequestSchema, ({ params }) => call(door, params.name, params.arguments));
  if (look !== undefined) addResources(server, door, look);
  return server;
}

const IN_RUN =
  'You work on a task of Baton. baton_context says what you need to know. When you are done, report once with baton_report or aof_task_complete, and stop. Parts can be handed to others with aof_handoff or aof_task_create; baton_wait waits for them. baton_do speaks in your session: locks, waits, messages to other agents.';
const OUTSIDE =
  'Baton hands work between coding agents. Make tasks with aof_task_create, look at them with aof_task_list, wait for them with baton_wait.';

async function call(door: Door, name: string, given: unknown): Promise<CallToolResult> {
  try {
    const tool = byName.get(name);
    if (tool === undefined) {
      throw new BatonError(
        'E_NOT_FOUND',
        `expected one of ${[...byName.keys()].join(' ')}, got the tool ${quote(name)}`,
      );
    }
    const input = given ?? {};
    checkInput(name, tool.input, input);
    const { structured, text } = await tool.call(door, input);
    const told = tool.isLong ? text : words(text);
    return { structuredContent: { ...structured }, content: [{ type: 'text', text: told }] };
  } catch (cause) {
    // Without structured content: clients hold that to the schema of a success.
    return { isError: true, content: [{ type: 'text', text: sentenceOf(cause) }] };
  }
}
