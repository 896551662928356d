/**
 * The final report of a session (contract §10): the SESSION_FINAL_REPORT event, folded from the journal records of the session.
 * Records are taken in their order; those of other sessions are passed by. Nothing is asked of the store or of the clock.
 */
import { redactDeep } from './redact.ts';
import { emptyFold, type Fold, NOTHING, plus, type RunFacts, takeRecord } from './session-fold.ts';
import type {
  ContextShare,
  CostSummary,
  GraphEdge,
  ReportedAgent,
  SessionFinalReport,
  Share,
} from './session-report-form.ts';
import type { StoredRecord } from './store.ts';
import { isUndone, type Spent, TASK_STATUSES, type Task, type TaskStatus } from './task.ts';
import { isoTime } from './time.ts';

export type { SessionFinalReport } from './session-report-form.ts';

export interface SessionReport {
  /** Each record once, in order. */
  take(record: StoredRecord): void;
  finish(now: number, extra: { readonly auditPath: string }): SessionFinalReport;
}

export function createSessionReport(session: string): SessionReport {
  const fold = emptyFold();
  return {
    take: (record) => takeRecord(fold, session, record),
    finish: (now, { auditPath }) => redactDeep(reportOf(fold, session, now, auditPath)),
  };
}

function reportOf(fold: Fold, session: string, now: number, auditPath: string): SessionFinalReport {
  const tasks = [...fold.tasks.values()];
  const standing = tasks.filter((task) => !isUndone(task));
  const runs = [...fold.runs.values()];
  const { first, last, end } = fold;
  return {
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'EVENT',
    event: 'SESSION_FINAL_REPORT',
    session_id: session,
    timestamp: isoTime(now),
    session: {
      session_id: session,
      started_at: first === null ? null : isoTime(first),
      ended_at: end === null ? null : isoTime(end.at),
      ended_by: end?.by ?? null,
    },
    totals: {
      tasks: tasks.length,
      tasks_by_state: Object.fromEntries(
        TASK_STATUSES.map((status) => [status, standing.filter((task) => task.status === status).length]),
      ) as Record<TaskStatus, number>,
      tasks_undone: tasks.length - standing.length,
      runs: tasks.reduce((sum, task) => sum + task.runs, 0),
      retries: fold.retries,
      fallbacks: fold.fallbacks,
      duration_seconds: first === null ? 0 : Math.max((end?.at ?? last) - first, 0) / 1000,
    },
    agents: agentsOf(fold, runs),
    delegation_graph: graphOf(tasks, runs),
    cost_summary: costsOf(runs),
    checkpoints: [...fold.checkpoints.values()],
    evidence: [...fold.claims.values()].flat(),
    nodes: [...fold.nodes.values()],
    decisions: fold.decisions,
    rollbacks: fold.rollbacks,
    errors: fold.errors,
    artifacts: [...fold.artifacts.values()],
    context: {
      ...contextOf(runs),
      by_agent: contextBy(runs),
      includes_estimates: runs.some(({ isReckoned }) => isReckoned),
    },
    audit_trail: { storage_path: auditPath },
  };
}

const modelOf = ({ model, run }: RunFacts): string | null => model ?? run?.model ?? null;
const agentOf = ({ agent, run }: RunFacts): string | null => agent ?? run?.agent ?? null;
const spentBy = ({ charged, used }: RunFacts): Spent => charged ?? used ?? NOTHING;

function agentsOf(fold: Fold, runs: readonly RunFacts[]): ReportedAgent[] {
  const agents = new Map<string, RunFacts[]>();
  for (const facts of runs) {
    const name = agentOf(facts);
    if (facts.run === null || name === null) continue;
    const list = agents.get(name);
    if (list === undefined) agents.set(name, [facts]);
    else list.push(facts);
  }
  return [...agents].map(([name, own]) => ({
    name,
    roles: distinct(own.map(({ task }) => fold.tasks.get(task)?.routing.role)),
    providers: distinct(own.map(({ provider }) => provider)),
    models: distinct(own.map(modelOf)),
    runs: own.length,
  }));
}

function graphOf(tasks: readonly Task[], runs: readonly RunFacts[]): SessionFinalReport['delegation_graph'] {
  const known = new Set(tasks.map(({ id }) => id));
  const costs = sharesBy(runs, ({ task }) => task);
  return {
    nodes: tasks.map((task) => ({
      id: task.id,
      external_id: task.externalId,
      title: task.title,
      status: task.status,
      undone: isUndone(task),
      verdict: task.verdict,
      agent: task.run?.agent ?? task.routing.agent,
      attempts: task.runs,
      cost_usd: (costs[task.id] ?? NO_SHARE).usd,
    })),
    // What lies in another session has no node here.
    edges: tasks.flatMap(({ id, parentId, dependsOn }): GraphEdge[] => [
      ...(parentId === null || !known.has(parentId) ? [] : [{ from: parentId, to: id, type: 'parent' as const }]),
      ...dependsOn.filter((other) => known.has(other)).map((from) => ({ from, to: id, type: 'dependency' as const })),
    ]),
  };
}

const NO_SHARE: Share = { usd: 0, tokens_input: 0, tokens_output: 0 };

function costsOf(runs: readonly RunFacts[]): CostSummary {
  const all = runs.map(spentBy).reduce(plus, NOTHING);
  const expected = runs.flatMap((facts) => (facts.expected === null ? [] : [facts.expected]));
  return {
    estimated_cost_usd: expected.length === 0 ? null : rounded(sum(expected)),
    actual_cost_usd: runs.some(({ isUnknown }) => isUnknown) ? null : rounded(all.usd),
    known_cost_usd: rounded(all.usd),
    tokens_input: all.tokensInput,
    tokens_output: all.tokensOutput,
    by_agent: sharesBy(runs, (facts) => agentOf(facts) ?? 'unknown'),
    by_model: sharesBy(runs, (facts) => modelOf(facts) ?? 'unknown'),
    includes_estimates: runs.some(({ isEstimated }) => isEstimated),
  };
}

function sharesBy(runs: readonly RunFacts[], nameOf: (facts: RunFacts) => string): Record<string, Share> {
  const spent = new Map<string, Spent>();
  const unknown = new Set<string>();
  for (const facts of runs) {
    spent.set(nameOf(facts), plus(spent.get(nameOf(facts)) ?? NOTHING, spentBy(facts)));
    if (facts.isUnknown) unknown.add(nameOf(facts));
  }
  return Object.fromEntries(
    [...spent].map(([name, { usd, tokensInput, tokensOutput }]) => [
      name,
      { usd: unknown.has(name) ? null : rounded(usd), tokens_input: tokensInput, tokens_output: tokensOutput },
    ]),
  );
}

function contextOf(runs: readonly RunFacts[]): ContextShare {
  const of = (name: 'produced' | 'delivered' | 'tokensProduced' | 'tokensDelivered' | 'tokensGiven'): number =>
    sum(runs.map((facts) => facts[name]));
  const [produced, delivered, tokensProduced, tokensDelivered] = [
    of('produced'),
    of('delivered'),
    of('tokensProduced'),
    of('tokensDelivered'),
  ];
  return {
    characters_produced: produced,
    characters_delivered: delivered,
    characters_saved: produced - delivered,
    characters_saved_percent: percentOf(produced - delivered, produced),
    tokens_produced: tokensProduced,
    tokens_delivered: tokensDelivered,
    tokens_saved: tokensProduced - tokensDelivered,
    tokens_saved_percent: percentOf(tokensProduced - tokensDelivered, tokensProduced),
    tokens_given: of('tokensGiven'),
  };
}

function contextBy(runs: readonly RunFacts[]): Record<string, ContextShare> {
  const agents = new Map<string, RunFacts[]>();
  for (const facts of runs) {
    const name = agentOf(facts) ?? 'unknown';
    const list = agents.get(name);
    if (list === undefined) agents.set(name, [facts]);
    else list.push(facts);
  }
  return Object.fromEntries([...agents].map(([name, own]) => [name, contextOf(own)]));
}

/** To a tenth of a percent. */
const percentOf = (part: number, all: number): number | null =>
  all === 0 ? null : Math.round((part / all) * 1000) / 10;

/** Sums of dollars are not exact; a millionth is. */
const rounded = (usd: number): number => Math.round(usd * 1e6) / 1e6;
const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0);
const distinct = (values: readonly (string | null | undefined)[]): string[] =>
  [...new Set(values)].filter((value) => value !== null && value !== undefined);
