/**
 * The verdict on a run that reported and whose supervisor died before it was judged. What was written down of the evidence holds; what was not
 * is looked at now, as far as it can be: the expected outputs and the checkpoints. What was there before the run nobody knows any more.
 */
import { isApplied } from '../../core/laws/held-graph.ts';
import type { StoredRecord } from '../../core/store.ts';
import type { Run, Task } from '../../core/task.ts';
import { RUNTIME } from '../actor.ts';
import { envelopeOf } from '../envelope.ts';
import { createFacts } from '../facts.ts';
import { takeBack } from '../graph-report.ts';
import { knownAnew } from '../graph-settle.ts';
import { applyHeldBack, holdBack } from '../held-graph.ts';
import type { Host } from '../host.ts';
import { saidBy } from '../logged-graph.ts';
import { committed } from '../routed.ts';
import { doAgain } from '../settle.ts';
import { isSupervisorGone } from '../supervisors.ts';
import { inLinked, mergeLinked } from '../worktrees/linked.ts';
import { mergeWork } from '../worktrees/merge-work.ts';
import { reopenPlace } from '../worktrees/run-place.ts';
import { takeRun, whyUntaken } from '../worktrees/take-run.ts';
import { type Found, lookAgain } from './look-again.ts';

/** Judges a claim that has no verdict yet. Returns the names of the events that it recorded; none where nothing was to be judged. */
export async function finishVerdict(host: Host, task: Task): Promise<readonly string[]> {
  const { run } = task;
  if (task.status !== 'review' || task.cause !== null || run === null || run.status !== 'completed') return [];
  if (task.verdict !== null) return [];
  const history = await host.store.history(task.id);
  // While its supervisor lives, that one judges it; but a claim that came after its verdict was not the supervisor's to judge.
  const isFirst = !isTold(history, run, 'run.judged');
  if (isFirst && run.supervisor !== null && !isSupervisorGone(host, run.supervisor)) return [];
  const again = isFirst ? knownAnew(history, task.id, run.id) : null;
  if (again !== null) return doAgain(host, task, run, again);
  const facts = createFacts(host.store, task.id, run.id);
  const [envelope, body] = await Promise.all([
    host.store.text(task.id, 'inputs/task.json'),
    host.store.text(task.id, 'body'),
  ]);
  const said = envelopeOf(task, { envelope, body }, host.workspace);
  const place = await reopenPlace(host, task, run, said);
  const linked = await inLinked(host, task, said);
  const message = place?.message ?? linked ?? said;
  const before = foundBefore(history, run);
  const seen =
    before === null
      ? await lookAgain(host, task, run, { message, git: place?.git }, history, facts)
      : { findings: before, warnings: [], verdict: 'contradicted' as const };
  const untaken = place === null ? null : await whyUntaken(host, task, () => takeRun(host, task, run, place, facts));
  const mayMerge = linked !== null && seen.findings.length === 0 && run.outcome === 'done' && !task.reviewRequired;
  const unmerged = mayMerge ? await mergeLinked(host, task) : null;
  const late = untaken ?? unmerged ?? (seen.findings.length === 0 ? await ungraphed(host, task) : null);
  const findings = late === null ? seen.findings : [...seen.findings, late];
  await facts.written();
  const answer = await host.store.send({
    message: {
      type: 'run.judge',
      run: run.id,
      passed: findings.length === 0,
      findings: [...findings, ...(seen.warnings ?? [])].map(({ message }) => message),
      supervisor: host.supervisor,
      ...(host.config.defaults.unverified === 'review' ? { unverified: 'review' as const } : {}),
      ...(findings[0] === undefined ? {} : { code: findings[0].code }),
      ...(late !== null || seen.verdict === undefined ? {} : { verdict: seen.verdict }),
      ...(late === null ? {} : { final: true }),
    },
    by: RUNTIME,
  });
  // What it wrote into the graph rests on what does not hold.
  if (findings[0] !== undefined && answer.kind === 'changed') {
    await takeBack(host, task, findings[0].message);
    if (isApplied(task, run.id))
      await holdBack(host.store, task, run, await saidBy(host, task, run, history), findings[0].message);
  }
  const merged = await mergeWork(host, task.id, true);
  await facts.written();
  return [...committed(answer), ...merged.events];
}

/** A later report that bears out its claims lets go what was held back. Why it cannot be applied, else null. */
async function ungraphed(host: Host, task: Task): Promise<Found | null> {
  const applied = await applyHeldBack(host, task);
  return applied.kind === 'refused' ? { code: applied.refusal.code, message: applied.refusal.message } : null;
}

const isTold = (history: readonly StoredRecord[], run: Run, type: string): boolean =>
  history.some(({ events }) => events.some((event) => event.type === type && event.run === run.id));

/** What stood against it when it was looked at; null where nobody has looked, or nothing did. */
function foundBefore(history: readonly StoredRecord[], run: Run): Found[] | null {
  const told = history.flatMap(({ events }) =>
    events.filter(({ type, run: of }) => type === 'run.evidence' && of === run.id),
  );
  const findings = told.at(-1)?.detail?.['findings'];
  return Array.isArray(findings) && findings.length > 0 ? (findings as Found[]) : null;
}
