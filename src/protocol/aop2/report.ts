/** RESPONSE ⇄ Report. What a RESPONSE has no words for travels in `extensions.x_report`, so only the finer outcomes are lost. */
import * as z from 'zod';
import { unrepeated } from '../../core/fields.ts';
import { type Artifact, emptyReport, losses, type Outcome, type Report, type ReportField } from '../../core/report.ts';
import { type CarriedField, isEmpty, readFields, writeFields } from '../report-fields.ts';
import { exceedsBytes } from '../text/clean.ts';
import type { GuardRails } from './decode.ts';
import { MAX_BYTES } from './limits.ts';
import { Provider, type ResponseMessage } from './schema.ts';
import { AOP_VERSION, PROTOCOL_FAMILY, SCHEMA_VERSION } from './version.ts';

/** Written where the contract requires a name and the report has none; read back as absent. */
const UNKNOWN = 'unknown';

const STATUS: Record<Outcome, ResponseMessage['task_status']> = {
  done: { state: 'COMPLETED', final_signal: 'SUCCESS' },
  partial: { state: 'COMPLETED', final_signal: 'PARTIAL_SUCCESS' },
  needs_review: { state: 'COMPLETED', final_signal: 'PARTIAL_SUCCESS' },
  blocked: { state: 'FAILED', final_signal: 'FAILURE' },
  failed: { state: 'FAILED', final_signal: 'FAILURE' },
};

/** The fields of a Report that a RESPONSE has no words for. */
const EXTRA = [
  'task',
  'detailsFile',
  'handoffFile',
  'tests',
  'blockers',
  'metrics',
  'confidence',
  'graphNode',
  'nextStage',
] as const satisfies readonly CarriedField[];

/**
 * What a RESPONSE claims. A state and a signal that contradict each other count as the worse of the two; COMPLETED without a
 * signal asks for a review, since "done" is never assumed.
 */
export function outcomeOf({ state, final_signal: signal }: ResponseMessage['task_status']): Outcome {
  if (state === 'FAILED' || state === 'ABORTED' || signal === 'FAILURE' || signal === 'ABORTED') return 'failed';
  if (state === 'SKIPPED') return 'blocked';
  if (state !== 'COMPLETED' || signal === 'PARTIAL_SUCCESS') return 'partial';
  return signal === 'SUCCESS' ? 'done' : 'needs_review';
}

/**
 * A report as the guard rails of its TASK read it: where they do not ask for a final signal, COMPLETED without one is done. What is done still
 * has to bear the evidence.
 */
export function reportUnder(report: Report, { task_status: status }: ResponseMessage, rails: GuardRails): Report {
  const isDone = !rails.finalSignal && status.state === 'COMPLETED' && status.final_signal === undefined;
  return isDone && report.outcome === 'needs_review' ? { ...report, outcome: 'done' } : report;
}

export function toReport(response: ResponseMessage): Report {
  const { execution_summary: said = {}, timing = {}, cost_tracking: cost, agent } = response;
  const absent = agent.name === UNKNOWN && agent.model === UNKNOWN;
  return {
    ...emptyReport(outcomeOf(response.task_status), said.summary ?? ''),
    sessionId: known(response.session_id),
    taskId: known(response.task_id),
    agent: absent ? null : { name: agent.name, provider: agent.provider, model: known(agent.model) },
    notes: response.task_status.message ?? null,
    actions: said.actions ?? [],
    artifacts: (said.output_artifacts ?? []).map(toArtifact),
    warnings: (said.warnings ?? []).map(asText),
    errors: (said.errors ?? []).map(asText),
    checkpoints: (response.checkpoint_results ?? []).map((result) => ({
      id: result.checkpoint_id,
      status: result.status ?? null,
      notes: result.notes ?? null,
    })),
    startedAt: timing.started_at ?? null,
    completedAt: timing.completed_at ?? null,
    cost: cost
      ? {
          usd: cost.actual_cost_usd ?? null,
          tokensInput: cost.tokens_input ?? null,
          tokensOutput: cost.tokens_output ?? null,
        }
      : null,
    ...readFields(response.extensions?.['x_report'], EXTRA),
  };
}

/** What a RESPONSE says and a Report has no room for, by its place. */
export const unreported = (response: ResponseMessage): string[] =>
  unrepeated(response, write(toReport(response))).filter(
    (path) => path !== '/aop_version' && path !== '/schema_version',
  );

const known = (name: string): string | null => (name === UNKNOWN ? null : name);
const asText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

type OutputArtifact = NonNullable<NonNullable<ResponseMessage['execution_summary']>['output_artifacts']>[number];

const toArtifact = (artifact: OutputArtifact): Artifact => ({
  path: artifact.path,
  type: artifact.type ?? null,
  hash: artifact.hash ?? null,
  status: artifact.status ?? null,
  sizeBytes: artifact.size_bytes ?? null,
});

export interface Written {
  readonly response: ResponseMessage;
  readonly lost: readonly ReportField[];
}

/** A Report as a valid RESPONSE, shortened where the contract's size limit asks for it, or a smaller one that leaves room for more. */
export function fromReport(report: Report, mostBytes: number = MAX_BYTES.RESPONSE): Written {
  let response = write(report);
  for (const [items, chars] of [
    [200, 1000],
    [50, 300],
    [10, 100],
  ] as const) {
    if (!exceedsBytes(JSON.stringify(response), mostBytes)) break;
    response = write(shorten(report, items, chars));
  }
  return { response, lost: losses(report, toReport(response)) };
}

function write(report: Report): ResponseMessage {
  const extra = writeFields(report, EXTRA);
  return {
    aop_version: AOP_VERSION,
    schema_version: SCHEMA_VERSION,
    protocol_family: PROTOCOL_FAMILY,
    message_type: 'RESPONSE',
    session_id: report.sessionId || UNKNOWN,
    task_id: report.taskId || UNKNOWN,
    agent: {
      name: report.agent?.name || UNKNOWN,
      provider: Provider.safeParse(report.agent?.provider).data ?? 'OTHER',
      model: report.agent?.model || UNKNOWN,
    },
    task_status: { ...STATUS[report.outcome], ...given('message', report.notes) },
    execution_summary: {
      summary: report.summary,
      actions: [...report.actions],
      output_artifacts: report.artifacts.filter(({ path }) => path !== '').map(fromArtifact),
      warnings: [...report.warnings],
      errors: [...report.errors],
    },
    ...given('checkpoint_results', fromCheckpoints(report)),
    error_details: null,
    ...given('timing', fromTimes(report)),
    ...given('cost_tracking', fromCost(report)),
    ...(isEmpty(extra) ? {} : { extensions: { x_report: extra } }),
  };
}

/** A field that is written only when there is something to write. */
const given = <K extends string, V>(key: K, value: V | null): { [k in K]: V } | Record<never, never> =>
  value === null ? {} : { [key]: value };

const fromArtifact = (artifact: Artifact): OutputArtifact => ({
  path: artifact.path,
  ...given('type', artifact.type || null),
  ...given('hash', artifact.hash || null),
  ...given('status', artifact.status),
  ...given('size_bytes', asCount(artifact.sizeBytes)),
});

const asCount = (n: number | null): number | null => (n !== null && Number.isSafeInteger(n) && n >= 0 ? n : null);
const asAmount = (n: number | null): number | null => (n !== null && Number.isFinite(n) && n >= 0 ? n : null);

const fromCheckpoints = (report: Report): ResponseMessage['checkpoint_results'] | null => {
  const written = report.checkpoints
    .filter(({ id }) => id !== '')
    .map(({ id, status, notes }) => ({ checkpoint_id: id, ...given('status', status), ...given('notes', notes) }));
  return written.length === 0 ? null : written;
};

const TIME = z.iso.datetime({ offset: true, local: true });
const asTime = (value: string | null): string | null => (TIME.safeParse(value).success ? value : null);

const fromTimes = ({ startedAt, completedAt }: Report): NonNullable<ResponseMessage['timing']> | null => {
  const times = { ...given('started_at', asTime(startedAt)), ...given('completed_at', asTime(completedAt)) };
  return isEmpty(times) ? null : times;
};

const fromCost = ({ cost }: Report): NonNullable<ResponseMessage['cost_tracking']> | null =>
  cost && {
    ...given('actual_cost_usd', asAmount(cost.usd)),
    ...given('tokens_input', asCount(cost.tokensInput)),
    ...given('tokens_output', asCount(cost.tokensOutput)),
  };

/** Every list and every text of a report cut down, evenly. */
function shorten(report: Report, items: number, chars: number): Report {
  const cut = (value: unknown): unknown => {
    if (typeof value === 'string') return value.slice(0, chars);
    if (Array.isArray(value)) return value.slice(0, items).map(cut);
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(
      Object.entries(value)
        .slice(0, items + 10)
        .map(([key, child]) => [key.slice(0, chars), cut(child)]),
    );
  };
  const fields = Object.entries(report).map(([field, value]) => [field, field === 'outcome' ? value : cut(value)]);
  return Object.fromEntries(fields) as Report;
}
