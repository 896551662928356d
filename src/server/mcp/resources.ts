/** The details, each under an address of its own, so that no tool has to carry them: a task whole, what its agent printed, a run's RESPONSE. */
import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Door } from '../../runtime/doors.ts';
import { sentenceOf } from './failure.ts';
import { cut, shownTask, taskLine, taskUri } from './shown.ts';

/** Reads what is behind an address; what it cannot read at all has none. Null is "there is no such thing, or not for you". */
export interface Look {
  /** JSON of a task, its text, its runs and its events. */
  task(id: string): Promise<string | null>;
  /** What its agents printed: the end of it, where it is long. */
  log?(id: string): Promise<string | null>;
  /** JSON of the RESPONSE of a run. */
  response?(run: string): Promise<string | null>;
}

/** So many tasks are listed; all others have an address too. */
const MOST_LISTED = 50;
/** MCP's own number for a resource that is not there; the SDK has no name for it. */
const NOT_THERE = -32_002;

type Kind = keyof Look;
type Reader = Look['task'];
const TEMPLATES: readonly {
  readonly kind: Kind;
  readonly uri: string;
  readonly type: string;
  readonly title: string;
}[] = [
  { kind: 'task', uri: 'baton://task/{id}', type: 'application/json', title: 'A task, its runs and its events' },
  { kind: 'log', uri: 'baton://task/{id}/log', type: 'text/plain', title: 'What the agents of a task printed' },
  { kind: 'response', uri: 'baton://run/{id}/response', type: 'application/json', title: 'The RESPONSE of a run' },
];

export function addResources(server: McpServer, door: Door, look: Look): void {
  for (const { kind, uri: template, type, title } of TEMPLATES) {
    const reader = look[kind];
    if (reader === undefined) continue;
    const list = kind === 'task' ? () => listTasks(door) : undefined;
    server.registerResource(
      kind,
      new ResourceTemplate(template, { list }),
      { title, mimeType: type },
      async (uri, { id }) => {
        const text = await read(reader, decoded(String(id)));
        if (text === null) throw new McpError(NOT_THERE, `there is no ${cut(uri.href, 200)}`);
        return { contents: [{ uri: uri.href, mimeType: type, text }] };
      },
    );
  }
}

/** Ids of others' making may hold what an address cannot; one that is badly written is taken as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    // No escape sequence, so no escaped id.
    return id;
  }
}

async function read(reader: Reader, id: string): Promise<string | null> {
  try {
    return await reader(id);
  } catch (cause) {
    throw new McpError(ErrorCode.InternalError, sentenceOf(cause));
  }
}

async function listTasks(door: Door): Promise<{ resources: { uri: string; name: string; description: string }[] }> {
  try {
    const tasks = await door.list({ limit: MOST_LISTED });
    return {
      resources: tasks.slice(0, MOST_LISTED).map((task) => ({
        uri: taskUri(task.id),
        name: task.id,
        description: taskLine(shownTask(task)),
        mimeType: 'application/json',
      })),
    };
  } catch (cause) {
    throw new McpError(ErrorCode.InternalError, sentenceOf(cause));
  }
}
