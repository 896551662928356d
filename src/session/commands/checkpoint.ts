/** `#CHECKPOINT` and `#ROLLBACK` (§13) on real files: what is uncommitted is kept first, and files, state and tasks go back together. */
import { BatonError } from '../../core/errors.ts';
import { isFields, parseJson } from '../../core/fields.ts';
import type { NewTask } from '../../core/laws/messages.ts';
import type { Checkpoint, CheckpointKind, Holder, RolledBack, RollingBack, SessionJson } from '../../core/session.ts';
import type { Task } from '../../core/task.ts';
import { self } from '../../process/identity.ts';
import { newSuffix } from '../../process/new-id.ts';
import { NO_TASK } from '../../protocol/aof/index.ts';
import { isAtWork } from '../../runtime/half-back.ts';
import { checkpointSession } from '../../runtime/session-checkpoint.ts';
import { checkpointRefs, diffSince, listCheckpointRefs } from '../../workspace/checkpoint.ts';
import { gitInfo } from '../../workspace/git.ts';
import { notRestored, notRestoredWords } from '../../workspace/not-restored.ts';
import { planRollback, type Refusal, type RollbackPlan, rollBackTo } from '../../workspace/restore.ts';
import { type Call, failed, form, list, type Said, text } from '../call.ts';
import { fitting, plain, sessionTasks, since } from '../lookup.ts';
import { ask, codeOf } from '../refusals.ts';
import { whenGone } from '../runs-gone.ts';

const NO_FILES = '→ no repository: files are not in it';

export async function checkpoint(call: Call): Promise<Said> {
  const [sub, first = '', second = ''] = call.params;
  if (sub === 'create') return create(call, first as CheckpointKind, second);
  return sub === 'diff' ? diff(call, first) : all(call);
}

async function create(call: Call, kind: CheckpointKind, name: string): Promise<Said> {
  const { session, speaker, actor } = call;
  const { id, git } = await checkpointSession(call, { session, kind, name: plain(name), speaker, actor });
  const under = underWay(await call.store.session(session));
  if (under !== undefined) call.warn(`${id} holds the files of a rollback to ${under.to} that was stopped half-way`);
  return form(git === null ? `checkpoint_id:${id}\n${NO_FILES}` : `checkpoint_id:${id}`);
}

/** The latest first. */
async function all(call: Call): Promise<Said> {
  const { store, session, now } = call;
  const { checkpoints = {} } = (await store.session(session)) ?? {};
  return list(
    Object.entries(checkpoints)
      .reverse()
      .map(([id, { name, kind, at }]) => {
        const [point, age] = [`${id} ${name}`, since(now() - at)];
        return fitting(call, [
          `${point} (${kind}, ${age} ago)`,
          `${point} (${kind}, ${age})`,
          `${point} ${age}`,
          point,
        ]);
      }),
  );
}

const unknown = (id: string): Said => failed('E002', `unknown_checkpoint ${id}`);
const excluded = ({ dir }: Call): readonly string[] => (dir === null ? [] : [dir]);

async function found(call: Call, id: string): Promise<Checkpoint | undefined> {
  const { checkpoints = {} } = (await call.store.session(call.session)) ?? {};
  return Object.hasOwn(checkpoints, id) ? checkpoints[id] : undefined;
}

async function diff(call: Call, id: string): Promise<Said> {
  const point = await found(call, id);
  if (point === undefined) return unknown(id);
  if (point.git === null) return text('no files in it: no repository');
  const { workspace, git } = point;
  const {
    files,
    added,
    removed,
    list: changes,
  } = await diffSince({
    workspace,
    exclude: excluded(call),
    commit: git.commit,
  });
  const names = changes.map(({ path }) => path).join(', ');
  // The names where there is room for them: a diff scales with what has changed (§14).
  const isLong = files > 0 && (call.command.limit !== null || files >= 10);
  const head = `Files changed: ${files}, Lines: +${added} -${removed}`;
  return text(isLong && call.command.limit !== 'brief' ? `${head}: ${names}` : head, { filesChanged: files });
}

export async function rollback(call: Call): Promise<Said> {
  const [first = '', second = ''] = call.params;
  if (first === 'status') return status(call);
  if (first === 'dry-run') return preview(call, second);
  if (!call.speaker.leads) return failed('E005', 'only who leads the session rolls back');
  return goBack(call, first, second === 'force');
}

async function status(call: Call): Promise<Said> {
  const { store, session, now } = call;
  const { facts } = (await store.session(session)) ?? {};
  const under = facts?.['rollingBack'] as RollingBack | undefined;
  if (under !== undefined) {
    if (isAtWork(under, now())) return text(`rolling_back:${under.to}`);
    // Some files may be back, and what was there before is kept: whoever rolls back again completes it.
    const point = await found(call, under.to);
    const there = under.keep === null || point === undefined ? [] : await listCheckpointRefs(point.workspace, session);
    const kept = there.findLast(({ ref }) => ref === under.keep || ref.startsWith(`${under.keep}-`))?.id;
    const said = `interrupted:${under.to}`;
    return text(fitting(call, kept === undefined ? [said] : [`${said}, ${kept}`, said]));
  }
  const last = facts?.['rolledBack'] as RolledBack | undefined;
  if (last === undefined) return text('none');
  const [done, when] = [`rolled_back:${last.to}`, `${since(now() - last.at)} ago`];
  const kept = last.kept === null ? [] : [last.kept.split('/').at(-1)];
  return text(fitting(call, [[done, ...kept, when].join(', '), [done, ...kept].join(', '), done]));
}

/** Null where the checkpoint has no files. */
async function planOf(call: Call, { workspace, git }: Checkpoint): Promise<RollbackPlan | null> {
  if (git === null) return null;
  return planRollback({
    workspace,
    exclude: excluded(call),
    checkpoint: git,
    rules: await keptCommits(call, workspace),
  });
}

/** In a word where there is one: ten tokens are soon over. */
const refusal = ({ code, message, name }: Pick<Refusal, 'code' | 'message' | 'name'>): Said =>
  failed(codeOf({ code }), name ?? message);

/** So many of the latest trees that were kept are asked what they ignored. */
const MOST_KEPT = 20;

/** What was ignored when an earlier rollback began is ignored, though the rules that say so went with it. */
async function keptCommits({ session }: Call, workspace: string): Promise<readonly string[]> {
  if ((await gitInfo(workspace)) === null) return [];
  const refs = (await listCheckpointRefs(workspace, session)).filter(({ id }) => id.startsWith('kept_'));
  return refs.slice(-MOST_KEPT).map(({ commit }) => commit);
}

/** What stays as it is, before and after: a rollback of files is no rollback of these. */
async function leftAsItIs(call: Call, { workspace, git }: Checkpoint): Promise<string[]> {
  const words = git === null ? null : notRestoredWords(await notRestored(workspace, excluded(call)));
  return words === null ? [] : [`→ ${plain(words)}`];
}

/** Why a rollback would be refused now; null where it would not. */
async function standsAgainst(call: Call, plan: RollbackPlan | null, force: boolean): Promise<Said | null> {
  if (!call.speaker.leads) return failed('E005', 'only who leads the session rolls back');
  if (plan !== null && plan.refusal !== null) return refusal(plan.refusal);
  const under = underWay(await call.store.session(call.session));
  if (under !== undefined && isAtWork(under, call.now())) return failed('E002', `rolling_back ${under.to}`);
  const [question] = plan?.questions ?? [];
  if (question === undefined || force) return null;
  const commits = /^\d+ commits?/.exec(question)?.[0];
  return failed('E002', commits === undefined ? question : `${commits} since, add :force`);
}

async function preview(call: Call, id: string): Promise<Said> {
  const point = await found(call, id);
  if (point === undefined) return unknown(id);
  const plan = await planOf(call, point);
  const against = await standsAgainst(call, plan, false);
  if (against !== null) return against;
  const back = (plan?.restored.length ?? 0) + (plan?.recreated.length ?? 0);
  const keys = `${Object.keys(point.state).length} keys`;
  if (plan === null) return text(`restores no files, ${keys}`);
  const parts = [
    `restores ${back}`,
    ...(plan.removed.length === 0 ? [] : [`removes ${plan.removed.length}`]),
    ...(plan.keeps ? ['stashes'] : []),
  ];
  const words = fitting(call, [[...parts, keys].join(', '), parts.join(', ')]);
  const left = await leftAsItIs(call, point);
  return left.length === 0 ? text(words) : form([words, ...left].join('\n'));
}

async function goBack(call: Call, id: string, force: boolean): Promise<Said> {
  const { session, speaker } = call;
  const point = await found(call, id);
  if (point === undefined) return unknown(id);
  const against = await standsAgainst(call, await planOf(call, point), force);
  if (against !== null) return against;
  const holder: Holder = { token: newSuffix(12), ...self() };
  const before = underWay(await call.store.session(session));
  const held = await ask(call, {
    type: 'session.hold',
    session,
    to: id,
    keep: point.git === null ? null : await keepRef(call, point),
    holder,
    ...(before?.holder == null || isAtWork(before, call.now()) ? {} : { instead: before.holder.token }),
    speaker,
  });
  if ('said' in held) return held.said;
  const release = async (said: Said): Promise<Said> => {
    await ask(call, { type: 'session.hold', session, to: null, keep: null, holder, speaker });
    return said;
  };
  const busy = await whenGone(call);
  if (busy !== null) return release(failed('E002', `still_at_work ${busy}`));
  let files: Awaited<ReturnType<typeof restore>>;
  try {
    files = await restore(call, point, holder, force);
  } catch (cause) {
    if (cause instanceof BatonError && cause.code !== 'E_ROLLBACK_FAILED') return release(refusal(cause));
    // Half of the files are back: nothing is begun upon that for a while, and whoever rolls back again completes it.
    await ask(call, { type: 'session.hold', session, to: id, keep: null, holder, left: true, speaker });
    if (!(cause instanceof BatonError)) throw cause;
    call.warn(cause.message);
    const where = /kept in (\S+)/.exec(cause.message)?.[1]?.split('/').at(-1);
    return failed('E002', `half_done${where === undefined ? '' : ` ${where}`}, roll back again`);
  }
  const kept = files?.kept ?? null;
  const count = files === null ? 0 : files.restored.length + files.removed.length;
  const anew = await madeAnew(call, point);
  const answer = await ask(call, {
    type: 'session.rollback',
    session,
    id,
    kept,
    files: count,
    anew,
    holder: holder.token,
    speaker,
  });
  if ('said' in answer) return release(answer.said);
  const { keys, stale } = { keys: Object.keys(point.state).length, stale: anew.length };
  return form(
    [
      ...(kept === null ? [] : ['→ Stashing uncommitted changes', `→ kept:${kept}`]),
      `→ Rolling back to ${id}`,
      ...(files === null ? [NO_FILES] : [`→ Files restored: ${count}`]),
      `→ State restored: ${keys} keys`,
      ...(stale === 0 ? [] : [`→ Tasks made anew: ${stale}`]),
      ...(files?.notes ?? []).map((note) => `→ ${plain(note)}`),
      ...(await leftAsItIs(call, point)),
      `rolled_back:${id}`,
    ].join('\n'),
  );
}

/** The next that is free. Where this rollback was begun before, the store keeps to the one that it had then. */
async function keepRef({ session }: Call, { workspace }: Checkpoint): Promise<string> {
  const numbers = (await listCheckpointRefs(workspace, session)).map(({ id }) =>
    Number(/^kept_(\d+)/.exec(id)?.[1] ?? 0),
  );
  return `${checkpointRefs(session)}/kept_${String(Math.max(0, ...numbers) + 1).padStart(3, '0')}`;
}

const underWay = (session: SessionJson | undefined): RollingBack | undefined =>
  session?.facts?.['rollingBack'] as RollingBack | undefined;

async function restore(
  call: Call,
  { workspace, git }: Checkpoint,
  { token }: Holder,
  force: boolean,
): Promise<Awaited<ReturnType<typeof rollBackTo>> | null> {
  if (git === null) return null;
  const { keep, holder } = underWay(await call.store.session(call.session)) ?? {};
  if (keep == null || holder?.token !== token)
    throw new BatonError('E_UNKNOWN', 'the rollback was ended by somebody else');
  const rules = await keptCommits(call, workspace);
  return rollBackTo({ workspace, exclude: excluded(call), checkpoint: git, keepRef: keep, rules, force });
}

/** A text of a task that its new one has as well. */
const TEXTS = ['body', 'inputs/task.json', 'inputs/handoff.json', 'inputs/handoff.md', 'inputs/source.md'];

/** What was done since, as it was asked for. A part of what begins again is handed on again by that, so it is not made here. */
async function madeAnew(
  call: Call,
  { tasks: were }: Checkpoint,
): Promise<{ readonly task: string; readonly made: NewTask }[]> {
  const { store, session, speaker } = call;
  const tasks = await sessionTasks(call);
  const undone = tasks.filter(
    ({ id, status, metadata }) => status === 'done' && were[id] !== 'done' && metadata['stale'] !== true,
  );
  const again = new Set([
    ...undone.map(({ id }) => id),
    ...tasks.filter((task) => task.status === 'in-progress' || task.status === 'review').map(({ id }) => id),
    ...tasks.filter(({ run, status }) => status === 'ready' && run?.status === 'cancelled').map(({ id }) => id),
  ]);
  const own = tasks.find(({ run }) => run !== null && run.id === speaker.run)?.id;
  if (own !== undefined) again.delete(own);
  const roots = undone.filter(({ parentId }) => parentId === null || !again.has(parentId));
  return Promise.all(
    roots.map(async (task) => {
      const texts = await Promise.all(TEXTS.map(async (name) => [name, await store.text(task.id, name)] as const));
      const there = texts.filter((entry): entry is readonly [string, string] => entry[1] !== null);
      return { task: task.id, made: newOf(task, session, Object.fromEntries(there)) };
    }),
  );
}

function newOf(task: Task, session: string, texts: Readonly<Record<string, string>>): NewTask {
  const { title, priority, routing, dependsOn, writes, retry, reviewRequired, parentId, metadata, id } = task;
  const { model, workspace, externalId } = task;
  const envelope = parseJson(texts['inputs/task.json'] ?? '');
  // A TASK with an id of its own keeps it, so that running the same TASK again finds this task.
  const named = externalId === null && isFields(envelope) && isFields(envelope['task']) ? envelope : null;
  const renamed = named === null ? {} : { ...named, task: { ...(named['task'] as object), task_id: NO_TASK } };
  return {
    title,
    session,
    priority,
    routing,
    dependsOn,
    writes,
    retry,
    reviewRequired,
    ...(model === null ? {} : { model }),
    ...(workspace === null ? {} : { workspace: { ...workspace, base: null } }),
    ...(parentId === null ? {} : { parentId }),
    ...(externalId === null ? {} : { externalId }),
    metadata: { ...metadata, anew: id },
    texts: named === null ? texts : { ...texts, 'inputs/task.json': `${JSON.stringify(renamed, null, 2)}\n` },
    ...(named === null ? {} : { idWord: NO_TASK }),
  };
}
