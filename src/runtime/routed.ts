/** What the parts of the router share: what they work with, and how a refusal is written down and answered. */
import type { Config } from '../core/config.ts';
import type { ErrorCode } from '../core/errors.ts';
import { isFields } from '../core/fields.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { Actor, Texts } from '../core/laws/messages.ts';
import type { Report } from '../core/report.ts';
import type { Answer, Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import type { Message } from '../protocol/message.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { AnsweredItem, PersonsWord } from './answers.ts';
import type { Routed, Sender } from './doors.ts';
import type { LiveRuns } from './live-runs.ts';

export interface RouterOptions {
  readonly store: Store;
  readonly config: Config;
  readonly now: () => number;
  readonly runs: LiveRuns;
  /** The data folder, where there is one: what a report refers to is looked for there. */
  readonly dir?: string;
  /** Where tasks work that do not say where. */
  readonly workspace?: string;
  /** Where programs of agents are looked for; that of this process where it is not given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * Looks at the evidence for a reported task that no run of Baton supervises, and returns the names of the events it recorded. Without it
   * the task waits in review until a Baton that can judge it looks.
   */
  readonly judge?: (task: Task) => Promise<readonly string[]>;
  /** Takes a person's answer. */
  readonly answer?: (word: PersonsWord, by: Actor) => Promise<AnsweredItem>;
}

/** An answer with the code of a refusal, for those who answer with codes. */
export interface Answered extends Routed {
  readonly code: ErrorCode | null;
  readonly hint: string | null;
}

/** One message on its way. */
export interface Said {
  readonly message: Message;
  readonly sender: Sender;
}

export const RECEIVED = 'protocol.message.received';
const REJECTED = 'protocol.message.rejected';
export const UNKNOWN = 'protocol.message.unknown';
export const WARNING = 'protocol.message.warning';

export const accepted = (task: string | null, events: readonly string[], reason: string | null = null): Answered => ({
  result: 'accepted',
  reason,
  task,
  events,
  code: null,
  hint: null,
});

export const ignored = (reason: string, task: string | null = null): Answered => ({
  result: 'ignored',
  reason,
  task,
  events: [],
  code: null,
  hint: null,
});

/** The names of the events that the store has recorded for a message, in their order. */
export const committed = (answer: Answer): readonly string[] =>
  answer.kind === 'changed' ? (answer.events ?? []).map(({ type }) => type) : [];

export const no = (code: ErrorCode, message: string, hint: string | null = null): Refusal => ({ code, message, hint });

/** What a message is called in records. */
export const nameOf = ({ dialect, kind }: Message): string =>
  dialect === 'aof' && kind !== null ? kind : [dialect, kind].filter((part) => part !== null).join(' ');

export const messageIdOf = ({ dialect, value }: Message): string | undefined => {
  const id = dialect === 'aof' && isFields(value) ? value['messageId'] : undefined;
  return typeof id === 'string' ? id : undefined;
};

/** What is written down of every message: what it is, and whence it came. */
export function originOf({ message, sender }: Said): Record<string, unknown> {
  const id = messageIdOf(message);
  return {
    type: nameOf(message),
    channel: sender.channel,
    ...(sender.agent === null ? {} : { agent: sender.agent }),
    ...(id === undefined ? {} : { messageId: id }),
    ...(message.dialect === 'aof' ? headOf(message.value, sender) : {}),
  };
}

/** When it says that it was sent, and the name that it gives itself where the channel knows another: that one counts. */
function headOf(value: unknown, { agent }: Sender): Record<string, unknown> {
  const { sentAt, fromAgent, payload } = isFields(value) ? value : {};
  const names = [fromAgent, isFields(payload) ? payload['agentId'] : undefined];
  const claimed = agent === null ? undefined : names.find((name) => typeof name === 'string' && name !== agent);
  return {
    ...(typeof sentAt === 'string' ? { sentAt } : {}),
    ...(claimed === undefined ? {} : { claimedAgent: claimed }),
  };
}

/** Records an event that changes no task; returns what was recorded. */
export async function note(
  { store }: Pick<RouterOptions, 'store'>,
  { sender }: Pick<Said, 'sender'>,
  event: string,
  about: { readonly task?: string | undefined; readonly run?: string | null | undefined },
  detail: Readonly<Record<string, unknown>>,
  /** Remembered with the task, where there is one. */
  messageId?: string,
  texts?: Texts,
): Promise<readonly string[]> {
  const answer = await store.send({
    message: {
      type: 'note',
      event,
      ...(about.task === undefined ? {} : { task: about.task }),
      ...(about.run === undefined || about.run === null ? {} : { run: about.run }),
      ...(messageId === undefined ? {} : { messageId }),
      ...(texts === undefined ? {} : { texts }),
      detail,
    },
    by: sender.actor,
  });
  return committed(answer);
}

/** Written down with its reason, and answered; it changes nothing. `more` is kept for the record. */
export async function reject(
  options: RouterOptions,
  said: Said,
  task: Task | undefined,
  { code, message, hint }: Refusal,
  more: Readonly<Record<string, unknown>> = {},
): Promise<Answered> {
  const detail = { ...originOf(said), code, reason: shorten(message, MOST_REASON), ...more };
  const events = await note(options, said, REJECTED, { task: task?.id, run: said.sender.run }, detail);
  return { result: 'rejected', reason: message, task: task?.id ?? null, events, code, hint };
}

const MOST_REASON = 1_000;
/** A record holds texts up to this; a report that is longer is kept without its lists. */
const MOST_REPORT = 16_384;

/** A report as it is kept in a record. */
export function keptReport(report: Report): Report {
  if (JSON.stringify(report).length <= MOST_REPORT) return report;
  return {
    ...report,
    summary: shorten(report.summary, 2_000),
    notes: report.notes === null ? null : shorten(report.notes, 2_000),
    actions: [],
    artifacts: report.artifacts.slice(0, 20).map((artifact) => ({ ...artifact, path: artifact.path.slice(0, 256) })),
    checkpoints: [],
    blockers: report.blockers.slice(0, 10).map((text) => shorten(text, 256)),
    warnings: [],
    errors: [],
    metrics: {},
  };
}
