/** What an agent claims against what is there: each claim ends proven, contradicted or unverified. */
import { BatonError, type ErrorCode } from '../../core/errors.ts';
import type { Artifact, Report } from '../../core/report.ts';
import type { Verdict } from '../../core/task.ts';
import { isBelow } from '../../process/files.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { compare, type Look, lookAt } from '../../workspace/artifacts.ts';
import { resolveIn } from '../../workspace/paths.ts';
import { checksOf } from '../tasks/order.ts';
import type { Check, Checker } from './checks.ts';

export type Seen = Awaited<ReturnType<typeof lookAt>>;

export interface Claim {
  readonly what: string;
  readonly verdict: 'proven' | 'contradicted' | 'unverified';
  readonly detail: string;
}

export interface Finding {
  readonly code: ErrorCode;
  readonly message: string;
}

export interface Evidence {
  readonly claims: readonly Claim[];
  readonly artifacts: readonly Artifact[];
  /** What stands against "done"; empty where everything is proven. */
  readonly findings: readonly Finding[];
  /** Absent in what 0.1.0 wrote down. */
  readonly verdict?: Verdict;
}

interface Question {
  readonly message: TaskMessage;
  readonly workspace: string;
  readonly report: Report;
  /** The expected outputs as they were before the run. */
  readonly before: Seen;
  readonly checker: Checker;
  /** How each checkpoint ended, by its id; a failure that its strategy forgives is no finding. */
  readonly checkpoints: ReadonlyMap<
    string,
    { readonly status: string; readonly finding: string; readonly forgiven: boolean }
  >;
  /** Inputs that must not change, with their hash before. */
  readonly inputs: readonly { readonly path: string; readonly readOnly: boolean; readonly hash: string | null }[];
  /** What is left out where a folder is looked at. */
  readonly apart: readonly string[];
  /** Where the agent may have made something; what it claims of other places is not looked at. */
  readonly roots: readonly string[];
  /** Files that changed though they may not be written. */
  readonly trespasses: readonly { readonly path: string; readonly status: string }[];
}

export async function weigh(question: Question): Promise<Evidence> {
  const { message, report, checker, checkpoints, trespasses } = question;
  const claims: Claim[] = [];
  const findings: Finding[] = [];
  const contradict = (what: string, detail: string): void => {
    claims.push({ what, verdict: 'contradicted', detail });
    findings.push({ code: 'E_EVIDENCE', message: detail });
  };
  const changed: Finding[] = [];
  // Before our own checks, which may write beside what they read.
  for (const { path, readOnly, hash } of question.inputs) {
    if (!readOnly || hash === null) continue;
    const now = (await lookAt([path], question.apart)).get(path);
    if (now?.hash === hash) continue;
    changed.push({
      code: 'E_PERMISSION_DENIED',
      message: `the input ${path} is read-only, and it was ${now?.exists ? 'changed' : 'removed'}`,
    });
  }
  for (const expected of message.task.expected_outputs ?? []) {
    const check = await checker.output(expected);
    if (check.passed) claims.push({ what: `output ${expected.path}`, verdict: 'proven', detail: lines(check) });
    else contradict(`output ${expected.path}`, check.finding);
  }
  for (const [id, { status, finding, forgiven }] of checkpoints) {
    if (status === 'PASS' || status === 'RECOVERED') {
      claims.push({ what: `checkpoint ${id}`, verdict: 'proven', detail: status });
    } else if (forgiven) claims.push({ what: `checkpoint ${id}`, verdict: 'unverified', detail: finding });
    else contradict(`checkpoint ${id}`, `${id}: ${finding}`);
  }
  for (const check of checksOf(message)) {
    const seen = await checker.ofTask(check);
    const what = `check ${check.name}`;
    if (seen.passed) claims.push({ what, verdict: 'proven', detail: lines(seen) });
    else contradict(what, withLastLines(seen));
  }
  const seenByBaton = claims.filter(({ what, verdict }) => verdict === 'proven' && !isOnlySaid(message, what)).length;
  const artifacts = await artifactsOf(question);
  await weighArtifacts(question, contradict, claims);
  for (const { id, status } of report.checkpoints) {
    const seen = checkpoints.get(id);
    if (seen === undefined)
      claims.push({ what: `checkpoint ${id}`, verdict: 'unverified', detail: 'the task has no such checkpoint' });
    else if (status === 'PASS' && seen.status === 'FAIL') {
      claims.push({ what: `says that ${id} passed`, verdict: 'contradicted', detail: seen.finding });
    }
  }
  if (report.tests !== null) {
    const { passed, failed, total } = report.tests;
    claims.push({
      what: `tests ${passed}/${total}`,
      verdict: 'unverified',
      detail: failed > 0 ? `${failed} failed` : 'not run by us',
    });
  }
  for (const criterion of criteriaOf(message)) {
    claims.push({
      what: `criterion: ${criterion}`,
      verdict: 'unverified',
      detail: 'for whoever handed it on to look at',
    });
  }
  findings.push(...changed);
  if (trespasses.length > 0) {
    const shown = trespasses.slice(0, 10).map(({ path, status }) => `${path} (${status.toLowerCase()})`);
    const more = trespasses.length > shown.length ? ` and ${trespasses.length - shown.length} more` : '';
    findings.push({
      code: 'E_PERMISSION_DENIED',
      message: `files outside the write paths changed during the run: ${shown.join(', ')}${more}`,
    });
  }
  const isContradicted = findings.length > 0 || claims.some(({ verdict }) => verdict === 'contradicted');
  claims.unshift(verdictOn(report, claims, findings));
  const verdict = isContradicted ? 'contradicted' : seenByBaton > 0 ? 'proven' : 'unverified';
  return { claims, artifacts, findings, verdict };
}

/** A checkpoint that names nothing to look at proves nothing. */
function isOnlySaid(message: TaskMessage, what: string): boolean {
  const checkpoints = (message.phases ?? []).flatMap((phase) => phase.checkpoints ?? []);
  const of = checkpoints.find(({ checkpoint_id: id }) => what === `checkpoint ${id}`);
  if (of === undefined) return false;
  const { validation, expected_artifacts: artifacts = [] } = of;
  return validation?.command === undefined && validation?.expects === undefined && artifacts.length === 0;
}

const LAST_LINES = 5;

/** The finding, and the end of what the check printed. */
function withLastLines({ finding, output }: Check): string {
  const last = output.trimEnd().split('\n').slice(-LAST_LINES).join('\n').trim();
  return last === '' ? finding : `${finding}\n${last}`;
}

/** What a handoff asks for in words; no program can look at these. */
function criteriaOf({ task }: TaskMessage): string[] {
  const said = task.extensions?.['x_acceptance_criteria'];
  return Array.isArray(said) ? said.filter((item) => typeof item === 'string') : [];
}

const NOTHING_THERE: Look = { hash: null, sizeBytes: 0, exists: false, isFolder: false, isLink: false };

const lines = ({ evidence }: Check): string => evidence.join('; ');

function verdictOn(report: Report, claims: readonly Claim[], findings: readonly Finding[]): Claim {
  const what = `outcome ${report.outcome}`;
  if (findings.length > 0) return { what, verdict: 'contradicted', detail: findings[0]?.message ?? '' };
  const proven = claims.filter(({ verdict }) => verdict === 'proven').length;
  return proven > 0
    ? { what, verdict: 'proven', detail: `${proven} of ${claims.length} claims proven` }
    : { what, verdict: 'unverified', detail: 'the task asks for nothing that could be checked' };
}

/** What is at a path that an agent speaks of. Null where it is none of ours to look at; a path that leads nowhere has nothing. */
async function lookAtClaimed({ workspace, roots, apart }: Question, path: string): Promise<Look | null> {
  let real: string;
  try {
    real = await resolveIn(workspace, path);
  } catch (cause) {
    // No path at all, or a circle of links: nothing can be shown to be there.
    if (cause instanceof BatonError) return NOTHING_THERE;
    throw cause;
  }
  return isBelow(real, roots) ? ((await lookAt([real], apart)).get(real) ?? NOTHING_THERE) : null;
}

/** Every claimed artifact is there, and has the hash that is claimed. */
async function weighArtifacts(
  question: Question,
  contradict: (what: string, detail: string) => void,
  claims: Claim[],
): Promise<void> {
  for (const { path, hash, status } of question.report.artifacts) {
    const seen = await lookAtClaimed(question, path);
    const what = `artifact ${path}`;
    if (seen === null)
      claims.push({ what, verdict: 'unverified', detail: 'it is outside of where the task may write' });
    else if (status === 'DELETED') {
      if (seen.exists) contradict(what, `${path} is said to be deleted, and it is there`);
      else claims.push({ what, verdict: 'proven', detail: 'not there any more' });
    } else if (!seen.exists) contradict(what, `${path} is said to be made, and it is not there`);
    else if (hash === null) claims.push({ what, verdict: 'proven', detail: 'it is there' });
    else if (!/^(?:sha256:)?[^:]*$/i.test(hash))
      claims.push({ what, verdict: 'unverified', detail: `a hash of another kind: ${hash}` });
    else if (`sha256:${hash.replace(/^sha256:/i, '').toLowerCase()}` === seen.hash)
      claims.push({ what, verdict: 'proven', detail: seen.hash });
    else contradict(what, `${path} is said to have the hash ${hash}, and it has ${seen.hash ?? 'none'}`);
  }
}

/** What the run made of the outputs that were expected, and of those it speaks of, with our own hashes. */
async function artifactsOf(question: Question): Promise<Artifact[]> {
  const { message, report, workspace, before } = question;
  const artifacts: Artifact[] = [];
  const tell = (path: string, type: string | null, status: Artifact['status'], seen: Look | undefined): void => {
    if (!seen?.exists && status !== 'DELETED') return;
    artifacts.push({ path, type, hash: seen?.hash ?? null, status, sizeBytes: seen?.exists ? seen.sizeBytes : null });
  };
  const known = new Set<string>();
  for (const { path, type = null } of message.task.expected_outputs ?? []) {
    const real = await resolveIn(workspace, path);
    const seen = (await lookAt([real])).get(real);
    known.add(path);
    tell(path, type, compare(before.get(real), seen), seen);
  }
  for (const { path, type, status } of report.artifacts) {
    if (known.has(path)) continue;
    known.add(path);
    const seen = await lookAtClaimed(question, path);
    if (seen !== null) tell(path, type, status, seen);
  }
  return artifacts;
}

/** The paths to look at before a run, so that it can be told afterwards what became of them. */
export async function lookBefore(message: TaskMessage, workspace: string): Promise<Seen> {
  const paths: string[] = [];
  for (const { path } of message.task.expected_outputs ?? []) paths.push(await resolveIn(workspace, path));
  return lookAt(paths);
}
