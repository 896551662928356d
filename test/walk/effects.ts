/**
 * For every field of every message: the test that shows what the field does. A field that is new in a schema has no line here, and
 * `schema-walk.test.ts` fails until there is one. A line names the test's file, and its title or the first words of it.
 */
import type { MessageName } from './fields.ts';

/** `file: title`, as vitest would print them. */
export type Shown = `${string}.test.ts: ${string}`;

const PROMPT: Shown = 'walk/told-fields.test.ts: what a TASK says to its agent is in the prompt';
const HEADER: Shown = 'walk/told-fields.test.ts: a message with another head is no message of ours';
const DECODED: Shown = 'protocol/aop2/decode.test.ts: %s is read';
const PREFLIGHT: Shown = 'runtime/contract.test.ts: %s is refused with its code, before anything is changed';
const POLICY: Shown = 'protocol/aop2/policy.test.ts: guard rails override the execution policy';
const NETWORK: Shown =
  'protocol/aop2/policy.test.ts: the stricter network of all that is said; one side silent, the other';
const BUDGET: Shown = 'runtime/budget.test.ts: the stricter of budgets and constraints holds';
const SNAPSHOT: Shown = 'runtime/rollback.test.ts: %s: a task that fails for good leaves its outputs as they were';
const HEARTBEAT: Shown =
  'runtime/clocks.test.ts: heartbeats: who is silent is ended, warned of or let be; who speaks lives on';
const RAILS: Shown =
  'runtime/contract.test.ts: a RESPONSE with %s is malformed where the guard rails ask for it, and taken where they do not';
const CLAIMED: Shown =
  'runtime/evidence.test.ts: a claimed artifact: right hash, wrong hash, not there, said to be deleted';
const MODEL: Shown =
  'runtime/contract.test.ts: a model that is left open is chosen by profile, complexity and category, where config maps them';

const TASK: Readonly<Record<string, Shown>> = {
  aop_version: DECODED,
  schema_version: HEADER,
  protocol_family: HEADER,
  message_type: HEADER,
  'session.session_id': 'cli/new-tasks.test.ts: with all that a task has of it',
  'session.created_at': PROMPT,
  'session.orchestrator': PROMPT,
  'session.origin': PROMPT,
  'session.workflow_pattern': 'runtime/workflow.test.ts: CHAIN: each after the one before',
  'target.agent_name': 'runtime/scheduler.test.ts: an agent is known by its name in any case',
  'target.role': 'runtime/handoff.test.ts: an EXECUTOR hands on parts of its own task only',
  'target.provider':
    'runtime/retries.test.ts: FIRST_ERROR takes the next model before any retry, and the RESPONSE says who did it',
  'target.model': MODEL,
  'target.execution_profile': MODEL,
  'target.capabilities.aop_versions_supported':
    'runtime/contract.test.ts: an agent that does not speak 2.x gets the prompt of version 1; one that may not delegate is told so',
  'target.capabilities.file_system_access':
    'protocol/aop2/policy.test.ts: no file system means nothing, read only means no writes',
  'target.capabilities.network_access': NETWORK,
  'target.capabilities.headless_mode': PREFLIGHT,
  'task.task_id': 'cli/new-tasks.test.ts: keeps its id where it is of our form',
  'task.parent_task_id': 'cli/new-tasks.test.ts: asks for review, names its parent and what it depends on',
  'task.attempt': PROMPT,
  'task.objective': PROMPT,
  'task.category':
    'protocol/aop2/prompt.test.ts: the type of task decides the length of the report, unless the TASK says otherwise',
  'task.complexity': MODEL,
  'task.priority': 'cli/new-tasks.test.ts: with all that a task has of it',
  'task.environment.workspace_root': PREFLIGHT,
  'task.environment.os': PREFLIGHT,
  'task.environment.shell': PREFLIGHT,
  'task.environment.git_branch':
    'runtime/workflow.test.ts: a worktree is not made of a branch that the TASK was not written for',
  'task.inputs[].type': PROMPT,
  'task.inputs[].path': 'runtime/contract.test.ts: an input that may not be read is refused',
  'task.inputs[].read_only':
    'runtime/evidence.test.ts: an input that is read-only and changed is E_PERMISSION_DENIED; one that may be written is not',
  'task.inputs[].description': PROMPT,
  'task.expected_outputs[].type': PROMPT,
  'task.expected_outputs[].path':
    'runtime/evidence.test.ts: an output that is there, not empty and valid makes a task done, with the evidence in RESPONSE and journal',
  'task.expected_outputs[].description': PROMPT,
  'task.expected_outputs[].validation.command': 'runtime/evidence.test.ts: a validation that hangs is timed out',
  'task.expected_outputs[].validation.expects':
    'runtime/evidence.test.ts: FILE_EXISTS and NO_MATCH that hold are proven',
  'task.expected_outputs[].rollback_snapshot.enabled': SNAPSHOT,
  'task.expected_outputs[].rollback_snapshot.snapshot_path':
    'runtime/rollback.test.ts: snapshot_path holds the copy while the task runs',
  'task.expected_outputs[].rollback_snapshot.snapshot_strategy': SNAPSHOT,
  'task.constraints.max_tokens': BUDGET,
  'task.constraints.max_cost_usd': BUDGET,
  'task.constraints.read_only_mode':
    'protocol/aop2/policy.test.ts: no file system means nothing, read only means no writes',
  'task.constraints.delegation_allowed': 'runtime/graph.test.ts: a task that may not hand on',
  'task.constraints.network_access': NETWORK,
  'task.budgets.max_cost_usd': BUDGET,
  'task.budgets.max_tokens': BUDGET,
  'task.access.filesystem.read_paths':
    'runtime/access.test.ts: what may be read can be read, what may be written can be written, and nothing beside',
  'task.access.filesystem.write_paths':
    'runtime/access.test.ts: what may be read can be read, what may be written can be written, and nothing beside',
  'task.access.network': NETWORK,
  'execution_policy.timeout_seconds':
    'runtime/clocks.test.ts: a time-out ends the one run with all of it, SIGTERM or not, and no other',
  'execution_policy.max_retries': 'runtime/retries.test.ts: retries used up: the deadletter, with the cause',
  'execution_policy.retry_backoff_seconds':
    'runtime/retries.test.ts: attempts wait as long as the backoff says, in fractions of a second, and the last value repeats',
  'execution_policy.abort_on_first_critical_error':
    'runtime/retries.test.ts: abort_on_first_critical_error: no retry and no alternative after a crash',
  'execution_policy.auto_terminate_on_timeout':
    'runtime/clocks.test.ts: a time-out that may not end the run is written down, and the run goes on',
  'execution_policy.on_failure': 'runtime/retries.test.ts: on_failure ABORT_SESSION: what waits is not begun',
  'execution_policy.alternative_models[].provider':
    'runtime/retries.test.ts: FIRST_ERROR takes the next model before any retry',
  'execution_policy.alternative_models[].model':
    'runtime/retries.test.ts: FIRST_ERROR takes the next model before any retry',
  'execution_policy.alternative_models[].fallback_trigger':
    'runtime/retries.test.ts: TIMEOUT takes the next model when the time is up',
  'execution_policy.heartbeat.enabled': HEARTBEAT,
  'execution_policy.heartbeat.interval_seconds': HEARTBEAT,
  'execution_policy.heartbeat.max_missed_beats': HEARTBEAT,
  'execution_policy.heartbeat.on_heartbeat_failure': HEARTBEAT,
  'guard_rails.require_minimal_report': RAILS,
  'guard_rails.require_final_signal': RAILS,
  'guard_rails.auto_terminate_on_timeout': POLICY,
  'guard_rails.timeout_seconds': POLICY,
  'guard_rails.abort_on_first_critical_error':
    'protocol/aop2/policy.test.ts: what a guard rail says of critical errors holds',
  'phases[].phase_id': PROMPT,
  'phases[].phase_order':
    'runtime/phases.test.ts: phases go in phase_order, and each has its own turn, its checkpoint and its words',
  'phases[].label': PROMPT,
  'phases[].objective': PROMPT,
  'phases[].checkpoints[].checkpoint_id':
    'runtime/phases.test.ts: phases go in phase_order, and each has its own turn, its checkpoint and its words',
  'phases[].checkpoints[].description': PROMPT,
  'phases[].checkpoints[].expected_artifacts[].type': PROMPT,
  'phases[].checkpoints[].expected_artifacts[].path':
    "runtime/phases.test.ts: a checkpoint's expected artifacts have to be there",
  'phases[].checkpoints[].expected_artifacts[].status':
    'walk/run-fields.test.ts: an expected artifact that is to be DELETED must be gone',
  'phases[].checkpoints[].validation.command':
    'runtime/phases.test.ts: a checkpoint that hangs ends with the time of the task',
  'phases[].checkpoints[].validation.expects': 'runtime/phases.test.ts: a checkpoint that fails without a strategy',
  'phases[].checkpoints[].status': PROMPT,
  'phases[].checkpoints[].recovery_strategy': 'runtime/phases.test.ts: ABORT stops at once, takes no other attempt',
  'orchestration_metadata.initiator': PROMPT,
  'orchestration_metadata.spec_author': PROMPT,
  'orchestration_metadata.tags': PROMPT,
  'orchestration_metadata.notes': PROMPT,
};

const KEPT: Shown = 'runtime/response.test.ts: nothing is dropped and nothing of Baton’s is overwritten';
const MEASURED: Shown = 'runtime/evidence.test.ts: who it was and when is told by Baton, not by the agent';
const COST: Shown =
  'runtime/response.test.ts: counts where nothing was measured: in the task, the RESPONSE and the totals';
const OWN: Shown = 'runtime/response.test.ts: on standard output: another %s';

const RESPONSE: Readonly<Record<string, Shown>> = {
  aop_version: DECODED,
  schema_version: HEADER,
  protocol_family: HEADER,
  message_type: HEADER,
  session_id: OWN,
  task_id: OWN,
  'agent.name': MEASURED,
  'agent.provider': MEASURED,
  'agent.model': MEASURED,
  'task_status.state': 'runtime/response.test.ts: COMPLETED without a final signal is done where none is required',
  'task_status.final_signal':
    'runtime/response.test.ts: COMPLETED without a final signal is done where none is required',
  'task_status.message': KEPT,
  'execution_summary.summary':
    'runtime/contract.test.ts: a report in %s is heard, on standard output and on the socket',
  'execution_summary.actions': KEPT,
  'execution_summary.output_artifacts[].type': CLAIMED,
  'execution_summary.output_artifacts[].path': CLAIMED,
  'execution_summary.output_artifacts[].hash': CLAIMED,
  'execution_summary.output_artifacts[].status': CLAIMED,
  'execution_summary.output_artifacts[].size_bytes': CLAIMED,
  'execution_summary.warnings': KEPT,
  'execution_summary.errors': KEPT,
  'checkpoint_results[].checkpoint_id': KEPT,
  'checkpoint_results[].status': KEPT,
  'checkpoint_results[].validation_output': KEPT,
  'checkpoint_results[].evidence': KEPT,
  'checkpoint_results[].notes': KEPT,
  error_details: 'runtime/response.test.ts: %s is not tried again',
  'timing.started_at': MEASURED,
  'timing.completed_at': MEASURED,
  'timing.duration_seconds': MEASURED,
  'timing.retries_attempted': MEASURED,
  'cost_tracking.estimated_cost_usd': 'runtime/response.test.ts: an estimate counts where it says no more',
  'cost_tracking.actual_cost_usd': COST,
  'cost_tracking.tokens_input': COST,
  'cost_tracking.tokens_output': COST,
  'cost_tracking.model_pricing_tier': KEPT,
  'progress_log.last_progress_event_at': KEPT,
  'progress_log.progress_percentage': KEPT,
};

const SIGN: Shown = 'walk/run-fields.test.ts: what a sign of life says is in the record of its run';
const ROLLED_BACK: Shown = 'runtime/rollback.test.ts: a snapshot that cannot be restored is told, and kept';
const FALLBACK: Shown = 'protocol/aop2/prompt.test.ts: emits a valid VERSION_FALLBACK';
const PRIORITY: Shown =
  'runtime/aop2-events.test.ts: what happens in a session is all six kinds of EVENT, each valid, with its words';

const EVENT: Readonly<Record<string, Shown>> = {
  aop_version: DECODED,
  schema_version: HEADER,
  protocol_family: HEADER,
  message_type: HEADER,
  timestamp: SIGN,
  event: 'runtime/router.test.ts: signs of life renew the lease and are no records; progress is one, now and then',
  session_id: SIGN,
  task_id: SIGN,
  agent: SIGN,
  progress_percentage: SIGN,
  current_phase: SIGN,
  current_checkpoint: SIGN,
  'progress.percentage': SIGN,
  'progress.current_phase': SIGN,
  'progress.current_checkpoint': SIGN,
  'progress.message': SIGN,
  'progress.estimated_time_remaining_seconds': SIGN,
  old_priority: PRIORITY,
  new_priority:
    'runtime/router.test.ts: a new priority from a person, and from who delegated it; not from its own agent',
  reason: PRIORITY,
  escalated_by: PRIORITY,
  trigger: ROLLED_BACK,
  'artifacts_rolled_back[].path': ROLLED_BACK,
  'artifacts_rolled_back[].restored_from': ROLLED_BACK,
  'artifacts_rolled_back[].status': ROLLED_BACK,
  'artifacts_rolled_back[].error': ROLLED_BACK,
  validation_error: FALLBACK,
  input_preview: FALLBACK,
};

const STAGE: Shown =
  'runtime/graph.test.ts: bug-brief → senior-developer → test-engineer, by reference, from one brief to the end';
const FLOW: Shown = 'runtime/graph.test.ts: less sure than 90 %: a question, the task waits, and no next stage';
const GATE: Shown = 'runtime/graph.test.ts: approval_required: in review, with the question, and nothing goes on';
const NODE: Shown = 'cli/graph.test.ts: the bug brief of the document';
const OUT: Shown = 'walk/run-fields.test.ts: what an OUTPUT says of its node reaches the next stage and the person';

const OUTPUT: Readonly<Record<string, Shown>> = {
  '_meta.output_type': 'cli/graph.test.ts: the uncertainty of the document is asked about, and its envelope with it',
  '_meta.created_by': OUT,
  '_meta.domain': OUT,
  '_meta.timestamp': OUT,
  '_meta.confidence': FLOW,
  '_handoff.next_stage': STAGE,
  '_handoff.graph_node': STAGE,
  '_handoff.required_fields': 'runtime/graph.test.ts: a gap bounces, with all that is missing',
  '_handoff.optional_fields': OUT,
  '_handoff.inline_data': 'runtime/stages.test.ts: a stage is told no more than fits, whatever stands beside the node',
  '_handoff.approval_required': GATE,
  '_handoff.approval_question': GATE,
  '_handoff.approval_status': 'runtime/stages.test.ts: only a person approves',
  '_handoff.escalation_reason': OUT,
  '_handoff.detail_nodes': OUT,
};

const GRAPH_UPDATE: Readonly<Record<string, Shown>> = {
  type: 'cli/graph.test.ts: an update changes what it says and nothing else, and what was made from it is stale',
  node_id: NODE,
  node_type: NODE,
  'metadata.created_by': NODE,
  'metadata.confidence': FLOW,
  'metadata.created_at': NODE,
  'metadata.domain': 'runtime/graph.test.ts: a domain',
  'metadata.output_type': NODE,
  data: NODE,
  'handoff.ready_for_next': 'protocol/output/output.test.ts: not ready',
  'handoff.next_stage': 'walk/run-fields.test.ts: what a node says of its handoff is there for who loads it',
  'handoff.required_fields': 'walk/run-fields.test.ts: what a node says of its handoff is there for who loads it',
  'handoff.optional_fields': 'walk/run-fields.test.ts: what a node says of its handoff is there for who loads it',
  'lineage.created_from_node': STAGE,
  'lineage.created_from_nodes':
    'cli/graph.test.ts: the design summary of the document, with its references, handed on to its stage',
  'lineage.consumed_by_nodes':
    'runtime/graph.test.ts: what a task was given counts as used, whatever its node says of its source',
  source: 'core/laws/graph.test.ts: an agent reads the nodes of every session and writes those of its own',
  target: 'core/laws/graph.test.ts: an agent reads the nodes of every session and writes those of its own',
  relation: 'core/laws/graph.test.ts: an agent reads the nodes of every session and writes those of its own',
};

const WORDS: Shown = 'walk/run-fields.test.ts: the words of a handoff that is %s are kept with the child';
const AOF: Shown = 'walk/run-fields.test.ts: the head of an aof message is held to what the channel knows';
const CHILD: Shown =
  'runtime/handoff.test.ts: makes a child with its artifacts, routed to who it is for, and a pointer in the parent';
const REJECTED: Shown =
  'runtime/handoff.test.ts: rejected blocks it with the reason; or frees it, when it is not theirs';
const NEWS: Shown = 'runtime/router.test.ts: with a status: the move by the laws, and all that was said is kept';
const COMPLETION: Shown =
  'runtime/run-folder.test.ts: is whole, and there while the run still works; what it refers to and is not there is warned of';

const head: Readonly<Record<string, Shown>> = {
  protocol: AOF,
  version: AOF,
  taskId: AOF,
  parentTaskId: AOF,
  fromAgent: AOF,
  toAgent: AOF,
  sentAt: AOF,
  messageId: 'runtime/router.test.ts: the same messageId twice acts once; the status it has already is no news',
  type: 'runtime/router.test.ts: a type that nobody knows is unknown',
  'payload.taskId': AOF,
};
const parties: Readonly<Record<string, Shown>> = {
  'payload.parentTaskId': AOF,
  'payload.fromAgent': AOF,
  'payload.toAgent': AOF,
};

export const EFFECTS: Readonly<Record<MessageName, Readonly<Record<string, Shown>>>> = {
  TASK,
  RESPONSE,
  EVENT,
  OUTPUT,
  GRAPH_UPDATE,
  'handoff.request': {
    ...head,
    ...parties,
    'payload.acceptanceCriteria': CHILD,
    'payload.expectedOutputs': CHILD,
    'payload.contextRefs': 'runtime/handoff.test.ts: what it refers to is found although its tasks have moved on',
    'payload.constraints': CHILD,
    'payload.dueBy': 'runtime/handoff.test.ts: dueBy: told once, and the run that had begun is ended',
  },
  'handoff.accepted': {
    ...head,
    ...parties,
    'payload.agentId': AOF,
    'payload.reason': WORDS,
    'payload.notes': WORDS,
  },
  'handoff.rejected': {
    ...head,
    ...parties,
    'payload.agentId': AOF,
    'payload.reason': REJECTED,
    'payload.notes': WORDS,
    'payload.status': REJECTED,
  },
  'status.update': {
    ...head,
    'payload.agentId': AOF,
    'payload.status': NEWS,
    'payload.progress': 'runtime/router.test.ts: without a status: one line in the one Work Log',
    'payload.blockers': NEWS,
    'payload.reason': NEWS,
    'payload.notes': NEWS,
  },
  'completion.report': {
    ...head,
    'payload.agentId': AOF,
    'payload.completedAt': COMPLETION,
    'payload.outcome': COMPLETION,
    'payload.summaryRef': COMPLETION,
    'payload.handoffRef': COMPLETION,
    'payload.deliverables': COMPLETION,
    'payload.tests.total': COMPLETION,
    'payload.tests.passed': COMPLETION,
    'payload.tests.failed': COMPLETION,
    'payload.blockers': 'runtime/run-folder.test.ts: blocked with blockers and no words: why names them',
    'payload.notes': COMPLETION,
  },
};
