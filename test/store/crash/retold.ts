/**
 * The journal told once more, by code that shares nothing with the store: what each record does to the tasks, and whether it may. Journals
 * of one workload begin alike, so what has been told once is kept, record by record.
 */
import { createHash } from 'node:crypto';
import type { AnyMessage, Texts } from '../../../src/core/laws/messages.ts';
import type { Ask } from '../../../src/core/store.ts';
import type { Disk } from '../../../src/store/fs/disk.ts';
import { canonical } from './ledger.ts';
import { noGraph, type ToldGraph, type ToldGraphChange, tellGraph } from './retold-graph.ts';

/** Typed by hand. */
const LEGAL: Readonly<Record<string, readonly string[]>> = {
  backlog: ['ready', 'blocked', 'cancelled'],
  ready: ['in-progress', 'blocked', 'deadletter', 'cancelled'],
  'in-progress': ['review', 'ready', 'blocked', 'deadletter', 'cancelled'],
  blocked: ['ready', 'deadletter', 'cancelled'],
  review: ['done', 'in-progress', 'ready', 'blocked', 'cancelled'],
  deadletter: ['ready'],
  done: [],
  cancelled: [],
};

/** What a task has where a record does not say. */
const USUAL = {
  externalId: null,
  priority: 'normal',
  routing: { agent: null, role: null, team: null, tags: [] },
  model: null,
  workspace: null,
  verdict: null,
  merging: null,
  conflicts: 0,
  session: 'default',
  parentId: null,
  depth: 0,
  dependsOn: [],
  retry: { maxRetries: 0, backoffSeconds: [30, 120, 300] },
  attempts: 0,
  runs: 0,
  run: null,
  availableAt: 0,
  cause: null,
  reviewRequired: false,
  fallback: null,
  writes: [],
  cost: { usd: 0, tokensInput: 0, tokensOutput: 0 },
  summary: null,
  messages: [],
  metadata: {},
};

export interface ToldTask {
  readonly id: string;
  readonly status: string;
  readonly title: string;
  readonly priority: string;
}

interface ToldEvent {
  readonly type: string;
  readonly task?: string;
  readonly run?: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

interface ToldRecord {
  readonly seq: number;
  readonly session: string;
  readonly request?: string;
  readonly by: { readonly kind: string; readonly name: string };
  readonly about: readonly string[];
  readonly events: readonly ToldEvent[];
  readonly changes: readonly { readonly task: string; readonly set: Partial<ToldTask>; readonly texts?: object }[];
  readonly graph?: readonly ToldGraphChange[];
}

/** All that is known behind one record. */
export interface Told {
  readonly before: Told | null;
  readonly seq: number;
  readonly record: ToldRecord | null;
  readonly tasks: ReadonlyMap<string, ToldTask>;
  /** By task and name, as they were asked for. */
  readonly texts: ReadonlyMap<string, string>;
  readonly graph: ToldGraph;
  readonly heads: ReadonlyMap<string, string>;
  /** The tasks, nodes and questions that this record touched, as it left them. */
  readonly shown: readonly string[];
  /** How many records answer each request. */
  readonly requests: ReadonlyMap<string, number>;
  readonly runs: ReadonlySet<string>;
  /** What is wrong with this record or one before it. */
  readonly problem: string | null;
  readonly next: Map<string, Told>;
}

export const nothingTold = (): Told => ({
  before: null,
  seq: 0,
  record: null,
  tasks: new Map(),
  texts: new Map(),
  graph: noGraph,
  heads: new Map(),
  shown: [],
  requests: new Map(),
  runs: new Set(),
  problem: null,
  next: new Map(),
});

export const textKey = (task: string, name: string): string => `${task}\n${name}`;

/** Tells the journal on a disk from its beginning. `problem` of what comes back says what is wrong with it. */
export function retell(disk: Disk, dir: string, start: Told, askOf: (request: string) => Ask | undefined): Told {
  let told = start;
  for (const name of disk.list(`${dir}/events`).sort()) {
    const text = Buffer.from(disk.read(`${dir}/events/${name}`) ?? []).toString('utf8');
    const lines = text.split('\n');
    if (lines.pop() !== '') return { ...told, problem: `events/${name} does not end with a line end` };
    for (const line of lines) {
      let next = told.next.get(line);
      if (next === undefined) {
        next = tell(told, line, askOf);
        told.next.set(line, next);
      }
      told = next;
      if (told.problem !== null) return { ...told, problem: `events/${name}, record ${told.seq}: ${told.problem}` };
    }
  }
  return told;
}

const HASH = /^(.*),"hash":"([0-9a-f]{64})"\}$/s;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

function parse(line: string): ToldRecord | null {
  try {
    return JSON.parse(line) as ToldRecord;
  } catch {
    // Two records run into one another, or a hole in one.
    return null;
  }
}

function tell(before: Told, line: string, askOf: (request: string) => Ask | undefined): Told {
  const seq = before.seq + 1;
  const wrong = (problem: string): Told => ({ ...before, seq, problem, next: new Map() });
  const [, body, hash] = HASH.exec(line) ?? [];
  if (body === undefined || hash === undefined) return wrong(`not a record: ${line.slice(0, 80)}`);
  const record = parse(line);
  if (record === null) return wrong(`not JSON: ${line.slice(0, 80)}`);
  if (record.seq !== seq) return wrong(`it has the number ${record.seq}`);
  const head = before.heads.get(record.session) ?? sha256(`baton session ${record.session}`);
  if (sha256(`${head}${body}}`) !== hash) return wrong('its hash does not fit');
  const tasks = new Map(before.tasks);
  const runs = new Set(before.runs);
  const problem = misstep(record, tasks, runs);
  if (problem !== null) return wrong(problem);
  const shown: string[] = [];
  for (const { task, set } of record.changes) {
    const old = tasks.get(task);
    const now = (old === undefined ? { ...USUAL, ...set } : { ...old, ...set }) as ToldTask;
    if (now.id !== task) return wrong(`a change of ${task} speaks of ${now.id}`);
    tasks.set(task, now);
    shown.push(canonical(now));
  }
  const message = record.request === undefined ? undefined : askOf(record.request)?.message;
  const graph = tellGraph(before.graph, record.graph ?? [], message);
  if (typeof graph === 'string') return wrong(graph);
  shown.push(...graph.shown);
  const requests = new Map(before.requests);
  const texts = new Map(before.texts);
  if (record.request !== undefined) {
    requests.set(record.request, (requests.get(record.request) ?? 0) + 1);
    const ask = askOf(record.request);
    if (ask === undefined) return wrong(`nobody asked for ${record.request}: ${JSON.stringify(record.events)}`);
    if (canonical(ask.by) !== canonical(record.by))
      return wrong(`${record.request} was not asked by ${record.by.name}`);
    for (const [task, all] of textsAsked(ask.message, record.about)) {
      for (const [name, text] of Object.entries(all)) texts.set(textKey(task, name), text);
    }
  } else if (record.changes.length > 0 || record.by.kind !== 'runtime') {
    return wrong(`nobody asked for it: ${JSON.stringify(record.events)}`);
  }
  const heads = new Map(before.heads).set(record.session, hash);
  const told = { before, seq, record, tasks, texts, graph: graph.graph, heads, shown };
  return { ...told, requests, runs, problem: null, next: new Map() };
}

/** Which texts a question brings, and for which tasks. */
function textsAsked(message: AnyMessage, about: readonly string[]): (readonly [string, Texts])[] {
  if (message.type === 'task.add')
    return message.tasks.map(({ texts }, i) => [about[i] as string, texts ?? {}] as const);
  if (message.type === 'task.edit' || message.type === 'run.report') return [[about[0] as string, message.texts ?? {}]];
  return [];
}

/** Whether the record's events lead from the statuses before to those after, by legal steps only; and no task or run begins twice. */
function misstep(record: ToldRecord, tasks: ReadonlyMap<string, ToldTask>, runs: Set<string>): string | null {
  const statuses = new Map<string, string>();
  for (const { type, task = '', run = '', detail = {} } of record.events) {
    if (type === 'task.created') {
      if (tasks.has(task) || statuses.has(task)) return `${task} is made twice`;
      statuses.set(task, String(detail['status']));
    } else if (type === 'task.transitioned') {
      const from = statuses.get(task) ?? tasks.get(task)?.status;
      const to = String(detail['to']);
      if (from === undefined || from !== detail['from']) return `${task} was ${from}, not ${detail['from']}`;
      if (!LEGAL[from]?.includes(to)) return `${task} goes from ${from} to ${to}`;
      statuses.set(task, to);
    } else if (type === 'run.started') {
      if (runs.has(run)) return `${run} is started twice`;
      runs.add(run);
    }
  }
  for (const { task, set } of record.changes) {
    const said = statuses.get(task) ?? tasks.get(task)?.status;
    if (said === undefined) return `${task} was never made`;
    if ((set.status ?? said) !== said) return `${task} becomes ${set.status}, and no event says so`;
    statuses.delete(task);
  }
  for (const [task, status] of statuses) if (tasks.get(task)?.status !== status) return `${task} is not ${status}`;
  return null;
}

/** Every record that touched a task, oldest first. */
export function recordsOf(told: Told, task: string): number[] {
  const found: number[] = [];
  for (let at: Told | null = told; at !== null; at = at.before) {
    const { record } = at;
    if (record?.changes.some((change) => change.task === task) || record?.events.some((event) => event.task === task)) {
      found.push(at.seq);
    }
  }
  return found.reverse();
}
