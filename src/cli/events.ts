/** `baton events`: the journal, as it was and as it goes. */
import { eventsOf } from '../core/task-json.ts';
import { eventLine } from './event-line.ts';
import type { InSession } from './globals.ts';
import { createWriter } from './io.ts';
import { untilStopped } from './until-stopped.ts';
import { findTask, reading } from './with-store.ts';

interface Options extends InSession {
  readonly follow?: boolean;
  readonly task?: string;
}

export async function showEvents({ follow, task: named, session, ...globals }: Options): Promise<void> {
  await reading(globals, async (store) => {
    const task = named === undefined ? undefined : (await findTask(store, named, session)).id;
    const out = createWriter();
    const stop = follow === true ? untilStopped() : undefined;
    const query = {
      after: 0,
      ...(task === undefined ? {} : { task }),
      ...(session === undefined ? {} : { session }),
      ...(stop === undefined ? {} : { follow: stop }),
    };
    for await (const record of store.eventsAfter(query)) {
      for (const event of eventsOf(record, task)) {
        await out.write(`${globals.json ? JSON.stringify(event) : eventLine(event)}\n`);
      }
      // Whoever follows wants to see it now.
      if (follow === true) await out.end();
    }
    await out.end();
  });
}
