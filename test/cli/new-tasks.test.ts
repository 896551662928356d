/** `baton task add`: what a text becomes. */
import { describe, expect, test } from 'vitest';
import { newTasksOf, titleOf } from '../../src/cli/new-tasks.ts';
import { example } from '../helpers/documents.ts';

type Envelope = {
  session: Record<string, unknown>;
  target: Record<string, unknown>;
  task: Record<string, unknown>;
} & Record<string, unknown>;

/** A minimal TASK with some fields of its own. */
function envelope(id: string, change: (message: Envelope) => void = () => {}): Envelope {
  const message = JSON.parse(example('aop2-task-minimal.json')) as Envelope;
  message.task['task_id'] = id;
  change(message);
  return message;
}

const of = (...messages: Envelope[]) => newTasksOf(JSON.stringify(messages));

describe('a TASK', () => {
  test('with all that a task has of it', () => {
    const text = example('aop2-task-full.json');
    expect(newTasksOf(text)).toEqual([
      {
        externalId: 'TASK-001',
        model: 'gpt-5.3-codex',
        title: 'Refactor module X to use dependency injection.',
        session: 'AOP-SESSION-2026-02-26-001',
        priority: 'normal',
        routing: { agent: 'Emma', role: 'EXECUTOR' },
        retry: {
          maxRetries: 1,
          backoffSeconds: [30, 120, 300],
          alternatives: [
            { provider: 'GEMINI', model: 'gemini-2.5-pro', trigger: 'TIMEOUT' },
            { provider: 'CLAUDE', model: 'claude-opus-4-6', trigger: 'ALL_ERRORS' },
          ],
        },
        writes: ['C:/workspace/project-x/src', 'C:/workspace/project-x/tests'],
        texts: { body: 'Refactor module X to use dependency injection.', 'inputs/task.json': text },
      },
    ]);
  });

  test('keeps its id where it is of our form', () => {
    const [task] = newTasksOf(JSON.stringify(envelope('TASK-2026-02-09-057')));
    expect([task?.id, task?.externalId]).toEqual(['TASK-2026-02-09-057', undefined]);
  });

  test('asks for review, names its parent and what it depends on', () => {
    const [task] = newTasksOf(
      JSON.stringify(
        envelope('T-1', (message) => {
          message['guard_rails'] = { extensions: { x_human_review_required: true } };
          message.task['parent_task_id'] = 'T-0';
          message.task['priority'] = 'CRITICAL';
          message.task['extensions'] = { x_depends_on: ['T-7'] };
        }),
      ),
    );
    expect(task).toMatchObject({ reviewRequired: true, parentId: 'T-0', priority: 'critical', dependsOn: ['T-7'] });
  });

  test.each([
    [{ max_retries: 2 }, { maxRetries: 2 }],
    [{ on_failure: 'RETRY' }, { maxRetries: 1 }],
    [{ on_failure: 'RETRY', max_retries: 3 }, { maxRetries: 3 }],
    [{ abort_on_first_critical_error: true }, { maxRetries: 0, stopOnCritical: true }],
    [{ alternative_models: [] }, { maxRetries: 0 }],
    [
      { alternative_models: [{ provider: 'LOCAL', model: 'm' }] },
      { maxRetries: 0, alternatives: [{ provider: 'LOCAL', model: 'm', trigger: 'ALL_ERRORS' }] },
    ],
  ])('is tried again as %j says', (policy, retry) => {
    const [task] = of(envelope('T-1', (message) => (message['execution_policy'] = policy)));
    expect(task?.retry).toEqual({ backoffSeconds: [30, 120, 300], ...retry });
  });

  test.each([
    [
      { access: { filesystem: { write_paths: ['src/../lib', '/tmp/x', 'C:\\y'] } } },
      ['/ws/src/../lib', '/tmp/x', 'C:\\y'],
    ],
    [{ access: { filesystem: { write_paths: ['.'] } }, constraints: { read_only_mode: true } }, undefined],
    [{ access: { filesystem: { read_paths: ['.'] } } }, undefined],
    [{}, undefined],
  ])('writes what it says, absolute: %j', (said, writes) => {
    const [task] = of(
      envelope('T-1', (message) => {
        Object.assign(message.task, { environment: { workspace_root: '/ws/' }, ...said });
      }),
    );
    expect(task?.writes).toEqual(writes);
  });

  test('with words around it keeps the words too', () => {
    const text = `Please do this:\n\n\`\`\`json\n${example('aop2-task-minimal.json')}\n\`\`\`\nThanks.`;
    const [task] = newTasksOf(text);
    expect(task).toMatchObject({
      externalId: 'TASK-001',
      texts: { 'inputs/source.md': text, body: 'Read and summarize the README.md file.' },
    });
    expect(JSON.parse(task?.texts?.['inputs/task.json'] ?? '')).toEqual(JSON.parse(example('aop2-task-minimal.json')));
  });

  test('lifted from a prompt that named nobody is for anybody', () => {
    const open = envelope('T-1', ({ session, target }) => {
      session['origin'] = 'V1_COMPAT';
      target['agent_name'] = 'default';
    });
    expect(newTasksOf(JSON.stringify(open))[0]?.routing).toEqual({});
  });

  test.each([
    [
      'a wrong value',
      JSON.stringify(envelope('T', (m) => (m.task['complexity'] = 'low'))),
      'E_SCHEMA_VALIDATION',
      /^the TASK is not valid at \/task\/complexity: expected one of LOW/,
    ],
    [
      'no message_type',
      '{"aop_version":"2.0.2-C"}',
      'E_SCHEMA_VALIDATION',
      /expected TASK, RESPONSE or EVENT, got nothing/,
    ],
    ['JSON that breaks off', example('aop2-task-minimal.json').slice(0, 300), 'E_PARSE_FAILURE', /broken or cut off/],
    [
      'dependencies that are no list',
      JSON.stringify(envelope('T', (m) => (m.task['extensions'] = { x_depends_on: 'T-1' }))),
      'E_SCHEMA_VALIDATION',
      /expected a list of task ids/,
    ],
    [
      'the second of a list',
      JSON.stringify([envelope('A'), envelope('B', (m) => (m.task['objective'] = ''))]),
      'E_SCHEMA_VALIDATION',
      /^TASK 2 is not valid at \/task\/objective/,
    ],
    [
      'something else in a list',
      JSON.stringify([envelope('A'), 3]),
      'E_SCHEMA_VALIDATION',
      /expected a list of TASKs, got 3 as item 2/,
    ],
    [
      'a RESPONSE in a list',
      `[${example('aop2-task-minimal.json')},${example('aop2-response.json')}]`,
      'E_SCHEMA_VALIDATION',
      /got an object as item 2/,
    ],
  ])('that is not one is refused: %s', (_, text, code, message) => {
    expect(() => newTasksOf(text)).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });
});

describe('several TASKs', () => {
  const ids = (text: string): unknown[] => newTasksOf(text).map(({ externalId }) => externalId);

  test('as an array, and as lines', () => {
    const [a, b] = [envelope('A'), envelope('B')];
    expect(ids(JSON.stringify([a, b], null, 2))).toEqual(['A', 'B']);
    expect(ids(`${JSON.stringify(a)}\n${JSON.stringify(b)}\n`)).toEqual(['A', 'B']);
    expect(JSON.parse(of(a, b)[1]?.texts?.['inputs/task.json'] ?? '')).toEqual(b);
  });

  test.each([
    ['CHAIN', [undefined, ['A'], ['B']]],
    ['MAP_REDUCE', [undefined, undefined, ['A', 'B']]],
    ['PARALLEL', [undefined, undefined, undefined]],
    ['HIERARCHICAL', [['B', 'C'], undefined, undefined]],
  ])('wait for each other as the pattern %s says', (pattern, dependsOn) => {
    const inPattern = (id: string) => envelope(id, ({ session }) => (session['workflow_pattern'] = pattern));
    expect(of(inPattern('A'), inPattern('B'), inPattern('C')).map((task) => task.dependsOn)).toEqual(dependsOn);
  });

  test('what a TASK says itself goes before the pattern, and a session does not reach into another', () => {
    const chain = (id: string, session: string, extensions?: unknown) =>
      envelope(id, (message) => {
        message.session['workflow_pattern'] = 'CHAIN';
        message.session['session_id'] = session;
        if (extensions !== undefined) message.task['extensions'] = extensions;
      });
    const made = of(chain('A', 's'), chain('B', 't'), chain('C', 's', { x_depends_on: ['Z'] }), chain('D', 's'));
    expect(made.map((task) => task.dependsOn)).toEqual([undefined, undefined, ['Z'], ['C']]);
  });
});

describe('any other text is a body', () => {
  test.each([
    ['# Fix the login form\n\nIt answers 500.', 'Fix the login form'],
    ['\n\n  Fix it  \nnow', 'Fix it'],
    ['---\n***\n- Buy milk', 'Buy milk'],
    ['task: Fix it\nagent: emma', 'Fix it'],
    ['context: here\nobjective: Look at it\nmore', 'Look at it'],
    ['[1, 2]', '[1, 2]'],
    ['\x1b[31mred\x1b[0m', 'red'],
    ['日本語の題名', '日本語の題名'],
    [example('aop1-search.txt'), expect.stringContaining('AOP:START')],
  ])('%j', (text, title) => {
    expect(newTasksOf(text)).toEqual([{ title, texts: { body: text } }]);
  });

  test('a long first line is cut at a word', () => {
    const title = titleOf('word '.repeat(50));
    expect(title.length).toBeLessThanOrEqual(120);
    expect(title).toMatch(/^(?:word )+word…$/);
  });

  test('a text without a word has no title', () => {
    expect(titleOf('---\n  \n***')).toBe('');
  });
});
