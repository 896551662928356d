/** What waits for a person and what their answers do: to questions, to work in review, to failures. Against a store in memory. */
import { describe, expect, test } from 'vitest';
import { type Config, configOf } from '../../src/core/config.ts';
import type { Actor, GraphMessage, NewTask, TaskMessage } from '../../src/core/laws/messages.ts';
import type { Store } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { detect } from '../../src/protocol/detect.ts';
import { graphUpdateOf, handedOf } from '../../src/protocol/output/graph.ts';
import type { GraphUpdate, Output } from '../../src/protocol/output/schema.ts';
import { answersOf } from '../../src/runtime/answer-words.ts';
import { type AnsweredItem, answerQuestion, type PersonsWord } from '../../src/runtime/answers.ts';
import { loadNode } from '../../src/runtime/loading.ts';
import { whyTask } from '../../src/runtime/lookup.ts';
import { isAlwaysTold, namesOf, patternOf } from '../../src/runtime/notify-names.ts';
import { type InboxItem, waitingFor } from '../../src/runtime/people-inbox.ts';
import { openMemoryStore } from '../../src/store/memory.ts';
import { DESIGN, unsureOf } from '../helpers/asking.ts';

const PERSON: Actor = { kind: 'person', name: 'user' };
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };
const CONFIG = configOf({
  agents: { emma: { kind: 'command', command: ['true'], roles: ['EXECUTOR'] } },
  stages: { 'implementation-triad': { role: 'EXECUTOR' }, polish: { agent: 'emma' } },
});

const DARK = unsureOf('uncertainty_darkmode_priority_20251028_103000');
const UNSURE = `[GRAPH_UPDATE]
type: add_node
node_id: spec_cache_20251028_110000
node_type: Specification
metadata: { created_by: emma, confidence: 0.7 }
data: { component_name: cache, purpose: speed, interfaces: [] }
handoff: { ready_for_next: true, next_stage: polish, required_fields: [purpose] }
[/GRAPH_UPDATE]

OUTPUT:
  _meta: { output_type: specification, created_by: emma, confidence: 0.7 }
  _handoff: { next_stage: polish, graph_node: spec_cache_20251028_110000, required_fields: [purpose] }
`;

interface World {
  readonly store: Store;
  /** The tasks whose work was merged. */
  readonly merged: string[];
  /** Moves on by a second with every look. */
  ok(message: TaskMessage | GraphMessage, by?: Actor): Promise<readonly Task[]>;
  add(...tasks: readonly Partial<NewTask>[]): Promise<string[]>;
  claim(id: string): Promise<string>;
  /** A run of the task says a text and ends so. */
  says(id: string, text: string, outcome: 'needs_review' | 'blocked' | 'done'): Promise<string>;
  inbox(): Promise<InboxItem[]>;
  answer(id: string, status: PersonsWord['status'], more?: Partial<PersonsWord>, by?: Actor): Promise<AnsweredItem>;
  find(id: string): Promise<Task>;
  events(type: string): Promise<Readonly<Record<string, unknown>>[]>;
}

function makeWorld(config: Config = CONFIG): World {
  let at = Date.parse('2026-11-16T08:00:00Z');
  const now = (): number => (at += 1_000);
  const store = openMemoryStore({ now });
  const merged: string[] = [];
  const mergeLinked = async ({ id }: Task): Promise<null> => {
    merged.push(id);
    return null;
  };
  const world: World = {
    store,
    merged,
    async ok(message, by = RUNTIME) {
      const answer = await store.send({ message, by });
      if (answer.kind === 'refused') throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
      return answer.tasks;
    },
    add: async (...tasks) =>
      (await world.ok({ type: 'task.add', tasks: tasks.map((task) => ({ title: 'a task', ...task })) }, PERSON)).map(
        ({ id }) => id,
      ),
    claim: async (id) =>
      (await world.ok({ type: 'task.claim', id, claimer: { agent: 'emma', any: true }, leaseMs: 60_000 }))[0]?.run
        ?.id ?? '',
    async says(task, text, outcome) {
      const run = await world.claim(task);
      const said = detect(text).filter(({ dialect }) => dialect === 'output');
      const output = said.find(({ kind }) => kind === 'OUTPUT');
      if (said.length > 0) {
        await world.ok({
          type: 'graph.apply',
          updates: said
            .filter(({ kind }) => kind === 'GRAPH_UPDATE')
            .map(({ value }) => graphUpdateOf(value as GraphUpdate)),
          ...(output === undefined ? {} : { handed: [handedOf(output.value as Output)] }),
          escalate: { below: 0.9, domains: {} },
          task,
          run,
        });
      }
      await world.ok({ type: 'run.report', run, outcome, summary: text.slice(0, 80) });
      if (outcome !== 'blocked') await world.ok({ type: 'run.judge', run, passed: true });
      return run;
    },
    inbox: () => waitingFor(store),
    answer: (id, status, more = {}, by = PERSON) =>
      answerQuestion({ store, config, now, workspace: '/w', mergeLinked }, { id, status, ...more }, by),
    find: async (id) => (await store.find(id)) as Task,
    async events(type) {
      const found: Readonly<Record<string, unknown>>[] = [];
      for await (const { events, by } of store.eventsAfter({ after: 0 })) {
        for (const event of events) {
          if (event.type === type) found.push({ ...event.detail, task: event.task, byKind: by.kind });
        }
      }
      return found;
    },
  };
  return world;
}

describe('an approval', () => {
  async function gate(config?: Config) {
    const world = makeWorld(config);
    const [task = '', after = '', later = '', apart = ''] = await world.add({}, {}, {}, {});
    await world.ok({ type: 'task.edit', id: after, dependsOn: [task] }, PERSON);
    await world.ok({ type: 'task.edit', id: later, dependsOn: [after] }, PERSON);
    await world.says(task, DESIGN, 'needs_review');
    return { world, task, after, later, apart };
  }

  test('stands in the inbox with its question, and blocks exactly what depends on it', async () => {
    const { world, task, after, later } = await gate();
    const items = await world.inbox();
    expect(items).toEqual([
      {
        id: 'ask-1',
        kind: 'approval',
        question: 'Do you approve this architecture design?',
        options: [],
        since: expect.stringMatching(/^2026-11-16T08:00:/),
        blocks: [task, after, later],
        task,
        node: 'adrs_summary_20251028_120000',
        reason: null,
        session: 'default',
        nextStage: 'implementation-triad',
      },
    ]);
    expect(Object.keys(items[0] as object).slice(0, 6)).toEqual([
      'id',
      'kind',
      'question',
      'options',
      'since',
      'blocks',
    ]);
  });

  test('the task that waits names it and how it is answered', async () => {
    const { world, task } = await gate();
    const { waitsFor, because } = await whyTask(world.store, await world.find(task), 0);
    expect(waitsFor).toEqual([
      {
        for: 'person',
        ask: 'ask-1',
        text: 'an answer to ask-1: Do you approve this architecture design?',
        try: ['baton approve ask-1', 'baton changes ask-1 --comment "…"', 'baton reject ask-1'],
      },
    ]);
    expect(because.map(({ event }) => event)).toContain('question.opened');
  });

  test('approved: an OUTPUT and an Approval by user, the task is done, the next stage is made with what it may see', async () => {
    const { world, task } = await gate();
    const { answer, output, made, nodes, ...said } = await world.answer('ask-1', 'approved', { comment: 'go ahead' });
    expect(output).toMatchObject({
      _meta: { output_type: 'approval', created_by: 'user', confidence: 1 },
      _handoff: {
        next_stage: 'implementation-triad',
        graph_node: 'adrs_summary_20251028_120000',
        required_fields: ['key_decisions', 'implementation_plan'],
        approval_status: 'approved',
      },
    });
    expect(answer).toMatchObject({ status: 'approved', by: 'user', comment: 'go ahead', node: nodes.at(-1)?.id });
    expect(said.task?.status).toBe('done');
    const approval = await world.store.node(answer.node ?? '');
    expect(approval).toMatchObject({ type: 'Approval', createdBy: 'user', confidence: 1 });
    expect(approval?.document['data']).toMatchObject({
      approved_item: 'adrs_summary_20251028_120000',
      approval_status: 'approved',
    });
    expect((await world.store.node('adrs_summary_20251028_120000'))?.approval).toBe('approved');
    const [next] = made;
    expect(next).toMatchObject({
      status: 'ready',
      routing: { role: 'EXECUTOR' },
      dependsOn: [task],
      metadata: { stage: 'implementation-triad', node: 'adrs_summary_20251028_120000' },
    });
    const body = await world.store.text(next?.id ?? '', 'body');
    expect(body).toContain('use a queue');
    expect(body).not.toContain('not asked for');
    expect(await world.inbox()).toEqual([]);
  });

  test('--next names another stage; one that nobody knows answers nothing', async () => {
    const { world } = await gate();
    await expect(world.answer('ask-1', 'approved', { next: 'nobody' })).rejects.toMatchObject({
      code: 'E_AGENT_NOT_FOUND',
    });
    expect((await world.inbox()).length).toBe(1);
    const { made } = await world.answer('ask-1', 'approved', { next: 'polish' });
    expect(made[0]).toMatchObject({ routing: { agent: 'emma' }, metadata: { stage: 'polish' } });
    await expect(world.answer('ask-1', 'rejected', { next: 'polish' })).rejects.toMatchObject({ code: 'E_ANSWERED' });
  });

  test('a node with gaps is not handed on, and nothing is answered', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, DESIGN.replace('  implementation_plan: "first the queue"\n', ''), 'needs_review');
    await expect(world.answer('ask-1', 'approved')).rejects.toMatchObject({
      code: 'E_NOT_LOADABLE',
      message: expect.stringContaining('implementation_plan'),
    });
    expect((await world.find(task)).status).toBe('review');
    expect((await world.store.question('ask-1'))?.answer).toBeNull();
  });

  test('rejected: called off; changes: done again, and told why', async () => {
    const { world, task, after } = await gate();
    await world.answer('ask-1', 'rejected', { comment: 'we do not build this' });
    expect((await world.find(task)).status).toBe('cancelled');
    expect((await world.find(after)).status).toBe('blocked');

    const other = await gate();
    const { made } = await other.world.answer('ask-1', 'changes_requested', { comment: 'keep the old API' });
    expect(made).toEqual([]);
    expect((await other.world.find(other.task)).status).toBe('ready');
    expect(answersOf(await other.world.store.history(other.task), other.task)).toEqual([
      'You asked: Do you approve this architecture design?\nA person asks for changes: keep the old API',
    ]);
  });

  test('by its node or its task it is the same question; answered twice, the second is told of the first', async () => {
    const { world, task } = await gate();
    const { item } = await world.answer('adrs_summary_20251028_120000', 'approved', { comment: 'fine' });
    expect(item.id).toBe('ask-1');
    for (const id of ['ask-1', 'adrs_summary_20251028_120000', task]) {
      await expect(world.answer(id, 'rejected')).rejects.toMatchObject({
        code: 'E_ANSWERED',
        message: expect.stringMatching(/approved \(fine\) by user at 2026-11-16T08/),
      });
    }
    expect((await world.find(task)).status).toBe('done');
  });

  test('free text is no yes: it asks for changes', async () => {
    const { world, task } = await gate();
    const { answer } = await world.answer('ask-1', 'answered', { text: 'never like this' });
    expect(answer).toMatchObject({ status: 'changes_requested', text: 'never like this' });
    expect((await world.find(task)).status).toBe('ready');
    const yes = await gate();
    expect((await yes.world.answer('ask-1', 'answered', { text: 'Yes' })).answer.status).toBe('approved');
  });

  test.each(['agent', 'unknown', 'runtime'] as const)(
    'by %s it is refused, written down, and changes nothing',
    async (kind) => {
      const { world, task } = await gate();
      await expect(world.answer('ask-1', 'approved', {}, { kind, name: 'mallory' })).rejects.toMatchObject({
        code: 'E_PERMISSION_DENIED',
      });
      expect((await world.find(task)).status).toBe('review');
      expect((await world.inbox()).map(({ id }) => id)).toEqual(['ask-1']);
      expect(await world.events('question.refused')).toEqual([
        expect.objectContaining({
          question: 'ask-1',
          status: 'approved',
          code: 'E_PERMISSION_DENIED',
          byKind: kind,
          task,
        }),
      ]);
    },
  );
});

describe('an uncertainty', () => {
  test('is answered by number, by name in any case, or in own words; the one who asked is told', async () => {
    for (const [text, answer] of [
      ['1', 'P0 (Critical)'],
      ['p1 (high)', 'P1 (High)'],
      ['P2, later', 'P2, later'],
    ] as const) {
      const world = makeWorld();
      const [task = ''] = await world.add({});
      await world.says(task, DARK, 'blocked');
      const [item] = await world.inbox();
      expect(item).toMatchObject({
        id: 'ask-1',
        kind: 'uncertainty',
        blocks: [task],
        reason: 'Confidence below 90% threshold',
      });
      expect(item?.options.map(({ impact }) => impact)).toEqual([
        'Dedicate 2 developers for 1 week',
        '1 developer over 2 weeks',
      ]);
      const said = await world.answer('ask-1', 'answered', { text });
      expect(said.answer).toMatchObject({ status: 'answered', text: answer });
      expect(said.output).toMatchObject({ _meta: { output_type: 'approval', created_by: 'user' } });
      expect((await world.find(task)).status).toBe('ready');
      const node = await world.store.node('uncertainty_darkmode_priority_20251028_103000');
      expect(node).toMatchObject({ ready: true, document: { data: { resolution: answer } } });
      expect(answersOf(await world.store.history(task), task)).toEqual([
        `You asked: Is dark mode P0 or P1? Affects resource allocation\nThe answer (by a person): ${answer}`,
      ]);
    }
  });

  test('of several questions of a task all are answered before it goes on', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(
      task,
      `${UNSURE.replaceAll('spec_cache', 'spec_queue').replace(/OUTPUT:[\s\S]*/, '')}${UNSURE}`,
      'needs_review',
    );
    expect((await world.inbox()).map(({ id, blocks }) => [id, blocks])).toEqual([
      ['ask-1', [task]],
      ['ask-2', [task]],
    ]);
    await expect(world.answer(task, 'approved')).rejects.toMatchObject({
      message: expect.stringContaining('ask-1, ask-2'),
    });
    await world.answer('ask-2', 'approved');
    expect((await world.find(task)).status).toBe('review');
    // A no may still come.
    expect(world.merged).toEqual([]);
    expect((await world.inbox()).map(({ id }) => id)).toEqual(['ask-1']);
    await world.answer(task, 'approved');
    expect((await world.find(task)).status).toBe('done');
    expect(world.merged).toEqual([task]);
  });

  test('of a task that was called off it is nobody’s to answer any more', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, UNSURE, 'needs_review');
    await world.ok({ type: 'task.cancel', id: task }, PERSON);
    expect(await world.inbox()).toEqual([]);
    for (const status of ['approved', 'changes_requested', 'rejected'] as const) {
      for (const id of ['ask-1', 'spec_cache_20251028_110000', task]) {
        await expect(world.answer(id, status)).rejects.toMatchObject({
          code: 'E_ANSWERED',
          message: `ask-1 need not be answered any more: ${task}, which asked, is cancelled`,
        });
      }
    }
    expect(world.merged).toEqual([]);
  });

  test('of a task that has failed since, the failure is asked about, and retry retries', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, UNSURE, 'needs_review');
    await world.ok({ type: 'task.move', id: task, to: 'ready' }, PERSON);
    const run = await world.claim(task);
    await world.ok({ type: 'run.fail', run, code: 'E_CREDENTIALS', message: 'no key', final: true });
    expect(await world.inbox()).toMatchObject([{ id: task, kind: 'failure', options: [{ option: 'retry' }] }]);
    const { answer } = await world.answer(task, 'answered', { text: 'retry' });
    expect(answer).toMatchObject({ status: 'answered', text: null });
    expect(await world.find(task)).toMatchObject({ status: 'ready', attempts: 0 });
    expect(await world.inbox()).toEqual([]);
  });

  test('of an earlier run it keeps nobody from what a later one writes; the later one is what is looked at', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({ reviewRequired: true });
    await world.says(task, UNSURE, 'needs_review');
    await world.ok({ type: 'task.move', id: task, to: 'ready' }, PERSON);
    await world.says(
      task,
      `[GRAPH_UPDATE]
type: update_node
node_id: spec_cache_20251028_110000
metadata: { confidence: 0.95 }
data: { purpose: more speed }
handoff: { ready_for_next: true }
[/GRAPH_UPDATE]`,
      'done',
    );
    expect(await loadNode({ store: world.store, config: CONFIG }, 'spec_cache_20251028_110000')).toMatchObject({
      node: { document: { data: { purpose: 'more speed' } } },
    });
    expect(await world.inbox()).toMatchObject([{ id: task, kind: 'review' }]);
    const { waitsFor } = await whyTask(world.store, await world.find(task), 0);
    expect(waitsFor).toMatchObject([{ ask: task }]);
    await world.answer(task, 'approved');
    expect((await world.find(task)).status).toBe('done');
  });

  test('an empty answer is none', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, DARK, 'blocked');
    await expect(world.answer('ask-1', 'answered', { text: '  ' })).rejects.toMatchObject({
      code: 'E_SCHEMA_VALIDATION',
    });
    expect((await world.find(task)).status).toBe('blocked');
  });

  test('about a node that is not sure enough: accept lets it go on, words ask for changes', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, UNSURE, 'needs_review');
    const [item] = await world.inbox();
    expect(item).toMatchObject({ kind: 'uncertainty', node: 'spec_cache_20251028_110000', nextStage: 'polish' });
    const { made } = await world.answer('ask-1', 'answered', { text: 'Accept' });
    expect(made[0]).toMatchObject({ metadata: { stage: 'polish' } });
    expect((await world.find(task)).status).toBe('done');

    const other = makeWorld();
    const [again = ''] = await other.add({});
    await other.says(again, UNSURE, 'needs_review');
    const redo = await other.answer('ask-1', 'answered', { text: 'measure it first' });
    expect(redo.answer.status).toBe('changes_requested');
    expect((await other.find(again)).status).toBe('ready');
    expect(answersOf(await other.store.history(again), again).join()).toContain('measure it first');
  });
});

test('nobody is told of one question only because another came just before', () => {
  expect(isAlwaysTold(namesOf({ type: 'question.opened' }))).toBe(true);
  expect(patternOf(['question.*', 'node.stale'])(namesOf({ type: 'question.answered' }))).toBe(true);
});

describe('a task that waits', () => {
  const review = async (world: World, more: Partial<NewTask> = { reviewRequired: true }): Promise<string> => {
    const [task = ''] = await world.add(more);
    await world.says(task, 'all is made', 'done');
    return task;
  };

  test('in review stands in the inbox; approved it is done, with an Approval and an OUTPUT by user', async () => {
    const world = makeWorld();
    const task = await review(world);
    expect(await world.inbox()).toMatchObject([{ id: task, kind: 'review', blocks: [task], task, node: null }]);
    const { output, nodes, answer } = await world.answer(task, 'approved', { comment: 'looks good' });
    expect((await world.find(task)).status).toBe('done');
    expect(nodes[0]).toMatchObject({ type: 'Approval', createdBy: 'user' });
    expect(output).toMatchObject({
      _meta: { output_type: 'approval', created_by: 'user' },
      _handoff: { graph_node: answer.node, approval_status: 'approved' },
    });
    expect(await world.events('question.answered')).toMatchObject([{ question: task, status: 'approved', by: 'user' }]);
    await expect(world.answer(task, 'rejected')).rejects.toMatchObject({
      code: 'E_ANSWERED',
      message: expect.stringMatching(/approved \(looks good\) by user at .*; it is done now/),
    });
  });

  test('what the runtime is still to judge is not a person’s to answer', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    const run = await world.claim(task);
    await world.ok({ type: 'run.report', run, outcome: 'done' });
    expect(await world.inbox()).toEqual([]);
    await expect(world.answer(task, 'approved')).rejects.toMatchObject({ code: 'E_ILLEGAL_MOVE' });
  });

  test('changes go to the next run in its words; rejected is called off', async () => {
    const world = makeWorld();
    const task = await review(world);
    await world.answer(task, 'changes_requested', { comment: 'name the tests' });
    expect((await world.find(task)).status).toBe('ready');
    expect(answersOf(await world.store.history(task), task)).toEqual([
      'A person sent this task back to you, and says: name the tests',
    ]);
    const other = await review(world);
    await world.answer(other, 'rejected', { comment: 'no need' });
    expect((await world.find(other)).status).toBe('cancelled');
    expect((await world.events('task.transitioned')).at(-1)).toMatchObject({ to: 'cancelled', reason: 'no need' });
  });

  test('blocked by its own word, it goes on with the answer', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await world.says(task, 'which database?', 'blocked');
    expect(await world.inbox()).toMatchObject([{ id: task, kind: 'uncertainty', blocks: [task] }]);
    await world.answer(task, 'answered', { text: 'the small one' });
    expect((await world.find(task)).status).toBe('ready');
    expect(answersOf(await world.store.history(task), task).join()).toContain('the small one');
  });

  test('that failed is tried again, and what waits for it with it', async () => {
    const world = makeWorld();
    const [task = '', after = ''] = await world.add({}, {});
    await world.ok({ type: 'task.edit', id: after, dependsOn: [task] }, PERSON);
    const run = await world.claim(task);
    await world.ok({ type: 'run.fail', run, code: 'E_CREDENTIALS', message: 'no key', final: true });
    expect(await world.inbox()).toMatchObject([
      {
        id: task,
        kind: 'failure',
        question: `${task} failed: no key; try again?`,
        options: [{ option: 'retry' }],
        blocks: [task, after],
      },
    ]);
    await world.answer(task, 'answered', { text: 'RETRY' });
    expect(await world.find(task)).toMatchObject({ status: 'ready', attempts: 0 });
    expect((await world.find(after)).status).toBe('ready');
  });

  test('that failed can be given up and leaves the inbox; what depends on it can never start, and asks there', async () => {
    const world = makeWorld();
    const [task = '', after = ''] = await world.add({}, {});
    await world.ok({ type: 'task.edit', id: after, dependsOn: [task] }, PERSON);
    const run = await world.claim(task);
    await world.ok({ type: 'run.fail', run, code: 'E_CREDENTIALS', message: 'no key', final: true });
    const { answer, nodes } = await world.answer(task, 'answered', { text: 'no' });
    expect([answer.status, nodes]).toEqual(['rejected', []]);
    expect((await world.find(task)).status).toBe('cancelled');
    expect(await world.find(after)).toMatchObject({ status: 'blocked', cause: { code: 'E_DEPENDENCY_FAILED' } });
    expect(await world.inbox()).toMatchObject([{ id: after, reason: `${task} is cancelled (E_DEPENDENCY_FAILED)` }]);
    await world.answer(after, 'rejected');
    expect(await world.inbox()).toEqual([]);
  });

  test('is answered in one record, and once: whoever comes second is told so', async () => {
    const world = makeWorld();
    const task = await review(world);
    const before = await world.store.lastRecord();
    const both = await Promise.allSettled([world.answer(task, 'approved'), world.answer(task, 'approved')]);
    expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect((both[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'E_ANSWERED' });
    const types: string[][] = [];
    for await (const { events } of world.store.eventsAfter({ after: before }))
      types.push(events.map(({ type }) => type));
    expect(types).toEqual([['task.transitioned', 'node.added', 'question.answered']]);
    const approvals: string[] = [];
    for await (const { id } of world.store.nodes({ type: ['Approval'] })) approvals.push(id);
    expect(approvals).toHaveLength(1);
  });

  test('of nothing that waits, and of nothing at all', async () => {
    const world = makeWorld();
    const [task = ''] = await world.add({});
    await expect(world.answer(task, 'approved')).rejects.toMatchObject({ code: 'E_ILLEGAL_MOVE' });
    for (const id of ['ask-9', 'TASK-2026-01-01-001', 'some_node']) {
      await expect(world.answer(id, 'approved')).rejects.toMatchObject({ code: 'E_NOT_FOUND' });
    }
  });

  test('the oldest comes first, of any kind', async () => {
    const world = makeWorld();
    const first = await review(world);
    const [asking = ''] = await world.add({});
    await world.says(asking, DARK, 'blocked');
    const last = await review(world);
    expect((await world.inbox()).map(({ id }) => id)).toEqual([first, 'ask-1', last]);
  });
});
