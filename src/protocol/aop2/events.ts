/** An event of the journal as the aop2 EVENT that the contract has for it (§6 to §8, §1.3); most events of the journal have none. */
import { isFields } from '../../core/fields.ts';
import type { EventJson } from '../../core/task-json.ts';
import type { EventMessage } from './schema.ts';
import { AOP_VERSION } from './version.ts';

/** What an event is about, in the names of the contract. */
export interface EventSubject {
  /** The id that the task has in its session, else the one that Baton gave it; null where the event is about no task. */
  readonly taskId: string | null;
  /** Who does the run. */
  readonly agent: string;
  /** What the run said last of its progress. */
  readonly progress: { readonly percentage?: number; readonly phase?: string; readonly checkpoint?: string };
}

type Detail = EventJson['detail'];
type Of<N extends EventMessage['event']> = Extract<EventMessage, { event: N }>;
type Base = Pick<Of<'HEARTBEAT'>, 'aop_version' | 'message_type' | 'session_id' | 'timestamp' | 'extensions'>;

/** Every recorded sign of life of a run is a heartbeat; the last word on its use comes after its end. */
const isSign = ({ type, detail }: EventJson): boolean =>
  type === 'run.heartbeat' ||
  type === 'run.started' ||
  type === 'run.checkpoint' ||
  (type === 'run.phase' && detail['state'] === 'started') ||
  (type === 'run.usage' && detail['last'] !== true);

/** Null where the contract has no event for it. The final report of a session is not made of one event, and is not here. */
export function toAop2Event(event: EventJson, subject: EventSubject): EventMessage | null {
  const { type, detail } = event;
  const base: Base = {
    aop_version: AOP_VERSION,
    message_type: 'EVENT',
    session_id: event.session,
    timestamp: event.at,
    extensions: { x_event_id: event.id, ...(event.run === null ? {} : { x_run_id: event.run }) },
  };
  if (isSign(event)) return heartbeat(base, subject);
  if (type === 'run.progress') return progressUpdate(base, detail, subject);
  if (type === 'task.escalated') return escalation(base, event, subject);
  if (type === 'rollback.initiated') return rollback(base, detail, subject);
  if (type === 'protocol.version.fallback') return fallback(base, detail);
  return null;
}

function heartbeat(base: Base, { taskId, agent, progress }: EventSubject): Of<'HEARTBEAT'> | null {
  if (taskId === null) return null;
  return {
    ...base,
    event: 'HEARTBEAT',
    task_id: taskId,
    agent,
    ...given('progress_percentage', percentageOf(progress.percentage)),
    ...given('current_phase', textOf(progress.phase)),
    ...given('current_checkpoint', textOf(progress.checkpoint)),
  };
}

function progressUpdate(base: Base, detail: Detail, { taskId, agent }: EventSubject): Of<'PROGRESS_UPDATE'> | null {
  if (taskId === null) return null;
  return {
    ...base,
    event: 'PROGRESS_UPDATE',
    task_id: taskId,
    agent,
    progress: {
      ...given('percentage', percentageOf(detail['percentage'])),
      ...given('current_phase', textOf(detail['phase'])),
      ...given('current_checkpoint', textOf(detail['checkpoint'])),
      ...given('message', textOf(detail['message'])),
      ...given('estimated_time_remaining_seconds', amountOf(detail['remainingSeconds'])),
    },
  };
}

type Priority = NonNullable<Of<'PRIORITY_ESCALATION'>['new_priority']>;
const PRIORITIES: readonly string[] = ['LOW', 'NORMAL', 'HIGH', 'CRITICAL'] satisfies Priority[];

function priorityOf(value: unknown): Priority | undefined {
  const name = String(value).toUpperCase();
  return PRIORITIES.includes(name) ? (name as Priority) : undefined;
}

const escalation = (base: Base, { detail, by }: EventJson, { taskId }: EventSubject): Of<'PRIORITY_ESCALATION'> => ({
  ...base,
  event: 'PRIORITY_ESCALATION',
  ...given('task_id', taskId ?? undefined),
  ...given('old_priority', priorityOf(detail['from'])),
  ...given('new_priority', priorityOf(detail['to'])),
  ...given('reason', textOf(detail['reason'])),
  escalated_by: textOf(detail['escalatedBy']) ?? by,
});

function rollback(base: Base, detail: Detail, { taskId }: EventSubject): Of<'ROLLBACK_INITIATED'> {
  const artifacts = Array.isArray(detail['artifacts_rolled_back']) ? detail['artifacts_rolled_back'] : [];
  return {
    ...base,
    event: 'ROLLBACK_INITIATED',
    ...given('task_id', taskId ?? undefined),
    ...given('trigger', textOf(detail['trigger'])),
    artifacts_rolled_back: artifacts.filter(isFields).flatMap((artifact) => {
      const path = textOf(artifact['path']);
      if (path === undefined) return [];
      const words = (['restored_from', 'status', 'error'] as const).map((key) => given(key, textOf(artifact[key])));
      return [Object.assign({ path }, ...words) as { path: string }];
    }),
  };
}

/** It may lack ids: what fell back could not be read. */
const fallback = (base: Base, detail: Detail): Of<'VERSION_FALLBACK'> => ({
  ...base,
  event: 'VERSION_FALLBACK',
  ...given('task_id', textOf(detail['task_id'])),
  reason: textOf(detail['reason']) ?? 'E_SCHEMA_VALIDATION',
  validation_error: textOf(detail['validation_error']) ?? 'the message does not fit its schema',
  input_preview: (textOf(detail['input_preview']) ?? '').slice(0, 200),
});

const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const percentageOf = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 0 && value <= 100 ? value : undefined;
const amountOf = (value: unknown): number | undefined => (typeof value === 'number' && value >= 0 ? value : undefined);
const given = <K extends string, V>(key: K, value: V | undefined): { [k in K]: V } | Record<never, never> =>
  value === undefined ? {} : ({ [key]: value } as { [k in K]: V });
