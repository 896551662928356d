/** What a session remembers (shared agent protocol §6, §16): keys and variables, mailboxes, dependencies, its end. */
import { droppedBefore, type Session, TABLES, type TableName } from '../session.ts';
import { isRunning, taskOfRun } from '../task.ts';
import { add } from './add.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { SessionMessage, Speaker } from './messages.ts';

type Of<T extends SessionMessage['type']> = Extract<SessionMessage, { type: T }>;

/** §6. */
export const MOST_KEYS = 20;
/** Of what nobody reads, the oldest goes; its reader is told that it did. */
const MOST_LETTERS = 200;
const MOST_NAMES = 1_000;

export const replied = (reply: string): string => `reply:${reply}`;

/** A session that is over, or never was, begins with the first thing that is said in it. */
export function begin(draft: Draft, id: string): Session | undefined {
  const session = draft.slice.session(id);
  if (session !== undefined && session.fact('startedAt') !== undefined && session.fact('endedAt') === undefined) {
    return session;
  }
  draft.put(id, 'facts', 'startedAt', draft.now);
  if (session?.fact('endedAt') !== undefined) draft.put(id, 'facts', 'endedAt', null);
  return session;
}

export const isAlive = (draft: Draft, run: string | null): boolean => {
  if (run === null) return true;
  const task = draft.task(taskOfRun(run) ?? '');
  return task?.run?.id === run && isRunning(task);
};

const table = <T extends TableName>(session: Session | undefined, name: T): ReturnType<Session['table']> =>
  session?.table(name) ?? new Map();

export function save(draft: Draft, message: Of<'session.save'>): Decision {
  const { session: id, key, value, persistent, speaker } = message;
  const state = table(begin(draft, id), 'state');
  if (!state.has(key) && state.size >= MOST_KEYS) {
    return refused('E003', `expected at most ${MOST_KEYS} keys in the session ${id}, and ${key} would be one more`);
  }
  draft.put(id, 'state', key, { value, persistent, by: speaker.agent, at: draft.now });
  return draft.decision(id, [replied(`saved:${key}`)]);
}

/** What others have saved is not one worker's to throw away. */
const onlyLeads = (what: string, { agent }: Speaker): Decision =>
  refused('E005', `${what} is for who leads the session, and this came from ${agent}`);

export function clear(draft: Draft, { session: id, speaker }: Of<'session.clear'>): Decision {
  const state = draft.slice.session(id)?.table('state');
  const keys = [...(state?.keys() ?? [])];
  if (keys.length === 0) return same(replied('nothing_saved'));
  const isOthers = [...(state?.values() ?? [])].some(({ by }) => by !== speaker.agent);
  if (isOthers && !speaker.leads) return onlyLeads('clearing what others have saved', speaker);
  for (const key of keys) draft.put(id, 'state', key, null);
  draft.event('session.cleared', null, null, { keys });
  return draft.decision(id, [replied('cleared')]);
}

export function setVariable(draft: Draft, { session: id, name, value }: Of<'session.variable'>): Decision {
  const variables = table(begin(draft, id), 'variables');
  if (!variables.has(name) && variables.size >= MOST_NAMES) {
    return refused(
      'E003',
      `expected at most ${MOST_NAMES} variables in the session ${id}, and ${name} would be one more`,
    );
  }
  draft.put(id, 'variables', name, value);
  return draft.decision(id, [replied(`saved:${name}`)]);
}

export function sendLetter(draft: Draft, { session: id, to, text, speaker }: Of<'session.send'>): Decision {
  const session = begin(draft, id);
  const listeners = 'agent' in to ? [to.agent] : listenersTo(draft, id, session, to);
  const readers = listeners.filter((agent) => 'agent' in to || agent !== speaker.agent);
  const channel = 'agent' in to ? null : to.channel;
  let number = session?.fact('letters') ?? 0;
  const lost = new Map<string, number>();
  for (const reader of readers) {
    number += 1;
    draft.put(id, 'letters', String(number), { to: reader, from: speaker.agent, channel, text, at: draft.now });
    const count = dropOldest(draft, id, session, reader);
    if (count > 0) lost.set(reader, count);
  }
  if (readers.length > 0) draft.put(id, 'facts', 'letters', number);
  draft.event('session.sent', null, speaker.run, {
    ...(channel === null ? { to: readers[0] } : { channel }),
    from: speaker.agent,
    text,
    readers: readers.length,
  });
  for (const [reader, count] of lost) draft.event('session.dropped', null, speaker.run, { to: reader, count });
  return draft.decision(id, [replied(`sent:${readers.length}`)]);
}

/** Those who listen to the channel; with `everyone` all whom the session knows, but for those who have stopped listening to it. */
function listenersTo(
  draft: Draft,
  id: string,
  session: Session | undefined,
  { channel, everyone = false }: { readonly channel: string; readonly everyone?: boolean },
): readonly string[] {
  const subscribers = session?.table('subscribers');
  const listeners = subscribers?.get(channel) ?? [];
  if (!everyone) return listeners;
  const names = new Set<string>([...(subscribers?.values() ?? [])].flat());
  for (const { owner } of session?.table('locks').values() ?? []) names.add(owner);
  for (const { routing, run } of draft.slice.tasksOf(id)) {
    if (run !== null) names.add(run.agent);
    if (routing.agent !== null) names.add(routing.agent);
  }
  for (const muted of subscribers?.get(mutedOf(channel)) ?? []) names.delete(muted);
  return [...names];
}

/** Those who have stopped listening to a channel stand under this name. */
const mutedOf = (channel: string): string => `!${channel}`;

/** Makes room for one more, and says how many went. What is left knows how many were before it. */
function dropOldest(draft: Draft, id: string, session: Session | undefined, reader: string): number {
  const mine = [...(session?.table('letters') ?? [])].filter(([, { to }]) => to === reader);
  const gone = mine.slice(0, Math.max(0, mine.length + 1 - MOST_LETTERS));
  for (const [key] of gone) draft.put(id, 'letters', key, null);
  const [key, letter] = mine[gone.length] ?? [];
  if (gone.length > 0 && key !== undefined && letter !== undefined) {
    const dropped = gone.length + droppedBefore([...gone.map(([, one]) => one), letter]);
    draft.put(id, 'letters', key, { ...letter, dropped });
  }
  return gone.length;
}

export function subscribe(draft: Draft, { session: id, channel, on, speaker }: Of<'session.subscribe'>): Decision {
  const session = begin(draft, id);
  const all = session?.table('subscribers') ?? new Map<string, readonly string[]>();
  const now = all.get(channel) ?? [];
  const muted = all.get(mutedOf(channel)) ?? [];
  const { agent } = speaker;
  if (now.includes(agent) === on && muted.includes(agent) === !on) {
    return same(replied(`already_${on ? 'subscribed' : 'unsubscribed'}:${channel}`));
  }
  if (on && !all.has(channel) && all.size >= MOST_NAMES) {
    return refused(
      'E003',
      `expected at most ${MOST_NAMES} channels in the session ${id}, and ${channel} would be one more`,
    );
  }
  const put = (name: string, before: readonly string[], isIn: boolean): void => {
    const others = before.filter((one) => one !== agent);
    const after = isIn ? [...others, agent] : others;
    if (before.includes(agent) !== isIn) draft.put(id, 'subscribers', name, after.length === 0 ? null : after);
  };
  put(channel, now, on);
  put(mutedOf(channel), muted, !on);
  return draft.decision(id, [replied(`${on ? 'subscribed' : 'unsubscribed'}:${channel}`)]);
}

export function readLetters(draft: Draft, { session: id, agent, upTo }: Of<'session.read'>): Decision {
  const letters = [...(draft.slice.session(id)?.table('letters') ?? [])];
  const read = letters.filter(([key, { to }]) => to === agent && Number(key) <= upTo);
  if (read.length === 0) return same();
  for (const [key] of read) draft.put(id, 'letters', key, null);
  return draft.decision(id, []);
}

export function depend(draft: Draft, { session: id, agent, task, speaker }: Of<'session.depend'>): Decision {
  begin(draft, id);
  const held = draft.slice.session(id)?.table('depends').size ?? 0;
  if (held >= MOST_NAMES) return refused('E003', `expected at most ${MOST_NAMES} dependencies in the session ${id}`);
  draft.put(id, 'depends', `${speaker.agent} ${agent} ${task}`, { by: speaker.agent, agent, task, at: draft.now });
  draft.event('session.depends', null, speaker.run, { by: speaker.agent, agent, task });
  return draft.decision(id, [replied('ack')]);
}

export function delegated(draft: Draft, { session: id, agent, task }: Of<'session.delegated'>): Decision {
  begin(draft, id);
  draft.put(id, 'facts', 'delegated', { agent, task });
  return draft.decision(id, []);
}

export function setMode(draft: Draft, { session: id, voice, mode }: Of<'session.mode'>): Decision {
  const modes = draft.slice.session(id)?.fact('modes') ?? {};
  if ((modes[voice] ?? null) === mode) return same();
  begin(draft, id);
  const others = Object.entries(modes).filter(([name]) => name !== voice);
  // The oldest choices go: a session knows so many voices.
  const kept = [...others.slice(-(MOST_NAMES - 1)), ...(mode === null ? [] : [[voice, mode] as const])];
  draft.put(id, 'facts', 'modes', kept.length === 0 ? null : Object.fromEntries(kept));
  return draft.decision(id, []);
}

export function exported(draft: Draft, message: Of<'session.exported'>): Decision {
  const { session: id, file, items, upTo, temporary = false } = message;
  begin(draft, id);
  if (upTo !== undefined) draft.put(id, 'facts', 'exported', upTo);
  if (upTo !== undefined && temporary) draft.put(id, 'facts', 'exportedAll', upTo);
  draft.event('context.exported', null, null, { file, items });
  return draft.decision(id, []);
}

export function importContext(draft: Draft, message: Of<'session.import'>): Decision {
  const { session: id, mode, state, variables, tasks = [], file, from, done = [], speaker } = message;
  if (mode === 'replace' && !speaker.leads) return onlyLeads('replacing what is saved', speaker);
  // They have no parent, and so none of the bounds of who brings them.
  if (tasks.length > 0 && !speaker.leads) return onlyLeads('importing tasks', speaker);
  const session = begin(draft, id);
  const before = session?.table('state') ?? new Map();
  const after = new Set([...(mode === 'merge' ? before.keys() : []), ...Object.keys(state)]);
  if (after.size > MOST_KEYS) {
    return refused('E003', `expected at most ${MOST_KEYS} keys in the session ${id}, and there would be ${after.size}`);
  }
  if (mode === 'replace') for (const key of before.keys()) draft.put(id, 'state', key, null);
  for (const [key, { value, persistent }] of Object.entries(state)) {
    draft.put(id, 'state', key, { value, persistent, by: speaker.agent, at: draft.now });
  }
  for (const [name, value] of Object.entries(variables)) draft.put(id, 'variables', name, value);
  if (tasks.length > 0) {
    const made = add(draft, tasks);
    if (made.kind === 'refused') return made;
  }
  if (file !== undefined) draft.put(id, 'facts', 'imported', { file, from: from ?? null, at: draft.now, done });
  draft.event('context.imported', null, speaker.run, {
    mode,
    ...(file === undefined ? {} : { file }),
    keys: Object.keys(state),
    tasks: tasks.length,
  });
  return draft.decision(id, []);
}

/** What is left of a session that is over: when that was, and what could be gone back to. */
const LEFT: readonly TableName[] = ['facts', 'checkpoints'];

export function endSession(draft: Draft, { session: id }: Of<'session.end'>): Decision {
  const session = draft.slice.session(id);
  if (session === undefined || session.fact('endedAt') !== undefined) return same();
  for (const name of TABLES) {
    if (LEFT.includes(name)) continue;
    for (const key of session.table(name).keys()) draft.put(id, name, key, null);
  }
  draft.put(id, 'facts', 'endedAt', draft.now);
  draft.event('session.closed', null, null, {});
  return draft.decision(id, []);
}
