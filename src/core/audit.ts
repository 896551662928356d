/**
 * The audit trail: a projection of the journal, not a second write. Which event becomes which record:
 *
 * | type              | events                                                                                           |
 * |-------------------|--------------------------------------------------------------------------------------------------|
 * | TASK_DISPATCHED   | `run.started`                                                                                    |
 * | RESPONSE_RECEIVED | `run.reported`, `run.resumed`                                                                    |
 * | ROUTING_DECISION  | `task.created`, `task.edited`, `task.escalated`, `task.retried`, `task.fallback`,                 |
 * |                   | `delegation.requested`, `stage.handed`, `question.opened`, `question.answered`, and a             |
 * |                   | `task.transitioned` that is not how a run ended: a claim, a move by hand, a dependency's failure  |
 * | GUARD_RAIL_CHECK  | `run.enforced`, `run.checkpoint`, `run.evidence`, `run.overdue`, `run.silent`, `run.damaged`,     |
 * |                   | `run.judged`, `run.failed`, `run.expired`, `gc.removed`, `gc.failed`, all that was refused         |
 * | ROLLBACK_EVENT    | `rollback.…`, `session.rolledback`                                                               |
 * | SESSION_SUMMARY   | `session.ended`, with the totals of the session, and `session.summary`                           |
 *
 * Other events (a file repaired, a note) are in the journal and not in the trail. A record's id is the event's: the number of the
 * journal's record and the event's place in it, so the same journal always gives the same trail. Secrets are taken out of payloads and names.
 */
import type { Event } from './laws/decision.ts';
import { redact, redactDeep } from './redact.ts';
import { createTotals } from './session-totals.ts';
import type { StoredRecord } from './store.ts';
import type { Run } from './task.ts';
import { isoTime } from './time.ts';

export const AUDIT_TYPES = [
  'TASK_DISPATCHED',
  'RESPONSE_RECEIVED',
  'ROUTING_DECISION',
  'GUARD_RAIL_CHECK',
  'ROLLBACK_EVENT',
  'SESSION_SUMMARY',
] as const;
type AuditType = (typeof AUDIT_TYPES)[number];

const AUDIT_VERSION = '1.0';

export interface AuditRecord {
  readonly id: string;
  readonly version: string;
  readonly timestamp: string;
  readonly session: string;
  readonly task: string | null;
  readonly type: AuditType;
  /** Who did it; `role` is what kind of actor it was. Provider and model are those of the run it speaks of, as far as they are known by then. */
  readonly actor: {
    readonly name: string;
    readonly role: string;
    readonly provider: string | null;
    readonly model: string | null;
  };
  readonly payload: Readonly<Record<string, unknown>>;
  readonly context: {
    readonly parent_task_id: string | null;
    readonly attempt: number | null;
    /** The run it belongs to, else the request that asked for it. */
    readonly correlation_id: string | null;
  };
  readonly governance: {
    readonly guard_rails_applied: readonly string[];
    /** `exceeded`: a budget stopped it. `within`: it had a budget, and kept it. Null where there is none. */
    readonly budget_status: 'exceeded' | 'within' | null;
    readonly access_decision: 'allowed' | 'refused';
    readonly reason_code: string | null;
  };
}

const TYPES: Readonly<Record<string, AuditType>> = {
  'run.started': 'TASK_DISPATCHED',
  'run.reported': 'RESPONSE_RECEIVED',
  'run.resumed': 'RESPONSE_RECEIVED',
  'task.created': 'ROUTING_DECISION',
  'task.edited': 'ROUTING_DECISION',
  'task.escalated': 'ROUTING_DECISION',
  'task.retried': 'ROUTING_DECISION',
  'task.fallback': 'ROUTING_DECISION',
  'task.transitioned': 'ROUTING_DECISION',
  'delegation.requested': 'ROUTING_DECISION',
  'stage.handed': 'ROUTING_DECISION',
  'question.opened': 'ROUTING_DECISION',
  'question.answered': 'ROUTING_DECISION',
  'session.rolledback': 'ROLLBACK_EVENT',
  'run.enforced': 'GUARD_RAIL_CHECK',
  'run.checkpoint': 'GUARD_RAIL_CHECK',
  'run.evidence': 'GUARD_RAIL_CHECK',
  'run.overdue': 'GUARD_RAIL_CHECK',
  'run.silent': 'GUARD_RAIL_CHECK',
  'run.damaged': 'GUARD_RAIL_CHECK',
  'run.judged': 'GUARD_RAIL_CHECK',
  'run.failed': 'GUARD_RAIL_CHECK',
  'run.expired': 'GUARD_RAIL_CHECK',
  'run.stopped': 'GUARD_RAIL_CHECK',
  'gc.removed': 'GUARD_RAIL_CHECK',
  'gc.failed': 'GUARD_RAIL_CHECK',
  'session.ended': 'SESSION_SUMMARY',
  'session.summary': 'SESSION_SUMMARY',
};

const isRefusal = (type: string): boolean => /\.(?:refused|rejected)$/.test(type);

function typeOf(event: Event, record: StoredRecord): AuditType | null {
  if (isRefusal(event.type)) return 'GUARD_RAIL_CHECK';
  if (event.type.startsWith('rollback.')) return 'ROLLBACK_EVENT';
  // A move that follows from what became of a run is told by that event.
  if (event.type === 'task.transitioned' && record.events.some((other) => isEndOfRun(other, event))) return null;
  return TYPES[event.type] ?? null;
}

const isEndOfRun = (other: Event, move: Event): boolean =>
  other.task === move.task && other.type.startsWith('run.') && other.type !== 'run.started';

/** The guard rail that an event is the work of. */
const RAILS: Readonly<Record<string, string>> = {
  'run.judged': 'evidence',
  'run.evidence': 'evidence',
  'run.checkpoint': 'checkpoint',
  'run.damaged': 'access',
  'rollback.initiated': 'rollback',
  'session.rolledback': 'rollback',
  'run.expired': 'lease',
  'gc.removed': 'retention',
  'gc.failed': 'retention',
  'delegation.requested': 'delegation.max_depth',
  'delegation.rejected': 'delegation.max_depth',
};

/** The guard rail that an error is the word of. */
const RAILS_OF_CODES: Readonly<Record<string, string>> = {
  E_TIMEOUT: 'timeout',
  E_HEARTBEAT_FAILURE: 'heartbeat',
  E_RUN_EXPIRED: 'lease',
  E_COST_LIMIT_EXCEEDED: 'budget',
  E_PERMISSION_DENIED: 'access',
  E_EVIDENCE: 'evidence',
  E_MAX_DEPTH_EXCEEDED: 'delegation.max_depth',
  E_CONTEXT_OVERFLOW: 'limits',
  E_MALFORMED_RESPONSE: 'report',
};

type Detail = Readonly<Record<string, unknown>>;

function railsOf({ type, detail = {} }: Event, code: unknown): string[] {
  const rails = [RAILS[type], typeof code === 'string' ? RAILS_OF_CODES[code] : undefined];
  if (type === 'run.enforced') rails.push(...enforcedRails(detail));
  return [...new Set(rails)].filter((rail) => rail !== undefined);
}

/** Only what holds on this machine: without a sandbox, the access that the agent's own program enforces. */
function enforcedRails({ sandbox, network, by, missing }: Detail): string[] {
  const isSandboxed = typeof sandbox === 'string' && sandbox !== 'none';
  const isMissing = (rail: string): boolean =>
    Array.isArray(missing) && missing.some((text) => typeof text === 'string' && text.startsWith(rail));
  if (!isSandboxed) return Array.isArray(by) && by.length > 0 ? ['access'] : [];
  return ['access', ...(network === undefined || isMissing('network') ? [] : ['network']), 'sandbox'];
}

const some = (list: unknown, is: (item: Detail) => boolean): boolean =>
  Array.isArray(list) && list.some((item) => item !== null && typeof item === 'object' && is(item as Detail));

/** What went wrong, also where the event says it in other words. */
function codeOf({ type, detail = {} }: Event): unknown {
  if (type === 'run.judged') return detail['passed'] === false ? (detail['code'] ?? 'E_EVIDENCE') : undefined;
  if (type === 'run.checkpoint' && detail['status'] === 'FAIL') return 'E_EVIDENCE';
  if (type === 'run.evidence' && some(detail['claims'], ({ verdict }) => verdict === 'contradicted'))
    return 'E_EVIDENCE';
  const isRollback = type === 'rollback.initiated';
  if (isRollback && some(detail['artifacts_rolled_back'], ({ error }) => typeof error === 'string')) {
    return 'E_ROLLBACK_FAILED';
  }
  return detail['code'];
}

function budgetOf({ type, detail = {} }: Event, code: unknown, hasBudget: boolean): 'exceeded' | 'within' | null {
  if (code === 'E_COST_LIMIT_EXCEEDED') return 'exceeded';
  return hasBudget && type === 'run.reported' && detail['cost'] !== undefined ? 'within' : null;
}

/** Reads the journal in its order and keeps what later records do not repeat: whose child a task is, and what its run is. */
export function createAudit(): (record: StoredRecord) => AuditRecord[] {
  const parents = new Map<string, string>();
  const runs = new Map<string, Run>();
  /** What the latest run of a task told of itself. */
  const models = new Map<
    string,
    { readonly run: string; readonly provider: string | null; readonly model: string | null }
  >();
  /** The runs that have a budget. */
  const budgets = new Set<string>();
  const totals = createTotals();

  return (record) => {
    for (const { task, set } of record.changes) {
      if (set.parentId) parents.set(task, set.parentId);
      if (set.run) runs.set(task, set.run);
    }
    totals.take(record);
    for (const { type, task, run, detail } of record.events) {
      if (type === 'run.enforced' && run !== undefined && detail?.['budget'] === true) budgets.add(run);
      if (type !== 'run.usage' || task === undefined || run === undefined) continue;
      models.set(task, { run, provider: textOf(detail?.['provider']), model: textOf(detail?.['model']) });
    }
    const audited = record.events.flatMap((event, i): AuditRecord[] => {
      const type = typeOf(event, record);
      return type === null ? [] : [auditRecord(record, event, i, type)];
    });
    // What has ended is not spoken of as running again; a long trail keeps only what is at work.
    for (const { task, set } of record.changes) if (set.status === 'done' || set.status === 'cancelled') forget(task);
    return audited;
  };

  function forget(task: string): void {
    models.delete(task);
    runs.delete(task);
  }

  function auditRecord(record: StoredRecord, event: Event, index: number, type: AuditType): AuditRecord {
    const { at, session, by, seq, request } = record;
    const { task = null, detail = {} } = event;
    const latest = task === null ? undefined : runs.get(task);
    const run = event.run !== undefined && latest?.id === event.run ? latest : undefined;
    const last = task === null ? undefined : models.get(task);
    const told = last?.run === event.run ? last : undefined;
    const code = codeOf(event);
    const summed = event.type === 'session.ended' ? { totals: totals.of(session) } : {};
    return {
      id: `audit-${seq}-${index}`,
      version: AUDIT_VERSION,
      timestamp: isoTime(at),
      session,
      task,
      type,
      actor: {
        name: redact(by.name),
        role: by.kind,
        provider: told?.provider ?? null,
        model: told?.model ?? run?.model ?? null,
      },
      payload: redactDeep({
        event: event.type,
        ...(event.run === undefined ? {} : { run: event.run }),
        ...summed,
        ...detail,
      }),
      context: {
        parent_task_id: (task === null ? undefined : parents.get(task)) ?? null,
        attempt: run?.attempt ?? null,
        correlation_id: event.run ?? request ?? null,
      },
      governance: {
        guard_rails_applied: railsOf(event, code),
        budget_status: budgetOf(event, code, budgets.has(event.run ?? '')),
        access_decision: isRefusal(event.type) || code === 'E_PERMISSION_DENIED' ? 'refused' : 'allowed',
        reason_code: typeof code === 'string' ? code : null,
      },
    };
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
