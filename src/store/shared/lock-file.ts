/** A lock as a file, for systems without abstract sockets: it names its holder, and one whose holder is gone is taken over by exactly one. */
import { linkSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { readIfThereSync } from '../../process/files.ts';
import { newId } from '../../process/new-id.ts';
import { isMark, stateOf, thisProcess } from './system.ts';

export interface Lock {
  release(): void;
}

/** Longer than any holder needs from taking the lock to listening. */
const SETTLING_MS = 15_000;

/** Null where another process has it. `socket` is where its holder listens. */
export const takeLockFile = (path: string, socket: string): Promise<Lock | null> =>
  take(path, () => isListening(socket));

async function take(path: string, isInUse: () => Promise<boolean>): Promise<Lock | null> {
  const holder = readIfThereSync(path);
  if (holder !== null && !(await isAbandoned(holder, path, isInUse))) return null;
  const text = JSON.stringify({ ...thisProcess(), id: newId() });
  const aside = `${path}.${newId()}`;
  writeFileSync(aside, text, { flag: 'wx', mode: 0o600 });
  try {
    // Linked, not written: the file is there with all its text, or it is not there.
    if (holder === null) return linkNew(aside, path) ? held(path, text) : null;
    // Of all those who saw the same dead holder, only the one with this second lock may replace the file.
    const guard = await take(`${path}.next`, async () => false);
    if (guard === null) return null;
    try {
      if (readIfThereSync(path) !== holder) return null;
      renameSync(aside, path);
      return held(path, text);
    } finally {
      guard.release();
    }
  } finally {
    rmSync(aside, { force: true });
  }
}

const held = (path: string, text: string): Lock => ({
  release() {
    if (readIfThereSync(path) === text) rmSync(path, { force: true });
  },
});

function linkNew(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}

async function isAbandoned(holder: string, path: string, isInUse: () => Promise<boolean>): Promise<boolean> {
  const state = holderState(holder);
  if (state !== 'unsure') return state === 'gone';
  // The number may belong to another process by now. An owner listens as soon as it has the lock, and for as long as it lives.
  const since = statSync(path, { throwIfNoEntry: false })?.mtimeMs;
  return since !== undefined && Date.now() - since > SETTLING_MS && !(await isInUse());
}

function holderState(text: string): 'alive' | 'gone' | 'unsure' {
  let mark: unknown;
  try {
    mark = JSON.parse(text);
  } catch {
    return 'gone'; // no lock of ours was ever written so
  }
  return isMark(mark) ? stateOf(mark) : 'gone';
}

function isListening(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const attempt = connect({ path: socket });
    attempt.once('connect', () => {
      attempt.destroy();
      resolve(true);
    });
    attempt.once('error', (cause: NodeJS.ErrnoException) =>
      resolve(cause.code !== 'ECONNREFUSED' && cause.code !== 'ENOENT'),
    );
  });
}
