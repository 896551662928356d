/** A RESPONSE for a task that no run of Baton supervises: its guard rails, its budget and the error that it names count as they do for a run. */
import type { Refusal } from '../../core/laws/decision.ts';
import type { TaskMessage as Ask } from '../../core/laws/messages.ts';
import type { Report } from '../../core/report.ts';
import type { Task } from '../../core/task.ts';
import { checkGuardRails, type GuardRails, policyOf, type TaskMessage } from '../../protocol/aop2/index.ts';
import type { Message } from '../../protocol/message.ts';
import { taskMessage } from '../child.ts';
import { createMeter } from '../meter.ts';
import { usedBy } from '../purse.ts';
import { no, type RouterOptions } from '../routed.ts';
import { amountOf, asRailsSay, costIn, errorIn, responseIn, type SaidCost } from './said.ts';

type Parts = Pick<RouterOptions, 'store' | 'workspace'>;
type Fields = Partial<
  Pick<Extract<Ask, { type: 'task.report' }>, 'outcome' | 'cost' | 'estimated' | 'code' | 'reason'>
>;

const railsOf = (message: TaskMessage): GuardRails => {
  const { requireFinalSignal: finalSignal, requireMinimalReport: minimalReport } = policyOf(message);
  return { finalSignal, minimalReport };
};

const taskOf = ({ store, workspace = '/' }: Parts, task: Task): Promise<TaskMessage> =>
  taskMessage(store, task, workspace);

/** The report as the guard rails of its task read it. */
export async function underRails(parts: Parts, task: Task, message: Message, report: Report): Promise<Report> {
  if (responseIn(message) === null || report.outcome !== 'needs_review') return report;
  return asRailsSay(report, message, railsOf(await taskOf(parts, task)));
}

/** What a RESPONSE says beyond its report, for the store; a refusal where it lacks what the guard rails of its task ask for. */
export async function beyondReport(
  parts: Parts,
  task: Task,
  message: Message,
  report: Report,
): Promise<{ readonly fields: Fields } | Refusal> {
  const response = responseIn(message);
  if (response === null) return { fields: {} };
  const order = await taskOf(parts, task);
  const missing = checkGuardRails(response, railsOf(order)).map(({ path }) => path);
  const error = report.outcome === 'failed' ? errorIn(message) : null;
  if (missing.length > 0 && error === null) {
    const text = `the guard rails of ${task.id} require ${missing.join(', ')} in the RESPONSE`;
    return no('E_MALFORMED_RESPONSE', text, 'send the RESPONSE again with them');
  }
  const cost = await unmeasured(parts, task, costIn(message, report));
  const charged = cost === null ? {} : { cost: amountOf(cost), estimated: cost.estimated };
  const over = cost === null ? null : overBudget(order, task, cost);
  if (over !== null) return { fields: { ...charged, outcome: 'failed', code: 'E_COST_LIMIT_EXCEEDED', reason: over } };
  return { fields: { ...charged, ...(error === null ? {} : { code: error.code, reason: error.message }) } };
}

/** What Baton has measured of a run is not said once more by its agent. */
async function unmeasured({ store }: Parts, task: Task, cost: SaidCost | null): Promise<SaidCost | null> {
  if (cost === null || task.run === null || task.run.status === 'running') return cost;
  const used = usedBy(await store.history(task.id)).get(task.run.id);
  return used === undefined || (used.usd ?? 0) + used.tokensInput + used.tokensOutput === 0 ? cost : null;
}

function overBudget(order: TaskMessage, task: Task, cost: SaidCost): string | null {
  const meter = createMeter(policyOf(order).budget, null, task.cost);
  meter.claim(cost);
  return meter.exceeded();
}
