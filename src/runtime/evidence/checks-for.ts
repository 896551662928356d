/** The commands that Baton runs for a task when its agent says that it is done: the task's own, and those of config for every task that may write. */
import type { Config } from '../../core/config.ts';
import type { Access } from '../../core/policy.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { checksFrom, checksOf, type TaskCheck } from '../tasks/order.ts';

/** Of two checks with one name the task's own counts. */
export function checksFor(
  { checks }: Pick<Config, 'checks'>,
  message: TaskMessage,
  { writePaths }: Pick<Access, 'writePaths'>,
): readonly TaskCheck[] {
  const own = checksOf(message);
  if (writePaths.length === 0) return own;
  const common = checksFrom(checks, 'config-check-').filter(({ name }) => own.every((check) => check.name !== name));
  return [...own, ...common];
}
