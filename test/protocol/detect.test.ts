/** Where messages are found, and where they are not. */
import { describe, expect, test } from 'vitest';
import { createDetector, detect } from '../../src/protocol/detect.ts';
import { example, exampleJson } from '../helpers/documents.ts';
import { codes, kinds, only } from '../helpers/found.ts';

const TASK = JSON.stringify(exampleJson('aop2-task-minimal.json'));
const PRETTY = example('aop2-task-minimal.json');
const AOF = JSON.stringify({
  protocol: 'aof',
  version: 1,
  type: 'status.update',
  taskId: 'TASK-2026-02-09-057',
  fromAgent: 'a',
  sentAt: '2026-02-09T21:00:00Z',
  payload: { progress: 'half' },
});
const REPORT = '[AOP:SUMMARY] done\n[AOP:STATUS] success';

describe('JSON', () => {
  test('is found at a line start, on one line or many, in fences and between prose', () => {
    expect(kinds(`Here:\n${TASK}\nand\n\n  ${PRETTY}\n\`\`\`json\n${AOF}\n\`\`\``)).toEqual([
      'aop2 TASK',
      'aop2 TASK',
      'aof status.update',
    ]);
  });

  test('is not found within a sentence, within other JSON or in an array', () => {
    expect(kinds(`I sent ${TASK} to it.`)).toEqual(['unstructured null']);
    expect(kinds(`{"wrapped":\n${TASK}\n}`)).toEqual(['unstructured null']);
    expect(kinds(`[\n${TASK},\n${TASK}\n]`)).toEqual(['unstructured null']);
    expect(kinds(`[1] ${TASK}`)).toEqual(['unstructured null']);
  });

  test('several values on a line are several messages, words behind one are words', () => {
    expect(kinds(`{"a":1} ${AOF}`)).toEqual(['aof status.update']);
    expect(kinds(`${AOF} {"a":1} ${AOF}`)).toEqual(['aof status.update', 'aof status.update']);
    expect(kinds(`{\n"a":1} ${AOF} words`)).toEqual(['aof status.update']);
    expect(detect(`${AOF} `.repeat(5000))).toHaveLength(5000);
    expect(kinds(`${AOF} ${AOF}\n${TASK} done`)).toEqual(['aof status.update', 'aof status.update', 'aop2 TASK']);
  });

  test('what was cut off does not take what follows with it', () => {
    const cut = PRETTY.slice(0, 300);
    expect(kinds(`${cut}\n${REPORT}`)).toEqual(['aop1 report']);
    expect(kinds(`${cut}\n#STATE:list`)).toEqual(['command STATE']);
    expect(kinds(`{"a": [\n${AOF}\nwords`)).toEqual(['aof status.update']);
    expect(kinds(`{\n${PRETTY}`)).toEqual(['aop2 TASK']);
    expect(kinds(`{"a":\n${PRETTY}`)).toEqual(['aop2 TASK']);
    expect(kinds(`[\n${PRETTY.trim()} words\n`)).toEqual(['aop2 TASK']);
    expect(kinds(`[1,\n{"b":\n${PRETTY},\n${AOF}\n`)).toEqual(['aop2 TASK', 'aof status.update']);
    expect(kinds(`[\n{"b":\n${PRETTY}\n},\n`)).toEqual(['unstructured null']);
  });

  test('code is not JSON', () => {
    expect(kinds(`{\n  int x = 1;\n}\n[ -f x ] && echo\n${REPORT}`)).toEqual(['aop1 report']);
  });

  test('of two equal keys the last counts', () => {
    const twice = TASK.replace('"task_id":"TASK-001"', '"task_id":"A","task_id":"B"');
    expect(only(twice).value).toMatchObject({ task: { task_id: 'B' } });
  });

  test('its keys may be escaped', () => {
    expect(kinds(TASK.replace('aop_version', '\\u0061op_version'))).toEqual(['aop2 TASK']);
    expect(kinds(`words\n${AOF.replace('"protocol"', '"pr\\u006ftocol"')}`)).toEqual(['aof status.update']);
  });

  test('a backslash before a quote does not end a string', () => {
    const tricky = PRETTY.replace('Read and', 'A \\"brace\\\\\\" } and');
    expect(only(`${tricky}\nwords`)).toMatchObject({ kind: 'TASK', valid: true });
  });
});

describe('AOF/1', () => {
  test('a text that begins with it is ours, even if it is broken', () => {
    expect(codes(only('AOF/1 hello'))).toEqual(['error E_PARSE_FAILURE ']);
    expect(codes(only('AOF/1 {"protocol": "aof", '))).toEqual(['error E_PARSE_FAILURE ']);
    expect(only('AOF/1 {"version": 1}')).toMatchObject({ dialect: 'aof', valid: false });
  });

  test('its JSON may follow on the next line', () => {
    expect(kinds(`AOF/1 \n${AOF}`)).toEqual(['aof status.update']);
    expect(kinds(`AOF/1\n\n{"version": 1}`)).toEqual(['aof null']);
    expect(kinds(`words\nAOF/1\nwords\n${AOF}`)).toEqual(['aof status.update']);
    expect(kinds('AOF/1')).toEqual(['aof null']);
  });

  test('a message of just 10 MB has room for the prefix', () => {
    const fill = (bytes: number): string => AOF.replace('half', 'x'.repeat(bytes - AOF.length + 4));
    expect(codes(only(`AOF/1 ${fill(10 * 1024 * 1024)}`))).toEqual(['error E_SCHEMA_VALIDATION /payload/progress']);
    expect(codes(only(`AOF/1 ${fill(10 * 1024 * 1024 + 1)}`))).toEqual(['error E_CONTEXT_OVERFLOW ']);
  });

  test('prose that mentions it is not', () => {
    expect(kinds('We speak\nAOF/1 in this house')).toEqual(['unstructured null']);
  });

  test('a broken one does not take what follows with it', () => {
    expect(kinds(`AOF/1 {"protocol": "aof",\n${REPORT}\nAOF/1 ${AOF}`)).toEqual([
      'aof null',
      'aop1 report',
      'aof status.update',
    ]);
  });
});

describe('OUTPUT', () => {
  test('with nothing under it is a heading', () => {
    expect(kinds('OUTPUT:\n3 files compiled')).toEqual(['unstructured null']);
    expect(kinds('OUTPUT: 3 files')).toEqual(['unstructured null']);
  });

  test('with words under it is a heading too, and the messages among them are found', () => {
    expect(kinds(`OUTPUT:\n    3 passed\n\n${REPORT}`)).toEqual(['aop1 report']);
    expect(kinds('OUTPUT:\n  [AOP:SUMMARY] did it\n  [AOP:STATUS] success')).toEqual(['aop1 report']);
    expect(kinds(`OUTPUT:\n  ${AOF}`)).toEqual(['aof status.update']);
  });

  test.each(['  That is all.', ' 1. one', '# Next steps\n\n  - one'])(
    'ends before words that are indented: %j',
    (words) => {
      expect(only(`${example('output-bug-brief.yaml')}\n${words}\n`)).toMatchObject({ kind: 'OUTPUT', valid: true });
    },
  );

  test('may be indented, have comments at the margin, and blank lines', () => {
    const text =
      '  OUTPUT:\n    _meta:\n\n# a comment\n      output_type: brief\n      created_by: b\n      confidence: 1\n    _handoff: {next_stage: user, graph_node: n, required_fields: []}\n  after';
    expect(only(text)).toMatchObject({ kind: 'OUTPUT', valid: true });
  });

  test('in flow style, over several lines', () => {
    const text =
      'OUTPUT: {\n  _meta: {output_type: brief, created_by: "b}", confidence: 1},\n  _handoff: {next_stage: user, graph_node: n, required_fields: []}\n}\nwords';
    expect(only(text)).toMatchObject({ kind: 'OUTPUT', valid: true });
  });

  test('in flow style', () => {
    expect(
      only(
        'OUTPUT: {_meta: {output_type: brief, created_by: b, confidence: 1}, _handoff: {next_stage: user, graph_node: n, required_fields: []}}',
      ).valid,
    ).toBe(true);
  });

  test('ends before a command', () => {
    expect(kinds(`${example('output-bug-brief.yaml')}#STATE:list`)).toEqual(['output OUTPUT', 'command STATE']);
  });
});

describe('GRAPH_UPDATE', () => {
  test('that was never closed does not take what follows with it', () => {
    const open = example('output-bug-node.yaml').replace('[/GRAPH_UPDATE]', '');
    expect(kinds(`${open}${example('output-bug-brief.yaml')}\n${REPORT}`)).toEqual([
      'output GRAPH_UPDATE',
      'output OUTPUT',
      'aop1 report',
    ]);
    expect(kinds(`\`\`\`\n${open}\`\`\`\n#STATE:list`)).toEqual(['output GRAPH_UPDATE', 'command STATE']);
    expect(kinds(`${open}\nwords\n${AOF}\n${PRETTY}\n${open}`)).toEqual([
      'output GRAPH_UPDATE',
      'aof status.update',
      'aop2 TASK',
      'output GRAPH_UPDATE',
    ]);
    expect(kinds(`${open}\n#STATE:list`)).toEqual(['output GRAPH_UPDATE', 'command STATE']);
    expect(kinds(`${open}\nAOF/1 ${AOF}`)).toEqual(['output GRAPH_UPDATE', 'aof status.update']);
  });

  test('may be JSON, may have comments that look like commands, and may be indented as a whole', () => {
    const value = { type: 'update_node', node_id: 'bug_a_20260301_100000' };
    const blocks = [
      JSON.stringify(value, null, 2),
      'type: update_node\n#STATE:list\nnode_id: bug_a_20260301_100000',
      '  type: update_node\n  node_id: bug_a_20260301_100000\n  [/GRAPH_UPDATE]',
    ];
    for (const block of blocks)
      expect(
        only(`[GRAPH_UPDATE]\n${block}\n[/GRAPH_UPDATE]`.replace(/(\n +\[\/GRAPH_UPDATE\])\n.*$/, '$1')).value,
      ).toEqual(value);
    expect(
      only('  [GRAPH_UPDATE]\ntype: update_node\nnode_id: bug_a_20260301_100000\ndata:\n  a: {b: 1}\n  [/GRAPH_UPDATE]')
        .value,
    ).toMatchObject({ data: { a: { b: 1 } } });
  });

  test('keeps as data what is indented, a closing marker too', () => {
    const node =
      '[GRAPH_UPDATE]\ntype: update_node\nnode_id: a\ndata:\n  sample: |\n    [GRAPH_UPDATE]\n    [/GRAPH_UPDATE]\n    {"protocol":"aof"}\n[/GRAPH_UPDATE]';
    expect(only(node).value).toMatchObject({
      data: { sample: '[GRAPH_UPDATE]\n[/GRAPH_UPDATE]\n{"protocol":"aof"}\n' },
    });
  });

  test('a mention of it is not one', () => {
    expect(kinds('[GRAPH_UPDATE] is how it is done')).toEqual(['unstructured null']);
  });
});

describe('commands', () => {
  test('in a text of nothing else, an unknown name is an error; with anything else it is text', () => {
    expect(kinds('#STATE:list\n\n#FROB:x')).toEqual(['command STATE', 'command FROB']);
    expect(kinds('#STATE:list\n#FROB:x\nwords')).toEqual(['command STATE']);
    expect(kinds(`#FROB:x\n${REPORT}`)).toEqual(['aop1 report']);
    expect(kinds(`#FROB:x\n${AOF}`)).toEqual(['aof status.update']);
  });

  test('all the unknown ones are listed', () => {
    expect(kinds('#A\n#B\n#C:1\n#D\n')).toEqual(['command A', 'command B', 'command C', 'command D']);
  });

  test('in a summary they are listed, and part of the summary', () => {
    const [report, command] = detect('[AOP:STATUS] success\n[AOP:SUMMARY]\nuse\n#STATE:list\nto see');
    expect(report?.value).toMatchObject({ summary: 'use\n#STATE:list\nto see' });
    expect(command?.kind).toBe('STATE');
  });

  test('the token counter is asked only where the limit could be passed', () => {
    const asked: string[] = [];
    const countTokens = (text: string): number => asked.push(text) * 100;
    detect('#STATE:save:a:short\n#STATE:load:b', { countTokens });
    expect(asked).toEqual([]);
    const [long] = detect(`#STATE:save:a:${'long '.repeat(10)}`, { countTokens });
    expect([asked.length, long?.valid]).toEqual([1, false]);
  });
});

test('messages come in the order of the text, each with its line', () => {
  const text = `${REPORT}\n\n#STATE:list\n${AOF}\n\n${PRETTY}`;
  expect(detect(text).map((m) => [m.line, m.dialect])).toEqual([
    [1, 'aop1'],
    [4, 'command'],
    [5, 'aof'],
    [7, 'aop2'],
  ]);
});

test('bytes that are not UTF-8 are replaced, and the message says so', () => {
  const bytes = Buffer.concat([
    Buffer.from('[AOP:SUMMARY] caf'),
    Buffer.from([0xe9]),
    Buffer.from('\n[AOP:STATUS] success\n'),
  ]);
  const [found] = detect(bytes);
  expect(found).toMatchObject({ valid: true, value: { summary: 'caf\ufffd' } });
  expect(found?.problems.map((p) => p.code)).toContain('E_INVALID_UTF8');
});

describe('in pieces', () => {
  const text = `words\r\n${PRETTY.replaceAll('\n', '\r\n')}\n${example('output-uncertainty.yaml')}\nÄ🙂\r${REPORT}\n{"a":\n  1}\n#STATE:list\nOUTPUT:\n`;
  const whole = detect(text);

  test('finds what it finds in the whole', () => {
    expect(whole.map((m) => m.kind)).toEqual(['TASK', 'GRAPH_UPDATE', 'OUTPUT', 'report', 'STATE']);
    const bytes = Buffer.from(text);
    for (const size of [1, 2, 3, 7, 64, 1000]) {
      for (const source of [text, bytes]) {
        const detector = createDetector();
        const found = [];
        for (let i = 0; i < source.length; i += size) found.push(...detector.feed(source.slice(i, i + size)));
        found.push(...detector.end());
        expect(found.sort((a, b) => a.line - b.line)).toEqual(whole);
      }
    }
  });

  test.each([
    ['LF', '\n'],
    ['CRLF', '\r\n'],
    ['CR', '\r'],
  ])('with %s, a byte order mark and no last line end', (_, end) => {
    const lines = `\ufeff${REPORT}\n${PRETTY.trim()}`.replaceAll('\n', end);
    expect(detect(lines).map((m) => [m.kind, m.valid])).toEqual([
      ['report', true],
      ['TASK', true],
    ]);
  });

  test('counts the bytes of line ends as received', () => {
    const pretty = JSON.stringify(
      { ...exampleJson('aop2-task-minimal.json'), extensions: { x_pad: ['a', 'b'] } },
      null,
      1,
    );
    const padded = (bytes: number): string => {
      const lines = pretty.replaceAll('\n', '\r\n');
      return lines.replace('"a"', `"${'a'.repeat(bytes - Buffer.byteLength(lines) + 1)}"`);
    };
    for (const [bytes, valid] of [
      [204_800, true],
      [204_801, false],
    ] as const) {
      const text = `words\r\n${padded(bytes)}`;
      expect(Buffer.byteLength(padded(bytes))).toBe(bytes);
      expect(detect(text).map((m) => m.valid)).toEqual([valid]);
      expect(detect(padded(bytes)).map((m) => m.valid)).toEqual([valid]);
    }
  });

  test.each(['\r\n', '\r'])('with %j, the examples of the documents are what they are with line feeds', (end) => {
    for (const name of [
      'aop1-search.txt',
      'aop1-prompt.txt',
      'aop2-response.json',
      'output-bug-node.yaml',
      'output-uncertainty.yaml',
      'output-approval-gate.yaml',
    ]) {
      expect(detect(example(name).replaceAll('\n', end))).toEqual(detect(example(name)));
      expect(detect(`words${end}${example(name).trim().replaceAll('\n', end)}`).map((m) => m.value)).toEqual(
        detect(example(name)).map((m) => m.value),
      );
    }
  });

  test('a message is given as soon as it is complete', () => {
    const detector = createDetector();
    expect(detector.feed(`${AOF.slice(0, 50)}`)).toEqual([]);
    expect(detector.feed(`${AOF.slice(50)}\n`).map((m) => m.kind)).toEqual(['status.update']);
    expect(detector.end()).toEqual([]);
  });
});

test('a line longer than any message does not take the next one with it', () => {
  const detector = createDetector();
  for (let i = 0; i < 5; i++) expect(detector.feed('x'.repeat(4 * 1024 * 1024))).toEqual([]);
  expect(detector.feed('\n#STATE:list\n').map((m) => [m.kind, m.line])).toEqual([['STATE', 2]]);
});

describe('a v1 prompt', () => {
  test.each(['task', 'objective', 'agent', 'executor', 'context', 'requirements'])('is made by %s: alone', (label) => {
    expect(kinds(`words\n${label}: x\nwords`)).toEqual(['v1 prompt']);
    expect(kinds(`words\n${label.toUpperCase()}: x\nwords`)).toEqual(['v1 prompt']);
  });

  test('of which only the beginning is kept says so', () => {
    const found = only(`task: x\n${'words '.repeat(50_000)}`);
    expect([found.valid, codes(found)]).toEqual([true, ['warning E_PAYLOAD_SIZE_WARNING /text']]);
  });

  test('is read without its colours, like all else', () => {
    expect(only('\x1b[1mtask:\x1b[0m do it\nagent: \x1b[2mEmma\x1b[0m\x1b]0;\nmore').value).toMatchObject({
      task: 'do it',
      agent: 'Emma\nmore',
      text: 'task: do it\nagent: Emma\nmore',
    });
  });

  test('is kept whole', () => {
    expect(only('# Login\nobjective: it works\nmore').value).toMatchObject({
      objective: 'it works\nmore',
      text: '# Login\nobjective: it works\nmore',
    });
  });

  test('counts only where no other message is', () => {
    expect(kinds(`task: x\n${REPORT}`)).toEqual(['aop1 report']);
    expect(kinds('  task: indented\nmy task: x')).toEqual(['unstructured null']);
  });
});
