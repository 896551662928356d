/** OpenClaw: a real server on loopback that answers in every form that was seen or is feared. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { AgentSign, TurnRequest } from '../../src/agents/adapter.ts';
import { openclaw } from '../../src/agents/openclaw.ts';
import { ConfigSchema } from '../../src/core/config.ts';
import { ERRORS } from '../../src/core/errors.ts';
import { isPermanent } from '../../src/core/laws/retries.ts';

type Answer = (response: ServerResponse, body: string) => void;

let server: Server;
let base: string;
let answer: Answer = (response) => response.end('{}');
let last: { request: IncomingMessage; body: string } | null = null;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString('utf8');
    });
    request.on('end', () => {
      last = { request, body };
      answer(response, body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function requestOf(config: Record<string, unknown> = {}, given: Partial<TurnRequest> = {}): TurnRequest {
  const agents = { a: { kind: 'openclaw', url: base, token_env: 'CLAW_TOKEN', ...config } };
  return {
    agent: ConfigSchema.parse({ agents }).agents['a'] as TurnRequest['agent'],
    prompt: 'Fix the thing.',
    model: null,
    workspace: '/ws',
    access: { readPaths: ['/ws'], writePaths: ['/ws'], network: 'FULL' },
    sandboxed: false,
    budget: { maxCostUsd: null, maxTokens: null },
    resume: null,
    mcp: null,
    conversation: '0a0a0a0a-0000-4000-8000-000000000000',
    folder: '/runs/1',
    environment: { CLAW_TOKEN: 'the-secret' },
    ...given,
  };
}

async function callOf(request = requestOf(), signal: AbortSignal = new AbortController().signal): Promise<AgentSign[]> {
  const signs: AgentSign[] = [];
  await openclaw.call(request, { emit: (sign) => signs.push(sign), fetch, signal });
  return signs.filter(({ kind }) => kind !== 'alive');
}

const replying = (body: unknown, status = 200): Promise<AgentSign[]> => {
  answer = (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  return callOf();
};

const inText = (value: unknown): unknown => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const SPAWNED = [
  { kind: 'conversation', id: 'sess-1' },
  { kind: 'end', ok: true, reason: 'spawned', text: null },
];

describe('what is asked', () => {
  test('the tool, the task, the agent and the model, with the token', async () => {
    answer = (response) => response.end(JSON.stringify({ ok: true, result: { sessionId: 'sess-1' } }));
    await callOf(requestOf({ url: `${base}/`, args: ['swe-backend'] }, { model: 'anthropic/claude-x' }));
    expect(last?.request.method).toBe('POST');
    expect(last?.request.url).toBe('/tools/invoke');
    expect(last?.request.headers.authorization).toBe('Bearer the-secret');
    expect(JSON.parse(last?.body ?? '')).toEqual({
      tool: 'sessions_spawn',
      args: { task: 'Fix the thing.', agentId: 'swe-backend', model: 'anthropic/claude-x' },
    });
    await callOf();
    expect(JSON.parse(last?.body ?? '')).toEqual({ tool: 'sessions_spawn', args: { task: 'Fix the thing.' } });
  });

  test('a token that is not set is bad credentials, and nothing is sent', async () => {
    last = null;
    const signs = await callOf(requestOf({}, { environment: {} }));
    expect(signs[0]).toMatchObject({ kind: 'error', code: 'E_CREDENTIALS' });
    expect(signs[0]).toHaveProperty('message', expect.stringContaining('CLAW_TOKEN'));
    expect(signs[1]).toMatchObject({ kind: 'end', ok: false });
    expect(last).toBeNull();
  });

  test('a gateway without tokens is asked without one', async () => {
    answer = (response) => response.end(JSON.stringify({ ok: true, result: { sessionId: 'sess-1' } }));
    expect(await callOf(requestOf({ token_env: undefined }))).toEqual(SPAWNED);
    expect(last?.request.headers.authorization).toBeUndefined();
  });
});

describe('a session is found wherever it hides', () => {
  test.each<[string, unknown]>([
    ['result.sessionId', { ok: true, result: { sessionId: 'sess-1' } }],
    ['result.details.sessionId', { ok: true, result: { details: { sessionId: 'sess-1' } } }],
    ['session_id', { session_id: 'sess-1' }],
    ['sessionKey', { ok: true, result: { sessionKey: 'sess-1' } }],
    ['childSessionKey', { ok: true, result: { status: 'accepted', childSessionKey: 'sess-1', runId: 'run-1' } }],
    ['content[0].text', { ok: true, result: inText({ status: 'accepted', childSessionKey: 'sess-1' }) }],
    [
      'both',
      { ok: true, result: { ...(inText({ status: 'accepted' }) as object), details: { childSessionKey: 'sess-1' } } },
    ],
    ['the child before the caller', { sessionKey: 'main', result: { childSessionKey: 'sess-1' } }],
    ['a result that is JSON text', { ok: true, result: '{"status":"accepted","sessionId":"sess-1"}' }],
    ['JSON text in JSON text', { result: inText({ result: inText({ sessionId: 'sess-1' }) }) }],
    ['session.id', { ok: true, result: { session: { id: 'sess-1' } } }],
    ['session as a text', { ok: true, session: 'sess-1' }],
    ['data', { success: true, data: [{ sessionId: 'sess-1' }] }],
  ])('%s', async (_, body) => {
    expect(await replying(body)).toEqual(SPAWNED);
  });

  test('begun without a name is begun', async () => {
    const signs = await replying({ ok: true, result: { status: 'accepted', runId: 'run-1' } });
    expect(signs).toEqual([{ kind: 'end', ok: true, reason: 'spawned', text: null }]);
  });

  test('words beside a session are told, and are not its result', async () => {
    const content = [{ type: 'text', text: 'Spawned.' }];
    expect(await replying({ ok: true, result: { content, details: { sessionId: 'sess-1' } } })).toEqual([
      SPAWNED[0],
      { kind: 'text', text: 'Spawned.', whole: true },
      SPAWNED[1],
    ]);
  });
});

describe('a result is the text of the turn', () => {
  const done = (text: string): AgentSign[] => [
    { kind: 'text', text, whole: true },
    { kind: 'end', ok: true, reason: 'completed', text },
  ];
  test.each<[string, unknown]>([
    ['reply', { ok: true, result: { status: 'ok', reply: 'All done.' } }],
    ['output', { ok: true, result: { status: 'completed', output: 'All done.' } }],
    ['a text', { ok: true, result: 'All done.' }],
    ['content', { ok: true, result: { content: [{ type: 'text', text: 'All done.' }] } }],
  ])('%s', async (_, body) => {
    expect(await replying(body)).toEqual(done('All done.'));
  });

  test('with its session', async () => {
    const content = [{ type: 'text', text: 'All done.' }];
    const signs = await replying({ ok: true, result: { status: 'completed', sessionId: 'sess-1', content } });
    expect(signs).toEqual([SPAWNED[0], ...done('All done.')]);
  });

  test('a message of a dialect is the result, and its own failures are not the gateway’s', async () => {
    const report = { protocol: 'aof', version: 1, type: 'completion.report', status: 'failed', error: 'mine' };
    for (const result of [inText(report), report, { sessionId: 'sess-1', ...(inText(report) as object) }]) {
      const signs = await replying({ ok: true, result });
      expect(signs.at(-1)).toEqual({ kind: 'end', ok: true, reason: 'completed', text: JSON.stringify(report) });
    }
  });
});

describe('a failure is a failure, whatever the status says', () => {
  test.each<[string, unknown, string, string]>([
    ['ok: false', { ok: false, error: { type: 'tool_error', message: 'boom' } }, 'E_UNKNOWN', 'boom'],
    ['a status', { ok: true, result: { status: 'error', error: 'boom' } }, 'E_UNKNOWN', 'boom'],
    [
      'failed, with a session',
      { ok: true, result: { status: 'failed', childSessionKey: 'sess-1' } },
      'E_UNKNOWN',
      'not say why',
    ],
    [
      'forbidden',
      { ok: true, result: { details: { status: 'forbidden', error: 'agentId is not allowed' } } },
      'E_PERMISSION_DENIED',
      'not allowed',
    ],
    ['in the text', { ok: true, result: inText({ status: 'error', error: 'boom' }) }, 'E_UNKNOWN', 'boom'],
    [
      'isError',
      { ok: true, result: { isError: true, content: [{ type: 'text', text: 'boom' }] } },
      'E_UNKNOWN',
      'boom',
    ],
    ['success: false', { success: false, message: 'x' }, 'E_UNKNOWN', 'not say why'],
    ['an error alone', { error: 'boom' }, 'E_UNKNOWN', 'boom'],
    ['a model', { ok: false, error: { message: 'model x is unknown' } }, 'E_MODEL_UNAVAILABLE', 'model x'],
    ['an agent', { ok: false, error: { message: 'unknown agent id swe' } }, 'E_AGENT_NOT_FOUND', 'swe'],
    ['a timeout', { ok: true, result: { status: 'timeout' } }, 'E_TIMEOUT', ''],
  ])('%s', async (_, body, code, words) => {
    const [error, end, ...more] = await replying(body);
    expect(error).toMatchObject({ kind: 'error', code });
    expect(error).toHaveProperty('message', expect.stringContaining(words));
    expect(end).toMatchObject({ kind: 'end', ok: false });
    expect(more).toEqual([]);
  });

  test('what is no error is none', async () => {
    expect(await replying({ ok: true, error: null, result: { sessionId: 'sess-1', error: '' } })).toEqual(SPAWNED);
  });

  test.each([
    [400, 'E_UNKNOWN'],
    [401, 'E_CREDENTIALS'],
    [403, 'E_CREDENTIALS'],
    [404, 'E_AGENT_NOT_FOUND'],
    [413, 'E_CONTEXT_OVERFLOW'],
    [302, 'E_AGENT_NOT_FOUND'],
  ])('HTTP %i is %s', async (status, code) => {
    const [error] = await replying({ ok: false, error: { message: 'why' } }, status);
    expect(error).toMatchObject({ kind: 'error', code });
    expect(error).toHaveProperty('message', expect.stringMatching(new RegExp(`HTTP ${status}: why`)));
  });

  test.each([429, 500, 502, 503, 504])('HTTP %i may be tried again', async (status) => {
    const [error] = await replying('<html>busy</html>', status);
    if (error?.kind !== 'error') throw new Error('expected an error');
    expect(ERRORS[error.code].retryable).toBe(true);
    expect(isPermanent(error.code)).toBe(false);
  });

  test.each(['', 'hello', '[]', '{"ok":', 'null'])('%j is not an answer', async (body) => {
    expect((await replying(body))[0]).toMatchObject({ kind: 'error', code: 'E_PARSE_FAILURE' });
  });

  test('an answer without a session and without a result', async () => {
    expect((await replying({ ok: true, result: {} }))[0]).toMatchObject({ kind: 'error', code: 'E_SCHEMA_VALIDATION' });
  });

  test('an answer of any depth and width is looked through within bounds', async () => {
    const deep = `${'{"result":'.repeat(50_000)}1${'}'.repeat(50_000)}`;
    expect((await replying(deep))[0]).toMatchObject({ kind: 'error' });
    const wide = { content: Array.from({ length: 200_000 }, () => ({ type: 'text', text: 'x' })) };
    const end = (await replying(wide)).at(-1);
    expect(end).toMatchObject({ kind: 'end', ok: true });
    expect(JSON.stringify(end).length).toBeLessThan(5000);
  });

  test('the token is never repeated', async () => {
    const signs = await replying({ ok: false, error: { message: 'bad token the-secret' } }, 401);
    expect(JSON.stringify(signs)).not.toContain('the-secret');
  });

  test('another address is not followed', async () => {
    answer = (response) => {
      const isFirst = last?.request.url === '/tools/invoke';
      if (isFirst) response.writeHead(307, { location: '/elsewhere' }).end();
      else response.end(JSON.stringify({ ok: true, result: { sessionId: 'sess-1' } }));
    };
    expect((await callOf())[0]).toMatchObject({ kind: 'error', code: 'E_AGENT_NOT_FOUND' });
  });

  test('more than 10 MB', async () => {
    answer = (response) => {
      const chunk = Buffer.alloc(1024 * 1024, 'x');
      const more = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', more);
      more();
    };
    expect((await callOf())[0]).toMatchObject({ kind: 'error', code: 'E_CONTEXT_OVERFLOW' });
  });

  test('nobody there', async () => {
    const gone = createServer();
    await new Promise<void>((resolve) => gone.listen(0, '127.0.0.1', resolve));
    const { port } = gone.address() as AddressInfo;
    await new Promise((resolve) => gone.close(resolve));
    const signs = await callOf(requestOf({ url: `http://127.0.0.1:${port}` }));
    expect(signs[0]).toMatchObject({ kind: 'error', code: 'E_AGENT_NOT_FOUND' });
    expect(signs[0]).toHaveProperty('message', expect.stringContaining('ECONNREFUSED'));
  });

  test('a connection that breaks may hold the next time', async () => {
    answer = (response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{"ok":', () => response.destroy());
    };
    expect((await callOf())[0]).toMatchObject({ kind: 'error', code: 'E_PROCESS_CRASH' });
  });

  test.each(['before the headers', 'in the body'])('silence %s, until it is called off', async (where) => {
    const controller = new AbortController();
    answer = (response) => {
      if (where === 'in the body') {
        response.writeHead(200);
        response.write('{');
      }
      setTimeout(() => controller.abort(), 50);
    };
    expect((await callOf(requestOf(), controller.signal))[0]).toMatchObject({ kind: 'error', code: 'E_TIMEOUT' });
  });
});
