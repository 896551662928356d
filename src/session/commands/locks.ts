/** `#LOCK`, `#UNLOCK`, `#WAIT`, `#SIGNAL` (§12). A wait is over when the store says so: it is asked again whenever something has happened. */
import { posix } from 'node:path';
import type { Put, SessionJson, Waiter } from '../../core/session.ts';
import type { StoredRecord } from '../../core/store.ts';
import { createBell } from '../../process/waiting.ts';
import { type Call, failed, form, type Handler, type Said } from '../call.ts';
import { whom } from '../lookup.ts';
import { listen } from '../news.ts';
import { ORCHESTRATOR } from '../people.ts';
import { ask, replyTo } from '../refusals.ts';

/** So often a waiter says that it still waits. */
const AGAIN_MS = 4_000;
/** And never more often than this, however much happens. */
const LEAST_MS = 5;

/** One name for what looks the same to a reader: no blanks around it, no characters that are not seen, accents in one form. */
const seen = (name: string): string =>
  name
    .replace(/\p{Cf}/gu, '')
    .normalize('NFC')
    .replaceAll('\\', '/')
    .trim();

/** A path has one name, the workspace's own is `.`; one that leads out of the workspace is no resource of the session. */
function resourceOf(call: Call): string | null {
  const named = seen(call.params[0] ?? '');
  const root = seen(call.workspace).replace(/\/+$/, '');
  const isRoot = named.replace(/\/+$/, '') === root;
  const inside = isRoot ? '.' : named.startsWith(`${root}/`) ? named.slice(root.length + 1) : named;
  if (!/[./]/.test(inside)) return inside;
  const plain = posix.normalize(inside).replace(/(?<=[^/])\/+$/, '');
  return plain.startsWith('../') || plain === '..' || plain.startsWith('/') ? null : plain;
}

/** A condition may be a lock's resource, and then it has its name; anything else stays as it is. */
const conditionOf = (call: Call): string => resourceOf(call) ?? call.params[0] ?? '';

const unfit = (call: Call, resource: '' | null): Said =>
  resource === null ? failed('E005', `outside_workspace ${call.params[0] ?? ''}`) : failed('E002', 'no_resource');

export const lock: Handler = async (call) => {
  const { session, speaker, params } = call;
  const resource = resourceOf(call);
  if (resource === null || resource === '') return unfit(call, resource);
  return replyTo(call, { type: 'session.lock', session, resource, seconds: Number(params[1]), speaker });
};

export const unlock: Handler = async (call) => {
  const { session, speaker } = call;
  const resource = resourceOf(call);
  if (resource === null || resource === '') return unfit(call, resource);
  return replyTo(call, { type: 'session.unlock', session, resource, speaker });
};

export const signal: Handler = (call) => {
  const { session, speaker, params } = call;
  const value = params[1] ?? '';
  return replyTo(call, { type: 'session.signal', session, condition: conditionOf(call), value, speaker });
};

export async function wait(call: Call): Promise<Said> {
  const { session, speaker, params, store, now } = call;
  const condition = conditionOf(call);
  const seconds = Number(params[1]);
  const agents = await agentsNamed(call, condition);
  const message = { type: 'session.wait', session, condition, seconds, speaker, agents } as const;
  const until = now() + seconds * 1000;
  // From here on nothing is missed: what happens before the question is asked is seen by the question.
  let number: number | undefined;
  const news = await newsFor(call, (record) => matters(record, condition, number));
  try {
    for (;;) {
      const answer = await ask(call, { ...message, ...(number === undefined ? {} : { wait: number }) });
      if ('said' in answer) return answer.said;
      const reply = answer.reply ?? '';
      if (reply.startsWith('deadlock:')) return failed('E005', reply.replace(':', ' '));
      number = /^waits:(\d+)$/.test(reply) ? Number(reply.slice(6)) : number;
      if (!reply.startsWith('waits:')) return form(reply);
      if (call.signal.aborted || now() >= until) break;
      const next = Math.min(until - now(), AGAIN_MS, soonest(await store.session(session), condition, now()));
      await news.wait(Math.max(LEAST_MS, next));
    }
    const over = await ask(call, { ...message, over: true, ...(number === undefined ? {} : { wait: number }) });
    return 'said' in over ? over.said : form('timeout');
  } finally {
    news.stop();
  }
}

/** `wait for emma to finish`: another agent or team by its name; a lock, a signal or a task of that name goes before it. */
async function agentsNamed(call: Call, condition: string): Promise<readonly string[]> {
  if (condition.toLowerCase() === call.speaker.agent.toLowerCase() || condition.toLowerCase() === ORCHESTRATOR)
    return [];
  const named = await whom(call, condition);
  return 'said' in named ? [] : [...new Set([named.name, ...named.members])];
}

/** When a lock or what was kept for somebody runs out by itself. */
function soonest(session: SessionJson | undefined, condition: string, now: number): number {
  const times = [session?.locks?.[condition]?.until, session?.reserved?.[condition]?.until];
  const left = times.filter((time): time is number => time !== undefined && time > now).map((time) => time - now + 1);
  return Math.min(Number.POSITIVE_INFINITY, ...left);
}

/** Whether a wait may be over by it: many wait at a time, and each need not ask whenever another does something. */
function matters({ changes, sessions = [] }: StoredRecord, condition: string, number: number | undefined): boolean {
  // A task that is done, or a run that has ended with the locks it held.
  if (changes.length > 0) return true;
  const puts = sessions.flatMap(({ put }) => put);
  const isOf = ([table]: Put): boolean => table === 'locks' || table === 'reserved' || table === 'signals';
  if (puts.some((put) => isOf(put) && put[1] === condition)) return true;
  return puts.some(([table, key, value]) => {
    if (table !== 'waiters') return false;
    // Somebody is told to give way: itself, perhaps, before it knows its own number. Or has given up, and may have been before it.
    if (value !== null) return key === String(number) || (value as Waiter).deadlock !== undefined;
    return !puts.some(isOf);
  });
}

interface News {
  /** Until something has happened that may matter, or the time is over. */
  wait(ms: number): Promise<void>;
  stop(): void;
}

async function newsFor(
  { store, session, signal: stopped }: Call,
  isFor: (record: StoredRecord) => boolean,
): Promise<News> {
  const bell = createBell(stopped);
  const forget = await listen(store, session, (record) => {
    if (record === null || isFor(record)) bell.ring();
  });
  return {
    async wait(ms) {
      await bell.wait(ms);
      bell.quiet();
    },
    stop: forget,
  };
}
