/** `baton events`: the journal, as it was and as it goes. */
import { join } from 'node:path';
import { eventsOf } from '../core/task-json.ts';
import { createAop2Events } from '../runtime/events/as-aop2.ts';
import { readConfig } from './config-file.ts';
import { eventLine } from './event-line.ts';
import type { InSession } from './globals.ts';
import { createWriter } from './io.ts';
import { untilStopped } from './until-stopped.ts';
import { findTask, reading } from './with-store.ts';

interface Options extends InSession {
  readonly follow?: boolean;
  readonly task?: string;
  readonly as?: 'aop2';
}

export async function showEvents({ follow, task: named, session, as, ...globals }: Options): Promise<void> {
  await reading(globals, async (store, dir) => {
    const auditPath = as === undefined ? '' : join(dir, readConfig(dir).audit.storage_path);
    const aop2 = as === undefined ? null : createAop2Events({ store, auditPath });
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
        const shown = aop2 === null ? event : await aop2.take(event);
        if (shown === null) continue;
        await out.write(`${globals.json || aop2 !== null ? JSON.stringify(shown) : eventLine(event)}\n`);
      }
      // Whoever follows wants to see it now.
      if (follow === true) await out.end();
    }
    await out.end();
  });
}
