/** Tasks, runs and events as other programs read them: T of docs/tasks.md and its parts, with times in ISO 8601. Fields may be added; none may go. */
import type { Wait } from './standing.ts';
import type { StoredRecord } from './store.ts';
import {
  type Cause,
  isUndone,
  type Run,
  type Spent,
  type Task,
  type TaskPriority,
  type TaskStatus,
  type Verdict,
  type Workspace,
} from './task.ts';
import { isoTime } from './time.ts';

export interface TaskJson {
  readonly id: string;
  readonly externalId: string | null;
  readonly title: string;
  readonly status: TaskStatus;
  readonly priority: TaskPriority;
  /** Who it is for; where nobody is named, who has it or had it last. */
  readonly agent: string | null;
  /** The model that was ordered; where none was, the one that its latest run has. */
  readonly model: string | null;
  readonly workspace: Workspace | null;
  readonly verdict: Verdict | null;
  readonly session: string;
  readonly parentId: string | null;
  readonly depth: number;
  readonly dependsOn: readonly string[];
  readonly attempts: number;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Of what it depends on, what is not done. */
  readonly blockedBy: readonly string[];
  /** What has to happen before it goes on; empty where nothing does. */
  readonly waitsFor: readonly Wait[];
  readonly cost: CostJson;
  readonly summary: string | null;
  /** True where a rollback took its work back: it was done, and is not. */
  readonly undone: boolean;
  readonly role: string | null;
  readonly team: string | null;
  readonly tags: readonly string[];
  readonly reviewRequired: boolean;
  readonly maxRetries: number;
  /** Not to be claimed before this; null where nothing keeps it. */
  readonly availableAt: string | null;
  readonly cause: Cause | null;
  readonly createdBy: string;
  readonly lastTransitionAt: string;
}

export interface CostJson {
  /** Null where the cost of a run is unknown. */
  readonly usd: number | null;
  /** The sum of what is known. */
  readonly known_usd: number;
  readonly tokens_input: number;
  readonly tokens_output: number;
}

export const costJson = ({ usd, unknown, tokensInput, tokensOutput }: Spent): CostJson => ({
  usd: unknown === true ? null : usd,
  known_usd: usd,
  tokens_input: tokensInput,
  tokens_output: tokensOutput,
});

export const taskJson = (task: Task, blockedBy: readonly string[], waitsFor: readonly Wait[]): TaskJson => ({
  id: task.id,
  externalId: task.externalId,
  title: task.title,
  status: task.status,
  priority: task.priority,
  agent: task.routing.agent ?? task.run?.agent ?? null,
  model: task.model ?? task.run?.model ?? null,
  workspace: task.workspace,
  verdict: task.verdict,
  session: task.session,
  parentId: task.parentId,
  depth: task.depth,
  dependsOn: task.dependsOn,
  attempts: task.attempts,
  createdAt: isoTime(task.createdAt),
  updatedAt: isoTime(task.updatedAt),
  blockedBy,
  waitsFor,
  cost: costJson(task.cost),
  summary: task.summary,
  undone: isUndone(task),
  role: task.routing.role,
  team: task.routing.team,
  tags: task.routing.tags,
  reviewRequired: task.reviewRequired,
  maxRetries: task.retry.maxRetries,
  availableAt: task.availableAt === 0 ? null : isoTime(task.availableAt),
  cause: task.cause,
  createdBy: task.createdBy,
  lastTransitionAt: isoTime(task.lastTransitionAt),
});

export type RunJson = Omit<Run, 'startedAt' | 'endedAt'> & {
  readonly startedAt: string;
  readonly endedAt: string | null;
};

const runJson = (run: Run): RunJson => ({
  ...run,
  startedAt: isoTime(run.startedAt),
  endedAt: run.endedAt === null ? null : isoTime(run.endedAt),
});

/** All the runs that a task has had, oldest first, each as it was last seen. */
export function runsOf(history: readonly StoredRecord[], task: string): RunJson[] {
  const runs = new Map<string, Run>();
  for (const { changes } of history) {
    for (const { task: id, set } of changes) if (id === task && set.run) runs.set(set.run.id, set.run);
  }
  return [...runs.values()].map(runJson);
}

/** One event, flat. */
export interface EventJson {
  /** The record's number and the event's place in it: unique, and in order. */
  readonly id: string;
  readonly seq: number;
  readonly at: string;
  readonly session: string;
  readonly type: string;
  readonly task: string | null;
  readonly run: string | null;
  /** The name of who did it, as the channel knew it. */
  readonly by: string;
  readonly byKind: StoredRecord['by']['kind'];
  readonly detail: Readonly<Record<string, unknown>>;
}

/** The events of a record; of one task where one is named. */
export function eventsOf(record: StoredRecord, task?: string): EventJson[] {
  const { seq, at, session, by } = record;
  const all = record.events.map((event, i) => ({
    id: `${seq}-${i}`,
    seq,
    at: isoTime(at),
    session,
    type: event.type,
    task: event.task ?? null,
    run: event.run ?? null,
    by: by.name,
    byKind: by.kind,
    detail: event.detail ?? {},
  }));
  return task === undefined ? all : all.filter((event) => event.task === task);
}
