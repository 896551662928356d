import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fallBack } from '../../../src/protocol/aop2/fallback.ts';
import { toV1Prompt } from '../../../src/protocol/aop2/prompt.ts';
import type { TaskMessage } from '../../../src/protocol/aop2/schema.ts';
import { liftV1, readV1 } from '../../../src/protocol/aop2/v1.ts';
import { agentPrompt } from '../../../src/protocol/prompt.ts';
import { example, exampleJson } from '../../helpers/documents.ts';
import { only } from '../../helpers/found.ts';

const CONTEXT = { now: '2026-03-01T09:00:00Z', sessionId: 'S-1', taskId: 'TASK-001', workspaceRoot: '/ws' };

describe('a TASK as a v1 prompt', () => {
  const { text, lost } = toV1Prompt(exampleJson('aop2-task-full.json'));

  test('says what the contract asks for', () => {
    expect(text).toMatch(
      /^Task: TASK-001\nAgent: Emma\nCategory: CODE_REFACTORING\nComplexity: MEDIUM\nPriority: NORMAL\n\nObjective: Refactor module X/,
    );
    for (const title of ['Environment:', 'Inputs:', 'Expected Outputs:', 'Phases:', 'Budgets:', 'Execution Policy:'])
      expect(text).toContain(`\n${title}\n`);
    expect(text).toContain(
      '- C:/workspace/project-x/tests/test_module_x.py (FILE; New unit tests for module X.), checked by `pytest tests/test_module_x.py` (EXIT_CODE_0)',
    );
    expect(text).toContain(
      '  - CP-IMPL-001 (module_x.py refactored and compiles.), needs C:/workspace/project-x/src/module_x.py (FILE), checked by `python -m py_compile src/module_x.py` (EXIT_CODE_0), else ABORT',
    );
  });

  test('names what it does not say, as pointers', () => {
    expect(lost).toEqual(
      expect.arrayContaining([
        '/session',
        '/target/role',
        '/task/access',
        '/execution_policy/alternative_models',
        '/orchestration_metadata',
        '/extensions',
      ]),
    );
    expect(lost.filter((path) => path.startsWith('/phases') || path.startsWith('/task/environment'))).toEqual([]);
    for (const path of lost) expect(text).toContain(`- ${path}\n`.trimEnd());
  });

  test('is found as a v1 prompt', () => {
    expect(only(text)).toMatchObject({ dialect: 'v1', kind: 'prompt', valid: true });
  });
});

describe('a v1 prompt as a TASK', () => {
  test('is valid and loses nothing of what was asked', () => {
    const text =
      '# Login\n\ntask: Fix the login form\nObjective: Sign-in works again\nwith valid credentials\nEXECUTOR: worker\ncontext: The form answers 500\nrequirements: Add a test\n';
    const task = liftV1(text, CONTEXT);
    expect(only(JSON.stringify(task)).problems).toEqual([]);
    expect(task).toMatchObject({
      session: { origin: 'V1_COMPAT' },
      target: { agent_name: 'worker', provider: 'OTHER' },
      task: { category: 'OTHER', complexity: 'MEDIUM' },
    });
    expect(task.task.objective).toBe(
      'Sign-in works again\nwith valid credentials\n\n# Login\n\ntask: Fix the login form\n\ncontext: The form answers 500\n\nrequirements: Add a test',
    );
  });

  test('whatever its text', () => {
    const line = fc.constantFrom(
      'task:',
      'Objective: x',
      'agent:  ',
      'EXECUTOR: me',
      'context: y',
      '',
      'prose',
      'task: z',
    );
    fc.assert(
      fc.property(fc.array(line, { minLength: 1 }), (lines) => {
        const task = liftV1(`task: t\n${lines.join('\n')}`, CONTEXT);
        expect(only(JSON.stringify(task)).problems).toEqual([]);
      }),
    );
  });

  test('of two equal labels the first counts, in any case and over several lines', () => {
    expect(readV1('TASK: one\ntwo\ntask: three')).toMatchObject({ task: 'one\ntwo', objective: null });
  });
});

describe('a TASK that fails its schema', () => {
  const value = {
    ...exampleJson('aop2-task-full.json'),
    phases: 'none',
    task: { task_id: 'TASK-9', objective: 'Do it', category: 'x', inputs: [1, { path: 'a' }] },
  };
  const found = only(JSON.stringify(value));
  const fallen = fallBack(found.value, found.problems, JSON.stringify(value), '2026-03-01T09:00:00Z');

  test('becomes a prompt that says what was lost', () => {
    expect(fallen.prompt).toMatch(/^Task: TASK-9\n/);
    expect(fallen.prompt).toContain('Objective: Do it');
    expect(fallen.lost).toContain('/phases');
  });

  test('emits a valid VERSION_FALLBACK', () => {
    expect(only(JSON.stringify(fallen.event)).problems).toEqual([]);
    expect(fallen.event).toMatchObject({
      reason: 'E_SCHEMA_VALIDATION',
      task_id: 'TASK-9',
      validation_error: expect.stringContaining('/task/category'),
    });
    expect(fallen.event.input_preview).toHaveLength(200);
  });

  test('names among the lost what has the wrong shape, and says nothing in its place', () => {
    const { prompt, lost } = fallBack(
      {
        task: { expected_outputs: [1, { validation: 3 }], inputs: [{ path: 'a' }, 2] },
        phases: [null, { checkpoints: 'x' }],
      },
      [],
      '',
      '2026-03-01T09:00:00Z',
    );
    expect(lost).toEqual(['/task/expected_outputs', '/task/inputs/1', '/phases']);
    expect(prompt).not.toMatch(/^- *\??$/m);
  });

  test('that could not even be read still becomes a prompt', () => {
    expect(fallBack(null, [], '', '2026-03-01T09:00:00Z').prompt).toContain('Objective:');
  });

  test('never throws, whatever the TASK is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (task, phases, session) => {
        fallBack(
          { aop_version: '2.0.2-C', message_type: 'TASK', task, phases, session },
          [],
          '',
          '2026-03-01T09:00:00Z',
        );
      }),
    );
  });
});

describe('what an agent is told', () => {
  const full = exampleJson('aop2-task-full.json') as TaskMessage;

  test('the task, its limits as they will be enforced, and how to report', () => {
    const prompt = agentPrompt(full, { detailsFile: 'out/details.json' });
    expect(prompt).toContain('- You may write: C:/workspace/project-x/src, C:/workspace/project-x/tests');
    expect(prompt).toContain('Do not hand this on');
    expect(prompt).toContain('Write your detailed results to out/details.json.');
    expect(prompt).toContain('at most 300 characters');
  });

  test('the type of task decides the length of the report, unless the TASK says otherwise', () => {
    const build = { ...full, task: { ...full.task, extensions: { x_task_type: 'build' } } };
    expect(agentPrompt(build)).toContain('at most 200 characters');
  });

  test('an agent that only speaks 1.x gets the v1 prompt, which says what it leaves out', () => {
    const old = { ...full, target: { ...full.target, capabilities: { aop_versions_supported: ['1.x'] } } };
    expect(agentPrompt(old)).toContain('Not in this prompt:');
    expect(agentPrompt(full)).not.toContain('Not in this prompt:');
  });

  test('repeating it is not reporting', () => {
    expect(only(agentPrompt(full)).dialect).toBe('v1');
    expect(only(example('aop1-prompt.txt')).dialect).toBe('unstructured');
  });
});
