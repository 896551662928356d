/** Gemini CLI, headless: a JSON stream, the prompt on its standard input. */
import { join } from 'node:path';
import type { ProgramAdapter, Reader, ReaderContext, TurnRequest } from './adapter.ts';
import { failureOf, statusIn } from './failures.ts';
import { at, countOf, type Json, objectOf, textOf } from './json.ts';
import {
  envOf,
  inHome,
  isOn,
  MCP_CALL_MS,
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
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GEMINI_BASE_URL',
  'GOOGLE_VERTEX_BASE_URL',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_GENAI_USE_GCA',
  'GOOGLE_CLOUD_PROJECT',
  'GOOGLE_CLOUD_LOCATION',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'GEMINI_MODEL',
  'GEMINI_DEFAULT_AUTH_TYPE',
] as const;

/** What holds where the user's own settings say nothing: few retries, which are the runtime's to decide, and no news of us to others. */
const SETTINGS = {
  general: { maxAttempts: 2, enableAutoUpdate: false, enableAutoUpdateNotification: false },
  privacy: { usageStatisticsEnabled: false },
  telemetry: { enabled: false },
} as const;

/** Trusted, so that nobody has to be asked: a tool of ours does nothing that the run may not. */
function settingsOf({ mcp }: TurnRequest): object {
  if (mcp === null) return SETTINGS;
  const [command = '', ...args] = mcp.command;
  return {
    ...SETTINGS,
    mcpServers: { [mcp.name]: { command, args, env: mcp.env, timeout: MCP_CALL_MS, trust: true } },
  };
}

/** The longest text that is put together of pieces, to be told at the end. */
const MAX_LAST = 1024 * 1024;

function endpoints(request: TurnRequest): readonly string[] {
  const own = variable(request, 'GOOGLE_GEMINI_BASE_URL');
  if (isOn(request, 'GOOGLE_GENAI_USE_VERTEXAI')) {
    const place = variable(request, 'GOOGLE_CLOUD_LOCATION') ?? 'global';
    const host = place === 'global' ? 'aiplatform.googleapis.com' : `${place}-aiplatform.googleapis.com`;
    const base = variable(request, 'GOOGLE_VERTEX_BASE_URL') ?? own ?? `https://${host}`;
    return urls(base, 'https://oauth2.googleapis.com');
  }
  if (own !== null) return urls(own);
  // Without a key it is the login of a person, which has an address of its own and has to be renewed.
  const hasKey = variable(request, 'GEMINI_API_KEY') !== null || variable(request, 'GOOGLE_API_KEY') !== null;
  const login = hasKey ? [] : ['https://cloudcode-pa.googleapis.com', 'https://oauth2.googleapis.com'];
  return urls('https://generativelanguage.googleapis.com', ...login);
}

function enforced(request: TurnRequest, folders: readonly string[]): readonly string[] {
  if (!mayWrite(request)) {
    return ['no writes and no commands: --approval-mode default offers no tool that would have to ask'];
  }
  if (request.sandboxed) return [];
  const narrower = mayWriteWorkspace(request)
    ? ''
    : '; all of the workspace is writable to it, which is more than was granted';
  const where = [request.workspace, ...folders].join(', ');
  return [`its file tools write only below ${where}${narrower}; its commands are not held to it`];
}

function geminiReader(context: ReaderContext): Reader {
  return streamReader(context, 'gemini', (emit) => {
    let last = '';
    let status: number | null = null;
    let isStopped = false;

    const message = (event: Json): void => {
      const text = textOf(event['content']);
      // It repeats the prompt, which is nothing that it says.
      if (event['role'] !== 'assistant' || text === null) return;
      if (last.length < MAX_LAST) last += text.slice(0, MAX_LAST - last.length);
      emit({ kind: 'text', text, whole: event['delta'] !== true });
    };

    const toolUse = (event: Json): void => {
      last = '';
      const name = textOf(event['tool_name']) ?? 'tool';
      emit({ kind: 'tool', name: brief(name, 100), detail: toolDetail(objectOf(event['parameters'])) });
    };

    const toolResult = (event: Json): void => {
      const said = textOf(at(event, 'error', 'message')) ?? '';
      const isRefused = at(event, 'error', 'type') === 'policy_violation' || /^Path not in workspace/.test(said);
      if (isRefused) emit({ kind: 'denied', what: brief(said, 300) });
    };

    /** A loop that it found in itself is a warning to it, and a success in the end; the work is not done. */
    const stopped = (event: Json): void => {
      const said = textOf(event['message']) ?? '';
      if (event['severity'] !== 'error' && !/stopping|stopped/i.test(said.slice(0, 500))) return;
      isStopped = true;
      emit({ kind: 'error', code: 'E_UNKNOWN', message: `gemini stopped before the end: ${brief(said, 300)}` });
    };

    const result = (event: Json): void => {
      emit({
        kind: 'usage',
        tokensInput: countOf(at(event, 'stats', 'input_tokens')) ?? 0,
        // Thoughts are in the total only.
        tokensOutput: Math.max(
          countOf(at(event, 'stats', 'output_tokens')) ?? 0,
          (countOf(at(event, 'stats', 'total_tokens')) ?? 0) - (countOf(at(event, 'stats', 'input_tokens')) ?? 0),
        ),
        usd: null,
        final: true,
      });
      if (event['status'] === 'success') {
        emit({ kind: 'end', ok: !isStopped, reason: isStopped ? 'stopped' : 'success', text: isStopped ? null : last });
        return;
      }
      const said = textOf(at(event, 'error', 'message')) ?? '';
      emit({ kind: 'error', ...failureOf(statusIn(said) ?? status, said) });
      emit({ kind: 'end', ok: false, reason: textOf(event['status']) ?? 'error', text: null });
    };

    return {
      event(event) {
        const type = event['type'];
        if (type === 'init') {
          const id = textOf(event['session_id']);
          const model = textOf(event['model']);
          if (id !== null) emit({ kind: 'conversation', id });
          if (model !== null) emit({ kind: 'model', model });
        } else if (type === 'message') message(event);
        else if (type === 'tool_use') toolUse(event);
        else if (type === 'tool_result') toolResult(event);
        else if (type === 'error') stopped(event);
        else if (type === 'result') result(event);
      },
      complaint(line) {
        // The last attempt is followed by the result, and not by another.
        const tried = /^Attempt (\d{1,4}) failed(?: with status (\d{3}))?.{0,40}Retrying/.exec(line);
        if (tried === null) return;
        status = tried[2] === undefined ? null : Number(tried[2]);
        emit({ kind: 'retrying', status, attempt: Number(tried[1]) });
      },
    };
  });
}

export const gemini: ProgramAdapter = {
  way: 'program',
  kind: 'gemini',
  provider: 'GEMINI',
  program: 'gemini',
  goesOn: true,
  hasEnd: true,
  usage: 'at-end',
  streamsDollars: false,

  launch(request) {
    const settings = join(request.folder, 'gemini-defaults.json');
    const { readPaths, writePaths } = request.access;
    // A folder that is included is writable where anything is, so those that are only to be read stay out.
    const folders = outside(request, mayWrite(request) ? writePaths : readPaths);
    return {
      command: [
        ...programOf(request, 'gemini'),
        ...['-o', 'stream-json', '--skip-trust'],
        ...(request.model === null ? [] : ['-m', request.model]),
        ...(request.resume === null ? ['--session-id', request.conversation] : ['--resume', request.resume]),
        ...['--approval-mode', mayWrite(request) ? 'yolo' : 'default'],
        ...folders.flatMap((folder) => ['--include-directories', folder]),
        ...request.agent.args,
      ],
      env: {
        // One process instead of a parent that ignores signals and its child.
        GEMINI_CLI_NO_RELAUNCH: 'true',
        GEMINI_TELEMETRY_ENABLED: 'false',
        GEMINI_CLI_SYSTEM_DEFAULTS_PATH: settings,
        ...(request.sandboxed ? { GEMINI_SANDBOX: 'false' } : {}),
        ...envOf(request),
      },
      passEnv: passed(request, PASS),
      stdin: typed(request),
      files: [{ path: settings, content: `${JSON.stringify(settingsOf(request), null, 2)}\n` }],
      state: inHome(request, '.gemini'),
      endpoints: endpoints(request),
      enforces: enforced(request, folders),
    };
  },

  reader: geminiReader,
};
