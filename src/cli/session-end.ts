/** `baton session end`: the final report, and what the session remembered is forgotten. What that was, and what of it was exported, is said. */
import { statSync } from 'node:fs';
import { BatonError } from '../core/errors.ts';
import type { SessionJson } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { isFinal } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { counted } from '../core/words.ts';
import { endSession } from '../runtime/index.ts';
import { type Capsule, MOST_CAPSULE_BYTES, readCapsule } from '../session/context-file.ts';
import { voiceOf } from '../session/voice.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig, readIfThere } from './config-file.ts';
import type { Globals } from './globals.ts';
import { note, print, printJson } from './io.ts';
import { reportText } from './report-text.ts';
import { personSender } from './send.ts';
import { dim, yellow } from './style.ts';
import { oneLine, time } from './text.ts';
import { countTokens } from './tokens.ts';
import { ask, reading } from './with-store.ts';

interface Exported {
  readonly file: string;
  readonly items: number;
  readonly at: string;
}

interface Cleared {
  readonly keys: readonly string[];
  /** Those of them whose value stands in none of the files that were exported. */
  readonly not_exported: readonly string[];
  readonly variables: number;
  readonly locks: number;
  readonly letters: number;
}

export async function endOf(session: string, globals: Globals): Promise<void> {
  await reading(globals, async (store, dir) => {
    const sender = (await runSender(store, dir, 'cli')) ?? personSender(await actorOf(store), undefined);
    if (sender.actor.kind !== 'person') {
      throw new BatonError('E_PERMISSION_DENIED', `expected a person to end ${session}, got ${sender.actor.name}`);
    }
    const config = readConfig(dir);
    const { speaker } = await voiceOf({ store, config }, sender, session);
    const json = await store.session(session);
    const open = await openTasks(store, session);
    if (json === undefined && open === null) {
      throw new BatonError('E_NOT_FOUND', `there is no session ${session}`, 'see: baton session list');
    }
    const wasOver = json?.facts?.['endedAt'] !== undefined;
    const exported = await exportsOf(store, session);
    const cleared = clearedOf(json, exported);
    const report = await endSession({ store, dir, session, auditPath: config.audit.storage_path, now: Date.now() });
    await ask(store, { type: 'session.end', session, speaker });
    if (globals.json) printJson({ ...report, cleared, exported });
    else print([reportText(report), '', wasOver ? dim('It was over already.') : told(cleared, exported)].join('\n'));
    if (open !== null && open > 0) note(`baton: still open, and going on: ${counted(open, 'task')}`);
  });
}

/** How many of its tasks have not ended; null where it has none at all. */
async function openTasks(store: Store, session: string): Promise<number | null> {
  let open: number | null = null;
  for await (const { status } of store.tasks({ session })) open = (open ?? 0) + (isFinal(status) ? 0 : 1);
  return open;
}

/** Since it began: what was exported from a session of that name before is not this one's. */
async function exportsOf(store: Store, session: string): Promise<Exported[]> {
  const began = ((await store.session(session))?.facts?.['startedAt'] as number | undefined) ?? 0;
  const found: Exported[] = [];
  for await (const { events, at } of store.eventsAfter({ after: 0, session })) {
    if (at < began) continue;
    for (const { type, detail } of events) {
      if (type !== 'context.exported') continue;
      found.push({ file: String(detail?.['file']), items: Number(detail?.['items'] ?? 0), at: isoTime(at) });
    }
  }
  return found;
}

function clearedOf(json: SessionJson | undefined, exported: readonly Exported[]): Cleared {
  const { state = {}, variables = {}, locks = {}, letters = {} } = json ?? {};
  const files = [...new Set(exported.map(({ file }) => file))].map(stateIn);
  return {
    keys: Object.keys(state),
    not_exported: Object.keys(state).filter((key) => !files.some((file) => file[key]?.value === state[key]?.value)),
    variables: Object.keys(variables).length,
    locks: Object.keys(locks).length,
    letters: Object.keys(letters).length,
  };
}

/** What is there now counts: a file may be gone, written over, or without what is temporary. */
function stateIn(file: string): Capsule['state'] {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined || !found.isFile() || found.size > MOST_CAPSULE_BYTES) return {};
  const capsule = readCapsule(readIfThere(file) ?? '', countTokens);
  return 'state' in capsule ? capsule.state : {};
}

function told({ keys, not_exported: lost, variables, locks, letters }: Cleared, exported: readonly Exported[]): string {
  const counts = [
    `${counted(keys.length, 'key')}${keys.length === 0 ? '' : ` (${keys.join(', ')})`}`,
    counted(variables, 'variable'),
    counted(locks, 'lock'),
    counted(letters, 'unread message'),
  ];
  return [
    `Cleared: ${counts.join(', ')}`,
    exported.length === 0
      ? 'Exported: nothing'
      : `Exported: ${exported.map(({ file, items, at }) => `${oneLine(file)} (${items} items, ${time(at)})`).join(', ')}`,
    ...(lost.length === 0 ? [] : [yellow(`Not in any export: ${lost.join(', ')}`)]),
  ].join('\n');
}
