/**
 * The AOP v2.0.2-C contract as zod schemas: the one source of the types, the validators and the JSON Schema.
 *
 * Every object is strict and takes `extensions`, whose keys start with `x_` (contract §3). What is required is what the
 * minimal envelope shows; beyond that only the field that makes an item of a list something at all (a path, an id).
 * Defaults are not here: a message is kept as it was written, `policy.ts` fills in what it leaves out.
 */
import * as z from 'zod';

/** A record never looks at the key `__proto__`; `decode.ts` does. */
const Extensions = z.record(z.string().regex(/^x_/), z.unknown());

/** A core object of the contract: no unknown fields, `extensions` allowed. */
const core = <S extends z.ZodRawShape>(shape: S) => z.strictObject({ ...shape, extensions: Extensions.optional() });

const text = z.string();
const name = z.string().min(1);
const time = z.iso.datetime({ offset: true, local: true });
const count = z.int().min(0);
const amount = z.number().min(0);
const percentage = z.number().min(0).max(100);

const Role = z.enum(['ORCHESTRATOR', 'EXECUTOR', 'SPECIALIST']);
export const Provider = z.enum(['CLAUDE', 'CODEX', 'GEMINI', 'OPENCODE', 'LOCAL', 'OTHER']);
const Category = z.enum([
  'ANALYSIS',
  'CODE_GENERATION',
  'CODE_REFACTORING',
  'TESTING',
  'DEBUGGING',
  'DOCUMENTATION',
  'PLANNING',
  'REVIEW',
  'OTHER',
]);
const Complexity = z.enum(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']);
const Priority = z.enum(['LOW', 'NORMAL', 'HIGH', 'CRITICAL']);
const WorkflowPattern = z.enum(['SINGLE', 'CHAIN', 'PARALLEL', 'MAP_REDUCE', 'HIERARCHICAL']);
const Network = z.enum(['NONE', 'RESTRICTED', 'FULL']);
const ExecutionProfile = z.enum(['fast', 'balanced', 'thorough']);
const State = z.enum(['PENDING', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'ABORTED', 'SKIPPED']);
const FinalSignal = z.enum(['SUCCESS', 'PARTIAL_SUCCESS', 'FAILURE', 'ABORTED']);
const CheckpointStatus = z.enum(['PENDING', 'PASS', 'FAIL', 'SKIP', 'RECOVERED']);
const RecoveryStrategy = z.enum(['RETRY', 'ABORT', 'CONTINUE', 'SKIP']);
const SnapshotStrategy = z.enum(['COPY', 'GIT_STASH', 'DIFF', 'NONE']);
const FallbackTrigger = z.enum(['TIMEOUT', 'FIRST_ERROR', 'CRITICAL_ERROR', 'ALL_ERRORS', 'COST_LIMIT_EXCEEDED']);
const OnFailure = z.enum(['REPORT_AND_CONTINUE', 'ABORT_SESSION', 'RETRY']);
const OnHeartbeatFailure = z.enum(['ABORT', 'WARN', 'CONTINUE']);
const ArtifactStatus = z.enum(['CREATED', 'UPDATED', 'DELETED', 'UNCHANGED']);
const Expects = z.enum(['EXIT_CODE_0', 'MATCH_FOUND', 'NO_MATCH', 'FILE_EXISTS']);

/** HARD limits that a schema can state (contract §4); the byte limits are in `limits.ts`. */
const MAX_INPUTS = 100;
const MAX_EXPECTED_OUTPUTS = 50;

const header = {
  aop_version: z.string().regex(/^2\./),
  schema_version: name,
  protocol_family: z.literal('AOP'),
};

const Validation = core({ command: name.optional(), expects: Expects.optional() });

const Session = core({
  session_id: name,
  created_at: time,
  orchestrator: name,
  origin: name,
  workflow_pattern: WorkflowPattern.optional(),
});

const Capabilities = core({
  aop_versions_supported: z.array(name).optional(),
  file_system_access: z.boolean().optional(),
  network_access: Network.optional(),
  headless_mode: z.boolean().optional(),
});

const Target = core({
  agent_name: name,
  role: Role,
  provider: Provider,
  model: name,
  execution_profile: ExecutionProfile.optional(),
  capabilities: Capabilities.optional(),
});

const Input = core({
  type: name.optional(),
  path: name,
  read_only: z.boolean().optional(),
  description: text.optional(),
});

const ExpectedOutput = core({
  type: name.optional(),
  path: name,
  description: text.optional(),
  validation: Validation.optional(),
  rollback_snapshot: core({
    enabled: z.boolean().optional(),
    snapshot_path: name.optional(),
    snapshot_strategy: SnapshotStrategy.optional(),
  }).optional(),
});

const Task = core({
  task_id: name,
  parent_task_id: name.nullable().optional(),
  attempt: z.int().min(1).optional(),
  objective: name,
  category: Category,
  complexity: Complexity,
  priority: Priority.optional(),
  environment: core({
    workspace_root: name,
    os: name.optional(),
    shell: name.optional(),
    git_branch: name.optional(),
  }),
  inputs: z.array(Input).max(MAX_INPUTS).optional(),
  expected_outputs: z.array(ExpectedOutput).max(MAX_EXPECTED_OUTPUTS).optional(),
  constraints: core({
    max_tokens: count.optional(),
    max_cost_usd: amount.optional(),
    read_only_mode: z.boolean().optional(),
    delegation_allowed: z.boolean().optional(),
    network_access: Network.optional(),
  }).optional(),
  budgets: core({ max_cost_usd: amount.optional(), max_tokens: count.optional() }).optional(),
  access: core({
    filesystem: core({
      read_paths: z.array(name).optional(),
      write_paths: z.array(name).optional(),
    }).optional(),
    network: Network.optional(),
  }).optional(),
});

const ExecutionPolicy = core({
  timeout_seconds: z.number().positive().optional(),
  max_retries: count.optional(),
  retry_backoff_seconds: z.array(amount).optional(),
  abort_on_first_critical_error: z.boolean().optional(),
  auto_terminate_on_timeout: z.boolean().optional(),
  on_failure: OnFailure.optional(),
  alternative_models: z
    .array(core({ provider: Provider, model: name, fallback_trigger: FallbackTrigger.optional() }))
    .optional(),
  heartbeat: core({
    enabled: z.boolean().optional(),
    interval_seconds: z.number().positive().optional(),
    max_missed_beats: z.int().min(1).optional(),
    on_heartbeat_failure: OnHeartbeatFailure.optional(),
  }).optional(),
});

const GuardRails = core({
  require_minimal_report: z.boolean().optional(),
  require_final_signal: z.boolean().optional(),
  auto_terminate_on_timeout: z.boolean().optional(),
  timeout_seconds: z.number().positive().optional(),
  abort_on_first_critical_error: z.boolean().optional(),
});

const Checkpoint = core({
  checkpoint_id: name,
  description: text.optional(),
  expected_artifacts: z.array(core({ type: name, path: name, status: ArtifactStatus.optional() })).optional(),
  validation: Validation.optional(),
  status: CheckpointStatus.optional(),
  recovery_strategy: RecoveryStrategy.optional(),
});

const Phase = core({
  phase_id: name,
  phase_order: z.int().optional(),
  label: text.optional(),
  objective: text.optional(),
  checkpoints: z.array(Checkpoint).optional(),
});

export const TaskMessage = core({
  ...header,
  message_type: z.literal('TASK'),
  session: Session,
  target: Target,
  task: Task,
  execution_policy: ExecutionPolicy.optional(),
  guard_rails: GuardRails.optional(),
  phases: z.array(Phase).optional(),
  orchestration_metadata: core({
    initiator: text.optional(),
    spec_author: text.optional(),
    tags: z.array(z.string()).optional(),
    notes: text.optional(),
  }).optional(),
});

const OutputArtifact = core({
  type: name.optional(),
  path: name,
  hash: name.optional(),
  status: ArtifactStatus.optional(),
  size_bytes: count.optional(),
});

const CheckpointResult = core({
  checkpoint_id: name,
  status: CheckpointStatus.optional(),
  validation_output: text.optional(),
  evidence: z.array(z.string()).optional(),
  notes: text.optional(),
});

export const ResponseMessage = core({
  ...header,
  message_type: z.literal('RESPONSE'),
  session_id: name,
  task_id: name,
  agent: core({ name, provider: Provider, model: name }),
  task_status: core({ state: State, final_signal: FinalSignal.optional(), message: text.optional() }),
  execution_summary: core({
    summary: text.optional(),
    actions: z.array(z.string()).optional(),
    output_artifacts: z.array(OutputArtifact).optional(),
    warnings: z.array(z.unknown()).optional(),
    errors: z.array(z.unknown()).optional(),
  }).optional(),
  checkpoint_results: z.array(CheckpointResult).optional(),
  error_details: z.unknown().optional(),
  timing: core({
    started_at: time.optional(),
    completed_at: time.optional(),
    duration_seconds: amount.optional(),
    retries_attempted: count.optional(),
  }).optional(),
  cost_tracking: core({
    estimated_cost_usd: amount.optional(),
    actual_cost_usd: amount.optional(),
    tokens_input: count.optional(),
    tokens_output: count.optional(),
    model_pricing_tier: text.optional(),
  }).optional(),
  progress_log: core({
    last_progress_event_at: time.optional(),
    progress_percentage: percentage.optional(),
  }).optional(),
});

/** Events may leave out `schema_version` and `protocol_family`. */
const eventHeader = {
  aop_version: header.aop_version,
  schema_version: header.schema_version.optional(),
  protocol_family: header.protocol_family.optional(),
  message_type: z.literal('EVENT'),
  timestamp: time,
};

const event = <N extends string, S extends z.ZodRawShape>(kind: N, shape: S) =>
  core({ ...eventHeader, event: z.literal(kind), session_id: name, ...shape });

const HeartbeatEvent = event('HEARTBEAT', {
  task_id: name,
  agent: name,
  progress_percentage: percentage.optional(),
  current_phase: text.optional(),
  current_checkpoint: text.optional(),
});

const ProgressUpdateEvent = event('PROGRESS_UPDATE', {
  task_id: name,
  agent: name,
  progress: core({
    percentage: percentage.optional(),
    current_phase: text.optional(),
    current_checkpoint: text.optional(),
    message: text.optional(),
    estimated_time_remaining_seconds: amount.optional(),
  }).optional(),
});

const PriorityEscalationEvent = event('PRIORITY_ESCALATION', {
  task_id: name.optional(),
  old_priority: Priority.optional(),
  new_priority: Priority.optional(),
  reason: text.optional(),
  escalated_by: text.optional(),
});

const RollbackInitiatedEvent = event('ROLLBACK_INITIATED', {
  task_id: name.optional(),
  trigger: text.optional(),
  artifacts_rolled_back: z
    .array(core({ path: name, restored_from: text.optional(), status: text.optional(), error: text.optional() }))
    .optional(),
});

/** May lack ids: what fell back could not be read. */
export const VersionFallbackEvent = core({
  ...eventHeader,
  event: z.literal('VERSION_FALLBACK'),
  session_id: name.optional(),
  task_id: name.optional(),
  reason: text,
  validation_error: text,
  input_preview: z.string().max(200),
});

/** Free beyond its ids; `extensions` keep their rule. */
const SessionFinalReportEvent = z.looseObject({
  ...eventHeader,
  event: z.literal('SESSION_FINAL_REPORT'),
  session_id: name,
  extensions: Extensions.optional(),
});

export const EventMessage = z.discriminatedUnion('event', [
  HeartbeatEvent,
  ProgressUpdateEvent,
  PriorityEscalationEvent,
  RollbackInitiatedEvent,
  VersionFallbackEvent,
  SessionFinalReportEvent,
]);

export type TaskMessage = z.infer<typeof TaskMessage>;
export type ResponseMessage = z.infer<typeof ResponseMessage>;
export type EventMessage = z.infer<typeof EventMessage>;
export type VersionFallbackEvent = z.infer<typeof VersionFallbackEvent>;
