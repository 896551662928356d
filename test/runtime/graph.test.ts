/** What agents write into the knowledge graph and hand on by it, with real processes and a real store: the document's own flow, gaps, doubt, and what is cut off. */
import { readFileSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { AnyMessage } from '../../src/core/laws/messages.ts';
import type { Node } from '../../src/core/node.ts';
import { emptyReport } from '../../src/core/report.ts';
import type { Run, Task } from '../../src/core/task.ts';
import { detect } from '../../src/protocol/detect.ts';
import { answerQuestion } from '../../src/runtime/answers.ts';
import { taskMessage } from '../../src/runtime/child.ts';
import { applyGraph, speakerOf } from '../../src/runtime/graph-report.ts';
import { answerParts } from '../../src/runtime/host-answers.ts';
import { loadNode } from '../../src/runtime/loading.ts';
import { logFolder } from '../../src/runtime/places.ts';
import { finishRollback, recover } from '../../src/runtime/recovery.ts';
import { createGraphEar } from '../../src/runtime/said-graph.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { nodeOf, nodes, nodeText, outputText, tasks, worldOf } from './graph-world.ts';
import { print } from './small-agents.ts';
import { makeWorld, type Ran, reportText, sh, taskOf, type World } from './world.ts';

const document = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../fixtures/documents', name), 'utf8');

const BUG = 'bug_login_500_20251028_103045';
const FIX = 'implementation_bug_fix_20251028_113045';
const TESTS = 'testresults_bug_fix_20251028_120000';

const IMPLEMENTED = `[GRAPH_UPDATE]
type: add_node
node_id: ${FIX}
node_type: Implementation

metadata:
  created_by: "senior-developer"
  confidence: 0.92
  output_type: "implementation"

data:
  summary: "Null users are refused before their email is read"
  code_changes: "login.py checks the user"
  files_modified: ["src/auth/login.py"]
  notes_of_no_concern: "not for the next stage"

handoff:
  ready_for_next: true
  next_stage: "test-engineer"
  required_fields: ["code_changes", "files_modified"]

lineage:
  created_from_node: ${BUG}
[/GRAPH_UPDATE]

OUTPUT:
  _meta:
    output_type: "implementation"
    created_by: "senior-developer"
    confidence: 0.92
  _handoff:
    next_stage: "test-engineer"
    graph_node: "${FIX}"
    required_fields: ["code_changes", "files_modified"]
`;

/** Not accepted, and nothing of it in the graph. */
async function expectBounced(world: World, ran: Ran, code: string, words: RegExp): Promise<void> {
  expect(ran.task).toMatchObject({ status: 'review', cause: { code } });
  expect(ran.task.cause?.message).toMatch(words);
  expect(await nodes(world)).toEqual([]);
  expect(await tasks(world)).toHaveLength(1);
}

describe('the document', () => {
  test('bug-brief → senior-developer → test-engineer, by reference, from one brief to the end', async () => {
    const world = await worldOf(
      {
        'bug-brief': print(`${document('output-bug-node.yaml')}\n${document('output-bug-brief.yaml')}`),
        'senior-developer': `echo fixed > fixed.txt\n${print(IMPLEMENTED)}`,
        'test-engineer': print(
          `${nodeText({
            id: TESTS,
            type: 'TestResults',
            from: FIX,
            data: { test_suite: 'all', tests_passed: 3, tests_failed: 0, coverage_percentage: 90, summary: 'passed' },
          })}\n${outputText(TESTS, 'user', { required_fields: ['tests_passed'] })}`,
        ),
      },
      { stages: { 'implementation-triad': 'implementers', implementers: { agent: 'senior-developer' } } },
    );
    const first = await world.run(taskOf(world, { agent: 'bug-brief', objective: 'Write the brief.' }));
    expect(first.task.status).toBe('done');
    const all = await tasks(world);
    expect(all.map(({ routing, status }) => [routing.agent, status])).toEqual([
      ['bug-brief', 'done'],
      ['senior-developer', 'done'],
      ['test-engineer', 'done'],
    ]);
    const [brief, fix, check] = all as [Task, Task, Task];
    expect(fix).toMatchObject({
      title: 'implementation-triad: Login form returns 500 error with valid credentials',
      priority: 'high',
      session: brief.session,
      dependsOn: [brief.id],
      metadata: { stage: 'implementation-triad', node: BUG, handedFrom: brief.id, hops: 1 },
    });
    expect(check.metadata).toMatchObject({ stage: 'test-engineer', node: FIX, handedFrom: fix.id, hops: 2 });

    // Just what was asked for: the required fields, and the optional ones that are there.
    const prompt = world.read('senior-developer.prompt') ?? '';
    for (const word of [BUG, 'Navigate to /login', 'NullPointerException at login.py:45', 'Flask 2.3.0']) {
      expect(prompt).toContain(word);
    }
    expect(prompt).toContain('- No regressions in logout or registration');
    expect(prompt).not.toContain('User redirected to dashboard');
    expect(world.read('test-engineer.prompt')).not.toContain('not for the next stage');
    const given = JSON.parse((await world.store.text(fix.id, 'inputs/node.json')) ?? '') as { data: object };
    expect(Object.keys(given.data)).toEqual([
      'summary',
      'reproduction_steps',
      'acceptance_criteria',
      'error_messages',
      'affected_files',
      'environment',
    ]);
    expect(await world.store.text(fix.id, 'inputs/output.yaml')).toContain(`graph_node: ${BUG}`);
    const message = await taskMessage(world.store, fix, world.workspace);
    expect(message.task).toMatchObject({
      category: 'CODE_GENERATION',
      environment: { workspace_root: world.workspace },
      extensions: { x_stage: 'implementation-triad', x_graph_node: BUG },
    });

    // Who used what is known both ways, and who made it.
    expect(await nodeOf(world, BUG)).toMatchObject({ consumers: [FIX], task: brief.id, run: brief.run?.id });
    expect(await nodeOf(world, FIX)).toMatchObject({ sources: [BUG], consumers: [TESTS] });
    const lineage = await world.store.lineage(TESTS, { down: false });
    expect(lineage?.nodes.map(({ id }) => id)).toEqual([TESTS, FIX, BUG]);
    expect(await world.store.questions()).toEqual([]);
  });

  test('what a task was given counts as used, whatever its node says of its source', async () => {
    const world = await worldOf({
      one: print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`),
      two: print(`${nodeText({ id: 'b_1' })}\n${outputText('b_1', 'user')}`),
    });
    await world.run(taskOf(world, { agent: 'one' }));
    expect(await nodeOf(world, 'a_1')).toMatchObject({ consumers: ['b_1'] });
    expect(await nodeOf(world, 'b_1')).toMatchObject({ sources: [], uses: ['a_1'] });
  });
});

describe('nothing starts', () => {
  test('a gap bounces, with all that is missing', async () => {
    const world = await worldOf({
      one: print(
        `${nodeText({ id: 'a_1', data: { summary: 's', plan: null } })}\n${outputText('a_1', 'two', { required_fields: ['summary', 'plan', 'files'] })}`,
      ),
      two: 'true',
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    await expectBounced(world, ran, 'E_NOT_LOADABLE', /data\.plan is required and is null; data\.files is required/);
    expect(ran.last.block).toContain('data.files');
  });

  test('the next attempt is told of the gap, and its node counts', async () => {
    const gap = print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two', { required_fields: ['files'] })}`);
    const whole = print(
      `${nodeText({ id: 'a_1', data: { summary: 's', files: ['x'] } })}\n${outputText('a_1', 'two', { required_fields: ['files'] })}`,
    );
    const world = await worldOf({
      one: `if grep -q 'data.files is required' one.prompt; then\n${whole}\nelse\n${gap}\nfi`,
      two: print(reportText()),
    });
    const ran = await world.run(
      taskOf(world, { agent: 'one', policy: { max_retries: 1, retry_backoff_seconds: [0] } }),
    );
    expect(ran.task).toMatchObject({ status: 'done', attempts: 2 });
    expect((await tasks(world)).map(({ status }) => status)).toEqual(['done', 'done']);
  });

  test.each([
    [
      'a stage that nobody is',
      outputText('a_1', 'somewhere'),
      'E_AGENT_NOT_FOUND',
      /stage somewhere .*stages triad, loop, pool.*agents one, two/,
    ],
    ['a circle of names', outputText('a_1', 'loop'), 'E_CYCLE', /loop → pool → loop/],
    ['a node that is not there', outputText('b_1', 'two'), 'E_NOT_FOUND', /no node b_1/],
    [
      "an agent's approval",
      outputText('a_1', 'two', { approval_status: 'approved' }),
      'E_PERMISSION_DENIED',
      /only a person/,
    ],
  ])('%s', async (_, output, code, words) => {
    const world = await worldOf(
      { one: print(`${nodeText({ id: 'a_1' })}\n${output}`), two: 'true' },
      { stages: { triad: 'two', loop: 'pool', pool: 'loop' } },
    );
    await expectBounced(world, await world.run(taskOf(world, { agent: 'one' })), code, words);
  });

  test('a task that may not hand on', async () => {
    const world = await worldOf({ one: print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`), two: 'true' });
    const ran = await world.run(taskOf(world, { agent: 'one', task: { constraints: { delegation_allowed: false } } }));
    await expectBounced(world, ran, 'E_PERMISSION_DENIED', /delegation_allowed: false/);
  });

  test('stages that hand on to each other for ever end at max_stages', async () => {
    const script = (other: string): string =>
      `N="n_$BATON_TASK_ID"\nsed "s/NODE/$N/g" <<'SAID'\n${nodeText({ id: 'NODE' })}\n${outputText('NODE', other)}\nSAID`;
    const world = await worldOf({ one: script('two'), two: script('one') }, { delegation: { max_stages: 3 } });
    await world.run(taskOf(world, { agent: 'one' }));
    const all = await tasks(world);
    expect(all.map(({ status }) => status)).toEqual(['done', 'done', 'done', 'review']);
    expect(all.at(-1)?.cause).toMatchObject({ code: 'E_MAX_DEPTH_EXCEEDED' });
  });
});

describe('all blocks of a run, or none', () => {
  test.each([
    ['a source that is not there', nodeText({ id: 'b_1', from: 'nothing_1' }), 'E_NOT_FOUND', /made from nothing_1/],
    ['itself as its source', nodeText({ id: 'b_1', from: 'b_1' }), 'E_CYCLE', /itself/],
    ['a confidence in words', nodeText({ id: 'b_1', confidence: '"high"' }), 'E_SCHEMA_VALIDATION', /b_1 .*confidence/],
    ['an empty block', '[GRAPH_UPDATE]\n[/GRAPH_UPDATE]', 'E_SCHEMA_VALIDATION', /number 2 .*empty/],
    ['one that is cut off', '[GRAPH_UPDATE]\ntype: add_node\nnode_id: b_1', 'E_SCHEMA_VALIDATION', /closes the block/],
    [
      'an edge to nothing',
      '[GRAPH_UPDATE]\ntype: add_edge\nsource: a_1\ntarget: c_1\n[/GRAPH_UPDATE]',
      'E_NOT_FOUND',
      /c_1/,
    ],
  ])('%s', async (_, block, code, words) => {
    const world = await worldOf({ one: `${print(nodeText({ id: 'a_1' }))}\n${print(block)}\n${print(reportText())}` });
    await expectBounced(world, await world.run(taskOf(world, { agent: 'one' })), code, words);
  });

  test('an agent that dies in the middle of a block', async () => {
    const world = await worldOf({
      one: `${print(nodeText({ id: 'a_1' }))}\n${print('[GRAPH_UPDATE]\ntype: add_node')}\nkill -9 $$`,
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task.status).toBe('deadletter');
    expect(await nodes(world)).toEqual([]);
    expect(ran.told('graph.dropped')).toMatchObject([{ blocks: 2, node: null }]);
  });

  test('evidence that does not hold writes nothing', async () => {
    const world = await worldOf({ one: print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`), two: 'true' });
    const ran = await world.run(
      taskOf(world, { agent: 'one', task: { expected_outputs: [{ type: 'FILE', path: 'made.txt' }] } }),
    );
    await expectBounced(world, ran, 'E_EVIDENCE', /made\.txt/);
  });

  test('the same block twice is one; a report in another dialect after it takes nothing away', async () => {
    const world = await worldOf({
      one: [
        nodeText({ id: 'a_1' }),
        nodeText({ id: 'a_1' }),
        outputText('a_1', 'two'),
        reportText('success', '- All made.'),
      ]
        .map(print)
        .join('\n'),
      two: print(reportText()),
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task).toMatchObject({ status: 'done', summary: '- All made.' });
    expect((await nodes(world)).map(({ id }) => id)).toEqual(['a_1']);
    expect(await tasks(world)).toHaveLength(2);
  });

  test('blocks by the socket of the run count with those that it prints', async () => {
    const world = await worldOf({
      one: `node -e 'const s=require("net").connect(process.env.BATON_SOCKET);s.end(process.argv[1]);s.on("data",(d)=>require("fs").appendFileSync("answers.txt",d));s.on("end",()=>process.exit())' '${nodeText({ id: 'a_1' })}
'
${print(`${nodeText({ id: 'b_1', from: 'a_1' })}\n${outputText('b_1', 'user')}`)}`,
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(world.read('answers.txt')).toContain('"accepted"');
    expect(ran.task.status).toBe('done');
    expect((await nodes(world)).map(({ id }) => id).sort()).toEqual(['a_1', 'b_1']);
  });

  test('a conflict takes it back, and the run on the newest commit says it anew', async () => {
    const world = await makeWorld({
      git: true,
      config: {
        defaults: { sandbox: 'off' },
        agents: {
          one: sh(
            `cat >/dev/null; case $BATON_RUN_ID in *-r1) cd "$USERS"; echo theirs > README.md; git commit -q -am x; cd - >/dev/null;; esac; echo mine > README.md\n${print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`)}`,
            { env: ['USERS'] },
          ),
          two: sh('true'),
        },
      },
    });
    (world.host.environment as Record<string, string>)['USERS'] = world.workspace;
    const extensions = { x_worktree: true, x_merge: 'always' };
    const ran = await world.run(taskOf(world, { agent: 'one', task: { extensions } }));
    expect(ran.task).toMatchObject({ status: 'done', runs: 2 });
    expect(ran.told('merge.conflict')).toMatchObject([{ message: expect.stringMatching(/not merged into main/) }]);
    expect(await nodeOf(world, 'a_1')).toMatchObject({ stale: null, run: `${ran.task.id}-r2` });
    // The next stage of the first run was called off; the second run made another.
    expect((await tasks(world)).map(({ status }) => status).slice(0, 2)).toEqual(['done', 'cancelled']);
    expect(await tasks(world)).toHaveLength(3);
  });
});

describe('doubt', () => {
  test('less sure than 90 %: a question, the task waits, and no next stage', async () => {
    const world = await worldOf({
      one: print(`${nodeText({ id: 'a_1', confidence: 0.8 })}\n${outputText('a_1', 'two', {}, 0.8)}`),
      two: 'true',
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task).toMatchObject({ status: 'review', cause: null });
    expect(ran.last.block).toContain('Waits for a person: ask-1');
    expect(ran.task.summary).not.toContain('ask-1');
    expect(await tasks(world)).toHaveLength(1);
    const [question] = await world.store.questions({ open: true });
    expect(question).toMatchObject({ kind: 'uncertainty', about: 'a_1', task: ran.task.id, nextStage: 'two' });
    expect((await nodes(world)).map(({ type }) => type).sort()).toEqual(['Findings', 'Uncertainty']);
    // Nobody builds upon it before that, and once it is accepted it goes on as it is.
    const refused = await loadNode(world.host, 'a_1');
    expect(refused).toMatchObject({
      refusal: { code: 'E_NOT_LOADABLE', message: expect.stringContaining('ask-1 is open') },
    });
    await answerQuestion(world.host, { id: 'ask-1', status: 'approved' }, { kind: 'person', name: 'user' });
    expect((await tasks(world)).map(({ status, metadata }) => [status, metadata['stage']])).toEqual([
      ['done', undefined],
      ['ready', 'two'],
    ]);
  });

  test("a domain's own threshold", async () => {
    const world = await worldOf(
      {
        one: print(
          `${nodeText({ id: 'a_1', confidence: 0.6 }).replace('confidence: 0.6', 'domain: art, confidence: 0.6')}\n${outputText('a_1', 'two', {}, 0.6)}`,
        ),
        two: print(reportText()),
      },
      { confidence: { domains: { art: { escalate_below: 0.5, refuse_below: 0.5 } } } },
    );
    await world.run(taskOf(world, { agent: 'one' }));
    expect(await world.store.questions()).toEqual([]);
    expect(await tasks(world)).toHaveLength(2);
  });

  test('approval_required: in review, with the question, and nothing goes on', async () => {
    const world = await worldOf({
      one: print(
        `${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'user', { approval_required: true, approval_question: 'Do you approve this architecture design?' })}`,
      ),
    });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task).toMatchObject({ status: 'review', cause: null });
    const [question] = await world.store.questions({ open: true });
    expect(question).toMatchObject({
      kind: 'approval',
      question: 'Do you approve this architecture design?',
      node: 'a_1',
    });
  });

  /** `two` asks what `one` asked, and has been answered; it gives up asking when it is told so, or never does. */
  async function knownWorld(isStubborn = false): Promise<World> {
    const asks = `${nodeText({ id: 'U_1', type: 'Uncertainty', confidence: 0.75, data: { uncertainty_source: 'x', question: 'P0 or P1?', context: 'c' } })}\n${outputText('U_1', 'user', { required_fields: ['resolution'] }, 0.75, 'uncertainty')}`;
    const world = await worldOf({
      one: print(asks.replaceAll('U_1', 'u_1')),
      two: `if grep -q 'The answer (by a person): It is P1' two.prompt; then\n${print(isStubborn ? asks.replaceAll('U_1', 'u_3') : reportText('success', '- Did P1.'))}\nelse\n${print(asks.replaceAll('U_1', 'u_2'))}\nfi`,
    });
    const first = await world.run(taskOf(world, { agent: 'one' }));
    expect(first.task.status).toBe('blocked');
    await world.store.send({
      message: { type: 'question.answer', id: 'ask-1', status: 'answered', text: 'It is P1' },
      by: { kind: 'person', name: 'user' },
    });
    return world;
  }

  test('what was answered before is told to the next attempt, also where there are no retries, and not asked again', async () => {
    const world = await knownWorld();
    const second = await world.run(taskOf(world, { agent: 'two', policy: { max_retries: 0 } }));
    expect(second.task).toMatchObject({ status: 'done', attempts: 2, summary: '- Did P1.' });
    expect(second.told('task.transitioned').find(({ from }) => from === 'review')).toMatchObject({
      to: 'ready',
      reason: 'ask-1 was answered before: It is P1',
    });
    expect(await world.store.questions()).toHaveLength(1);
  });

  test('who was told the answer and asks all the same is not tried for ever', async () => {
    const world = await knownWorld(true);
    const second = await world.run(taskOf(world, { agent: 'two', policy: { max_retries: 0 } }));
    expect(second.task).toMatchObject({ status: 'review', attempts: 2, cause: { code: 'E_BLOCKED' } });
    expect(second.told('run.judged')).toMatchObject([{ passed: false, code: 'E_BLOCKED' }]);
  });

  test.each(['command', 'claude'] as const)(
    'Baton dies when all was said: what the run has printed is written, and handed on (%s)',
    async (kind) => {
      const { world, task, end } = await died(kind, `${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`);
      await end();
      expect((await world.store.find(task))?.status).toBe('done');
      expect(await nodeOf(world, 'a_1')).toMatchObject({ task, ready: true });
      expect((await tasks(world)).map(({ metadata }) => metadata['stage'])).toEqual([undefined, 'two']);
    },
  );

  test('Baton dies, and what the run claims does not hold: approving it brings its node and its handoff back', async () => {
    const said = `${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`;
    const { world, task, end } = await died('command', said, ['never-made.txt']);
    await end();
    expect(await world.store.find(task)).toMatchObject({ status: 'review', verdict: 'contradicted' });
    expect((await nodeOf(world, 'a_1')).stale).not.toBeNull();
    const word = { id: task, status: 'approved' } as const;
    await answerQuestion(answerParts(world.host), word, { kind: 'person', name: 'ann' });
    expect((await world.store.find(task))?.status).toBe('done');
    expect(await nodeOf(world, 'a_1')).toMatchObject({ stale: null, ready: true });
    const stages = (await tasks(world)).filter(({ metadata }) => metadata['stage'] === 'two');
    expect(stages.map(({ status }) => status)).toEqual(['cancelled', 'ready']);
  });

  test('Baton dies when a block was cut off, or refused at the socket: nothing is written, and it is not done', async () => {
    const { world, task, end } = await died('command', nodeText({ id: 'a_1' }).replace('[/GRAPH_UPDATE]', ''));
    await end();
    expect(await world.store.find(task)).toMatchObject({ status: 'review', cause: { code: 'E_SCHEMA_VALIDATION' } });

    const other = await died('command', nodeText({ id: 'a_1' }));
    const run = (await other.world.store.find(other.task))?.run as Run;
    const sender = { channel: 'socket', run: run.id, agent: 'one', actor: { kind: 'agent', name: 'one' } } as const;
    const broken = nodeText({ id: 'b_1', confidence: 'high' });
    expect(await other.world.host.router.take(broken, sender)).toMatchObject([{ result: 'rejected' }]);
    await other.end();
    expect(await other.world.store.find(other.task)).toMatchObject({ status: 'review' });
    expect(await nodes(other.world)).toEqual([]);
  });

  test('Baton dies, and what a run has printed cannot be read any more: it is not done', async () => {
    const { world, task, end } = await died('command', nodeText({ id: 'a_1' }));
    const run = (await world.store.find(task))?.run as Run;
    const log = join(logFolder(world.dir, run.id), 'out.log');
    renameSync(log, `${log}.away`);
    symlinkSync(`${log}.away`, log);
    await end();
    expect(await world.store.find(task)).toMatchObject({
      status: 'review',
      cause: { message: expect.stringContaining(`what ${run.id} printed cannot be read`) },
    });
    expect(await nodes(world)).toEqual([]);
    expect((await world.ran(task, [])).told('graph.held')).toMatchObject([{ blocks: 1 }]);
  });

  /** A run that has printed a text and said by its socket that it is done, and whose Baton is no more. */
  async function died(kind: 'command' | 'claude', text: string, expected: readonly string[] = []) {
    const world = await makeWorld({
      config: {
        agents: {
          one: kind === 'claude' ? { kind } : { kind, command: ['true'] },
          two: { kind: 'command', command: ['true'] },
        },
        defaults: { sandbox: 'off' },
      },
    });
    world.script('claude', '#!/bin/sh\n');
    const outputs = expected.map((path) => ({ type: 'FILE', path }));
    const [added] = await world.add(taskOf(world, { agent: 'one', task: { expected_outputs: outputs } }));
    const { id = '' } = added ?? {};
    const by = { kind: 'runtime', name: 'baton' } as const;
    const supervisor = { pid: 2 ** 30, started: 'gone' };
    const claim = { type: 'task.claim', id, claimer: { agent: 'one' }, leaseMs: 60_000, supervisor } as const;
    await world.store.send({ message: claim, by });
    const run = (await world.store.find(id))?.run as Run;
    const line = { type: 'assistant', message: { content: [{ type: 'text', text }] } };
    const log = kind === 'claude' ? `${JSON.stringify(line)}\n` : `${text}\n`;
    world.write(join(logFolder(world.dir, run.id), 'out.log'), log);
    const end = async (): Promise<void> => {
      const detail = { report: emptyReport('done', 'all is made') };
      const said = { type: 'note', event: 'protocol.message.received', task: id, run: run.id, detail } as const;
      await world.store.send({ message: said, by });
      await recover(world.host);
    };
    return { world, task: id, end };
  }

  test('Baton dies after the report of one that asked what was answered before: it is tried again all the same', async () => {
    const world = await knownWorld();
    const [task] = await world.add(taskOf(world, { agent: 'two' }));
    const { id = '' } = task ?? {};
    const send = async (message: AnyMessage): Promise<readonly Task[]> => {
      const answer = await world.store.send({ message, by: { kind: 'runtime', name: 'baton' } });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
      return answer.tasks;
    };
    const supervisor = { pid: 2 ** 30, started: 'gone' };
    const claimed = await send({
      type: 'task.claim',
      id,
      claimer: { agent: 'two', any: true },
      leaseMs: 1,
      supervisor,
    });
    const run = claimed[0]?.run as Run;
    const text = nodeText({
      id: 'u_2',
      type: 'Uncertainty',
      confidence: 0.75,
      data: { uncertainty_source: 'x', question: 'P0 or P1?', context: 'c' },
    });
    const ear = createGraphEar();
    for (const found of detect(text)) ear.take(found);
    await applyGraph(world.host, ear.said, speakerOf(claimed[0] as Task, run));
    await send({ type: 'run.report', run: run.id, outcome: 'needs_review' });
    await recover(world.host);
    expect(await world.store.find(id)).toMatchObject({ status: 'ready' });
  });
});

test('a task that fails for good takes its nodes with it, and what was made of them', async () => {
  const world = await worldOf({
    one: `if [ -e again ]; then exit 3; fi; touch again\n${print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'user', { approval_required: true })}`)}`,
  });
  const ran = await world.run(taskOf(world, { agent: 'one' }));
  await world.store.send({
    message: { type: 'question.answer', id: 'ask-1', status: 'changes_requested' },
    by: { kind: 'person', name: 'user' },
  });
  await workOn(world.host, {
    only: [ran.task.id],
    parallel: 1,
    untilEmpty: true,
    leaving: new AbortController().signal,
  });
  expect((await world.store.find(ran.task.id))?.status).toBe('deadletter');
  const stale: Node['stale'] = (await nodeOf(world, 'a_1')).stale;
  expect(stale?.because).toContain(ran.task.id);
});

test('a task that is called off while it waits takes its nodes with it', async () => {
  const world = await worldOf({
    one: print(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'user', { approval_required: true })}`),
  });
  const { task } = await world.run(taskOf(world, { agent: 'one' }));
  await world.store.send({ message: { type: 'task.cancel', id: task.id }, by: { kind: 'person', name: 'user' } });
  await finishRollback(world.host, task.id);
  expect((await nodeOf(world, 'a_1')).stale?.because).toBe(`${task.id} is cancelled`);
});
