/** `runs/<taskId>/run.json` and `run_result.json`: the latest run of a task, as the aof document has them. */
import { isFields, parseJson } from '../../../core/fields.ts';
import { fileNameOfRun, type Run, type Task } from '../../../core/task.ts';
import { type RunArtifact, writeRunFile } from '../../../protocol/aof/index.ts';
import { RUN_RESULT, silentResult } from '../../../protocol/aof/run-result.ts';
import { type Batch, NOT_A_FILE, NOT_A_FOLDER, type Obstacle, refuse, sharedFolder, writeWhole } from './batch.ts';
import { runsFolder } from './paths.ts';
import { asBuffer } from './stamp.ts';
import { timeOf } from './text.ts';

export function writeRuns(batch: Batch, task: Task, said: string | undefined): Obstacle | null {
  const { run } = task;
  if (run === null) return null;
  const runs = runsFolder(batch.root);
  const folder = `${runs}/${task.id}`;
  const obstacle = sharedFolder(batch, runs);
  if (obstacle !== null) return obstacle;
  const kind = batch.disk.stat(folder)?.kind;
  if (kind === undefined) batch.disk.mkdir(folder);
  else if (kind !== 'folder') return refuse(folder, NOT_A_FOLDER);
  const write = kind === undefined ? writeNew : writeChanged;
  if (kind !== undefined && run.status === 'running') setAside(batch, task.id, run, folder);
  const result = resultFor(batch, task, run, said, `${folder}/${RUN_RESULT}`);
  return (
    // The result comes first: who sees a run that has ended finds what it said.
    (result === null ? null : write(batch, task.id, `${folder}/${RUN_RESULT}`, result)) ??
    write(batch, task.id, `${folder}/run.json`, writeRunFile('run.json', withTheirs(batch, folder, task, run)))
  );
}

/** What the agent has said, if this run's; else what a run without a report comes to, unless the file says what this run said. */
function resultFor(batch: Batch, task: Task, run: Run, said: string | undefined, path: string): string | null {
  if (said !== undefined && isOf(said, run)) return said;
  const silent = silentResult(task);
  if (silent === null || batch.disk.stat(path)?.kind !== 'file') return silent;
  const there = batch.disk.read(path);
  return there !== null && isOf(asBuffer(there).toString('utf8'), run) ? null : silent;
}

/** A result that cannot be read and that was there before this run began is not this run's: it is kept beside it. */
function setAside({ disk }: Batch, id: string, run: Run, folder: string): void {
  const path = `${folder}/${RUN_RESULT}`;
  const isBegun = isOf(textAt(disk, `${folder}/run.json`), run);
  if (isBegun || disk.stat(path)?.kind !== 'file' || nameIn(textAt(disk, path)) !== null) return;
  disk.rename(path, `${folder}/run_result.unreadable-before-${run.id.slice(id.length + 1)}.json`);
}

/** `run.json` with the fields that another program has put into it, where it is the same run's. */
function withTheirs({ disk }: Batch, folder: string, task: Task, run: Run): RunArtifact {
  const own = artifactOf(task, run);
  if (run.externalId === undefined) return own;
  const text = textAt(disk, `${folder}/run.json`);
  return isOf(text, run) ? { ...(parseJson(text) as RunArtifact), ...own } : own;
}

const textAt = (disk: Batch['disk'], path: string): string =>
  disk.stat(path)?.kind === 'file' ? asBuffer(disk.read(path) ?? Buffer.alloc(0)).toString('utf8') : '';

/** The run that a file names; null where it names none. */
function nameIn(text: string): string | null {
  const value = parseJson(text);
  return isFields(value) && typeof value['runId'] === 'string' ? value['runId'] : null;
}

const isOf = (text: string, run: Run): boolean => nameIn(text) === fileNameOfRun(run);

/** In a folder that was made just now there is nothing to look for. */
function writeNew(batch: Batch, id: string, path: string, text: string): null {
  writeWhole(batch, id, path, text);
  return null;
}

function writeChanged(batch: Batch, id: string, path: string, text: string): Obstacle | null {
  const kind = batch.disk.stat(path)?.kind;
  if (kind !== undefined && kind !== 'file') return refuse(path, NOT_A_FILE);
  const there = kind === undefined ? null : batch.disk.read(path);
  // Most changes of a task do not touch its run.
  if (there === null || !asBuffer(there).equals(Buffer.from(text))) writeWhole(batch, id, path, text);
  return null;
}

/** The document knows no cancelled run, so that is said in `metadata`. */
function artifactOf(task: Task, run: Run): RunArtifact {
  const metadata = {
    ...(run.status === 'cancelled' ? { status: run.status } : {}),
    ...(run.outcome === null ? {} : { outcome: run.outcome }),
    ...(run.supervisor === null ? {} : { supervisor: run.supervisor }),
  };
  return {
    runId: fileNameOfRun(run),
    taskId: task.id,
    agentId: run.agent,
    startedAt: timeOf(run.startedAt),
    ...(run.status === 'cancelled' ? {} : { status: run.status }),
    attempt: run.attempt,
    ...(run.model ? { model: run.model } : {}),
    sessionId: task.session,
    ...(run.endedAt === null
      ? { leaseExpiresAt: timeOf(run.startedAt + run.leaseMs) }
      : { endedAt: timeOf(run.endedAt) }),
    ...(run.outcome === null ? {} : { resultRef: 'run_result.json' }),
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
  };
}
