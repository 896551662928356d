/** `baton audit`: the audit trail, a projection of the journal; and whether the journal is as it was written. */
import { type AuditRecord, createAudit } from '../core/audit.ts';
import { BatonError } from '../core/errors.ts';
import type { Broken, Verification } from '../core/store.ts';
import { realDisk } from '../store/fs/disk.ts';
import { layoutOf } from '../store/fs/layout.ts';
import { secretOf } from '../store/fs/marker.ts';
import { prove, verificationOf, WHOLE } from '../store/fs/verify.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals, InSession } from './globals.ts';
import { createWriter, print, printJson } from './io.ts';
import { bold, dim, green, red } from './style.ts';
import { details, oneLine, time } from './text.ts';
import { reading } from './with-store.ts';

export async function audit(what: 'verify' | undefined, { session, ...globals }: InSession): Promise<void> {
  if (what === 'verify') return report(await verified(globals, session), globals.json);
  await reading(globals, async (store) => {
    const out = createWriter();
    const project = createAudit();
    for await (const record of store.eventsAfter({ after: 0, ...(session === undefined ? {} : { session }) })) {
      for (const audited of project(record)) {
        await out.write(`${globals.json ? JSON.stringify(audited) : line(audited)}\n`);
      }
    }
    await out.end();
  });
}

async function verified(globals: Globals, session: string | undefined): Promise<Verification> {
  try {
    return await reading(globals, (store) => store.verify(session));
  } catch (cause) {
    if (!(cause instanceof BatonError) || cause.code !== 'E_STORE_DAMAGED') throw cause;
    // A journal too damaged to open is the very thing that is asked about: its files are read as they are.
    const dir = dataFolder(globals);
    const layout = layoutOf(dir);
    const found = verificationOf(prove(realDisk, layout, { end: WHOLE, secret: secretOf(realDisk, layout), session }));
    if (!found.ok || session !== undefined) return found;
    return { ...found, ok: false, brokenAt: { seq: null, where: dir, reason: cause.message } };
  }
}

function line({ timestamp, type, task, actor, payload, governance }: AuditRecord): string {
  const refused = governance.access_decision === 'refused' ? `${red('refused')}  ` : '';
  return `${dim(time(timestamp))}  ${bold(type.padEnd(17))}  ${(task ?? '-').padEnd(19)}  ${dim(`by ${oneLine(actor.name)}`)}  ${refused}${details(payload)}`;
}

function report({ ok, records, texts = 0, brokenAt, problems = [] }: Verification, json: boolean): void {
  if (!ok) process.exitCode = 1;
  const { seq = null, where = null, reason = null } = brokenAt ?? {};
  if (json) return printJson({ ok, records, texts, broken_at: seq ?? where, where, reason, problems });
  if (brokenAt === null) {
    print(`${green('intact')}: ${records} records, each chained to the one before it`);
    return texts === 0 ? undefined : print(`  and ${texts} long texts, each as it was written`);
  }
  for (const broken of problems.length === 0 ? [brokenAt] : problems) print(`${red('broken')}: ${describe(broken)}`);
  if (brokenAt.where.startsWith(EVENTS)) print(`  ${records} records before it are as they were written`);
  else print(`  ${records} records of the journal are as they were written`);
}

const EVENTS = 'events/';

function describe({ seq, where, reason }: Broken): string {
  const text = `${oneLine(where)}: ${oneLine(reason)}`;
  if (!where.startsWith(EVENTS)) return seq === null ? text : `${text} (record ${seq})`;
  return `${seq === null ? 'a record' : `record ${seq}`} in ${text}`;
}
