/**
 * Remembers what running programs start, so that a child which leaves the group, loses its parent and clears its environment is still
 * known. One timer and one look at all processes serve every program that runs.
 *
 * What can still escape without a sandbox: a process that has made a session of its own, lost its parent, dropped the mark from its
 * environment and let go of the program's output, all of it between two looks (the first are 100, 250 and 500 ms after the start, then
 * there is one every two seconds); and work that was handed to a process which is not the program's own child (cron, systemd, a daemon that was there before). In a sandbox
 * neither is possible.
 */
import { type Census, descendantsOf, hasProc, takeCensus } from './census.ts';
import { isDead, type ProcessMark, type Stat } from './identity.ts';

/** A descendant as it was last seen. Nobody can join a session, so all that is in its session came from the same program. */
export interface Known extends ProcessMark {
  readonly session: number;
}

export interface Watch {
  /** What was seen of the program's descendants and may be alive still; the program itself is not among them. */
  known(): readonly Known[];
  /** The program itself is gone: the watch ends by itself once nothing of it is left. */
  exited(): void;
  stop(): void;
}

const FIRST_LOOKS_MS = [100, 250, 500];
const LOOK_EVERY_MS = 2_000;
/** Without /proc a look starts a program, so there are fewer. */
const LOOK_EVERY_MS_BY_PS = 10_000;
/** Looks that are due this soon are taken together; those of programs that have run for a while wait for each other longer. */
const TOGETHER_MS = 50;

interface Watched {
  readonly program: ProcessMark;
  readonly startedAt: number;
  known: Map<number, Known>;
  readonly onEscape: OnEscape;
  isExited: boolean;
  looks: number;
  dueAt: number;
}

const watched = new Set<Watched>();
let timer: NodeJS.Timeout | null = null;
let timerAt = Number.POSITIVE_INFINITY;

/** Told once of each descendant that is seen in another session than the program's, with the first process of that session. */
export type OnEscape = (escaped: Known, first: ProcessMark) => void;

export function watchEscapes(program: ProcessMark, onEscape: OnEscape = () => {}): Watch {
  const now = performance.now();
  const mine: Watched = { program, startedAt: now, known: new Map(), onEscape, isExited: false, looks: 0, dueAt: 0 };
  mine.dueAt = nextDue(mine, now);
  watched.add(mine);
  plan();
  const stop = (): void => {
    watched.delete(mine);
    if (watched.size === 0) plan();
  };
  return {
    known: () => [...mine.known.values()],
    exited() {
      mine.isExited = true;
      if (mine.known.size === 0) stop();
    },
    stop,
  };
}

function nextDue({ looks, startedAt }: Watched, now: number): number {
  const first = hasProc() ? FIRST_LOOKS_MS[looks] : undefined;
  return first === undefined ? now + (hasProc() ? LOOK_EVERY_MS : LOOK_EVERY_MS_BY_PS) : startedAt + first;
}

/** Sets the one timer for the look that is due first. A timer that is set for earlier than needed is left alone. */
function plan(): void {
  let first = Number.POSITIVE_INFINITY;
  for (const { dueAt } of watched) first = Math.min(first, dueAt);
  if (timer !== null && first !== Number.POSITIVE_INFINITY && timerAt <= first) return;
  if (timer !== null) clearTimeout(timer);
  timer = null;
  timerAt = first;
  if (first === Number.POSITIVE_INFINITY) return;
  timer = setTimeout(lookNow, Math.max(1, first - performance.now()));
  timer.unref();
}

function lookNow(): void {
  timer = null;
  const now = performance.now();
  const due = [...watched].filter(
    ({ dueAt, looks }) => dueAt <= now + (looks < FIRST_LOOKS_MS.length ? TOGETHER_MS : LOOK_EVERY_MS / 2),
  );
  if (due.length > 0) {
    const census = takeCensus();
    for (const each of due) {
      each.known = remember(each, census);
      each.looks++;
      each.dueAt = nextDue(each, now);
      if (each.isExited && each.known.size === 0) watched.delete(each);
    }
  }
  plan();
}

function remember({ program, known, onEscape }: Watched, census: Census): Map<number, Known> {
  const next = new Map<number, Known>();
  for (const each of belonging(program, [...known.values()], census)) {
    const { pid, started, session } = each;
    if (pid === program.pid || isDead(each)) continue;
    const one = { pid, started, session };
    next.set(pid, one);
    if (session === program.pid || known.get(pid)?.session === session) continue;
    // Where the first is gone, its number is still the session's.
    onEscape(one, { pid: session, started: census.get(session)?.started ?? started });
  }
  return next;
}

/**
 * Of all processes those that belong to a program: itself, those known that are still the same, the members of its group and of all their
 * sessions, and the descendants of all of them. Zombies are among them.
 */
export function belonging(program: ProcessMark, known: readonly Known[], census: Census): Stat[] {
  const found = new Map<number, Stat>();
  const add = (each: Stat): void => {
    found.set(each.pid, each);
  };
  for (const mark of [program, ...known]) {
    const stat = census.get(mark.pid);
    if (stat !== undefined && (mark.started === null || mark.started === stat.started)) add(stat);
  }
  // Sessions and groups have the numbers of their first process. Somebody else's process with that number means that it was used again.
  const isOurs = (number: number): boolean => found.has(number) || !census.has(number);
  const sessions = new Set([program.pid, ...known.map(({ session }) => session)].filter(isOurs));
  const isGroupOurs = isOurs(program.pid);
  for (const each of census.values()) {
    if (sessions.has(each.session) || (isGroupOurs && each.pgid === program.pid)) add(each);
  }
  for (const each of descendantsOf([...found.keys()], census)) add(each);
  return [...found.values()];
}
