/** What comes out of a run for others: the RESPONSE, the block for the parent, the details on disk. Where Baton knows better than the agent, Baton's word counts. */
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { emptyReport, type Outcome, type Report } from '../core/report.ts';
import type { Run, Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { aop1, aop2, taskTypeOfTask } from '../protocol/index.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { lastOf, shorten } from '../protocol/text/shorten.ts';
import type { Chosen } from './agents.ts';
import { detailsFile, filesFoundIn, ownDetails, writeDetails } from './details.ts';
import type { Claim, Evidence } from './evidence/claim.ts';
import { lastWords } from './last-words.ts';
import type { Used } from './meter.ts';
import { actionsOf } from './response/actions.ts';
import { type EarlierAttempts, together } from './response/all-attempts.ts';
import { keepCheckpoints, keepCost, keepExtensions, keepMessage, keepSummaryExtensions } from './response/keep.ts';
import type { SaidError } from './response/said.ts';
import { typeFileOf, writeTypeFile } from './type-files.ts';

type Response = aop2.ResponseMessage;
type CheckpointResult = NonNullable<Response['checkpoint_results']>[number];

export interface RunFacts {
  readonly message: aop2.TaskMessage;
  /** The task after the run. */
  readonly task: Task;
  readonly run: Run;
  readonly chosen: Pick<Chosen, 'name' | 'provider' | 'model'>;
  /** What the agent said; null where it said nothing that could be read. */
  readonly report: Report | null;
  /** The RESPONSE that it said it in, whole; left out where it said it in another way. */
  readonly said?: Response | null;
  /** The error that it named there. */
  readonly error?: SaidError | null;
  readonly lastText: string;
  /** What it has written into the graph; empty where that is nothing. */
  readonly graphWords?: string;
  readonly evidence: Evidence | null;
  readonly checkpoints: readonly CheckpointResult[];
  readonly used: Used;
  /** The attempts before it; null or left out where it is the first. */
  readonly earlier?: EarlierAttempts | null;
  readonly estimatedUsd: number | null;
  readonly failure: { readonly code: string; readonly message: string } | null;
  /** A checkpoint has said ABORT. */
  readonly isAborted: boolean;
  readonly warnings: readonly string[];
  readonly startedAt: number;
  readonly endedAt: number;
  readonly progress: { readonly at: number; readonly percentage: number | null } | null;
  readonly bytes: number;
  readonly folder: string;
  /** Where it worked, and whether what its agent prints is meant for people; left out where it never came to work, or nobody knows any more. */
  readonly place?: { readonly workspace: string; readonly isPlain: boolean };
}

/** How it ended, as the parent is to read it: never better than what the store says. */
function outcomeOf({ task, report, evidence }: RunFacts): Outcome {
  if (task.status === 'done') return evidence?.partial === true ? 'partial' : 'done';
  if (task.status === 'deadletter' || task.status === 'cancelled' || task.status === 'ready') return 'failed';
  if (task.status === 'blocked') return 'blocked';
  if ((evidence?.findings.length ?? 0) > 0) return 'failed';
  return report?.outcome === 'partial' ? 'partial' : 'needs_review';
}

/** The report as Baton bears it out. */
function reportOf(facts: RunFacts): Report {
  const { message, task, chosen, report, evidence, failure, warnings, endedAt } = facts;
  const outcome = outcomeOf(facts);
  const said = report ?? emptyReport(outcome, facts.lastText);
  const { usd, tokensInput, tokensOutput } = together([...(facts.earlier?.used ?? []), facts.used]);
  const errors = [...(failure === null ? [] : [`${failure.code}: ${failure.message}`]), ...findings(evidence)];
  return {
    ...said,
    outcome,
    summary: summaryOf(facts, said, outcome),
    task: said.task ?? task.title,
    sessionId: task.session,
    taskId: message.task.task_id,
    agent: { name: chosen.name, provider: chosen.provider, model: chosen.model ?? 'default' },
    startedAt: isoTime(startOf(facts)),
    completedAt: isoTime(endedAt),
    // What Baton has not seen itself is a claim, and told as one.
    artifacts: evidence?.artifacts ?? [],
    checkpoints: [],
    actions: said.actions.length > 0 ? said.actions : actionsOf(happened(facts)),
    errors: [...said.errors, ...errors],
    warnings: [...said.warnings, ...warnings, ...(evidence?.warnings ?? []).map(told)],
    cost: { usd, tokensInput, tokensOutput },
  };
}

/** When the first attempt began. */
const startOf = ({ earlier = null, startedAt }: RunFacts): number =>
  Math.min(earlier?.startedAt ?? startedAt, startedAt);

const happened = (facts: RunFacts): Parameters<typeof actionsOf>[0] => ({
  agent: facts.chosen.name,
  report: facts.report,
  artifacts: facts.evidence?.artifacts ?? [],
  claims: facts.evidence?.claims ?? [],
  checkpoints: [...facts.checkpoints],
  failure: facts.failure,
  bytes: facts.bytes,
});

const told = ({ code, message }: Evidence['findings'][number]): string => `${code}: ${message}`;

const findings = (evidence: Evidence | null): string[] => (evidence?.findings ?? []).map(told);

export const WAITS = '- Waits for a person: ';

/** Of what an agent said last that has not reported; all of it is in the details. */
const LAST_CHARS = 500;

/** What Baton found comes first: it is what the parent has to know. */
function summaryOf(facts: RunFacts, said: Report, outcome: Outcome): string {
  const { failure, evidence, lastText, report, graphWords = '' } = facts;
  const isSilent = report === null || said.summary.trim() === '';
  const own = isSilent && graphWords === '' ? lastWords(lastText, LAST_CHARS) : isSilent ? '' : said.summary.trim();
  // What an agent sums up itself need not be told twice; that somebody has to answer it cannot know.
  const told = isSilent
    ? graphWords
    : graphWords
        .split('\n')
        .filter((line) => line.startsWith(WAITS))
        .join('\n');
  const words = [told, own].filter((text) => text !== '').join('\n');
  if (failure !== null)
    return [`- Failed: ${failure.message} (${failure.code})`, ...(words === '' ? [] : [words])].join('\n');
  const found = evidence?.findings ?? [];
  if (found.length > 0) {
    return [
      `- Not accepted: ${found.map(({ message }) => message).join('; ')}`,
      ...(words === '' ? [] : [`The agent says: ${words}`]),
    ].join('\n');
  }
  const warned = (evidence?.warnings ?? []).map(({ message }) => `- Found: ${message}`);
  if (words !== '' || warned.length > 0) return [...warned, ...(words === '' ? [] : [words])].join('\n');
  return outcome === 'done' ? 'Done; the agent said nothing about it.' : 'The agent ended without a report.';
}

export function responseOf(facts: RunFacts): Response {
  const { run, task, checkpoints, failure, evidence } = facts;
  const claims = claimsWithin(evidence?.claims ?? []);
  const said = facts.said ?? null;
  const results = checkpointsWithin(keepCheckpoints(checkpoints, said));
  const summaryExtensions = keepSummaryExtensions(said);
  const given = sizeOf([claims, results, summaryExtensions, keepExtensions({}, said)]);
  const { response } = aop2.fromReport(reportOf(facts), aop2.MAX_BYTES.RESPONSE - given - OTHERS);
  const isAborted = facts.isAborted || task.status === 'cancelled';
  const isBad = response.task_status.state === 'FAILED';
  const last = task.status === 'deadletter' ? task.cause : null;
  const wrong = last ?? failure ?? evidence?.findings[0] ?? (isBad ? task.cause : null);
  return {
    ...response,
    task_status: {
      ...response.task_status,
      ...(isAborted ? { state: 'ABORTED' as const, final_signal: 'ABORTED' as const } : {}),
      message: shorten(keepMessage(statusWords(facts), facts.report?.notes), 10_000),
    },
    execution_summary: { ...response.execution_summary, ...summaryExtensions },
    ...(results.length === 0 ? {} : { checkpoint_results: [...results] }),
    error_details: wrong === null ? null : { code: wrong.code, message: shorten(wrong.message, 10_000) },
    timing: timingOf(facts),
    cost_tracking: keepCost(facts, said),
    progress_log: progressLog(facts),
    extensions: keepExtensions(
      {
        ...response.extensions,
        x_run_id: run.id,
        x_task_status: task.status,
        ...(evidence === null ? {} : { x_claims: claims }),
        ...(evidence?.verdict === undefined ? {} : { x_verdict: evidence.verdict }),
        x_log: join(facts.folder, 'out.log'),
      },
      said,
    ),
  };
}

/** Of all attempts together, with the last one's own beside it. */
function timingOf(facts: RunFacts): Response['timing'] {
  const { run, earlier = null, startedAt, endedAt } = facts;
  const secondsFrom = (start: number): number => Math.round(endedAt - start) / 1000;
  return {
    started_at: isoTime(startOf(facts)),
    completed_at: isoTime(endedAt),
    duration_seconds: secondsFrom(startOf(facts)),
    // What was done again within a run counts as a retry; after a person's retry the attempts of a run count from one.
    retries_attempted: Math.max(0, run.attempt - 1, earlier?.count ?? 0),
    ...(earlier === null
      ? {}
      : { extensions: { x_attempt: { started_at: isoTime(startedAt), duration_seconds: secondsFrom(startedAt) } } }),
  };
}

/** What was seen of its progress; what the agent says of it where nothing was seen. */
function progressLog({ task, progress, endedAt, said }: RunFacts): Response['progress_log'] {
  const { last_progress_event_at: at, progress_percentage: percentage } = said?.progress_log ?? {};
  return {
    last_progress_event_at: progress === null ? (at ?? isoTime(endedAt)) : isoTime(progress.at),
    progress_percentage: task.status === 'done' ? 100 : (progress?.percentage ?? percentage ?? 0),
  };
}

/** Room in a RESPONSE, in bytes, for what is added to the report; all of it is in the details file. */
const CLAIMS = 100 * 1024;
const CHECKPOINTS = 150 * 1024;
/** For the fields that are always there, with their longest texts. */
const OTHERS = 64 * 1024;

const sizeOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** As many claims as there is room for, those that do not hold first. */
function claimsWithin(claims: readonly Claim[]): readonly Claim[] {
  if (sizeOf(claims) <= CLAIMS) return claims;
  const isBad = ({ verdict }: Claim): boolean => verdict === 'contradicted';
  const [first, ...rest] = claims;
  const sorted = [first as Claim, ...rest.filter(isBad), ...rest.filter((claim) => !isBad(claim))];
  const told: Claim[] = [];
  let room = CLAIMS;
  for (const { what, verdict, detail } of sorted) {
    const claim = { what: shorten(what, 300), verdict, detail: shorten(detail, 300) };
    room -= sizeOf(claim);
    if (room < 0) break;
    told.push(claim);
  }
  const left = claims.length - told.length;
  return [...told, { what: `${left} more`, verdict: 'unverified', detail: 'they are in the details file' }];
}

function checkpointsWithin(results: readonly CheckpointResult[]): readonly CheckpointResult[] {
  if (sizeOf(results) <= CHECKPOINTS) return results;
  const cut = (chars: number): readonly CheckpointResult[] =>
    results.map(({ validation_output: output = '', evidence = [], notes, ...result }) => ({
      ...result,
      validation_output: shorten(output, chars),
      evidence: evidence.slice(0, 3).map((line) => shorten(line, chars)),
      ...(notes === undefined ? {} : { notes: shorten(notes, chars) }),
      extensions: { x_cut: 'all of it is in the details file' },
    }));
  const shorter = cut(100);
  return sizeOf(shorter) <= CHECKPOINTS ? shorter : shorter.slice(0, 100);
}

function statusWords({ task, failure, evidence }: RunFacts): string {
  const warned = evidence?.warnings?.[0]?.message;
  if (task.status === 'done') {
    if (evidence?.partial === true) return `Done in part (unverified): ${warned}`;
    if (evidence?.verdict === 'proven') return "Done (proven): Baton's checks passed.";
    return `Done, as the agent says (unverified): ${warned ?? "none of Baton's checks has looked at it"}.`;
  }
  if (failure !== null) return failure.message;
  const found = evidence?.findings[0];
  if (found !== undefined) return `Not accepted: ${found.message}`;
  if (task.status === 'review') return waitingWords(task, evidence);
  return task.cause?.message ?? `The task is ${task.status}.`;
}

const waitingWords = ({ cause }: Task, evidence: Evidence | null): string =>
  `Waits for a person (${evidence?.verdict ?? 'unverified'})${cause === null ? '.' : `: ${cause.message}`}`;

/** Of the metrics an agent tells, so many characters reach its parent; all are in the details. */
const MOST_METRICS = 200;

/** A block that Baton makes is shorter than any that an agent may write: there is less to be said in it. In characters, all of it. */
const MOST_MADE = 500;
const LEAST_MADE = 120;

/** The block that the parent gets: within the limit of its type of task, whatever the agent printed. */
export function blockOf(facts: RunFacts): string {
  const report = reportOf(facts);
  const type = taskTypeOfTask(facts.message);
  const common = { ...report, detailsFile: detailsFile(facts.folder) };
  // Baton's word: an agent's own metric of this name does not count.
  const verdict: Record<string, string> =
    facts.evidence?.verdict === undefined ? {} : { verdict: facts.evidence.verdict };
  if (facts.report !== null) {
    return aop1.fromReport({ ...common, metrics: { ...verdict, ...metricsWithin(report.metrics) } }, type).text;
  }
  const made = { ...common, metrics: { ...verdict, report: 'made by baton' } };
  const around = aop1.fromReport({ ...made, summary: '-' }, type).text.length;
  const room = Math.min(aop1.SUMMARY_CHARS[type], Math.max(LEAST_MADE, MOST_MADE - around));
  return aop1.fromReport({ ...made, summary: madeSummary(facts, report.outcome, room) }, type, room).text;
}

function metricsWithin(metrics: Report['metrics']): Record<string, string> {
  let room = MOST_METRICS;
  return Object.fromEntries(
    Object.entries(metrics).filter(([key, value]) => {
      if (key.toLowerCase() === 'verdict') return false;
      room -= key.length + value.length + 4;
      return room >= 0;
    }),
  );
}

/** What can be said of a run that has not reported: how it ended by the evidence, what it left, and its last words. Each stays on its line. */
function madeSummary(facts: RunFacts, outcome: Outcome, room: number): string {
  const head = `- ${shorten(headOf(facts, outcome), Math.floor(room * 0.45))}`;
  const counts = `- ${countsOf(facts)}`;
  const lines = [head, ...(head.length + counts.length < room ? [counts] : [])];
  const left = (): number => room - lines.join('\n').length - 1;
  const files = (facts.evidence?.artifacts ?? []).map(({ path }) => oneLine(path));
  if (files.length > 0 && left() > 40) lines.push(shorten(`- Files: ${files.join(', ')}`, Math.floor(left() / 2)));
  const words = oneLine(lastWords(facts.lastText, MOST_MADE));
  const most = left() - LAST_WORDS.length;
  if (words !== '' && most > 30) lines.push(`${LAST_WORDS}${lastOf(words, most)}`);
  return lines.join('\n');
}

const LAST_WORDS = '- Last words: ';

function headOf({ failure, evidence, task }: RunFacts, outcome: Outcome): string {
  if (failure !== null) return oneLine(`Failed: ${failure.message} (${failure.code})`);
  const found = evidence?.findings ?? [];
  if (found.length > 0) return oneLine(`Not accepted: ${found.map(({ message }) => message).join('; ')}`);
  const warned = evidence?.warnings ?? [];
  if (warned.length > 0) return oneLine(`Found: ${warned.map(({ message }) => message).join('; ')}`);
  return outcome === 'done' ? 'Done; the agent gave no report.' : `The agent ended without a report; ${task.status}.`;
}

function countsOf({ bytes, evidence, checkpoints, report }: RunFacts): string {
  const artifacts = evidence?.artifacts ?? [];
  const of = (status: string): number => artifacts.filter((artifact) => artifact.status === status).length;
  const passed = checkpoints.filter(({ status }) => status === 'PASS' || status === 'RECOVERED').length;
  const tests = report?.tests ?? null;
  return [
    `Printed ${bytes} bytes`,
    ...(['CREATED', 'UPDATED', 'DELETED'] as const)
      .filter((status) => of(status) > 0)
      .map((status) => `${of(status)} ${status.toLowerCase()}`),
    ...(checkpoints.length === 0 ? [] : [`${passed} of ${checkpoints.length} checkpoints passed`]),
    ...(tests === null ? [] : [`${tests.passed} of ${tests.total} tests passed`]),
  ].join(', ');
}

const oneLine = (text: string): string => stripControls(text.replace(/\s+/g, ' ')).trim();

/** The details file in the form of the output protocol, the file of its type of task, and the RESPONSE and the block beside them. */
export async function writeResults(facts: RunFacts, response: Response, block: string): Promise<void> {
  const { folder, evidence, chosen, run, task, message } = facts;
  const report = reportOf(facts);
  const type = taskTypeOfTask(message);
  const claims = evidence?.claims ?? [];
  // The diff is made while its workspace is as it left it: not at all where it never came to that.
  const typeFile = type === 'code' && facts.place === undefined ? null : typeFileOf(type);
  // It is there but for a run that never came to work.
  if (!existsSync(folder)) await mkdir(folder, { recursive: true });
  const details = async (): Promise<void> => {
    const own = await ownDetails(folder);
    const found = own === null || type !== 'search' ? [] : filesFoundIn(own.value);
    await writeDetails(
      folder,
      {
        agent_id: `${chosen.name}-${run.id}`,
        task: shorten(report.task ?? task.title, 200),
        timestamp: isoTime(facts.startedAt),
        duration_ms: Math.max(0, facts.endedAt - facts.startedAt),
        results: {
          report,
          claims,
          artifacts: report.artifacts,
          ...(type === 'search' ? { files_found: [...filesNamed(facts), ...found] } : {}),
          said: facts.report?.detailsFile ?? null,
          ...(facts.said == null ? {} : { agent_response: facts.said }),
          last_statement: facts.lastText,
          ...(own === null ? {} : { agent_details: own.value ?? own.path }),
          files: [
            ...(typeFile === null ? [] : [{ type, path: join(folder, typeFile) }]),
            ...['out.log', 'err.log'].map((name) => ({ type: 'log', path: join(folder, name) })),
            { type: 'response', path: join(folder, 'response.json') },
          ],
          log: { stdout: join(folder, 'out.log'), stderr: join(folder, 'err.log'), bytes: facts.bytes },
        },
        metadata: { ...report.metrics, run: run.id, status: task.status, task_type: type },
      },
      facts.bytes === 0,
    );
  };
  await Promise.all([
    details(),
    writeFile(join(folder, 'response.json'), `${JSON.stringify(response, null, 2)}\n`),
    writeFile(join(folder, 'block.txt'), block),
    ...(typeFile === null
      ? []
      : [
          writeTypeFile({
            ...{ type, folder, report, claims, lastText: facts.lastText, isPlain: facts.place?.isPlain === true },
            title: task.title,
            status: task.status,
            said: facts.report?.summary ?? null,
            workspace: facts.place?.workspace ?? message.task.environment.workspace_root,
          }),
        ]),
  ]);
}

/** What a search says it has found, as its report has it. */
function filesNamed({ report, evidence }: RunFacts): object[] {
  const named = new Map((report?.artifacts ?? []).map((artifact) => [artifact.path, artifact]));
  for (const artifact of evidence?.artifacts ?? []) named.set(artifact.path, artifact);
  return [...named.values()].map(({ path, type, status, sizeBytes }) => ({
    path,
    type,
    status,
    size_bytes: sizeBytes,
  }));
}
