/**
 * The task of the stage that a node is handed on to: by reference, with just the fields that were asked for, and what is needed to go on. It waits for
 * the task that hands on, works where that one does and may do no more.
 */
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { NewTask, NextStage } from '../core/laws/messages.ts';
import type { Question } from '../core/question.ts';
import type { Store } from '../core/store.ts';
import { DEFAULT_SESSION, TASK_PRIORITIES, type Task, type TaskPriority } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { NO_TASK } from '../protocol/aof/report.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { encodeOutput } from '../protocol/output/encode.ts';
import type { Output } from '../protocol/output/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { childMessage, taskMessage } from './child.ts';
import { madeEnvelope, OPEN } from './envelope.ts';
import { dataOf, gapsOf, type Loadable, noNode, notLoadable } from './loading.ts';
import { limitsOf, MOST_TITLE } from './new-tasks.ts';
import { withLimits } from './stage-limits.ts';
import { criteriaOf, stageBody } from './stage-words.ts';
import { stageOf } from './stages.ts';

export interface StageParts {
  readonly store: Store;
  readonly config: Config;
  readonly now: () => number;
  /** Where tasks work that do not say where. */
  readonly workspace?: string;
  /** Where programs of agents are looked for. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

interface Handing {
  readonly stage: string;
  /** It has been looked at: it may be built upon. */
  readonly node: Loadable;
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** The task that hands it on, and its run; null where nobody's task does. */
  readonly producer: Task | null;
  readonly run?: string | null;
  /** Who hands it on, in words. */
  readonly from: string;
  readonly session?: string;
  /** The envelope, where there is one. */
  readonly output?: Output | null;
}

type Handed = { readonly next: NextStage | null } | { readonly refusal: Refusal };

/** Null where it goes to a person, for whom no task is made. */
export async function nextStage(parts: StageParts, handing: Handing): Promise<Handed> {
  const { config, store, now, workspace = '/' } = parts;
  const { stage, node, producer } = handing;
  const found = stageOf(config, stage);
  if (found.kind === 'unknown') return { refusal: found.refusal };
  if (found.kind === 'user') return { next: null };
  const hops = (await hopsBefore(parts, handing)) + 1;
  const { max_stages: most } = config.delegation;
  if (hops > most) {
    const message = `expected at most ${most} stages that hand on to each other, and ${stage} would be number ${hops}`;
    const hint = 'delegation.max_stages in config.yaml sets the limit';
    return { refusal: { code: 'E_MAX_DEPTH_EXCEEDED', message, hint } };
  }
  const of = producer === null ? null : await taskMessage(store, producer, workspace);
  if (of !== null && !policyOf(of).delegationAllowed) {
    const message = `${producer?.id} says delegation_allowed: false, so ${node.id} is not handed on to ${stage}`;
    return { refusal: { code: 'E_PERMISSION_DENIED', message, hint: null } };
  }
  const data = dataOf(node);
  const title = shorten(oneLine(`${stage}: ${summaryOf(node)}`), MOST_TITLE);
  const fields = [...new Set([...handing.required, ...handing.optional])].filter((field) => Object.hasOwn(data, field));
  const shown = Object.fromEntries(fields.map((field) => [field, data[field]]));
  const criteria = criteriaOf(shown)
    .slice(0, MOST_CRITERIA)
    .map((item) => shorten(item, 500));
  const body = stageBody({ ...handing, output: handing.output ?? null, fields: shown, criteria, title });
  const session = producer?.session ?? handing.session ?? node.session ?? DEFAULT_SESSION;
  const message = withLimits(
    withStage(
      producer !== null && of !== null
        ? childMessage(producer, of, {
            taskId: NO_TASK,
            agent: found.routing.agent ?? null,
            objective: body,
            from: handing.from,
            createdAt: isoTime(now()),
            criteria,
          })
        : madeEnvelope({
            taskId: NO_TASK,
            session,
            createdAt: isoTime(now()),
            agent: found.routing.agent ?? OPEN,
            objective: body,
            workspace,
          }),
      handing,
      criteria,
    ),
    found.limits ?? {},
  );
  const { retry } = limitsOf(message);
  const { document } = node;
  const kept = { node_id: node.id, node_type: node.type, metadata: document['metadata'] ?? {}, data: shown };
  const made: NewTask = {
    title,
    session,
    routing: found.routing,
    retry,
    priority: priorityOf(data['priority']) ?? producer?.priority ?? 'normal',
    ...(producer === null ? {} : { dependsOn: [producer.id] }),
    metadata: {
      stage,
      node: node.id,
      handedFrom: producer?.id ?? null,
      handedRun: handing.run ?? null,
      hops,
    },
    texts: {
      body,
      'inputs/task.json': `${JSON.stringify(message, null, 2)}\n`,
      'inputs/node.json': `${JSON.stringify(kept, null, 2)}\n`,
      ...(handing.output == null ? {} : { 'inputs/output.yaml': encodeOutput(handing.output) }),
    },
    idWord: NO_TASK,
  };
  // A stage goes on where the one before it worked.
  const inCheckout = producer?.workspace?.isolation === 'checkout';
  try {
    // Answering a question loads the agents only where a stage follows.
    const { admitTasks } = await import('./tasks/admit.ts');
    const { tasks } = await admitTasks(parts, [made], { inCheckout });
    return { next: { task: tasks[0] as NewTask, loads: [node.id] } };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    return { refusal: { code: cause.code, message: cause.message, hint: cause.hint } };
  }
}

/** The stage that goes on when a question is answered; null where nothing follows. The node is one that a person has just let through. */
export async function stageAfter(parts: StageParts, question: Question, stage = question.nextStage): Promise<Handed> {
  if (stage === null) return { next: null };
  const { store, config } = parts;
  const node = await store.node(question.about);
  if (node === undefined) return { refusal: noNode(question.about) };
  const gaps = gapsOf(node, { required: question.requiredFields, config, isAsked: true });
  if (gaps.length > 0) return { refusal: notLoadable(node.id, gaps) };
  const producer = question.task === null ? null : ((await store.find(question.task)) ?? null);
  return nextStage(parts, {
    stage,
    node,
    required: question.requiredFields,
    optional: question.optionalFields,
    producer,
    run: question.run,
    from: 'user',
    session: question.session,
  });
}

/** How many stages lie before the one that is made: those of the task that hands on, else of the one that wrote the node. */
async function hopsBefore({ store }: StageParts, { producer, node }: Handing): Promise<number> {
  const task = producer ?? (node.task == null ? undefined : await store.find(node.task));
  const hops = task?.metadata['hops'];
  return typeof hops === 'number' && Number.isFinite(hops) ? hops : 0;
}

function summaryOf(node: Loadable): string {
  const data = dataOf(node);
  const said = [data['summary'], data['title'], data['question']].find(
    (text) => typeof text === 'string' && text.trim() !== '',
  );
  return typeof said === 'string' ? said : node.id;
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

const MOST_CRITERIA = 100;

const priorityOf = (said: unknown): TaskPriority | undefined =>
  typeof said === 'string' ? TASK_PRIORITIES.find((priority) => priority === said.trim().toLowerCase()) : undefined;

/** It is no part of the task that hands on, but what comes after it. */
function withStage(message: TaskMessage, { stage, node }: Handing, criteria: readonly string[]): TaskMessage {
  const { parent_task_id: _, expected_outputs: __, ...task } = message.task;
  return {
    ...message,
    task: {
      ...task,
      category: categoryOf(stage, node.type),
      extensions: {
        ...task.extensions,
        x_stage: stage,
        x_graph_node: node.id,
        ...(criteria.length === 0 ? {} : { x_acceptance_criteria: [...criteria] }),
      },
    },
  };
}

type Category = TaskMessage['task']['category'];

/** By the stage's own name first, then by what it is given. */
const BY_STAGE: readonly (readonly [RegExp, Category])[] = [
  [/test|qa\b|verif/i, 'TESTING'],
  [/review|audit|validat/i, 'REVIEW'],
  [/implement|develop|engineer|coder|coding|\bfix/i, 'CODE_GENERATION'],
  [/refactor/i, 'CODE_REFACTORING'],
  [/research|analy/i, 'ANALYSIS'],
  [/architect|design|plan/i, 'PLANNING'],
  [/writ|edit|content|document|\bdocs?\b|publish/i, 'DOCUMENTATION'],
];

const BY_TYPE: readonly (readonly [RegExp, Category])[] = [
  [/^(?:BugBrief|FeatureBrief|Implementation|Specification|DesignSummary)$/, 'CODE_GENERATION'],
  [/^RefactorBrief$/, 'CODE_REFACTORING'],
  [/^TestResults$/, 'TESTING'],
  [/^Review$/, 'REVIEW'],
  [/^(?:Research|Hypothesis|Experiment)Brief$|^DataAnalysis$|^Findings$/, 'ANALYSIS'],
  [/^(?:Article|Edit|SEO)Brief$|Content$/, 'DOCUMENTATION'],
];

const categoryOf = (stage: string, type: string): Category =>
  [...BY_STAGE.filter(([words]) => words.test(stage)), ...BY_TYPE.filter(([words]) => words.test(type))][0]?.[1] ??
  'OTHER';
