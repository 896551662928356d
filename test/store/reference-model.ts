/**
 * The laws once more, as plainly as can be: one list of tasks, searched from end to end for every question. Written from the table of
 * statuses (docs/tasks.md), and sharing nothing with `src` but types, so that a mistake would have to be made twice.
 */
import type { Actor, Claimer, NewTask, TaskMessage } from '../../src/core/laws/messages.ts';
import type { Alternative, TaskPriority, TaskStatus } from '../../src/core/task.ts';

export interface ModelRun {
  id: string;
  attempt: number;
  agent: string;
  model: string | null;
  startedAt: number;
  endedAt: number | null;
  status: string;
  leaseMs: number;
  outcome: string | null;
  seen: number;
}

export interface ModelTask {
  id: string;
  externalId: string | null;
  status: TaskStatus;
  priority: TaskPriority;
  agent: string | null;
  role: string | null;
  tags: readonly string[];
  session: string;
  parentId: string | null;
  depth: number;
  dependsOn: string[];
  maxRetries: number;
  backoff: readonly number[];
  alternatives: readonly Alternative[];
  stopOnCritical: boolean;
  /** The places of the alternatives that had their turn. */
  used: number[];
  writes: readonly string[];
  attempts: number;
  runs: number;
  run: ModelRun | null;
  availableAt: number;
  cause: string | null;
  wasBacklog: boolean;
  reviewRequired: boolean;
  usd: number;
  messages: string[];
}

export interface Model {
  now: number;
  readonly tasks: ModelTask[];
}

/** What the laws must say; of a refusal, the codes of all that is wrong with it. */
export type Said =
  | { readonly kind: 'changed' | 'same'; readonly about: readonly string[] }
  | { readonly kind: 'refused'; readonly codes: readonly string[] };

export const LEGAL: Readonly<Record<TaskStatus, readonly TaskStatus[]>> = {
  backlog: ['ready', 'blocked', 'cancelled'],
  ready: ['in-progress', 'blocked', 'deadletter', 'cancelled'],
  'in-progress': ['review', 'ready', 'blocked', 'deadletter', 'cancelled'],
  blocked: ['ready', 'deadletter', 'cancelled'],
  review: ['done', 'in-progress', 'ready', 'blocked', 'cancelled'],
  deadletter: ['ready'],
  done: [],
  cancelled: [],
};

export const isLegal = (from: TaskStatus, to: TaskStatus): boolean => LEGAL[from].includes(to);

const no = (...codes: readonly string[]): Said => ({ kind: 'refused', codes });
const yes = (...about: readonly string[]): Said => ({ kind: 'changed', about });
const same = (task: ModelTask): Said => ({ kind: 'same', about: [task.id] });

const find = (model: Model, id: string): ModelTask | undefined => model.tasks.find((task) => task.id === id);
const named = (model: Model, session: string, name: string): ModelTask | undefined =>
  find(model, name) ?? model.tasks.find((task) => task.session === session && task.externalId === name);

const failed = (task: ModelTask): boolean => task.status === 'cancelled' || task.status === 'deadletter';

/** All that a task waits for, near and far. */
export function ancestors(model: Model, task: ModelTask): ModelTask[] {
  const list: ModelTask[] = [];
  const look = (at: ModelTask): void => {
    for (const id of at.dependsOn) {
      const other = find(model, id);
      if (other === undefined || list.includes(other)) continue;
      list.push(other);
      look(other);
    }
  };
  look(task);
  return list;
}

const isStuck = (model: Model, task: ModelTask): boolean => ancestors(model, task).some(failed);
const isOpen = (model: Model, task: ModelTask): boolean =>
  task.dependsOn.every((id) => find(model, id)?.status === 'done');

/** What every change ends with: who waits for what has failed is blocked, and who no longer does goes on. */
function settle(model: Model): void {
  for (const task of model.tasks) {
    const stuck = isStuck(model, task);
    const isHeld = task.status === 'blocked' && task.cause === 'E_DEPENDENCY_FAILED';
    if (stuck && (task.status === 'backlog' || task.status === 'ready')) {
      task.wasBacklog = task.status === 'backlog';
      task.status = 'blocked';
      task.cause = 'E_DEPENDENCY_FAILED';
      task.availableAt = 0;
    } else if (!stuck && isHeld && task.wasBacklog) {
      task.cause = 'E_MOVED';
    } else if (!stuck && isHeld) {
      task.status = 'ready';
      task.cause = null;
      task.availableAt = 0;
    }
  }
}

export function decideByModel(model: Model, message: TaskMessage, by: Actor): Said {
  const said = act(model, message, by);
  if (said.kind === 'changed') settle(model);
  return said;
}

function act(model: Model, message: TaskMessage, by: Actor): Said {
  if (message.type === 'note')
    return yes(...(find(model, message.task ?? '') === undefined ? [] : [message.task ?? '']));
  if (message.type === 'task.add') return add(model, message.tasks);
  if (message.type === 'task.claim') return claim(model, message);
  // What is said by message is the router's, and its tests'.
  if (message.type === 'task.update' || message.type === 'task.report' || message.type === 'run.adopt')
    return no('E_NOT_FOUND');
  // These have tests of their own.
  if (message.type === 'task.merge' || message.type === 'task.merged' || message.type === 'run.workspace')
    return no('E_NOT_FOUND');
  if ('run' in message) {
    const task = find(model, message.run.split('-r')[0] ?? '');
    return task === undefined ? no('E_NOT_FOUND') : ofRun(model, task, message, by);
  }
  const task = find(model, message.id);
  if (task === undefined) return no('E_NOT_FOUND');
  if (message.type === 'task.move') return move(model, task, message.to, by);
  if (message.type === 'task.cancel') {
    // Baton calls off its own dead letters, through ready.
    if (task.status === 'deadletter' && by.kind === 'runtime') {
      anew(task);
      put(model, task, 'ready', null);
    }
    return move(model, task, 'cancelled', by);
  }
  if (message.type === 'task.retry') return retry(model, task, by);
  return edit(model, task, message, by);
}

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

function add(model: Model, items: readonly NewTask[]): Said {
  const codes: string[] = [];
  const day = dayOf(model.now);
  const taken = [...model.tasks.map(({ id }) => id), ...items.flatMap(({ id }) => (id === undefined ? [] : [id]))];
  let last = Math.max(0, ...taken.filter((id) => id.slice(5, 15) === day).map((id) => Number(id.slice(16))));
  const made: ModelTask[] = [];
  for (const item of items) {
    if (item.id !== undefined && taken.filter((id) => id === item.id).length > 1) codes.push('E_DUPLICATE');
    if (item.id !== undefined && !/^TASK-....-..-..-\d{3,}$/.test(item.id)) codes.push('E_SCHEMA_VALIDATION');
    const parent = item.parentId === undefined ? undefined : named(model, item.session ?? 'default', item.parentId);
    if (item.parentId !== undefined && parent === undefined) codes.push('E_NOT_FOUND');
    const session = parent?.session ?? item.session ?? 'default';
    const depth = parent === undefined ? 0 : parent.depth + 1;
    if (depth > 3) codes.push('E_MAX_DEPTH_EXCEEDED');
    for (const other of [...model.tasks, ...made]) {
      const clash = item.externalId !== undefined && other.externalId === item.externalId && other.session === session;
      if (clash) codes.push('E_DUPLICATE');
    }
    made.push({
      id: item.id ?? `TASK-${day}-${String(++last).padStart(3, '0')}`,
      externalId: item.externalId ?? null,
      status: item.status ?? 'ready',
      priority: item.priority ?? 'normal',
      agent: item.routing?.agent ?? null,
      role: item.routing?.role ?? null,
      tags: item.routing?.tags ?? [],
      session,
      parentId: parent?.id ?? null,
      depth,
      dependsOn: [],
      maxRetries: item.retry?.maxRetries ?? 0,
      backoff: item.retry?.backoffSeconds ?? [30, 120, 300],
      alternatives: item.retry?.alternatives ?? [],
      stopOnCritical: item.retry?.stopOnCritical ?? false,
      used: [],
      writes: item.writes ?? [],
      attempts: 0,
      runs: 0,
      run: null,
      availableAt: 0,
      cause: null,
      wasBacklog: false,
      reviewRequired: item.reviewRequired ?? false,
      usd: 0,
      messages: [],
    });
  }
  const all: Model = { now: model.now, tasks: [...model.tasks, ...made] };
  for (const [i, item] of items.entries()) {
    const task = made[i] as ModelTask;
    for (const name of item.dependsOn ?? []) {
      const other = named(all, task.session, name);
      if (other === undefined) codes.push('E_NOT_FOUND');
      else if (!task.dependsOn.includes(other.id)) task.dependsOn.push(other.id);
    }
  }
  if (made.some((task) => ancestors(all, task).includes(task))) codes.push('E_CYCLE');
  if (codes.length > 0) return no(...codes);
  model.tasks.push(...made);
  return yes(...made.map(({ id }) => id));
}

/** A run that runs ends with its task's move; its own end is said before. */
function put(model: Model, task: ModelTask, to: TaskStatus, cause: string | null, availableAt = 0): void {
  if (task.status === 'in-progress' && task.run?.status === 'running') end(model, task, 'cancelled', null);
  task.status = to;
  task.cause = cause;
  task.availableAt = availableAt;
}

function end(model: Model, task: ModelTask, status: string, outcome: string | null): void {
  if (task.run === null) throw new Error('no run to end');
  task.run = { ...task.run, status, outcome, endedAt: model.now };
}

function move(model: Model, task: ModelTask, to: TaskStatus, by: Actor): Said {
  if (task.status === to) return same(task);
  if (!isLegal(task.status, to)) return no('E_ILLEGAL_MOVE');
  const mayApprove = by.kind === 'person' || (by.kind === 'runtime' && !task.reviewRequired);
  if (to === 'done' && !mayApprove) return no('E_PERMISSION_DENIED');
  if (to === 'ready' && isStuck(model, task)) return no('E_DEPENDENCY_FAILED');
  if (to === 'in-progress' && !isOpen(model, task)) return no('E_NOT_CLAIMABLE');
  if (to === 'ready' && isTriedByAgent(task, by)) return putBack(model, task);
  if (task.status === 'deadletter') anew(task);
  put(model, task, to, to === 'blocked' || to === 'deadletter' ? 'E_MOVED' : null);
  return yes(task.id);
}

const isTriedByAgent = (task: ModelTask, by: Actor): boolean =>
  task.attempts > 0 && (by.kind === 'agent' || by.kind === 'unknown');

/** Only a person has what was tried begin anew. */
function putBack(model: Model, task: ModelTask): Said {
  if (counted(task) < 5 || counted(task) <= task.maxRetries) {
    const ms = task.status === 'in-progress' ? wait(task) : 0;
    put(model, task, 'ready', null, ms === 0 ? 0 : model.now + ms);
    return yes(task.id);
  }
  if (!isLegal(task.status, 'deadletter')) return no('E_PERMISSION_DENIED');
  put(model, task, 'deadletter', 'E_MOVED');
  return yes(task.id);
}

function anew(task: ModelTask): void {
  task.attempts = 0;
  task.used = [];
}

function retry(model: Model, task: ModelTask, by: Actor): Said {
  if (task.status === 'ready') {
    if (task.attempts === 0 && task.availableAt <= model.now) return same(task);
    if (isTriedByAgent(task, by)) return no('E_PERMISSION_DENIED');
    anew(task);
    task.availableAt = 0;
    return yes(task.id);
  }
  if (task.status === 'backlog' || task.run?.status === 'running') return no('E_ILLEGAL_MOVE');
  if (isTriedByAgent(task, by))
    return no('E_PERMISSION_DENIED', ...(isLegal(task.status, 'ready') ? [] : ['E_ILLEGAL_MOVE']));
  const said = move(model, task, 'ready', by);
  if (said.kind === 'changed') anew(task);
  return said;
}

function edit(model: Model, task: ModelTask, asked: Extract<TaskMessage, { type: 'task.edit' }>, by: Actor): Said {
  if (task.status === 'done' || task.status === 'cancelled') return no('E_ILLEGAL_MOVE');
  const codes: string[] = [];
  const next: ModelTask = { ...task };
  if (asked.priority !== undefined) next.priority = asked.priority;
  if (asked.routing?.agent !== undefined) next.agent = asked.routing.agent;
  if (asked.routing?.role !== undefined) next.role = asked.routing.role;
  if (asked.routing?.tags !== undefined) next.tags = asked.routing.tags;
  if (asked.reviewRequired !== undefined) next.reviewRequired = asked.reviewRequired;
  if (task.reviewRequired && !next.reviewRequired && by.kind !== 'person') codes.push('E_PERMISSION_DENIED');
  if (asked.dependsOn !== undefined) {
    next.dependsOn = [];
    for (const name of asked.dependsOn) {
      const other = named(model, task.session, name);
      if (other === undefined) codes.push('E_NOT_FOUND');
      else if (!next.dependsOn.includes(other.id)) next.dependsOn.push(other.id);
    }
    const isSame = next.dependsOn.join() === task.dependsOn.join();
    const isAdded =
      task.status === 'in-progress' && by.kind === 'agent' && task.dependsOn.every((id) => next.dependsOn.includes(id));
    if (!isSame && !isAdded && (task.status === 'in-progress' || task.status === 'review'))
      codes.push('E_ILLEGAL_MOVE');
    const all = { now: model.now, tasks: model.tasks.map((one) => (one === task ? next : one)) };
    if (ancestors(all, next).includes(next)) codes.push('E_CYCLE');
  }
  if (codes.length > 0) return no(...codes);
  if (JSON.stringify(next) === JSON.stringify(task)) return same(task);
  Object.assign(task, next);
  return yes(task.id);
}

const PRIORITIES: readonly TaskPriority[] = ['critical', 'high', 'normal', 'low'];

const mayDo = (task: ModelTask, { agent, roles = [], tags = [], any, except = [] }: Claimer): boolean =>
  any === true
    ? task.agent === null || !except.includes(task.agent)
    : task.agent !== null
      ? task.agent === agent
      : (task.role === null || roles.includes(task.role)) && task.tags.every((tag) => tags.includes(tag));

/** Day and number as one number, to sort by. */
const age = (id: string): number => Number(id.slice(5, 15).replaceAll('-', '')) * 1e6 + Number(id.slice(16));

/** Of plain paths without dots: one is the other or begins with it and a slash. */
const isBelow = (a: string, b: string): boolean => a === b || a.startsWith(`${b}/`);

const parents = (model: Model, task: ModelTask): string[] => {
  const parent = find(model, task.parentId ?? '');
  return parent === undefined ? [] : [parent.id, ...parents(model, parent)];
};

/** Another that runs writes in the same place, and is not the one that delegated this. */
const isCrowded = (model: Model, task: ModelTask): boolean =>
  model.tasks.some(
    (other) =>
      other.status === 'in-progress' &&
      other.writes.some((a) => task.writes.some((b) => isBelow(a, b) || isBelow(b, a))) &&
      !parents(model, task).includes(other.id),
  );

function claim(model: Model, asked: Extract<TaskMessage, { type: 'task.claim' }>): Said {
  const free = model.tasks.filter(
    (task) =>
      task.status === 'ready' &&
      task.availableAt <= model.now &&
      isOpen(model, task) &&
      !isCrowded(model, task) &&
      mayDo(task, asked.claimer) &&
      (asked.id === undefined || asked.id === task.id),
  );
  free.sort((a, b) => PRIORITIES.indexOf(a.priority) - PRIORITIES.indexOf(b.priority) || age(a.id) - age(b.id));
  const [task] = free;
  if (task === undefined) {
    if (asked.id === undefined) return no('E_NOTHING_READY');
    return no(find(model, asked.id) === undefined ? 'E_NOT_FOUND' : 'E_NOT_CLAIMABLE');
  }
  task.attempts++;
  task.runs++;
  put(model, task, 'in-progress', null, model.now + asked.leaseMs);
  task.run = {
    id: `${task.id}-r${task.runs}`,
    attempt: task.attempts,
    agent: task.agent ?? asked.claimer.agent,
    model: task.alternatives[task.used.at(-1) ?? -1]?.model ?? asked.model ?? null,
    startedAt: model.now,
    endedAt: null,
    status: 'running',
    leaseMs: asked.leaseMs,
    outcome: null,
    seen: model.now,
  };
  return yes(task.id);
}

export const isCurrent = (task: ModelTask | undefined, run: string): boolean =>
  task?.status === 'in-progress' && task.run?.id === run && task.run.status === 'running';

const PERMANENT = ['E_AGENT_NOT_FOUND', 'E_MODEL_UNAVAILABLE', 'E_CREDENTIALS', 'E_PERMISSION_DENIED'];

const CRITICAL = [
  'E_PROCESS_CRASH',
  'E_HEARTBEAT_FAILURE',
  'E_PERMISSION_DENIED',
  'E_MODEL_UNAVAILABLE',
  'E_AGENT_NOT_FOUND',
];

/** Without those that had another model for the first time. */
const counted = (task: ModelTask): number => task.attempts - task.used.length;

const wait = (task: ModelTask): number =>
  1000 * (counted(task) === 0 ? 0 : (task.backoff[counted(task) - 1] ?? task.backoff.at(-1) ?? 0));

/** Another model, or the same once more; false where neither is left. */
function again(model: Model, task: ModelTask, code: string): boolean {
  if (task.stopOnCritical && CRITICAL.includes(code)) return false;
  const isLeft = !PERMANENT.includes(code) && code !== 'E_COST_LIMIT_EXCEEDED' && counted(task) <= task.maxRetries;
  for (const [i, { trigger }] of task.alternatives.entries()) {
    const isMeant =
      trigger === 'FIRST_ERROR' ||
      (trigger === 'TIMEOUT' && code === 'E_TIMEOUT') ||
      (trigger === 'COST_LIMIT_EXCEEDED' && code === 'E_COST_LIMIT_EXCEEDED') ||
      (trigger === 'CRITICAL_ERROR' && CRITICAL.includes(code)) ||
      (trigger === 'ALL_ERRORS' && !isLeft);
    if (!isMeant || task.used.includes(i)) continue;
    task.used = [...task.used, i];
    put(model, task, 'ready', code);
    return true;
  }
  if (isLeft) put(model, task, 'ready', code, model.now + wait(task));
  return isLeft;
}

function fails(model: Model, task: ModelTask, code: string, isLast = false): void {
  end(model, task, 'failed', 'failed');
  if (isLast) put(model, task, 'deadletter', code);
  else if (!again(model, task, code)) {
    const isStopped = task.stopOnCritical && CRITICAL.includes(code);
    put(model, task, 'deadletter', task.used.length > 0 && !isStopped ? 'E_ALL_MODELS_EXHAUSTED' : code);
  }
}

function claims(model: Model, task: ModelTask, outcome: string): void {
  end(model, task, 'completed', outcome);
  if (outcome === 'blocked') put(model, task, 'blocked', 'E_BLOCKED');
  else put(model, task, 'review', null);
}

type OfRun = Exclude<Extract<TaskMessage, { run: string; type: `run.${string}` }>, { type: 'run.workspace' }>;

function ofRun(model: Model, task: ModelTask, message: OfRun, by: Actor): Said {
  if (message.type === 'run.judge') return judge(model, task, message, by);
  if (message.type === 'run.charge') {
    if (by.kind !== 'runtime') return no('E_PERMISSION_DENIED');
    if (isCurrent(task, message.run)) return same(task);
    task.usd += message.cost.usd ?? 0;
    return yes(task.id);
  }
  if (message.type === 'run.report' && message.messageId !== undefined && task.messages.includes(message.messageId)) {
    return same(task);
  }
  if (!isCurrent(task, message.run)) return message.type === 'run.resume' ? same(task) : no('E_STALE_RUN');
  if (message.type === 'run.resume') return resume(model, task, message);
  task.usd += message.cost?.usd ?? 0;
  if (message.type === 'run.fail') {
    fails(model, task, message.code, message.final);
    return yes(task.id);
  }
  if (message.messageId !== undefined) task.messages = [...task.messages, message.messageId];
  if (message.outcome === 'failed') fails(model, task, message.code ?? 'E_UNKNOWN');
  else claims(model, task, message.outcome);
  return yes(task.id);
}

function resume(model: Model, task: ModelTask, message: Extract<OfRun, { type: 'run.resume' }>): Said {
  const run = task.run as ModelRun;
  if (run.seen + run.leaseMs > model.now && message.gone !== true) return no('E_RUN_ALIVE');
  if (message.result === 'unreadable') return yes(task.id);
  task.usd += message.cost?.usd ?? 0;
  if (message.result === 'none' && message.reason === 'leaving') {
    end(model, task, 'expired', null);
    put(model, task, 'ready', 'E_RUN_EXPIRED');
    task.attempts--;
  } else if (message.result === 'none') {
    end(model, task, 'expired', null);
    put(model, task, counted(task) < 5 || counted(task) <= task.maxRetries ? 'ready' : 'deadletter', 'E_RUN_EXPIRED');
  } else if (message.result === 'failed') {
    fails(model, task, 'E_UNKNOWN');
  } else {
    claims(model, task, message.result);
  }
  return yes(task.id);
}

function judge(model: Model, task: ModelTask, message: Extract<OfRun, { type: 'run.judge' }>, by: Actor): Said {
  if (by.kind !== 'runtime') return no('E_PERMISSION_DENIED');
  if (task.status === 'done' && task.run?.id === message.run) return same(task);
  if (task.status !== 'review' || task.run?.id !== message.run) return no('E_STALE_RUN');
  if (!message.passed) {
    if (message.final === true || !again(model, task, 'E_EVIDENCE')) task.cause = 'E_EVIDENCE';
  } else if (task.run.outcome === 'done' && !task.reviewRequired) {
    put(model, task, 'done', null);
  } else {
    task.cause = null;
  }
  return yes(task.id);
}

export const emptyModel = (now: number): Model => ({ now, tasks: [] });
