/**
 * What an agent claims against what is there. Each claim ends proven, contradicted or unverified, and so does the run:
 *
 * - contradicted: one of Baton's checks failed, or a structured claim (an artifact, its hash or size, a checkpoint's result) is false;
 * - proven: at least one of Baton's checks passed, none failed, and the run changed none of them;
 * - unverified: all else.
 */
import type { Artifact, Report } from '../../core/report.ts';
import type { Verdict } from '../../core/task.ts';
import type { TaskMessage } from '../../protocol/aop2/schema.ts';
import { compare, lookAt } from '../../workspace/artifacts.ts';
import type { FileChange, FileChanges } from '../../workspace/file-changes.ts';
import { resolveIn } from '../../workspace/paths.ts';
import type { TaskCheck } from '../tasks/order.ts';
import { artifactsOf, OUTSIDE, type Places, type Seen, weighArtifacts } from './artifacts.ts';
import { changedCheckFiles } from './check-files.ts';
import type { Check, Checker } from './checks.ts';
import type { Claim, Evidence, Finding } from './claim.ts';
import { claimedChanges } from './claimed-changes.ts';

/** How a checkpoint ended. */
export interface CheckpointState {
  readonly status: string;
  readonly finding: string;
  /** It failed, and its strategy says to go on. */
  readonly forgiven: boolean;
  /** False for one that names nothing that could be checked. */
  readonly looked: boolean;
}

interface Question extends Omit<Places, 'isOurs'> {
  readonly message: TaskMessage;
  readonly report: Report;
  /** The expected outputs as they were before the run. */
  readonly before: Seen;
  readonly checker: Checker;
  /** The commands that have to exit with 0: the task's own, and those of config. */
  readonly checks: readonly TaskCheck[];
  readonly checkpoints: ReadonlyMap<string, CheckpointState>;
  /** What changed though it may not be written; found before our own checks, which may write beside what they read. */
  readonly damage: readonly Finding[];
  /** What this run changed in the workspace; null where that is not known. */
  readonly changes: FileChanges | null;
  /** What earlier runs of the task changed. */
  readonly earlier: readonly FileChange[];
  /** False where an earlier run may have changed more: its Baton died. */
  readonly isEarlierKnown: boolean;
  /** False for a task that may not write: its words are about the work of others. */
  readonly mayWrite: boolean;
}

interface Weighed {
  readonly claims: Claim[];
  readonly findings: Finding[];
  readonly warnings: Finding[];
  /** How many of Baton's own checks passed. */
  passed: number;
  /** The commands that Baton ran. */
  readonly commands: string[];
}

export async function weigh(question: Question): Promise<Evidence> {
  const { message, report, before } = question;
  const weighed: Weighed = { claims: [], findings: [], warnings: [], passed: 0, commands: [] };
  const places: Places = { ...question, isOurs: (real) => isOurs(question, real) };
  await weighOutputs(question, weighed);
  const isPartial = weighCheckpoints(question, weighed);
  for (const check of question.checks) await weighCheck(question.checker, check, weighed);
  const artifacts = await artifactsOf(places, message, report, before);
  for (const claim of await weighArtifacts(places, report)) {
    put(weighed, claim);
    const message = `the agent says that it made ${claim.what.replace(/^artifact /, '')}; ${OUTSIDE}`;
    if (claim.detail === OUTSIDE) weighed.warnings.push({ code: 'E_PERMISSION_DENIED', message });
  }
  weighWords(question, weighed);
  weighed.findings.push(...question.damage);
  const isChanged = await weighCheckFiles(question, weighed);
  weighChanges(question, artifacts, weighed);
  const { claims, findings, warnings } = weighed;
  const verdict: Verdict =
    findings.length > 0 ? 'contradicted' : weighed.passed > 0 && !isPartial && !isChanged ? 'proven' : 'unverified';
  return {
    claims: [outcomeClaim(report, verdict, weighed), ...claims],
    artifacts,
    findings,
    warnings,
    ...(isPartial ? { partial: true } : {}),
    verdict,
  };
}

/** A false claim is a finding. */
function put({ claims, findings }: Weighed, claim: Claim): void {
  claims.push(claim);
  if (claim.verdict === 'contradicted') findings.push({ code: 'E_EVIDENCE', message: claim.detail });
}

/** An output that was there before, that no run of the task changed and that no command checks, shows nothing about the work. */
async function weighOutputs(question: Question, weighed: Weighed): Promise<void> {
  const { message, checker, workspace, before } = question;
  for (const expected of message.task.expected_outputs ?? []) {
    const check = await checker.output(expected);
    const what = `output ${expected.path}`;
    const real = await resolveIn(workspace, expected.path);
    const isOld =
      check.command === null &&
      question.isEarlierKnown &&
      compare(before.get(real), (await lookAt([real])).get(real)) === 'UNCHANGED' &&
      !wasChanged(question.earlier, workspace, real);
    if (!check.passed) put(weighed, { what, verdict: 'contradicted', detail: check.finding });
    else if (isOld) put(weighed, { what, verdict: 'unverified', detail: 'it was there before, and is unchanged' });
    else passed(weighed, what, check);
  }
}

function passed(weighed: Weighed, what: string, { evidence, command }: Pick<Check, 'evidence' | 'command'>): void {
  weighed.claims.push({ what, verdict: 'proven', detail: evidence.join('; ') });
  weighed.passed += 1;
  if (command !== null) weighed.commands.push(command);
}

/** Returns whether one failed that its strategy forgives. */
function weighCheckpoints({ checkpoints, message, report }: Question, weighed: Weighed): boolean {
  let isPartial = false;
  const all = (message.phases ?? []).flatMap((phase) => phase.checkpoints ?? []);
  for (const [id, { status, finding, forgiven, looked }] of checkpoints) {
    const what = `checkpoint ${id}`;
    if (!looked) put(weighed, { what, verdict: 'unverified', detail: NOTHING_TO_LOOK_AT });
    else if (isGood(status)) {
      const command = all.find(({ checkpoint_id: of }) => of === id)?.validation?.command ?? null;
      passed(weighed, what, { evidence: [status], command });
    } else if (forgiven) {
      isPartial = true;
      weighed.claims.push({ what, verdict: 'unverified', detail: finding });
      const text = `checkpoint ${id} failed, and its recovery strategy says to go on: ${finding}`;
      weighed.warnings.push({ code: 'E_EVIDENCE', message: text });
    } else put(weighed, { what, verdict: 'contradicted', detail: `${id}: ${finding}` });
  }
  for (const { id, status } of report.checkpoints) {
    const seen = checkpoints.get(id);
    if (status !== 'PASS' || seen === undefined || !seen.looked || isGood(seen.status)) continue;
    const detail = `the agent says that checkpoint ${id} passed, and it failed: ${seen.finding}`;
    put(weighed, { what: `says that ${id} passed`, verdict: 'contradicted', detail });
  }
  return isPartial;
}

const isGood = (status: string): boolean => status === 'PASS' || status === 'RECOVERED';

export const NOTHING_TO_LOOK_AT = 'not checked: it names no command and no file';

async function weighCheck(checker: Checker, check: TaskCheck, weighed: Weighed): Promise<void> {
  const seen = await checker.ofTask(check);
  const what = `check ${check.name}`;
  if (seen.passed) passed(weighed, what, seen);
  else put(weighed, { what, verdict: 'contradicted', detail: seen.finding });
}

/** What no program can look at. */
function weighWords({ message, report, checkpoints }: Question, { claims }: Weighed): void {
  const unverified = (what: string, detail: string): void => {
    claims.push({ what, verdict: 'unverified', detail });
  };
  const known = (message.phases ?? []).flatMap((phase) => phase.checkpoints ?? []);
  for (const { id } of report.checkpoints) {
    if (checkpoints.has(id)) continue;
    const isKnown = known.some(({ checkpoint_id: of }) => of === id);
    unverified(`checkpoint ${id}`, isKnown ? 'it was not reached' : 'the task has no such checkpoint');
  }
  if (report.tests !== null) {
    const { passed: count, failed, total } = report.tests;
    unverified(`tests ${count}/${total}`, failed > 0 ? `${failed} failed` : 'not run by us');
  }
  for (const criterion of criteriaOf(message))
    unverified(`criterion: ${criterion}`, 'for the agent that handed it on to look at');
}

/** What a handoff asks for in words. */
function criteriaOf({ task }: TaskMessage): string[] {
  const said = task.extensions?.['x_acceptance_criteria'];
  return Array.isArray(said) ? said.filter((item) => typeof item === 'string') : [];
}

const MOST_SHOWN = 10;

/** The first of a list, and how many more there are. */
const shown = (list: readonly string[]): string =>
  `${list.slice(0, MOST_SHOWN).join(', ')}${list.length > MOST_SHOWN ? ` and ${list.length - MOST_SHOWN} more` : ''}`;

/** Returns whether the run changed what one of the checks runs: then the check is the agent's, and proves nothing. */
async function weighCheckFiles(question: Question, { commands, claims, warnings }: Weighed): Promise<boolean> {
  const { workspace, earlier, message } = question;
  const outputs = (message.task.expected_outputs ?? []).map(({ path }) => belowOf(workspace, path));
  const changes = [...(question.changes?.list ?? []), ...earlier];
  const files = new Set<string>();
  for (const command of commands)
    for (const path of await changedCheckFiles(command, changes, workspace, outputs)) files.add(path);
  if (files.size === 0) return false;
  const paths = shown([...files]);
  const detail = `the run changed files that its own checks run: ${paths}; these checks prove nothing`;
  claims.push({ what: 'checks', verdict: 'unverified', detail });
  warnings.push({ code: 'E_CHECK_CHANGED', message: detail });
  return true;
}

/** An agent that says it changed files, in a run that changed none. It may have done so in an earlier run. */
function weighChanges(
  { changes, earlier, isEarlierKnown, report, mayWrite }: Question,
  artifacts: readonly Artifact[],
  { claims, warnings }: Weighed,
): void {
  if (
    changes === null ||
    !isEarlierKnown ||
    changes.list.length > 0 ||
    earlier.length > 0 ||
    report.outcome === 'failed'
  )
    return;
  // Of a file that git ignores it is not known whether the run made it.
  if (artifacts.some(({ path, hash }) => hash !== null && !changes.isWatched(path))) return;
  const said = claimedChanges(report, mayWrite);
  if (said === null) return;
  const detail = `the agent says that it changed files (${said}), and the run changed none`;
  claims.push({ what: 'changes', verdict: 'unverified', detail });
  warnings.push({ code: 'E_NO_CHANGE', message: detail });
}

const belowOf = (workspace: string, path: string): string =>
  (path.startsWith(`${workspace}/`) ? path.slice(workspace.length + 1) : path).replace(/^(?:\.\/)+/, '');

const wasChanged = (changes: readonly FileChange[], workspace: string, real: string): boolean => {
  const below = belowOf(workspace, real);
  return changes.some(({ path }) => path === below || path.startsWith(`${below}/`));
};

/** Whether a run of the task changed a file; null where it is not known, as for a file that git ignores. */
function isOurs({ changes, earlier, isEarlierKnown, workspace }: Question, real: string): boolean | null {
  if (changes === null) return null;
  if (wasChanged([...changes.list, ...earlier], workspace, real)) return true;
  return isEarlierKnown && changes.isWatched(belowOf(workspace, real)) ? false : null;
}

function outcomeClaim(report: Report, verdict: Verdict, { claims, findings, warnings, passed: count }: Weighed): Claim {
  const what = `outcome ${report.outcome}`;
  const detail =
    verdict === 'contradicted'
      ? (findings[0]?.message ?? '')
      : verdict === 'proven'
        ? `${claims.filter((claim) => claim.verdict === 'proven').length} of ${claims.length} claims proven`
        : (warnings[0]?.message ?? (count > 0 ? 'nothing that was checked' : "none of Baton's checks looked at it"));
  return { what, verdict, detail };
}
