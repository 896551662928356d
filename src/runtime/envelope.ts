/** The TASK behind a task: the envelope it came from, or one made of its text. So everything that runs is described in one way. */

import { isFields, parseJson } from '../core/fields.ts';
import type { Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
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
  if (kept !== null) return kept;
  const { metadata } = task;
  const said = typeof metadata['workspace'] === 'string' ? metadata['workspace'] : workspace;
  return madeEnvelope({
    taskId: task.externalId ?? task.id,
    session: task.session,
    createdAt: isoTime(task.createdAt),
    agent: task.routing.agent ?? OPEN,
    objective: texts.body?.trim() ? texts.body : task.title,
    workspace: said,
  });
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
