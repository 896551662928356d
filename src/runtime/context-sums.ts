/**
 * What was handed to each agent of each session, in tokens, and which marks it has passed. The journal says it; a file in the data folder
 * keeps what it came to up to a record, so that no process reads the journal from its beginning again. Where the file is gone, it does.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Store, StoredRecord } from '../core/store.ts';
import { replaceFile } from '../process/files.ts';
import type { RunWatch } from './run-watch.ts';

type Mark = 'warning' | 'full';

export interface ContextSums {
  /** Until all that was written before is known. Nothing is read before the first call. */
  ready(): Promise<void>;
  /** What a run of this process hands to its agent and has not written down yet. */
  add(session: string, agent: string, run: string, tokens: number): void;
  /** All that was handed to it. */
  of(session: string, agent: string): number;
  /** True the first time, and never again for this session and agent. */
  pass(session: string, agent: string, mark: Mark): boolean;
  /** The file that tells what the session had come to, once the agent's context was full; null before that. */
  exported(session: string, agent: string): string | null;
  close(): Promise<void>;
}

/** What is known of one agent in one session. */
interface Standing {
  tokens: number;
  passed: Mark[];
  file: string | null;
}

const FILE = 'context-sums.json';
/** Of sessions that nothing is handed to any more, so many are remembered. */
const MOST_SESSIONS = 1_000;
/** So many records are read again at most after a crash. */
const SAVE_EVERY = 1_000;

export function createContextSums(store: Store, watch: RunWatch, dir: string): ContextSums {
  const sessions = new Map<string, Map<string, Standing>>();
  const live = new Map<string, Map<string, number>>();
  let seq = 0;
  let saved = 0;
  let loading: Promise<void> | null = null;
  let saving: Promise<void> = Promise.resolve();
  let unfollow = (): void => {};

  const keyOf = (session: string, agent: string): string => JSON.stringify([session, agent]);
  const standing = (session: string, agent: string): Standing => {
    const agents = sessions.get(session) ?? new Map<string, Standing>();
    // The one that was used last is the last to be forgotten.
    sessions.delete(session);
    sessions.set(session, agents);
    const known = agents.get(agent) ?? { tokens: 0, passed: [], file: null };
    agents.set(agent, known);
    return known;
  };
  const pass = (session: string, agent: string, mark: Mark): boolean => {
    const { passed } = standing(session, agent);
    if (passed.includes(mark)) return false;
    passed.push(mark);
    return true;
  };

  const take = (record: StoredRecord): void => {
    if (record.seq <= seq) return;
    seq = record.seq;
    for (const { type, run, detail } of record.events) {
      const agent = detail?.['agent'];
      if (!type.includes('context') || typeof agent !== 'string') continue;
      const { tokens, file } = detail ?? {};
      if (type === 'run.context' && typeof tokens === 'number') {
        standing(record.session, agent).tokens += tokens;
        if (run !== undefined) forget(record.session, agent, run, tokens);
      } else if (type === 'context.warning') pass(record.session, agent, 'warning');
      else if (type === 'context.full') pass(record.session, agent, 'full');
      else if (type === 'context.exported' && typeof file === 'string') standing(record.session, agent).file = file;
    }
  };
  /** What has been written down is not counted twice. */
  const forget = (session: string, agent: string, run: string, tokens: number): void => {
    const runs = live.get(keyOf(session, agent));
    const left = (runs?.get(run) ?? 0) - tokens;
    if (left > 0) runs?.set(run, left);
    else runs?.delete(run);
  };

  const save = (): void => {
    if (seq === saved) return;
    saved = seq;
    for (const session of sessions.keys()) {
      if (sessions.size <= MOST_SESSIONS) break;
      sessions.delete(session);
    }
    const kept = [...sessions].map(([session, agents]) => [session, Object.fromEntries(agents)]);
    const text = JSON.stringify({ version: 1, seq, sessions: Object.fromEntries(kept) });
    const path = join(dir, FILE);
    saving = saving
      .then(() => replaceFile(path, text))
      // It only saves reading: what it would say is in the journal.
      .catch(() => {});
  };

  const load = async (): Promise<void> => {
    const late: StoredRecord[] = [];
    let hear = (record: StoredRecord): void => void late.push(record);
    unfollow = watch.onRecord((record) => hear(record));
    const last = await store.lastRecord();
    const known = await readSums(join(dir, FILE));
    // One of another journal, or of one that was taken back, says nothing of this one.
    if (known !== null && known.seq <= last) {
      seq = known.seq;
      saved = seq;
      for (const [session, agents] of known.sessions) sessions.set(session, new Map(agents));
    }
    for await (const record of store.eventsAfter({ after: seq })) take(record);
    for (const record of late) take(record);
    hear = (record) => {
      take(record);
      if (seq - saved >= SAVE_EVERY) save();
    };
    if (seq - saved >= SAVE_EVERY) save();
  };

  return {
    ready() {
      loading ??= load();
      return loading;
    },
    add(session, agent, run, tokens) {
      const key = keyOf(session, agent);
      const runs = live.get(key) ?? new Map<string, number>();
      live.set(key, runs.set(run, (runs.get(run) ?? 0) + tokens));
    },
    of(session, agent) {
      const told = [...(live.get(keyOf(session, agent))?.values() ?? [])];
      return told.reduce((sum, tokens) => sum + tokens, sessions.get(session)?.get(agent)?.tokens ?? 0);
    },
    pass,
    exported: (session, agent) => sessions.get(session)?.get(agent)?.file ?? null,
    async close() {
      unfollow();
      if (loading === null) return;
      // Where it could not be read there is nothing to keep, and whoever asked has been told.
      const isRead = await loading.then(
        () => true,
        () => false,
      );
      if (isRead) save();
      await saving;
    },
  };
}

/** What was handed to an agent in a session, as it is written down. */
export interface ContextUse {
  readonly agent: string;
  readonly tokens: number;
  /** What the session had come to, once the agent's context was full; null before that. */
  readonly file: string | null;
}

/** For whoever asks once: the file's sums, and what the journal says since. `dir` null: all of it from the journal. */
export async function contextUse(store: Store, dir: string | null, session: string): Promise<readonly ContextUse[]> {
  const known = dir === null ? null : await readSums(join(dir, FILE));
  // One of another journal, or of one that was taken back, says nothing of this one.
  const isOurs = known !== null && known.seq <= (await store.lastRecord());
  const uses = new Map<string, ContextUse>();
  const of = (agent: string): ContextUse => uses.get(agent) ?? { agent, tokens: 0, file: null };
  for (const [id, agents] of isOurs ? known.sessions : []) {
    if (id !== session) continue;
    for (const [agent, { tokens, file }] of agents) uses.set(agent, { agent, tokens, file });
  }
  for await (const { events, session: told } of store.eventsAfter({ after: isOurs ? known.seq : 0, session })) {
    if (told !== session) continue;
    for (const { type, detail } of events) {
      const { agent, tokens, file } = detail ?? {};
      if (typeof agent !== 'string') continue;
      if (type === 'run.context' && typeof tokens === 'number') {
        uses.set(agent, { ...of(agent), tokens: of(agent).tokens + tokens });
      } else if (type === 'context.exported' && typeof file === 'string') uses.set(agent, { ...of(agent), file });
    }
  }
  return [...uses.values()];
}

interface Read {
  readonly seq: number;
  readonly sessions: readonly (readonly [string, readonly (readonly [string, Standing])[]])[];
}

async function readSums(path: string): Promise<Read | null> {
  try {
    const { version, seq, sessions } = JSON.parse(await readFile(path, 'utf8'));
    if (version !== 1 || !Number.isInteger(seq)) return null;
    const entries = Object.entries(sessions as Record<string, Record<string, Partial<Standing>>>);
    return {
      seq,
      sessions: entries.map(([session, agents]) => [
        session,
        Object.entries(agents).map(([agent, { tokens, passed, file }]): [string, Standing] => [
          agent,
          { tokens: Number(tokens) || 0, passed: Array.isArray(passed) ? [...passed] : [], file: file ?? null },
        ]),
      ]),
    };
  } catch {
    // Not there yet, or not as we wrote it: the journal is read instead.
    return null;
  }
}
