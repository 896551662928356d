/**
 * A store against the reference model: whatever is asked of both, in any order, both say the same and hold the same tasks, and what the store
 * wrote down folds to what it holds. `BATON_SEED=n` looks at other histories than the ones that are looked at every time.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Actor, NewTask, TaskMessage } from '../../src/core/laws/messages.ts';
import { createState } from '../../src/core/state.ts';
import type { Answer, Store, StoredRecord } from '../../src/core/store.ts';
import { FALLBACK_TRIGGERS, TASK_STATUSES, type Task, type TaskStatus } from '../../src/core/task.ts';
import type { OpenStore } from './conformance.ts';
import {
  ancestors,
  decideByModel,
  emptyModel,
  isCurrent,
  isLegal,
  LEGAL,
  type Model,
  type ModelRun,
  type ModelTask,
} from './reference-model.ts';

const START = Date.UTC(2026, 2, 1, 23, 59, 30);
const SEED = Number(process.env['BATON_SEED'] ?? 20_260_301);

interface Asked {
  readonly message: TaskMessage;
  readonly by: Actor;
  readonly request: string;
  answer: Answer;
}

interface Real {
  readonly store: Store;
  readonly clock: { now: number };
  readonly asked: Asked[];
  records: StoredRecord[];
}

/** A step makes its message from what there is at that moment. */
type Step = (model: Model, real: Real) => Promise<void>;

class Command implements fc.AsyncCommand<Model, Real> {
  readonly name: string;
  readonly step: Step;
  constructor(name: string, step: Step) {
    this.name = name;
    this.step = step;
  }
  check = (): boolean => true;
  async run(model: Model, real: Real): Promise<void> {
    await this.step(model, real);
    await compare(model, real);
  }
  toString = (): string => this.name;
}

const ACTORS: readonly Actor[] = [
  { kind: 'person', name: 'ann' },
  { kind: 'runtime', name: 'baton' },
  { kind: 'agent', name: 'emma' },
  { kind: 'unknown', name: 'somebody' },
];

async function ask(model: Model, real: Real, message: TaskMessage, by: Actor, again?: Asked): Promise<void> {
  const request = again?.request ?? `q${real.asked.length}`;
  const isRepeated = again?.answer.kind === 'changed';
  const said = isRepeated ? null : decideByModel(model, message, by);
  const answer = await real.store.send({ message, by, request });
  if (again === undefined) real.asked.push({ message, by, request, answer });
  else again.answer = isRepeated ? again.answer : answer;
  const records = await take(real.store, real.records.length);
  real.records.push(...records);
  expect(records).toHaveLength(said?.kind === 'changed' ? 1 : 0);
  if (said === null) {
    expect({ kind: answer.kind, about: aboutOf(answer) }).toEqual({ kind: 'same', about: aboutOf(again?.answer) });
  } else if (said.kind === 'refused') {
    expect(said.codes).toContain(answer.kind === 'refused' ? answer.refusal.code : answer.kind);
  } else {
    expect({ kind: answer.kind, about: aboutOf(answer) }).toEqual(said);
  }
}

const aboutOf = (answer: Answer | undefined): string[] =>
  answer === undefined || answer.kind === 'refused' ? [] : answer.tasks.map(({ id }) => id);

async function take(store: Store, after: number): Promise<StoredRecord[]> {
  const records: StoredRecord[] = [];
  for await (const record of store.eventsAfter({ after })) records.push(record);
  return records;
}

const listOf = async (store: Store): Promise<Task[]> => {
  const tasks: Task[] = [];
  for await (const task of store.tasks()) tasks.push(task);
  return tasks;
};

const RUN_KEYS = ['id', 'attempt', 'agent', 'model', 'startedAt', 'endedAt', 'status', 'leaseMs', 'outcome'] as const;
const KEYS = [
  ...(['id', 'externalId', 'status', 'priority', 'agent', 'role', 'tags', 'session', 'parentId', 'depth'] as const),
  ...([
    'dependsOn',
    'maxRetries',
    'attempts',
    'runs',
    'availableAt',
    'cause',
    'reviewRequired',
    'usd',
    'messages',
    'used',
    'writes',
  ] as const),
];

/** A task as a text, one line a field. */
const written = (
  task: Pick<ModelTask, (typeof KEYS)[number]>,
  run: Pick<ModelRun, (typeof RUN_KEYS)[number]> | null,
): string =>
  [
    ...KEYS.map((key) => `${key} ${JSON.stringify(task[key])}`),
    ...(run === null ? ['no run'] : RUN_KEYS.map((key) => `run ${key} ${run[key]}`)),
  ].join('\n');

const ofTask = ({ routing: { agent, role, tags }, retry, run, cause, cost, fallback, ...task }: Task): string =>
  written(
    {
      ...task,
      ...{ agent, role, tags, maxRetries: retry.maxRetries, cause: cause?.code ?? null, usd: cost.usd },
      dependsOn: [...task.dependsOn],
      messages: [...task.messages],
      used: [...(fallback?.used ?? [])],
    },
    run,
  );

const byId = (a: { id: string }, b: { id: string }): number => (a.id < b.id ? -1 : 1);

async function compare(model: Model, real: Real): Promise<void> {
  const tasks = await listOf(real.store);
  const wanted = [...model.tasks]
    .sort(byId)
    .map((task) => written(task, task.run))
    .join('\n\n');
  expect([...tasks].sort(byId).map(ofTask).join('\n\n')).toBe(wanted);
  for (const task of tasks) {
    const inModel = model.tasks.find(({ id }) => id === task.id) as ModelTask;
    const waitsFor = ancestors(model, inModel);
    const isBegun = ['in-progress', 'review', 'done'].includes(task.status);
    if (isBegun && waitsFor.some(({ status }) => status !== 'done')) throw new Error(`${task.id} began too early`);
    if (task.run?.status === 'running') expect(task.status).toBe('in-progress');
    if (task.cause?.code === 'E_DEPENDENCY_FAILED' && task.status === 'blocked') {
      const root = waitsFor.find(({ id }) => id === task.cause?.task);
      expect(root?.status).toMatch(/cancelled|deadletter/);
      expect(task.cause.message).toBe(`${root?.id} is ${root?.status}`);
    }
  }
}

/** The journal by itself: every move legal, each from where the last one led, one run at a time, and all of it folds to what the store holds. */
async function checkJournal({ store, records }: Real): Promise<void> {
  const status = new Map<string, TaskStatus>();
  const running = new Map<string, string>();
  const state = createState();
  for (const [i, record] of records.entries()) {
    expect(record.seq).toBe(i + 1);
    for (const { type, task = '', run = '', detail } of record.events) {
      if (type === 'task.created') {
        expect(status.has(task)).toBe(false);
        status.set(task, detail?.['status'] as TaskStatus);
      }
      if (type === 'task.transitioned') {
        const [from, to] = [detail?.['from'], detail?.['to']] as [TaskStatus, TaskStatus];
        expect(from).toBe(status.get(task));
        expect(isLegal(from, to), `${from} to ${to}`).toBe(true);
        status.set(task, to);
        if (from === 'in-progress') running.delete(task);
      }
      if (type === 'run.started') {
        expect(running.has(task)).toBe(false);
        running.set(task, run);
        for (const id of state.task(task)?.dependsOn ?? []) expect(state.task(id)?.status).toBe('done');
      }
    }
    state.apply(JSON.parse(JSON.stringify(record)));
  }
  const tasks = await listOf(store);
  expect([...state.all()].sort(byId)).toEqual([...tasks].sort(byId));
  expect([...status].sort()).toEqual(tasks.map((task) => [task.id, task.status]).sort());
  expect(state.running).toBe(running.size);
  for (const one of TASK_STATUSES) {
    const some: string[] = [];
    for await (const task of store.tasks({ status: [one] })) some.push(task.id);
    expect(some).toEqual(tasks.filter((task) => task.status === one).map(({ id }) => id));
  }
}

// What is asked. Numbers point into what there is; where there is nothing, at nothing.

/** Small ones more often: the history goes on with a few tasks. */
const pick = fc.oneof({ weight: 2, arbitrary: fc.nat(7) }, { weight: 1, arbitrary: fc.nat(40) });
const by = fc.constantFrom(...ACTORS, ACTORS[0] as Actor, ACTORS[0] as Actor);
const some = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(arbitrary, { nil: undefined });
const priority = fc.constantFrom('critical', 'high', 'normal', 'low' as const);
const routing = fc.constantFrom(
  {},
  {},
  { agent: null, role: null, tags: [] },
  { agent: 'emma' },
  { agent: 'zed' },
  { role: 'agent' },
  { tags: ['a', 'b'] },
);
/** Depends on the n-th task of all that there are, on a name of the batch, or on what is not there. */
const dependency = fc.oneof(
  { weight: 40, arbitrary: pick },
  { weight: 4, arbitrary: fc.constantFrom('A', 'B', 'C') },
  { weight: 1, arbitrary: fc.constantFrom('nobody', 'TASK-1999-01-01-001') },
);
const dependencies = fc.array(dependency, { maxLength: 3 });

const idAt = ({ tasks }: Model, at: number): string => tasks[at % Math.max(tasks.length, 1)]?.id ?? 'nothing';
const resolve = (model: Model, names: readonly (number | string)[]): string[] =>
  names.flatMap((name) => (typeof name === 'string' ? [name] : model.tasks.length === 0 ? [] : [idAt(model, name)]));

/** Without the fields that are not said. */
const said = <T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

const alternative = fc.record({
  provider: fc.constant('OTHER'),
  model: fc.constantFrom('m-1', 'm-2'),
  trigger: fc.constantFrom(...FALLBACK_TRIGGERS),
});

const newTask = fc.record({
  id: some(fc.constantFrom('TASK-2026-03-01-500', 'TASK-2026-03-02-999', 'TASK-2026-03-01-001', 'T-1')),
  externalId: some(fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F')),
  status: fc.constantFrom('ready', 'ready', 'ready', 'backlog' as const),
  priority: some(priority),
  routing: some(routing),
  session: some(fc.constantFrom('S', 'default')),
  parent: some(pick),
  dependsOn: dependencies,
  retry: some(
    fc
      .record({
        maxRetries: fc.constantFrom(0, 1, 2, 6),
        backoffSeconds: fc.constantFrom([], [1], [1, 5], [0, 60]),
        alternatives: some(fc.array(alternative, { minLength: 1, maxLength: 3 })),
        stopOnCritical: some(fc.boolean()),
      })
      .map(said),
  ),
  writes: some(fc.constantFrom(['/w/a'], ['/w/a/b', '/x'], ['/w'], ['/w/ab'], [])),
  reviewRequired: some(fc.boolean()),
});
type Wish = typeof newTask extends fc.Arbitrary<infer T> ? T : never;

/** Ids, names and parents of one's own are rare, so that most of what is added comes to be. */
const wish = fc.tuple(newTask, fc.nat(9), fc.nat(2), fc.nat(3)).map(
  ([task, own, name, parent]): Wish => ({
    ...task,
    id: own === 0 ? task.id : undefined,
    externalId: name === 0 ? task.externalId : undefined,
    parent: parent === 0 ? task.parent : undefined,
  }),
);

const toNew = (model: Model, { parent, dependsOn, ...rest }: Wish): NewTask => ({
  title: 't',
  ...said({ ...rest, parentId: parent === undefined ? undefined : idAt(model, parent) }),
  dependsOn: resolve(model, dependsOn),
});

const runOf = (model: Model, at: number, back: number): string => {
  const task = model.tasks[at % Math.max(model.tasks.length, 1)];
  return task === undefined ? 'nothing-r1' : `${task.id}-r${Math.max(task.runs - back, 1)}`;
};
/** Nearly always of a task that is in the status where it matters, if there is one. */
const indexIn = ({ tasks }: Model, status: TaskStatus, at: number): number => {
  const fitting = tasks.flatMap((task, i) => (task.status === status ? [i] : []));
  return fitting.length === 0 || at === 40 ? at : (fitting[at % fitting.length] as number);
};
const back = fc.constantFrom(0, 0, 0, 0, 0, 1);
const outcome = fc.constantFrom('done', 'done', 'partial', 'needs_review', 'blocked', 'failed' as const);
const code = fc.constantFrom('E_TIMEOUT', 'E_PROCESS_CRASH', 'E_PERMISSION_DENIED', 'E_COST_LIMIT_EXCEEDED');
const claimer = fc.constantFrom(
  { agent: 'emma' },
  { agent: 'emma', roles: ['agent'], tags: ['b', 'a'] },
  { agent: 'emma', roles: ['agent'], tags: ['b', 'a'] },
  { agent: 'zed', roles: ['agent'], tags: ['a'] },
  { agent: 'emma', any: true },
  { agent: 'emma', any: true, except: ['zed'] },
);

/** Where a history begins: some tasks, each of which may wait for those before it. */
const beginning = fc
  .array(fc.tuple(newTask, fc.array(pick, { maxLength: 2 })), { minLength: 3, maxLength: 8 })
  .map((wishes) =>
    wishes.map(
      ([{ retry, priority: urgency, routing: who, reviewRequired, writes, status }, dependsOn], i): NewTask => ({
        title: 't',
        status,
        ...said({ retry, priority: urgency, routing: who, reviewRequired, writes }),
        dependsOn: i === 0 ? [] : dependsOn.map((at) => `TASK-2026-03-01-00${(at % i) + 1}`),
      }),
    ),
  );

const command = (name: string, step: Step): Command => new Command(name, step);
const show = (name: string, value: unknown): string => `${name} ${JSON.stringify(value)}`;

/** One kind of message: made from drawn values and the model as it is then. */
const message = <T>(
  weight: number,
  name: string,
  drawn: fc.Arbitrary<T>,
  make: (model: Model, value: T) => TaskMessage,
  who: fc.Arbitrary<Actor> = by,
) => ({
  weight,
  arbitrary: fc
    .tuple(drawn, who)
    .map(([value, actor]) =>
      command(show(name, [value, actor.kind]), (model, real) => ask(model, real, make(model, value), actor)),
    ),
});

const runtimeMostly = fc.constantFrom(...ACTORS, ...Array.from({ length: 8 }, () => ACTORS[1] as Actor));

const steps = fc.oneof(
  message(6, 'add', fc.array(wish, { minLength: 1, maxLength: 1 }), (model, tasks) => ({
    type: 'task.add',
    tasks: tasks.map((task) => toNew(model, task)),
  })),
  message(3, 'add', fc.array(wish, { minLength: 2, maxLength: 4 }), (model, tasks) => ({
    type: 'task.add',
    tasks: tasks.map((task) => toNew(model, task)),
  })),
  message(6, 'move', fc.tuple(pick, pick, fc.constantFrom(...TASK_STATUSES)), (model, [at, n, any]) => {
    const from = model.tasks[at % Math.max(model.tasks.length, 1)]?.status ?? 'done';
    const legal = LEGAL[from][n % Math.max(LEGAL[from].length, 1)];
    return { type: 'task.move', id: idAt(model, at), to: n < 2 ? any : (legal ?? any) };
  }),
  message(1, 'cancel', pick, (model, at) => ({ type: 'task.cancel', id: idAt(model, at) })),
  message(2, 'retry', pick, (model, at) => ({ type: 'task.retry', id: idAt(model, at) })),
  message(2, 'revive', pick, (model, at) => ({
    type: 'task.retry',
    id: idAt(model, indexIn(model, 'deadletter', at)),
  })),
  message(
    4,
    'edit',
    fc.record({
      at: pick,
      priority: some(priority),
      routing: some(routing),
      dependsOn: some(dependencies),
      reviewRequired: some(fc.boolean()),
    }),
    (model, { at, dependsOn, ...rest }) => ({
      type: 'task.edit',
      id: idAt(model, at),
      ...said({ ...rest, dependsOn: dependsOn === undefined ? undefined : resolve(model, dependsOn) }),
    }),
  ),
  message(
    14,
    'claim',
    fc.record({
      at: fc.constantFrom(undefined, undefined, undefined, 0, 3, 5),
      claimer,
      model: some(fc.constantFrom('m-0')),
      leaseMs: fc.constantFrom(1000, 60_000),
    }),
    (model, { at, ...rest }) => ({
      type: 'task.claim',
      ...said(rest),
      ...(at === undefined ? {} : { id: idAt(model, at) }),
    }),
  ),
  message(
    6,
    'report',
    fc.record({
      at: pick,
      back,
      outcome,
      usd: some(fc.nat(3)),
      code: some(code),
      messageId: some(fc.constantFrom('m1', 'm2', 'm3', 'm4')),
    }),
    (model, { at, back: older, usd, ...rest }) => ({
      type: 'run.report',
      run: runOf(model, indexIn(model, 'in-progress', at), older),
      ...said({ ...rest, cost: usd === undefined ? undefined : { usd } }),
    }),
  ),
  message(
    6,
    'judge',
    fc.record({ at: pick, back, passed: fc.constantFrom(true, true, true, false), final: some(fc.boolean()) }),
    (model, { at, back: older, ...rest }) => ({
      type: 'run.judge',
      run: runOf(model, indexIn(model, 'review', at), older),
      ...said(rest),
    }),
    runtimeMostly,
  ),
  message(
    2,
    'charge',
    fc.record({ at: pick, back, usd: fc.nat(2) }),
    (model, { at, back: older, usd }) => ({ type: 'run.charge', run: runOf(model, at, older), cost: { usd } }),
    runtimeMostly,
  ),
  message(
    4,
    'fail',
    fc.record({ at: pick, back, code, usd: fc.nat(2), final: some(fc.nat(3)) }),
    (model, { at, back: older, usd, ...rest }) => ({
      type: 'run.fail',
      run: runOf(model, indexIn(model, 'in-progress', at), older),
      code: rest.code,
      ...(rest.final === 0 ? { final: true } : {}),
      message: 'm',
      cost: { usd },
    }),
  ),
  message(
    3,
    'resume',
    fc.record({
      at: pick,
      back,
      result: fc.oneof(outcome, fc.constantFrom('none', 'none', 'none', 'unreadable' as const)),
      gone: some(fc.boolean()),
      reason: some(fc.constant('leaving' as const)),
      usd: some(fc.nat(2)),
    }),
    (model, { at, back: older, usd, ...rest }) => ({
      type: 'run.resume',
      run: runOf(model, indexIn(model, 'in-progress', at), older),
      ...said({ ...rest, cost: usd === undefined ? undefined : { usd } }),
    }),
  ),
  message(1, 'note', pick, (model, at) => ({ type: 'note', event: 'noted', task: idAt(model, at), detail: {} })),
  {
    weight: 3,
    // Also back: a clock may be set.
    arbitrary: fc.constantFrom(1, 999, 1000, 5000, 60_000, 86_400_000, -3000).map((ms) =>
      command(show('wait', ms), async (model, real) => {
        model.now += ms;
        real.clock.now += ms;
      }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(pick, back).map(([at, older]) =>
      command(show('alive', [at, older]), async (model, real) => {
        const run = runOf(model, indexIn(model, 'in-progress', at), older);
        const task = model.tasks.find((one) => isCurrent(one, run));
        expect(await real.store.alive(run)).toBe(task !== undefined);
        if (task?.run != null) task.run.seen = model.now;
      }),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.nat(60).map((at) =>
      command(show('again', at), async (model, real) => {
        const before = real.asked[at % Math.max(real.asked.length, 1)];
        if (before !== undefined) await ask(model, real, before.message, before.by, before);
      }),
    ),
  },
);

const histories = fc.commands([steps as fc.Arbitrary<Command>], { maxCommands: 60, size: 'max' });

export function storeAgreement(name: string, open: OpenStore, numRuns: number): void {
  describe(`${name} and the reference model`, () => {
    test('say and hold the same, whatever is asked', async () => {
      await fc.assert(
        fc.asyncProperty(beginning, histories, async (tasks, commands) => {
          const clock = { now: START };
          const { store, destroy } = await open({ now: () => clock.now });
          const real: Real = { store, clock, asked: [], records: [] };
          try {
            const model = emptyModel(START);
            await ask(model, real, { type: 'task.add', tasks }, ACTORS[0] as Actor);
            await fc.asyncModelRun(() => ({ model, real }), commands);
            await checkJournal(real);
          } finally {
            await destroy();
          }
        }),
        { seed: SEED, numRuns },
      );
    });
  });
}
