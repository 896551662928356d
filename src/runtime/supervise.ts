/** A run at work, from the first snapshot to the last look at the evidence. What came of it is returned; the store is told elsewhere. */
import { isRunning } from '../core/task.ts';
import type { FileWatch } from '../workspace/file-changes.ts';
import { type LookForDamage, watchForDamage } from './access/damage.ts';
import { agentActor } from './actor.ts';
import { type Attempt, openAttempt } from './attempt.ts';
import { recordClaim } from './claims.ts';
import { lookBefore, type Seen } from './evidence/artifacts.ts';
import { checksFor } from './evidence/checks-for.ts';
import type { Evidence, Finding } from './evidence/claim.ts';
import { earlierChanges, isEarlierKnown, recordChanges, watchRun } from './evidence/run-changes.ts';
import { weigh } from './evidence/weigh.ts';
import type { Heard } from './hearing.ts';
import { type Phased, workThroughPhases } from './phase-work.ts';
import { askForRepair } from './repair.ts';
import { tellOfReport } from './response/report-findings.ts';
import { errorIn, responseIn } from './response/said.ts';
import { snapshotTask } from './rollback.ts';
import { UNREADABLE, writtenResult } from './run-result.ts';
import type { Stop } from './stop.ts';
import { type Failure, failureOf, type Supervision, silentReport, type Work } from './work.ts';

export async function supervise(given: Supervision): Promise<Work> {
  const attempt = await openAttempt(given);
  try {
    const done = await work(given, attempt);
    return { ...done, graph: attempt.hearing.graph, chars: attempt.log.chars };
  } finally {
    await attempt.close();
  }
}

type Worked = Omit<Work, 'chars' | 'graph'>;
type Judged = Omit<Worked, 'repeats'>;

async function work(given: Supervision, attempt: Attempt): Promise<Worked> {
  const { host, task, prepared } = given;
  const { message, chosen, ready } = prepared;
  tellWhatHolds(given, attempt);
  // Nothing has been changed so far; from here on there is something to go back to.
  await snapshotTask(host.dir, task.id, message, ready);
  const before: Before = {
    outputs: await lookBefore(message, ready.workspace),
    lookForDamage: await watchForDamage(given),
    watch: await watchRun(prepared, host.dir),
  };

  attempt.startClocks();
  const phased = await workThroughPhases({ ...given, ...attempt, adapter: chosen.adapter });
  return { ...(await judged(given, attempt, phased, before)), repeats: phased.repeats };
}

/** The workspace before the agent works, as far as it is compared afterwards. */
interface Before {
  readonly outputs: Seen;
  readonly lookForDamage: LookForDamage;
  readonly watch: FileWatch | null;
}

/** What the agent has said and done is taken together, and looked at. */
async function judged(
  given: Supervision,
  attempt: Attempt,
  phased: Phased,
  { outputs, lookForDamage, watch }: Before,
): Promise<Judged> {
  const { host, task, run, facts, live, prepared } = given;
  const { message, chosen, ready, estimate } = prepared;
  const { stopper, hearing, meter, warnings } = attempt;
  const lastText = attempt.lastText();
  if (mayRepair(phased)) await askForRepair(given, attempt);
  attempt.stopClocks();
  const changes = await recordChanges(watch, facts);
  warnings.push(...notesOf(attempt));

  const model = live.model ?? chosen.model;
  // From this record on nothing more is heard of the run; what was written before it, by others too, is.
  facts.tell('run.usage', { ...meter.used, agent: chosen.name, model, provider: chosen.provider, last: true });
  await facts.written();
  await host.watch.caughtUp();
  hearing.close();
  // What came by the journal meanwhile says what it cost, too.
  if (attempt.chargeClaim()) {
    facts.tell('run.usage', { ...meter.used, agent: chosen.name, model, provider: chosen.provider, last: true });
  }
  const heard = hearing.heard ?? (await written(given));
  warnings.push(...tellOfReport(facts, heard, [ready.workspace, attempt.details]));
  const told: Work['told'] = {
    chosen: { name: chosen.name, provider: chosen.provider, model },
    report: heard?.report ?? null,
    // What it said of its work, not how it was asked for its report.
    lastText: lastText || attempt.lastText(),
    evidence: null,
    checkpoints: phased.results,
    used: meter.used,
    estimatedUsd: estimate?.usd ?? null,
    failure: null,
    warnings,
    bytes: attempt.log.bytes,
    said: responseIn(heard?.message ?? null),
    error: errorIn(heard?.message ?? null),
  };
  const damage = await damageDone(given, lookForDamage);
  if (stopper.reason !== null) return stopped(told, stopper.reason, damage);
  if (phased.failure !== null) return failed(told, phased.failure, damage, phased.abort ? 'aborted' : 'failed');
  if (hearing.malformed !== null && heard === hearing.heard) return failed(told, hearing.malformed, damage);
  if (heard !== null && heard.missing.length > 0) {
    const text = `the guard rails of its TASK require ${heard.missing.join(', ')} in the RESPONSE`;
    // One that says why it failed has said what matters.
    if (told.error != null && heard.report.outcome === 'failed') warnings.push(`E_MALFORMED_RESPONSE: ${text}`);
    else return failed(told, { code: 'E_MALFORMED_RESPONSE', message: text }, damage);
  }

  live.update({ state: 'checking' });
  const history = await host.store.history(task.id);
  let evidence: Evidence;
  try {
    evidence = await weigh({
      message,
      workspace: ready.workspace,
      report: heard?.report ?? silentReport(told.lastText),
      before: outputs,
      checker: attempt.checker,
      checks: checksFor(host.config, message, ready),
      checkpoints: phased.checkpoints,
      apart: ready.apart,
      roots: [ready.workspace, ...ready.writePaths],
      damage,
      changes,
      earlier: earlierChanges(history, run.id),
      isEarlierKnown: isEarlierKnown(history),
      mayWrite: ready.writePaths.length > 0,
    });
  } catch (cause) {
    // What it has used and said is known, whatever keeps us from looking.
    return failed(told, failureOf(cause), damage);
  }
  facts.tell('run.evidence', { ...evidence });
  // Somebody may have taken the task away meanwhile.
  const late: Stop | null = stopper.reason;
  return late === null ? { verdict: 'reported', told: { ...told, evidence } } : stopped(told, late, damage);
}

/** Nothing that the agent could say makes up for a failure, or for a phase that has not passed. */
const mayRepair = ({ failure, checkpoints }: Phased): boolean =>
  failure === null && [...checkpoints.values()].every(({ status, forgiven }) => status !== 'FAIL' || forgiven);

/** An agent that says nothing may have written its result down. */
async function written({ host, task, run, facts }: Supervision): Promise<Heard | null> {
  const found = await writtenResult(host, task, run);
  if (found === 'unreadable') facts.tell('protocol.message.rejected', { reason: UNREADABLE });
  if (found === null || found === 'unreadable') return null;
  const { report, message } = found;
  const sender = { channel: 'file', run: run.id, agent: run.agent, actor: agentActor(run.agent) } as const;
  const now = await host.store.find(task.id);
  if (now?.run?.id === run.id && isRunning(now)) await recordClaim(host, { message, sender }, now, report);
  return { report, dialect: 'aof', missing: [], message };
}

const stopped = (told: Work['told'], { code, message, kind }: Stop, damage: readonly Finding[]): Judged =>
  failed(told, { code, message }, damage, kind);

/** Whatever else went wrong: what it damaged is named with it. */
const failed = (
  told: Work['told'],
  { code, message }: Failure,
  damage: readonly Finding[],
  verdict: Work['verdict'] = 'failed',
): Judged => ({
  verdict,
  told: { ...told, failure: { code, message: [message, ...damage.map((found) => found.message)].join('; and ') } },
});

/** Recorded however the run ends. */
async function damageDone({ facts, host, task }: Supervision, look: LookForDamage): Promise<readonly Finding[]> {
  try {
    const damage = await look();
    if (damage.length > 0) facts.tell('run.damaged', { findings: damage.map(({ message }) => message) });
    return damage;
  } catch (cause) {
    const { message } = failureOf(cause);
    host.warn(`${task.id}: what its run changed could not be compared: ${message}`);
    return [{ code: 'E_PERMISSION_DENIED', message: `what may not be written could not be compared: ${message}` }];
  }
}

/** The run's record says what is enforced and by what, and what is not. */
function tellWhatHolds({ facts, prepared }: Supervision, { surroundings }: Attempt): void {
  const { estimate } = prepared;
  const { missing, ...enforced } = surroundings.enforced;
  facts.tell('run.enforced', {
    ...enforced,
    budget: hasBudget(prepared),
    missing: [...missing, ...budgetNotHeld(prepared, surroundings.isMetered)],
  });
  if (estimate !== null) facts.tell('run.estimate', { ...estimate });
}

const hasBudget = ({ budget, limit }: Supervision['prepared']): boolean =>
  budget.maxCostUsd !== null || budget.maxTokens !== null || limit !== null;

/** What of the budget cannot be held while the agent works, and why. */
function budgetNotHeld({ chosen, budget, limit, price }: Supervision['prepared'], isMetered: boolean): string[] {
  const { usage, kind, streamsDollars } = chosen.adapter;
  const isInDollars = budget.maxCostUsd !== null || limit !== null;
  if (!isInDollars && budget.maxTokens === null) return [];
  if (usage === 'never') return [`budget: an agent of kind ${kind} does not tell what it uses`];
  if (usage !== 'streamed' && !isMetered) return ['budget while it works: its use is known only after each turn'];
  if (isInDollars && price === null && !streamsDollars) {
    return [
      'budget in dollars while it works: no price is known for its model; its dollars are known only after each turn',
    ];
  }
  return [];
}

const notesOf = ({ surroundings, hearing }: Attempt): string[] => [
  ...surroundings.refusedHosts().map((name) => `E_PERMISSION_DENIED: the network did not let through ${name}`),
  ...hearing.refused.map(({ kind, reason }) => `not heard: ${kind}: ${reason}`),
];
