/** The life of a task: its statuses, its ids, and all that is remembered of it. Times are milliseconds since 1970. */

export const TASK_STATUSES = [
  'backlog',
  'ready',
  'in-progress',
  'blocked',
  'review',
  'done',
  'cancelled',
  'deadletter',
] as const;
export type TaskStatus = (typeof TASK_STATUSES)[number];

export const TASK_PRIORITIES = ['critical', 'high', 'normal', 'low'] as const;
export type TaskPriority = (typeof TASK_PRIORITIES)[number];

/** `TASK-YYYY-MM-DD-NNN`; the 1000th task of a day gets four digits, and so on. */
export const TASK_ID = /^TASK-\d{4}-\d{2}-\d{2}-(?:\d{3}|[1-9]\d{3,})$/;

export const isTaskId = (id: string): boolean => TASK_ID.test(id);

export const taskId = (day: string, number: number): string => `TASK-${day}-${String(number).padStart(3, '0')}`;

/** The day and the number of an id. */
export const partsOfId = (id: string): { readonly day: string; readonly number: number } => ({
  day: id.slice(5, 15),
  number: Number(id.slice(16)),
});

/** By date, then by number: `-1000` comes after `-999`. */
export function compareTaskIds(a: string, b: string): number {
  const [x, y] = [a.slice(0, 16), b.slice(0, 16)];
  if (x !== y) return x < y ? -1 : 1;
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Who should do it: an agent by name, else whoever has the role, is in the team, or has the tags. */
export interface Routing {
  readonly agent: string | null;
  readonly role: string | null;
  readonly team: string | null;
  readonly tags: readonly string[];
}

export const FALLBACK_TRIGGERS = [
  'TIMEOUT',
  'FIRST_ERROR',
  'CRITICAL_ERROR',
  'ALL_ERRORS',
  'COST_LIMIT_EXCEEDED',
] as const;
export type FallbackTrigger = (typeof FALLBACK_TRIGGERS)[number];

/** A model to go on with, and the kind of failure that makes it the next one. */
export interface Alternative {
  readonly provider: string;
  readonly model: string;
  readonly trigger: FallbackTrigger;
}

export interface RetryPolicy {
  /** Attempts after the first. */
  readonly maxRetries: number;
  /** How long to wait before each; the last value repeats. */
  readonly backoffSeconds: readonly number[];
  /** In the order in which they are tried, each at most once. */
  readonly alternatives?: readonly Alternative[];
  /** A critical error ends it at once: no retry, no alternative. */
  readonly stopOnCritical?: boolean;
}

/** What was used. */
export interface Spent {
  /** As far as it is known. */
  readonly usd: number;
  /** Tokens were used whose price is unknown. */
  readonly unknown?: true;
  readonly tokensInput: number;
  readonly tokensOutput: number;
}

/** Why a task is blocked, dead or sent back. */
export interface Cause {
  readonly code: string;
  readonly message: string;
  /** The task whose failure is the reason, with E_DEPENDENCY_FAILED. */
  readonly task?: string;
  /** The status it had before it was blocked, with E_DEPENDENCY_FAILED. */
  readonly was?: TaskStatus;
}

/** The model that the next run is to have, since another one failed. */
export interface Fallback {
  readonly provider: string;
  readonly model: string;
  /** The alternatives that had their turn, by their place in the policy's list. */
  readonly used: readonly number[];
  /** Why each model before was given up, in order. */
  readonly causes: readonly Cause[];
}

export const RUN_STATUSES = ['running', 'completed', 'failed', 'expired', 'cancelled'] as const;
export type RunStatus = (typeof RUN_STATUSES)[number];

/** Who watches over a run's process; a run is reclaimed only when its supervisor is gone. */
export interface Supervisor {
  readonly pid: number;
  /** When that process started, as its system tells it, so that a pid used again is not taken for it. */
  readonly started: string;
}

/** One attempt of one agent at one task. */
export interface Run {
  readonly id: string;
  readonly attempt: number;
  readonly agent: string;
  readonly model: string | null;
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly status: RunStatus;
  /** How long it may be silent before it is stale. */
  readonly leaseMs: number;
  readonly supervisor: Supervisor | null;
  /** What it claimed when it stopped; null while it runs, and where it said nothing. */
  readonly outcome: string | null;
  /** It ended without a report: what stands as its outcome is not the agent's word. */
  readonly silent?: true;
  /** The id that it has in its own files, where another program than Baton began it. */
  readonly externalId?: string;
}

/** Where a task works: `checkout` in the user's own, `worktree` in one of its own, `shared` beside others, `parent` where its parent does. */
export const ISOLATIONS = ['checkout', 'worktree', 'shared', 'parent'] as const;
type Isolation = (typeof ISOLATIONS)[number];

/** When the work of a worktree is merged: what a check has proven, all of it, or nothing. */
export const MERGE_POLICIES = ['proven', 'always', 'never'] as const;
type MergePolicy = (typeof MERGE_POLICIES)[number];

/** The place that a task was ordered for, decided once, when it is made. */
export interface Workspace {
  /** The absolute folder, in the user's checkout or outside of git. */
  readonly path: string;
  /** The id of the repository, which is its root commit; null outside of git and before the first commit. */
  readonly repository: string | null;
  /** The folder below the top of the repository; empty for the top. */
  readonly folder: string;
  /** The branch that it starts from and is merged into; null outside of git and on a detached HEAD. */
  readonly branch: string | null;
  readonly isolation: Isolation;
  readonly merge: MergePolicy;
  /** The commit that its latest run started from. */
  readonly base: string | null;
}

/** The top of the checkout that a workspace lies in; outside of git the folder itself. */
export const checkoutOf = ({ path, folder }: Workspace): string =>
  folder === '' ? path : path.slice(0, -folder.length).replace(/[\\/]+$/, '');

/** What Baton's own checks said of the latest run. */
export const VERDICTS = ['proven', 'contradicted', 'unverified'] as const;
export type Verdict = (typeof VERDICTS)[number];

/** Work of a worktree that was accepted and is on its way into its branch. The task is in review until it is there. */
export interface Merging {
  readonly accepted: 'evidence' | 'person';
  /** Who merges it now; null while it waits. */
  readonly supervisor: Supervisor | null;
}

export interface Task {
  readonly id: string;
  /** The id it has in its session, where a TASK gave one of another form. */
  readonly externalId: string | null;
  readonly title: string;
  readonly status: TaskStatus;
  readonly priority: TaskPriority;
  readonly routing: Routing;
  /** The model that was ordered; null leaves it to the agent. */
  readonly model: string | null;
  /** Null for a task whose place was not decided when it was made: one of 0.1.0, or one that a program gave the store. */
  readonly workspace: Workspace | null;
  readonly session: string;
  readonly parentId: string | null;
  readonly depth: number;
  readonly dependsOn: readonly string[];
  /** The absolute paths that it says it will write; it does not run beside another that writes there. */
  readonly writes: readonly string[];
  readonly retry: RetryPolicy;
  /** Null while the model that it came with has not been given up. */
  readonly fallback: Fallback | null;
  /** Attempts used since it was made, or since a person asked for a retry. */
  readonly attempts: number;
  /** Runs ever started; each has its number in its id. */
  readonly runs: number;
  /** The latest run. */
  readonly run: Run | null;
  /** Not to be claimed before this time: the end of a backoff, or of the lease of who has it. */
  readonly availableAt: number;
  readonly cause: Cause | null;
  /** A person has to look at it before it is done. */
  readonly reviewRequired: boolean;
  /** Null until its latest run was judged. */
  readonly verdict: Verdict | null;
  /** Null but for accepted work that is not merged yet. */
  readonly merging: Merging | null;
  /** How often it was run again because its work did not merge, since a person last had it tried. */
  readonly conflicts: number;
  readonly cost: Spent;
  readonly summary: string | null;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly updatedAt: number;
  readonly lastTransitionAt: number;
  /** The ids of the messages that it has taken in, so that each acts once. */
  readonly messages: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export const runId = (task: string, number: number): string => `${task}-r${number}`;

/** The task that a run's id names, whether or not there is such a run; null where it is no run's id. */
export const taskOfRun = (run: string): string | null => /^(.+)-r\d+$/.exec(run)?.[1] ?? null;

/** The name by which a run goes in its files, `runs/<task>/`. */
/** Done, and taken back by a rollback of its session: its work is not there any more. */
export const isUndone = (task: Pick<Task, 'status' | 'metadata'> | undefined): boolean =>
  task?.status === 'done' && task.metadata['stale'] === true;

export const fileNameOfRun = ({ id, externalId }: Pick<Run, 'id' | 'externalId'>): string => externalId ?? id;

export const DEFAULT_SESSION = 'default';

/** What a task has where nothing is said. Shared by all tasks that have it, and left out where a task is written down. */
export const TASK_DEFAULTS = {
  externalId: null,
  priority: 'normal',
  routing: { agent: null, role: null, team: null, tags: [] },
  model: null,
  workspace: null,
  session: DEFAULT_SESSION,
  parentId: null,
  depth: 0,
  dependsOn: [],
  writes: [],
  retry: { maxRetries: 0, backoffSeconds: [30, 120, 300] },
  fallback: null,
  attempts: 0,
  runs: 0,
  run: null,
  availableAt: 0,
  cause: null,
  reviewRequired: false,
  verdict: null,
  merging: null,
  conflicts: 0,
  cost: { usd: 0, tokensInput: 0, tokensOutput: 0 },
  summary: null,
  messages: [],
  metadata: {},
} as const satisfies Partial<Task>;

type Defaulted = keyof typeof TASK_DEFAULTS;
/** A task without what it has by default. */
export type SparseTask = Omit<Task, Defaulted> & Partial<Pick<Task, Defaulted>>;

/** Field by field, so that all tasks have one shape: a hundred thousand of them are held in memory. */
export const expandTask = (sparse: SparseTask): Task => ({
  id: sparse.id,
  externalId: sparse.externalId ?? null,
  title: sparse.title,
  status: sparse.status,
  priority: sparse.priority ?? 'normal',
  routing: sparse.routing ?? TASK_DEFAULTS.routing,
  model: sparse.model ?? null,
  workspace: sparse.workspace ?? null,
  session: sparse.session ?? DEFAULT_SESSION,
  parentId: sparse.parentId ?? null,
  depth: sparse.depth ?? 0,
  dependsOn: sparse.dependsOn ?? TASK_DEFAULTS.dependsOn,
  writes: sparse.writes ?? TASK_DEFAULTS.writes,
  retry: sparse.retry ?? TASK_DEFAULTS.retry,
  fallback: sparse.fallback ?? null,
  attempts: sparse.attempts ?? 0,
  runs: sparse.runs ?? 0,
  run: sparse.run ?? null,
  availableAt: sparse.availableAt ?? 0,
  cause: sparse.cause ?? null,
  reviewRequired: sparse.reviewRequired ?? false,
  verdict: sparse.verdict ?? null,
  merging: sparse.merging ?? null,
  conflicts: sparse.conflicts ?? 0,
  cost: sparse.cost ?? TASK_DEFAULTS.cost,
  summary: sparse.summary ?? null,
  createdAt: sparse.createdAt,
  createdBy: sparse.createdBy,
  updatedAt: sparse.updatedAt,
  lastTransitionAt: sparse.lastTransitionAt,
  messages: sparse.messages ?? TASK_DEFAULTS.messages,
  metadata: sparse.metadata ?? TASK_DEFAULTS.metadata,
});

/** What a task has by default it has by sharing, so that looking is enough. */
export function sparseTask(task: Task): SparseTask {
  const sparse: Record<string, unknown> = {};
  for (const key in task) {
    const value = task[key as keyof Task];
    if (value !== TASK_DEFAULTS[key as Defaulted]) sparse[key] = value;
  }
  return sparse as unknown as SparseTask;
}

/** Nothing more happens to it, but for a deadletter that is made ready again. */
export const isFinal = (status: TaskStatus): boolean => status === 'done' || status === 'cancelled';

/** Those that depend on it can never start. */
export const hasFailed = (status: TaskStatus): boolean => status === 'cancelled' || status === 'deadletter';

export const isRunning = (task: Task): boolean => task.status === 'in-progress' && task.run?.status === 'running';
