/**
 * AOF/1 as zod schemas: the one source of the types, the validators and the JSON Schema.
 *
 * Every object is open: "other fields are kept, with a warning", and `unknown-fields.ts` gives the warning. What two
 * fields must agree on across envelope and payload is in `agreement.ts`.
 * zod counts a text's length in code points, and so does JSON Schema: those are the "characters" of the limits.
 */
import * as z from 'zod';
import { TASK_ID, TASK_PRIORITIES, TASK_STATUSES } from '../../core/task.ts';

export const AOF_TYPES = [
  'handoff.request',
  'handoff.accepted',
  'handoff.rejected',
  'status.update',
  'completion.report',
] as const;
export type AofType = (typeof AOF_TYPES)[number];

export const isAofType = (type: string): type is AofType => (AOF_TYPES as readonly string[]).includes(type);

/** MB is 1,024 × 1,024 bytes of UTF-8, as received. */
export const LIMITS = {
  messageBytes: 10 * 1024 * 1024,
  notes: 10_000,
  progress: 1_000,
  reason: 512,
  item: 256,
  list: 50,
  blockers: 20,
} as const;

const name = z.string().min(1);
const text = z.string();
const count = z.int().min(0);
const item = z.string().max(LIMITS.item);
const reason = z.string().max(LIMITS.reason);

const TaskId = z.string().regex(TASK_ID);
export const Time = z.iso.datetime({ offset: true, local: true });
/** How aof says that it is over; there is no `failed` here. */
const AofOutcome = z.enum(['done', 'blocked', 'needs_review', 'partial']);

/** zod looks at the length first: a list of five million items is one problem, not five million. */
const list = (most: number) => z.array(item).max(most);

/** No count is required; one that is not there counts as none, and without a total there is nothing to compare with. */
const Tests = z
  .looseObject({ total: count.optional(), passed: count.optional(), failed: count.optional() })
  .refine(
    ({ total, passed = 0, failed = 0 }) => total === undefined || passed + failed <= total,
    'passed and failed to be no more than the total',
  );

/** What every handoff payload may repeat of its envelope. */
const parties = {
  taskId: TaskId.optional(),
  parentTaskId: TaskId.optional(),
  fromAgent: name.optional(),
  toAgent: name.optional(),
};

/** The criteria as they should be. Unreadable ones do not make a request invalid, so the payload takes anything. */
export const Criteria = list(LIMITS.list);

export const HandoffRequest = z.looseObject({
  ...parties,
  acceptanceCriteria: z
    .unknown()
    .refine((value) => value !== undefined, 'a list of acceptance criteria')
    .meta({ type: 'array', items: { type: 'string', maxLength: LIMITS.item }, maxItems: LIMITS.list }),
  expectedOutputs: list(LIMITS.list).optional(),
  contextRefs: list(LIMITS.list).optional(),
  constraints: list(LIMITS.list).optional(),
  dueBy: Time.optional(),
});

const answer = {
  ...parties,
  agentId: name.optional(),
  reason: reason.optional(),
  notes: z.string().max(LIMITS.notes).optional(),
};

const HandoffAccepted = z.looseObject(answer);

/** `status` is where the child goes: `blocked` unless the rejecter says it is not theirs, which is `ready`. */
const HandoffRejected = z.looseObject({ ...answer, status: z.enum(['blocked', 'ready']).optional() });

/** What a status.update is about; one of these must be there. */
const NEWS = ['status', 'progress', 'blockers', 'notes'] as const;

const StatusUpdate = z
  .looseObject({
    taskId: TaskId.optional(),
    agentId: name.optional(),
    status: z.enum(TASK_STATUSES).optional(),
    progress: z.string().max(LIMITS.progress).optional(),
    blockers: list(LIMITS.blockers).optional(),
    reason: reason.optional(),
    notes: z.string().max(LIMITS.notes).optional(),
  })
  .refine((payload) => NEWS.some((field) => payload[field] !== undefined), `one of ${NEWS.join(' ')}`)
  .meta({ anyOf: NEWS.map((field) => ({ required: [field] })) });

const completion = {
  taskId: TaskId.optional(),
  agentId: name.optional(),
  completedAt: Time.optional(),
  outcome: AofOutcome,
  summaryRef: name.optional(),
  handoffRef: name.optional(),
  deliverables: list(LIMITS.list).optional(),
  tests: Tests.optional(),
  blockers: list(LIMITS.blockers).optional(),
  notes: z.string().max(LIMITS.notes).optional(),
};

export const CompletionReport = z.looseObject(completion);

const header = {
  protocol: z.literal('aof'),
  version: z.literal(1),
  taskId: TaskId,
  parentTaskId: TaskId.optional(),
  fromAgent: name,
  toAgent: name.optional(),
  sentAt: Time,
  messageId: name.optional(),
};

/** `toAgent` stands in the envelope of a handoff, whatever its payload says. */
const handoffHeader = { ...header, toAgent: name };

/** The envelope alone, of any type. */
export const AnyEnvelope = z.looseObject({ ...header, type: name, payload: z.looseObject({}) });

export const ENVELOPES = {
  'handoff.request': z.looseObject({ ...handoffHeader, type: z.literal('handoff.request'), payload: HandoffRequest }),
  'handoff.accepted': z.looseObject({
    ...handoffHeader,
    type: z.literal('handoff.accepted'),
    payload: HandoffAccepted,
  }),
  'handoff.rejected': z.looseObject({
    ...handoffHeader,
    type: z.literal('handoff.rejected'),
    payload: HandoffRejected,
  }),
  'status.update': z.looseObject({ ...header, type: z.literal('status.update'), payload: StatusUpdate }),
  'completion.report': z.looseObject({ ...header, type: z.literal('completion.report'), payload: CompletionReport }),
} as const satisfies Record<AofType, z.ZodType>;

/** `runs/<taskId>/run.json`: written when the lease is taken. Each run file names its run. */
export const RunArtifact = z.looseObject({
  runId: name,
  taskId: TaskId,
  agentId: name,
  startedAt: Time,
  status: z.enum(['running', 'completed', 'failed', 'expired']).optional(),
  attempt: z.int().min(1).optional(),
  model: name.nullish(),
  sessionId: name.nullish(),
  leaseExpiresAt: Time.nullish(),
  endedAt: Time.nullish(),
  resultRef: name.nullish(),
  metadata: z.record(z.string(), z.unknown()).optional(),
});

/** `run_heartbeat.json`: the last sign of life. */
export const RunHeartbeat = z.looseObject({
  runId: name,
  taskId: TaskId,
  agentId: name.optional(),
  lastHeartbeat: Time,
  beatCount: count.optional(),
  expiresAt: Time.nullish(),
  progress: z.string().max(LIMITS.progress).nullish(),
});

/** `run_result.json`: a completion report that names its run and, having no envelope, its task. */
export const RunResult = z.looseObject({ runId: name, ...completion, taskId: TaskId });

/**
 * A task file's frontmatter, in the order in which it is written. Nothing is required: a file that a person drops into
 * `tasks/ready/` becomes a task, and the store fills in the rest. A key without a value is null in YAML, and says as much as no key.
 * Other tasks may be named by an external id, so only `id` has the pattern.
 */
export const TaskFrontmatter = z.looseObject({
  id: TaskId.nullish(),
  externalId: name.nullish(),
  title: name.nullish(),
  status: z.enum(TASK_STATUSES).nullish(),
  priority: z.enum(TASK_PRIORITIES).nullish(),
  routing: z
    .looseObject({
      agent: name.nullish(),
      role: name.nullish(),
      team: name.nullish(),
      tags: z.array(name).nullish(),
    })
    .nullish(),
  dependsOn: z.array(name).nullish(),
  parentId: name.nullish(),
  session: name.nullish(),
  lease: z
    .looseObject({
      runId: name.nullish(),
      agent: name.nullish(),
      acquiredAt: Time.nullish(),
      expiresAt: Time.nullish(),
    })
    .nullish(),
  createdAt: Time.nullish(),
  updatedAt: Time.nullish(),
  lastTransitionAt: Time.nullish(),
  createdBy: text.nullish(),
  metadata: z.record(z.string(), z.unknown()).nullish(),
});

export type HandoffRequest = z.infer<typeof HandoffRequest>;
export type CompletionReport = z.infer<typeof CompletionReport>;
export type AofEnvelope = { [T in AofType]: z.infer<(typeof ENVELOPES)[T]> }[AofType];
export type HandoffRequestEnvelope = z.infer<(typeof ENVELOPES)['handoff.request']>;
export type CompletionEnvelope = z.infer<(typeof ENVELOPES)['completion.report']>;
export type RunArtifact = z.infer<typeof RunArtifact>;
export type RunHeartbeat = z.infer<typeof RunHeartbeat>;
export type RunResult = z.infer<typeof RunResult>;
export type TaskFrontmatter = z.infer<typeof TaskFrontmatter>;

/** What `baton schema` can print of this dialect, by the name it goes by. */
export const AOF_SCHEMAS = {
  ...ENVELOPES,
  'run.json': RunArtifact,
  'run_heartbeat.json': RunHeartbeat,
  'run_result.json': RunResult,
  'task-file': TaskFrontmatter,
} as const satisfies Record<string, z.ZodType>;
