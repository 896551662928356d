/** Nothing in a message can hurt: no throw, time in proportion to the input, memory bounded. */
import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createDetector, detect } from '../../src/protocol/detect.ts';
import { anyText } from '../helpers/arbitrary.ts';
import { codes, only } from '../helpers/found.ts';

const FRAGMENTS = [
  '[AOP:START]',
  '[AOP:SUMMARY]',
  '[AOP:STATUS] success',
  '[AOP:',
  '[GRAPH_UPDATE]',
  '[/GRAPH_UPDATE]',
  'OUTPUT:',
  '  _meta: {',
  '#STATE:save:k:',
  '#X',
  '{"aop_version":"2.0.2-C",',
  '"message_type":"TASK"',
  '}',
  '{',
  '[',
  ']',
  'AOF/1 {',
  '{"protocol":"aof"}',
  '```',
  '~~~~',
  'task: x',
  '"',
  '\\',
  '\x1b[',
  '\x1b]',
  '\0',
  '&a',
  '*a',
  '- ',
  ': ',
  '? ',
  '|',
  '>',
  '\ufeff',
  '\ud800',
  '\u2028',
  '   ',
  '\t',
];
const hostile = fc
  .array(fc.oneof(fc.constantFrom(...FRAGMENTS), anyText, fc.constantFrom('\n', '\r\n', '\r', ' ')), { maxLength: 60 })
  .map((parts) => parts.join(''));

test('no text makes it throw, and in pieces it finds the same', () => {
  fc.assert(
    fc.property(hostile, fc.array(fc.nat(20), { minLength: 1, maxLength: 10 }), (text, sizes) => {
      const whole = detect(text);
      expect(whole.length).toBeGreaterThan(0);
      JSON.stringify(whole);
      const detector = createDetector();
      const found = [];
      for (let i = 0, turn = 0; i < text.length; turn++) {
        const size = (sizes[turn % sizes.length] ?? 0) + 1;
        found.push(...detector.feed(text.slice(i, i + size)));
        i += size;
      }
      found.push(...detector.end());
      expect(found.sort((a, b) => a.line - b.line)).toEqual(whole);
    }),
    { numRuns: 3000 },
  );
});

test('no bytes make it throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => void JSON.stringify(detect(bytes))),
    { numRuns: 1000 },
  );
});

/** Not timed: at this size anything that costs the square of its input would not end before the test does. */
describe('half a megabyte of the worst are read through', () => {
  test.each([
    ['open braces', '{\n'],
    ['open brackets on a line', '['],
    ['open objects', '{"a":'],
    ['open objects in lines', '{"a":\n'],
    ['quotes', '"\\'],
    ['objects that break', '{"a":1,\n'],
    ['arrays that break', '[1,\n'],
    ['empty summaries', '[AOP:SUMMARY]\n'],
    ['bold markers', '**[AOP:'],
    ['open fences', '```\n'],
    ['open blocks', '[GRAPH_UPDATE]\n'],
    ['open envelopes', 'OUTPUT:\n  a\n'],
    ['commands', '#STATE:save:a:b:brief\n'],
    ['modifiers', ':brief:limit=5:persistent'],
    ['unknown commands', '#A\n'],
    ['escapes', '\x1b['],
    ['operating system commands', '\x1b]0;'],
    ['labels', 'task:\n'],
    ['prefixes', 'AOF/1 {\n'],
    ['carriage returns', '\r'],
    ['blanks', ' '],
    ['metrics', 'a: 1, '],
    ['words', 'a '],
    ['objects', '{} '],
    ['messages', '{"protocol":"aof"} '],
    ['headings', 'OUTPUT:\n'],
    ['envelopes in flow', 'OUTPUT: {\n'],
    ['inner objects', '{"a":\n{"b":[\n{}\n,'],
  ])('%s', (_, unit) => {
    // A text of hundreds of thousands of broken messages takes its time too; a tenth of it shows the same.
    const size = /^OUTPUT|^AOF|protocol/.test(unit) ? 50_000 : 500_000;
    const worst = unit.repeat(size / unit.length);
    expect(detect(worst).length).toBeGreaterThan(0);
    expect(detect(`#STATE:save:a:${worst}`).length).toBeGreaterThan(0);
    expect(detect(`[AOP:METRICS] ${worst}\n[AOP:STATUS] ${worst}`).length).toBeGreaterThan(0);
  });

  test.each([
    ['keys', (i: number) => `k${i}: 1`, '\n'],
    ['keys in flow', (i: number) => `k${i}: 1`, ', '],
    ['anchors', (i: number) => `k${i}: &a${i} 1`, '\n'],
    ['commas', () => ',', ''],
    ['brackets', () => '['.repeat(100) + ']'.repeat(100), '\n'],
    ['questions', () => '? a', '\n'],
    ['quotes', () => '"', ''],
    ['comments', () => '# x', '\n'],
    ['keys that are mappings', () => `- ${'{'.repeat(250)}a${'}'.repeat(250)}`, '\n'],
    ['keys of keys', () => `- ${'? '.repeat(60)}a`, '\n'],
    ['tags', () => '!a ', ''],
  ])('YAML of many %s', (_, unit, join) => {
    let body = '';
    for (let i = 0; body.length < 500_000; i++) body += `${unit(i)}${join}`;
    const yaml = join === '\n' ? body : `a: {${body}}`;
    expect(only(`[GRAPH_UPDATE]\n${yaml}\n[/GRAPH_UPDATE]`).kind).toBe('GRAPH_UPDATE');
  });
});

describe('what is too much is a problem with a code', () => {
  const open = '{"aop_version":"2.0.2-C","message_type":"TASK","x":';

  test('deep nesting', () => {
    expect(codes(only(`${open}${'['.repeat(50_000)}${']'.repeat(50_000)}}`))).toEqual(['error E_SCHEMA_VALIDATION ']);
    const yaml = `[GRAPH_UPDATE]\ntype: add_node\ndata: ${'['.repeat(5000)}\n[/GRAPH_UPDATE]`;
    expect(codes(only(yaml))).toEqual(['error E_PARSE_FAILURE ']);
  });

  test('a billion laughs', () => {
    const rows = Array.from(
      { length: 9 },
      (_, i) =>
        `k${i}: &a${i} [${Array(9)
          .fill(i === 0 ? 'lol' : `*a${i - 1}`)
          .join(',')}]`,
    );
    const found = only(`[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\ndata: {}\n${rows.join('\n')}\n[/GRAPH_UPDATE]`);
    expect(codes(found)).toEqual(['error E_PARSE_FAILURE ']);
  });

  test('a mapping that contains itself', () => {
    expect(codes(only('[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\ndata: &a {b: *a}\n[/GRAPH_UPDATE]'))).toEqual([
      'error E_PARSE_FAILURE ',
    ]);
  });

  test('megabytes of YAML', () => {
    const node = `[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\ndata:\n${'  - x\n'.repeat(300_000)}[/GRAPH_UPDATE]`;
    expect(codes(only(node))).toEqual(['error E_CONTEXT_OVERFLOW ']);
  });

  test('more problems than can be listed', () => {
    const many = (n: number): string => `[${'{},'.repeat(n)}{}]`;
    const event = `{"aop_version":"2.0.2-C","message_type":"EVENT","event":"ROLLBACK_INITIATED","artifacts_rolled_back":${many(200_000)}}`;
    const found = detect(`#STATE:list\n${event}\n#STATE:list`);
    expect(found.map((m) => [m.kind, m.valid])).toEqual([
      ['STATE', true],
      ['EVENT', false],
      ['STATE', true],
    ]);
    expect(only(event.replace(many(200_000), many(1000))).problems.length).toBeLessThan(200);
    expect(
      only(
        `[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\nlineage:\n  created_from_nodes: [${'1,'.repeat(150_000)}]\n[/GRAPH_UPDATE]`,
      ).valid,
    ).toBe(false);
  });

  test('more than 10 MB of JSON, on one line or many, prefixed or not', () => {
    const pad = ' '.repeat(11 * 1024 * 1024);
    const lines = `${' '.repeat(1000)}\n`.repeat(11 * 1024);
    for (const space of [pad, lines]) {
      expect(codes(only(`AOF/1 {${space}"protocol":"aof"}`))).toEqual(['error E_CONTEXT_OVERFLOW ']);
      expect(codes(only(`{"protocol":"aof",${space}"version":1}`))).toEqual(['error E_CONTEXT_OVERFLOW ']);
      expect(codes(only(`{"aop_version":"2.0.2-C",${space}"message_type":"TASK"}\nwords`))).toEqual([
        'error E_CONTEXT_OVERFLOW ',
      ]);
    }
  });

  test('more than 10 MB of JSON that never ends', () => {
    expect(codes(only(`{"protocol":"aof",\n${`${' '.repeat(1000)}\n`.repeat(11 * 1024)}`))).toEqual([
      'error E_CONTEXT_OVERFLOW ',
    ]);
  });

  test('__proto__ changes nothing', () => {
    detect('{"protocol":"aof","__proto__":{"polluted":1},"payload":{"__proto__":{"polluted":1}}}');
    detect('[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\n__proto__: {polluted: 1}\n[/GRAPH_UPDATE]');
    detect('[AOP:METRICS] __proto__: 1, constructor: 2\n[AOP:STATUS] success\n[AOP:SUMMARY] x');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });
});

test('a stream of 200 MB is read by a process that has 40 MB of heap', () => {
  const code = `
    import { createDetector } from 'baton-run/protocol';
    const detector = createDetector();
    const chunk = Buffer.from('a line of an agent that talks a lot, and says nothing\\n'.repeat(1000)
      + '{"not": "ours"}\\n{"open":\\n[AOP:SUMMARY]\\n' + 'more\\n'.repeat(1000) + '[GRAPH_UPDATE]\\n' + 'x\\n'.repeat(100) + '[/GRAPH_UPDATE]\\n' + '#NOPE\\n');
    for (let bytes = 0; bytes < 200e6; bytes += chunk.length) detector.feed(chunk);
    detector.feed('[AOP:SUMMARY] at last\\n[AOP:STATUS] success');
    console.log(detector.end().map((m) => m.kind + ' ' + m.value.summary).join());`;
  const args = ['--max-old-space-size=40', '--input-type=module', '-e', code];
  const out = execFileSync(process.execPath, args, { cwd: new URL('../..', import.meta.url), encoding: 'utf8' });
  expect(out.trim()).toBe('report at last');
});
