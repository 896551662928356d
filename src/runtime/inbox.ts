/**
 * Files dropped into `inbox/` of the data folder: each is read as messages, routed, and moved to `inbox/done/` or, with the reason beside it, to
 * `inbox/rejected/`. Who put it there cannot be seen: a person, where nothing has run since; nobody that could be named where something has.
 */

import { mkdirSync, type Stats, watch } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { isRunning } from '../core/task.ts';
import { replaceWith } from '../process/files.ts';
import { isAlive } from '../process/identity.ts';
import { newId } from '../process/new-id.ts';
import { LIMITS } from '../protocol/aof/schema.ts';
import type { Sender } from './doors.ts';
import type { Host } from './host.ts';
import type { Answered } from './routed.ts';

interface Inbox {
  /** Takes in what is there now; one look at a time. */
  look(): Promise<void>;
  close(): Promise<void>;
}

const inboxFolder = (dir: string): string => join(dir, 'inbox');

/** A file that is still being written has changed within this time. */
const SETTLED_MS = 200;
/** The system may not tell of a change; then this does. */
const LOOK_AGAIN_MS = 2_000;

export async function watchInbox(host: Host): Promise<Inbox> {
  const folder = inboxFolder(host.dir);
  mkdirSync(folder, { recursive: true });
  let looking: Promise<void> | null = null;
  const own: Own = { folder: join(folder, `.${process.pid}.${newId()}`), taken: new Map() };
  let isClosed = false;
  let again: NodeJS.Timeout | undefined;

  const look = (): Promise<void> => {
    looking ??= lookInto(host, folder, own)
      .catch((cause: unknown) => {
        host.warn(`the inbox could not be read: ${messageOf(cause)}`);
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

/** A file that is ours to route. `found` is how it was when it was taken; null where another took it, who is gone. */
interface Taken {
  readonly name: string;
  readonly found: Stats | null;
  tries: number;
}

/** What is in our own folder, by the name that it has there. */
interface Own {
  readonly folder: string;
  readonly taken: Map<string, Taken>;
}

/** A store that fails may be well again soon; what fails so often is refused. */
const MOST_TRIES = 3;

/** What somebody took who is gone is ours now. */
async function takeOver(folder: string, own: Own): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const pid = Number(/^\.(\d+)\./.exec(entry.name)?.[1] ?? process.pid);
    if (!entry.isDirectory() || pid === process.pid || isAlive({ pid, started: null }) !== 'gone') continue;
    const left = join(folder, entry.name);
    for (const name of (await readdir(left).catch(ignoreMissing)) ?? []) {
      await take(own, join(left, name), name, null);
    }
    // Another may have been quicker, or be at it.
    await rmdir(left).catch(() => {});
  }
}

/** By moving it into a folder of our own, so that of two who look only one has it, however long its name is. */
async function take(own: Own, path: string, name: string, found: Stats | null): Promise<void> {
  await mkdir(own.folder, { recursive: true });
  const free = await freeName(own.folder, name);
  if ((await rename(path, join(own.folder, free)).then(() => true, ignoreMissing)) === null) return;
  own.taken.set(free, { name, found, tries: 0 });
}

/** Another was quicker. */
function ignoreMissing(cause: NodeJS.ErrnoException): null {
  if (cause.code === 'ENOENT') return null;
  throw cause;
}

async function lookInto(host: Host, folder: string, own: Own): Promise<void> {
  await takeOver(folder, own);
  const names = (await readdir(folder)).filter((name) => !name.startsWith('.')).sort();
  for (const name of names) {
    const given = join(folder, name);
    const found = await lstat(given).catch(ignoreMissing);
    // Gone again; or a folder, ours among them.
    if (found === null || found.isDirectory()) continue;
    // Its writer can say when it was written, and not when it was changed.
    if (Date.now() - found.ctimeMs < SETTLED_MS) continue;
    // One that cannot be taken must not keep the others waiting.
    await take(own, given, name, found).catch((cause: Error) => host.warn(`inbox/${name}: ${cause.message}`));
  }
  for (const [at, file] of own.taken) {
    const path = join(own.folder, at);
    try {
      await routeFile(host, path, file);
      own.taken.delete(at);
    } catch (cause) {
      const { message } = cause as Error;
      if (++file.tries < MOST_TRIES) {
        host.warn(`inbox/${file.name} is tried again: ${message}`);
        continue;
      }
      own.taken.delete(at);
      await put(host, path, file.name, `it could not be taken: ${message}`).catch((last: Error) =>
        host.warn(`inbox/${file.name} was given up: ${last.message}`),
      );
    }
  }
  // Not empty, or not there: then it stays as it is.
  if (own.taken.size === 0) await rmdir(own.folder).catch(() => {});
}

async function routeFile(host: Host, path: string, { name, found }: Taken): Promise<void> {
  const now = await lstat(path);
  if (!now.isFile()) {
    await put(host, path, name, `expected a file, got ${now.isSymbolicLink() ? 'a link' : 'something else'}`);
  } else if (now.size > LIMITS.messageBytes) {
    await put(host, path, name, `expected at most ${LIMITS.messageBytes} bytes, got ${now.size}`, true);
  } else {
    // When it came cannot be seen any more of one that another took.
    const sender = found === null ? UNKNOWN : await senderSince(host, found.ctimeMs);
    await put(host, path, name, reasonOf(await host.router.take(await readFile(path), sender)));
  }
}

/** Null where something in it was taken and nothing refused. */
function reasonOf(answers: readonly Answered[]): string | null {
  const refused = answers.filter(({ result }) => result === 'rejected' || result === 'unknown');
  if (refused.length > 0) return refused.map(({ result, reason }) => `${result}: ${reason}`).join('\n');
  if (answers.some(({ result }) => result === 'accepted')) return null;
  return `ignored: ${answers[0]?.reason ?? 'it holds no message'}`;
}

const UNKNOWN: Sender = {
  channel: 'inbox',
  run: null,
  agent: null,
  actor: { kind: 'unknown', name: 'somebody, in the inbox' },
};

/** A person only where nothing has run from the moment that it was put there. */
async function senderSince({ store }: Host, moment: number): Promise<Sender> {
  for await (const task of store.tasks()) {
    const { run } = task;
    if (run !== null && (isRunning(task) || (run.endedAt ?? run.startedAt) >= moment)) return UNKNOWN;
  }
  return { channel: 'inbox', run: null, agent: null, actor: { kind: 'person', name: 'user, in the inbox' } };
}

async function put(host: Host, path: string, name: string, reason: string | null, isNew = false): Promise<void> {
  const folder = join(inboxFolder(host.dir), reason === null ? 'done' : 'rejected');
  await mkdir(folder, { recursive: true });
  const free = await freeName(folder, name);
  await rename(path, join(folder, free));
  if (reason === null) return;
  // Other programs wait for it: it is written elsewhere and comes whole.
  await replaceWith(
    join(folder, `${free}.reason`),
    (aside) => writeFile(aside, `${reason}\n`, { flag: 'wx', mode: 0o600 }),
    join(inboxFolder(host.dir), `.reason.${newId()}`),
  );
  host.warn(`inbox/${name} was refused: ${reason}`);
  if (!isNew && !reason.startsWith('expected a file')) return;
  await host.store.send({
    message: { type: 'note', event: 'protocol.message.rejected', detail: { channel: 'inbox', file: name, reason } },
    by: { kind: 'unknown', name: 'somebody, in the inbox' },
  });
}

/** What was there before stays. A name has room for a number before it and for `.reason` behind it. */
async function freeName(folder: string, name: string): Promise<string> {
  const taken = new Set(await readdir(folder));
  const short = Buffer.byteLength(name) <= MOST_NAME ? name : [...name].slice(0, MOST_NAME / 4).join('');
  if (!taken.has(short)) return short;
  for (let number = 2; ; number++) if (!taken.has(`${number}-${short}`)) return `${number}-${short}`;
}

/** Bytes; the system allows 255. A character has at most four. */
const MOST_NAME = 232;
