/** What is behind the addresses of the MCP server, read from the store and the data folder; each bounded, because it goes into a context. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store } from '../../core/store.ts';
import { runId, type Task, taskOfRun } from '../../core/task.ts';
import { stripControls } from '../../protocol/text/clean.ts';
import { shorten } from '../../protocol/text/shorten.ts';
import type { Door } from '../../runtime/doors.ts';
import { openInside } from '../../runtime/inside.ts';
import { shownTask } from '../../runtime/lookup.ts';
import { logFolder } from '../../runtime/places.ts';
import type { Look } from './resources.ts';

const MOST_BODY = 100_000;
/** Of events and runs, the last so many. */
const MOST_EVENTS = 200;
const MOST_RUNS = 50;
const MOST_LOG_BYTES = 64 * 1024;
const MOST_RESPONSE_BYTES = 2 * 1024 * 1024;

/** `mayRead` says what this caller may see; all of it where it is not given. */
export function lookAt(store: Store, dir: string, mayRead: (task: Task) => boolean = () => true): Look {
  const find = async (id: string): Promise<Task | null> => {
    const task = await store.find(id);
    return task !== undefined && mayRead(task) ? task : null;
  };
  return {
    async task(id) {
      const task = await find(id);
      if (task === null) return null;
      const { runs, events, body, ...shown } = await shownTask(store, task);
      const some = {
        ...shown,
        runs: runs.slice(-MOST_RUNS),
        events: events.slice(-MOST_EVENTS),
        body: body === null ? null : shorten(body, MOST_BODY),
      };
      return JSON.stringify(some, null, 2);
    },
    async log(id) {
      const task = await find(id);
      if (task === null) return null;
      if (task.runs === 0) return '';
      return endOf(dir, join(logFolder(dir, runId(task.id, task.runs)), 'out.log'));
    },
    async response(run) {
      const owner = taskOfRun(run);
      const task = owner === null ? null : await find(owner);
      const number = Number(/\d+$/.exec(run)?.[0] ?? 0);
      if (task === null || number < 1 || number > task.runs) return null;
      // By the run's own name, made anew: what was asked for may hold anything.
      const file = join(logFolder(dir, runId(task.id, number)), 'response.json');
      // Not there: the run has not ended, or left none.
      const found = await openInside(await realpath(dir), file);
      if (found === null) return null;
      try {
        // One that is larger is none of ours: the runtime keeps them small.
        return (await found.stat()).size > MOST_RESPONSE_BYTES ? null : await found.readFile('utf8');
      } finally {
        await found.close();
      }
    },
  };
}

/** What a run can see of its own task and its children through its door: how they are. What was printed is in its own folders, or not for it. */
export const lookThrough = (door: Door): Look => ({
  async task(id) {
    const [task] = await door.wait({ taskIds: [id], timeoutMs: 0 });
    return task === undefined ? null : JSON.stringify(task, null, 2);
  },
});

/** The last bytes of a file as text, and how many came before; nothing where it is not there yet. */
async function endOf(dir: string, path: string): Promise<string> {
  // Not there: nothing was printed yet.
  const file = await openInside(await realpath(dir), path);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - MOST_LOG_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(size, MOST_LOG_BYTES)), 0, undefined, from);
    const text = stripControls(new TextDecoder().decode(buffer.subarray(0, bytesRead)));
    return from === 0 ? text : `(${from} bytes before this are left out)\n${text}`;
  } finally {
    await file.close();
  }
}
