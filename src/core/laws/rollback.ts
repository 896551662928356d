/** Checkpoints of a session, and the way back (shared agent protocol §13): files are the caller's, all the rest goes back here, together. */
import type { Checkpoint, Holder, RollingBack } from '../session.ts';
import { isRunning, type Task, taskId } from '../task.ts';
import { dayOf } from '../time.ts';
import { add } from './add.ts';
import { type Decision, refused, same } from './decision.ts';
import type { Draft } from './draft.ts';
import type { NewTask, SessionMessage, Speaker } from './messages.ts';
import { begin, replied } from './session.ts';
import { markStale } from './stale.ts';

type Of<T extends SessionMessage['type']> = Extract<SessionMessage, { type: T }>;

const MOST_CHECKPOINTS = 500;

const checkpointId = (number: number): string => `cp_${String(number).padStart(3, '0')}`;

export function takeCheckpoint(
  draft: Draft,
  { session: id, checkpoint, id: given, since, speaker }: Of<'session.checkpoint'>,
): Decision {
  const session = begin(draft, id);
  const held = session?.fact('rollingBack');
  // Files that are half back are nothing to go back to.
  if (held !== undefined && held.until > draft.now) return underWay(held);
  if (since !== undefined && since !== (session?.fact('rolledBack')?.at ?? null)) {
    return refused('E002', 'the files were rolled back meanwhile', 'take it again');
  }
  const number = (session?.fact('checkpoints') ?? 0) + 1;
  const name = given ?? checkpointId(number);
  if (session?.table('checkpoints').has(name))
    return refused('E_DUPLICATE', `the session ${id} has a checkpoint ${name} already`);
  if ((session?.table('checkpoints').size ?? 0) >= MOST_CHECKPOINTS) {
    // What was taken by itself makes room.
    const oldest = [...(session?.table('checkpoints') ?? [])].find(([, { kind }]) => kind === 'auto')?.[0];
    if (oldest === undefined)
      return refused('E003', `expected at most ${MOST_CHECKPOINTS} checkpoints in the session ${id}`);
    draft.put(id, 'checkpoints', oldest, null);
  }
  const whole: Checkpoint = {
    ...checkpoint,
    at: draft.now,
    by: speaker.agent,
    state: Object.fromEntries(session?.table('state') ?? []),
    variables: Object.fromEntries(session?.table('variables') ?? []),
    tasks: Object.fromEntries([...draft.slice.tasksOf(id)].map((task) => [task.id, task.status])),
  };
  draft.put(id, 'checkpoints', name, whole);
  draft.put(id, 'facts', 'checkpoints', number);
  draft.event('session.checkpoint', null, speaker.run, {
    checkpoint: name,
    kind: checkpoint.kind,
    name: checkpoint.name,
    commit: checkpoint.git?.commit ?? null,
  });
  return draft.decision(id, [replied(`checkpoint_id:${name}`)]);
}

/** So long nothing of a session is begun while its files go back; should whoever does that die, work goes on after it. */
const HOLD_MS = 10 * 60_000;

/** Who is at it, where its time is not over. */
const holderOf = (draft: Draft, held: RollingBack | undefined): Holder | null =>
  held !== undefined && held.until > draft.now ? (held.holder ?? null) : null;

const underWay = ({ to }: RollingBack): Decision =>
  refused('E002', `rolling_back ${to}`, 'two rollbacks of one session would mix their files; see: #ROLLBACK:status');

/** The runs of a session are stopped, but for the one that asks; nothing that is ready is taken before `until`. One at a time. */
export function hold(draft: Draft, message: Of<'session.hold'>): Decision {
  const { session: id, to, keep, holder = null, instead, left = false, speaker } = message;
  const session = draft.slice.session(id);
  const held = session?.fact('rollingBack');
  const other = holderOf(draft, held);
  const isOthers = other !== null && other.token !== holder?.token && other.token !== instead;
  if (to === null || left) {
    // What somebody else has begun since is not called off.
    if (held === undefined || isOthers) return same();
    return left ? leave(draft, id, held, speaker) : callOff(draft, id, held, speaker);
  }
  if (session?.table('checkpoints').has(to) !== true) return unknownCheckpoint(id, to);
  if (held !== undefined && isOthers) return underWay(held);
  const until = draft.now + HOLD_MS;
  const stopped: string[] = [];
  for (const task of [...draft.slice.tasksOf(id)]) {
    if (task.run !== null && task.run.id === speaker.run) continue;
    if (isRunning(task)) {
      draft.transition(task.id, 'ready', { cause: null, availableAt: until }, { reason: 'rolling back' });
      stopped.push(task.id);
    } else if (task.status === 'ready') draft.set(task.id, { availableAt: until });
  }
  // Begun anew, it keeps what it had kept.
  draft.put(id, 'facts', 'rollingBack', { to, keep: held?.to === to ? (held.keep ?? keep) : keep, until, holder });
  draft.event('session.held', null, speaker.run, { checkpoint: to, stopped });
  return draft.decision(id, stopped);
}

function leave(draft: Draft, id: string, held: RollingBack, { run }: Speaker): Decision {
  draft.put(id, 'facts', 'rollingBack', { ...held, holder: null });
  draft.event('session.left', null, run, { checkpoint: held.to });
  return draft.decision(id, []);
}

function callOff(draft: Draft, id: string, held: RollingBack, { run }: Speaker): Decision {
  draft.put(id, 'facts', 'rollingBack', null);
  for (const task of draft.slice.tasksOf(id)) release(draft, task, held.until);
  draft.event('session.released', null, run, { checkpoint: held.to });
  return draft.decision(id, []);
}

const release = (draft: Draft, { id }: Task, until: number): void => {
  const task = draft.task(id) as Task;
  if (task.status === 'ready' && task.availableAt === until) draft.set(id, { availableAt: 0 });
};

const unknownCheckpoint = (session: string, id: string): Decision =>
  refused('E_NOT_FOUND', `the session ${session} has no checkpoint ${id}`, 'see: #CHECKPOINT:list');

export function rollBack(draft: Draft, message: Of<'session.rollback'>): Decision {
  const { session: id, id: to, kept, files, anew, holder, speaker } = message;
  const session = draft.slice.session(id);
  const checkpoint = session?.table('checkpoints').get(to);
  if (session === undefined || checkpoint === undefined) {
    return unknownCheckpoint(id, to);
  }
  const held = session.fact('rollingBack');
  const other = holderOf(draft, held);
  if (held !== undefined && other !== null && other.token !== holder) return underWay(held);
  if (holder !== undefined && (held?.to !== to || held.holder?.token !== holder)) {
    return refused('E002', `another rollback than ${to} was begun since`, 'see: #ROLLBACK:status');
  }
  for (const key of session.table('state').keys())
    if (!Object.hasOwn(checkpoint.state, key)) draft.put(id, 'state', key, null);
  for (const [key, value] of Object.entries(checkpoint.state)) draft.put(id, 'state', key, value);
  for (const name of session.table('variables').keys()) {
    if (!Object.hasOwn(checkpoint.variables, name)) draft.put(id, 'variables', name, null);
  }
  for (const [name, value] of Object.entries(checkpoint.variables)) draft.put(id, 'variables', name, value);
  for (const [resource, lock] of session.table('locks')) draft.put(id, 'locks', resource, { ...lock, until: 0 });
  for (const resource of session.table('reserved').keys()) draft.put(id, 'reserved', resource, null);
  for (const [condition, { at }] of session.table('signals')) {
    if (at > checkpoint.at) draft.put(id, 'signals', condition, null);
  }
  if (held !== undefined) draft.put(id, 'facts', 'rollingBack', null);
  draft.put(id, 'facts', 'rolledBack', { to, at: draft.now, kept, files });

  const tasks = [...draft.slice.tasksOf(id)];
  const made = makeAnew(draft, tasks, checkpoint, anew);
  if (!(made instanceof Map)) return made;
  for (const task of tasks) {
    if (held !== undefined) release(draft, task, held.until);
    // Whoever goes back goes on: an agent that leads, say.
    if (speaker.run === null || task.run?.id !== speaker.run) goBack(draft, task, made);
  }
  const nodes = tasks.flatMap(({ id: task }) => draft.graph.madeBy(task));
  const since = nodes.filter((node) => (draft.graph.node(node)?.createdAt ?? 0) > checkpoint.at);
  markStale(draft, since, `rolled back to ${to}`, null);
  draft.event('session.rolledback', null, speaker.run, {
    checkpoint: to,
    kept,
    files,
    keys: Object.keys(checkpoint.state).length,
    anew: [...made.values()],
    stale: since,
  });
  return draft.decision(id, [replied(`rolled_back:${to}`), ...made.values()]);
}

/** What is done since is done no more: it is marked, and there is a new one in its place, which those wait for that waited for it. */
function makeAnew(
  draft: Draft,
  tasks: readonly Task[],
  { tasks: were }: Checkpoint,
  anew: Of<'session.rollback'>['anew'],
): Map<string, string> | Decision {
  const made = new Map<string, string>();
  const news: NewTask[] = [];
  const day = dayOf(draft.now);
  let number = draft.lastNumber(day);
  for (const task of tasks) {
    if (task.status !== 'done' || were[task.id] === 'done' || task.metadata['stale'] === true) continue;
    draft.set(task.id, { metadata: { ...task.metadata, stale: true } });
    const again = anew.find((each) => each.task === task.id);
    const redo = again === undefined ? null : taskId(day, number + 1);
    draft.event('task.stale', task.id, task.run?.id, { because: 'rolled back', redo });
    if (again === undefined || redo === null) continue;
    number += 1;
    made.set(task.id, redo);
    news.push({ ...again.made, id: redo });
  }
  if (news.length === 0) return made;
  const upon = (id: string): string => made.get(id) ?? id;
  const added = add(
    draft,
    news.map((task) => (task.dependsOn === undefined ? task : { ...task, dependsOn: task.dependsOn.map(upon) })),
    // It is as deep as the one that it stands for.
    Number.POSITIVE_INFINITY,
  );
  return added.kind === 'changed' ? made : added;
}

/** Open ones begin again, and wait for what was made anew. */
function goBack(draft: Draft, { id }: Task, made: ReadonlyMap<string, string>): void {
  const task = draft.task(id) as Task;
  if (task.status === 'done' || task.status === 'cancelled' || task.status === 'deadletter') return;
  const dependsOn = task.dependsOn.map((other) => made.get(other) ?? other);
  if (dependsOn.some((other, i) => other !== task.dependsOn[i])) draft.set(id, { dependsOn });
  if (task.status !== 'in-progress' && task.status !== 'review') return;
  draft.transition(id, 'ready', { cause: null, availableAt: 0 }, { reason: 'rolled back' });
}
