/** Checkpoints of a session, and the way back (shared agent protocol §13; DECISIONS §10): files are the caller's, all the rest goes back here, together. */
import type { Checkpoint } from '../session.ts';
import type { Task } from '../task.ts';
import { add } from './add.ts';
import { type Decision, refused } from './decision.ts';
import type { Draft } from './draft.ts';
import type { SessionMessage } from './messages.ts';
import { begin, replied } from './session.ts';
import { markStale } from './stale.ts';

type Of<T extends SessionMessage['type']> = Extract<SessionMessage, { type: T }>;

const MOST_CHECKPOINTS = 500;

export const checkpointId = (number: number): string => `cp_${String(number).padStart(3, '0')}`;

export function takeCheckpoint(
  draft: Draft,
  { session: id, checkpoint, id: given, speaker }: Of<'session.checkpoint'>,
): Decision {
  const session = begin(draft, id);
  const number = (session?.fact('checkpoints') ?? 0) + 1;
  const name = given ?? checkpointId(number);
  if (session?.table('checkpoints').has(name))
    return refused('E_DUPLICATE', `the session ${id} has a checkpoint ${name} already`);
  if ((session?.table('checkpoints').size ?? 0) >= MOST_CHECKPOINTS) {
    return refused('E003', `expected at most ${MOST_CHECKPOINTS} checkpoints in the session ${id}`);
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

export function rollBack(draft: Draft, message: Of<'session.rollback'>): Decision {
  const { session: id, id: to, kept, files, anew, speaker } = message;
  const session = draft.slice.session(id);
  const checkpoint = session?.table('checkpoints').get(to);
  if (session === undefined || checkpoint === undefined) {
    return refused('E_NOT_FOUND', `the session ${id} has no checkpoint ${to}`, 'see: #CHECKPOINT:list');
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
  draft.put(id, 'facts', 'rolledBack', { to, at: draft.now, kept, files });

  const tasks = [...draft.slice.tasksOf(id)];
  const made = makeAnew(draft, tasks, checkpoint, anew);
  if (!(made instanceof Map)) return made;
  for (const task of tasks) goBack(draft, task, made);
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

/** What is done since is done no more: it is marked, and there is a new one in its place. */
function makeAnew(
  draft: Draft,
  tasks: readonly Task[],
  { tasks: were }: Checkpoint,
  anew: Of<'session.rollback'>['anew'],
): Map<string, string> | Decision {
  const made = new Map<string, string>();
  for (const task of tasks) {
    if (task.status !== 'done' || were[task.id] === 'done') continue;
    const again = anew.find((each) => each.task === task.id);
    draft.set(task.id, { metadata: { ...task.metadata, stale: true } });
    draft.event('task.stale', task.id, task.run?.id, { because: 'rolled back' });
    if (again === undefined) continue;
    const added = add(draft, [again.made]);
    if (added.kind !== 'changed') return added;
    made.set(task.id, added.facts.about.at(-1) as string);
  }
  return made;
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
