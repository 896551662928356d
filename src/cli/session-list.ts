/** `baton session list`: the sessions there are. */

import { counted } from '../core/words.ts';
import { type SessionOverview, sessionsOf } from '../session/overview.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim, yellow } from './style.ts';
import { oneLine, time } from './text.ts';
import { reading } from './with-store.ts';

export async function listSessions(globals: Globals): Promise<void> {
  await reading(globals, async (store) => {
    const sessions = await sessionsOf(store, Date.now());
    if (globals.json) printJson(sessions);
    else print(sessions.length === 0 ? 'There is no session yet.' : sessions.map(described).join('\n'));
  });
}

function described({ id, startedAt, endedAt, tasks, keys, questions }: SessionOverview): string {
  const counts = Object.entries(tasks).map(([status, count]) => `${count} ${status}`);
  return [
    bold(oneLine(id)),
    dim(`since ${time(startedAt)}${endedAt === null ? '' : `, over ${time(endedAt)}`}`),
    counts.length === 0 ? 'no tasks' : counts.join(', '),
    counted(keys, 'key'),
    ...(questions === 0 ? [] : [yellow(`${questions} for a person`)]),
  ].join('  ');
}
