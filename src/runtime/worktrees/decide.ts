/** The place of a task that was made without one: by 0.1.0, or by a program that spoke to the store itself. */
import type { Task, Workspace } from '../../core/task.ts';
import { policyOf } from '../../protocol/aop2/policy.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import type { Host } from '../host.ts';
import { placeFor } from '../tasks/place.ts';

/** As for a new task that `baton work` runs. */
export async function placeOf(host: Host, task: Task, message: TaskMessage): Promise<Workspace> {
  if (task.workspace !== null) return task.workspace;
  const { workspace } = await placeFor({
    message,
    access: policyOf(message).access,
    home: host.workspace,
    config: host.config,
    inCheckout: false,
    isChild: task.parentId !== null,
  });
  return workspace;
}
