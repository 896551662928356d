/** The shapes of what goes in and out over HTTP: they validate what comes, and `/openapi.json` is made of them. */
import * as z from 'zod';
import { ISOLATIONS, MERGE_POLICIES, TASK_PRIORITIES, TASK_STATUSES, VERDICTS } from '../../core/task.ts';
import { ANSWER_STATUSES } from '../../runtime/answer-meaning.ts';

const text = z.string().min(1);
const most = (chars: number): z.ZodString => text.max(chars);

const Status = z.enum(TASK_STATUSES);
const Priority = z.enum(TASK_PRIORITIES);

export const TaskShape = z
  .looseObject({
    id: z.string(),
    externalId: z.string().nullable(),
    title: z.string(),
    status: Status,
    priority: Priority,
    agent: z.string().nullable(),
    model: z.string().nullable().describe('the model that was ordered, else that of the latest run'),
    workspace: z
      .looseObject({
        path: z.string(),
        branch: z.string().nullable().describe('the branch that it started from and is merged into'),
        base: z.string().nullable().describe('the commit that its latest run started from'),
        isolation: z.enum(ISOLATIONS),
        merge: z.enum(MERGE_POLICIES),
      })
      .nullable(),
    verdict: z.enum(VERDICTS).nullable(),
    session: z.string(),
    parentId: z.string().nullable(),
    depth: z.int(),
    dependsOn: z.array(z.string()),
    attempts: z.int(),
    createdAt: z.iso.datetime(),
    updatedAt: z.iso.datetime(),
    blockedBy: z.array(z.string()),
    waitsFor: z.array(z.looseObject({ text: z.string(), for: z.string() })),
    cost: z.looseObject({
      usd: z.number().nullable(),
      known_usd: z.number(),
      tokens_input: z.number(),
      tokens_output: z.number(),
    }),
    summary: z.string().nullable(),
    undone: z.boolean(),
  })
  .meta({ id: 'Task' });

export const EventShape = z
  .looseObject({
    id: z.string().describe("the record's number and the event's place in it: Last-Event-ID takes it"),
    seq: z.int(),
    at: z.iso.datetime(),
    session: z.string(),
    type: z.string(),
    task: z.string().nullable(),
    run: z.string().nullable(),
    by: z.string(),
    byKind: z.enum(['person', 'agent', 'runtime', 'unknown']),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Event' });

const RunShape = z
  .looseObject({
    id: z.string(),
    attempt: z.int(),
    agent: z.string(),
    model: z.string().nullable(),
    startedAt: z.iso.datetime(),
    endedAt: z.iso.datetime().nullable(),
    status: z.enum(['running', 'completed', 'failed', 'expired', 'cancelled']),
    outcome: z.string().nullable(),
  })
  .meta({ id: 'Run' });

export const RunWithTask = z.looseObject({ ...RunShape.shape, task: z.string() });

export const ShownTaskShape = z
  .looseObject({
    ...TaskShape.shape,
    runs: z.array(RunShape),
    events: z.array(EventShape),
    body: z.string().nullable(),
  })
  .meta({ id: 'TaskWithHistory' });

export const WhyShape = z
  .looseObject({
    id: z.string(),
    status: Status,
    verdict: z.enum(VERDICTS).nullable(),
    because: z.array(
      z.looseObject({
        event: z.string(),
        at: z.iso.datetime(),
        by: z.string(),
        detail: z.record(z.string(), z.unknown()),
      }),
    ),
    waitsFor: z.array(z.looseObject({ for: z.string(), text: z.string() })),
  })
  .meta({ id: 'Why' });

export const RoutedShape = z
  .looseObject({
    result: z.enum(['accepted', 'rejected', 'unknown', 'ignored']),
    reason: z.string().nullable(),
    task: z.string().nullable(),
    events: z.array(z.string()),
  })
  .meta({ id: 'Routed' });

const fields = z.record(z.string(), z.unknown());

export const NodeShape = z
  .looseObject({
    node_id: z.string(),
    node_type: z.string(),
    metadata: fields,
    data: fields,
    handoff: fields,
    lineage: z.looseObject({
      created_from_nodes: z.array(z.string()),
      consumed_by_nodes: z.array(z.string()),
    }),
  })
  .meta({ id: 'Node' });

export const LineageShape = z
  .looseObject({
    nodes: z.array(NodeShape),
    edges: z.array(z.looseObject({ from: z.string(), to: z.string(), relation: z.string().nullable() })),
    isCut: z.boolean().describe('there are more than are told here'),
  })
  .meta({ id: 'Lineage' });

export const InboxItemShape = z
  .looseObject({
    id: z.string().describe('ask-1, or the task that waits'),
    kind: z.enum(['approval', 'uncertainty', 'review', 'failure']),
    question: z.string(),
    options: z.array(z.looseObject({ option: z.string(), impact: z.string().nullable() })),
    since: z.iso.datetime(),
    blocks: z.array(z.string()).describe('the tasks that cannot go on before it is answered'),
    task: z.string().nullable(),
    node: z.string().nullable(),
    reason: z.string().nullable(),
    session: z.string(),
    nextStage: z.string().nullable(),
  })
  .meta({ id: 'InboxItem' });

export const AnsweredShape = z
  .looseObject({
    ...InboxItemShape.shape,
    answer: z.looseObject({
      status: z.enum(ANSWER_STATUSES),
      text: z.string().nullable(),
      comment: z.string().nullable(),
      by: z.string(),
      at: z.iso.datetime(),
      node: z.string().nullable(),
    }),
    output: fields.nullable().describe('the answer as an OUTPUT by user'),
    status: Status.nullable().describe('of the task that waited, now'),
    tasks: z.array(z.string()).describe('the tasks that it made'),
    nodes: z.array(z.string()),
  })
  .meta({ id: 'Answered' });

export const AnswerBody = z
  .strictObject({
    status: z.enum(ANSWER_STATUSES),
    text: most(10_000).optional().describe('an option by its name or number, or words; with answered'),
    comment: most(10_000).optional(),
    next: most(256).optional().describe('the stage that goes on, where it is approved'),
  })
  .meta({ id: 'Answer' });

const OverviewFields = {
  id: z.string(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime().nullable(),
  tasks: z.record(z.string(), z.int()).describe('how many there are of each status'),
  keys: z.int(),
  locks: z.int(),
  checkpoints: z.int(),
  questions: z.int().describe('what waits for a person'),
};

export const SessionShape = z.looseObject(OverviewFields).meta({ id: 'Session' });

export const SessionDetailsShape = z
  .looseObject({
    ...OverviewFields,
    state: z.record(z.string(), z.looseObject({ value: z.string(), persistent: z.boolean() })),
    variables: z.record(z.string(), z.string()),
    held: z
      .record(z.string(), z.looseObject({ owner: z.string(), until: z.iso.datetime() }))
      .describe('locks, by resource'),
    signals: z.record(z.string(), z.string()),
    channels: z.record(z.string(), z.array(z.string())).describe('who listens'),
    made: z
      .array(z.looseObject({ id: z.string(), name: z.string(), kind: z.string(), at: z.iso.datetime() }))
      .describe('checkpoints'),
  })
  .meta({ id: 'SessionDetails' });

export const LineBody = z
  .strictObject({
    line: most(100_000).describe('a #COMMAND, or plain words'),
    as: most(256).optional().describe('a person who speaks for an agent; refused to a run'),
    dryRun: z.boolean().optional().describe('only say which commands it would run'),
  })
  .meta({ id: 'Line' });

export const DoneShape = z
  .looseObject({
    reply: z.string().describe('begins with #ERROR where a command failed'),
    commands: z.array(z.string()),
    clarify: z.string().nullable().describe('a question back: nothing was done'),
  })
  .meta({ id: 'Done' });

export const ErrorShape = z
  .looseObject({
    error: z.looseObject({ code: z.string(), message: z.string(), hint: z.string().nullable() }),
  })
  .meta({ id: 'Error' });

export const ReportShape = z
  .looseObject({ event_type: z.literal('SESSION_FINAL_REPORT').optional() })
  .meta({ id: 'SessionFinalReport' });
export const ResponseShape = z
  .looseObject({})
  .describe("the run's RESPONSE, as the contract has it")
  .meta({ id: 'Response' });
export const LogLine = z
  .looseObject({ run: z.string(), stream: z.enum(['out', 'err']), text: z.string() })
  .meta({ id: 'LogLine' });
export const HealthShape = z.looseObject({ ok: z.boolean(), version: z.string() }).meta({ id: 'Health' });

/** What `baton run` and `baton task add` take as options, by the same names. */
const list = z.array(most(4096)).max(1000);
const ORDER = {
  agent: most(256).optional(),
  model: most(256).optional(),
  budget: z.number().positive().optional().describe('dollars, all attempts together'),
  timeout: z.number().positive().optional().describe('seconds an attempt may take'),
  retries: z.int().min(0).max(1000).optional(),
  write: list.optional().describe('paths that it may write; nothing else of the workspace then'),
  read: list.optional().describe('paths that it may read; nothing else then'),
  check: list.optional().describe('commands, or NAME=command, that have to exit with 0 before it is done'),
  expect: list.optional().describe('files that have to be there, and not empty, before it is done'),
  isolation: z.enum(['worktree', 'shared']).optional(),
  merge: z.literal(false).optional().describe('false leaves its work on the branch baton/<task>'),
} as const;

export const OrderFields = z.object(ORDER);

export const NewTaskBody = z
  .strictObject({
    title: most(500),
    body: z.string().optional(),
    ...ORDER,
    priority: Priority.optional(),
    dependsOn: z.array(text).max(1000).optional(),
    parentId: text.optional(),
    session: most(256).optional(),
    status: z.enum(['backlog', 'ready']).optional(),
    reviewRequired: z.boolean().optional(),
  })
  .meta({ id: 'NewTask' });

export const MoveBody = z.strictObject({ status: Status, reason: most(512).optional() }).meta({ id: 'Move' });
export const ReasonBody = z.strictObject({ reason: most(512).optional() }).meta({ id: 'Reason' });
export const RetryBody = z.strictObject({ agent: ORDER.agent, budget: ORDER.budget }).meta({ id: 'Retry' });
export const EditBody = z
  .strictObject({
    title: most(500).optional(),
    priority: Priority.optional(),
    dependsOn: z.array(text).max(1000).optional().describe('replaces what it depended on'),
    reviewRequired: z.boolean().optional(),
    ...ORDER,
  })
  .refine((value) => Object.keys(value).length > 0, 'expected something to change')
  .meta({ id: 'Edit' });

/** As OpenClaw tells its plugins of it: the event, and where it happened. */
export const OpenClawBody = z
  .looseObject({
    type: z.enum(['message_received', 'session_end']),
    event: z.record(z.string(), z.unknown()),
    context: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'OpenClawEvent' });

export const InSession = z.looseObject({
  session: text.optional().describe('where an external id is in several sessions'),
});
export const ListQuery = z.strictObject({
  status: z.array(Status).optional(),
  session: text.optional(),
  limit: z.coerce.number().int().min(1).optional().describe('at most so many'),
});
export const NodesQuery = z.strictObject({
  type: z.array(text).optional(),
  domain: text.optional(),
  stage: text.optional().describe('the stage that it goes to next'),
  session: text.optional(),
  task: text.optional().describe('the task that wrote it'),
  text: most(1_000).optional().describe('words that stand somewhere in it'),
  limit: z.coerce.number().int().min(1).optional().describe('at most so many'),
});
export const LineageQuery = z.strictObject({
  direction: z.enum(['up', 'down', 'both']).optional(),
  hops: z.coerce.number().int().min(1).max(1_000).optional(),
});
export const InboxQuery = z.strictObject({ session: text.optional() });
export const MessagesQuery = z.strictObject({
  as: most(256).optional().describe('a person who speaks for an agent; refused to a run'),
});
export const EventsQuery = z.strictObject({
  task: text.optional(),
  session: text.optional(),
  after: z
    .string()
    .regex(/^\d+(-\d+)?$/)
    .optional()
    .describe('as Last-Event-ID, which goes before it; 0 is all that ever happened'),
  as: z.enum(['aop2']).optional().describe('as EVENT messages of the orchestration protocol; others are left out'),
});
export const LogQuery = z.strictObject({
  follow: z.enum(['', 'true', '1', 'false', '0']).optional().describe('go on while it runs'),
  stream: z.enum(['out', 'err']).optional().describe('the bytes of one stream, and not lines of JSON'),
});
