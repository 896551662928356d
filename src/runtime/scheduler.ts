/** Claims what is ready and runs it, so many at once; woken by what happens in the store, not by looking again and again. */
import { setMaxListeners } from 'node:events';
import { BatonError } from '../core/errors.ts';
import type { Claimer } from '../core/laws/messages.ts';
import { isWithin } from '../core/policy.ts';
import type { Answer, StoredRecord } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { createBell } from '../process/waiting.ts';
import { abortSession } from './abort-session.ts';
import { RUNTIME } from './actor.ts';
import { chooseAgent, installed } from './agents.ts';
import { type Candidates, watchCandidates } from './candidates.ts';
import { watchDeadlines } from './deadlines.ts';
import { envelopeOf } from './envelope.ts';
import { takeBack } from './graph-report.ts';
import type { Host } from './host.ts';
import { watchInbox } from './inbox.ts';
import { finishMerge, judgeForgotten, recoverRuns } from './recovery.ts';
import { type RunResult, runTask } from './run.ts';
import { tellShutdown } from './shutdown.ts';
import { judgeClaims } from './taking.ts';
import { LEASE_MS } from './work.ts';

export interface Work {
  /** Only these tasks and what they hand on; all that is ready where none are named. */
  readonly only?: readonly string[];
  /** Only tasks for these agents. */
  readonly agents?: readonly string[];
  readonly parallel: number;
  /** Ends when nothing is left to do; else only when it is told to. */
  readonly untilEmpty: boolean;
  /** Ends the runs, and then this. */
  readonly leaving: AbortSignal;
  onResult?(result: RunResult): void;
}

/** How long to wait at most before looking again: backoffs end without an event. */
const LOOK_AGAIN_MS = 500;
/** How often to look for runs whose supervisor has died meanwhile. */
const LOOK_FOR_DEAD_MS = 5_000;

export async function workOn(host: Host, work: Work): Promise<void> {
  const running = new Map<string, Running>();
  // Every run listens to it, and there may be hundreds.
  setMaxListeners(0, work.leaving);
  /** The runs that are not settled yet; each takes a place. */
  const working = new Set<string>();
  /** By the name of the agent, for `max_parallel`. */
  const busy = new Map<string, number>();
  let stopped: readonly string[] = [];
  const bell = createBell(work.leaving);
  const family = createFamily(work.only);
  /** Tasks that somebody else has accepted: what is in their worktrees is to be merged. */
  const accepted = new Set<string>();
  /** Tasks that somebody else has called off: what they wrote into the graph is not to be built upon. */
  const dropped = new Set<string>();
  const forget = host.watch.onRecord((record) => {
    const { by, changes } = record;
    if (by.kind !== 'runtime') {
      for (const { task, set } of changes) {
        if (set.status === 'done' || (set.merging != null && set.merging.supervisor === null)) accepted.add(task);
        else if (set.status === 'cancelled') dropped.add(task);
      }
    }
    family.take(record);
    bell.ring();
  });
  judgeClaims(host);
  const candidates = work.only === undefined ? null : watchCandidates(host, () => family.only().only ?? []);
  const deadlines = await watchDeadlines(host);
  // Who runs what was named does not look after the folder.
  const inbox = work.only === undefined ? await watchInbox(host) : null;
  let failure: unknown = null;
  let lookedAt = host.now();

  const start = (task: Task): void => {
    const agent = task.run?.agent ?? '';
    busy.set(agent, (busy.get(agent) ?? 0) + 1);
    const run = task.run?.id ?? task.id;
    working.add(run);
    const free = (): void => {
      if (working.delete(run)) bell.ring();
    };
    const done = clearedUp(host, task, [...running.values()])
      .then(() => runTask(host, task, work.leaving, free))
      .then(async (result) => {
        if (result.task.status === 'deadletter' && result.onFailure === 'ABORT_SESSION')
          await abortSession(host, result.task);
        work.onResult?.(result);
      })
      .catch((cause: unknown) => {
        failure ??= cause;
      })
      .finally(() => {
        free();
        if (running.get(task.id)?.done === done) running.delete(task.id);
        busy.set(agent, (busy.get(agent) ?? 1) - 1);
        bell.ring();
      });
    running.set(task.id, { task, done });
  };

  const full = (): string[] =>
    [...busy]
      .filter(([name, count]) => count >= (host.config.agents[name]?.max_parallel ?? Infinity))
      .map(([name]) => name);

  /** Takes one task; false where there is none to be had now. */
  const claimOne = async (): Promise<boolean> => {
    for await (const ask of claims(host, work, candidates, full())) {
      const answer = await host.store.send({
        message: { type: 'task.claim', leaseMs: LEASE_MS, supervisor: host.supervisor, ...ask },
        by: RUNTIME,
      });
      const task = claimed(answer);
      if (task === null) continue;
      start(task);
      return true;
    }
    return false;
  };

  try {
    while (!work.leaving.aborted && failure === null) {
      bell.quiet();
      for (const id of accepted) {
        accepted.delete(id);
        await finishMerge(host, id);
      }
      for (const id of dropped) {
        dropped.delete(id);
        const task = await host.store.find(id);
        if (task?.status === 'cancelled') await takeBack(host, task, `${id} is cancelled`);
      }
      let took = false;
      while (working.size < work.parallel + family.waiting(running) && !work.leaving.aborted && (await claimOne()))
        took = true;
      if (!took && running.size === 0 && work.untilEmpty && (await isEmpty(host, { ...work, ...family.only() }))) break;
      await bell.wait(LOOK_AGAIN_MS);
      await deadlines.look();
      if (host.now() - lookedAt < LOOK_FOR_DEAD_MS) continue;
      await recoverRuns(host);
      await judgeForgotten(host);
      lookedAt = host.now();
    }
  } finally {
    forget();
    candidates?.close();
    deadlines.close();
    await inbox?.close();
    stopped = [...running.keys()];
    await Promise.all([...running.values()].map(({ done }) => done));
  }
  if (failure !== null) throw failure;
  if (work.leaving.aborted) await tellShutdown(host, stopped);
}

interface Family {
  take(record: StoredRecord): void;
  /** The tasks that were asked for, and what they have handed on since. */
  only(): { readonly only?: readonly string[] };
  /** How many of these have handed something on: they may wait for it, and must not keep it from being done. */
  waiting(running: ReadonlyMap<string, unknown>): number;
}

function createFamily(asked: readonly string[] | undefined): Family {
  const ids = asked === undefined ? undefined : [...asked];
  const parents = new Set<string>();
  return {
    take({ changes }) {
      for (const { task, set } of changes) {
        const { parentId } = set;
        if (set.status !== undefined && set.status !== 'in-progress') parents.delete(task);
        // The next stage comes after the one that hands on, which does not wait for it.
        const from = parentId ?? set.metadata?.['handedFrom'];
        if (typeof from !== 'string') continue;
        if (from === parentId) parents.add(from);
        if (ids === undefined || ids.includes(task) || !ids.includes(from)) continue;
        ids.push(task);
      }
    },
    only: () => (ids === undefined ? {} : { only: ids }),
    waiting: (running) => [...running.keys()].filter((id) => parents.has(id)).length,
  };
}

interface Running {
  readonly task: Task;
  readonly done: Promise<void>;
}

/**
 * A run that the store has heard the last of may still be on its way out, ending its processes and putting back what it wrote: nobody works on
 * its task, or writes where it wrote, before that is over.
 */
async function clearedUp(host: Host, task: Task, running: readonly Running[]): Promise<void> {
  for (const { task: other, done } of running) {
    // What it builds upon is told to it as files, which are written last.
    if (other.id === task.id || task.dependsOn.includes(other.id)) await done;
    if (!other.writes.some((path) => task.writes.some((mine) => isWithin(mine, [path]) || isWithin(path, [mine]))))
      continue;
    const now = await host.store.find(other.id);
    if (now?.status !== 'in-progress' || now.run?.id !== other.run?.id) await done;
  }
}

const claimed = (answer: Answer): Task | null => (answer.kind === 'changed' ? (answer.tasks[0] ?? null) : null);

interface Ask {
  readonly id?: string;
  readonly claimer: Claimer;
  readonly others?: readonly Claimer[];
}

/** Of the tasks that were named, one after the other; else one question for all agents that are free, so that the most urgent task goes first. */
async function* claims(
  host: Host,
  { agents }: Work,
  candidates: Candidates | null,
  full: readonly string[],
): AsyncGenerator<Ask> {
  if (candidates !== null) {
    for (const task of await candidates.ready(host.now())) {
      const claimer = await claimerFor(host, task);
      if (!full.includes(claimer.agent)) yield { id: task.id, claimer };
    }
    return;
  }
  const { config } = host;
  const known = Object.entries(config.agents).filter(([name]) => agents === undefined || agents.includes(name));
  const claimers = known
    .filter(([name]) => !full.includes(name))
    .map(([name, { roles, tags, model }]): Claimer => {
      const teams = Object.keys(config.teams).filter((team) => config.teams[team]?.includes(name));
      return { agent: name, roles, teams, tags, ...(model === undefined ? {} : { model }) };
    });
  if (agents === undefined) {
    // Whoever a task names that config does not know; and a task that names nobody, where nobody is known.
    const except = known.map(([name]) => name);
    const agent = config.defaults.agent ?? installed(host) ?? NOBODY;
    if (!full.includes(agent)) claimers.push({ agent, any: true, except });
  }
  for (const name of agents ?? []) if (!Object.hasOwn(config.agents, name)) claimers.push({ agent: name });
  // The default agent goes before the others where all else is equal.
  claimers.sort((a, b) => Number(b.agent === config.defaults.agent) - Number(a.agent === config.defaults.agent));
  const [first, ...others] = claimers;
  if (first !== undefined) yield { claimer: first, others };
}

/** Who runs a task for which there is nobody: its run says so, and why. */
const NOBODY = 'nobody';

async function claimerFor(host: Host, task: Task): Promise<Claimer> {
  const { config, environment } = host;
  const envelope = await host.store.text(task.id, 'inputs/task.json');
  const message = envelopeOf(task, { envelope, body: null }, host.workspace);
  try {
    const { name, model } = chooseAgent({ config, environment, task, message });
    return { agent: name, any: true, instead: true, ...(model === null ? {} : { model }) };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    // The run fails with this very reason, and that is written down.
    return { agent: task.routing.agent ?? NOBODY, any: true };
  }
}

async function isEmpty(host: Host, { only, agents }: Work): Promise<boolean> {
  const stuck = new Map<string, boolean>();
  if (only !== undefined) {
    for (const id of only) {
      const task = await host.store.find(id);
      if (task !== undefined && (await canCome(host, task, stuck))) return false;
    }
    return true;
  }
  for await (const task of host.store.tasks({ status: ['ready'] })) {
    if (agents !== undefined && (task.routing.agent === null || !agents.includes(task.routing.agent))) continue;
    if (await canCome(host, task, stuck)) return false;
  }
  return true;
}

/** Whether it runs, or will by itself. What waits, near or far, for one that waits for a person would keep us for ever. */
async function canCome(host: Host, task: Task, known: Map<string, boolean>): Promise<boolean> {
  const before = known.get(task.id);
  if (before !== undefined) return before;
  let can = task.status === 'ready' || task.status === 'in-progress';
  if (task.status === 'ready') {
    for (const id of task.dependsOn) {
      const other = await host.store.find(id);
      if (other !== undefined && other.status !== 'done' && !(await canCome(host, other, known))) can = false;
    }
  }
  known.set(task.id, can);
  return can;
}
