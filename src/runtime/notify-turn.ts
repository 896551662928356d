/**
 * Who tells, where several Batons work in one data folder: all of them see what happens, and one of them tells it. The one whose turn it is has
 * its name in a file of the user's runtime folder; when it goes, or is found to be gone, another takes it.
 */
import { hash } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readIfThereSync } from '../process/files.ts';
import { isAlive, isMark, self } from '../process/identity.ts';
import { newId } from '../process/new-id.ts';
import { runtimeFolder } from '../process/runtime-folder.ts';

export interface Turn {
  isMine(): boolean;
  release(): void;
}

export function openTurn(dir: string): Turn {
  const path = join(runtimeFolder(), `notify-${hash('sha256', dir, 'hex').slice(0, 16)}`);
  const me = JSON.stringify({ ...self(), token: newId() });
  const holds = (): boolean => readIfThereSync(path) === me;
  const take = (): boolean => {
    try {
      writeFileSync(path, me, { flag: 'wx', mode: 0o600 });
      return true;
    } catch (cause) {
      // Somebody was quicker.
      if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return holds();
      throw cause;
    }
  };
  return {
    isMine() {
      const text = readIfThereSync(path);
      if (text === me) return true;
      if (text !== null && isHeld(text)) return false;
      // Two who both clear away a dead one's file: the last one to write has the turn, and the other sees that the next time.
      if (text !== null) rmSync(path, { force: true });
      return take();
    },
    release() {
      if (holds()) rmSync(path, { force: true });
    },
  };
}

function isHeld(text: string): boolean {
  try {
    const mark: unknown = JSON.parse(text);
    return isMark(mark) && isAlive(mark) !== 'gone';
  } catch {
    // Cut off by a crash: nobody's.
    return false;
  }
}
