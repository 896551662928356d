/** `baton report`: a session's final report, from the journal. */
import { BatonError } from '../core/errors.ts';
import type { Store } from '../core/store.ts';
import { sessionReport } from '../runtime/session.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { reportText } from './report-text.ts';
import { reading } from './with-store.ts';

export async function report(named: string | undefined, globals: Globals): Promise<void> {
  await reading(globals, async (store, dir) => {
    const session = named ?? (await latestSession(store));
    if (session === null) throw new BatonError('E_NOT_FOUND', 'there is no session yet', 'begin one: baton run "…"');
    const auditPath = readConfig(dir).audit.storage_path;
    const found = await sessionReport({ store, dir, session, auditPath, now: Date.now() });
    if (found.totals.tasks === 0)
      throw new BatonError('E_NOT_FOUND', `there is no session ${session}`, 'see: baton task list');
    if (globals.json) printJson(found);
    else print(reportText(found));
  });
}

/** The one that something happened in last. */
async function latestSession(store: Store): Promise<string | null> {
  let latest: { readonly session: string; readonly updatedAt: number } | null = null;
  for await (const task of store.tasks()) if (latest === null || task.updatedAt >= latest.updatedAt) latest = task;
  return latest?.session ?? null;
}
