/**
 * Keeps the tree and the journal together, both ways: what was recorded is written into the tree, a little later, what was overtaken is skipped;
 * and what a person does in the tree becomes a message like any other, or is put back.
 */
import { BatonError, messageOf } from '../../core/errors.ts';
import type { Actor, TaskMessage } from '../../core/laws/messages.ts';
import type { State } from '../../core/state.ts';
import type { AdmitFile, Answer, Ask, KnownTasks } from '../../core/store.ts';
import type { Task, TaskStatus } from '../../core/task.ts';
import { newSuffix } from '../../process/new-id.ts';
import { RUN_RESULT } from '../../protocol/aof/run-result.ts';
import { findTask, inOrder } from '../decide-ask.ts';
import type { Disk, Stat } from './disk.ts';
import type { Written } from './journal.ts';
import type { Layout } from './layout.ts';
import type { Exactly } from './tree/aside.ts';
import { placeOf, stemOf, taskFile } from './tree/paths.ts';
import { type Dropped, type Edited, type Finding, isCutShort, look, type Moved } from './tree/reader.ts';
import { type ScanFinding, type ScanOptions, type ScanState, scan } from './tree/scan.ts';
import type { TreeWorker } from './tree/worker.ts';
import { applyJobs, type Job, type JobResult } from './tree/writer.ts';

/** What the tree needs to know of the store. */
interface TreeSource {
  readonly disk: Disk;
  readonly layout: Layout;
  readonly state: () => State;
  readonly textOf: (id: string, name: string) => string | null;
  /** A task as a record left it. */
  readonly asOf: (id: string, seq: number) => { readonly task: Task; readonly body: string } | undefined;
  /** The names of the texts that a task has besides its body. */
  readonly textNames: (id: string) => readonly string[];
  readonly send: (ask: Ask) => Promise<Answer>;
  /** What every change has to pass before it is sent. */
  readonly admit: AdmitFile | null;
  /** Resolves when all that memory knows is durable. */
  readonly durable: () => Promise<void>;
  /** The data folder is no longer there. */
  readonly isGone: () => boolean;
  /** Jobs are given to it when there are many. */
  readonly worker: (() => TreeWorker) | null;
  /** The last record. */
  readonly seq: number;
  /** Something was written. */
  readonly onShown: () => void;
  readonly onProblem: (problem: TreeProblem) => void;
}

export interface TreeProblem {
  readonly path: string;
  readonly reason: string;
}

interface TreeSync {
  /** Records are durable. */
  follow(written: readonly Written[]): void;
  /** These tasks are to be written again, wherever their files are. */
  again(ids: Iterable<string>): void;
  /** These paths may have been changed by somebody. */
  look(paths: readonly string[]): Promise<void>;
  /** Compares the whole tree with the state, a little at a time. */
  compare(options: ScanOptions, until: AbortSignal): Promise<readonly ScanFinding[]>;
  /** Everything is written. */
  settled(): Promise<void>;
  /** This task is written as it was when this was asked; it goes before all others. */
  shownTask(id: string): Promise<void>;
  /** After a loss of power: whether all that is there of a task's file is what Baton wrote. */
  isCutShort(id: string, bytes: Uint8Array): boolean;
  /** Whether a file was written here a moment ago, or is to be. */
  isRecent(path: string): boolean;
  /** Whether a file is as it was left here, or gone because its task has moved on. */
  isOwnDoing(path: string): boolean;
  /** The record up to which the tree shows everything. */
  shown(): number;
  close(): Promise<void>;
}

interface Entry {
  /** Where its file is; not where it was in between. */
  from: Job['from'];
  readonly first: number;
  readonly since: number;
  changed: number;
  seq: number;
  /** Null where it is to be read: it is long. */
  texts: Record<string, string | null>;
  /** Changes that were read out of files, which may now be replaced. */
  replaces: readonly Exactly[];
}

interface UnderWay {
  readonly entry: Entry;
  readonly status: TaskStatus;
}

/** Written at once in one turn, so that nobody waits for long. */
const INLINE = 32;
const AT_WORKER = 256;
/** A worker costs a thread; it is worth it when there is this much to do. */
const MANY = 400;
/** A folder tells of a change within this time. */
const OWN_MS = 5_000;
/** A task that changes is left alone until it keeps still for so long, but not for longer than the second: most states are overtaken. */
const STILL_MS = 300;
const MOST_MS = 800;
const PAUSE_MS = 50;
const AGAIN_MS = 1_000;
/** How long it may look without a pause. */
const TURN_MS = 5;
const MOST_TOLD = 1_000;
const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export function createTreeSync(source: TreeSource): TreeSync {
  const { disk, layout, state } = source;
  const treeState: ScanState = {
    task: (id) => state().task(id),
    tasks: () => state().all(),
    body: (id) => source.textOf(id, 'body') ?? '',
    asOf: source.asOf,
  };
  const dirty = new Map<string, Entry>();
  /** What is being written at this moment. */
  let underWay: ReadonlyMap<string, UnderWay> = new Map();
  let last = source.seq;
  let worker: TreeWorker | null = null;
  let timer: NodeJS.Timeout | null = null;
  let flushing: Promise<void> | null = null;
  /** Somebody waits for what was recorded up to here. */
  let awaited = -1;
  /** Tasks that somebody waits for; they are written first. */
  const wanted = new Map<string, number>();
  let isClosed = false;
  /** The power was lost, and not every file has been looked at since: one of ours may be cut short. */
  let isUnclean = false;
  /** Tasks that cannot be written, until something about them changes. */
  const stuck = new Map<string, string>();
  /** Tasks that the disk would not take; they are tried again. */
  const failed = new Map<string, Entry>();

  const mark = (id: string, seq: number, from: Job['from'], texts: Readonly<Record<string, string | null>>): Entry => {
    const known = dirty.get(id);
    if (known !== undefined) {
      known.seq = Math.max(known.seq, seq);
      known.changed = performance.now();
      Object.assign(known.texts, texts);
      return known;
    }
    const entry: Entry = {
      // What is under way ends with the file where that job puts it; should it fail, the file is looked for.
      from: underWay.get(id)?.status ?? from,
      first: seq,
      since: performance.now(),
      changed: performance.now(),
      seq,
      texts: { ...texts },
      replaces: [],
    };
    dirty.set(id, entry);
    return entry;
  };

  const schedule = (): void => {
    if (timer !== null || flushing !== null || isClosed || dirty.size + failed.size === 0) return;
    const pause = dirty.size === 0 ? AGAIN_MS : PAUSE_MS;
    timer = setTimeout(() => {
      timer = null;
      if (pause === AGAIN_MS) tryAgain();
      flush().catch((cause: Error) => source.onProblem({ path: layout.root, reason: cause.message }));
    }, pause);
    timer.unref();
  };

  const tryAgain = (): void => {
    for (const [id, { seq, texts, replaces }] of failed) {
      failed.delete(id);
      const entry = mark(id, seq, 'unknown', texts);
      entry.replaces = [...entry.replaces, ...replaces];
    }
  };

  const jobOf = (id: string, entry: Entry): Job | null => {
    const task = state().task(id);
    if (task === undefined) return null;
    const texts: Record<string, string | null> = {};
    for (const name of ['body', ...Object.keys(entry.texts)])
      texts[name] = entry.texts[name] ?? source.textOf(id, name);
    if (entry.from === 'unknown') {
      for (const name of source.textNames(id)) texts[name] ??= source.textOf(id, name);
    }
    const parent = task.parentId === null ? undefined : state().task(task.parentId)?.status;
    const { [RUN_RESULT]: result, ...files } = texts;
    return {
      task,
      seq: entry.seq,
      from: entry.from,
      texts: files,
      ...(result == null ? {} : { result }),
      ...(entry.replaces.length === 0 ? {} : { replaces: entry.replaces }),
      ...(parent === undefined ? {} : { parent }),
    };
  };

  const run = async (jobs: readonly Job[]): Promise<readonly JobResult[]> => {
    if (worker === null) return applyJobs(disk, layout.root, jobs);
    try {
      return await worker.apply(jobs);
    } catch (cause) {
      // Every job can be done again; without the thread it is done here.
      worker = null;
      source.onProblem({ path: layout.root, reason: (cause as Error).message });
      return applyJobs(disk, layout.root, jobs);
    }
  };

  const flush = (): Promise<void> => {
    flushing ??= flushAll().finally(() => {
      flushing = null;
      schedule();
    });
    return flushing;
  };

  const flushAll = async (): Promise<void> => {
    while (dirty.size > 0 && (await flushSome())) if (worker === null) await turn();
  };

  const isDue = ({ first, since, changed }: Entry, now: number): boolean =>
    first <= awaited || now - changed >= STILL_MS || now - since >= MOST_MS;

  const isPending = (seq: number): boolean => {
    for (const { first } of dirty.values()) if (first <= seq) return true;
    return flushing !== null;
  };

  /** A text that is gone keeps no other task from being written. */
  const guarded = (id: string, entry: Entry): Job | null => {
    try {
      return jobOf(id, entry);
    } catch (cause) {
      source.onProblem({ path: id, reason: (cause as Error).message });
      return null;
    }
  };

  function* inTurn(): Generator<string> {
    for (const id of wanted.keys()) if (dirty.has(id)) yield id;
    yield* dirty.keys();
  }

  /** False where nothing is due yet. */
  const flushSome = async (): Promise<boolean> => {
    if (worker === null && source.worker !== null && dirty.size > MANY) worker = source.worker();
    const most = worker === null ? INLINE : AT_WORKER;
    const due = new Map<string, { readonly entry: Entry; readonly task: Task | undefined }>();
    const now = performance.now();
    for (const id of inTurn()) {
      const entry = dirty.get(id);
      if (entry === undefined || !(wanted.has(id) || isDue(entry, now))) continue;
      dirty.delete(id);
      due.set(id, { entry, task: state().task(id) });
      if (due.size === most) break;
    }
    if (due.size === 0) return false;
    const putOff = (): void => {
      for (const [id, { entry }] of due) failed.set(id, entry);
    };
    if (source.isGone()) {
      putOff();
      return true;
    }
    // The state may be ahead of what is durable, and the tree shows nothing that a crash could undo.
    try {
      await source.durable();
    } catch (cause) {
      putOff();
      throw cause;
    }
    const taken = new Map<string, UnderWay>();
    const jobs: Job[] = [];
    for (const [id, { entry, task }] of due) {
      const whole = withLater(entry, dirty.get(id));
      dirty.delete(id);
      // Overtaken again: a file shows a task exactly as the record in its stamp left it.
      if (state().task(id) !== task) {
        dirty.set(id, whole);
        continue;
      }
      const job = guarded(id, whole);
      if (job === null) continue;
      taken.set(id, { entry: whole, status: job.task.status });
      jobs.push(job);
    }
    underWay = taken;
    const results = await run(jobs);
    underWay = new Map();
    for (const result of results) {
      const job = taken.get(result.id) as UnderWay;
      try {
        await settle(result, job);
      } catch (cause) {
        // What a person did could not be written down just now.
        failed.set(result.id, job.entry);
        source.onProblem({ path: layout.root, reason: messageOf(cause) });
      }
    }
    source.onShown();
    return true;
  };

  const settle = async (result: JobResult, { entry, status }: UnderWay): Promise<void> => {
    if (result.kind === 'done') {
      stuck.delete(result.id);
      wrote(taskFile(layout.root, status, result.id), result.file);
      return;
    }
    const next = dirty.get(result.id);
    if (next !== undefined) next.from = 'unknown';
    if (result.kind === 'failed') {
      failed.set(result.id, entry);
      source.onProblem({ path: layout.root, reason: result.reason });
      return;
    }
    const reason = result.kind === 'foreign' ? `${result.path} ${result.digest}` : result.reason;
    if (stuck.get(result.id) === reason) return;
    stuck.set(result.id, reason);
    if (result.kind === 'foreign') {
      // A person was quicker. What they did comes first; then the task is written again.
      const again = mark(result.id, entry.seq, 'unknown', { ...entry.texts, ...next?.texts });
      again.replaces = [...again.replaces, ...entry.replaces];
      await take(look(disk, layout.root, result.path, treeState, { unclean: isUnclean }));
    } else {
      source.onProblem({ path: result.path, reason: result.reason });
    }
  };

  /** What the files looked like that were written here a moment ago: what a folder then says of them is our own doing. */
  const own = new Map<string, Stat & { readonly at: number }>();
  const wrote = (path: string, file: Stat | null): void => {
    const now = performance.now();
    own.delete(path);
    if (file !== null) own.set(path, { ...file, at: now });
    for (const [oldest, { at }] of own) {
      if (now - at < OWN_MS) break;
      own.delete(oldest);
    }
  };

  const isOwnDoing = (path: string): boolean => {
    const file = disk.stat(path);
    const known = own.get(path);
    if (file !== null) return known?.mtimeMs === file.mtimeMs && known.size === file.size;
    // Gone from where its task is no longer, it is where it should be.
    const place = placeOf(layout.root, path);
    return place !== null && state().task(stemOf(place.name))?.status !== place.status;
  };

  /** While an agent is at work nobody can tell whose edit it is. */
  const who = (): Actor =>
    state().running > 0
      ? { kind: 'unknown', name: 'somebody, in the file tree' }
      : { kind: 'person', name: 'user, in the file tree' };

  const take = async (finding: Finding): Promise<void> => {
    switch (finding.kind) {
      case 'same':
      case 'foreign':
      case 'gone':
        return;
      case 'missing':
        return void again([finding.id]);
      case 'stale':
      case 'torn':
        return void replaceable(finding.id, [finding]);
      case 'duplicate':
        if (finding.isOurs) return void replaceable(finding.id, [finding]);
        return note(
          'tree.duplicate',
          finding.id,
          { path: relative(finding.path), counts: relative(finding.counts) },
          finding,
        );
      case 'unreadable':
        source.onProblem({ path: finding.path, reason: finding.reason });
        return note('tree.unreadable', finding.id, { path: relative(finding.path), reason: finding.reason }, finding);
      case 'edited':
        return void (await takeEdit(finding));
      case 'moved':
        return takeMove(finding);
      case 'dropped':
        return takeDrop(finding);
    }
  };

  const replaceable = (id: string, files: readonly Exactly[]): void => {
    const entry = mark(id, lastSeq(id), 'unknown', {});
    entry.replaces = [...entry.replaces, ...files];
    schedule();
  };

  const known: KnownTasks = {
    find: async (id, session) => findTask(state(), id, session),
    async *tasks() {
      yield* inOrder(state().all());
    },
  };

  /** A file is a message like any other: it passes the checks of every interface, and what they refuse is refused here too. */
  const sendAdmitted = async (message: TaskMessage, request: string): Promise<Answer> => {
    let whole = message;
    try {
      if (source.admit !== null) whole = await source.admit(message, known);
    } catch (cause) {
      if (!(cause instanceof BatonError)) throw cause;
      return { kind: 'refused', refusal: { code: cause.code, message: cause.message, hint: cause.hint } };
    }
    // What keeps the store from writing is no refusal: the file is looked at again.
    return source.send({ message: whole, by: who(), request });
  };

  const takeEdit = async (finding: Edited | Moved): Promise<boolean> => {
    const { body, ...fields } = finding.changes;
    const message: TaskMessage = {
      type: 'task.edit',
      id: finding.id,
      ...fields,
      ...(body === undefined ? {} : { texts: { body } }),
    };
    const isChanged = Object.keys(finding.changes).length > 0;
    const answer = isChanged ? await sendAdmitted(message, requestOf('edit', finding)) : null;
    if (answer?.kind === 'refused') await refuse(finding, answer.refusal.message);
    else if (finding.putBack.length > 0) await refuse(finding, notByHand(finding.putBack));
    replaceable(finding.id, [finding]);
    return answer?.kind !== 'refused';
  };

  const notByHand = (fields: readonly string[]): string =>
    `${fields.join(', ')} cannot be changed by hand; ${fields.length === 1 ? 'it was' : 'they were'} put back`;

  const takeMove = async (finding: Moved): Promise<void> => {
    if (!(await takeEdit(finding))) return;
    const message: TaskMessage = { type: 'task.move', id: finding.id, to: finding.to, reason: 'moved by hand' };
    const answer = await source.send({ message, by: who() });
    if (answer.kind === 'refused') {
      await note('tree.refused', finding.id, { to: finding.to, reason: answer.refusal.message }, finding);
    }
    replaceable(finding.id, [finding]);
  };

  /** The text of a refused edit is kept; the file goes back to what it was. */
  const refuse = async (finding: Exactly & { readonly id: string }, reason: string): Promise<void> => {
    const kept = `${layout.root}/refused/${finding.id}-${finding.digest.slice(0, 8)}.md`;
    const bytes = disk.read(finding.path);
    if (bytes !== null) {
      disk.mkdir(`${layout.root}/refused`);
      disk.write(kept, bytes);
    }
    await note('tree.refused', finding.id, { path: relative(finding.path), reason, kept: relative(kept) }, finding);
  };

  const takeDrop = async (finding: Dropped): Promise<void> => {
    const message: TaskMessage = { type: 'task.add', tasks: [finding.task] };
    const answer = await sendAdmitted(message, requestOf('drop', finding));
    if (answer.kind === 'refused') {
      const reason = answer.refusal.message;
      source.onProblem({ path: finding.path, reason });
      return note('tree.refused', null, { path: relative(finding.path), reason }, finding);
    }
    for (const { id } of answer.tasks) replaceable(id, [finding]);
  };

  /** The same file, unchanged, is not reported or taken in twice, also after a restart; put there once more, it is another wish. */
  const requestOf = (what: string, { path, digest }: { readonly path: string; readonly digest?: string }): string =>
    `tree-${what} ${relative(path)} ${digest ?? ''} ${disk.stat(path)?.ctimeMs ?? newSuffix(4)}`;

  const note = async (
    event: string,
    task: string | null,
    detail: Readonly<Record<string, unknown>>,
    finding: { readonly path: string; readonly digest?: string },
  ): Promise<void> => {
    const about = task === null ? {} : { task };
    const message: TaskMessage = { type: 'note', event, ...about, detail };
    await source.send({ message, by: RUNTIME, request: requestOf(event, finding) });
  };

  const relative = (path: string): string => (path.startsWith(layout.root) ? path.slice(layout.root.length + 1) : path);

  const lastSeq = (id: string): number => Math.max(dirty.get(id)?.seq ?? 0, last);

  const again = (ids: Iterable<string>): void => {
    for (const id of ids) mark(id, lastSeq(id), 'unknown', {});
    schedule();
  };

  return {
    follow(written) {
      for (const { facts, seq } of written) {
        for (const change of facts.changes) {
          const texts = inline(change.texts);
          mark(change.task, seq, whereWas(facts.events, change.task, change.set), texts);
          stuck.delete(change.task);
        }
        last = seq;
      }
      schedule();
    },
    again,
    async compare(options, until) {
      isUnclean ||= options.unclean === true;
      const findings: ScanFinding[] = [];
      let pausedAt = Date.now();
      for (const finding of scan(disk, layout.root, treeState, options)) {
        if (until.aborted) break;
        if (findings.length < MOST_TOLD) findings.push(finding);
        if (finding.kind === 'astray') again([finding.id]);
        else if (!('path' in finding) || finding.kind === 'unreadable' || !isOwnDoing(finding.path))
          await take(finding);
        if (Date.now() - pausedAt < TURN_MS) continue;
        await turn();
        pausedAt = Date.now();
      }
      if (options.unclean === true && !until.aborted) isUnclean = false;
      return findings;
    },
    async look(paths) {
      for (const path of paths) {
        if (!isOwnDoing(path)) await take(look(disk, layout.root, path, treeState, { unclean: isUnclean }));
      }
    },
    async settled() {
      // What comes while it waits is another's to wait for.
      const seq = last;
      awaited = Math.max(awaited, seq);
      do await flush();
      while (isPending(seq));
    },
    async shownTask(id) {
      wanted.set(id, (wanted.get(id) ?? 0) + 1);
      try {
        while (dirty.has(id) || underWay.has(id)) await flush();
      } finally {
        const others = (wanted.get(id) ?? 1) - 1;
        if (others === 0) wanted.delete(id);
        else wanted.set(id, others);
      }
    },
    isCutShort(id, bytes) {
      const task = state().task(id);
      return task !== undefined && isCutShort(bytes, task, treeState.body(id), treeState);
    },
    isOwnDoing,
    isRecent(path) {
      const id = stemOf(path.slice(path.lastIndexOf('/') + 1));
      return own.has(path) || underWay.has(id) || dirty.has(id);
    },
    shown() {
      let seq = last;
      for (const { first } of [...dirty.values(), ...failed.values()]) seq = Math.min(seq, first - 1);
      for (const { entry } of underWay.values()) seq = Math.min(seq, entry.first - 1);
      return seq;
    },
    async close() {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      timer = null;
      await flushing;
      await worker?.close();
      worker = null;
    },
  };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An entry with what came for the same task since; its file is still where it was. */
const withLater = (entry: Entry, later: Entry | undefined): Entry =>
  later === undefined
    ? entry
    : {
        ...entry,
        changed: later.changed,
        seq: Math.max(entry.seq, later.seq),
        texts: { ...entry.texts, ...later.texts },
        replaces: [...entry.replaces, ...later.replaces],
      };

/** Where a task's file is before its first record that is not written yet: that record says where it came from. */
function whereWas(events: Written['facts']['events'], id: string, set: Partial<Task>): Job['from'] {
  if (set.createdAt !== undefined) return null;
  for (const { type, task: of, detail } of events) {
    if (of === id && type === 'task.transitioned') return (detail?.['from'] as TaskStatus | undefined) ?? 'unknown';
  }
  // Memory may be ahead of this record, so it cannot say where the file was.
  return 'unknown';
}

/** Long texts are read when they are needed; null says so, and that an earlier one no longer counts. */
const inline = (texts: Written['facts']['changes'][number]['texts']): Record<string, string | null> =>
  Object.fromEntries(Object.entries(texts ?? {}).map(([name, text]) => [name, typeof text === 'string' ? text : null]));
