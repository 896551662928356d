/** A session's final report: folded from the journal whenever it is asked for, and kept in a file when the session ends. */
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { createAudit } from '../core/audit.ts';
import { createSessionReport, type SessionFinalReport } from '../core/session-report.ts';
import type { EventQuery, Store } from '../core/store.ts';
import { readIfThere, replaceFile } from '../process/files.ts';
import { RUNTIME } from './actor.ts';
import { writeSessionEvents } from './events/session-events.ts';
import { reportFile } from './places.ts';

interface SessionOptions {
  readonly store: Store;
  readonly dir: string;
  readonly session: string;
  readonly auditPath: string;
  readonly now: number;
}

export async function sessionReport({
  store,
  dir,
  session,
  auditPath,
  now,
}: SessionOptions): Promise<SessionFinalReport> {
  const extra = { auditPath: resolve(dir, auditPath) };
  const fold = async (query: EventQuery): Promise<SessionFinalReport> => {
    const report = createSessionReport(session);
    for await (const record of store.eventsAfter(query)) report.take(record);
    return report.finish(now, extra);
  };
  let tasks = 0;
  for await (const _ of store.tasks({ session })) tasks++;
  const found = await fold({ after: 0, session });
  await writeAudit(store, session, extra.auditPath);
  // Tasks that were added together with those of another session stand in that session's record.
  return found.totals.tasks === tasks ? found : fold({ after: 0 });
}

/** The audit trail of a session as a file, a record a line, in the folder that its report names. */
async function writeAudit(store: Store, session: string, folder: string): Promise<void> {
  const project = createAudit();
  const lines: string[] = [];
  for await (const record of store.eventsAfter({ after: 0 }))
    for (const audited of project(record)) if (audited.session === session) lines.push(JSON.stringify(audited));
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await replaceFile(
    join(folder, `${session.replace(/[^\w.-]/g, '_')}.jsonl`),
    lines.map((line) => `${line}\n`).join(''),
  );
}

/** Writes down that it has ended, and its report beside. */
export async function endSession(options: SessionOptions): Promise<SessionFinalReport> {
  const { store, dir, session } = options;
  await store.send({
    message: { type: 'note', event: 'session.ended', session, detail: { by: RUNTIME.name } },
    by: RUNTIME,
  });
  const report = await sessionReport(options);
  const path = reportFile(dir, session);
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, `${JSON.stringify(report, null, 2)}\n`);
  await writeSessionEvents({ store, auditPath: join(dir, options.auditPath), session });
  return report;
}

/** What a run left on disk for others; null where it left nothing. */
export function kept(dir: string, run: string, name: 'block.txt' | 'response.json'): Promise<string | null> {
  return readIfThere(join(dir, 'logs', run, name));
}
