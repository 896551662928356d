/** Work for a store, made up by chance: many kinds of questions, several at once, over midnight, on a disk that is full at times. */
import { BatonError } from '../../../src/core/errors.ts';
import type { NewTask, TaskMessage } from '../../../src/core/laws/messages.ts';
import type { Answer, Ask, Store } from '../../../src/core/store.ts';
import { TASK_PRIORITIES, TASK_STATUSES, type Task, type TaskStatus } from '../../../src/core/task.ts';
import type { Random } from '../../helpers/random.ts';
import type { Fault, FaultKind } from './crash-disk.ts';
import type { Mark } from './ledger.ts';
import { type KnownGraph, someGraphAsk } from './workload-graph.ts';

export interface WorkloadOptions {
  readonly random: Random;
  /** How many questions. */
  readonly asks: number;
  readonly open: () => Promise<Store>;
  readonly enter: (mark: Mark) => void;
  readonly clock: { now: number };
  /** Makes the disk fail; absent where it never does. */
  readonly fail?: (fault: Fault | null) => void;
  /** No more are made; what is there is worked on. */
  readonly mostTasks?: number;
  /** The ids of requests begin with this. */
  readonly name: string;
}

const PERSON = { kind: 'person', name: 'ada' } as const;
const RUNTIME = { kind: 'runtime', name: 'baton' } as const;
const MOST_TASKS = 14;
/** There is no such task. */
const NEVER: Ask = { by: PERSON, message: { type: 'task.move', id: 'TASK-2000-01-01-001', to: 'ready' } };

export async function work(options: WorkloadOptions): Promise<void> {
  const { random, asks, enter, clock, fail } = options;
  const known = new Map<string, Task>();
  const graph: KnownGraph = { nodes: new Map(), questions: new Map() };
  let flying: Promise<void>[] = [];
  let count = 0;
  let store = await options.open();

  const learn = (answer: Answer): void => {
    if (answer.kind === 'refused') return;
    for (const task of answer.tasks) known.set(task.id, task);
    for (const node of answer.nodes ?? []) graph.nodes.set(node.id, node);
    for (const question of answer.questions ?? []) graph.questions.set(question.id, question);
  };

  const send = async (ask: Ask & { request: string }): Promise<void> => {
    enter({ mark: 'asked', ask, now: clock.now });
    try {
      const answer = await store.send(ask);
      enter({ mark: 'answered', request: ask.request, answer });
      learn(answer);
    } catch (cause) {
      if (!isDiskFailure(cause)) throw cause;
      enter({ mark: 'failed', request: ask.request });
      // Some ask again at once, as a program would that was told that it may; others go on with something else, that may be refused.
      if (random.chance(0.4)) await send(ask);
      else if (random.chance(0.5)) await send({ ...NEVER, request: `${ask.request}-other` });
    }
  };

  const readNode = async (id: string): Promise<void> => {
    const whole = await store.node(id).catch((cause) => {
      if (isDiskFailure(cause)) return undefined;
      throw cause;
    });
    if (whole === undefined) return;
    const { document: _, consumers: __, effectiveConfidence: ___, degree: ____, ...node } = whole;
    enter({ mark: 'seen', tasks: [node] });
  };

  const read = async (): Promise<void> => {
    const nodes = [...graph.nodes.keys()];
    if (nodes.length > 0 && random.chance(0.4)) return readNode(random.pick(nodes));
    const ids = [...known.keys()];
    if (ids.length === 0) return;
    const task = await store.find(random.pick(ids)).catch((cause) => {
      if (isDiskFailure(cause)) return undefined;
      throw cause;
    });
    if (task !== undefined) enter({ mark: 'seen', tasks: [task] });
  };

  const land = async (): Promise<void> => {
    const all = flying;
    flying = [];
    await Promise.all(all);
  };

  const reopen = async (): Promise<void> => {
    if (random.chance(0.7)) await land();
    await store.close().catch(onlyDisk);
    await land();
    for (let tries = 0; ; tries++) {
      try {
        store = await options.open();
        return;
      } catch (cause) {
        if (!isDiskFailure(cause) || tries > 3) throw cause;
      }
    }
  };

  while (count < asks) {
    const passed = passes(random);
    clock.now += passed;
    // The first write of a day, and the first of all, are not like others.
    const isNew = passed > 3_600_000 || count === 0;
    if (fail !== undefined && random.chance(isNew ? 0.5 : 0.2)) fail(someFault(random));
    for (let n = 1 + random.below(4); n > 0; n--) {
      const request = `${options.name}-${count++}`;
      const ask = random.chance(0.3)
        ? someGraphAsk(random, [...known.values()], graph, request, someText(random))
        : someAsk(random, known, options.mostTasks ?? MOST_TASKS);
      flying.push(send({ ...ask, request }));
    }
    if (random.chance(0.3)) flying.push(read());
    if (random.chance(0.6)) await land();
    else await new Promise((resolve) => setImmediate(resolve));
    if (random.chance(0.06)) await reopen();
    if (random.chance(0.1)) await store.settled().catch(onlyDisk);
  }
  fail?.(null);
  await land();
  await store.settled();
  if (random.chance(0.5)) await store.close();
}

const onlyDisk = (cause: unknown): void => {
  if (!isDiskFailure(cause)) throw cause;
};

const isDiskFailure = (cause: unknown): boolean =>
  cause instanceof BatonError && ['E_STORE_FULL', 'E_STORE_FAILED', 'E_STORE_UNWRITABLE'].includes(cause.code);

/** Mostly milliseconds, at times hours; now and then somebody sets the clock back. */
function passes(random: Random): number {
  if (random.chance(0.06)) return 6 * 3_600_000;
  if (random.chance(0.02)) return -3_600_000;
  return random.below(5_000);
}

function someFault(random: Random): Fault {
  const kinds: readonly (readonly FaultKind[])[] = [
    ['append'],
    ['append', 'write'],
    ['fdatasync'],
    ['fdatasync'],
    ['sync'],
    ['write'],
    ['open', 'mkdir'],
    ['rename'],
    ['truncate', 'remove'],
    ['append', 'fdatasync', 'sync', 'write', 'rename', 'mkdir', 'open', 'remove', 'truncate'],
  ];
  return { kinds: random.pick(kinds), after: random.below(3), code: random.pick(['ENOSPC', 'EIO']) };
}

/** Texts with characters of one to four bytes, that a cut may fall into. */
const WORDS = [
  'plan',
  'écrire',
  '見直し',
  '🚀 launch',
  '--- not a mark',
  'a: "b"',
  'tab\there',
  '# heading',
  '0',
  'null',
];

const words = (random: Random, most: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(WORDS)).join(' ');

function someText(random: Random): string {
  const way = random.below(12);
  // Two of the same length and one that comes again: content is named by its hash.
  if (way === 0) return 'long 見 '.repeat(2200 + random.below(2));
  if (way === 1) return `${words(random, 9)}\n\n---\n\n${words(random, 9)}`;
  return way < 5 ? '' : `${words(random, 9)}\n`;
}

function someNew(random: Random, known: ReadonlyMap<string, Task>): NewTask {
  const ids = [...known.keys()];
  return {
    title: words(random, 4),
    ...(random.chance(0.2) ? { status: 'backlog' as const } : {}),
    ...(random.chance(0.4) ? { priority: random.pick(TASK_PRIORITIES) } : {}),
    ...(random.chance(0.3) ? { session: random.pick(['s1', 's2']) } : {}),
    ...(random.chance(0.4) ? { retry: { maxRetries: random.below(3), backoffSeconds: [0, 5] } } : {}),
    ...(random.chance(0.15) ? { reviewRequired: true } : {}),
    ...(random.chance(0.2) ? { routing: { agent: 'emma' } } : {}),
    ...(random.chance(0.2) ? { metadata: { note: words(random, 3) } } : {}),
    ...(ids.length > 0 && random.chance(0.3) ? { dependsOn: [random.pick(ids)] } : {}),
    ...(ids.length > 0 && random.chance(0.1) ? { parentId: random.pick(ids) } : {}),
    ...(random.chance(0.6) ? { texts: { body: someText(random) } } : {}),
  };
}

/** Several that know each other, in one session. */
function someBatch(random: Random, known: ReadonlyMap<string, Task>): NewTask[] {
  const tag = random.below(1_000_000);
  return Array.from({ length: 2 + random.below(2) }, (_, i) => {
    const { parentId: _parent, ...item } = someNew(random, known);
    const before = i > 0 && random.chance(0.7) ? { dependsOn: [`step-${tag}-${i - 1}`] } : {};
    return { ...item, session: 's1', externalId: `step-${tag}-${i}`, ...before };
  });
}

/** What fits the tasks as they are known; some of it comes too late or is illegal. */
function someAsk(random: Random, known: ReadonlyMap<string, Task>, most: number): Ask {
  const all = [...known.values()];
  if (all.length === 0 || (all.length < most && random.chance(0.3))) return by(PERSON, someAdd(random, known));
  const way = random.next();
  if (way < 0.12) return by(PERSON, someMove(random, random.pick(all)));
  if (way < 0.2) return by(PERSON, someEdit(random, random.pick(all)));
  if (way < 0.23) return by(PERSON, { type: 'task.retry', id: random.pick(all).id });
  if (way < 0.26) return by(RUNTIME, { type: 'note', event: 'test.note', task: random.pick(all).id, detail: { way } });
  const review = all.filter(({ status }) => status === 'review');
  if (review.length > 0 && random.chance(0.5)) return by(RUNTIME, someJudgement(random, random.pick(review)));
  const running = all.filter(({ status, run }) => status === 'in-progress' && run?.status === 'running');
  if (running.length > 0 && random.chance(0.7)) return someEnd(random, random.pick(running));
  return by({ kind: 'agent', name: 'emma' }, someClaim(random, all));
}

const by = (who: Ask['by'], message: TaskMessage): Ask => ({ by: who, message });

const someAdd = (random: Random, known: ReadonlyMap<string, Task>): TaskMessage => ({
  type: 'task.add',
  tasks: random.chance(0.25) ? someBatch(random, known) : [someNew(random, known)],
});

function someMove(random: Random, { id }: Task): TaskMessage {
  if (random.chance(0.3)) return { type: 'task.cancel', id, reason: words(random, 2) };
  return { type: 'task.move', id, to: random.pick<TaskStatus>(TASK_STATUSES) };
}

const someEdit = (random: Random, { id }: Task): TaskMessage => ({
  type: 'task.edit',
  id,
  ...(random.chance(0.5) ? { title: words(random, 3) } : {}),
  ...(random.chance(0.5) ? { priority: random.pick(TASK_PRIORITIES) } : {}),
  ...(random.chance(0.5) ? { texts: { body: someText(random) } } : {}),
});

const someClaim = (random: Random, all: readonly Task[]): TaskMessage => ({
  type: 'task.claim',
  claimer: { agent: 'emma' },
  leaseMs: 60_000,
  ...(random.chance(0.5) ? { id: random.pick(all).id } : {}),
});

const someJudgement = (random: Random, { run }: Task): TaskMessage => ({
  type: 'run.judge',
  run: run?.id ?? 'none',
  passed: random.chance(0.7),
  ...(random.chance(0.3) ? { findings: [words(random, 5)] } : {}),
});

function someEnd(random: Random, { run }: Task): Ask {
  const id = run?.id ?? 'none';
  if (random.chance(0.2))
    return by(RUNTIME, { type: 'run.fail', run: id, code: 'E_TIMEOUT', message: words(random, 4) });
  if (random.chance(0.15))
    return by(RUNTIME, { type: 'run.resume', run: id, result: random.pick(['none', 'done']), gone: true });
  return by(
    { kind: 'agent', name: 'emma' },
    {
      type: 'run.report',
      run: id,
      outcome: random.pick(['done', 'done', 'done', 'partial', 'needs_review', 'blocked', 'failed']),
      summary: words(random, 6),
      cost: { usd: 0.25, tokensInput: 10 },
      ...(random.chance(0.3) ? { texts: { 'outputs/summary.md': someText(random) } } : {}),
    },
  );
}
