/**
 * What an agent says, heard as data: reports, heartbeats and progress in any dialect, from its own words or its own socket. Who speaks is
 * known by the channel. What is not for the run itself (a handoff, a TASK, a message that names another task) goes on to the router.
 */

import type { ErrorCode } from '../core/errors.ts';
import { isFields } from '../core/fields.ts';
import type { Report } from '../core/report.ts';
import type { Task } from '../core/task.ts';
import { withinLimit } from '../protocol/aop1/too-long.ts';
import { isReport } from '../protocol/dialects.ts';
import { aop2, createDetector, type Detector, type Found, lastReport, type Message } from '../protocol/index.ts';
import type { Ear } from './live-runs.ts';
import { NO_PROGRESS, type Progress, progressOf } from './progress.ts';
import { asRailsSay } from './response/said.ts';
import { createGraphEar, isOfGraph, type SaidGraph } from './said-graph.ts';

/** A report with what is wrong with it in the eyes of its task. */
export interface Heard {
  readonly report: Report;
  readonly dialect: string;
  /** What the guard rails ask for and is not there. */
  readonly missing: readonly string[];
  /** As it was said; null where only the report is known. */
  readonly message: Message | null;
}

export interface Hearing {
  /** A piece of what the agent says. */
  text(piece: string): void;
  /** A message that somebody has for this run; answers what became of it. */
  message(message: Message): ReturnType<Ear['hear']>;
  /** A report that came by another way. */
  claim(report: Report, dialect: string): void;
  /** A whole statement has ended; what comes next is another text. */
  pause(): void;
  /** A turn is over. */
  end(): void;
  /** What it has said is being looked at: a report that comes now would be lost, and is refused. */
  close(): void;
  /** The last report that counts; null while there is none. */
  readonly heard: Heard | null;
  /** A RESPONSE of this run that cannot be read, where no report has come since; null where there is none. */
  readonly malformed: { readonly code: ErrorCode; readonly message: string } | null;
  /** What it has said of the knowledge graph so far. */
  readonly graph: SaidGraph;
  /** Whether it printed a message in a code fence: that one did not act. */
  readonly sawFenced: boolean;
  /** It is going to be asked for what of that was broken. */
  mendGraph(): void;
  /** Messages that were ours to hear and were not taken, with the reason. */
  readonly refused: readonly { readonly kind: string; readonly reason: string }[];
}

interface HearingOptions {
  readonly task: Pick<Task, 'id' | 'externalId' | 'session'>;
  /** The run that is listened to. A report that names another run is not its own. */
  readonly run: string;
  readonly rails: aop2.GuardRails;
  onProgress(progress: Progress): void;
  /** Told of every report that the agent prints itself, and of no other: the doors of the others have recorded theirs. */
  onPrinted?(heard: Heard): void;
  /** Takes what the agent says and what is not for its run alone; without it that is not heard. */
  route?(message: Found): void;
}

/** What is printed of these is data: they act from the run's own channels. */
export const PRINTED = "it was printed, and so it is data; it acts from the run's socket or its tools";

export const TOO_LATE = 'the run is over, and what it had said is being looked at';

/** Of these, messages that agents may have for other rooms, nothing is kept here. */
const MOST_REFUSED = 20;

export function createHearing({ task, run, rails, onProgress, onPrinted, route }: HearingOptions): Hearing {
  // What stands in a code fence is shown, not said.
  const listen = (): Detector => createDetector({ skipFences: true });
  let detector = listen();
  let sawFenced = false;
  let heard: Heard | null = null;
  let malformed: Hearing['malformed'] = null;
  let isClosed = false;
  const graph = createGraphEar();
  const refused: { kind: string; reason: string }[] = [];
  const isMine = (id: unknown): boolean => id === undefined || id === task.id || id === task.externalId;
  /** Why a report is not this run's, although it may name its task: an agent may show what another one printed. Null where it is. */
  const notOwn = (value: unknown): string | null => {
    const id = taskIn(value);
    if (!isMine(id)) return `it speaks of ${String(id)}, and its run is one of ${task.id}`;
    const session = isFields(value) ? value['session_id'] : undefined;
    if (typeof session === 'string' && session !== task.session) {
      return `it speaks of the session ${session}, and its task is of ${task.session}`;
    }
    const named = runNamed(value);
    return named === null || named === run ? null : `it speaks of the run ${named}, and this is ${run}`;
  };

  let refusal: string | null = null;
  const refuse = (message: Found, reason: string): void => {
    refusal = reason;
    if (refused.length < MOST_REFUSED)
      refused.push({ kind: `${message.dialect} ${message.kind ?? ''}`.trim(), reason });
  };

  /** @param isSaid by the agent itself, in its own words: then what is not for its run goes on to the router */
  const take = (found: Found, isSaid: boolean): void => {
    const message = withinLimit(found);
    const { dialect, kind, value, valid } = message;
    if (dialect === 'unstructured' || dialect === 'v1') return;
    if (dialect === 'command') return refuse(message, PRINTED);
    if (isOfGraph(message)) graph.take(message);
    if (!valid && dialect === 'aop2' && kind === 'RESPONSE' && notOwn(value) === null) malformed = brokenIn(message);
    if (isSaid && route !== undefined && !isForRun(message)) return route(message);
    if (dialect === 'output' && kind === 'GRAPH_UPDATE' && valid) return ofNode();
    if (!valid)
      return refuse(message, message.problems.find(({ severity }) => severity === 'error')?.message ?? 'invalid');
    const foreign = notOwn(value);
    if (foreign !== null) return refuse(message, foreign);
    if (dialect === 'aop2' && kind === 'EVENT') return event(message);
    if (dialect === 'aof' && kind === 'status.update') return status(value);
    const said = reportIn(message);
    if (said === null) return refuse(message, `a run takes reports and signs of progress here, not a ${kind}`);
    const missing =
      kind === 'RESPONSE' ? aop2.checkGuardRails(value as aop2.ResponseMessage, rails).map(({ path }) => path) : [];
    heard = { report: asRailsSay(said, message, rails), dialect, missing, message };
    malformed = null;
    if (isSaid) onPrinted?.(heard);
  };

  /** An envelope with the blocks that it may speak of. */
  const reportIn = (message: Found): Report | null => {
    if (message.dialect !== 'output') return lastReport([message]);
    const blocks = graph.said.updates.map(
      (value): Found => ({ dialect: 'output', kind: 'GRAPH_UPDATE', valid: true, problems: [], value, line: 1 }),
    );
    return lastReport([...blocks, message]);
  };

  /** The envelope before it may speak of it. */
  const ofNode = (): void => {
    const output = graph.said.outputs.at(-1);
    if (heard?.dialect !== 'output' || output === undefined) return;
    const report = reportIn({ dialect: 'output', kind: 'OUTPUT', valid: true, problems: [], value: output, line: 1 });
    if (report !== null) heard = { ...heard, report };
  };

  const isForRun = ({ dialect, kind, value, valid }: Found): boolean => {
    if (!valid) return false;
    if (isOfGraph({ dialect })) return true;
    if (notOwn(value) !== null) return false;
    return isReport(dialect, kind) || (kind === 'EVENT' && isSign(value as aop2.EventMessage));
  };

  const event = (message: Found): void => {
    const said = message.value as aop2.EventMessage;
    const progress = progressOf(said);
    if (progress !== null) onProgress(progress);
    else refuse(message, `a run takes reports and signs of progress here, not a ${said.event}`);
  };

  const status = (value: unknown): void => {
    const payload = isFields(value) && isFields(value['payload']) ? value['payload'] : {};
    const text = [payload['progress'], payload['notes']].find((item) => typeof item === 'string');
    onProgress({ ...NO_PROGRESS, message: (text as string | undefined) ?? null });
  };

  const pause = (): void => {
    for (const message of detector.end()) take(message, true);
    sawFenced ||= detector.sawFenced;
    detector = listen();
  };

  return {
    text(piece) {
      for (const message of detector.feed(piece)) take(message, true);
    },
    message(message) {
      refusal = null;
      const dialect = message.dialect;
      if (dialect === 'unstructured' || dialect === 'v1' || dialect === 'command') {
        return { result: 'ignored', reason: `a run's socket takes reports and signs of progress, not ${dialect}` };
      }
      if (isClosed && (isOfGraph(message) || lastReport([{ ...message, line: 1 }]) !== null)) {
        return { result: 'rejected', reason: TOO_LATE, code: 'E_STALE_RUN' };
      }
      take({ ...message, line: 1 }, false);
      return { result: refusal === null ? 'accepted' : 'rejected', reason: refusal };
    },
    claim(report, dialect) {
      if (isClosed) return;
      malformed = null;
      heard = { report, dialect, missing: [], message: null };
    },
    pause,
    end() {
      pause();
      graph.nextTurn();
    },
    close() {
      isClosed = true;
    },
    get heard() {
      return heard;
    },
    get malformed() {
      return malformed;
    },
    get graph() {
      return graph.said;
    },
    get sawFenced() {
      return sawFenced;
    },
    mendGraph: () => graph.mend(),
    refused,
  };
}

/** What is wrong with a RESPONSE that cannot be read, as the failure that it is. */
function brokenIn({ problems }: Found): NonNullable<Hearing['malformed']> {
  const first = problems.find(({ severity }) => severity === 'error');
  const where = first?.path ? `${first.path}: ` : '';
  const text = `the agent's RESPONSE is not valid: ${where}${first?.message ?? 'it does not fit its schema'}`;
  return { code: first?.code ?? 'E_MALFORMED_RESPONSE', message: text };
}

const taskIn = (value: unknown): unknown => (isFields(value) ? (value['task_id'] ?? value['taskId']) : undefined);

/** A report may name its run; all run files do. */
export function runNamed(value: unknown): string | null {
  if (!isFields(value)) return null;
  const payload = isFields(value['payload']) ? value['payload'] : {};
  const extensions = isFields(value['extensions']) ? value['extensions'] : {};
  const named = value['runId'] ?? payload['runId'] ?? extensions['x_run_id'];
  return typeof named === 'string' ? named : null;
}

const isSign = ({ event }: aop2.EventMessage): boolean => event === 'HEARTBEAT' || event === 'PROGRESS_UPDATE';
