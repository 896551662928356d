/** Secrets do not get into what is kept, whatever they stand in, and looking for them takes no longer than the text is long. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { redact, redactDeep } from '../../src/core/redact.ts';
import { cpuMs } from '../helpers/cpu.ts';

/** Put together here, so that no file of the project holds what looks like a key. */
const part = (text: string, count: number): string => text.repeat(count);
const OPENAI = `sk-${part('aB3', 8)}`;
const ANTHROPIC = `sk-ant-api03-${part('xY9_', 6)}`;
const GOOGLE = `AIza${part('Sy0-', 9)}`;
const GITHUB = `ghp_${part('aB3d', 9)}`;
const PEM = `-----BEGIN RSA PRIVATE KEY-----\n${part('MIIE\n', 9)}-----END RSA PRIVATE KEY-----`;

describe('what is a secret by its form', () => {
  test.each([
    OPENAI,
    ANTHROPIC,
    `sk-proj-${part('aB3', 8)}`,
    GOOGLE,
    GITHUB,
    GITHUB.replace('ghp', 'gho'),
    `github_pat_${part('11ABC_', 6)}`,
    `xoxb-${part('123-', 5)}abc`,
    `xoxp-${part('123-', 5)}abc`,
    `AKIA${part('ABCD', 4)}`,
    `eyJ${part('hbGci', 3)}.eyJ${part('zdWIi', 3)}.${part('sig_', 4)}`,
    PEM,
    PEM.replaceAll('RSA ', ''),
    PEM.replaceAll('\n', '\\n'),
  ])('%j', (secret) => {
    expect(redact(`before ${secret} after`)).toBe('before [redacted] after');
    expect(redact(secret)).toBe('[redacted]');
    expect(redact(`("${secret}")`)).toBe('("[redacted]")');
  });

  test('a private key that is cut off is gone to the end', () => {
    expect(redact(`x ${PEM.slice(0, 50)}`)).toBe('x [redacted]');
  });

  test('two of them, and what is between', () => {
    expect(redact(`${PEM} and ${PEM} and ${OPENAI}`)).toBe('[redacted] and [redacted] and [redacted]');
  });

  test('a public key and a certificate are none', () => {
    const text = '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----';
    expect(redact(text)).toBe(text);
  });
});

describe('what stands behind a telling name', () => {
  test.each([
    ['password=hunter2', 'password=[redacted]'],
    ['PASSWORD = hunter2 x', 'PASSWORD = [redacted] x'],
    ['DB_PASS=p DB_HOST=h', 'DB_PASS=[redacted] DB_HOST=h'],
    ['token: abc', 'token: [redacted]'],
    ['OPENAI_API_KEY=abc\nB=c', 'OPENAI_API_KEY=[redacted]\nB=c'],
    ['AWS_SECRET_ACCESS_KEY=a/b+c', 'AWS_SECRET_ACCESS_KEY=[redacted]'],
    ['export GH_TOKEN="a b" && x', 'export GH_TOKEN="[redacted]" && x'],
    ["api-key: 'a\"b'", "api-key: '[redacted]'"],
    ['{"password":"a\\"b","x":1}', '{"password":"[redacted]","x":1}'],
    ['{"password": 1234}', '{"password": [redacted]}'],
    ['{"githubToken" : "abc"}', '{"githubToken" : "[redacted]"}'],
    ['{"text":"{\\"apiKey\\":\\"abc\\",\\"y\\":2}"}', '{"text":"{\\"apiKey\\":\\"[redacted]\\",\\"y\\":2}"}'],
    ['https://h/p?access_token=abc&y=1', 'https://h/p?access_token=[redacted]&y=1'],
    ['Authorization: Basic dXNlcjpwYXNz\nHost: h', 'Authorization: [redacted]\nHost: h'],
    ['curl -H "Authorization: token abc" u', 'curl -H "Authorization: [redacted]" u'],
    ['password="never closed\nnext', 'password="[redacted]\nnext'],
  ])('%j', (text, clean) => {
    expect(redact(text)).toBe(clean);
  });

  test.each([
    ['Bearer abc.def-123', 'Bearer [redacted]'],
    ['authorization: bearer abcdefgh1', 'authorization: [redacted]'],
    ['https://user:pass@host/p', 'https://[redacted]@host/p'],
    ['postgres://u:p@ss@h:5432/db and ssh://git@h', 'postgres://[redacted]@h:5432/db and ssh://git@h'],
    ['https://:only@h', 'https://[redacted]@h'],
  ])('%j', (text, clean) => {
    expect(redact(text)).toBe(clean);
  });

  test.each([
    'tokens_input: 1250, max_tokens=4000, token: 17',
    '{"tokensInput":12500,"token":null}',
    'the secretary met the tokenizer; task-list-of-all-the-things, disk-encryption-is-on-here',
    'bearer authentication is used',
    'token_env: GH',
    'see https://example.org:8080/a@b and mail@example.org',
    'password=',
    'password: ""',
    'TASK-2026-11-15-001-r1',
    '',
  ])('left as it is: %j', (text) => {
    expect(redact(text)).toBe(text);
  });
});

describe('in a value', () => {
  test('every text of it, and what stands under a telling name', () => {
    const value = {
      a: [`x ${OPENAI}`, 1, null],
      password: 'p',
      pin: { secret: 7, token: 7, tokensInput: 7, apiKey: '' },
      [GITHUB]: true,
    };
    expect(redactDeep(value)).toEqual({
      a: ['x [redacted]', 1, null],
      password: '[redacted]',
      pin: { secret: '[redacted]', token: 7, tokensInput: 7, apiKey: '' },
      '[redacted]': true,
    });
  });

  test('what has no secret is the very same', () => {
    const value = { a: [1, { b: 'c' }], d: null };
    expect(redactDeep(value)).toBe(value);
  });

  test('a key called __proto__ stays one', () => {
    const value = JSON.parse(`{"__proto__": {"x": "${OPENAI}"}}`);
    expect(JSON.stringify(redactDeep(value))).toBe('{"__proto__":{"x":"[redacted]"}}');
  });
});

test('twice is once, whatever the text', () => {
  const word = fc.constantFrom(
    ...[
      'password',
      'token',
      'api_key',
      'authorization',
      'Bearer',
      '=',
      ':',
      '"',
      "'",
      '\\',
      ' ',
      '\n',
      '://',
      '@',
      'a:b',
    ],
    ...['sk-', OPENAI, 'eyJ', '.', '-----BEGIN ', 'PRIVATE KEY-----', '-----END ', PEM, 'x1', '[redacted]', ',', '}'],
  );
  fc.assert(
    fc.property(fc.array(word, { maxLength: 12 }), (words) => {
      const once = redact(words.join(''));
      expect(redact(once)).toBe(once);
    }),
    { seed: 7, numRuns: 3000 },
  );
});

test('a known secret never survives in JSON, however often it is put into a text', () => {
  const secret = fc.stringMatching(/^Zq[A-Za-z0-9"\\ ]{0,12}Q$/);
  fc.assert(
    fc.property(secret, fc.nat(3), (value, times) => {
      let text: string = JSON.stringify({ user: 'u', password: value, after: 1 });
      for (let i = 0; i < times; i++) text = JSON.stringify({ text });
      const clean = redact(text);
      expect(clean).not.toContain('Zq');
      let back: unknown = JSON.parse(clean);
      for (let i = 0; i < times; i++) back = JSON.parse((back as { text: string }).text);
      expect(back).toEqual({ user: 'u', password: '[redacted]', after: 1 });
    }),
    { seed: 8, numRuns: 500 },
  );
});

describe('a megabyte of anything is looked at in no time', () => {
  const MEGABYTE = 1_048_576;
  test.each([
    ...[
      'a',
      ' ',
      '-',
      'eyJ',
      'eyJ-',
      'eyJaaaaaaaa.',
      'sk-',
      'sk-a ',
      'Bearer ',
      'bearer',
      'password',
      'password=',
      'token"',
    ],
    ...[
      'password="',
      "token='",
      'password=\\"',
      '\\',
      '://',
      '://a:',
      '://a@',
      'a:b@',
      '-----BEGIN ',
      '-----END ',
      '_pass',
    ],
    ...[
      '-----BEGIN PRIVATE KEY-----',
      'secret: ',
      'api_',
      'api-key',
      'AKIA',
      'authorization: ',
      '"password":"\\',
      'xoxb-',
      '\n',
    ],
  ])('%j', (piece) => {
    const text = piece.repeat(Math.ceil(MEGABYTE / piece.length));
    // Some tens of milliseconds are usual; what is not linear takes minutes.
    expect(cpuMs(() => redact(text))).toBeLessThan(3000);
  });
});
