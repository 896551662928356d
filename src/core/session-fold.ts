/** What the records of a session say, taken in one after another: the ground of its final report. */
import type { Event } from './laws/decision.ts';
import type {
  ReportedArtifact,
  ReportedCheckpoint,
  ReportedClaim,
  ReportedDecision,
  ReportedError,
  ReportedNode,
  ReportedRollback,
} from './session-report-form.ts';
import type { StoredRecord } from './store.ts';
import { DEFAULT_SESSION, expandTask, type Run, type SparseTask, type Spent, type Task } from './task.ts';
import { isoTime } from './time.ts';

type Detail = Readonly<Record<string, unknown>>;

/** What is known of one run besides what its task knows. */
export interface RunFacts {
  readonly task: string;
  run: Run | null;
  /** Who did it: after a fallback not the one that the task names. */
  agent: string | null;
  provider: string | null;
  model: string | null;
  /** What its task's cost grew by. */
  charged: Spent | null;
  /** What it was seen to use; counts where nothing was charged, as with a run that was stopped. */
  used: Spent | null;
  /** It used tokens whose price is unknown. */
  isUnknown: boolean;
  isEstimated: boolean;
  expected: number | null;
  /** What it printed, and what of it went to its parent: in characters, and in tokens. */
  produced: number;
  delivered: number;
  tokensProduced: number;
  tokensDelivered: number;
  /** What was handed to its agent, in tokens: prompts, and the answers of its tools. */
  tokensGiven: number;
  /** Some of these tokens were reckoned and not counted. */
  isReckoned: boolean;
}

/** All that the records of a session have said so far. */
export interface Fold {
  readonly tasks: Map<string, Task>;
  readonly runs: Map<string, RunFacts>;
  readonly checkpoints: Map<string, ReportedCheckpoint>;
  readonly claims: Map<string, readonly ReportedClaim[]>;
  readonly artifacts: Map<string, ReportedArtifact>;
  readonly nodes: Map<string, ReportedNode>;
  readonly decisions: ReportedDecision[];
  readonly rollbacks: ReportedRollback[];
  readonly errors: ReportedError[];
  retries: number;
  fallbacks: number;
  first: number | null;
  last: number;
  end: { readonly at: number; readonly by: string | null } | null;
}

export const emptyFold = (): Fold => ({
  tasks: new Map(),
  runs: new Map(),
  checkpoints: new Map(),
  claims: new Map(),
  artifacts: new Map(),
  nodes: new Map(),
  decisions: [],
  rollbacks: [],
  errors: [],
  retries: 0,
  fallbacks: 0,
  first: null,
  last: 0,
  end: null,
});

export function takeRecord(fold: Fold, session: string, record: StoredRecord): void {
  if (record.session === session) {
    fold.first ??= record.at;
    fold.last = record.at;
  }
  // A task of another session may be what stops one of ours, and its record is of that session.
  for (const { task, set } of record.changes) {
    const charged = record.events.find((event) => event.type === 'run.charged' && event.task === task)?.run;
    takeChange(fold, session, task, set, charged);
  }
  for (const event of record.events) {
    const isOurs = event.task === undefined ? record.session === session : fold.tasks.has(event.task);
    if (isOurs) takeEvent(fold, record, event);
  }
}

/** @param charged the run that a cost is of; the latest where it is not given */
function takeChange(fold: Fold, session: string, id: string, set: Partial<Task>, charged?: string): void {
  const before = fold.tasks.get(id);
  if (before === undefined && (set.id === undefined || (set.session ?? DEFAULT_SESSION) !== session)) return;
  const after = before === undefined ? expandTask(set as SparseTask) : { ...before, ...set };
  fold.tasks.set(id, after);
  const { run } = after;
  if (run === null) return;
  const facts = factsOf(fold, id, run.id);
  facts.run = run;
  // The provider is told with the fallback; the claim knows only the model.
  if (after.fallback !== null && run.model === after.fallback.model) facts.provider ??= after.fallback.provider;
  if (set.cost === undefined || before === undefined) return;
  const more = minus(set.cost, before.cost);
  // A run is charged once, at its end. A failure that tells no cost sets it to what it was.
  if (more.usd !== 0 || more.tokensInput !== 0 || more.tokensOutput !== 0) {
    factsOf(fold, id, charged ?? run.id).charged = more;
  }
}

function factsOf(fold: Fold, task: string, run: string): RunFacts {
  const known = fold.runs.get(run);
  if (known !== undefined) return known;
  const facts: RunFacts = {
    ...{
      task,
      run: null,
      agent: null,
      provider: null,
      model: null,
      charged: null,
      used: null,
      isUnknown: false,
      isEstimated: false,
      expected: null,
    },
    ...{ produced: 0, delivered: 0, tokensProduced: 0, tokensDelivered: 0, tokensGiven: 0, isReckoned: false },
  };
  fold.runs.set(run, facts);
  return facts;
}

/** What each event says; later words on the same run, checkpoint or file go before earlier ones. */
const TAKE: Readonly<Record<string, (fold: Fold, record: StoredRecord, event: Event, detail: Detail) => void>> = {
  'run.started'(fold, _record, { task = '' }) {
    if ((fold.tasks.get(task)?.runs ?? 0) > 1) fold.retries++;
  },
  'task.fallback'(fold) {
    fold.fallbacks++;
  },
  'run.estimate'(fold, _record, { task = '', run }, { usd }) {
    if (run !== undefined) factsOf(fold, task, run).expected = numberOr(usd, null);
  },
  'run.usage'(fold, _record, { task = '', run }, detail) {
    if (run === undefined) return;
    const facts = factsOf(fold, task, run);
    facts.used = spentIn(detail);
    facts.isUnknown = typeof detail['usd'] !== 'number' && facts.used.tokensInput + facts.used.tokensOutput > 0;
    facts.isEstimated = detail['estimated'] === true;
    facts.agent = textOr(detail['agent'], facts.agent);
    facts.model = textOr(detail['model'], facts.model);
    facts.provider = textOr(detail['provider'], facts.provider);
  },
  'run.output'(fold, _record, { task = '', run }, detail) {
    if (run === undefined) return;
    const facts = factsOf(fold, task, run);
    // Older records tell bytes only.
    facts.produced = numberOr(detail['produced_chars'], numberOr(detail['produced'], 0));
    facts.delivered = numberOr(detail['delivered'], 0);
    facts.tokensProduced = numberOr(detail['produced_tokens'], 0);
    facts.tokensDelivered = numberOr(detail['delivered_tokens'], 0);
    facts.isReckoned ||= detail['estimated'] === true;
  },
  'run.context'(fold, _record, { task = '', run }, { agent, tokens, estimated }) {
    if (run === undefined) return;
    const facts = factsOf(fold, task, run);
    facts.agent ??= textOr(agent, null);
    facts.tokensGiven += numberOr(tokens, 0);
    facts.isReckoned ||= estimated === true;
  },
  'run.checkpoint'(fold, _record, { task = '' }, { checkpoint, phase, status }) {
    const id = textOr(checkpoint, '');
    const told = { task_id: task, phase: textOr(phase, null), checkpoint: id, status: textOr(status, 'PENDING') };
    if (id !== '') fold.checkpoints.set(JSON.stringify([task, id]), told);
  },
  'run.evidence'(fold, _record, { task = '' }, { claims, artifacts }) {
    fold.claims.set(
      task,
      listOf(claims).map(({ what, verdict, detail }) => ({
        task_id: task,
        what: textOr(what, ''),
        verdict: textOr(verdict, 'unverified'),
        detail: textOr(detail, null),
      })),
    );
    for (const { path, type, hash, status, sizeBytes } of listOf(artifacts)) {
      if (typeof path !== 'string') continue;
      fold.artifacts.set(JSON.stringify([task, path]), {
        task_id: task,
        path,
        type: textOr(type, null),
        hash: textOr(hash, null),
        status: textOr(status, null),
        size_bytes: numberOr(sizeBytes, null),
      });
    }
  },
  'rollback.initiated'(fold, record, event, { trigger, artifacts_rolled_back: artifacts }) {
    fold.rollbacks.push({
      task_id: event.task ?? null,
      timestamp: isoTime(record.at),
      trigger: textOr(trigger, null),
      artifacts_rolled_back: listOf(artifacts),
    });
    for (const { path, error } of listOf(artifacts)) {
      if (typeof error !== 'string') continue;
      tellError(fold, record, event, 'E_ROLLBACK_FAILED', `${textOr(path, 'an artifact')}: ${error}`);
    }
  },
  'session.rolledback'(fold, record, _event, { checkpoint, files, kept }) {
    fold.rollbacks.push({
      task_id: null,
      timestamp: isoTime(record.at),
      trigger: `#ROLLBACK:${textOr(checkpoint, '')}`,
      artifacts_rolled_back: [],
      files: numberOr(files, 0),
      kept: textOr(kept, null),
    });
  },
  'node.added'(fold, _record, { task = null, run }, { node, type, confidence }) {
    if (typeof node !== 'string') return;
    const by = run === undefined ? null : task;
    const told = { node_type: textOr(type, ''), task_id: by, confidence: numberOr(confidence, null) };
    fold.nodes.set(node, { node_id: node, ...told });
  },
  'question.answered'(fold, record, { task = null }, { question, asked, status, text, comment, by }) {
    fold.decisions.push({
      id: textOr(question, ''),
      task_id: task,
      timestamp: isoTime(record.at),
      by: textOr(by, record.by.name),
      asked: textOr(asked, null),
      status: textOr(status, ''),
      text: textOr(text, textOr(comment, null)),
    });
  },
  'run.failed'(fold, record, event, { code, message }) {
    tellError(fold, record, event, textOr(code, 'E_UNKNOWN'), textOr(message, ''));
  },
  'run.expired'(fold, record, event) {
    tellError(fold, record, event, 'E_RUN_EXPIRED', `${event.run} went silent and left no result`);
  },
  'run.judged'(fold, record, event, { passed, findings, code }) {
    if (passed !== false) return;
    const said = Array.isArray(findings) ? findings.filter((finding) => typeof finding === 'string') : [];
    tellError(
      fold,
      record,
      event,
      textOr(code, 'E_EVIDENCE'),
      said.join('; ') || 'the evidence does not bear the claim out',
    );
  },
  /** What stopped a task and is not told by its run: a dependency, or that all models have failed. */
  'task.transitioned'(fold, record, event, { to, code }) {
    if ((to !== 'blocked' && to !== 'deadletter') || typeof code !== 'string') return;
    const isTold = record.events.some(
      (other) => other.task === event.task && other.type === 'run.failed' && other.detail?.['code'] === code,
    );
    if (isTold || code === 'E_RUN_EXPIRED') return;
    tellError(fold, record, event, code, fold.tasks.get(event.task ?? '')?.cause?.message ?? code);
  },
  'session.ended'(fold, record, _event, { by }) {
    fold.end = { at: record.at, by: textOr(by, record.by.name) };
  },
};

function takeEvent(fold: Fold, record: StoredRecord, event: Event): void {
  const detail = event.detail ?? {};
  if (/\.(?:refused|rejected)$/.test(event.type)) {
    const message = textOr(detail['reason'], textOr(detail['message'], event.type));
    tellError(fold, record, event, textOr(detail['code'], 'E_UNKNOWN'), message);
  } else if (Object.hasOwn(TAKE, event.type)) {
    TAKE[event.type]?.(fold, record, event, detail);
  }
}

function tellError(fold: Fold, { at }: StoredRecord, { task, run }: Event, code: string, message: string): void {
  fold.errors.push({ task_id: task ?? null, run: run ?? null, timestamp: isoTime(at), code, message });
}

export const NOTHING: Spent = { usd: 0, tokensInput: 0, tokensOutput: 0 };
export const plus = (a: Spent, b: Spent): Spent => ({
  usd: a.usd + b.usd,
  tokensInput: a.tokensInput + b.tokensInput,
  tokensOutput: a.tokensOutput + b.tokensOutput,
});
const minus = (a: Spent, b: Spent): Spent =>
  plus(a, { usd: -b.usd, tokensInput: -b.tokensInput, tokensOutput: -b.tokensOutput });

const spentIn = ({ usd, tokensInput, tokensOutput }: Detail): Spent => ({
  usd: numberOr(usd, 0),
  tokensInput: numberOr(tokensInput, 0),
  tokensOutput: numberOr(tokensOutput, 0),
});
const numberOr = <T>(value: unknown, other: T): number | T =>
  typeof value === 'number' && Number.isFinite(value) ? value : other;
const textOr = <T>(value: unknown, other: T): string | T => (typeof value === 'string' ? value : other);
const listOf = (value: unknown): Detail[] =>
  Array.isArray(value) ? value.filter((item) => item !== null && typeof item === 'object') : [];
