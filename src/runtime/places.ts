/** Where things of runs are kept in the data folder, and the short-lived folder that a run has outside of it. */
import { hash } from 'node:crypto';
import { readlinkSync, realpathSync, statSync, unlinkSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { isoTime } from '../core/time.ts';
import { isAlive } from '../process/identity.ts';
import { runtimeFolder } from '../process/runtime-folder.ts';

/** What its agent printed, the output of its checks, its details and its RESPONSE. */
export const logFolder = (dir: string, run: string): string => join(dir, 'logs', run);
/** The state of things before the first attempt of a task. */
export const snapshotFolder = (dir: string, task: string): string => join(dir, 'snapshots', task);
export const worktreeFolder = (dir: string): string => join(dir, 'worktrees');
export const reportFile = (dir: string, session: string): string =>
  join(dir, 'reports', `${session.replace(/[^\w.-]/g, '_')}.json`);

/** What a session had come to when an agent's context in it was full. */
export const exportFile = (dir: string, session: string, now: number): string =>
  join(dir, 'exports', `${session.replace(/[^\w.-]/g, '_')}-${isoTime(now).replace(/[-:.]/g, '')}.yaml`);

/** What every process of a run carries in its environment; no two runs of this machine have the same. */
export function markOf(dir: string, run: string): string {
  return `${run}@${hash('sha256', realpathSync(dir), 'hex').slice(0, 16)}`;
}

/** Process numbers mean something only where they were given; containers may share a folder and not their numbers. */
function numberspace(): string {
  try {
    return Number(/\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0]).toString(36);
  } catch {
    // A system without them has one.
    return '0';
  }
}

/** A folder of one run's own, with a short path: sockets cannot have long ones. Only this user may look into it. Its name says whose it is. */
export const openRunFolder = (): Promise<string> =>
  mkdtemp(join(runtimeFolder(), `r-${numberspace()}-${process.pid}-`));

/** Removes the folders of runs whose supervisor is gone, and sockets that nobody listens at. One whose number is somebody else's by now waits for a later time. */
export async function sweepRunFolders(): Promise<void> {
  const folder = runtimeFolder();
  const own = new RegExp(`^r-${numberspace()}-(\\d+)-`);
  for (const name of await readdir(folder)) {
    const pid = Number(own.exec(name)?.[1] ?? 0);
    if (pid > 0 && isAlive({ pid, started: null }) === 'gone')
      await rm(join(folder, name), { recursive: true, force: true });
    if (/^[0-9a-f]{24}\.sock$/.test(name)) await sweepSocket(join(folder, name));
  }
}

/** One that was just made may not listen yet. */
const SOCKET_AGE_MS = 60 * 60 * 1000;

/** Removes the socket of a store whose owner was killed; where one listens it stays, however busy that is. */
async function sweepSocket(path: string): Promise<void> {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || Date.now() - found.mtimeMs < SOCKET_AGE_MS) return;
  const socket = connect(path);
  const answer = await new Promise<string | undefined>((settle) => {
    socket.on('connect', () => settle('it listens'));
    socket.on('error', ({ code }: NodeJS.ErrnoException) => settle(code));
    socket.setTimeout(1000, () => settle('it is busy'));
  });
  socket.destroy();
  // Looked at once more, and at once: a new owner may have made its own there.
  if (answer === 'ECONNREFUSED' && statSync(path, { throwIfNoEntry: false })?.ino === found.ino) unlinkSync(path);
}
