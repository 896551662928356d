/** TASK → Policy: defaults filled in, precedence and the stricter of two statements applied (contract §11). */
import {
  type Access,
  isWithin,
  type NetworkLevel,
  type Policy,
  stricterLimit,
  stricterNetwork,
} from '../../core/policy.ts';
import type { TaskMessage } from './schema.ts';

const DEFAULTS = {
  timeoutSeconds: 1800,
  maxRetries: 0,
  backoffSeconds: [30, 120, 300],
  heartbeat: { enabled: false, intervalSeconds: 120, maxMissedBeats: 3, onFailure: 'ABORT' },
  network: 'RESTRICTED',
} as const;

export function policyOf(message: TaskMessage): Policy {
  const { task, execution_policy: policy = {}, guard_rails: rails = {} } = message;
  const beat = policy.heartbeat ?? {};
  return {
    // Guard rails override the execution policy (§11.1).
    timeoutSeconds: rails.timeout_seconds ?? policy.timeout_seconds ?? DEFAULTS.timeoutSeconds,
    terminateOnTimeout: rails.auto_terminate_on_timeout ?? policy.auto_terminate_on_timeout ?? true,
    abortOnFirstCriticalError: rails.abort_on_first_critical_error ?? policy.abort_on_first_critical_error ?? false,
    maxRetries: policy.max_retries ?? DEFAULTS.maxRetries,
    backoffSeconds: policy.retry_backoff_seconds ?? DEFAULTS.backoffSeconds,
    onFailure: policy.on_failure ?? 'REPORT_AND_CONTINUE',
    requireFinalSignal: rails.require_final_signal ?? true,
    requireMinimalReport: rails.require_minimal_report ?? true,
    delegationAllowed: task.constraints?.delegation_allowed ?? true,
    heartbeat: {
      enabled: beat.enabled ?? DEFAULTS.heartbeat.enabled,
      intervalSeconds: beat.interval_seconds ?? DEFAULTS.heartbeat.intervalSeconds,
      maxMissedBeats: beat.max_missed_beats ?? DEFAULTS.heartbeat.maxMissedBeats,
      onFailure: beat.on_heartbeat_failure ?? DEFAULTS.heartbeat.onFailure,
    },
    // `constraints` is the older form of `budgets` and `access`: where both are given, the stricter value holds.
    budget: {
      maxCostUsd: stricterLimit(task.budgets?.max_cost_usd, task.constraints?.max_cost_usd),
      maxTokens: stricterLimit(task.budgets?.max_tokens, task.constraints?.max_tokens),
    },
    access: effectiveAccess(message),
  };
}

/**
 * What the target can do, narrowed by what the task allows; the workspace root where a list is not given. What may be written may be read, so
 * where only read paths are given, no more than these can be written.
 */
export function effectiveAccess({ target, task }: TaskMessage): Access {
  const said: (NetworkLevel | undefined)[] = [
    target.capabilities?.network_access,
    task.access?.network,
    task.constraints?.network_access,
  ];
  const network = stricterNetwork(said, DEFAULTS.network);
  if (target.capabilities?.file_system_access === false) return { readPaths: [], writePaths: [], network };
  const root = task.environment.workspace_root;
  const { read_paths: read, write_paths: write } = task.access?.filesystem ?? {};
  const writePaths = write ?? (read === undefined ? [root] : inRoot(root, read));
  return {
    readPaths: read ?? [root],
    writePaths: task.constraints?.read_only_mode === true ? [] : writePaths,
    network,
  };
}

/** What of some paths lies in the workspace, or all of the workspace where one of them holds it. */
const inRoot = (root: string, paths: readonly string[]): readonly string[] =>
  paths.flatMap((path) => {
    const full = /^(?:[A-Za-z]:)?[\\/]/.test(path) ? path : `${root}/${path}`;
    return isWithin(full, [root]) ? [path] : isWithin(root, [full]) ? [root] : [];
  });
