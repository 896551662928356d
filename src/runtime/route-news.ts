/** `status.update`: a new status by the laws, and a line in the task's Work Log. What an agent calls done is a claim, and judged as one. */

import { isFields } from '../core/fields.ts';
import type { Outcome } from '../core/report.ts';
import { isRunning, type Task, type TaskStatus } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { appendWorkLog } from '../protocol/aof/work-log.ts';
import type { Message } from '../protocol/message.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { unknownDetail } from './claims.ts';
import { again, reportIn, takeReport } from './route-report.ts';
import { isPerson } from './route-who.ts';
import {
  type Answered,
  accepted,
  committed,
  messageIdOf,
  no,
  originOf,
  type RouterOptions,
  reject,
  type Said,
} from './routed.ts';

interface News {
  readonly status?: TaskStatus;
  readonly progress?: string;
  readonly blockers?: readonly string[];
  readonly notes?: string;
  readonly reason?: string;
}

/** Of these an agent can only say that it thinks so. */
const CLAIMS: Partial<Record<TaskStatus, Outcome>> = { done: 'done', review: 'needs_review' };

const MOST_TRIES = 20;
const MOST_REASON = 512;

/** The bodies that were written here last, so that a chatty agent's is not read again and again. */
export interface Bodies {
  get(task: Task): string | undefined;
  set(task: Task, body: string): void;
}

export function createBodies(): Bodies {
  const kept = new Map<string, { readonly updatedAt: number; readonly body: string }>();
  return {
    get(task) {
      const known = kept.get(task.id);
      return known?.updatedAt === task.updatedAt ? known.body : undefined;
    },
    set(task, body) {
      kept.delete(task.id);
      if (body.length > MOST_KEPT_CHARS) return;
      kept.set(task.id, { updatedAt: task.updatedAt, body });
      for (const [oldest] of kept) {
        if (kept.size <= MOST_KEPT) break;
        kept.delete(oldest);
      }
    },
  };
}

const MOST_KEPT = 1_000;
const MOST_KEPT_CHARS = 16_384;

export async function takeNews(options: RouterOptions, bodies: Bodies, said: Said, task: Task): Promise<Answered> {
  const { message, sender } = said;
  const messageId = messageIdOf(message);
  if (messageId !== undefined && task.messages.includes(messageId)) return again(task, messageId);
  const news = newsIn(message);
  const live = task.run !== null && isRunning(task) ? options.runs.get(task.run.id) : undefined;
  // For whoever looks on; what is said is written down below.
  live?.hear(message);
  const outcome = isPerson(sender) || news.status === undefined ? undefined : CLAIMS[news.status];
  if (outcome === undefined) return write(options, bodies, said, task, news, news.status, messageId);

  const claim = asReport(said, outcome, news);
  const report = reportIn(claim);
  if (report === null) {
    return reject(options, said, task, no('E_SCHEMA_VALIDATION', `a status of ${news.status} could not be read`));
  }
  const { status: _, ...rest } = news;
  // A run's own claim is kept with the run, so the id of the message is kept with the line.
  const logged = hasWords(news)
    ? await write(options, bodies, said, task, rest, undefined, live === undefined ? undefined : messageId)
    : null;
  if (logged?.result === 'rejected') return logged;
  const now = (await options.store.find(task.id)) ?? task;
  const taken = await takeReport(
    options,
    live === undefined || logged === null ? claim : withoutId(claim),
    now,
    report,
  );
  return { ...taken, events: [...(logged?.events ?? []), ...taken.events] };
}

async function write(
  options: RouterOptions,
  bodies: Bodies,
  said: Said,
  first: Task,
  news: News,
  to: TaskStatus | undefined,
  messageId: string | undefined,
): Promise<Answered> {
  const { store, now } = options;
  const { sender } = said;
  let task = first;
  const reason = reasonOf(news);
  const who = sender.agent ?? sender.actor.name;
  for (let tries = 0; ; tries++) {
    const line = hasWords(news) ? lineOf(isoTime(now()), who, news) : null;
    const before = line === null ? '' : (bodies.get(task) ?? (await store.text(task.id, 'body')) ?? '');
    const body = line === null ? null : appendWorkLog(before, line);
    const answer = await store.send({
      message: {
        type: 'task.update',
        id: task.id,
        ...(sender.run !== null && task.run?.id === sender.run ? { run: sender.run } : {}),
        ...(to === undefined ? {} : { to }),
        ...(reason === null ? {} : { reason }),
        ...(messageId === undefined ? {} : { messageId }),
        ...(body === null ? {} : { texts: { body }, seen: task.updatedAt }),
        detail: { ...originOf(said), ...news, ...unknownDetail(said.message) },
      },
      by: sender.actor,
    });
    if (answer.kind !== 'refused') {
      if (answer.kind === 'same') return accepted(task.id, [], `${task.id} is ${task.status} already`);
      const after = answer.tasks[0];
      if (after !== undefined && body !== null) bodies.set(after, body);
      const isElsewhere = to !== undefined && after !== undefined && after.status !== to;
      return accepted(
        task.id,
        committed(answer),
        isElsewhere ? (after.cause?.message ?? `${task.id} is ${after.status}`) : null,
      );
    }
    const fresh = await store.find(task.id);
    // Somebody else wrote into it meanwhile: with the text as it is now, then.
    if (fresh === undefined || fresh.updatedAt === task.updatedAt || tries >= MOST_TRIES) {
      return reject(options, said, task, answer.refusal, { ...news });
    }
    task = fresh;
  }
}

function newsIn({ value }: Message): News {
  const payload = isFields(value) && isFields(value['payload']) ? value['payload'] : {};
  const { status, progress, blockers, notes, reason } = payload as News;
  return {
    ...(status === undefined ? {} : { status }),
    ...(progress === undefined ? {} : { progress }),
    ...(blockers === undefined ? {} : { blockers }),
    ...(notes === undefined ? {} : { notes }),
    ...(reason === undefined ? {} : { reason }),
  };
}

const hasWords = ({ progress, blockers, notes }: News): boolean =>
  progress !== undefined || notes !== undefined || (blockers?.length ?? 0) > 0;

function lineOf(at: string, who: string, { status, progress, blockers, notes }: News): string {
  const words = [
    ...(progress ? [progress] : []),
    ...(blockers === undefined || blockers.length === 0 ? [] : [`Blockers: ${blockers.join('; ')}`]),
    ...(notes ? [notes] : []),
  ];
  return `${at} ${who}${status === undefined ? '' : ` (${status})`}: ${words.join(' | ')}`;
}

function reasonOf({ reason, blockers, notes, progress }: News): string | null {
  const said = reason ?? (blockers === undefined || blockers.length === 0 ? undefined : blockers.join('; '));
  const text = said ?? notes ?? progress;
  return text === undefined || text === '' ? null : shorten(text, MOST_REASON);
}

/** A status that only evidence can give, as the claim that it is. */
function asReport({ message, sender }: Said, outcome: Outcome, { progress, blockers, notes, reason }: News): Said {
  const value = message.value as Record<string, unknown>;
  const words = [progress, notes ?? reason].filter((text) => text !== undefined && text !== '').join('\n\n');
  const { status: _, progress: __, ...rest } = isFields(value['payload']) ? value['payload'] : {};
  const payload = {
    ...rest,
    outcome,
    ...(blockers === undefined ? {} : { blockers }),
    ...(words === '' ? {} : { notes: words.slice(0, 10_000) }),
  };
  return {
    sender,
    message: { ...message, kind: 'completion.report', value: { ...value, type: 'completion.report', payload } },
  };
}

function withoutId({ message, sender }: Said): Said {
  const { messageId: _, ...value } = message.value as Record<string, unknown>;
  return { sender, message: { ...message, value } };
}
