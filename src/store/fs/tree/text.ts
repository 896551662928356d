/** A task and its body as the text of its file. What is empty is left out; what Baton alone knows and a person wants to see is in `metadata`. */
import { isRunning, type RetryPolicy, TASK_DEFAULTS, type Task } from '../../../core/task.ts';
import { isoTime } from '../../../core/time.ts';
import { type TaskFrontmatter, writeTaskFile } from '../../../protocol/aof/index.ts';
import { stamped } from './stamp.ts';

/** The keys of a file's `metadata` that are Baton's. Of these a person may change `reviewRequired`, and in a new file `retry` and `writes` too. */
export const RESERVED: ReadonlySet<string> = new Set([
  'delegationDepth',
  'reviewRequired',
  'attempts',
  'retry',
  'fallback',
  'writes',
  'availableAt',
  'cause',
  'summary',
  'cost',
]);

export const taskText = (task: Task, body: string, seq: number): string =>
  stamped(writeTaskFile({ frontmatter: frontmatterOf(task), body }), seq);

export function frontmatterOf(task: Task): TaskFrontmatter {
  const fields: Record<string, unknown> = { id: task.id };
  if (task.externalId !== null) fields['externalId'] = task.externalId;
  if (task.title !== '') fields['title'] = task.title;
  fields['status'] = task.status;
  fields['priority'] = task.priority;
  const routing = routingOf(task);
  if (routing !== null) fields['routing'] = routing;
  if (task.dependsOn.length > 0) fields['dependsOn'] = task.dependsOn;
  if (task.parentId !== null) fields['parentId'] = task.parentId;
  if (task.session !== '') fields['session'] = task.session;
  const lease = leaseOf(task);
  if (lease !== null) fields['lease'] = lease;
  fields['createdAt'] = timeOf(task.createdAt);
  fields['updatedAt'] = timeOf(task.updatedAt);
  fields['lastTransitionAt'] = timeOf(task.lastTransitionAt);
  if (task.createdBy !== '') fields['createdBy'] = task.createdBy;
  const metadata = metadataOf(task);
  if (metadata !== null) fields['metadata'] = metadata;
  return fields as TaskFrontmatter;
}

function routingOf({ routing }: Task): Record<string, unknown> | null {
  if (routing === TASK_DEFAULTS.routing) return null;
  const { agent, role, team, tags } = routing;
  const fields: Record<string, unknown> = {};
  if (agent) fields['agent'] = agent;
  if (role) fields['role'] = role;
  if (team) fields['team'] = team;
  if (tags.length > 0) fields['tags'] = tags;
  return agent || role || team || tags.length > 0 ? fields : null;
}

/** Signs of life are not recorded, so this is when the lease would end without any. */
function leaseOf(task: Task): Record<string, unknown> | null {
  const { run } = task;
  if (run === null || !isRunning(task)) return null;
  return {
    runId: run.id,
    agent: run.agent,
    acquiredAt: timeOf(run.startedAt),
    expiresAt: timeOf(Math.max(task.availableAt, run.startedAt + run.leaseMs)),
  };
}

function metadataOf(task: Task): Record<string, unknown> | null {
  const { cost } = task;
  const known: Record<string, unknown> = {};
  if (task.depth > 0) known['delegationDepth'] = task.depth;
  if (task.reviewRequired) known['reviewRequired'] = true;
  if (task.attempts > 0) known['attempts'] = task.attempts;
  if (!isDefault(task.retry)) known['retry'] = task.retry;
  if (task.fallback !== null) known['fallback'] = task.fallback;
  if (task.writes.length > 0) known['writes'] = task.writes;
  if (task.status === 'ready' && task.availableAt > task.lastTransitionAt) {
    known['availableAt'] = timeOf(task.availableAt);
  }
  if (task.cause !== null) known['cause'] = task.cause;
  if (task.summary) known['summary'] = task.summary;
  if (cost.usd > 0 || cost.tokensInput > 0 || cost.tokensOutput > 0) known['cost'] = cost;
  for (const key of Object.keys(task.metadata)) if (!RESERVED.has(key)) define(known, key, task.metadata[key]);
  return Object.keys(known).length === 0 ? null : known;
}

/** A key called `__proto__` stays one. */
const define = (target: Record<string, unknown>, key: string, value: unknown): void => {
  if (key !== '__proto__') target[key] = value;
  else Object.defineProperty(target, key, { value, enumerable: true });
};

/** A person's own keys. */
export const ownMetadata = (metadata: Readonly<Record<string, unknown>>): [string, unknown][] =>
  Object.entries(metadata).filter(([key]) => !RESERVED.has(key));

function isDefault(retry: RetryPolicy): boolean {
  const usual: RetryPolicy = TASK_DEFAULTS.retry;
  if (retry === usual) return true;
  const { maxRetries, backoffSeconds, alternatives = [], stopOnCritical = false } = retry;
  return (
    alternatives.length === 0 &&
    !stopOnCritical &&
    maxRetries === usual.maxRetries &&
    backoffSeconds.length === usual.backoffSeconds.length &&
    backoffSeconds.every((seconds, i) => seconds === usual.backoffSeconds[i])
  );
}

/** Most tasks have the same time thrice, and writing it down takes as long as the rest of a line's work. */
let lastTime = { ms: 0, text: '1970-01-01T00:00:00.000Z' };

export function timeOf(ms: number): string {
  if (lastTime.ms !== ms) lastTime = { ms, text: isoTime(ms) };
  return lastTime.text;
}
