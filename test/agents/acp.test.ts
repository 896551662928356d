/** ACP: what real agents said, replayed; an agent on the official SDK; and agents that behave badly. */
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { acp } from '../../src/agents/acp.ts';
import { judge, pathsOf } from '../../src/agents/acp-access.ts';
import type { AgentSign, Reader, TurnRequest } from '../../src/agents/adapter.ts';
import { ConfigSchema } from '../../src/core/config.ts';
import type { Access } from '../../src/core/policy.ts';

const HERE = import.meta.dirname;
const CAPTURES = join(HERE, 'captures', 'acp');

const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'baton-acp-')));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

type Asked = Partial<TurnRequest> & { readonly config?: Record<string, unknown> };

function requestOf({ config = {}, ...given }: Asked = {}): TurnRequest {
  const agents = { a: { kind: 'acp', command: ['agent'], ...config } };
  const workspace = given.workspace ?? '/ws/repo';
  return {
    agent: ConfigSchema.parse({ agents }).agents['a'] as TurnRequest['agent'],
    prompt: 'do it',
    model: null,
    workspace,
    access: { readPaths: [workspace], writePaths: [workspace], network: 'NONE' },
    sandboxed: false,
    budget: { maxCostUsd: null, maxTokens: null },
    resume: null,
    mcp: null,
    conversation: '0a0a0a0a-0000-4000-8000-000000000000',
    folder: '/runs/1',
    environment: {},
    ...given,
  };
}

const only = <K extends AgentSign['kind']>(signs: readonly AgentSign[], kind: K): Extract<AgentSign, { kind: K }>[] =>
  signs.filter((sign): sign is Extract<AgentSign, { kind: K }> => sign.kind === kind);

// ── Replay ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Line = Record<string, unknown>;
const linesOf = (name: string): Line[] =>
  readFileSync(join(CAPTURES, name), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);

const sessionOf = (name: string): unknown =>
  linesOf(name)
    .map(({ session }) => session as Line | undefined)
    .find((session) => session !== undefined)?.['sessionId'];

interface Replay {
  readonly signs: AgentSign[];
  /** What was asked of the agent. */
  readonly methods: string[];
  /** What the agent was answered, and what the capture's client had answered. */
  readonly answers: { given: unknown; captured: unknown }[];
  readonly filesAnswers: unknown[];
  hungUp: boolean;
}

/** Feeds a capture to the reader in chunks of `size` bytes, as if the agent had said it. */
function replay(name: string, given: Asked = {}, size = 1 << 20): Replay {
  const lines = linesOf(name);
  const found: Replay = { signs: [], methods: [], answers: [], filesAnswers: [], hungUp: false };
  const said: Line[] = [];
  const reader = acp.reader({
    request: requestOf(given),
    emit: (sign) => found.signs.push(sign),
    say: (text) =>
      said.push(
        ...text
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as Line),
      ),
    hangUp: () => {
      found.hungUp = true;
    },
  });
  const feed = (message: Line): void => {
    const bytes = Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    for (let at = 0; at < bytes.length; at += size) reader.stdout(bytes.subarray(at, at + size));
  };
  const next = (): Line => {
    const message = said.shift();
    if (message === undefined) throw new Error('the reader said nothing more');
    return message;
  };
  const at = (key: string): unknown => lines.find((line) => key in line)?.[key];
  let prompt: Line = {};
  for (;;) {
    const asked = next();
    found.methods.push(String(asked['method']));
    if (asked['method'] === 'session/prompt') {
      prompt = asked;
      break;
    }
    const key = asked['method'] === 'initialize' ? 'initialize' : 'session';
    feed({ id: asked['id'], result: key === 'session' && asked['method'] !== 'session/new' ? {} : at(key) });
  }
  let id = 100;
  for (const [i, line] of lines.entries()) {
    if ('update' in line) feed({ method: 'session/update', params: { sessionId: 's', update: line['update'] } });
    if ('request_permission' in line) {
      feed({ id: ++id, method: 'session/request_permission', params: line['request_permission'] });
      found.answers.push({ given: next()['result'], captured: lines[i + 1]?.['answer'] });
    }
    if ('fs_write' in line || 'fs_read' in line) {
      feed({ id: ++id, method: 'fs/write_text_file', params: {} });
      found.filesAnswers.push((next()['error'] as Line)['code']);
    }
    if ('result' in line) feed({ id: prompt['id'], result: line['result'] });
  }
  reader.end({ code: null, signal: 'SIGTERM' });
  return found;
}

const captures = readdirSync(CAPTURES);

describe('what real agents said', () => {
  test('there are captures of them all', () => {
    expect(captures.length).toBeGreaterThanOrEqual(8);
  });

  test.each(captures)(
    '%s: writes inside are allowed once, outside rejected, as the person at the capture did',
    (name) => {
      const { answers, filesAnswers, signs, hungUp } = replay(name);
      for (const { given, captured } of answers) expect(given).toEqual(captured);
      expect(new Set(filesAnswers).size).toBeLessThanOrEqual(1);
      if (filesAnswers.length > 0) expect(filesAnswers[0]).toBe(-32601);
      expect(only(signs, 'end')).toHaveLength(1);
      expect(hungUp).toBe(true);
      expect(only(signs, 'conversation')[0]?.id).toBe(sessionOf(name));
    },
  );

  test.each(captures)('%s: read the same in chunks of 7 bytes', (name) => {
    const spoken = (signs: readonly AgentSign[]): AgentSign[] => signs.filter(({ kind }) => kind !== 'alive');
    expect(spoken(replay(name, {}, 7).signs)).toEqual(spoken(replay(name).signs));
  });

  test("it is given Baton's own tools when its session opens, also one that it goes on with", () => {
    const mcp = { name: 'baton', command: ['/bin/node', '/b/main.js', 'mcp'], env: { BATON_SOCKET: '/r/s' } } as const;
    for (const resume of [null, 'abc']) {
      const said: Line[] = [];
      const reader = acp.reader({
        request: requestOf({ mcp, resume }),
        emit: () => {},
        say: (text) => said.push(JSON.parse(text) as Line),
        hangUp: () => {},
      });
      const result = { protocolVersion: 1, agentCapabilities: { loadSession: true } };
      reader.stdout(Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: said[0]?.['id'], result })}\n`));
      expect(said[1]).toMatchObject({
        method: resume === null ? 'session/new' : 'session/load',
        params: {
          mcpServers: [
            {
              name: 'baton',
              command: '/bin/node',
              args: ['/b/main.js', 'mcp'],
              env: [{ name: 'BATON_SOCKET', value: '/r/s' }],
            },
          ],
        },
      });
    }
  });

  test('claude: its words, its tools, what it used and what was denied', () => {
    const { signs, methods } = replay('claude-agent-acp.jsonl');
    expect(methods).toEqual(['initialize', 'session/new', 'session/prompt']);
    expect(only(signs, 'text').map(({ text }) => text)).toEqual([
      'Writing inside.',
      'Writing outside.',
      'Finished: User refused p',
      'ermission to run tool',
    ]);
    expect(only(signs, 'tool').map(({ name, detail }) => `${name} ${detail}`)).toEqual([
      'edit Write',
      'edit Write in.txt',
      'edit Write',
      'edit Write /ws/outside/evil.txt',
    ]);
    expect(only(signs, 'denied').map(({ what }) => what)).toEqual([
      'edit Write /ws/outside/evil.txt: /ws/outside/evil.txt is outside the write paths',
    ]);
    expect(only(signs, 'usage').at(-1)).toMatchObject({ tokensInput: 3000, tokensOutput: 150, final: true });
    expect(only(signs, 'usage').at(-1)?.usd).toBeCloseTo(0.01875);
    expect(only(signs, 'end')).toEqual([
      { kind: 'end', ok: true, reason: 'end_turn', text: 'Finished: User refused permission to run tool' },
    ]);
    expect(only(signs, 'error')).toEqual([]);
  });

  test('an older claude asks without a kind: it is known from the call before', () => {
    const { answers } = replay('claude-code-acp.jsonl');
    expect(answers.map(({ given }) => (given as { outcome: Line }).outcome['optionId'])).toEqual(['allow', 'reject']);
  });

  test('codex ends its turn where it is refused: the refusal is the error', () => {
    const { signs } = replay('codex-acp-readonly.jsonl');
    expect(only(signs, 'end')[0]).toMatchObject({ ok: false, reason: 'cancelled' });
    expect(only(signs, 'error')[0]).toMatchObject({ code: 'E_PERMISSION_DENIED' });
    expect(only(signs, 'error')[0]?.message).toContain('/ws/outside/evil.txt');
  });

  test('codex that would write unasked is put into the mode that asks; in a sandbox it need not be', () => {
    expect(replay('codex-acp.jsonl').methods).toContain('session/set_mode');
    expect(replay('codex-acp.jsonl', { sandboxed: true }).methods).not.toContain('session/set_mode');
  });

  test('gemini tells what it used in its own way', () => {
    const { signs } = replay('gemini-nofs.jsonl');
    expect(only(signs, 'usage').at(-1)).toMatchObject({ tokensInput: 3000, tokensOutput: 150, final: true });
    expect(only(signs, 'model').at(-1)?.model).toBe('gemini-2.5-pro');
  });

  test('a model is set as each agent lets it be set', () => {
    expect(replay('opencode.jsonl', { model: 'opencode/big-pickle' }).methods).toContain('session/set_config_option');
    expect(replay('gemini.jsonl', { model: 'gemini-9' }).methods).toContain('session/set_model');
    expect(replay('opencode.jsonl', { model: 'mock/mock-model' }).methods).not.toContain('session/set_config_option');
  });

  test('where nothing may be written, nothing is allowed', () => {
    for (const name of captures) {
      const access: Access = { readPaths: ['/ws/repo'], writePaths: [], network: 'NONE' };
      for (const { given } of replay(name, { access }).answers) {
        expect((given as { outcome: Line }).outcome['optionId']).toMatch(/reject|cancel|abort/);
      }
    }
  });
});

// ── Permissions ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('permissions', () => {
  const OPEN: Access = { readPaths: ['/'], writePaths: ['/'], network: 'FULL' };
  const WS: Access = { readPaths: ['/ws', '/docs'], writePaths: ['/ws/src'], network: 'NONE' };
  const READ_ONLY: Access = { ...WS, writePaths: [] };
  const allowed = (kind: string | null, paths: string[], access: Access, sandboxed = false): boolean =>
    judge({ kind, title: '', paths: new Set(paths) }, { access, sandboxed, workspace: '/ws', mcp: null }).allowed;

  test.each(['edit', 'delete', 'move'])('%s: all paths within the write paths', (kind) => {
    expect(allowed(kind, ['/ws/src/a.ts', 'src/b.ts', './src/../src/c.ts'], WS)).toBe(true);
    for (const path of [
      '/ws/a.ts',
      'a.ts',
      '/ws/src-evil/a.ts',
      '/ws/src/../../etc/passwd',
      'src/../../x',
      '~/x',
      '/docs/a',
      'C:\\x',
    ]) {
      expect([path, allowed(kind, ['/ws/src/a.ts', path], WS)]).toEqual([path, false]);
      expect([path, allowed(kind, ['/ws/src/a.ts', path], WS, true)]).toEqual([path, false]);
    }
    expect(allowed(kind, [], WS)).toBe(false);
    expect(allowed(kind, [], WS, true)).toBe(true);
    expect(allowed(kind, ['/ws/src/a.ts'], READ_ONLY, true)).toBe(false);
  });

  test('read and search: within the read or the write paths', () => {
    expect(allowed('read', ['/docs/a', '/ws/src/b', 'c'], WS)).toBe(true);
    expect(allowed('read', ['/etc/passwd'], WS)).toBe(false);
    expect(allowed('read', ['~/.ssh/id_ed25519'], WS)).toBe(false);
    expect(allowed('read', [], WS)).toBe(false);
    expect(allowed('search', [], WS)).toBe(true);
    expect(allowed('search', [], { ...WS, readPaths: ['/docs'] })).toBe(false);
    expect(allowed('search', [], { readPaths: [], writePaths: [], network: 'FULL' })).toBe(false);
  });

  test("Baton's own tools, and no others of that name's likeness", () => {
    const call = (title: string, kind = 'other'): boolean =>
      judge(
        { kind, title, paths: new Set(['/etc/details.json']) },
        { access: READ_ONLY, sandboxed: false, workspace: '/ws', mcp: { name: 'baton' } },
      ).allowed;
    expect(call('mcp__baton__baton_report')).toBe(true);
    for (const title of ['mcp__other__baton_report', 'mcp__baton__x; rm -rf /', 'x mcp__baton__y', 'baton', '']) {
      expect([title, call(title)]).toEqual([title, false]);
    }
    expect(call('mcp__baton__baton_report', 'execute')).toBe(false);
    expect(allowed('other', [], READ_ONLY)).toBe(false);
  });

  test('execute: in a sandbox, or where nothing is restricted', () => {
    expect(allowed('execute', [], WS)).toBe(false);
    expect(allowed('execute', [], { ...OPEN, network: 'RESTRICTED' })).toBe(false);
    expect(allowed('execute', [], { ...OPEN, writePaths: ['/ws'] })).toBe(false);
    expect(allowed('execute', [], OPEN)).toBe(true);
    expect(allowed('execute', [], WS, true)).toBe(true);
    expect(allowed('execute', [], READ_ONLY, true)).toBe(true);
    expect(allowed('execute', [], { readPaths: [], writePaths: [], network: 'FULL' }, true)).toBe(false);
  });

  test('fetch: only with the whole network', () => {
    expect(allowed('fetch', [], { ...WS, network: 'FULL' })).toBe(true);
    expect(allowed('fetch', [], { ...WS, network: 'RESTRICTED' }, true)).toBe(false);
    expect(allowed('fetch', [], WS, true)).toBe(false);
  });

  test('what is not known is rejected where anything is restricted', () => {
    for (const kind of ['other', 'switch_mode', 'teleport', null]) {
      expect(allowed(kind, ['/ws/src/a'], WS)).toBe(false);
      expect(allowed(kind, ['/ws/src/a'], WS, true)).toBe(false);
      expect(allowed(kind, [], OPEN)).toBe(true);
    }
    expect(allowed('think', [], READ_ONLY)).toBe(true);
  });

  test('paths are found wherever agents put them', () => {
    const found = pathsOf({
      locations: [{ path: '/a' }, null, { line: 3 }],
      content: [{ type: 'diff', path: '/b' }, { type: 'content' }],
      rawInput: {
        file_path: '/c',
        filePath: '/d',
        parentDir: '/e',
        changes: { '/f': { type: 'add', content: '/no' } },
        edits: [{ target: { path: '/g' }, newText: '/no' }],
        paths: ['/h', 'file:///i%20j'],
        profile: '/no',
        content: '/no',
        file: 'two\nlines',
      },
    });
    expect([...found].sort()).toEqual(['/a', '/b', '/c', '/d', '/e', '/f', '/g', '/h', '/i j']);
  });

  test('more paths than are looked through are not allowed', () => {
    expect(
      allowed(
        'edit',
        Array.from({ length: 10_001 }, (_, i) => `/ws/src/${i}`),
        WS,
      ),
    ).toBe(false);
  });
});

// ── Real processes ───────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Turn {
  readonly signs: AgentSign[];
  readonly stderr: string;
}

/** Starts a program and lets the adapter talk to it until it is gone; after `mostMs` it is ended. */
async function turnOf(command: readonly string[], given: Asked = {}, mostMs = 20_000): Promise<Turn> {
  const request = requestOf({ workspace: scratch, ...given, config: { command, ...given.config } });
  const { command: argv, env, stdin } = acp.launch(request);
  expect(stdin).toBe('open');
  const child = spawn(argv[0] as string, argv.slice(1), { cwd: scratch, env: { ...process.env, ...env } });
  const signs: AgentSign[] = [];
  let stderr = '';
  let reader: Reader | null = null;
  // A program that is gone does not read; that is seen by its end.
  child.stdin.on('error', () => {});
  const ended = new Promise<void>((resolve) => {
    child.on('close', (code, signal) => {
      reader?.end({ code, signal });
      resolve();
    });
  });
  reader = acp.reader({
    request,
    emit: (sign) => signs.push(sign),
    say: (text) => child.stdin.write(text),
    hangUp: () => {
      child.stdin.end();
      // What the runtime does once the turn is over.
      setTimeout(() => child.kill('SIGTERM'), 100).unref();
    },
  });
  child.stdout.on('data', (chunk: Buffer) => reader?.stdout(chunk));
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8');
    reader?.stderr(chunk);
  });
  const deadline = setTimeout(() => child.kill('SIGKILL'), mostMs);
  await ended;
  clearTimeout(deadline);
  return { signs, stderr };
}

const polite = (steps: readonly object[], given: Asked = {}, ...flags: string[]): Promise<Turn> =>
  turnOf([process.execPath, join(HERE, 'acp-polite.mjs'), ...flags], { prompt: JSON.stringify(steps), ...given });
const rude = (how: string, mostMs?: number): Promise<Turn> =>
  turnOf([process.execPath, join(HERE, 'acp-rude.mjs'), how], {}, mostMs);

const textOf = ({ signs }: Turn): string =>
  only(signs, 'text')
    .map(({ text }) => text)
    .join('')
    .trim();

describe('an agent on the official SDK', () => {
  test('asks for what is inside and outside of the write paths', async () => {
    const inside = join(scratch, 'inside.txt');
    const outside = join(scratch, '..', `${scratch.split('/').at(-1)}-outside.txt`);
    const turn = await polite([
      { say: 'Hello. ' },
      { ask: { kind: 'edit', title: 'in', locations: [{ path: inside }] }, write: inside },
      { ask: { kind: 'edit', title: 'out', locations: [{ path: outside }] }, write: outside },
      { ask: { kind: 'execute', title: 'rm -rf /', rawInput: { command: 'rm -rf /' } } },
      { ask: { kind: 'read', title: 'read', rawInput: { file_path: 'inside.txt' } } },
      { ask: { kind: 'read', title: 'read', locations: [{ path: '/etc/passwd' }] } },
      { say: 'Bye.' },
    ]);
    expect(textOf(turn)).toBe('Hello. yes no no yes no Bye.');
    expect(existsSync(inside)).toBe(true);
    expect(existsSync(outside)).toBe(false);
    expect(only(turn.signs, 'denied').map(({ what }) => what.slice(0, 20))).toEqual([
      expect.stringMatching(/^edit out: /),
      expect.stringMatching(/^execute rm -rf \//),
      expect.stringMatching(/^read read: /),
    ]);
    expect(only(turn.signs, 'end')).toEqual([{ kind: 'end', ok: true, reason: 'end_turn', text: 'no Bye.' }]);
    expect(only(turn.signs, 'error')).toEqual([]);
    // Nothing of ours is offered, and it was put into the mode that asks.
    expect(turn.stderr).toContain('"readTextFile":false');
    expect(turn.stderr).not.toContain('true');
    expect(turn.stderr).toContain('mode default');
  });

  test('is never allowed for always', async () => {
    const options = [
      { optionId: 'always', name: 'Always', kind: 'allow_always' },
      { optionId: 'never', name: 'Never', kind: 'reject_always' },
    ];
    const ask = { kind: 'edit', locations: [{ path: join(scratch, 'x') }] };
    const turn = await polite([
      { ask, options },
      { ask, options: options.slice(0, 1) },
    ]);
    expect(textOf(turn)).toBe('never cancelled');
    expect(only(turn.signs, 'denied')).toHaveLength(2);
  });

  test('has no files and no terminal of ours', async () => {
    const turn = await polite([
      { request: 'fs/read_text_file' },
      { request: 'terminal/create' },
      { request: '_own/thing' },
    ]);
    expect(textOf(turn)).toBe('fs/read_text_file gave -32601 terminal/create gave -32601 _own/thing gave -32601');
    expect(only(turn.signs, 'end')[0]?.ok).toBe(true);
  });

  test.each(['max_tokens', 'max_turn_requests', 'refusal', 'cancelled'])(
    'that stops by %s has not done it',
    async (stop) => {
      const turn = await polite([{ say: 'so far' }, { stop }]);
      expect(only(turn.signs, 'end')).toEqual([{ kind: 'end', ok: false, reason: stop, text: 'so far' }]);
      expect(only(turn.signs, 'error')).toHaveLength(1);
    },
  );

  test('shows its plan and what it uses', async () => {
    const entries = [
      { content: 'look', priority: 'high', status: 'completed' },
      { content: 'write', priority: 'high', status: 'in_progress' },
    ];
    const turn = await polite([
      { update: { sessionUpdate: 'plan', entries } },
      { update: { sessionUpdate: 'usage_update', used: 500, size: 1000, cost: { amount: 0.25, currency: 'USD' } } },
      { update: { sessionUpdate: 'usage_update', used: 400, size: 1000 } },
    ]);
    expect(only(turn.signs, 'tool')).toEqual([{ kind: 'tool', name: 'plan', detail: '1 of 2 done: write' }]);
    expect(only(turn.signs, 'usage')).toEqual([
      { kind: 'usage', tokensInput: 500, tokensOutput: 0, usd: 0.25, final: false },
      { kind: 'usage', tokensInput: 500, tokensOutput: 0, usd: 0.25, final: false },
    ]);
  });

  test('is given the model it offers; one that it refuses is not available', async () => {
    const turn = await polite([{ say: 'ok' }], { model: 'large' });
    expect(only(turn.signs, 'model')).toEqual([{ kind: 'model', model: 'large' }]);
    const other = await polite([{ say: 'ok' }], { model: 'huge' });
    expect(only(other.signs, 'error')[0]?.code).toBe('E_MODEL_UNAVAILABLE');
    expect(only(other.signs, 'error')[0]?.message).toContain('it offers small, large');
    expect(textOf(other)).toBe('');
  });

  test('goes on with a conversation where it can; the past is not told as new', async () => {
    const loaded = await polite([{ say: 'now' }], { resume: 'old-1' }, '--loads');
    expect(only(loaded.signs, 'conversation')).toEqual([{ kind: 'conversation', id: 'old-1' }]);
    expect(textOf(loaded)).toBe('now');
    const anew = await polite([{ say: 'now' }], { resume: 'old-1' });
    expect(only(anew.signs, 'conversation')).toEqual([{ kind: 'conversation', id: 'session-1' }]);
  });

  test('that answers with an error has failed, with its code', async () => {
    const turn = await polite([{ say: 'a' }, { error: { code: -32000, message: 'Authentication required' } }]);
    expect(only(turn.signs, 'error')[0]?.code).toBe('E_CREDENTIALS');
    expect(only(turn.signs, 'end')[0]).toMatchObject({ ok: false, text: 'a' });
  });
});

describe('agents that behave badly', () => {
  const errorOf = ({ signs }: Turn): Extract<AgentSign, { kind: 'error' }> | undefined => only(signs, 'error').at(-1);

  test('one that does not start', async () => {
    const turn = await rude('dies');
    expect(errorOf(turn)?.code).toBe('E_PROCESS_CRASH');
    expect(errorOf(turn)?.message).toContain('ended with code 7');
    expect(errorOf(turn)?.message).toContain('cannot find my settings');
    expect(only(turn.signs, 'end')).toEqual([]);
  });

  test('one that crashes in the middle', async () => {
    const turn = await rude('crashes');
    expect(textOf(turn)).toBe('half a sen');
    expect(errorOf(turn)?.message).toMatch(/session\/prompt.*SIGKILL.*out of memory/);
    expect(only(turn.signs, 'end')).toEqual([]);
  });

  test('one that never answers gives no sign, and says why when it is ended from outside', async () => {
    const turn = await rude('silent', 400);
    expect(turn.signs).toHaveLength(1);
    expect(errorOf(turn)?.message).toMatch(/initialize.*SIGKILL/);
  });

  test('one that prints garbage between its messages', async () => {
    const turn = await rude('garbage');
    expect(textOf(turn)).toBe('still here');
    expect(only(turn.signs, 'end')[0]?.ok).toBe(true);
  });

  test('one that floods: ten megabytes, all read, the last statement bounded', async () => {
    const turn = await rude('floods');
    expect(only(turn.signs, 'text')).toHaveLength(100_001);
    expect(only(turn.signs, 'end')[0]?.text).toMatch(/last words$/);
    expect(only(turn.signs, 'end')[0]?.text?.length).toBeLessThanOrEqual(10 * 1024 * 1024);
  });

  test('one whose line is longer than a message may be', async () => {
    const turn = await rude('long-line');
    expect(only(turn.signs, 'error').map(({ code }) => code)).toEqual(['E_CONTEXT_OVERFLOW']);
    expect(only(turn.signs, 'end')[0]?.ok).toBe(true);
  });

  test('one that answers and is gone at once is heard', async () => {
    const turn = await rude('hurries');
    expect(only(turn.signs, 'end')[0]?.ok).toBe(true);
    expect(only(turn.signs, 'error')).toEqual([]);
  });

  test.each([
    ['version', 'E_SCHEMA_VALIDATION', 'version 1 of ACP, got 2'],
    ['no-session', 'E_SCHEMA_VALIDATION', 'expected a sessionId'],
    ['login', 'E_CREDENTIALS', 'Authentication required'],
    ['broke', 'E_PROCESS_CRASH', 'overloaded'],
    ['deep', 'E_PROCESS_CRASH', 'nested too deep'],
  ])('%s is %s', async (how, code, words) => {
    const turn = await rude(how);
    expect(errorOf(turn)?.code).toBe(code);
    expect(errorOf(turn)?.message).toContain(words);
    expect(only(turn.signs, 'end')[0]?.ok).toBe(false);
  });

  test('nothing is said after the end', async () => {
    const { signs } = replay('claude-agent-acp-latest-node20.jsonl');
    expect(signs.slice(signs.findIndex(({ kind }) => kind === 'end') + 1).every(({ kind }) => kind === 'alive')).toBe(
      true,
    );
  });
});

// ── Launch ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

describe('launch', () => {
  const environment = { HOME: '/home/me', GOOSE_KEY: 'x' };

  test('config says what is started, what is set and what is passed on', () => {
    const launch = acp.launch(
      requestOf({
        environment,
        config: { command: ['goose'], args: ['acp'], env: ['GOOSE_KEY'], url: 'http://127.0.0.1:9/v1' },
      }),
    );
    expect(launch).toMatchObject({ command: ['goose', 'acp'], env: {}, endpoints: ['http://127.0.0.1:9/v1'] });
    expect(launch.passEnv).toContain('GOOSE_KEY');
    expect(launch.state).toContain('/home/me/.config/goose');
    expect(acp.launch(requestOf({ config: { env: { A: 'b' } } })).env).toEqual({ A: 'b' });
  });

  test('an agent that Baton knows, in whatever wrapper, keeps its login and reaches its model', () => {
    const claude = acp.launch(
      requestOf({ environment, config: { command: ['npx', '@agentclientprotocol/claude-agent-acp'] } }),
    );
    expect(claude.state).toContain('/home/me/.claude');
    expect(claude.passEnv).toContain('ANTHROPIC_API_KEY');
    expect(claude.endpoints).toContain('https://api.anthropic.com');
    const wrapped = acp.launch(
      requestOf({ environment, config: { command: ['node', '/x/node_modules/@zed/codex-acp/main.js'] } }),
    );
    expect(wrapped.state).toContain('/home/me/.codex');
    const other = acp.launch(requestOf({ environment, config: { command: ['/home/claude/bin/goose'] } }));
    expect(other.state).not.toContain('/home/me/.claude');
  });

  test('no name leads out of the folders of that name', () => {
    for (const name of ['..', '.', '-x', '/', 'a b', '']) {
      const { state } = acp.launch(requestOf({ environment, config: { command: ['npx', name || 'x y'] } }));
      expect(state).toEqual([]);
    }
  });
});
