/** What each program is started with: the flags of every access, going on with a conversation, and what config adds. */
import { describe, expect, test } from 'vitest';
import type { Launch, TurnRequest } from '../../src/agents/adapter.ts';
import { ADAPTERS, adapterFor, kindOfProvider, programOf } from '../../src/agents/index.ts';
import { AGENT_KINDS, type AgentKind, CLI_KINDS } from '../../src/core/agent-kinds.ts';
import type { Access } from '../../src/core/policy.ts';
import { Provider } from '../../src/protocol/aop2/schema.ts';
import { agentOf, programAdapter, requestOf } from './reading.ts';

const launch = (kind: AgentKind, fields: Partial<TurnRequest> = {}): Launch =>
  programAdapter(kind).launch(requestOf(kind, fields));

const line = (kind: AgentKind, fields: Partial<TurnRequest> = {}): string => launch(kind, fields).command.join(' ');

const WRITE: Access = { readPaths: ['/ws/repo'], writePaths: ['/ws/repo'], network: 'RESTRICTED' };
const READ: Access = { readPaths: ['/ws/repo', '/ws/lib'], writePaths: [], network: 'NONE' };
const WIDE: Access = { readPaths: ['/ws/repo'], writePaths: ['/ws/repo', '/ws/out'], network: 'FULL' };
const NARROW: Access = { readPaths: ['/ws/repo'], writePaths: ['/ws/repo/src'], network: 'RESTRICTED' };

test('every kind of config has its adapter, by its own name', () => {
  for (const [kind, adapter] of Object.entries(ADAPTERS)) expect(adapter.kind).toBe(kind);
  for (const kind of AGENT_KINDS) expect(adapterFor(kind)).toBe(ADAPTERS[kind]);
});

test('a provider of aop2 is a kind of agent, or for config to say', () => {
  expect(Object.fromEntries(Provider.options.map((provider) => [provider, kindOfProvider(provider)]))).toEqual({
    CLAUDE: 'claude',
    CODEX: 'codex',
    GEMINI: 'gemini',
    OPENCODE: 'opencode',
    LOCAL: null,
    OTHER: null,
  });
});

test('a kind of which config need not say anything is known by its program, and no other is', () => {
  expect(AGENT_KINDS.filter((kind) => programOf(kind) !== null)).toEqual(CLI_KINDS);
});

describe('claude', () => {
  const BASE = 'claude -p --output-format stream-json --verbose --include-partial-messages';
  const NEW = '--session-id 00000000-0000-4000-8000-000000000001';

  test.each<[string, Access, boolean, string, string[]]>([
    [
      'write',
      WRITE,
      false,
      '--allowedTools Edit(//ws/repo) Edit(//ws/repo/**) Bash --disallowedTools WebFetch WebSearch --permission-mode dontAsk',
      [
        'edits of files only below /ws/repo, by --permission-mode dontAsk and --allowedTools; its commands are not held to it',
        'no WebFetch or WebSearch, by --disallowedTools',
      ],
    ],
    [
      'write elsewhere too, open network',
      WIDE,
      false,
      '--allowedTools Edit(//ws/repo) Edit(//ws/repo/**) Edit(//ws/out) Edit(//ws/out/**) Bash WebFetch --permission-mode dontAsk',
      [
        'edits of files only below /ws/repo, /ws/out, by --permission-mode dontAsk and --allowedTools; its commands are not held to it',
      ],
    ],
    [
      'read',
      READ,
      false,
      '--allowedTools Read(//ws/lib) Read(//ws/lib/**) --disallowedTools Write Edit NotebookEdit Bash PowerShell Monitor WebFetch WebSearch --permission-mode dontAsk',
      [
        'no writes: Write, Edit, NotebookEdit, Bash, PowerShell, Monitor denied by --disallowedTools',
        'no WebFetch or WebSearch, by --disallowedTools',
      ],
    ],
    [
      'write in a sandbox',
      WRITE,
      true,
      '--disallowedTools WebSearch --permission-mode bypassPermissions',
      ['no WebSearch, by --disallowedTools'],
    ],
    [
      'read in a sandbox',
      READ,
      true,
      '--allowedTools Read(//ws/lib) Read(//ws/lib/**) Bash --disallowedTools Write Edit NotebookEdit WebFetch WebSearch --permission-mode dontAsk',
      [
        'no writes: Write, Edit, NotebookEdit denied by --disallowedTools',
        'no WebFetch or WebSearch, by --disallowedTools',
      ],
    ],
  ])('%s', (_, access, sandboxed, flags, enforces) => {
    const made = launch('claude', { access, sandboxed });
    expect(made.command.join(' ')).toBe(`${BASE} ${NEW} ${flags}`);
    expect(made.enforces).toEqual(enforces);
    // As root it bypasses permissions only where it is told that this is a sandbox; where it is none, it is not told so.
    expect(made.env['IS_SANDBOX']).toBe(sandboxed && access !== READ ? '1' : undefined);
  });

  test('goes on with a conversation, with a model', () => {
    expect(line('claude', { resume: 'abc', model: 'opus' })).toContain(`${BASE} --model opus --resume abc --allowed`);
  });

  test('few retries, no news to others', () => {
    expect(launch('claude').env).toEqual({
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      DISABLE_ERROR_REPORTING: '1',
    });
  });

  test('its state and its endpoints, also where they are somewhere else', () => {
    const home = { HOME: '/home/me' };
    const usual = launch('claude', { environment: { ...home, ANTHROPIC_API_KEY: 'k' } });
    expect(usual.state).toEqual(['/home/me/.claude', '/home/me/.claude.json']);
    expect(usual.endpoints).toEqual(['https://api.anthropic.com']);
    expect(launch('claude').endpoints).toContain('https://platform.claude.com');
    const moved = launch('claude', {
      environment: {
        ...home,
        CLAUDE_CONFIG_DIR: '/c',
        ANTHROPIC_BASE_URL: 'http://127.0.0.1:1/s/x',
        ANTHROPIC_API_KEY: 'k',
      },
    });
    expect(moved.state).toEqual(['/c']);
    expect(moved.endpoints).toEqual(['http://127.0.0.1:1/s/x']);
    const bedrock = { CLAUDE_CODE_USE_BEDROCK: '1', AWS_REGION: 'eu-west-1' };
    expect(launch('claude', { environment: bedrock }).endpoints).toEqual([
      'https://bedrock-runtime.eu-west-1.amazonaws.com',
    ]);
    expect(launch('claude', { environment: {} }).state).toEqual([]);
  });
});

describe('codex', () => {
  const SETTINGS = '-c check_for_update_on_startup=false -c analytics.enabled=false';
  const ROOM =
    '-c sandbox_workspace_write.exclude_slash_tmp=true -c sandbox_workspace_write.exclude_tmpdir_env_var=true';

  test.each<[string, Access, boolean, string, string[]]>([
    [
      'write',
      WRITE,
      false,
      `-s workspace-write -c sandbox_workspace_write.writable_roots=[] -c sandbox_workspace_write.network_access=false ${ROOM} -c web_search="disabled"`,
      [
        'writes only below /ws/repo, by --sandbox workspace-write',
        'no network for its commands, by sandbox_workspace_write.network_access=false',
        'no web search, by web_search="disabled"',
      ],
    ],
    [
      'write elsewhere too, open network',
      WIDE,
      false,
      `-s workspace-write -c sandbox_workspace_write.writable_roots=["/ws/out"] -c sandbox_workspace_write.network_access=true ${ROOM}`,
      ['writes only below /ws/repo, /ws/out, by --sandbox workspace-write'],
    ],
    [
      'read',
      READ,
      false,
      '-s read-only -c web_search="disabled"',
      ['no writes and no network for its commands, by --sandbox read-only', 'no web search, by web_search="disabled"'],
    ],
    [
      'write in a sandbox',
      WRITE,
      true,
      '-s danger-full-access -c web_search="disabled"',
      ['no web search, by web_search="disabled"'],
    ],
    [
      'read in a sandbox',
      READ,
      true,
      '-s danger-full-access -c web_search="disabled"',
      ['no web search, by web_search="disabled"'],
    ],
  ])('%s', (_, access, sandboxed, flags, enforces) => {
    const made = launch('codex', { access, sandboxed });
    expect(made.command.join(' ')).toBe(`codex exec --json --skip-git-repo-check ${flags} ${SETTINGS} -`);
    expect(made.enforces).toEqual(enforces);
  });

  test('what it cannot narrow, it says', () => {
    expect(launch('codex', { access: NARROW }).enforces[0]).toBe(
      'writes only below /ws/repo, by --sandbox workspace-write; all of the workspace is writable to it, which is more than was granted',
    );
  });

  test('goes on with a conversation: all options stand before that command', () => {
    const agent = agentOf('codex', { args: ['-c', 'a="b"'] });
    expect(line('codex', { agent, resume: 'abc', model: 'gpt-5.5' })).toMatch(/-m gpt-5\.5 .* -c a="b" resume abc -$/);
  });

  test('a provider of config: its address is the endpoint, its key passes', () => {
    const provider = 'model_providers.mock={name="mock",base_url="http://127.0.0.1:1/v1",env_key="MOCK_API_KEY"}';
    const made = launch('codex', {
      agent: agentOf('codex', { args: ['-c', 'model_provider="mock"', '-c', provider] }),
    });
    expect(made.endpoints).toEqual(['http://127.0.0.1:1/v1']);
    expect(made.passEnv).toContain('MOCK_API_KEY');
    expect(launch('codex').endpoints).toEqual([
      'https://api.openai.com',
      'https://chatgpt.com',
      'https://auth.openai.com',
    ]);
    const base = agentOf('codex', { args: ['-c', 'openai_base_url="http://127.0.0.1:2/v1"'] });
    expect(launch('codex', { agent: base }).endpoints).toEqual(['http://127.0.0.1:2/v1']);
  });

  test('its state', () => {
    expect(launch('codex').state).toEqual(['/home/me/.codex']);
    expect(launch('codex', { environment: { HOME: '/home/me', CODEX_HOME: '/c' } }).state).toEqual(['/c']);
  });
});

describe('gemini', () => {
  const NEW = '--session-id 00000000-0000-4000-8000-000000000001';

  test.each<[string, Access, boolean, string, string[]]>([
    [
      'write',
      WRITE,
      false,
      '--approval-mode yolo',
      ['its file tools write only below /ws/repo; its commands are not held to it'],
    ],
    [
      'write elsewhere too',
      WIDE,
      false,
      '--approval-mode yolo --include-directories /ws/out',
      ['its file tools write only below /ws/repo, /ws/out; its commands are not held to it'],
    ],
    [
      'read',
      READ,
      false,
      '--approval-mode default --include-directories /ws/lib',
      ['no writes and no commands: --approval-mode default offers no tool that would have to ask'],
    ],
    ['write in a sandbox', WRITE, true, '--approval-mode yolo', []],
    [
      'read in a sandbox',
      READ,
      true,
      '--approval-mode default --include-directories /ws/lib',
      ['no writes and no commands: --approval-mode default offers no tool that would have to ask'],
    ],
  ])('%s', (_, access, sandboxed, flags, enforces) => {
    const made = launch('gemini', { access, sandboxed });
    expect(made.command.join(' ')).toBe(`gemini -o stream-json --skip-trust ${NEW} ${flags}`);
    expect(made.enforces).toEqual(enforces);
  });

  test('its defaults are a file of the run', () => {
    const made = launch('gemini');
    expect(made.files.map(({ path }) => path)).toEqual(['/data/runs/1/gemini-defaults.json']);
    expect(made.env['GEMINI_CLI_SYSTEM_DEFAULTS_PATH']).toBe(made.files[0]?.path);
    expect(JSON.parse(made.files[0]?.content ?? '')).toMatchObject({ general: { maxAttempts: 2 } });
  });

  test('its state and its endpoints', () => {
    expect(launch('gemini').state).toEqual(['/home/me/.gemini']);
    const key = { GEMINI_API_KEY: 'k' };
    expect(launch('gemini', { environment: key }).endpoints).toEqual(['https://generativelanguage.googleapis.com']);
    const environment = { ...key, GOOGLE_GEMINI_BASE_URL: 'http://127.0.0.1:1' };
    expect(launch('gemini', { environment }).endpoints).toEqual(['http://127.0.0.1:1']);
    expect(line('gemini', { resume: 'abc', model: 'm' })).toContain('-m m --resume abc ');
  });
});

describe('opencode', () => {
  const NO_WEB = { webfetch: 'deny', websearch: 'deny', codesearch: 'deny' };
  const COMMON = { '*': 'allow', question: 'deny', doom_loop: 'deny' };

  test.each<[string, Access, boolean, object]>([
    ['write', WRITE, false, { ...COMMON, edit: 'allow', external_directory: { '*': 'deny' }, ...NO_WEB }],
    [
      'write elsewhere too',
      WIDE,
      false,
      { ...COMMON, edit: 'allow', external_directory: { '*': 'deny', '/ws/out': 'allow', '/ws/out/*': 'allow' } },
    ],
    [
      'write a part',
      NARROW,
      false,
      {
        ...COMMON,
        edit: { '*': 'deny', src: 'allow', 'src/*': 'allow' },
        external_directory: { '*': 'deny' },
        ...NO_WEB,
      },
    ],
    [
      'read',
      READ,
      false,
      {
        ...COMMON,
        edit: 'deny',
        bash: 'deny',
        external_directory: { '*': 'deny', '/ws/lib': 'allow', '/ws/lib/*': 'allow' },
        ...NO_WEB,
      },
    ],
    ['write in a sandbox', WRITE, true, { ...COMMON, ...NO_WEB }],
  ])('%s', (_, access, sandboxed, rules) => {
    const made = launch('opencode', { access, sandboxed });
    expect(made.command.join(' ')).toBe('opencode run --format json');
    expect(JSON.parse(made.env['OPENCODE_PERMISSION'] ?? '')).toEqual(rules);
  });

  test('in a sandbox too, read is no edits; its commands are held by the sandbox', () => {
    const rules = JSON.parse(launch('opencode', { access: READ, sandboxed: true }).env['OPENCODE_PERMISSION'] ?? '');
    expect([rules.edit, rules.bash]).toEqual(['deny', undefined]);
  });

  test('its state and its endpoints', () => {
    expect(launch('opencode').state).toEqual([
      '/home/me/.config/opencode',
      '/home/me/.local/share/opencode',
      '/home/me/.local/state/opencode',
      '/home/me/.cache/opencode',
    ]);
    expect(launch('opencode', { environment: { HOME: '/h', XDG_DATA_HOME: '/x' } }).state).toContain('/x/opencode');
    const config = '{"provider":{"mock":{"options":{"baseURL":"http://127.0.0.1:1/v1"}}}}';
    const agent = agentOf('opencode', { env: { OPENCODE_CONFIG_CONTENT: config } });
    expect(launch('opencode', { agent }).endpoints).toEqual(['http://127.0.0.1:1/v1']);
    expect(launch('opencode', { model: 'anthropic/claude' }).endpoints).toEqual(['https://api.anthropic.com']);
    expect(line('opencode', { resume: 'ses_1', model: 'a/b' })).toBe('opencode run --format json -m a/b -s ses_1');
  });
});

describe('command', () => {
  test('what config says, and the model in its environment', () => {
    const agent = agentOf('command', { command: ['node', 'x.mjs'], args: ['--fast'], env: { A: 'b' } });
    expect(launch('command', { agent, model: 'm' })).toMatchObject({
      command: ['node', 'x.mjs', '--fast'],
      env: { A: 'b', BATON_MODEL: 'm' },
      stdin: 'do it',
      endpoints: [],
      enforces: [],
      state: [],
    });
    expect(launch('command', { agent }).env).toEqual({ A: 'b' });
  });
});

describe("Baton's own tools", () => {
  const mcp = {
    name: 'baton',
    command: ['/bin/node', '/lib/baton/main.js', 'mcp'],
    env: { BATON_SOCKET: '/run/r/s', QUOTED: 'a "b"' },
  } as const;

  test('claude: a file of the run, and only that; allowed also where it may do little', () => {
    for (const [access, sandboxed] of [
      [WRITE, false],
      [READ, false],
      [READ, true],
    ] as const) {
      const made = launch('claude', { mcp, access, sandboxed });
      const words = made.command.join(' ');
      expect(words).toContain(' --strict-mcp-config --mcp-config /data/runs/1/claude-mcp.json --allowedTools ');
      expect(words).toMatch(/--allowedTools [^-]*mcp__baton__\* --/);
      expect(JSON.parse(made.files[0]?.content ?? '')).toEqual({
        mcpServers: {
          baton: { type: 'stdio', command: '/bin/node', args: ['/lib/baton/main.js', 'mcp'], env: mcp.env },
        },
      });
      expect(Number(made.env['MCP_TOOL_TIMEOUT'])).toBeGreaterThan(60_000);
    }
    // Where all is allowed it need not be said.
    expect(line('claude', { mcp, access: WRITE, sandboxed: true })).not.toContain('--allowedTools');
  });

  test('codex: a table on the command line, with time enough to wait', () => {
    expect(launch('codex', { mcp }).command).toContain(
      'mcp_servers.baton={command="/bin/node",args=["/lib/baton/main.js","mcp"],' +
        'env={"BATON_SOCKET"="/run/r/s","QUOTED"="a \\"b\\""},startup_timeout_sec=30,tool_timeout_sec=120}',
    );
    expect(line('codex', { mcp, resume: 'abc' })).toMatch(/-c mcp_servers\.baton=.* resume abc -$/);
  });

  test('gemini: in the defaults of the run, trusted', () => {
    const made = launch('gemini', { mcp });
    expect(JSON.parse(made.files[0]?.content ?? '')).toMatchObject({
      general: { maxAttempts: 2 },
      mcpServers: {
        baton: { command: '/bin/node', args: ['/lib/baton/main.js', 'mcp'], env: mcp.env, trust: true },
      },
    });
  });

  test("opencode: put into the config that there is, whoever's it is", () => {
    const ours = { type: 'local', command: mcp.command, environment: mcp.env, enabled: true };
    const made = (fields: Partial<TurnRequest>): unknown =>
      JSON.parse(launch('opencode', { mcp, ...fields }).env['OPENCODE_CONFIG_CONTENT'] ?? 'null');
    expect(made({})).toMatchObject({ mcp: { baton: ours } });
    const own = JSON.stringify({ model: 'a/b', mcp: { mine: { type: 'local' } } });
    const both = { model: 'a/b', mcp: { mine: { type: 'local' }, baton: ours } };
    expect(made({ environment: { OPENCODE_CONFIG_CONTENT: own } })).toMatchObject(both);
    expect(made({ agent: agentOf('opencode', { env: { OPENCODE_CONFIG_CONTENT: own } }) })).toMatchObject(both);
    // What cannot be read is not ours to replace.
    const broken = launch('opencode', { mcp, environment: { OPENCODE_CONFIG_CONTENT: '{ // }' } });
    expect(broken.env['OPENCODE_CONFIG_CONTENT']).toBeUndefined();
  });

  test.each(CLI_KINDS)('%s: nothing of them where there are none', (kind) => {
    const made = launch(kind);
    expect(JSON.stringify([made.command, made.env, made.files])).not.toMatch(/mcp/i);
  });
});

describe('all of them', () => {
  const KINDS = ['command', ...CLI_KINDS] as const;

  test.each(KINDS)('%s: the prompt is never an argument, whatever it looks like and however long it is', (kind) => {
    for (const prompt of ['--help', '-x', `- ${'x'.repeat(200_000)}`]) {
      const made = launch(kind, { prompt, agent: agentOf(kind, { command: ['p'] }) });
      expect(made.stdin).toBe(prompt);
      expect(made.command).not.toContain(prompt);
      expect(Math.max(...made.command.map((word) => word.length))).toBeLessThan(10_000);
    }
    // The word that means an input that stays open.
    expect(launch(kind, { prompt: 'open' }).stdin).toBe('open\n');
  });

  test.each(KINDS)('%s: config has the last word', (kind) => {
    const set = launch(kind, {
      agent: agentOf(kind, { command: ['npx', 'it'], args: ['--own', 'x'], env: { OWN: '1' } }),
    });
    expect(set.command.slice(0, 2)).toEqual(['npx', 'it']);
    expect(set.command.join(' ')).toContain('--own x');
    expect(set.env['OWN']).toBe('1');
    expect(launch(kind, { agent: agentOf(kind, { command: ['p'], env: ['TOKEN'] }) }).passEnv).toContain('TOKEN');
  });

  test('nothing waits for a person', () => {
    for (const access of [READ, WRITE, WIDE, NARROW]) {
      expect(line('claude', { access })).toMatch(/--permission-mode (dontAsk|bypassPermissions)/);
      expect(launch('opencode', { access }).env['OPENCODE_PERMISSION']).not.toContain('ask');
    }
    expect(AGENT_KINDS).toEqual(expect.arrayContaining([...KINDS]));
  });
});
