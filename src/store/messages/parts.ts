/**
 * The schemas of what messages are made of. Each names every field of its type, and no other: a field that is added to a message and not here
 * does not compile.
 */
import * as z from 'zod';
import type {
  Actor,
  Amount,
  Claimer,
  HandedOn,
  NewTask,
  NextStage,
  Speaker,
  Threshold,
} from '../../core/laws/messages.ts';
import { APPROVAL_STATUSES, type GraphUpdate } from '../../core/node.ts';
import { OUTCOMES } from '../../core/report.ts';
import { type Holder, LOCK_PRIORITIES } from '../../core/session.ts';
import {
  type Alternative,
  FALLBACK_TRIGGERS,
  ISOLATIONS,
  MERGE_POLICIES,
  type RetryPolicy,
  type Routing,
  type Supervisor,
  TASK_PRIORITIES,
  TASK_STATUSES,
  type Workspace,
} from '../../core/task.ts';

type Fields<T> = { readonly [K in keyof Required<T>]: z.ZodType<T[K]> };

/** An object with exactly these fields. */
export const object = <T>(fields: Fields<T>): z.ZodType<T> =>
  z.strictObject(fields as Record<string, z.ZodType>) as unknown as z.ZodType<T>;

export const text = z.string();
export const name = z.string().min(1);
export const texts = z.array(text);
export const flag = z.boolean();
/** A time, or a number of something. */
export const count = z.number().min(0);
export const whole = z.int().min(0);
export const priority = z.enum(TASK_PRIORITIES);
export const status = z.enum(TASK_STATUSES);
export const outcome = z.enum(OUTCOMES);
export const answered = z.enum([...APPROVAL_STATUSES, 'answered']);
export const textMap = z.record(z.string(), text);

/** What JSON can hold: a value that it cannot would be lost or break the journal. */
const json = z.custom<unknown>((value) => isJson(value, 0), { error: 'expected what JSON can hold' });
export const fields = z.record(z.string(), json);

const DEEPEST = 64;
function isJson(value: unknown, depth: number): boolean {
  if (value === null || value === undefined || typeof value === 'string' || typeof value === 'boolean') return true;
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || depth > DEEPEST) return false;
  if (!Array.isArray(value) && !isPlain(value)) return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

export const actor = object<Actor>({ kind: z.enum(['person', 'agent', 'runtime', 'unknown']), name: text });

export const routing = object<Partial<Routing>>({
  agent: name.nullable().optional(),
  role: name.nullable().optional(),
  team: name.nullable().optional(),
  tags: texts.optional(),
});

const alternative = object<Alternative>({ provider: text, model: text, trigger: z.enum(FALLBACK_TRIGGERS) });

export const retry = object<RetryPolicy>({
  maxRetries: whole,
  backoffSeconds: z.array(count),
  alternatives: z.array(alternative).optional(),
  stopOnCritical: flag.optional(),
});

export const workspace = object<Workspace>({
  path: name,
  repository: name.nullable(),
  folder: text,
  branch: name.nullable(),
  isolation: z.enum(ISOLATIONS),
  merge: z.enum(MERGE_POLICIES),
  base: name.nullable(),
});

export const newTask = object<NewTask>({
  id: text.optional(),
  externalId: text.optional(),
  title: text,
  status: z.enum(['backlog', 'ready']).optional(),
  priority: priority.optional(),
  routing: routing.optional(),
  model: text.optional(),
  workspace: workspace.optional(),
  session: text.optional(),
  parentId: text.optional(),
  dependsOn: texts.optional(),
  writes: texts.optional(),
  retry: retry.optional(),
  reviewRequired: flag.optional(),
  metadata: fields.optional(),
  texts: textMap.optional(),
  idWord: text.optional(),
});

export const claimer = object<Claimer>({
  agent: name,
  roles: texts.optional(),
  teams: texts.optional(),
  tags: texts.optional(),
  any: flag.optional(),
  except: texts.optional(),
  instead: flag.optional(),
  model: text.optional(),
});

export const supervisor = object<Supervisor>({ pid: whole, started: text });

export const amount = object<Amount>({
  usd: count.optional(),
  tokensInput: count.optional(),
  tokensOutput: count.optional(),
});

export const next = object<NextStage>({ task: newTask, loads: texts });

export const handedOn = object<HandedOn>({
  node: text,
  nextStage: text,
  requiredFields: texts,
  optionalFields: texts,
  confidence: z.number(),
  outputType: text,
  approval: object<{ readonly question: string }>({ question: text }).nullable(),
  escalationReason: text.nullable(),
  next: next.optional(),
});

export const threshold = object<Threshold>({ below: z.number(), domains: z.record(z.string(), z.number()) });

type AddNode = Extract<GraphUpdate, { kind: 'add-node' }>;
type UpdateNode = Extract<GraphUpdate, { kind: 'update-node' }>;
type AnEdge = Extract<GraphUpdate, { kind: 'add-edge' | 'update-edge' }>;

const orNull = text.nullable();

export const graphUpdate = z.union([
  object<AddNode>({
    kind: z.literal('add-node'),
    node: object<AddNode['node']>({
      id: name,
      type: name,
      createdBy: text,
      confidence: z.number(),
      sources: texts,
      domain: orNull,
      outputType: orNull,
      ready: flag.nullable(),
      nextStage: orNull,
      topic: orNull,
    }),
    document: text,
  }),
  object<UpdateNode>({
    kind: z.literal('update-node'),
    id: name,
    set: object<UpdateNode['set']>({
      type: name.optional(),
      createdBy: text.optional(),
      confidence: z.number().optional(),
      sources: texts.optional(),
      domain: orNull.optional(),
      outputType: orNull.optional(),
      ready: flag.optional(),
      nextStage: orNull.optional(),
    }),
    changesData: flag,
    document: text,
  }),
  object<AnEdge>({
    kind: z.enum(['add-edge', 'update-edge']),
    source: name,
    target: name,
    relation: orNull,
    fields,
  }),
]);

export const speaker = object<Speaker>({
  agent: name,
  run: orNull,
  priority: z.enum(LOCK_PRIORITIES),
  leads: flag,
});

export const holder = object<Holder>({ token: text, pid: whole, started: orNull });
