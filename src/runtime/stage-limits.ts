/** What config.yaml says that a stage may cost, take and write, and what it does in turn, in the words of its TASK. It narrows, and gives no more. Pure. */
import { isWithin, stricterLimit } from '../core/policy.ts';
import { effectiveAccess } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import type { StageLimits } from './stages.ts';

export function withLimits(message: TaskMessage, limits: StageLimits): TaskMessage {
  const { budget, timeout, write, retries, phases } = limits;
  const { task, execution_policy: policy, guard_rails: rails } = message;
  const seconds = stricterLimit(timeout, policy?.timeout_seconds);
  return {
    ...message,
    task: {
      ...task,
      ...(budget === undefined
        ? {}
        : { budgets: { ...task.budgets, max_cost_usd: stricterLimit(budget, task.budgets?.max_cost_usd) ?? budget } }),
      ...(write === undefined ? {} : { access: withWrites(message, write) }),
    },
    ...(timeout === undefined && retries === undefined
      ? {}
      : {
          execution_policy: {
            ...policy,
            ...(seconds === null ? {} : { timeout_seconds: seconds }),
            ...(retries === undefined ? {} : { max_retries: retries }),
          },
        }),
    ...(rails === undefined || seconds === null ? {} : { guard_rails: { ...rails, timeout_seconds: seconds } }),
    ...(phases === undefined || phases.length === 0 ? {} : { phases: phases.map(phaseOf) }),
  };
}

/** Of two lists of paths what lies in both: the deeper of each two of which one holds the other. */
function withWrites(message: TaskMessage, write: readonly string[]): TaskMessage['task']['access'] {
  const { environment, access } = message.task;
  const root = environment.workspace_root.replace(/[\\/]+$/, '');
  const absolute = (path: string): string => (/^(?:[A-Za-z]:)?[\\/]/.test(path) ? path : `${root}/${path}`);
  const { readPaths, writePaths } = effectiveAccess(message);
  const above = writePaths.map(absolute);
  const own = write.map(absolute);
  const both = [
    ...own.filter((path) => isWithin(path, above)),
    ...above.filter((path) => !own.includes(path) && isWithin(path, own)),
  ];
  return { ...access, filesystem: { ...access?.filesystem, read_paths: [...readPaths], write_paths: both } };
}

type Phase = NonNullable<TaskMessage['phases']>[number];

const phaseOf = (phase: NonNullable<StageLimits['phases']>[number], i: number): Phase => ({
  phase_id: phase.name,
  phase_order: i + 1,
  objective: phase.do,
  ...(phase.check === undefined
    ? {}
    : {
        checkpoints: [
          {
            checkpoint_id: phase.name,
            validation: { command: phase.check, expects: 'EXIT_CODE_0' },
            recovery_strategy: phase.on_failure,
          },
        ],
      }),
});
