/** What each program printed in each case, read once more: the facts of test/agents/captures, and what they mean. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AgentSign } from '../../src/agents/adapter.ts';
import { type AgentKind, CLI_KINDS } from '../../src/core/agent-kinds.ts';
import { isPermanent } from '../../src/core/laws/retries.ts';
import { CAPTURES, captureOf, exitsOf, ofKind, requestOf, signsOf, signsOfCapture } from './reading.ts';

/** A turn in few words: how it ended, the last error, the last count, and how often it was refused and tried again. */
interface Story {
  readonly end?: string;
  readonly error?: string;
  readonly used?: string;
  readonly denied?: number;
  readonly retrying?: (number | null)[];
  readonly tools?: string[];
  readonly said?: string;
}

function storyOf(signs: readonly AgentSign[]): Story {
  const end = ofKind(signs, 'end').at(-1);
  const error = ofKind(signs, 'error').at(-1);
  const usage = ofKind(signs, 'usage').at(-1);
  const denied = ofKind(signs, 'denied').length;
  const retrying = ofKind(signs, 'retrying').map(({ status }) => status);
  const tools = ofKind(signs, 'tool').map(({ name, detail }) => `${name} ${detail}`);
  const said = ofKind(signs, 'text')
    .map(({ text }) => text)
    .join('');
  return {
    ...(end && { end: `${end.ok ? 'ok' : 'not ok'}: ${end.reason}` }),
    ...(error && { error: error.code }),
    ...(usage && { used: `${usage.tokensInput}+${usage.tokensOutput}${usage.usd === null ? '' : ` $${usage.usd}`}` }),
    ...(denied > 0 && { denied }),
    ...(retrying.length > 0 && { retrying }),
    ...(tools.length > 0 && { tools }),
    ...(said !== '' && { said }),
  };
}

const HELLO = 'Hello from the mock model.';
const WROTE = 'I will write the file.Done: wrote hello.txt.';

const STORIES: Partial<Record<AgentKind, Record<string, Story>>> = {
  claude: {
    text: { end: 'ok: completed', used: '1000+50 $0.00375', said: HELLO },
    write: { end: 'ok: completed', used: '2000+100 $0.0075', tools: ['Write hello.txt'], said: WROTE },
    partial: { end: 'ok: completed', used: '2000+100 $0.0075', tools: ['Write hello.txt'], said: WROTE },
    // The conversation had used 2000+100 and $0.0075 before: only this turn counts.
    resumed: { end: 'ok: completed', used: '1000+50 $0.00375', said: HELLO },
    // `usage` of its result says 2000+100.
    subagent: {
      end: 'ok: completed',
      used: '4000+200 $0.015',
      tools: ['Task look', 'Write hello.txt'],
      said: 'I ask another.All done.',
    },
    'write-denied': {
      end: 'ok: completed',
      used: '2000+100 $0.0075',
      denied: 1,
      tools: ['Write hello.txt'],
      said: WROTE,
    },
    'http-401': { end: 'not ok: api_error', error: 'E_CREDENTIALS', used: '0+0 $0', retrying: [401, 401] },
    'http-404': { end: 'not ok: api_error', error: 'E_MODEL_UNAVAILABLE', used: '0+0 $0' },
    'http-429': { end: 'not ok: api_error', error: 'E_PROCESS_CRASH', used: '0+0 $0', retrying: [429, 429] },
    'http-500': { end: 'not ok: api_error', error: 'E_PROCESS_CRASH', used: '0+0 $0', retrying: [500, 500] },
    'http-500-once': {
      end: 'ok: completed',
      used: '1000+50 $0.00375',
      retrying: [500],
      said: 'Recovered after one 500.',
    },
    'no-login': { end: 'not ok: api_error', error: 'E_CREDENTIALS', used: '0+0 $0' },
    budget: {
      end: 'not ok: budget_exhausted',
      error: 'E_COST_LIMIT_EXCEEDED',
      used: '1000+50 $0.00375',
      tools: ['Write hello.txt'],
      said: 'I will write the file.',
    },
    truncated: {
      end: 'not ok: max_tokens',
      error: 'E_CONTEXT_OVERFLOW',
      used: '4000+200 $0.015',
      said: 'This was cut'.repeat(4),
    },
    drop: { end: 'not ok: api_error', error: 'E_PROCESS_CRASH', used: '3000+3 $0.009045', retrying: [null, null] },
    'sigterm-tool': { error: 'E_PROCESS_CRASH', used: '1000+1', tools: ['Bash timeout 120 tail -f /dev/null'] },
    // Exit code 0, and nothing was done.
    'sigint-model': { error: 'E_PROCESS_CRASH' },
    hang: { error: 'E_PROCESS_CRASH' },
  },
  codex: {
    text: { end: 'ok: completed', used: '1000+50', said: HELLO },
    resumed: { end: 'ok: completed', used: '3000+150', said: HELLO },
    write: { end: 'ok: completed', used: '2000+100', tools: ['file_change /ws/repo/hello.txt'], said: WROTE },
    'write-denied': { end: 'ok: completed', used: '2000+100', denied: 1, said: WROTE },
    shell: {
      end: 'ok: completed',
      used: '2000+100',
      tools: ["command_execution /bin/bash -lc 'echo shell-ok > shell.txt && cat shell.txt'"],
    },
    'shell-fails': {
      end: 'ok: completed',
      used: '2000+100',
      tools: ["command_execution /bin/bash -lc 'echo oops >&2; exit 3'"],
    },
    'outside-auto': { end: 'ok: completed', used: '2000+100', denied: 1 },
    'mcp-mock-model': { end: 'ok: completed', used: '2000+100', tools: ['feas.add '] },
    'http-401': { end: 'not ok: failed', error: 'E_CREDENTIALS', retrying: [401, 401] },
    'http-429': { end: 'not ok: failed', error: 'E_PROCESS_CRASH' },
    'http-500': { end: 'not ok: failed', error: 'E_PROCESS_CRASH', retrying: [null, null] },
    'http-500-once': { end: 'ok: completed', used: '1000+50', said: 'Recovered after one 500.' },
    truncated: { end: 'not ok: max_tokens', error: 'E_CONTEXT_OVERFLOW', said: 'This was cut' },
    drop: { end: 'not ok: failed', error: 'E_PROCESS_CRASH', retrying: [null, null] },
    stall: { end: 'not ok: failed', error: 'E_PROCESS_CRASH', retrying: [null, null] },
    'sigterm-tool': {
      error: 'E_PROCESS_CRASH',
      tools: ["command_execution /bin/bash -lc 'timeout 120 tail -f /dev/null'"],
    },
    'sigint-model': { error: 'E_PROCESS_CRASH' },
    hang: { error: 'E_PROCESS_CRASH' },
    'stdout-closed': { error: 'E_PROCESS_CRASH' },
  },
  gemini: {
    text: { end: 'ok: success', used: '1000+50', said: HELLO },
    write: { end: 'ok: success', used: '2000+100', tools: ['write_file hello.txt'], said: WROTE },
    'write-denied': { end: 'ok: success', used: '1000+50' },
    shell: {
      end: 'ok: success',
      used: '2000+100',
      tools: ['run_shell_command echo shell-ok > shell.txt && cat shell.txt'],
    },
    'outside-auto': { end: 'ok: success', used: '2000+100', denied: 1, tools: ['write_file ../mock-outside/evil.txt'] },
    'http-401': { end: 'not ok: error', error: 'E_CREDENTIALS', used: '0+0' },
    'http-429-maxattempts2': { end: 'not ok: error', error: 'E_PROCESS_CRASH', used: '0+0', retrying: [429] },
    'http-500-maxattempts2': { end: 'not ok: error', error: 'E_PROCESS_CRASH', used: '0+0', retrying: [500] },
    'http-500-once': { end: 'ok: success', used: '1000+50', retrying: [500], said: 'Recovered after one 500.' },
    // Nothing in its stream tells a cut answer from a whole one.
    truncated: { end: 'ok: success', used: '1000+50', said: 'This was cut' },
    // It calls this a success.
    loop: { end: 'not ok: stopped', error: 'E_UNKNOWN', used: '0+0', said: 'x'.repeat(48) },
    drop: { end: 'not ok: error', error: 'E_PROCESS_CRASH', used: '0+0', said: 'Starting and' },
    stall: { error: 'E_PROCESS_CRASH', said: 'Starting' },
    // Exit code 0 on SIGTERM, and nothing was done.
    'sigterm-model-group': { error: 'E_PROCESS_CRASH' },
  },
  opencode: {
    text: { end: 'ok: stop', used: '1000+50 $0.0011', said: HELLO },
    write: { end: 'ok: stop', used: '2000+100 $0.0022', tools: ['write hello.txt'], said: WROTE },
    // Refused, it stops with exit code 0 in the middle of its turn.
    'write-denied': {
      error: 'E_PERMISSION_DENIED',
      used: '1000+50 $0.0011',
      denied: 1,
      tools: ['write hello.txt'],
      said: 'I will write the file.',
    },
    shell: {
      end: 'ok: stop',
      used: '2000+100 $0.0022',
      tools: ['bash echo shell-ok > shell.txt && cat shell.txt'],
      said: 'Done. Output: shell-ok',
    },
    'outside-auto': {
      error: 'E_PERMISSION_DENIED',
      used: '1000+50 $0.0011',
      denied: 1,
      tools: ['write ../mock-outside/evil.txt'],
    },
    'http-401': { error: 'E_CREDENTIALS' },
    'http-429': { error: 'E_PROCESS_CRASH' },
    'http-500': { error: 'E_PROCESS_CRASH' },
    truncated: {
      end: 'not ok: max_tokens',
      error: 'E_CONTEXT_OVERFLOW',
      used: '1000+50 $0.0011',
      said: 'This was cut',
    },
    'stall-own-timeout': { error: 'E_PROCESS_CRASH' },
    'hang-own-timeout': { error: 'E_PROCESS_CRASH' },
    'sigterm-tool': { error: 'E_PROCESS_CRASH' },
  },
};

for (const [kind, stories] of Object.entries(STORIES) as [AgentKind, Record<string, Story>][]) {
  describe(kind, () => {
    test('every capture has a story, and every story a capture', () => {
      const files = readdirSync(join(CAPTURES, kind)).filter((file) => file.endsWith('.jsonl'));
      expect(files.map((file) => file.replace('.jsonl', '')).sort()).toEqual(Object.keys(stories).sort());
      expect(Object.keys(exitsOf(kind)).sort()).toEqual(Object.keys(stories).sort());
    });

    test.each(Object.entries(stories))('%s', (name, story) => {
      // What it says in full is asserted where it is short.
      const { said, ...rest } = storyOf(signsOfCapture(kind, name));
      expect(story.said === undefined ? rest : { ...rest, said }).toEqual(story);
    });

    test('the conversation can be gone on with', () => {
      expect(ofKind(signsOfCapture(kind, 'text'), 'conversation')).toHaveLength(1);
    });

    test('what passes by itself is not permanent; credentials and models are', () => {
      for (const name of Object.keys(stories).filter((story) => /^http-/.test(story))) {
        const code = stories[name]?.error;
        if (code !== undefined) expect([name, isPermanent(code)]).toEqual([name, /40[14]/.test(name)]);
      }
    });

    test('cut at every byte it says the same', () => {
      const whole = captureOf(kind, 'write');
      const exit = { code: 0, signal: null };
      const expected = signsOf(kind, { stdout: [whole], exit }).filter((sign) => sign.kind !== 'alive');
      for (let cut = 1; cut < whole.length; cut++) {
        const signs = signsOf(kind, { stdout: [whole.subarray(0, cut), whole.subarray(cut)], exit });
        expect(signs.filter((sign) => sign.kind !== 'alive')).toEqual(expected);
      }
      const bytes = [...whole].map((byte) => Uint8Array.of(byte));
      expect(signsOf(kind, { stdout: bytes, exit }).filter((sign) => sign.kind !== 'alive')).toEqual(expected);
    });

    test('a turn that stops at any line before the last has not ended', () => {
      const lines = captureOf(kind, 'text').toString('utf8').trimEnd().split('\n');
      for (let kept = 0; kept < lines.length; kept++) {
        const stdout = [Buffer.from(lines.slice(0, kept).join('\n'))];
        for (const exit of [
          { code: 0, signal: null },
          { code: null, signal: 'SIGKILL' },
        ]) {
          const signs = signsOf(kind, { stdout, exit });
          expect(ofKind(signs, 'end')).toEqual([]);
          expect(ofKind(signs, 'error')).toHaveLength(1);
        }
      }
    });

    test('garbage is a sign of life, and harms nothing that follows', () => {
      const garbage = [
        'Warning: something\n',
        '{"type":\n',
        '[]\nnull\n1\n"result"\n{}\n',
        '{"type":"result"',
        '\n{"type":7,"message":{"content":7},"part":[],"item":null}\n',
        '{"type":"assistant","message":{"content":[null,7,{"type":"text"},{"type":"tool_use","input":[]}]}}\n',
        '{"type":"item.started","item":{"type":"__proto__","changes":[null]}}\n{"type":"__proto__"}\n',
        '{"type":"step_finish","sessionID":4,"part":{"tokens":{"input":-1,"output":1e999}}}\n',
        '{"type":"tool_use","parameters":null,"part":{"state":null}}\n{"type":"error","error":null,"message":null}\n',
        '\u0000\u001b[31m\ufffd\n',
      ].map((text) => Buffer.from(text));
      const invalid = [Uint8Array.of(0xff, 0xfe, 10), Uint8Array.of(0xc3), Uint8Array.of(10)];
      for (const chunk of [...garbage, ...invalid]) {
        expect(signsOf(kind, { stdout: [chunk] }).length).toBeGreaterThan(0);
      }
      const noise = Buffer.from('Warning: something\n{"type":\n[]\n{}\n{"type":"unheard-of"}\n');
      const known = signsOf(kind, { stdout: [captureOf(kind, 'text')] });
      expect(storyOf(signsOf(kind, { stdout: [noise, captureOf(kind, 'text'), noise] }))).toEqual(storyOf(known));
    });

    test('a line without an end keeps no memory and no clock waiting', () => {
      const chunk = Buffer.alloc(1024 * 1024, 'x');
      const before = process.memoryUsage().arrayBuffers;
      let most = 0;
      const stdout = (function* (): Generator<Uint8Array> {
        yield Buffer.from('{"type":"');
        for (let i = 0; i < 100; i++) {
          most = Math.max(most, process.memoryUsage().arrayBuffers - before);
          yield chunk;
        }
        yield Buffer.from('"}\n');
        yield captureOf(kind, 'text');
      })();
      const signs = signsOf(kind, { stdout: stdout as unknown as Uint8Array[] });
      expect(ofKind(signs, 'alive').length).toBeGreaterThanOrEqual(100);
      expect(ofKind(signs, 'end').map(({ ok }) => ok)).toEqual([true]);
      expect(most).toBeLessThan(64 * 1024 * 1024);
    });
  });
}

test('codex counts a conversation; what it had used before is taken off', () => {
  const request = requestOf('codex', {
    resume: '01a1e217-089a-70f2-8b1f-07845808f8b9',
    spent: { tokensInput: 2000, tokensOutput: 100 },
  });
  expect(storyOf(signsOfCapture('codex', 'resumed', request)).used).toBe('1000+50');
});

test('claude counts a message once, however many lines it comes in, and knows more with every piece', () => {
  const usage = ofKind(signsOfCapture('claude', 'partial'), 'usage');
  expect(usage.map(({ tokensInput, tokensOutput, final }) => [tokensInput, tokensOutput, final])).toEqual([
    [1000, 0, false],
    [1000, 1, false],
    [1000, 50, false],
    [2000, 50, false],
    [2000, 51, false],
    [2000, 100, false],
    [2000, 100, true],
  ]);
});

test('the last words of standard error are in the message, bounded and without control characters', () => {
  const long = `${'noise '.repeat(2000)}\n\u001b[31mpanic:\u001b[0m out of\u0007 luck\n`;
  for (const kind of [...CLI_KINDS, 'command' as const]) {
    const signs = signsOf(kind, { stdout: [], stderr: [Buffer.from(long)], exit: { code: 101, signal: null } });
    const [error] = ofKind(signs, 'error');
    expect(error?.code).toBe('E_PROCESS_CRASH');
    expect(error?.message).toMatch(/ended with code 101; the last it said: panic: out of luck$/);
    expect(error?.message.length).toBeLessThan(2300);
  }
});

test('a signal is named', () => {
  const signs = signsOf('claude', { stdout: [], exit: { code: null, signal: 'SIGKILL' } });
  expect(ofKind(signs, 'error').map(({ message }) => message)).toEqual(['claude was ended by SIGKILL']);
});

describe('command', () => {
  test('all that it prints is text, characters whole', () => {
    const bytes = Buffer.from('héllo €uro 😀\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      const signs = signsOf('command', { stdout: [bytes.subarray(0, cut), bytes.subarray(cut)] });
      const text = ofKind(signs, 'text');
      expect(text.map((sign) => sign.text).join('')).toBe('héllo €uro 😀\n');
      expect(text.every((sign) => !sign.whole)).toBe(true);
      expect(ofKind(signs, 'error')).toEqual([]);
    }
  });

  test('a flood comes in bounded pieces', () => {
    const text = ofKind(signsOf('command', { stdout: [Buffer.from('😀'.repeat(100_000))] }), 'text');
    expect(text.map((sign) => sign.text).join('')).toBe('😀'.repeat(100_000));
    expect(Math.max(...text.map((sign) => sign.text.length))).toBeLessThanOrEqual(64 * 1024);
    expect(text.every((sign) => Buffer.from(sign.text).toString() === sign.text)).toBe(true);
  });
});
