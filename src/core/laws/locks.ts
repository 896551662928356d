/** Locks, signals and who waits for them (shared agent protocol §12): one owner, the most urgent first, then whoever came first; nobody waits in a circle. */
import { LOCK_PRIORITIES, type Lock, type Session, type Waiter } from '../session.ts';
import type { Task } from '../task.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { SessionMessage, Speaker } from './messages.ts';
import { begin, isAlive, replied } from './session.ts';

type Of<T extends SessionMessage['type']> = Extract<SessionMessage, { type: T }>;

/** Who waits says so again within this time, or is thought to be gone. */
const WAIT_LEASE_MS = 15_000;
/** A lock that comes free is kept so long for who was told. */
const RESERVED_MS = 10_000;
const MOST_LOCKS = 1_000;
const MOST_SIGNALS = 1_000;

/** Two runs of one agent are two, and so is whoever speaks by its name without a run. */
const isOwn = (
  held: { readonly run: string | null },
  owner: string,
  { agent, run }: Pick<Speaker, 'agent' | 'run'>,
): boolean => owner === agent && held.run === run;

/** The lock that somebody holds at this moment. */
function heldLock(draft: Draft, session: Session | undefined, resource: string): Lock | null {
  const lock = session?.table('locks').get(resource);
  return lock !== undefined && lock.until > draft.now && isAlive(draft, lock.run) ? lock : null;
}

/** So long a wait makes as urgent as the next priority is: nobody waits for ever behind those who come later. */
const STEP_MS = 30_000;

const rankOf = (draft: Draft, { priority, since }: Pick<Waiter, 'priority' | 'since'>): number =>
  Math.max(0, LOCK_PRIORITIES.indexOf(priority) - Math.max(0, Math.floor((draft.now - since) / STEP_MS)));

/** Those who wait, the most urgent first; of equals, who came first. */
function waitersFor(draft: Draft, session: Session | undefined, condition: string): (readonly [number, Waiter])[] {
  const all = [...(session?.table('waiters') ?? [])].map(([key, waiter]) => [Number(key), waiter] as const);
  return all
    .filter(([, waiter]) => waiter.condition === condition && isWaiting(draft, waiter))
    .sort(([m, a], [n, b]) => rankOf(draft, a) - rankOf(draft, b) || a.since - b.since || m - n);
}

const isWaiting = (draft: Draft, { until, run, deadlock }: Waiter): boolean =>
  deadlock === undefined && until > draft.now && isAlive(draft, run);

/** Whose turn it is before the speaker's; null where nobody's is. */
function ahead(draft: Draft, session: Session | undefined, resource: string, speaker: Speaker): string | null {
  const reserved = session?.table('reserved').get(resource);
  if (reserved !== undefined && reserved.until > draft.now)
    return isOwn(reserved, reserved.agent, speaker) ? null : reserved.agent;
  const waiting = waitersFor(draft, session, resource);
  const first = waiting.find(([, waiter]) => !isOwn(waiter, waiter.agent, speaker));
  if (first === undefined) return null;
  const mine = waiting.find(([, waiter]) => isOwn(waiter, waiter.agent, speaker));
  // Who does not wait comes now, behind those who are as urgent.
  if (mine !== undefined && waiting.indexOf(mine) < waiting.indexOf(first)) return null;
  const rank = rankOf(draft, { priority: speaker.priority, since: draft.now });
  return rank < rankOf(draft, first[1]) ? null : first[1].agent;
}

export function lock(draft: Draft, { session: id, resource, seconds, speaker }: Of<'session.lock'>): Decision {
  const session = begin(draft, id);
  const held = heldLock(draft, session, resource);
  if (held !== null && !isOwn(held, held.owner, speaker)) return same(replied(`busy:${held.owner}`));
  if (held === null) {
    const other = ahead(draft, session, resource, speaker);
    if (other !== null) return same(replied(`busy:${other}`));
    makeRoom(draft, id, session);
  }
  const { agent: owner, run, priority } = speaker;
  const since = held?.since ?? draft.now;
  draft.put(id, 'locks', resource, { owner, run, priority, since, until: draft.now + seconds * 1000 });
  if (session?.table('reserved').has(resource)) draft.put(id, 'reserved', resource, null);
  for (const [number, waiter] of waitersFor(draft, session, resource)) {
    if (isOwn(waiter, waiter.agent, speaker)) draft.put(id, 'waiters', String(number), null);
  }
  draft.event('session.locked', null, run, { resource, owner, seconds });
  return draft.decision(id, [replied('locked')]);
}

/** Locks that are over are forgotten when there are too many to know. */
function makeRoom(draft: Draft, id: string, session: Session | undefined): void {
  const locks = session?.table('locks');
  if (locks === undefined || locks.size < MOST_LOCKS) return;
  for (const resource of locks.keys()) {
    if (heldLock(draft, session, resource) === null && waitersFor(draft, session, resource).length === 0) {
      draft.put(id, 'locks', resource, null);
      return;
    }
  }
}

export function unlock(draft: Draft, { session: id, resource, speaker }: Of<'session.unlock'>): Decision {
  const session = draft.slice.session(id);
  const held = heldLock(draft, session, resource);
  if (held === null) return refused('E002', `not_locked ${resource}`);
  const isMine = isOwn(held, held.owner, speaker);
  if (!isMine && !speaker.leads) return same(replied('not_owner'));
  draft.put(id, 'locks', resource, { ...held, until: 0 });
  draft.event('session.unlocked', null, speaker.run, {
    resource,
    owner: held.owner,
    ...(isMine ? {} : { forced: speaker.agent }),
  });
  return draft.decision(id, [replied('unlocked')]);
}

export function signal(draft: Draft, { session: id, condition, value, speaker }: Of<'session.signal'>): Decision {
  const session = begin(draft, id);
  const signals = session?.table('signals');
  if (signals !== undefined && !signals.has(condition) && signals.size >= MOST_SIGNALS) {
    return refused(
      'E003',
      `expected at most ${MOST_SIGNALS} signals in the session ${id}, and ${condition} would be one more`,
    );
  }
  draft.put(id, 'signals', condition, { value, by: speaker.agent, at: draft.now });
  const count = isYes(value) ? waitersFor(draft, session, condition).length : 0;
  draft.event('session.signaled', null, speaker.run, { condition, value, by: speaker.agent, waiting: count });
  return draft.decision(id, [replied(`signaled:${count}`)]);
}

/** A signal that says no is none. */
const isYes = (value: string): boolean => !['', 'false', '0', 'no', 'off'].includes(value.trim().toLowerCase());

type Condition = 'met' | 'lock' | 'open';

/** What a condition is: a lock that was ever taken (or a path, which can be one), a signal, a task, else agents that have work. */
function look(draft: Draft, session: Session | undefined, message: Of<'session.wait'>): Condition {
  const { session: id, condition, agents = [] } = message;
  if (session?.table('locks').has(condition)) return 'lock';
  const signaled = session?.table('signals').get(condition);
  if (signaled !== undefined) return isYes(signaled.value) ? 'met' : 'open';
  if (condition.includes('/')) return 'lock';
  const task = draft.task(condition) ?? draft.task(draft.slice.byExternalId(id, condition) ?? '');
  if (task !== undefined || agents.length === 0) return task?.status === 'done' ? 'met' : 'open';
  for (const one of draft.slice.tasksOf(id)) if (isWorkOf(draft, one, agents, message.speaker)) return 'open';
  return 'met';
}

/** A run that has not ended, what it came to is still looked at, or it is yet to begin. The speaker's own run does not keep it waiting. */
function isWorkOf(draft: Draft, task: Task, agents: readonly string[], { run }: Speaker): boolean {
  const isOpen = task.status === 'in-progress' || task.status === 'ready' || isLookedAt(draft, task);
  if (!isOpen || (run !== null && task.run?.id === run)) return false;
  const whose = task.status === 'ready' ? task.routing.agent : (task.run?.agent ?? task.routing.agent);
  const names = [whose, ...(task.status === 'ready' ? [task.routing.team] : [])];
  return names.some((name) => name != null && agents.some((agent) => agent.toLowerCase() === name.toLowerCase()));
}

/** Baton looks at the evidence by itself; what a person has to say to it, or to what was found against it, may take days. */
function isLookedAt(draft: Draft, { id, status, reviewRequired, run, cause }: Task): boolean {
  if (status !== 'review' || reviewRequired || run?.supervisor == null) return false;
  if (cause !== null || run.outcome !== 'done') return false;
  return ![...draft.slice.questionsOf(id)].some(({ answer }) => answer === null);
}

export function wait(draft: Draft, message: Of<'session.wait'>): Decision {
  const { session: id, condition, seconds, speaker, wait: number, over = false } = message;
  // Who waited for something of a session that is over waits for nothing, and does not begin it anew.
  if (number !== undefined && draft.slice.session(id)?.fact('endedAt') !== undefined) return same(replied('timeout'));
  const session = begin(draft, id);
  const key = number === undefined ? null : String(number);
  const before = key === null ? undefined : session?.table('waiters').get(key);
  if (over) {
    if (key === null || before === undefined) return same(replied('timeout'));
    draft.put(id, 'waiters', key, null);
    return draft.decision(id, [replied('timeout')]);
  }
  if (key !== null && before?.deadlock !== undefined) {
    draft.put(id, 'waiters', key, null);
    return draft.decision(id, [replied(`deadlock:${before.deadlock}`)]);
  }
  const found = look(draft, session, message);
  const isFree = found === 'lock' && heldByOthers(draft, session, condition, speaker) === null;
  if (found === 'met' || (isFree && isFirst(draft, session, condition, speaker, number))) {
    if (key !== null && before !== undefined) draft.put(id, 'waiters', key, null);
    const reserved = session?.table('reserved').get(condition);
    // Kept once for who was told: asking again and again does not keep it longer.
    const isKept = reserved !== undefined && reserved.until > draft.now;
    if (found === 'lock' && !isKept) {
      const { agent, run } = speaker;
      draft.put(id, 'reserved', condition, { agent, run, until: draft.now + RESERVED_MS });
    } else if (before === undefined) return same(replied('ready'));
    return draft.decision(id, [replied('ready')]);
  }
  if (seconds <= 0) return same(replied('timeout'));
  // What has not changed need not be written again.
  if (before !== undefined && before.until - draft.now > WAIT_LEASE_MS / 3) return same(replied(`waits:${number}`));
  const n = number ?? (session?.fact('waits') ?? 0) + 1;
  const waiter: Waiter = {
    agent: speaker.agent,
    run: speaker.run,
    condition,
    priority: speaker.priority,
    since: before?.since ?? draft.now,
    until: draft.now + WAIT_LEASE_MS,
  };
  const circle = found === 'lock' ? circleOf(draft, session, speaker, condition) : null;
  if (circle !== null) {
    const victim = lowest([...circle, [n, waiter]]);
    const path = [speaker.agent, ...circle.map(([, { agent }]) => agent), speaker.agent].join('→');
    draft.event('session.deadlock', null, speaker.run, { path, told: victim[1].agent });
    if (victim[0] === n) {
      if (key !== null && before !== undefined) draft.put(id, 'waiters', key, null);
      return draft.decision(id, [replied(`deadlock:${path}`)]);
    }
    draft.put(id, 'waiters', String(victim[0]), { ...victim[1], deadlock: path });
  }
  draft.put(id, 'waiters', String(n), waiter);
  if (number === undefined) draft.put(id, 'facts', 'waits', n);
  dropGone(draft, id, session);
  return draft.decision(id, [replied(`waits:${n}`)]);
}

function heldByOthers(draft: Draft, session: Session | undefined, resource: string, speaker: Speaker): Lock | null {
  const held = heldLock(draft, session, resource);
  return held !== null && !isOwn(held, held.owner, speaker) ? held : null;
}

function isFirst(
  draft: Draft,
  session: Session | undefined,
  resource: string,
  speaker: Speaker,
  number: number | undefined,
): boolean {
  const reserved = session?.table('reserved').get(resource);
  if (reserved !== undefined && reserved.until > draft.now) return isOwn(reserved, reserved.agent, speaker);
  const [first] = waitersFor(draft, session, resource);
  if (first === undefined) return true;
  if (first[0] === number) return true;
  const since = session?.table('waiters').get(String(number))?.since ?? draft.now;
  return rankOf(draft, { priority: speaker.priority, since }) < rankOf(draft, first[1]);
}

/** Those who wait for each other, from whoever holds what the speaker wants to whoever wants what the speaker holds. */
function circleOf(
  draft: Draft,
  session: Session | undefined,
  speaker: Speaker,
  condition: string,
): (readonly [number, Waiter])[] | null {
  const waiting = [...(session?.table('waiters') ?? [])]
    .map(([key, waiter]) => [Number(key), waiter] as const)
    .filter(([, waiter]) => isWaiting(draft, waiter));
  const seen = new Set<string>();
  const follow = (resource: string): (readonly [number, Waiter])[] | null => {
    const held = heldLock(draft, session, resource);
    // Two runs of one agent are two who hold and wait.
    if (held === null || seen.has(`${held.owner} ${held.run}`)) return null;
    if (isOwn(held, held.owner, speaker)) return [];
    seen.add(`${held.owner} ${held.run}`);
    for (const each of waiting) {
      if (!isOwn(held, held.owner, each[1])) continue;
      const rest = follow(each[1].condition);
      if (rest !== null) return [each, ...rest];
    }
    return null;
  };
  return follow(condition);
}

/** Who has to give way: the least urgent; of equals, who came last. */
const lowest = (circle: readonly (readonly [number, Waiter])[]): readonly [number, Waiter] =>
  circle.reduce((a, b) => (b[1].priority > a[1].priority || (b[1].priority === a[1].priority && b[0] > a[0]) ? b : a));

/** Of those who have not said for long that they wait, nothing is kept. */
function dropGone(draft: Draft, id: string, session: Session | undefined): void {
  for (const [key, { until, deadlock }] of session?.table('waiters') ?? []) {
    if (until + WAIT_LEASE_MS < draft.now && deadlock === undefined) draft.put(id, 'waiters', key, null);
  }
}
