/** A new task with an order in it: who does it, with what limits, checks and access. */
import type { NewTask } from '../../core/laws/messages.ts';
import { DEFAULT_SESSION } from '../../core/task.ts';
import { NO_TASK } from '../../protocol/aof/index.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { keptEnvelope, madeEnvelope, OPEN } from '../envelope.ts';
import { limitsOf } from '../new-tasks.ts';
import { isOrder, type Order, withOrder } from './order.ts';

interface Fresh {
  readonly workspace: string;
  readonly createdAt: string;
}

/** A task without limits needs no TASK of its own: its agent and its model are fields. */
export function ordered(item: NewTask, order: Order, fresh: Fresh): NewTask {
  const { agent, model, ...limits } = order;
  const named = {
    ...item,
    ...(agent === undefined ? {} : { routing: { ...item.routing, agent } }),
    ...(model === undefined ? {} : { model }),
  };
  const kept = keptEnvelope(item.texts?.['inputs/task.json'] ?? null);
  if (kept === null && !isOrder(limits)) return named;
  const message = withOrder(kept ?? envelopeFor(named, fresh), order);
  return {
    ...named,
    ...limitsOf(message),
    texts: { ...item.texts, 'inputs/task.json': textOf(message) },
    ...(kept === null && item.externalId === undefined && item.id === undefined ? { idWord: NO_TASK } : {}),
  };
}

const envelopeFor = (item: NewTask, { workspace, createdAt }: Fresh): TaskMessage =>
  madeEnvelope({
    taskId: item.externalId ?? item.id ?? NO_TASK,
    session: item.session ?? DEFAULT_SESSION,
    createdAt,
    agent: item.routing?.agent ?? OPEN,
    objective: item.texts?.['body']?.trim() ? item.texts['body'] : item.title,
    workspace,
  });

export const textOf = (message: TaskMessage): string => `${JSON.stringify(message, null, 2)}\n`;
