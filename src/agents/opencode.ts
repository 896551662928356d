/** opencode, headless: `opencode run --format json`, the prompt on its standard input. */
import { relative } from 'node:path';
import type { Launch, ProgramAdapter, Reader, ReaderContext, TurnRequest } from './adapter.ts';
import { cutAnswer, failureOf, statusIn } from './failures.ts';
import { at, countOf, type Json, objectOf, parseObject, textOf } from './json.ts';
import {
  envOf,
  folderOf,
  inHome,
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
  'OPENCODE_CONFIG',
  'OPENCODE_CONFIG_CONTENT',
  'OPENCODE_CONFIG_DIR',
  'OPENCODE_API_KEY',
  'OPENCODE_AUTH_CONTENT',
  'OPENCODE_MODELS_PATH',
  'OPENCODE_MODELS_URL',
  'XDG_CONFIG_HOME',
  'XDG_DATA_HOME',
  'XDG_STATE_HOME',
  'XDG_CACHE_HOME',
  'ANTHROPIC_API_KEY',
  'OPENAI_API_KEY',
  'GEMINI_API_KEY',
  'GOOGLE_GENERATIVE_AI_API_KEY',
  'OPENROUTER_API_KEY',
  'GROQ_API_KEY',
  'MISTRAL_API_KEY',
  'DEEPSEEK_API_KEY',
  'XAI_API_KEY',
] as const;

/** Where the providers that opencode knows by name are; one of somebody's own stands in the config with its address. */
const PROVIDERS: Readonly<Record<string, string>> = {
  anthropic: 'https://api.anthropic.com',
  openai: 'https://api.openai.com',
  google: 'https://generativelanguage.googleapis.com',
  openrouter: 'https://openrouter.ai',
  opencode: 'https://opencode.ai',
  groq: 'https://api.groq.com',
  mistral: 'https://api.mistral.ai',
  deepseek: 'https://api.deepseek.com',
  xai: 'https://api.x.ai',
};

function endpoints(request: TurnRequest): readonly string[] {
  const config = parseObject(variable(request, 'OPENCODE_CONFIG_CONTENT') ?? '');
  const providers = objectOf(at(config, 'provider')) ?? {};
  const own = Object.values(providers).map((provider) => textOf(at(provider, 'options', 'baseURL')));
  const found = urls(...own);
  if (found.length > 0) return found;
  const model = request.model ?? textOf(at(config, 'model')) ?? '';
  const known = PROVIDERS[model.split('/')[0] ?? ''];
  return known === undefined ? urls(...Object.values(PROVIDERS)) : urls(known);
}

type Rule = 'allow' | 'deny';
type Rules = Readonly<Record<string, Rule | Readonly<Record<string, Rule>>>>;

/** Nothing here asks: a question that nobody answers ends the turn. */
function permissions(request: TurnRequest): Pick<Launch, 'enforces'> & { readonly rules: Rules } {
  const { access, workspace, sandboxed } = request;
  const web: Rules = access.network === 'FULL' ? {} : { webfetch: 'deny', websearch: 'deny', codesearch: 'deny' };
  const webWords = access.network === 'FULL' ? [] : ['no web tools, by OPENCODE_PERMISSION'];
  const common: Rules = { '*': 'allow', question: 'deny', doom_loop: 'deny' };
  const elsewhere = (paths: readonly string[]): Record<string, Rule> =>
    Object.fromEntries([['*', 'deny'], ...outside(request, paths).flatMap((path) => below(path))]);
  if (!mayWrite(request)) {
    // In a sandbox of ours its commands can write nothing, and without them it could hardly look around.
    return {
      rules: {
        ...common,
        edit: 'deny',
        ...(sandboxed ? {} : { bash: 'deny' }),
        external_directory: elsewhere(access.readPaths),
        ...web,
      },
      enforces: [`no edits${sandboxed ? '' : ' and no commands'}, by OPENCODE_PERMISSION`, ...webWords],
    };
  }
  if (sandboxed) return { rules: { ...common, ...web }, enforces: webWords };
  // Its rules for edits name files from the workspace on.
  const { writePaths, readOnlyPaths = [] } = access;
  const named = (paths: readonly string[], rule: Rule): (readonly [string, Rule])[] =>
    paths.flatMap((path) => below(relative(workspace, path), rule));
  const edit: Rule | Record<string, Rule> =
    mayWriteWorkspace(request) && readOnlyPaths.length === 0
      ? 'allow'
      : Object.fromEntries([
          ['*', mayWriteWorkspace(request) ? 'allow' : 'deny'],
          ...named(mayWriteWorkspace(request) ? [] : writePaths, 'allow'),
          ...named(readOnlyPaths, 'deny'),
        ]);
  return {
    rules: { ...common, edit, external_directory: elsewhere([...access.readPaths, ...access.writePaths]), ...web },
    enforces: [
      `edits of files only below ${writePaths.join(', ')}, by OPENCODE_PERMISSION; its commands are not held to it`,
      ...webWords,
    ],
  };
}

const below = (path: string, rule: Rule = 'allow'): readonly (readonly [string, Rule])[] => [
  [path, rule],
  [`${path}/*`, rule],
];

/** Its config with our tools in it. One of somebody's own that cannot be read is left as it is, for opencode to say so. */
function configOf(request: TurnRequest): Readonly<Record<string, string>> {
  const { mcp } = request;
  const set = variable(request, 'OPENCODE_CONFIG_CONTENT');
  const config = set === null ? {} : parseObject(set);
  if (mcp === null || config === null) return {};
  const own = objectOf(config['mcp']) ?? {};
  const { name, command, env: environment } = mcp;
  const ours = { type: 'local', command, environment, enabled: true, timeout: MCP_CALL_MS };
  return { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, mcp: { ...own, [name]: ours } }) };
}

const REFUSED = /rejected permission|rule which prevents|permission.{0,40}denied/i;

function opencodeReader(context: ReaderContext): Reader {
  return streamReader(context, 'opencode', (emit) => {
    let conversation: string | null = null;
    let lastText: string | null = null;
    let refused: string | null = null;
    const used = { tokensInput: 0, tokensOutput: 0, usd: 0 };

    const toolUse = (part: Json): void => {
      const name = brief(textOf(part['tool']) ?? 'tool', 100);
      const detail = toolDetail(objectOf(at(part, 'state', 'input')));
      emit({ kind: 'tool', name, detail });
      const said = textOf(at(part, 'state', 'error')) ?? '';
      if (at(part, 'state', 'status') !== 'error' || !REFUSED.test(said.slice(0, 2000))) return;
      refused = `${name} ${detail}`.trim();
      emit({ kind: 'denied', what: brief(`${refused}: ${said}`, 300) });
    };

    /** Tokens of each step are its own; those from a cache are input too, and the total has all that was put out. */
    const count = (part: Json): void => {
      const tokens = (...keys: readonly string[]): number => countOf(at(part, 'tokens', ...keys)) ?? 0;
      const input = tokens('input') + tokens('cache', 'read') + tokens('cache', 'write');
      used.tokensInput += input;
      used.tokensOutput += tokens('total') > input ? tokens('total') - input : tokens('output') + tokens('reasoning');
      used.usd += countOf(part['cost']) ?? 0;
    };

    const stepFinish = (part: Json): void => {
      count(part);
      const reason = textOf(part['reason']) ?? 'unknown';
      const goesOn = reason === 'tool-calls' || reason === 'unknown';
      emit({ kind: 'usage', ...used, final: !goesOn });
      if (goesOn) return;
      if (reason === 'length') {
        emit({ kind: 'error', ...cutAnswer(lastText ?? '') });
        emit({ kind: 'end', ok: false, reason: 'max_tokens', text: null });
      } else if (reason === 'stop') emit({ kind: 'end', ok: true, reason, text: lastText });
      else {
        emit({ kind: 'error', code: 'E_UNKNOWN', message: `its model stopped before the end: ${brief(reason, 100)}` });
        emit({ kind: 'end', ok: false, reason: brief(reason, 100), text: null });
      }
    };

    const failed = (error: unknown): void => {
      const said = textOf(at(error, 'data', 'message')) ?? textOf(at(error, 'name')) ?? '';
      const status = countOf(at(error, 'data', 'statusCode')) ?? statusIn(said);
      const { code, message } = failureOf(status, said);
      const isAuth = at(error, 'name') === 'ProviderAuthError';
      emit({ kind: 'error', code: isAuth ? 'E_CREDENTIALS' : code, message });
    };

    return {
      event(event) {
        const id = textOf(event['sessionID']);
        if (id !== null && conversation === null) {
          conversation = id;
          emit({ kind: 'conversation', id });
        }
        // Steps of a sub-agent are of another session, and are not the agent's.
        const part = id === conversation ? objectOf(event['part']) : null;
        if (event['type'] === 'error') failed(event['error']);
        if (part === null) return;
        if (event['type'] === 'text') {
          const text = textOf(part['text']);
          lastText = text ?? lastText;
          if (text !== null) emit({ kind: 'text', text, whole: true });
        } else if (event['type'] === 'tool_use') toolUse(part);
        else if (event['type'] === 'step_finish') stepFinish(part);
      },
      // It stops, with exit code 0, where it was refused something that it asked for.
      unfinished: () =>
        refused === null
          ? null
          : { code: 'E_PERMISSION_DENIED', message: `opencode stopped where it was refused: ${refused}` },
    };
  });
}

export const opencode: ProgramAdapter = {
  way: 'program',
  kind: 'opencode',
  provider: 'OPENCODE',
  program: 'opencode',
  goesOn: true,
  hasEnd: true,
  usage: 'streamed',
  streamsDollars: true,

  launch(request) {
    const { rules, enforces } = permissions(request);
    return {
      command: [
        ...programOf(request, 'opencode'),
        ...['run', '--format', 'json'],
        ...(request.model === null ? [] : ['-m', request.model]),
        ...(request.resume === null ? [] : ['-s', request.resume]),
        ...request.agent.args,
      ],
      env: {
        OPENCODE_DISABLE_AUTOUPDATE: '1',
        OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
        OPENCODE_DISABLE_SHARE: '1',
        // Its list of models comes from the network, which is no model's endpoint.
        ...(request.access.network === 'FULL' ? {} : { OPENCODE_DISABLE_MODELS_FETCH: '1' }),
        OPENCODE_PERMISSION: JSON.stringify(rules),
        ...envOf(request),
        ...configOf(request),
      },
      passEnv: passed(request, PASS),
      stdin: typed(request),
      files: [],
      state: [
        ...folderOf(request, 'OPENCODE_CONFIG_DIR'),
        ...xdg(request, 'XDG_CONFIG_HOME', '.config'),
        ...xdg(request, 'XDG_DATA_HOME', '.local/share'),
        ...xdg(request, 'XDG_STATE_HOME', '.local/state'),
        ...xdg(request, 'XDG_CACHE_HOME', '.cache'),
      ],
      endpoints: endpoints(request),
      enforces,
    };
  },

  reader: opencodeReader,
};

function xdg(request: TurnRequest, name: string, usual: string): readonly string[] {
  const base = variable(request, name);
  return base === null ? inHome(request, `${usual}/opencode`) : [`${base}/opencode`];
}
