/**
 * completion.report ⇄ Report. `README.md` lists what is lost on the way.
 *
 * The payload has no field for the summary's text: `notes` carries it as its first paragraph, and what follows a blank line is the
 * Report's notes. That is how the document's own example reads.
 */

import { unrepeated } from '../../core/fields.ts';
import {
  type Artifact,
  emptyReport,
  losses,
  type Outcome,
  type Report,
  type ReportField,
  type TestCounts,
} from '../../core/report.ts';
import { isTaskId } from '../../core/task.ts';
import { cut, fits } from './cut.ts';
import { decodeAofValue } from './decode.ts';
import { checkRunFile } from './run-files.ts';
import { type CompletionEnvelope, type CompletionReport, LIMITS, Time } from './schema.ts';

/** Stands where the envelope needs a task and the Report has none that it can hold; read back as no task at all. */
export const NO_TASK = 'TASK-0000-00-00-000';
/** Stands where the envelope needs a sender and nobody is known; read back as nobody. */
export const NO_AGENT = 'unknown';

export interface ReportContext {
  readonly now: string;
  readonly taskId?: string;
  readonly fromAgent?: string;
  readonly messageId?: string;
}

export interface WrittenReport {
  readonly envelope: CompletionEnvelope;
  readonly lost: ReportField[];
}

/** From the value of a valid completion.report, or of a valid run_result.json; null of anything else. */
export function toReport(value: unknown): Report | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null;
  const fields = value as Record<string, unknown>;
  if (Object.hasOwn(fields, 'protocol')) {
    const decoded = decodeAofValue(fields);
    if (!decoded.valid || decoded.kind !== 'completion.report') return null;
    const { taskId, fromAgent, payload } = fields as CompletionEnvelope;
    return claim(payload, taskId, fromAgent);
  }
  const read = checkRunFile('run_result.json', fields);
  return read.ok ? claim(read.value, read.value.taskId, NO_AGENT) : null;
}

function claim(payload: CompletionReport, taskId: string, sender: string): Report {
  const agent = payload.agentId ?? (sender === NO_AGENT ? null : sender);
  return {
    ...emptyReport(payload.outcome, ''),
    ...paragraphs(payload.notes ?? ''),
    taskId: taskId === NO_TASK ? null : taskId,
    agent: agent === null ? null : { name: agent, provider: null, model: null },
    completedAt: payload.completedAt ?? null,
    detailsFile: payload.summaryRef ?? null,
    handoffFile: payload.handoffRef ?? null,
    artifacts: (payload.deliverables ?? []).map(artifact),
    tests: counts(payload.tests),
    blockers: payload.blockers ?? [],
  };
}

/** What a completion.report or a run_result says and a Report has no room for, by its place. */
export function unreported(value: unknown): string[] {
  const report = toReport(value);
  if (report === null || value === null || typeof value !== 'object') return [];
  const { envelope } = fromReport(report, { now: 'sentAt' in value ? String(value.sentAt) : '' });
  const said = 'protocol' in value ? envelope : envelope.payload;
  // Who sent it and which task it is for are the Report's too, said in one place instead of two.
  return unrepeated(value, said).filter((path) => path !== '/fromAgent' && path !== '/payload/taskId');
}

const artifact = (path: string): Artifact => ({ path, type: null, hash: null, status: null, sizeBytes: null });

/** A Report has all three counts or none: what was not counted must not read as zero. */
function counts({ total, passed, failed }: NonNullable<CompletionReport['tests']> = {}): TestCounts | null {
  if (total === undefined || passed === undefined || failed === undefined) return null;
  return plain({ total, passed, failed });
}

const BLANK_LINE = /\r?\n[ \t]*\r?\n/;

function paragraphs(notes: string): Pick<Report, 'summary' | 'notes'> {
  const text = notes.replace(/^(?:[ \t]*\r?\n)+/, '');
  const gap = BLANK_LINE.exec(text);
  if (gap === null) return { summary: text, notes: null };
  return { summary: text.slice(0, gap.index), notes: text.slice(gap.index + gap[0].length) || null };
}

/** Whatever the Report holds, the envelope is valid; what could not be said, or had to be cut, is in `lost`. */
export function fromReport(report: Report, context: ReportContext): WrittenReport {
  const taskId = [context.taskId, report.taskId].find((id) => typeof id === 'string' && isTaskId(id)) ?? NO_TASK;
  const envelope: CompletionEnvelope = {
    protocol: 'aof',
    version: 1,
    type: 'completion.report',
    taskId,
    fromAgent: context.fromAgent || report.agent?.name || NO_AGENT,
    sentAt: context.now,
    ...(context.messageId ? { messageId: context.messageId } : {}),
    payload: payloadOf(report, taskId),
  };
  // What the context adds to a Report that leaves it open is no loss.
  const meant: Report = {
    ...report,
    taskId: report.taskId ?? (taskId === NO_TASK ? null : taskId),
    agent: report.agent ?? (context.fromAgent ? { name: context.fromAgent, provider: null, model: null } : null),
  };
  return { envelope, lost: losses(meant, claim(envelope.payload, envelope.taskId, envelope.fromAgent)) };
}

function payloadOf(report: Report, taskId: string): CompletionReport {
  const { agent, completedAt, tests } = report;
  const notes = cut([report.summary, report.notes ?? ''].filter((part) => part !== '').join('\n\n'), LIMITS.notes);
  const paths = deliverables(report.artifacts);
  const blockers = report.blockers.slice(0, LIMITS.blockers).map((blocker) => cut(blocker, LIMITS.item));
  return {
    taskId,
    ...(agent?.name ? { agentId: agent.name } : {}),
    ...(completedAt !== null && Time.safeParse(completedAt).success ? { completedAt } : {}),
    outcome: OUTCOME[report.outcome],
    ...(report.detailsFile ? { summaryRef: report.detailsFile } : {}),
    ...(report.handoffFile ? { handoffRef: report.handoffFile } : {}),
    ...(paths.length > 0 ? { deliverables: paths } : {}),
    ...(tests !== null && isSound(tests) ? { tests: plain(tests) } : {}),
    ...(blockers.length > 0 ? { blockers } : {}),
    ...(notes === '' ? {} : { notes }),
  };
}

/** aof has no word for `failed`; blocked is what keeps the task from being taken for done. */
const OUTCOME = {
  done: 'done',
  partial: 'partial',
  needs_review: 'needs_review',
  blocked: 'blocked',
  failed: 'blocked',
} as const satisfies Record<Outcome, CompletionReport['outcome']>;

/** A path that is too long is left out, since half a path names another file; a deleted file is nothing that is delivered. */
const deliverables = (artifacts: readonly Artifact[]): string[] =>
  artifacts
    .filter(({ path, status }) => status !== 'DELETED' && fits(path, LIMITS.item))
    .slice(0, LIMITS.list)
    .map(({ path }) => path);

/** JSON has no negative zero. */
const plain = ({ total, passed, failed }: TestCounts) => ({
  total: total + 0,
  passed: passed + 0,
  failed: failed + 0,
});

const isSound = ({ total, passed, failed }: TestCounts): boolean =>
  [total, passed, failed].every((count) => Number.isSafeInteger(count) && count >= 0) && passed + failed <= total;
