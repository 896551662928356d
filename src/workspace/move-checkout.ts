/**
 * Moves a branch that is checked out: first the files, then the index, then the branch. Baton holds the lock of the checkout's index all the
 * while, so that no other git commits or switches branches in between. Its lock says whose it is: one whose Baton died is removed.
 */
import { existsSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../core/errors.ts';
import { isAlive, self } from '../process/identity.ts';
import { newSuffix } from '../process/new-id.ts';
import { type GitInfo, git } from './git.ts';
import { copyIndex } from './private-worktree.ts';

/** `moved`, `again` where somebody else was quicker, else a sentence that says what is in the way. */
export async function moveCheckout(info: GitInfo, ref: string, tip: string, commit: string): Promise<string> {
  const { root, gitDir } = info;
  const lock = await lockIndex(gitDir);
  if (lock !== null) return lock;
  const own = join(gitDir, `index.baton-${newSuffix(6)}`);
  try {
    const on = await git(root, ['symbolic-ref', '-q', 'HEAD']);
    const at = await git(root, ['rev-parse', '-q', '--verify', `${ref}^{commit}`]);
    if (on.stdout.toString('utf8').trim() !== ref || at.stdout.toString('utf8').trim() !== tip) return 'again';
    const index = join(gitDir, 'index');
    if (existsSync(index)) await copyIndex(index, own);
    const env = { GIT_DIR: gitDir, GIT_WORK_TREE: root, GIT_INDEX_FILE: own };
    const read = await git(root, ['read-tree', '-m', '-u', tip, commit], { env });
    if (read.code !== 0) return `git does not update ${root}: ${firstLines(read.stderr)}`;
    await rename(own, index);
    const moved = await git(root, ['update-ref', '-m', 'merge by Baton', ref, commit, tip]);
    return moved.code === 0 ? 'moved' : 'again';
  } finally {
    await rm(own, { force: true });
    await rm(`${own}.lock`, { force: true });
    await rm(join(gitDir, LOCK), { force: true });
  }
}

const LOCK = 'index.lock';
const OURS = /^baton (\d+) (\S*)\n/;

/** Null where the lock is ours now; else a sentence. */
async function lockIndex(gitDir: string): Promise<string | null> {
  const path = join(gitDir, LOCK);
  const { pid, started } = self();
  const mine = `${path}.${newSuffix(6)}`;
  await writeFile(mine, `baton ${pid} ${started ?? ''}\n`, { flag: 'wx' });
  try {
    await dropDeadLock(gitDir);
    // A link is made with its content or not at all.
    await link(mine, path);
    return null;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    return `another git is at work there, or one has died and left ${path}`;
  } finally {
    await rm(mine, { force: true });
  }
}

/** Removes the lock of a Baton that died. Another program's is left alone. */
export async function dropDeadLock(gitDir: string): Promise<void> {
  const path = join(gitDir, LOCK);
  const text = await readFile(path, 'utf8').catch((cause: unknown) => {
    if (isMissing(cause)) return '';
    throw cause;
  });
  const [, pid, started] = OURS.exec(text) ?? [];
  if (pid === undefined) return;
  if (isAlive({ pid: Number(pid), started: started || null }) === 'gone') await rm(path, { force: true });
}

const firstLines = (text: string): string => text.split('\n').slice(0, 3).join(' ').trim();
