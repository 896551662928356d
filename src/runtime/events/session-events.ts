/** The aop2 EVENTs of a session that has ended, in the folder of the audit trail (`audit.storage_path`): one EVENT a line, secrets redacted. */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { redactDeep } from '../../core/redact.ts';
import type { Store } from '../../core/store.ts';
import { eventsOf } from '../../core/task-json.ts';
import { replaceFile } from '../../process/files.ts';
import { createAop2Events } from './as-aop2.ts';

interface Options {
  readonly store: Store;
  /** The folder of the audit trail. */
  readonly auditPath: string;
  readonly session: string;
}

/** Returns where it wrote them. */
export async function writeSessionEvents({ store, auditPath, session }: Options): Promise<string> {
  const path = join(auditPath, `${session.replace(/[^\w.-]/g, '_')}.events.jsonl`);
  const events = createAop2Events({ store, auditPath });
  const lines: string[] = [];
  for await (const record of store.eventsAfter({ after: 0, session })) {
    for (const event of eventsOf(record)) {
      const message = await events.take(event);
      if (message !== null) lines.push(JSON.stringify(redactDeep(message)));
    }
  }
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}
