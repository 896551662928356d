/**
 * A checkpoint of a session (shared agent protocol §13): its files as a commit under a ref, and its state, tasks and place in the graph bound to
 * it in the store, under one name. Taken by command, before what is risky, and when an agent's context is full.
 */
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Actor, Speaker } from '../core/laws/messages.ts';
import type { Checkpoint, CheckpointKind, RolledBack, RollingBack, SessionJson } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import type { Run, Task } from '../core/task.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { checkpointRefs, dropRefs, lastCheckpoint, takeCheckpoint } from '../workspace/checkpoint.ts';
import { gitInfo } from '../workspace/git.ts';
import { repositoryOf } from '../workspace/git-state.ts';
import { RUNTIME } from './actor.ts';
import type { Host } from './host.ts';
import type { Prepared } from './prepare.ts';
import { failureOf } from './work.ts';

interface CheckpointParts {
  readonly store: Store;
  readonly config: Pick<Config, 'git'>;
  /** The data folder: it is in no checkpoint. Null where there is none. */
  readonly dir: string | null;
  readonly workspace: string;
}

interface CheckpointWish {
  readonly session: string;
  readonly kind: CheckpointKind;
  readonly name: string;
  readonly speaker: Speaker;
  readonly actor: Actor;
  /** Where there is no repository there is none of it. Else it binds all but the files. */
  readonly needsFiles?: boolean;
}

export interface TakenHere {
  readonly id: string;
  /** Null where the workspace is in no repository. */
  readonly git: Checkpoint['git'];
}

const MOST_TRIES = 20;

/** Throws where it cannot be taken; then nothing of it is left. */
export async function checkpointSession(parts: CheckpointParts, wish: CheckpointWish): Promise<TakenHere> {
  const { store, workspace } = parts;
  const { session } = wish;
  const info = wish.needsFiles === true ? await repositoryOf(workspace) : await gitInfo(workspace);
  const known = await store.session(session);
  const under = known?.facts?.['rollingBack'] as RollingBack | undefined;
  if (under !== undefined && under.until > Date.now()) {
    throw new BatonError('E002', `rolling_back ${under.to}`, 'files that are half back are in no checkpoint');
  }
  const since = (known?.facts?.['rolledBack'] as RolledBack | undefined)?.at ?? null;
  let number = Math.max(lastNumber(known), info === null ? 0 : await lastCheckpoint(info.root, session));
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    number += 1;
    const id = `cp_${String(number).padStart(3, '0')}`;
    const git = info === null ? null : await filesUnder(parts, wish, id);
    // Somebody else has taken the number meanwhile.
    if (git === 'taken') continue;
    const { kind, name, speaker, actor } = wish;
    const answer = await store.send({
      message: { type: 'session.checkpoint', session, id, checkpoint: { kind, name, workspace, git }, since, speaker },
      by: actor,
    });
    if (answer.kind !== 'refused') {
      if (info !== null) await dropForgotten(parts, session, known);
      return { id, git };
    }
    if (git !== null) await dropRefs(workspace, session, (one) => one.ref === git.ref);
    const { code, message, hint } = answer.refusal;
    if (code !== 'E_DUPLICATE') throw new BatonError(code, message, hint);
  }
  throw new BatonError('E_UNKNOWN', `no number for a checkpoint of ${session} was free`);
}

function lastNumber(session: SessionJson | undefined): number {
  const numbers = Object.keys(session?.checkpoints ?? {}).map((id) => Number(/^cp_(\d+)$/.exec(id)?.[1] ?? 0));
  const counted = session?.facts?.['checkpoints'];
  return Math.max(0, typeof counted === 'number' ? counted : 0, ...numbers);
}

async function filesUnder(
  { workspace, dir, config }: CheckpointParts,
  { session, name, speaker, actor }: CheckpointWish,
  id: string,
): Promise<NonNullable<Checkpoint['git']> | 'taken'> {
  const ref = `${checkpointRefs(session)}/${id}`;
  try {
    const { commit, head, branch, files } = await takeCheckpoint({
      workspace,
      exclude: dir === null ? [] : [dir],
      ref,
      message: `Checkpoint: ${name} [${id}]`,
      // What is committed on a person's branch is said by who leads, or by Baton itself.
      onBranch: config.git === 'branch' && (speaker.leads || actor.kind === 'runtime'),
    });
    return { ref, commit, head, branch, files };
  } catch (cause) {
    if (cause instanceof BatonError && cause.code === 'E_DUPLICATE') return 'taken';
    throw cause;
  }
}

/** What the store forgot to make room needs no ref any more. */
async function dropForgotten(parts: CheckpointParts, session: string, before: SessionJson | undefined): Promise<void> {
  const now = (await parts.store.session(session))?.checkpoints ?? {};
  const gone = new Set(Object.keys(before?.checkpoints ?? {}).filter((id) => !Object.hasOwn(now, id)));
  if (gone.size > 0) await dropRefs(parts.workspace, session, ({ id }) => gone.has(id));
}

/** More files than this in what a run may write, and a checkpoint is taken before it. */
const MOST_FILES = 5;

/**
 * Before a run whose TASK names paths to write that hold more than a few files. Where it says nothing of them it may write all of its workspace,
 * as most may, and that alone is no risk that it speaks of. What goes wrong here is said, and the run goes on.
 */
export async function checkpointBeforeRun(
  host: Host,
  task: Task,
  run: Run,
  message: TaskMessage,
  { ready }: Pick<Prepared, 'ready'>,
): Promise<void> {
  if (message.task.access?.filesystem?.write_paths === undefined || ready.git === null) return;
  if (!(await holdMany(ready.writePaths, host.dir))) return;
  try {
    await checkpointSession(
      { ...host, workspace: ready.workspace },
      {
        session: task.session,
        kind: 'auto',
        name: `before_${run.id}`,
        speaker: { agent: RUNTIME.name, run: null, priority: 'P2', leads: false },
        actor: RUNTIME,
        needsFiles: true,
      },
    );
  } catch (cause) {
    host.warn(`${task.id}: no checkpoint before its run: ${failureOf(cause).message}`);
  }
}

async function holdMany(paths: readonly string[], dir: string): Promise<boolean> {
  let count = 0;
  const look = async (path: string, isNamed: boolean): Promise<void> => {
    if (count > MOST_FILES || path === dir) return;
    let folder: Awaited<ReturnType<typeof opendir>>;
    try {
      folder = await opendir(path);
    } catch {
      // A file, or one that is to be made: the task names it, so it counts. A folder that cannot be read holds nothing that is known.
      if (isNamed) count += 1;
      return;
    }
    for await (const entry of folder) {
      if (count > MOST_FILES) return;
      if (entry.isDirectory() && entry.name !== '.git') await look(join(path, entry.name), false);
      else if (!entry.isDirectory()) count += 1;
    }
  };
  for (const path of new Set(paths)) await look(path, true);
  return count > MOST_FILES;
}
