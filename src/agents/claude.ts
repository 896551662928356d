/** Claude Code, headless: `claude -p` with a JSON stream, the prompt on its standard input. */
import { join } from 'node:path';
import type { Launch, ProgramAdapter, TurnRequest } from './adapter.ts';
import { claudeReader } from './claude-reader.ts';
import {
  envOf,
  folderOf,
  isOn,
  MCP_CALL_MS,
  MCP_START_MS,
  mayWrite,
  outside,
  passed,
  programOf,
  typed,
  urls,
  variable,
} from './launching.ts';

const PASS = [
  'ANTHROPIC_API_KEY',
  'ANTHROPIC_AUTH_TOKEN',
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_CUSTOM_HEADERS',
  'ANTHROPIC_BETAS',
  'ANTHROPIC_MODEL',
  'ANTHROPIC_SMALL_FAST_MODEL',
  'ANTHROPIC_DEFAULT_OPUS_MODEL',
  'ANTHROPIC_DEFAULT_SONNET_MODEL',
  'ANTHROPIC_DEFAULT_HAIKU_MODEL',
  'CLAUDE_CODE_OAUTH_TOKEN',
  'CLAUDE_CONFIG_DIR',
  'CLAUDE_CODE_MAX_OUTPUT_TOKENS',
  'MAX_THINKING_TOKENS',
  'API_TIMEOUT_MS',
  'CLAUDE_CODE_USE_BEDROCK',
  'ANTHROPIC_BEDROCK_BASE_URL',
  'AWS_REGION',
  'AWS_PROFILE',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_BEARER_TOKEN_BEDROCK',
  'CLAUDE_CODE_USE_VERTEX',
  'ANTHROPIC_VERTEX_BASE_URL',
  'ANTHROPIC_VERTEX_PROJECT_ID',
  'CLOUD_ML_REGION',
  'GOOGLE_APPLICATION_CREDENTIALS',
] as const;

/** Its own retries are turned down, because a retry is the runtime's to decide and to record. */
const QUIET = {
  CLAUDE_CODE_MAX_RETRIES: '2',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
  DISABLE_ERROR_REPORTING: '1',
} as const;

const WRITING = ['Write', 'Edit', 'NotebookEdit'] as const;
/** Tools that run commands; a command can write where it likes. */
const RUNNING = ['Bash', 'PowerShell', 'Monitor'] as const;

interface Permissions {
  readonly mode: 'bypassPermissions' | 'dontAsk';
  readonly allow: readonly string[];
  readonly deny: readonly string[];
  readonly enforces: readonly string[];
}

/** A rule for a path and all below it; its second slash says that the path is absolute. */
const rules = (tool: 'Read' | 'Edit', path: string): readonly string[] =>
  path === '/' ? [`${tool}(//**)`] : [`${tool}(/${path})`, `${tool}(/${path}/**)`];

/** Searching and fetching: each is left where the network that is granted, or our proxy, allows for it. */
function webTools({ access, sandboxed }: TurnRequest): readonly string[] {
  if (access.network === 'FULL') return [];
  return access.network === 'RESTRICTED' && sandboxed ? ['WebSearch'] : ['WebFetch', 'WebSearch'];
}

/** `dontAsk` refuses what no rule allows, so that it never waits for a person; a denied tool is not even offered. */
function permissions(request: TurnRequest): Permissions {
  const { access, sandboxed } = request;
  const web = webTools(request);
  const webWords = web.length === 0 ? [] : [`no ${web.join(' or ')}, by --disallowedTools`];
  const reads = outside(request, access.readPaths).flatMap((path) => rules('Read', path));
  const fetch = web.includes('WebFetch') ? [] : ['WebFetch'];
  const ours = request.mcp === null ? [] : [`mcp__${request.mcp.name}__*`];
  if (!mayWrite(request)) {
    // In a sandbox of ours its commands can write nothing, and without them it could hardly look around.
    const denied = [...WRITING, ...(sandboxed ? [] : RUNNING)];
    return {
      mode: 'dontAsk',
      allow: [...reads, ...(sandboxed ? ['Bash'] : []), ...fetch, ...ours],
      deny: [...denied, ...web],
      enforces: [`no writes: ${denied.join(', ')} denied by --disallowedTools`, ...webWords],
    };
  }
  if (sandboxed) return { mode: 'bypassPermissions', allow: [], deny: web, enforces: webWords };
  const { readOnlyPaths = [] } = access;
  const paths = access.writePaths.join(', ');
  return {
    mode: 'dontAsk',
    allow: [...reads, ...access.writePaths.flatMap((path) => rules('Edit', path)), 'Bash', ...fetch, ...ours],
    deny: [...readOnlyPaths.flatMap((path) => rules('Edit', path)), ...web],
    enforces: [
      `edits of files only below ${paths}, by --permission-mode dontAsk and --allowedTools; its commands are not held to it`,
      ...webWords,
    ],
  };
}

/** Where its model is; with a login of a person it also has to renew that. */
function endpoints(request: TurnRequest): readonly string[] {
  if (isOn(request, 'CLAUDE_CODE_USE_BEDROCK')) {
    const region = variable(request, 'AWS_REGION') ?? 'us-east-1';
    return urls(variable(request, 'ANTHROPIC_BEDROCK_BASE_URL') ?? `https://bedrock-runtime.${region}.amazonaws.com`);
  }
  if (isOn(request, 'CLAUDE_CODE_USE_VERTEX')) {
    const region = variable(request, 'CLOUD_ML_REGION') ?? 'global';
    const host = region === 'global' ? 'aiplatform.googleapis.com' : `${region}-aiplatform.googleapis.com`;
    const own = variable(request, 'ANTHROPIC_VERTEX_BASE_URL');
    return urls(own ?? `https://${host}`, 'https://oauth2.googleapis.com');
  }
  const hasKey = ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN'].some((name) => variable(request, name) !== null);
  const login = hasKey ? [] : ['https://console.anthropic.com', 'https://platform.claude.com'];
  return urls(variable(request, 'ANTHROPIC_BASE_URL') ?? 'https://api.anthropic.com', ...login);
}

/** Its file of MCP servers. Only these: what a person has set up for themselves is not what a run was granted. */
function mcpFiles({ mcp, folder }: TurnRequest): Launch['files'] {
  if (mcp === null) return [];
  const [command = '', ...args] = mcp.command;
  const servers = { mcpServers: { [mcp.name]: { type: 'stdio', command, args, env: mcp.env } } };
  return [{ path: join(folder, 'claude-mcp.json'), content: `${JSON.stringify(servers, null, 2)}\n` }];
}

export const claude: ProgramAdapter = {
  way: 'program',
  kind: 'claude',
  provider: 'CLAUDE',
  program: 'claude',
  goesOn: true,
  hasEnd: true,
  usage: 'streamed',
  streamsDollars: false,

  launch(request) {
    const { mode, allow, deny, enforces } = permissions(request);
    const files = mcpFiles(request);
    return {
      command: [
        ...programOf(request, 'claude'),
        ...['-p', '--output-format', 'stream-json', '--verbose', '--include-partial-messages'],
        ...(request.model === null ? [] : ['--model', request.model]),
        ...(request.resume === null ? ['--session-id', request.conversation] : ['--resume', request.resume]),
        ...(files.length === 0 ? [] : ['--strict-mcp-config', '--mcp-config', ...files.map(({ path }) => path)]),
        // These take words up to the next option.
        ...(allow.length === 0 ? [] : ['--allowedTools', ...allow]),
        ...(deny.length === 0 ? [] : ['--disallowedTools', ...deny]),
        ...['--permission-mode', mode],
        ...request.agent.args,
      ],
      // As root it refuses to bypass permissions outside of a sandbox, unless it is told that it is in one.
      env: {
        ...QUIET,
        ...(files.length === 0 ? {} : { MCP_TIMEOUT: String(MCP_START_MS), MCP_TOOL_TIMEOUT: String(MCP_CALL_MS) }),
        ...(mode === 'bypassPermissions' ? { IS_SANDBOX: '1' } : {}),
        ...envOf(request),
      },
      passEnv: passed(request, PASS),
      stdin: typed(request),
      files,
      state: folderOf(request, 'CLAUDE_CONFIG_DIR', '.claude', '.claude.json'),
      endpoints: endpoints(request),
      enforces,
    };
  },

  reader: claudeReader,
};
