/**
 * Tells whoever config names of what happens: rules from events to channels. It looks at the journal as it goes and has a queue of its own for
 * each rule, so that nothing that works waits for a channel. What could not be told is written down; of that, nobody is told.
 */
import type { Config } from '../core/config.ts';
import type { Event } from '../core/laws/decision.ts';
import { redactDeep } from '../core/redact.ts';
import type { Store, StoredRecord } from '../core/store.ts';
import { isoTime } from '../core/time.ts';
import { RUNTIME } from './actor.ts';
import { type Attempts, type Channel, NotDelivered, type Notification, openChannel } from './notify-channels.ts';
import { isAlwaysTold, isOwn, namesOf, patternOf } from './notify-names.ts';
import { openTurn, type Turn } from './notify-turn.ts';
import type { RunWatch } from './run-watch.ts';

export interface NotifyOptions {
  readonly store: Store;
  readonly dir: string;
  readonly config: Pick<Config, 'notify'>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly watch: Pick<RunWatch, 'onRecord' | 'caughtUp'>;
  now(): number;
  warn(text: string): void;
  readonly attempts?: Attempts;
  /** How many wait for a channel at most; the oldest goes. */
  readonly mostWaiting?: number;
  /** How long the end may wait for what is still to be told. */
  readonly closeMs?: number;
}

export interface Notifier {
  /** Until all that happened so far has been told or given up, or until `closeMs` have passed. */
  close(): Promise<void>;
}

const MOST_WAITING = 100;
const CLOSE_MS = 2_000;
/** What is longer says only that it is. */
const MOST_DETAIL = 8_192;
/** Of the keys that are kept for the window; a flood of tasks must not fill the memory. */
const MOST_REMEMBERED = 10_000;

export function openNotifier(options: NotifyOptions): Notifier {
  const { store, config, watch } = options;
  let turn: Turn | null = null;
  let said: Config['notify'] = [];
  let rules: readonly Rule[] = [];
  /** Rules that config no longer has: what they have taken is still told. */
  const former: Rule[] = [];
  /** Null until the end; then whose turn it was. */
  let wasMine: boolean | null = null;

  /** The rules of a config that has changed meanwhile. */
  const follow = (): void => {
    if (config.notify === said) return;
    said = config.notify;
    former.push(...rules);
    rules = said.map((rule, index) => openRule(options, rule, index));
    if (rules.length > 0) turn ??= openOwnTurn(options);
  };
  follow();

  const look = (record: StoredRecord): void => {
    follow();
    for (const [place, event] of record.events.entries()) {
      if (isOwn(event)) continue;
      const names = namesOf(event);
      const wanting = rules.filter((rule) => rule.wants(names));
      if (wanting.length === 0 || !(wasMine ?? turn?.isMine() ?? true)) continue;
      const make = (): Promise<Notification> => notificationOf(store, record, event, place, names);
      for (const rule of wanting) rule.take(names, event.task ?? null, record.session, make);
    }
  };
  const forget = watch.onRecord((record) => {
    try {
      look(record);
    } catch (cause) {
      // Whoever else listens to the journal must not suffer for this.
      options.warn(`could not tell anybody of record ${record.seq}: ${(cause as Error).message}`);
    }
  });

  return {
    async close() {
      // The turn goes first: what another Baton sees from here on it tells itself, and what we have not seen yet we still tell. Where it was
      // not ours, the one whose it is tells that too.
      if (turn === null) return forget();
      wasMine = turn.isMine();
      turn.release();
      const end = AbortSignal.timeout(options.closeMs ?? CLOSE_MS);
      await Promise.race([
        watch.caughtUp(),
        new Promise((done) => end.addEventListener('abort', done, { once: true })),
      ]);
      forget();
      await Promise.all([...rules, ...former].map((rule) => rule.close(end)));
    },
  };
}

/** Where the turn cannot be kept, telling twice is better than not at all. */
function openOwnTurn({ dir, warn }: NotifyOptions): Turn {
  try {
    return openTurn(dir);
  } catch (cause) {
    warn(`notifications may come twice, for it cannot be told who else sends them: ${(cause as Error).message}`);
    return { isMine: () => true, release: () => {} };
  }
}

interface Rule {
  wants(names: readonly string[]): boolean;
  take(names: readonly string[], task: string | null, session: string, make: () => Promise<Notification>): void;
  close(end: AbortSignal): Promise<void>;
}

interface Waiting {
  readonly name: string;
  readonly task: string | null;
  readonly session: string;
  make(): Promise<Notification>;
}

function openRule(options: NotifyOptions, rule: Config['notify'][number], index: number): Rule {
  const { store, warn, now } = options;
  const channel: Channel = openChannel(rule.to, options);
  const mostWaiting = options.mostWaiting ?? MOST_WAITING;
  const hurry = new AbortController();
  const stop = new AbortController();
  const waiting: Waiting[] = [];
  const told = new Map<string, number>();
  let dropped = 0;
  let working: Promise<void> | null = null;

  const write = async (event: string, about: Partial<Waiting>, detail: object): Promise<void> => {
    const { task, session } = about;
    const message = {
      type: 'note' as const,
      event,
      ...(task === undefined || task === null ? {} : { task }),
      ...(session === undefined ? {} : { session }),
      detail: { rule: index, channel: channel.name, ...detail },
    };
    // A journal that cannot be written is the business of those who write to it; here it only must not end us.
    await store.send({ message, by: RUNTIME }).catch((cause: Error) => warn(`${event} not recorded: ${cause.message}`));
  };

  const tellDropped = async (): Promise<void> => {
    if (dropped === 0) return;
    const count = dropped;
    dropped = 0;
    await write('notify.dropped', {}, { count, reason: `more than ${mostWaiting} were waiting` });
  };

  const deliver = async (item: Waiting): Promise<void> => {
    try {
      await channel.send(await item.make(), hurry.signal, stop.signal);
    } catch (cause) {
      const attempts = cause instanceof NotDelivered ? cause.attempts : 0;
      await write('notify.failed', item, { event: item.name, attempts, reason: (cause as Error).message });
    }
  };

  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !stop.signal.aborted; next = waiting.shift()) {
      await deliver(next);
      await tellDropped();
    }
  };

  const isRepeated = (key: string): boolean => {
    const at = now();
    const before = told.get(key);
    if (before !== undefined && at - before < rule.window_seconds * 1000) return true;
    told.delete(key);
    told.set(key, at);
    // They are in the order of their times, so the first is the oldest.
    for (const [old, time] of told) {
      if (told.size <= MOST_REMEMBERED && at - time < rule.window_seconds * 1000) break;
      told.delete(old);
    }
    return false;
  };

  return {
    wants: patternOf(rule.on),
    take(names, task, session, make) {
      const name = names[0] as string;
      if (!isAlwaysTold(names) && isRepeated(`${task ?? ''} ${name}`)) return;
      if (waiting.length >= mostWaiting) {
        waiting.shift();
        dropped++;
      }
      waiting.push({ name, task, session, make });
      working ??= work().finally(() => {
        working = null;
      });
    },
    async close(end) {
      hurry.abort();
      const isOver = new Promise<void>((done) => {
        if (end.aborted) done();
        else end.addEventListener('abort', () => done(), { once: true });
      });
      if (working !== null) await Promise.race([working, isOver]);
      const left = waiting.splice(0);
      stop.abort();
      // Ends at once now, and writes down what became of the one that was under way.
      await working;
      await tellDropped();
      if (left.length > 0)
        await write(
          'notify.failed',
          {},
          { events: left.length, attempts: 0, reason: 'Baton ended before they were sent' },
        );
    },
  };
}

/** What goes out. Made when its turn comes, for the task's title is asked of the store. */
async function notificationOf(
  store: Store,
  record: StoredRecord,
  event: Event,
  place: number,
  names: readonly string[],
): Promise<Notification> {
  const task = event.task === undefined ? undefined : await store.find(event.task);
  const set = record.changes.find((change) => change.task === event.task)?.set;
  const detail = event.detail ?? {};
  return redactDeep({
    id: `${record.seq}-${place}`,
    event: names[0] as string,
    type: event.type,
    at: isoTime(record.at),
    session: record.session,
    task: event.task ?? null,
    externalId: task?.externalId ?? null,
    title: task?.title ?? null,
    // As it was then; it may have moved on since.
    status: set?.status ?? task?.status ?? null,
    cause: set?.cause ?? null,
    run: event.run ?? null,
    by: record.by.name,
    byKind: record.by.kind,
    detail: JSON.stringify(detail).length > MOST_DETAIL ? { leftOut: 'too long; see baton events' } : detail,
  });
}
