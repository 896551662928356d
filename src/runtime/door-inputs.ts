/**
 * What each method of the door takes, once for all: the door's types, the calls on a run's socket and the tools of MCP are made of this
 * table. Every text and every list has an end, and a field that is not known is refused and named, so that an agent that guesses learns at
 * once. Limits are those of aof where it has some.
 */
import * as z from 'zod';
import { BatonError } from '../core/errors.ts';
import { TASK_PRIORITIES, TASK_STATUSES } from '../core/task.ts';
import { LIMITS } from '../protocol/aof/index.ts';
import { toProblems, type Validate, validator } from '../protocol/text/validate.ts';

const NAME = 128;
const PATH = 1024;
const TITLE = 500;
const BODY = 200_000;
const MOST_METRICS = 50;
const LINE = 20_000;
/** Under 55 seconds: programs give up on a tool after a minute. */
export const LONGEST_WAIT_MS = 54_000;

const name = z.string().min(1).max(NAME);
const path = z.string().min(1).max(PATH);
const items = (most: number) => z.array(z.string().min(1).max(LIMITS.item)).max(most);
const id = (what: string) => name.describe(`${what}: TASK-YYYY-MM-DD-NNN, or its external id`);
const own = id('the task; your own where it is not given');
const count = z.int().min(0);

const Create = z.strictObject({
  title: z.string().min(1).max(TITLE).describe('what is to be done, in one line'),
  body: z.string().max(BODY).describe('all that whoever does it has to know').exactOptional(),
  agent: name.describe('who is to do it; anybody where it is not given').exactOptional(),
  priority: z.enum(TASK_PRIORITIES).exactOptional(),
  dependsOn: z.array(name).max(LIMITS.list).describe('ids of tasks that have to be done before').exactOptional(),
  parentId: id('the task that it is a part of; your own where it is not given').exactOptional(),
});

const Update = z.strictObject({
  taskId: own.exactOptional(),
  status: z.enum(TASK_STATUSES).exactOptional(),
  progress: z.string().max(LIMITS.progress).exactOptional(),
  blockers: items(LIMITS.blockers).exactOptional(),
  notes: z.string().max(LIMITS.notes).exactOptional(),
  reason: z.string().max(LIMITS.reason).describe('why the status changes').exactOptional(),
});

const Tests = z
  .strictObject({ total: count, passed: count, failed: count })
  .refine(({ total, passed, failed }) => passed + failed <= total, 'passed and failed to be no more than the total');

const Complete = z.strictObject({
  taskId: own.exactOptional(),
  outcome: z
    .enum(['done', 'partial', 'needs_review', 'blocked'])
    .describe('done only for what you have checked; it is checked again'),
  summary: z.string().max(LIMITS.notes).describe('what came of it, in 1 to 5 lines').exactOptional(),
  deliverables: items(LIMITS.list).describe('paths of what was made').exactOptional(),
  tests: Tests.exactOptional(),
  blockers: items(LIMITS.blockers).describe('with blocked: what stands in the way').exactOptional(),
  notes: z.string().max(LIMITS.notes).exactOptional(),
  summaryRef: path.describe('the file with the summary').exactOptional(),
  handoffRef: path.describe('the file for whoever goes on').exactOptional(),
});

const List = z.strictObject({
  status: z.array(z.enum(TASK_STATUSES)).max(TASK_STATUSES.length).exactOptional(),
  session: name.exactOptional(),
  limit: z.int().min(1).max(100).describe('20 where it is not given').exactOptional(),
});

const Handoff = z.strictObject({
  toAgent: name.describe('who is to go on with it'),
  title: z.string().min(1).max(TITLE).exactOptional(),
  acceptanceCriteria: items(LIMITS.list).describe('what has to be true when it is done'),
  expectedOutputs: items(LIMITS.list).describe('paths of what it has to make').exactOptional(),
  contextRefs: items(LIMITS.list).describe('files and tasks that it needs to know').exactOptional(),
  constraints: items(LIMITS.list).exactOptional(),
  dueBy: z.iso.datetime({ offset: true, local: true }).describe('a time like 2026-02-26T14:00:00Z').exactOptional(),
  parentTaskId: id('the task it is a part of; your own where it is not given').exactOptional(),
});

const Message = z.strictObject({
  text: z
    .string()
    .min(1)
    .max(LIMITS.messageBytes)
    .describe('one or more messages of any dialect: an AOF/1 envelope, a TASK or RESPONSE, an [AOP:…] block'),
});

const Report = z.strictObject({
  status: z.enum(['success', 'failure', 'partial']).describe('success only for what you have checked'),
  summary: z.string().min(1).max(LIMITS.notes).describe('your key findings in 1 to 5 bullets, 500 characters at most'),
  detailsFile: path.describe('the file with your full results').exactOptional(),
  metrics: z
    .record(z.string().min(1).max(NAME), z.string().max(LIMITS.item))
    .refine((metrics) => Object.keys(metrics).length <= MOST_METRICS, `at most ${MOST_METRICS} metrics`)
    .describe('counts, sizes, durations, as texts')
    .exactOptional(),
});

const Context = z.strictObject({
  maxChars: z.int().min(200).max(20_000).describe('4000 where it is not given').exactOptional(),
});

const Load = z.strictObject({
  node: z.string().min(1).max(200).describe('the id of the node'),
  require: z.array(name).max(LIMITS.list).describe('fields of its data that have to be there').exactOptional(),
});

const Do = z.strictObject({
  line: z.string().min(1).max(LINE).describe('#COMMAND:param:param, or plain words; #HELP lists the commands'),
  session: name.describe('within a run its own, and no other; default elsewhere').exactOptional(),
  dryRun: z.boolean().describe('only say which commands it would run').exactOptional(),
  timeoutMs: z.number().min(0).describe('what waits is given up after so long').exactOptional(),
});

const Wait = z.strictObject({
  taskIds: z.array(name).min(1).max(LIMITS.list).describe('the tasks to wait for'),
  timeoutMs: z.int().min(0).max(LONGEST_WAIT_MS).describe('30000 where it is not given').exactOptional(),
});

export const DOOR_INPUTS = {
  create: Create,
  update: Update,
  complete: Complete,
  list: List,
  handoff: Handoff,
  message: Message,
  report: Report,
  context: Context,
  load: Load,
  wait: Wait,
  do: Do,
} as const;

export type DoorMethod = keyof typeof DOOR_INPUTS;
export type DoorInput<Method extends DoorMethod> = Readonly<z.infer<(typeof DOOR_INPUTS)[Method]>>;

const validators = new Map<z.ZodType, Validate>();

/** @param name what is called, for the sentence */
export function checkInput(name: string, schema: z.ZodType, input: unknown): void {
  const validate = validators.get(schema) ?? validator(schema);
  validators.set(schema, validate);
  const [first] = toProblems(validate(input).slice(0, 1), input, 'E_SCHEMA_VALIDATION');
  if (first === undefined) return;
  const where = first.path === '' ? 'its input' : first.path;
  throw new BatonError('E_SCHEMA_VALIDATION', `${name}: ${first.message}, at ${where}`);
}
