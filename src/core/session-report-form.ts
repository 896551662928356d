/** The form of a session's final report, as other programs read it. Fields may be added; none may go. */
import type { Task, TaskStatus } from './task.ts';

export interface SessionFinalReport {
  readonly aop_version: string;
  readonly schema_version: string;
  readonly protocol_family: 'AOP';
  readonly message_type: 'EVENT';
  readonly event: 'SESSION_FINAL_REPORT';
  readonly session_id: string;
  readonly timestamp: string;
  readonly session: {
    readonly session_id: string;
    readonly started_at: string | null;
    readonly ended_at: string | null;
    readonly ended_by: string | null;
  };
  readonly totals: {
    readonly tasks: number;
    /** Without those that a rollback has undone. */
    readonly tasks_by_state: Readonly<Record<TaskStatus, number>>;
    readonly tasks_undone: number;
    readonly runs: number;
    /** Runs after the first of their task. */
    readonly retries: number;
    /** Those of them with another model. */
    readonly fallbacks: number;
    /** From the first record to the end of the session, or to the last record where it has no end yet. */
    readonly duration_seconds: number;
  };
  readonly agents: readonly ReportedAgent[];
  readonly delegation_graph: {
    readonly nodes: readonly GraphNode[];
    readonly edges: readonly GraphEdge[];
  };
  readonly cost_summary: CostSummary;
  readonly checkpoints: readonly ReportedCheckpoint[];
  /** What became of each claim of the last run of each task. */
  readonly evidence: readonly ReportedClaim[];
  /** What agents and people wrote into the knowledge graph. */
  readonly nodes: readonly ReportedNode[];
  /** What people were asked, and said. */
  readonly decisions: readonly ReportedDecision[];
  readonly rollbacks: readonly ReportedRollback[];
  readonly errors: readonly ReportedError[];
  readonly artifacts: readonly ReportedArtifact[];
  readonly context: ContextShare & {
    readonly by_agent: Readonly<Record<string, ContextShare>>;
    /** Some of the tokens were reckoned: from a part of a long log, or by the length of little text. */
    readonly includes_estimates: boolean;
  };
  readonly audit_trail: { readonly storage_path: string };
}

/** What agents printed and what of that their parents were given; the difference is what the parents did not have to read. */
export interface ContextShare {
  readonly characters_produced: number;
  readonly characters_delivered: number;
  readonly characters_saved: number;
  /** Of what was produced; null where that is nothing. */
  readonly characters_saved_percent: number | null;
  readonly tokens_produced: number;
  readonly tokens_delivered: number;
  readonly tokens_saved: number;
  readonly tokens_saved_percent: number | null;
  /** What the agents themselves were given: their prompts, and the answers of their tools. */
  readonly tokens_given: number;
}

export interface ReportedAgent {
  readonly name: string;
  readonly roles: readonly string[];
  readonly providers: readonly string[];
  readonly models: readonly string[];
  readonly runs: number;
}

interface GraphNode {
  readonly id: string;
  readonly external_id: string | null;
  readonly title: string;
  readonly status: TaskStatus;
  /** Done, and taken back by a rollback. */
  readonly undone: boolean;
  readonly agent: string | null;
  readonly verdict: Task['verdict'];
  /** Runs ever started. */
  readonly attempts: number;
  /** Null where the cost of a run is unknown. */
  readonly cost_usd: number | null;
}

/** `parent`: `from` delegated `to`. `dependency`: `from` has to be done before `to` begins. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
  readonly type: 'parent' | 'dependency';
}

export interface Share {
  /** Null where the cost of a run is unknown. */
  readonly usd: number | null;
  readonly tokens_input: number;
  readonly tokens_output: number;
}

export interface CostSummary {
  /** What was expected before the runs; null where no price was known. */
  readonly estimated_cost_usd: number | null;
  /** Null where the cost of a run is unknown. */
  readonly actual_cost_usd: number | null;
  /** The sum of what is known. */
  readonly known_cost_usd: number;
  readonly tokens_input: number;
  readonly tokens_output: number;
  readonly by_agent: Readonly<Record<string, Share>>;
  readonly by_model: Readonly<Record<string, Share>>;
  /** Some of the actual cost was worked out from tokens and prices, not told by the agent. */
  readonly includes_estimates: boolean;
}

export interface ReportedCheckpoint {
  readonly task_id: string;
  readonly phase: string | null;
  readonly checkpoint: string;
  readonly status: string;
}

export interface ReportedClaim {
  readonly task_id: string;
  readonly what: string;
  readonly verdict: string;
  readonly detail: string | null;
}

export interface ReportedNode {
  readonly node_id: string;
  readonly node_type: string;
  /** Null where a person wrote it. */
  readonly task_id: string | null;
  readonly confidence: number | null;
}

export interface ReportedDecision {
  readonly id: string;
  readonly task_id: string | null;
  readonly timestamp: string;
  readonly by: string;
  readonly asked: string | null;
  readonly status: string;
  readonly text: string | null;
}

export interface ReportedRollback {
  /** Null where the whole session went back. */
  readonly task_id: string | null;
  readonly timestamp: string;
  readonly trigger: string | null;
  readonly artifacts_rolled_back: readonly unknown[];
  /** Of a session: how many files, and where what was not committed is kept. */
  readonly files?: number;
  readonly kept?: string | null;
}

export interface ReportedError {
  readonly task_id: string | null;
  readonly run: string | null;
  readonly timestamp: string;
  readonly code: string;
  readonly message: string;
}

export interface ReportedArtifact {
  readonly task_id: string;
  readonly path: string;
  readonly type: string | null;
  readonly hash: string | null;
  readonly status: string | null;
  readonly size_bytes: number | null;
}
