/**
 * Files dropped into `inbox/` of the data folder: each is read as messages, routed, and moved to `inbox/done/` or, with the reason beside it, to
 * `inbox/rejected/`. Who put it there cannot be seen: a person, as long as nothing runs; nobody that could be named while something does, as with
 * edits of the tree.
 */
import { mkdirSync, watch } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isRunning } from '../core/task.ts';
import { isAlive } from '../process/identity.ts';
import { LIMITS } from '../protocol/aof/schema.ts';
import type { Sender } from './doors.ts';
import type { Host } from './host.ts';
import type { Answered } from './routed.ts';

export interface Inbox {
  /** Takes in what is there now; one look at a time. */
  look(): Promise<void>;
  close(): Promise<void>;
}

export const inboxFolder = (dir: string): string => join(dir, 'inbox');

/** A file that is still being written has changed within this time. */
const SETTLED_MS = 200;
/** The system may not tell of a change; then this does. */
const LOOK_AGAIN_MS = 2_000;

export async function watchInbox(host: Host): Promise<Inbox> {
  const folder = inboxFolder(host.dir);
  mkdirSync(folder, { recursive: true });
  let looking: Promise<void> | null = null;
  let isClosed = false;
  let again: NodeJS.Timeout | undefined;

  const look = (): Promise<void> => {
    looking ??= lookInto(host, folder)
      .catch((cause: unknown) => {
        host.warn(`the inbox could not be read: ${cause instanceof Error ? cause.message : String(cause)}`);
      })
      .finally(() => {
        looking = null;
      });
    return looking;
  };
  const soon = (ms: number): void => {
    if (isClosed) return;
    clearTimeout(again);
    again = setTimeout(() => void look().then(() => soon(LOOK_AGAIN_MS)), ms);
    again.unref();
  };
  const watcher = watch(folder, { persistent: false }, () => soon(SETTLED_MS + 50));
  // A watcher that gives up leaves the look every now and then.
  watcher.on('error', () => watcher.close());
  soon(0);
  return {
    look,
    async close() {
      isClosed = true;
      clearTimeout(again);
      watcher.close();
      await looking;
    },
  };
}

/** A file is taken by its new name, so that of two who look only one has it. */
const takenName = (name: string): string => `.${process.pid}.${name}`;

/** What somebody took who is gone is there again. */
async function giveBack(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const [, pid, free] = /^\.(\d+)\.(.+)$/.exec(name) ?? [];
    if (pid === undefined || free === undefined || Number(pid) === process.pid) continue;
    if (isAlive({ pid: Number(pid), started: null }) !== 'gone') continue;
    await rename(join(folder, name), join(folder, free)).catch(ignoreMissing);
  }
}

/** Another was quicker. */
function ignoreMissing(cause: NodeJS.ErrnoException): null {
  if (cause.code === 'ENOENT') return null;
  throw cause;
}

async function lookInto(host: Host, folder: string): Promise<void> {
  await giveBack(folder);
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  for (const name of names) {
    const given = join(folder, name);
    const path = join(folder, takenName(name));
    const found = await lstat(given).catch(ignoreMissing);
    // Gone again; or a folder, ours among them.
    if (found === null || found.isDirectory()) continue;
    if (Date.now() - found.mtimeMs < SETTLED_MS) continue;
    if ((await rename(given, path).then(() => true, ignoreMissing)) === null) continue;
    if (!found.isFile()) {
      await put(host, path, name, `expected a file, got ${found.isSymbolicLink() ? 'a link' : 'something else'}`);
    } else if (found.size > LIMITS.messageBytes) {
      await put(host, path, name, `expected at most ${LIMITS.messageBytes} bytes, got ${found.size}`, true);
    } else {
      await put(host, path, name, reasonOf(await host.router.take(await readFile(path), await senderNow(host))));
    }
  }
}

/** Null where something in it was taken and nothing refused. */
function reasonOf(answers: readonly Answered[]): string | null {
  const refused = answers.filter(({ result }) => result === 'rejected' || result === 'unknown');
  if (refused.length > 0) return refused.map(({ result, reason }) => `${result}: ${reason}`).join('\n');
  if (answers.some(({ result }) => result === 'accepted')) return null;
  return `ignored: ${answers[0]?.reason ?? 'it holds no message'}`;
}

async function senderNow({ store }: Host): Promise<Sender> {
  for await (const task of store.tasks({ status: ['in-progress'] })) {
    if (!isRunning(task)) continue;
    return { channel: 'inbox', run: null, agent: null, actor: { kind: 'unknown', name: 'somebody, in the inbox' } };
  }
  return { channel: 'inbox', run: null, agent: null, actor: { kind: 'person', name: 'user, in the inbox' } };
}

async function put(host: Host, path: string, name: string, reason: string | null, isNew = false): Promise<void> {
  const folder = join(inboxFolder(host.dir), reason === null ? 'done' : 'rejected');
  await mkdir(folder, { recursive: true });
  const free = await freeName(folder, name);
  await rename(path, join(folder, free));
  if (reason === null) return;
  await writeFile(join(folder, `${free}.reason`), `${reason}\n`);
  host.warn(`inbox/${name} was refused: ${reason}`);
  if (!isNew && !reason.startsWith('expected a file')) return;
  await host.store.send({
    message: { type: 'note', event: 'protocol.message.rejected', detail: { channel: 'inbox', file: name, reason } },
    by: { kind: 'unknown', name: 'somebody, in the inbox' },
  });
}

/** What was there before stays. */
async function freeName(folder: string, name: string): Promise<string> {
  const taken = new Set(await readdir(folder));
  if (!taken.has(name)) return name;
  for (let number = 2; ; number++) if (!taken.has(`${number}-${name}`)) return `${number}-${name}`;
}
