/**
 * The invariant of the laws: whatever is said to them, a task that is not final is runnable, running, waits for something that is named, or
 * asks a person; and what it is said to wait for really moves it on.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decide } from '../../src/core/laws/decide.ts';
import type { Decision } from '../../src/core/laws/decision.ts';
import type { Actor, AnyMessage, TaskMessage } from '../../src/core/laws/messages.ts';
import { isVoid, type Question } from '../../src/core/question.ts';
import { OUTCOMES } from '../../src/core/report.ts';
import { type Standing, standing } from '../../src/core/standing.ts';
import { isFinal, TASK_STATUSES, type Task } from '../../src/core/task.ts';
import { AGENT, createWorld, PERSON, RUNTIME, UNKNOWN, type World } from './laws/world.ts';

const questionsOf = ({ state }: World, task: Task): Question[] =>
  [...state.questionsOf(task.id)].filter((question) => question.answer === null && !isVoid(question, task));

const placeOf = (world: World, task: Task): Standing =>
  standing(task, {
    find: (id) => (id === task.id ? task : world.state.task(id)),
    now: world.now(),
    writers: world.state.writers(),
    questions: questionsOf(world, task),
  });

/** The task as a decision would leave it. */
const after = (task: Task, decision: Decision): Task =>
  decision.kind !== 'changed'
    ? task
    : decision.facts.changes
        .filter((change) => change.task === task.id)
        .reduce((now, { set }) => ({ ...now, ...set }), task);

/** Fails with the task and what is wrong about where it stands. */
function holds(world: World, task: Task): void {
  const place = placeOf(world, task);
  const ask = (message: AnyMessage): Decision => decide(world.state, message, RUNTIME, world.now());
  const told = JSON.stringify({ task, place });
  expect(place.kind, told).not.toBe('lost');
  if (place.kind === 'final') return expect(isFinal(task.status), told).toBe(true);
  if (place.kind === 'lost') return;
  expect(place.waits.length, told).toBeGreaterThan(0);
  // What can be taken is taken by the first who asks for it.
  if (place.kind === 'runnable') {
    const claim = { type: 'task.claim', id: task.id, claimer: { agent: 'x', any: true }, leaseMs: 1 } as const;
    expect(ask(claim).kind, told).toBe('changed');
  }
  // A run that goes silent is given up.
  if (place.kind === 'running') {
    const gone = ask({ type: 'run.resume', run: task.run?.id ?? '', result: 'none', gone: true });
    expect(after(task, gone).status, told).not.toBe('in-progress');
  }
  for (const wait of place.waits) {
    if (wait.for === 'dependency') {
      const other = world.state.task(wait.task);
      expect(other, told).toBeDefined();
      expect(other?.status, told).not.toBe('done');
    }
    if (wait.for === 'time') expect(Date.parse(wait.until), told).toBeGreaterThan(world.now());
    // A verdict, whatever it is, leads on.
    if (wait.for === 'evidence') {
      for (const passed of [true, false]) {
        const judged = after(task, ask({ type: 'run.judge', run: wait.run, passed }));
        const next = placeOf(world, judged);
        expect(next.kind === 'waits' && next.waits.some((one) => one.for === 'evidence'), told).toBe(false);
        expect(next.kind, told).not.toBe('lost');
      }
    }
    // A person who is asked can answer: with a yes or with a no it is settled.
    if (wait.for === 'person' && wait.ask === task.id) {
      const no = { type: 'task.answer', id: task.id, status: 'rejected', kind: 'review', asked: '?' } as const;
      expect(decide(world.state, no, PERSON, world.now()).kind, told).toBe('changed');
    }
  }
}

const BY: readonly Actor[] = [PERSON, AGENT, RUNTIME, UNKNOWN];
const number = fc.nat({ max: 7 });

/** Something that is said, about a task that is named by its number: right or wrong, by anybody. */
const step = fc.record({
  kind: fc.constantFrom(
    'add',
    'move',
    'cancel',
    'retry',
    'edit',
    'review',
    'update',
    'told',
    'claim',
    'report',
    'judge',
    'fail',
    'resume',
    'answer',
    'node',
    'reply',
    'wait',
  ),
  of: number,
  other: number,
  by: fc.constantFrom(...BY),
  status: fc.constantFrom(...TASK_STATUSES),
  outcome: fc.constantFrom(...OUTCOMES),
  word: fc.constantFrom('approved', 'rejected', 'changes_requested', 'answered' as const),
  yes: fc.boolean(),
  agent: fc.constantFrom('emma', 'otto'),
});
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const RETRY = { maxRetries: 1, backoffSeconds: [30] };

function messageOf(world: World, { kind, of, other, status, outcome, word, yes, agent }: Step): AnyMessage | null {
  const ids = [...world.state.all()].map(({ id }) => id);
  const id = ids[of % Math.max(1, ids.length)] ?? 'TASK-2026-03-01-009';
  const task = world.state.task(id);
  // The run that it has, or one that is over.
  const run = `${id}-r${Math.max(1, (task?.runs ?? 1) - (other === 7 ? 1 : 0))}`;
  const mine = yes && task?.run?.status === 'running' ? { run: task.run.id } : {};
  const messages: Record<Step['kind'], () => AnyMessage | null> = {
    add: () => ({
      type: 'task.add',
      tasks: [
        {
          title: 'a task',
          status: yes ? 'ready' : 'backlog',
          reviewRequired: other === 1,
          ...(other % 2 === 0 ? { retry: RETRY } : {}),
          ...(other > 3 && ids.length > 0 ? { dependsOn: [ids[other % ids.length] as string] } : {}),
          ...(other === 3 && ids.length > 0 ? { parentId: id } : {}),
          ...(other === 2 ? { writes: ['/ws'] } : {}),
        },
      ],
    }),
    move: () => ({ type: 'task.move', id, to: status }),
    cancel: () => ({ type: 'task.cancel', id }),
    retry: () => ({ type: 'task.retry', id }),
    edit: () => ({
      type: 'task.edit',
      id,
      dependsOn: yes || ids.length === 0 ? [] : [ids[other % ids.length] as string],
    }),
    review: () => ({ type: 'task.edit', id, reviewRequired: yes }),
    update: () => ({
      type: 'task.update',
      id,
      ...mine,
      ...(yes ? { to: status } : {}),
      texts: { body: 'x' },
      detail: {},
    }),
    told: () => ({ type: 'task.report', id, ...(other === 0 ? mine : {}), agent, outcome, detail: {} }),
    claim: () => ({ type: 'task.claim', id, claimer: { agent, any: true }, leaseMs: 60_000 }),
    report: () => ({ type: 'run.report', run, outcome }),
    judge: () => ({ type: 'run.judge', run, passed: yes, ...(other === 0 ? { final: true } : {}) }),
    fail: () => ({
      type: 'run.fail',
      run,
      code: yes ? 'E_TIMEOUT' : 'E_CREDENTIALS',
      message: 'm',
      ...(other === 0 ? { final: true } : {}),
    }),
    resume: () => ({
      type: 'run.resume',
      run,
      result: other === 6 ? 'unreadable' : yes ? 'none' : outcome,
      gone: other > 2,
    }),
    answer: () => ({ type: 'task.answer', id, status: word, kind: 'review', asked: 'is it done?', text: 'so' }),
    node: () => unsure(`n${of}${other}`, id, mine),
    reply: () => ({ type: 'question.answer', id: `ask-${of + 1}`, status: word, text: 'so' }),
    wait: () => null,
  };
  return messages[kind]();
}

/** A node that its agent is not sure of: a person is asked. */
const unsure = (node: string, task: string, mine: object): AnyMessage => ({
  type: 'graph.apply',
  updates: [
    {
      kind: 'add-node',
      node: {
        id: node,
        type: 'Specification',
        createdBy: 'emma',
        confidence: 0.5,
        sources: [],
        domain: null,
        outputType: null,
        ready: null,
        nextStage: 'user',
        topic: null,
      },
      document: JSON.stringify({ type: 'add_node', node_id: node, data: { summary: 's' } }),
    },
  ],
  escalate: { below: 0.9, domains: {} },
  task,
  ...mine,
});

test('whatever is said, by whomever and in whatever order: no task is lost', () => {
  let changed = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 60 }), (steps) => {
      const world = createWorld();
      world.add({}, {});
      for (const one of steps) {
        const message = messageOf(world, one);
        if (message === null) world.wait(45_000);
        else if (world.ask(message, one.by).kind === 'changed') changed += 1;
        for (const task of [...world.state.all()]) holds(world, task);
      }
    }),
    { numRuns: 300 },
  );
  // Most of it is refused, as it should be; what is left has to be enough to say something.
  expect(changed).toBeGreaterThan(500);
});

test('a review that is no longer required: the evidence is looked at again, and decides', () => {
  const world = createWorld();
  const id = world.addOne({ reviewRequired: true });
  const run = world.claim({ id });
  world.report(run);
  world.judge(run, true);
  expect(placeOf(world, world.task(id)).kind).toBe('asks');
  world.edit(id, { reviewRequired: false });
  holds(world, world.task(id));
  world.judge(run, true);
  expect(world.status(id)).toBe('done');
});

describe('what is lost', () => {
  const base = (world: World, fields: Partial<Task>): Task => ({ ...world.task(world.addOne()), ...fields });
  const run = (world: World): Task['run'] => {
    const id = world.addOne();
    world.claim({ id });
    return { ...(world.task(id).run as NonNullable<Task['run']>), status: 'completed', outcome: 'done' };
  };

  test('a task in review that was judged, and nothing followed', () => {
    const world = createWorld();
    const task = base(world, { status: 'review', run: run(world), verdict: 'proven' });
    expect(placeOf(world, task)).toMatchObject({
      kind: 'lost',
      try: [`baton task move ${task.id} done`, `baton task retry ${task.id}`],
    });
    expect(placeOf(world, { ...task, verdict: null })).toMatchObject({ kind: 'waits', waits: [{ for: 'evidence' }] });
  });

  test('a task that is ready and depends on one that failed, or on one that is not there', () => {
    const world = createWorld();
    const failed = world.addOne();
    world.kill(failed);
    expect(placeOf(world, base(world, { dependsOn: [failed] })).kind).toBe('lost');
    expect(placeOf(world, base(world, { dependsOn: ['TASK-2026-03-01-999'] })).kind).toBe('lost');
  });

  test('a task that is blocked by one that has not failed', () => {
    const world = createWorld();
    const cause = { code: 'E_DEPENDENCY_FAILED', message: 'm', task: world.addOne() };
    expect(placeOf(world, base(world, { status: 'blocked', cause, dependsOn: [cause.task] })).kind).toBe('lost');
  });
});

test('a message of each kind that the laws know is said in the test above', () => {
  const said = new Set<string>();
  const world = createWorld();
  world.add({}, {});
  for (const kind of [
    'add',
    'move',
    'cancel',
    'retry',
    'edit',
    'update',
    'told',
    'claim',
    'report',
    'judge',
    'fail',
    'resume',
  ] as const) {
    const message = messageOf(world, {
      kind,
      of: 0,
      other: 0,
      by: PERSON,
      status: 'ready',
      outcome: 'done',
      word: 'approved',
      yes: true,
      agent: 'emma',
    });
    if (message !== null) said.add(message.type);
  }
  const tasks: readonly TaskMessage['type'][] = [
    'task.add',
    'task.move',
    'task.cancel',
    'task.retry',
    'task.edit',
    'task.update',
    'task.report',
    'task.claim',
    'run.report',
    'run.judge',
    'run.fail',
    'run.resume',
  ];
  expect([...said].sort()).toEqual([...tasks].sort());
});
