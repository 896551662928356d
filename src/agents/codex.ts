/** Codex, headless: `codex exec --json`, the prompt on its standard input. */
import type { Launch, ProgramAdapter, Reader, ReaderContext, TurnRequest } from './adapter.ts';
import { cutAnswer, failureOf, statusIn } from './failures.ts';
import { at, countOf, type Json, listOf, objectOf, textOf } from './json.ts';
import {
  envOf,
  folderOf,
  MCP_CALL_MS,
  MCP_START_MS,
  mayWrite,
  mayWriteWorkspace,
  outside,
  passed,
  programOf,
  typed,
  urls,
  variable,
} from './launching.ts';
import { streamReader } from './stream.ts';
import { brief, toolDetail } from './words.ts';

const PASS = [
  'CODEX_HOME',
  'CODEX_API_KEY',
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'OPENAI_ORGANIZATION',
  'OPENAI_PROJECT',
];

/** A setting on the command line; the value is TOML, and JSON's strings and lists of strings are TOML too. */
const setting = (key: string, value: string | boolean | readonly string[]): readonly string[] => [
  '-c',
  `${key}=${JSON.stringify(value)}`,
];

/** Values of a key of TOML in the arguments of config: there a provider of one's own is set. */
function inArguments({ agent }: TurnRequest, key: string): readonly string[] {
  const pattern = new RegExp(`(?:^|[^A-Za-z0-9_])${key}\\s*=\\s*["']([^"']+)["']`, 'g');
  const words = [...(agent.command ?? []), ...agent.args];
  return words.flatMap((word) => [...word.matchAll(pattern)].map((match) => match[1] as string));
}

function endpoints(request: TurnRequest): readonly string[] {
  const own = [...inArguments(request, 'base_url'), ...inArguments(request, 'openai_base_url')];
  const set = variable(request, 'OPENAI_BASE_URL');
  if (own.length > 0 || set !== null) return urls(...own, set);
  // With a key, or with the login of a person, which also has to be renewed.
  return urls('https://api.openai.com', 'https://chatgpt.com', 'https://auth.openai.com');
}

function sandbox(request: TurnRequest): Pick<Launch, 'enforces'> & { readonly flags: readonly string[] } {
  const { access } = request;
  const web = access.network === 'FULL' ? [] : setting('web_search', 'disabled');
  const webWords = access.network === 'FULL' ? [] : ['no web search, by web_search="disabled"'];
  // Its own sandbox does not nest in ours, which is the stricter: with both, it could not even read.
  if (request.sandboxed) return { flags: ['-s', 'danger-full-access', ...web], enforces: webWords };
  if (!mayWrite(request)) {
    const words = 'no writes and no network for its commands, by --sandbox read-only';
    return { flags: ['-s', 'read-only', ...web], enforces: [words, ...webWords] };
  }
  const isOpen = access.network === 'FULL';
  const roots = outside(request, access.writePaths);
  const where = [request.workspace, ...roots].join(', ');
  const narrower = mayWriteWorkspace(request)
    ? ''
    : '; all of the workspace is writable to it, which is more than was granted';
  return {
    flags: [
      ...['-s', 'workspace-write'],
      ...setting('sandbox_workspace_write.writable_roots', roots),
      ...setting('sandbox_workspace_write.network_access', isOpen),
      // Otherwise it may write all of /tmp and TMPDIR. Who grants them names them in the write paths.
      ...setting('sandbox_workspace_write.exclude_slash_tmp', true),
      ...setting('sandbox_workspace_write.exclude_tmpdir_env_var', true),
      ...web,
    ],
    enforces: [
      `writes only below ${where}, by --sandbox workspace-write${narrower}`,
      ...(isOpen ? [] : ['no network for its commands, by sandbox_workspace_write.network_access=false']),
      ...webWords,
    ],
  };
}

/** A table in one line of TOML; its keys are quoted, because names of variables may be anything. */
function tools({ mcp }: TurnRequest): readonly string[] {
  if (mcp === null) return [];
  const [command = '', ...args] = mcp.command;
  const env = Object.entries(mcp.env).map(([name, value]) => `${JSON.stringify(name)}=${JSON.stringify(value)}`);
  const fields = [
    `command=${JSON.stringify(command)}`,
    `args=${JSON.stringify(args)}`,
    `env={${env.join(',')}}`,
    `startup_timeout_sec=${MCP_START_MS / 1000}`,
    `tool_timeout_sec=${MCP_CALL_MS / 1000}`,
  ];
  return ['-c', `mcp_servers.${mcp.name}={${fields.join(',')}}`];
}

const RETRY = /^Reconnecting\.\.\. (\d+)\/\d+/;
/** How its log says that its sandbox or its policy refused something; there is no event for that. */
const REFUSED = /ERROR codex_core::tools::router: error=(.*rejected.*)$/;

function codexReader(context: ReaderContext): Reader {
  return streamReader(context, 'codex', (emit) => {
    let lastText: string | null = null;

    const tool = (item: Json, type: string): void => {
      const paths = listOf(item['changes']).map((change) => textOf(at(change, 'path')) ?? '');
      const isMcp = type === 'mcp_tool_call';
      const name = isMcp ? `${textOf(item['server']) ?? 'mcp'}.${textOf(item['tool']) ?? 'tool'}` : type;
      const detail = isMcp ? toolDetail(objectOf(item['arguments'])) : brief(paths.join(', ')) || toolDetail(item);
      emit({ kind: 'tool', name: brief(name, 100), detail });
    };

    const item = (event: string, value: Json | null): void => {
      const type = textOf(value?.['type']);
      if (value === null || type === null) return;
      const text = textOf(value['text']);
      if (type === 'agent_message') {
        if (event !== 'item.completed' || text === null) return;
        lastText = text;
        emit({ kind: 'text', text, whole: true });
      } else if (type === 'reasoning' || type === 'todo_list' || type === 'error') {
        // An `error` item is a warning beside the work; what ends a turn is an event of its own.
        emit({ kind: 'alive' });
      } else if (event === 'item.started') tool(value, type);
      else if (value['status'] === 'declined') {
        emit({ kind: 'denied', what: `${type}: ${toolDetail(value)}` });
      }
    };

    /** A conversation that is gone on with counts on, so what it had used before is taken off. */
    const usage = (value: unknown): void => {
      const before = context.request.resume === null ? null : (context.request.spent ?? null);
      const left = (key: string, used: number): number => Math.max(0, (countOf(at(value, key)) ?? 0) - used);
      emit({
        kind: 'usage',
        tokensInput: left('input_tokens', before?.tokensInput ?? 0),
        tokensOutput: left('output_tokens', before?.tokensOutput ?? 0),
        usd: null,
        final: true,
      });
    };

    const failed = (message: string): void => {
      const isCut = message.includes('max_output_tokens');
      const failure = isCut ? cutAnswer(lastText ?? '') : failureOf(statusIn(message), message);
      emit({ kind: 'error', ...failure });
      emit({ kind: 'end', ok: false, reason: isCut ? 'max_tokens' : 'failed', text: null });
    };

    return {
      event(event) {
        const type = textOf(event['type']);
        const message = textOf(event['message']) ?? textOf(at(event, 'error', 'message')) ?? '';
        const attempt = RETRY.exec(message)?.[1];
        if (type === 'thread.started') {
          const id = textOf(event['thread_id']);
          if (id !== null) emit({ kind: 'conversation', id });
        } else if (type === 'error') {
          if (attempt === undefined) emit({ kind: 'error', ...failureOf(statusIn(message), message) });
          else emit({ kind: 'retrying', status: statusIn(message), attempt: Number(attempt) });
        } else if (type === 'turn.failed') failed(message);
        else if (type === 'turn.completed') {
          usage(event['usage']);
          emit({ kind: 'end', ok: true, reason: 'completed', text: lastText });
        } else if (type?.startsWith('item.')) item(type, objectOf(event['item']));
      },
      complaint(line) {
        const refused = REFUSED.exec(line.slice(0, 4000))?.[1];
        if (refused !== undefined) emit({ kind: 'denied', what: brief(refused, 300) });
      },
    };
  });
}

export const codex: ProgramAdapter = {
  way: 'program',
  kind: 'codex',
  provider: 'CODEX',
  program: 'codex',
  goesOn: true,
  hasEnd: true,
  usage: 'at-end',
  streamsDollars: false,

  launch(request) {
    const { flags, enforces } = sandbox(request);
    return {
      command: [
        ...programOf(request, 'codex'),
        ...['exec', '--json', '--skip-git-repo-check'],
        ...(request.model === null ? [] : ['-m', request.model]),
        ...flags,
        ...setting('check_for_update_on_startup', false),
        ...setting('analytics.enabled', false),
        ...tools(request),
        ...request.agent.args,
        // Going on is a command of its own that takes fewer options, so they all stand before it.
        ...(request.resume === null ? [] : ['resume', request.resume]),
        '-',
      ],
      env: envOf(request),
      passEnv: passed(request, [...PASS, ...inArguments(request, 'env_key')]),
      stdin: typed(request),
      files: [],
      state: folderOf(request, 'CODEX_HOME', '.codex'),
      endpoints: endpoints(request),
      enforces,
    };
  },

  reader: codexReader,
};
