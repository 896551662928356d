/**
 * What a run changed that it had no right to change: read-only inputs, and files of the workspace outside the write paths. It is compared with
 * the state before the first attempt of the task, so that what a failed attempt did is found after the next one too. A person who retries or
 * edits the task has seen the findings: from then on the comparison begins anew.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isWithin } from '../../core/policy.ts';
import type { StoredRecord } from '../../core/store.ts';
import { lookAt } from '../../workspace/artifacts.ts';
import { type Census, changesSince, readCensus, takeCensus, writtenCensus } from '../../workspace/census.ts';
import type { Finding } from '../evidence/claim.ts';
import type { Facts } from '../facts.ts';
import type { Host } from '../host.ts';
import { logFolder } from '../places.ts';
import type { Prepared } from '../prepare.ts';

/** Kept in the log folder of the run that looked first; the journal says which one that is. */
const FILE = 'before.json';
const EVENT = 'run.before';

interface Before {
  readonly workspace: string;
  /** Read-only inputs with their hash. */
  readonly inputs: readonly { readonly path: string; readonly hash: string }[];
  readonly census: Census | null;
}

/** Tells what has been damaged since the first attempt. */
export type LookForDamage = () => Promise<readonly Finding[]>;

interface Looked {
  readonly host: Pick<Host, 'dir' | 'store'>;
  readonly task: { readonly id: string };
  readonly run: { readonly id: string };
  readonly prepared: Pick<Prepared, 'ready' | 'access'>;
  readonly facts: Facts;
}

/** Looks at what must not change, or reads what an earlier attempt of the task saw. */
export async function watchForDamage({ host, task, run, prepared, facts }: Looked): Promise<LookForDamage> {
  const earlier = await stateBefore(host, task.id, prepared);
  const before = earlier ?? (await lookNow(host.dir, prepared));
  if (before.inputs.length === 0 && before.census === null) return async () => [];
  if (earlier === null) {
    const folder = logFolder(host.dir, run.id);
    const census = before.census === null ? null : writtenCensus(before.census);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, FILE), JSON.stringify({ ...before, census }), { mode: 0o600 });
    facts.tell(EVENT, {
      workspace: before.workspace,
      inputs: before.inputs.length,
      files: before.census?.entries.size ?? 0,
    });
  }
  return () => damageSince(before, prepared.ready.apart);
}

/** The same for a run whose supervisor is gone: nothing where no attempt looked before it worked. */
export async function damageOf(
  host: Pick<Host, 'dir' | 'store'>,
  task: string,
  prepared: Pick<Prepared, 'ready' | 'access'>,
): Promise<readonly Finding[]> {
  const before = await stateBefore(host, task, prepared);
  return before === null ? [] : damageSince(before, prepared.ready.apart);
}

async function lookNow(dir: string, { ready, access }: Pick<Prepared, 'ready' | 'access'>): Promise<Before> {
  const { workspace } = ready;
  const inputs = ready.inputs.flatMap(({ path, readOnly, hash }) =>
    readOnly && hash !== null ? [{ path, hash }] : [],
  );
  // Where a sandbox keeps all else from being written there is nothing to compare.
  const isKept = access.sandbox.ok && access.widened.length === 0;
  const census =
    isKept || isWithin(workspace, access.writePaths)
      ? null
      : await takeCensus(workspace, [dir, join(workspace, '.git'), ...access.writePaths], { withContent: true });
  return { workspace, inputs, census };
}

const RESTARTS = ['task.retried', 'task.transitioned', 'task.edited', 'question.answered'];

async function stateBefore(
  { dir, store }: Pick<Host, 'dir' | 'store'>,
  task: string,
  { ready }: Pick<Prepared, 'ready'>,
): Promise<Before | null> {
  const run = firstLook(await store.history(task), task);
  if (run === null) return null;
  const file = join(logFolder(dir, run), FILE);
  // Removed as a log that nothing needs.
  if (!existsSync(file)) return null;
  const { census, ...before } = JSON.parse(await readFile(file, 'utf8'));
  // Another worktree is another state.
  return before.workspace === ready.workspace ? { ...before, census: census && readCensus(census) } : null;
}

/** The run that looked first since a person last had a say in the task. */
function firstLook(history: readonly StoredRecord[], task: string): string | null {
  let run: string | null = null;
  for (const { by, events } of history) {
    for (const event of events) {
      if (event.task !== task) continue;
      if (by.kind === 'person' && RESTARTS.includes(event.type)) run = null;
      if (event.type === EVENT) run ??= event.run ?? null;
    }
  }
  return run;
}

async function damageSince({ inputs, census }: Before, apart: readonly string[]): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const { path, hash } of inputs) {
    const now = (await lookAt([path], apart)).get(path);
    if (now?.hash === hash) continue;
    findings.push({
      code: 'E_PERMISSION_DENIED',
      message: `the input ${path} is read-only, and it was ${now?.exists ? 'changed' : 'removed'}`,
    });
  }
  const changes = census === null ? [] : await changesSince(census);
  if (changes.length > 0) {
    const shown = changes.slice(0, 10).map(({ path, status }) => `${path} (${status.toLowerCase()})`);
    const more = changes.length > shown.length ? ` and ${changes.length - shown.length} more` : '';
    findings.push({
      code: 'E_PERMISSION_DENIED',
      message: `files outside the write paths changed during the run: ${shown.join(', ')}${more}`,
    });
  }
  return findings;
}
