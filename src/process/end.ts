/**
 * Ends all processes of a program: SIGTERM, a time of grace, SIGKILL, and then looks for what escaped until nothing is found any more.
 * A process is only ever ended as the one that was found, by pid and start time; this process and what it came from never are.
 * `watch.ts` says what can still escape.
 */
import { ancestorsOfThis, type Census, descendantsOf, findMarked, lastPid, takeCensus } from './census.ts';
import { bootId, isDead, type ProcessMark, type Stat, statOf } from './identity.ts';
import type { Streams } from './streams.ts';
import type { Ended } from './types.ts';
import { pause } from './waiting.ts';
import { belonging, type Known } from './watch.ts';

/** A program as it was started. Its pid is also the number of its group and its session. */
export interface Tree {
  readonly program: ProcessMark;
  readonly mark: string;
  /** Its own ends of its output. */
  readonly streams: Streams;
  /** Milliseconds of `performance.now()`. */
  readonly startedAt: number;
  /** Whether the process itself is gone and was asked after. */
  isExited(): boolean;
  /** Descendants that were seen, and may have left the group since. */
  known(): readonly Known[];
  /**
   * How many processes of ours stand around the program in its sandbox, one inside the other; 0 without a sandbox. They end with the
   * program inside and are spared SIGTERM, which would end all of it without grace.
   */
  readonly wrappers: number;
}

const NOTHING: Ended = { signal: null, swept: [], left: [] };
/** How long a process may take to go after SIGKILL. */
const SWEEP_MS = 5_000;
/** Pids come round again. A program that ran for less than this was not overtaken by them. */
const SHORT_RUN_MS = 2_000;
const LONGEST_PAUSE_MS = 50;

export async function endTree(tree: Tree, graceMs: number): Promise<Ended> {
  if (tree.isExited() && (wasAlone(tree) || (isGroupGone(tree.program.pid) && !mayHaveEscaped(tree)))) return NOTHING;
  if (tree.wrappers > 0) return endSandbox(tree, graceMs);
  // Until it was asked after, the number is its own, and so is the number of its group.
  const groupOf = (): number | null => (tree.isExited() ? null : tree.program.pid);
  return end(() => collect(tree), tree.program.pid, groupOf, graceMs);
}

/**
 * Ends what carries a mark and everything below it, for when nobody holds the program any more.
 * @param programs those that are remembered from their start, by whom the rest of their groups and sessions is known
 */
export async function endMarked(mark: string, graceMs: number, programs: readonly ProcessMark[] = []): Promise<Ended> {
  const known = new Map<number, ProcessMark>();
  return end(
    () => {
      const marked = findMarked(mark);
      if (marked.length === 0 && known.size === 0 && programs.length === 0) return [];
      const census = takeCensus();
      const roots = new Set(marked);
      for (const program of programs) for (const { pid } of leftOf(program, census)) roots.add(pid);
      for (const { pid, started } of known.values()) if (census.get(pid)?.started === started) roots.add(pid);
      const found = [...pick(roots, census), ...descendantsOf(roots, census)];
      for (const { pid, started } of found) known.set(pid, { pid, started });
      return spare(found, census);
    },
    null,
    () => null,
    graceMs,
  );
}

/** How often is looked for what was born while the last ones were ended. */
const LOOKS_NOW = 5;

/** For when this process goes at once and can wait for nothing: SIGKILL, to all that is found. In a sandbox the kernel does the rest. */
export function endNow(tree: Tree): void {
  if (!tree.isExited()) sendToGroup(tree.program.pid, 'SIGKILL');
  if (tree.wrappers > 0) return;
  for (let looks = 0; looks < LOOKS_NOW; looks++) {
    const alive = collect(tree);
    for (const each of alive) send(each, 'SIGKILL');
    if (alive.length === 0) return;
  }
}

const isShortRun = ({ startedAt }: Tree): boolean => performance.now() - startedAt < SHORT_RUN_MS;

/** No number was given to any process or thread since the program got its own, so it has started nothing. */
const wasAlone = (tree: Tree): boolean => tree.wrappers === 0 && isShortRun(tree) && lastPid() === tree.program.pid;

/** What is alive of a program that was remembered, perhaps for long: its numbers count only since its own start, in this run of the machine. */
function leftOf(program: ProcessMark, census: Census): Stat[] {
  const [boot, since] = program.started?.split('/') ?? [];
  if (boot === undefined || boot !== bootId()) return [];
  return belonging(program, [], census).filter(({ started }) => Number(started.split('/')[1]) >= Number(since));
}

/** The one cheap look after a program that ended by itself. */
function mayHaveEscaped(tree: Tree): boolean {
  const { program, mark, streams, known, wrappers } = tree;
  // What is in a sandbox ends with it, and the first process in there is in the group.
  if (wrappers > 0) return false;
  if (known().length > 0) return true;
  return findMarked(mark, isShortRun(tree) ? program.pid : null, streams).length > 0;
}

/** Zombies are members, so `false` may be wrong; `true` never is. */
function isGroupGone(pgid: number): boolean {
  try {
    process.kill(-pgid, 0);
    return false;
  } catch (cause) {
    return (cause as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

const pick = (pids: Iterable<number>, census: Census): Stat[] =>
  [...pids].flatMap((pid) => {
    const stat = census.get(pid);
    return stat === undefined ? [] : [stat];
  });

/** Leaves out the dead, ourselves and what we came from. */
function spare(found: readonly Stat[], census: Census): Stat[] {
  const ours = ancestorsOfThis(census);
  return found.filter((each) => !isDead(each) && !ours.has(each.pid));
}

/** All that is alive of a program, by any of the ways to know it. */
function collect({ program, mark, streams, known }: Tree): Stat[] {
  const marked = findMarked(mark, null, streams);
  const census = takeCensus();
  const found = new Map(belonging(program, known(), census).map((each) => [each.pid, each]));
  for (const each of pick(marked, census)) found.set(each.pid, each);
  for (const each of descendantsOf([...found.keys()], census)) found.set(each.pid, each);
  return spare([...found.values()], census);
}

/**
 * Ends what `look` finds, until it finds nothing twice. `group` is the program's own; what is not in it has escaped. `groupOf` gives it
 * for as long as it may be signalled as a whole, which misses no member that is born at that moment.
 */
async function end(
  look: () => Stat[],
  group: number | null,
  groupOf: () => number | null,
  graceMs: number,
): Promise<Ended> {
  let alive = look();
  let signal: Ended['signal'] = null;
  const seen = new Map<number, Stat>();
  const swept = new Set<number>();
  const hit = (name: 'SIGTERM' | 'SIGKILL', stats: readonly Stat[]): void => {
    const whole = groupOf();
    const isWhole = whole !== null && sendToGroup(whole, name);
    for (const each of stats) {
      seen.set(each.pid, each);
      if (!(isWhole && each.pgid === whole) && !send(each, name)) continue;
      signal = name;
      if (each.pgid !== group) swept.add(each.pid);
    }
  };

  hit('SIGTERM', alive);
  const graceUntil = performance.now() + graceMs;
  await goneBy(graceUntil, () => alive.some(isStill));

  // What was born meanwhile, or did not listen. One that is found again under its number is the same by its start.
  const sweepUntil = performance.now() + SWEEP_MS;
  for (let clean = 0; clean < 2; ) {
    alive = again(seen, look());
    if (alive.length === 0) {
      // Nothing was ever there: one look was enough.
      if (seen.size === 0) break;
      clean++;
      continue;
    }
    clean = 0;
    if (performance.now() > sweepUntil) break;
    hit('SIGKILL', alive);
    await goneBy(Math.min(sweepUntil, performance.now() + 1_000), () => alive.some(isStill));
  }
  return { signal, swept: [...swept], left: alive.map(({ pid }) => pid) };
}

/** What the look found, and of those found before the ones that are still the same. */
function again(seen: ReadonlyMap<number, Stat>, found: readonly Stat[]): Stat[] {
  const all = new Map(found.map((each) => [each.pid, each]));
  for (const each of seen.values()) if (!all.has(each.pid) && isStill(each)) all.set(each.pid, each);
  return [...all.values()];
}

/** Without /proc nobody can tell whether it is the same, only whether the number answers. */
function isStill({ pid, started }: ProcessMark): boolean {
  const now = statOf(pid) ?? (process.platform === 'linux' ? null : (takeCensus().get(pid) ?? null));
  return now !== null && now.started === started && !isDead(now);
}

/** Whether a signal reached the process, which has to be the one that was found. */
function send(stat: Stat, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  if (!isStill(stat)) return false;
  try {
    process.kill(stat.pid, signal);
    // A stopped process sees no signal but SIGKILL until it goes on.
    if (signal === 'SIGTERM' && stat.state === 'T') process.kill(stat.pid, 'SIGCONT');
    return true;
  } catch {
    // It ended in between, or it belongs to another user: then it is still there at the next look, and is said to be left.
    return false;
  }
}

function sendToGroup(group: number, signal: 'SIGTERM' | 'SIGKILL'): boolean {
  try {
    process.kill(-group, signal);
    // Stopped members see SIGTERM only when they go on.
    if (signal === 'SIGTERM') process.kill(-group, 'SIGCONT');
    return true;
  } catch {
    // Nobody is in it any more, or nobody that we may signal: each is tried by itself.
    return false;
  }
}

/** Waits until nothing is there any more, or until `time`. Short pauses first: most go at once. */
async function goneBy(time: number, isThere: () => boolean): Promise<boolean> {
  for (let ms = 1; isThere(); ms = Math.min(ms * 2, LONGEST_PAUSE_MS)) {
    const rest = time - performance.now();
    if (rest <= 0) return false;
    await pause(Math.min(ms, rest));
  }
  return true;
}

/**
 * The first process inside has the number 1 there: when it is killed, the kernel kills everything inside and only then lets it go. It
 * is in the group of the program around it, so that a group without a living member is a sandbox without one.
 */
async function endSandbox({ program, wrappers, isExited }: Tree, graceMs: number): Promise<Ended> {
  const group = program.pid;
  const isThere = (): boolean => !isGroupGone(group) && hasFirst(group);
  let signal: Ended['signal'] = null;
  if (!isExited()) {
    for (const each of insideOf(group, wrappers)) if (send(each, 'SIGTERM')) signal = 'SIGTERM';
    await goneBy(performance.now() + graceMs, () => !isExited());
  }
  if (!isExited()) {
    signal = 'SIGKILL';
    for (const each of members(group)) send(each, 'SIGKILL');
  }
  const isGone = await goneBy(performance.now() + SWEEP_MS, () => !isExited() || isThere());
  return { signal, swept: [], left: isGone ? [] : members(group).map(({ pid }) => pid) };
}

/** The first process inside was born right after the one outside, so its number is near; only where numbers begin anew all are looked at. */
const NEAR = 512;

function hasFirst(group: number): boolean {
  const last = lastPid();
  if (last === null || last < group) return members(group).length > 0;
  for (let pid = group; pid <= Math.min(last, group + NEAR); pid++) {
    const stat = statOf(pid);
    if (stat !== null && stat.pgid === group && !isDead(stat)) return true;
  }
  return false;
}

function members(group: number): Stat[] {
  const census = takeCensus();
  return spare(
    [...census.values()].filter(({ pgid }) => pgid === group),
    census,
  );
}

/** What runs inside the wrappers, which are children of each other. */
function insideOf(outermost: number, wrappers: number): Stat[] {
  const census = takeCensus();
  const skipped = new Set<number>();
  let level = [outermost];
  for (let depth = 0; depth < wrappers; depth++) {
    for (const pid of level) skipped.add(pid);
    level = [...census.values()].filter(({ ppid }) => level.includes(ppid)).map(({ pid }) => pid);
  }
  return spare(
    descendantsOf([outermost], census).filter(({ pid }) => !skipped.has(pid)),
    census,
  );
}
