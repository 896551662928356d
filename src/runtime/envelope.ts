/** The TASK behind a task: the envelope it came from, or one made of its text. So everything that runs is described in one way. */

import { isFields, parseJson } from '../core/fields.ts';
import type { Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { withoutWorkLog } from '../protocol/aof/work-log.ts';
import { decodeAop2 } from '../protocol/aop2/decode.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { AOP_VERSION, PROTOCOL_FAMILY, SCHEMA_VERSION } from '../protocol/aop2/version.ts';

/** The name and the model of a target that is left open: whoever runs it chooses. */
export const OPEN = 'default';

interface TaskTexts {
  readonly envelope: string | null;
  readonly body: string | null;
}

/** The envelope as it was kept; null where there is none that is valid. */
export function keptEnvelope(text: string | null): TaskMessage | null {
  const value = text === null ? undefined : parseJson(text);
  if (!isFields(value)) return null;
  const { valid, kind } = decodeAop2(value, text ?? '');
  return valid && kind === 'TASK' ? (value as TaskMessage) : null;
}

/** @param workspace where a task works that does not say where */
export function envelopeOf(task: Task, texts: TaskTexts, workspace: string): TaskMessage {
  const kept = keptEnvelope(texts.envelope);
  if (kept !== null) return withChanges(kept, task, texts.body);
  const { metadata } = task;
  const said = typeof metadata['workspace'] === 'string' ? metadata['workspace'] : workspace;
  const made = madeEnvelope({
    taskId: task.externalId ?? task.id,
    session: task.session,
    createdAt: isoTime(task.createdAt),
    agent: task.routing.agent ?? OPEN,
    objective: texts.body?.trim() ? texts.body : task.title,
    workspace: task.workspace?.path ?? said,
  });
  return task.model === null ? made : { ...made, target: { ...made.target, model: task.model } };
}

/** The TASK as it was kept, with what was changed about the task since: the task is what counts. */
function withChanges(kept: TaskMessage, task: Task, body: string | null): TaskMessage {
  const { target } = kept;
  const agent = task.routing.agent ?? OPEN;
  const isSame = agent.toLowerCase() === target.agent_name.toLowerCase();
  return {
    ...kept,
    target: {
      ...target,
      // The provider belongs to the agent that the TASK named.
      ...(isSame ? {} : { agent_name: agent, ...(agent === OPEN ? {} : { provider: 'OTHER' as const }) }),
      ...(task.model === null ? {} : { model: task.model }),
    },
    task: {
      ...kept.task,
      ...(kept.task.priority === undefined && task.priority === 'normal'
        ? {}
        : { priority: task.priority.toUpperCase() as Uppercase<Task['priority']> }),
      objective: objectiveOf(kept, task, body),
    },
  };
}

/** A body that was edited is the new order. Lines of the Work Log are news, not orders; a child's objective begins with its title. */
function objectiveOf(kept: TaskMessage, { title }: Task, body: string | null): string {
  const { objective } = kept.task;
  const said = withoutWorkLog(body ?? '').trim();
  if (said === '') return title;
  return said === objective.trim() || objective.trim().endsWith(`\n\n${said}`) ? objective : said;
}

interface Made {
  readonly taskId: string;
  readonly session: string;
  readonly createdAt: string;
  readonly agent: string;
  readonly objective: string;
  readonly workspace: string;
}

/** A TASK of a plain text: what `baton run "objective"` runs. */
export const madeEnvelope = ({ taskId, session, createdAt, agent, objective, workspace }: Made): TaskMessage => ({
  aop_version: AOP_VERSION,
  schema_version: SCHEMA_VERSION,
  protocol_family: PROTOCOL_FAMILY,
  message_type: 'TASK',
  session: { session_id: session, created_at: createdAt, orchestrator: 'baton', origin: 'CLI' },
  target: { agent_name: agent, role: 'EXECUTOR', provider: 'OTHER', model: OPEN },
  task: {
    task_id: taskId,
    objective,
    category: 'OTHER',
    complexity: 'MEDIUM',
    environment: { workspace_root: workspace },
  },
});
