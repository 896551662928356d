/** Questions to a person: when they are asked, who may answer, and what an answer does to the node, to the task and to what comes after. */
import { describe, expect, test } from 'vitest';
import type { Actor, GraphMessage, Handed } from '../../../src/core/laws/messages.ts';
import type { GraphUpdate, Node } from '../../../src/core/node.ts';
import { type Question, questionKey } from '../../../src/core/question.ts';
import { AGENT, createWorld, eventOf, PERSON, RUNTIME, UNKNOWN, type World } from './world.ts';

type Apply = Extract<GraphMessage, { type: 'graph.apply' }>;
type Answer = Extract<GraphMessage, { type: 'question.answer' }>;

const node = (
  id: string,
  confidence = 0.95,
  type = 'Specification',
  data: object = { summary: 'a plan' },
): GraphUpdate => ({
  kind: 'add-node',
  node: {
    id,
    type,
    createdBy: 'emma',
    confidence,
    sources: [],
    domain: null,
    outputType: null,
    ready: type === 'Uncertainty' ? false : null,
    nextStage: 'implementation-triad',
    topic: null,
  },
  document: JSON.stringify({ type: 'add_node', node_id: id, data }),
});
const handed = (id: string, more: Partial<Handed> = {}): Handed => ({
  node: id,
  nextStage: 'implementation-triad',
  requiredFields: ['summary'],
  optionalFields: [],
  confidence: 0.95,
  outputType: 'specification',
  approval: null,
  escalationReason: null,
  ...more,
});
const apply = (updates: readonly GraphUpdate[], more: Partial<Apply> = {}): Apply => ({
  type: 'graph.apply',
  updates,
  escalate: { below: 0.9, domains: {} },
  ...more,
});
const NEXT = { task: { title: 'build it', metadata: { stage: 'implementation-triad' } }, loads: ['plan'] };
const GATE = { nextStage: 'user', approval: { question: 'Do you approve this architecture design?' } };
const DARK = {
  uncertainty_source: 'Feature priority unclear',
  question: 'Is dark mode P0 or P1? Affects resource allocation',
  options: [
    { option: 'P0 (Critical)', impact: 'two developers' },
    { option: 'P1 (High)', impact: 'one developer' },
  ],
};

const at = (world: World, id: string): Node => world.state.graph.node(id) as Node;
const ask = (world: World, id = 'ask-1'): Question => world.state.question(id) as Question;
const openIds = (world: World): string[] => [...world.state.openQuestions()].map(({ id }) => id);
const answer = (world: World, status: Answer['status'], more: Partial<Answer> = {}, by: Actor = PERSON) =>
  world.ok({ type: 'question.answer', id: 'ask-1', status, ...more }, by);

/** A run that hands something to a person, and has ended so. */
function asked(
  updates: readonly GraphUpdate[],
  more: Partial<Apply>,
  outcome: 'needs_review' | 'blocked',
): { world: World; task: string; run: string } {
  const world = createWorld();
  const task = world.addOne();
  const run = world.claim({ id: task });
  world.ok(apply(updates, { task, run, ...more }), AGENT);
  world.report(run, { outcome });
  if (outcome === 'needs_review') world.judge(run, true);
  return { world, task, run };
}

describe('an approval gate', () => {
  const gate = () => asked([node('plan')], { handed: [{ ...handed('plan', GATE), next: NEXT }] }, 'needs_review');

  test('is a question, and nothing goes on before it is answered', () => {
    const { world, task } = gate();
    expect(world.status(task)).toBe('review');
    expect(ask(world)).toMatchObject({
      kind: 'approval',
      question: 'Do you approve this architecture design?',
      node: 'plan',
      about: 'plan',
      task,
      nextStage: 'implementation-triad',
      requiredFields: ['summary'],
      answer: null,
    });
    expect(world.state.size).toBe(1);
  });

  test('yes: the task is done, the next stage is made with what it was given, and the word is a node', () => {
    const { world, task } = gate();
    const facts = answer(world, 'approved', { next: NEXT, comment: 'go' });
    expect(world.status(task)).toBe('done');
    const made = facts.about.at(-1) as string;
    expect(world.task(made)).toMatchObject({ title: 'build it', status: 'ready' });
    expect(world.state.graph.loads(made)).toEqual(['plan']);
    expect(at(world, 'plan')).toMatchObject({ approval: 'approved', ready: true });
    const approval = at(world, ask(world).answer?.node ?? '');
    expect(approval).toMatchObject({ type: 'Approval', createdBy: 'user', confidence: 1, sources: ['plan'] });
    expect(eventOf(facts, 'question.answered')?.detail?.['output']).toMatchObject({
      _meta: { output_type: 'approval', created_by: 'user', confidence: 1 },
      _handoff: {
        next_stage: 'implementation-triad',
        graph_node: 'plan',
        required_fields: ['summary'],
        approval_status: 'approved',
      },
    });
    expect(openIds(world)).toEqual([]);
  });

  test('no: the task is cancelled, the node and what came from it are stale, and no stage is made', () => {
    const { world, task } = gate();
    world.ok(
      apply([
        {
          ...node('more'),
          node: { ...(node('more') as Extract<GraphUpdate, { kind: 'add-node' }>).node, sources: ['plan'] },
        } as GraphUpdate,
      ]),
    );
    answer(world, 'rejected', { next: NEXT });
    expect(world.status(task)).toBe('cancelled');
    expect(at(world, 'plan')).toMatchObject({ approval: 'rejected', ready: false });
    expect(at(world, 'plan').stale).not.toBeNull();
    expect(at(world, 'more').stale).not.toBeNull();
    expect(world.state.size).toBe(1);
  });

  test('changes: the task is done again, and may write its node anew', () => {
    const { world, task } = gate();
    answer(world, 'changes_requested', { comment: 'use a queue' });
    expect(world.status(task)).toBe('ready');
    expect(at(world, 'plan').ready).toBe(false);
    const run = world.claim({ id: task });
    world.ok(apply([node('plan')], { task, run, handed: [handed('plan', GATE)] }), AGENT);
    expect(openIds(world)).toEqual(['ask-2']);
  });

  test('changes: the second try does not go round the gate, by whatever node', () => {
    const { world, task } = gate();
    answer(world, 'changes_requested');
    const run = world.claim({ id: task });
    world.ok(apply([node('other')], { task, run, handed: [{ ...handed('other'), next: NEXT }] }), AGENT);
    expect(openIds(world)).toEqual(['ask-2']);
    expect(ask(world, 'ask-2')).toMatchObject({ question: GATE.approval.question, about: 'other' });
    expect(world.state.size).toBe(1);
  });

  test('a no is not undone by an agent', () => {
    const { world } = gate();
    answer(world, 'rejected');
    const raise: GraphUpdate = {
      kind: 'update-node',
      id: 'plan',
      set: { ready: true },
      changesData: true,
      document: '{}',
    };
    expect(world.no(apply([raise]), AGENT).code).toBe('E_PERMISSION_DENIED');
  });

  test('two questions about one node: the last yes lets it go on, and once', () => {
    const world = createWorld();
    world.ok(apply([node('plan', 0.5)], { handed: [{ ...handed('plan', { ...GATE, confidence: 0.5 }), next: NEXT }] }));
    expect(openIds(world)).toEqual(['ask-1', 'ask-2']);
    answer(world, 'approved', { next: NEXT });
    expect(world.state.size).toBe(0);
    answer(world, 'approved', { id: 'ask-2', next: NEXT });
    expect(world.state.size).toBe(1);
  });

  test('a domain by the name of something else has no limit of its own', () => {
    const world = createWorld();
    const { node: fields, ...rest } = node('plan', 0.2) as Extract<GraphUpdate, { kind: 'add-node' }>;
    world.ok(apply([{ ...rest, node: { ...fields, domain: 'constructor' } }]));
    expect(openIds(world)).toEqual(['ask-1']);
  });

  test('only a person answers, once, and what exists', () => {
    const { world } = gate();
    for (const by of [AGENT, RUNTIME, UNKNOWN]) {
      expect(world.no({ type: 'question.answer', id: 'ask-1', status: 'approved' }, by).code).toBe(
        'E_PERMISSION_DENIED',
      );
    }
    expect(world.no({ type: 'question.answer', id: 'ask-9', status: 'approved' }).code).toBe('E_NOT_FOUND');
    answer(world, 'approved');
    const { code, message } = world.no({ type: 'question.answer', id: 'ask-1', status: 'rejected' });
    expect(code).toBe('E_ANSWERED');
    expect(message).toContain('approved by ann');
  });

  test('not while the run that asks still runs', () => {
    const world = createWorld();
    const task = world.addOne();
    const run = world.claim({ id: task });
    world.ok(apply([node('plan')], { task, run, handed: [handed('plan', GATE)] }), AGENT);
    expect(world.no({ type: 'question.answer', id: 'ask-1', status: 'approved' }).code).toBe('E_RUN_ALIVE');
  });

  test('an agent does not get round it by changing the node', () => {
    const { world } = gate();
    const raise: GraphUpdate = {
      kind: 'update-node',
      id: 'plan',
      set: { ready: true },
      changesData: false,
      document: '{}',
    };
    expect(world.no(apply([raise]), AGENT).code).toBe('E_PERMISSION_DENIED');
    const over: GraphUpdate = { kind: 'add-edge', source: 'new', target: 'plan', relation: 'supersedes', fields: {} };
    expect(world.no(apply([node('new'), over]), AGENT).code).toBe('E_PERMISSION_DENIED');
    answer(world, 'approved');
    world.ok(apply([{ ...raise, changesData: true }]), AGENT);
    expect(at(world, 'plan').approval).toBeNull();
  });
});

describe('a question whose task is over', () => {
  test.each(['cancelled', 'done'] as const)("%s: it need not be answered, and stands in nobody's way", (to) => {
    const { world, task } = asked([node('plan')], { handed: [handed('plan', GATE)] }, 'needs_review');
    world.move(task, to);
    expect(world.no({ type: 'question.answer', id: 'ask-1', status: 'approved' }).code).toBe('E_ANSWERED');
    const change: GraphUpdate = { kind: 'update-node', id: 'plan', set: {}, changesData: true, document: '{}' };
    world.ok(apply([change]), AGENT);
  });

  test('done anew: the new run asks itself', () => {
    const { world, task } = asked([node('plan')], { handed: [handed('plan', GATE)] }, 'needs_review');
    world.retry(task);
    const run = world.claim({ id: task });
    world.ok(apply([node('plan')], { task, run, handed: [handed('plan', GATE)] }), AGENT);
    expect(world.no({ type: 'question.answer', id: 'ask-1', status: 'approved' }).code).toBe('E_ANSWERED');
    world.report(run, { outcome: 'needs_review' });
    answer(world, 'approved', { id: 'ask-2' });
    expect(world.status(task)).toBe('done');
  });
});

test('operators are part of a question', () => {
  expect(questionKey('Is age = 5?', [])).not.toBe(questionKey('Is age != 5?', []));
  expect(questionKey('Is  it "so", or not?', [])).toBe(questionKey('is it so or not', []));
});

describe('too little confidence', () => {
  const unsure = () =>
    asked([node('plan', 0.7)], { handed: [{ ...handed('plan', { confidence: 0.7 }), next: NEXT }] }, 'needs_review');

  test('is a question about the node, with an Uncertainty node of its own; the next stage waits', () => {
    const { world } = unsure();
    const question = ask(world);
    expect(question).toMatchObject({ kind: 'uncertainty', about: 'plan', nextStage: 'implementation-triad' });
    expect(question.question).toContain('70 %');
    expect(at(world, question.node)).toMatchObject({ type: 'Uncertainty', sources: ['plan'], ready: false });
    expect(at(world, 'plan').ready).toBe(false);
    expect(world.state.size).toBe(1);
  });

  test.each([
    ['approved', undefined, 'done', true],
    ['answered', 'accept', 'done', true],
    ['changes_requested', undefined, 'ready', false],
    ['answered', 'Redo', 'ready', false],
    ['rejected', undefined, 'cancelled', false],
  ] as const)('%s %s: its task is %s', (status, said, to, ready) => {
    const { world, task } = unsure();
    answer(world, status, said === undefined ? {} : { text: said });
    expect(world.status(task)).toBe(to);
    expect(at(world, 'plan').ready).toBe(ready);
  });

  test('an envelope that is less sure than its node counts too, and a domain may have a limit of its own', () => {
    const { world } = asked(
      [node('plan')],
      { handed: [{ ...handed('plan', { confidence: 0.5 }), next: NEXT }] },
      'needs_review',
    );
    expect(openIds(world)).toEqual(['ask-1']);
    const other = createWorld();
    other.ok(apply([node('plan', 0.7)], { escalate: { below: 0.6, domains: {} } }));
    expect(openIds(other)).toEqual([]);
  });

  test('sure enough: the next stage is made at once, and once for a task', () => {
    const world = createWorld();
    const task = world.addOne({ retry: { maxRetries: 1, backoffSeconds: [0] } });
    const first = world.claim({ id: task });
    const next = {
      task: { ...NEXT.task, dependsOn: [task], metadata: { stage: 'x', handedFrom: task } },
      loads: ['plan'],
    };
    const facts = world.ok(apply([node('plan')], { task, run: first, handed: [{ ...handed('plan'), next }] }), AGENT);
    const made = facts.about.at(-1) as string;
    expect(world.task(made)).toMatchObject({ status: 'ready', dependsOn: [task] });
    world.fail(first);
    world.wait(1);
    const second = world.claim({ id: task });
    const again = world.ok(apply([node('plan')], { task, run: second, handed: [{ ...handed('plan'), next }] }), AGENT);
    expect(world.status(made)).toBe('cancelled');
    expect(world.status(again.about.at(-1) as string)).toBe('ready');
  });
});

describe('what an agent asks', () => {
  const dark = () =>
    asked(
      [node('uncertainty_dark', 0.75, 'Uncertainty', DARK)],
      { handed: [handed('uncertainty_dark', { nextStage: 'user', outputType: 'uncertainty', confidence: 0.75 })] },
      'blocked',
    );

  test('options that say nothing are none of them, and harm nothing', () => {
    const world = createWorld();
    const options = [null, 5, [], {}, { impact: 'lost' }, { option: 'wait', impact: null }, 'go'];
    world.ok(apply([node('uncertainty_dark', 0.95, 'Uncertainty', { ...DARK, options } as never)]), AGENT);
    expect(ask(world).options).toEqual([
      { option: 'wait', impact: null },
      { option: 'go', impact: null },
    ]);
  });

  test('reaches the person with its options, and the answer brings the task back', () => {
    const { world, task } = dark();
    expect(world.status(task)).toBe('blocked');
    expect(openIds(world)).toEqual(['ask-1']);
    expect(ask(world)).toMatchObject({ question: DARK.question, options: DARK.options, about: 'uncertainty_dark' });
    expect(world.no({ type: 'question.answer', id: 'ask-1', status: 'answered' }).code).toBe('E_SCHEMA_VALIDATION');
    answer(world, 'answered', { text: 'P0 (Critical)' });
    expect(world.status(task)).toBe('ready');
    expect(at(world, 'uncertainty_dark')).toMatchObject({ ready: true, approval: 'approved' });
    const resolved: GraphUpdate = {
      kind: 'update-node',
      id: 'uncertainty_dark',
      set: {},
      changesData: true,
      document: '{}',
    };
    expect(world.no(apply([resolved]), AGENT).code).toBe('E_PERMISSION_DENIED');
  });

  test('is not asked twice', () => {
    const { world } = dark();
    answer(world, 'answered', { text: 'P0 (Critical)' });
    const again = { ...DARK, question: 'is dark mode  P0 or P1 affects resource allocation?' };
    const facts = world.ok(apply([node('uncertainty_two', 0.75, 'Uncertainty', again)]), AGENT);
    expect(openIds(world)).toEqual([]);
    expect(facts.about).toEqual(['node:uncertainty_two', 'question:ask-1']);
    expect(at(world, 'uncertainty_two').ready).toBe(true);
    world.ok(apply([node('uncertainty_three', 0.75, 'Uncertainty', { ...DARK, question: 'Is it P2?' })]), AGENT);
    expect(openIds(world)).toEqual(['ask-2']);
  });
});
