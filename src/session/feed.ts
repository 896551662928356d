/**
 * What happens, told on the four channels that every session has (§12): files that a run has changed, how tests came out, deployments, and what
 * is urgent. From the journal, wherever Baton watches over runs; a channel that nobody listens to is not written to.
 *
 * | channel          | what is told on it                                                                                     |
 * | ---------------- | ------------------------------------------------------------------------------------------------------ |
 * | `file_changes`   | the files that Baton found changed when it looked at a run's evidence                                  |
 * | `test_results`   | the tests that a report counts, and the verdict on a task whose category is TESTING                    |
 * | `deploy_status`  | every `#SIGNAL` whose condition begins with `deploy`: nothing else that Baton sees says that it is one |
 * | `priority_alert` | tasks that are blocked or dead, and every failed run of a critical one                                 |
 */

import { isFields, parseJson } from '../core/fields.ts';
import type { Event } from '../core/laws/decision.ts';
import type { Speaker } from '../core/laws/messages.ts';
import type { Store, StoredRecord } from '../core/store.ts';
import { type Task, taskOfRun } from '../core/task.ts';
import { clip, counted } from '../core/words.ts';
import { RUNTIME } from '../runtime/actor.ts';
import type { RunWatch } from '../runtime/run-watch.ts';
import type { CHANNELS } from './commands/mail.ts';

type Channel = (typeof CHANNELS)[number];

interface FeedOptions {
  readonly store: Store;
  readonly watch: Pick<RunWatch, 'onRecord' | 'caughtUp'>;
  warn(text: string): void;
}

interface Feed {
  /** Until all that has happened by now is told. Never fails. */
  close(): Promise<void>;
}

const BATON: Speaker = { agent: 'baton', run: null, priority: 'P2', leads: false };

/** The most characters of a title or another free text in a broadcast. What a channel is about (files, tests, a signal's value) is sent whole. */
const MOST_CHARS = 200;

interface News {
  readonly channel: Channel;
  /** Null where a closer look says that there is nothing to tell. */
  text(): Promise<string | null>;
}

export function openFeed({ store, watch, warn }: FeedOptions): Feed {
  let last: Promise<void> = Promise.resolve();
  const tell = async (record: StoredRecord, place: number, { channel, text }: News): Promise<void> => {
    const { session, seq } = record;
    const listeners = (await store.session(session))?.subscribers;
    if (listeners === undefined || !Object.hasOwn(listeners, channel)) return;
    const words = await text();
    if (words === null) return;
    const message = { type: 'session.send', session, to: { channel }, text: words, speaker: BATON } as const;
    // Every Baton that watches this store sees the same record: by its number it is told once.
    await store.send({ message, by: RUNTIME, request: `feed-${seq}-${place}-${channel}` });
  };
  const forget = watch.onRecord((record) => {
    for (const [place, event] of record.events.entries()) {
      for (const news of newsOf(store, event)) {
        last = last
          .then(() => tell(record, place, news))
          .catch((cause: unknown) =>
            warn(`${news.channel} could not be told of record ${record.seq}: ${String(cause)}`),
          );
      }
    }
  });
  return {
    async close() {
      // A store that fails at the end has more to say than this; what it did not tell here is not told.
      await watch.caughtUp().catch((cause: unknown) => warn(`not all was told on the channels: ${String(cause)}`));
      forget();
      await last;
    },
  };
}

function newsOf(store: Store, event: Event): readonly News[] {
  const { type, detail = {} } = event;
  const of = (channel: Channel, text: News['text']): News => ({ channel, text });
  switch (type) {
    case 'run.evidence':
      return [
        of('file_changes', () => withTask(store, event, (task) => filesOf(task, detail['artifacts']))),
        of('test_results', () => withTask(store, event, (task) => testsOf(task, detail['claims']))),
      ];
    case 'run.judged':
      return [
        of('test_results', () => withTask(store, event, (task) => verdictOf(store, task, detail['passed'] === true))),
      ];
    case 'run.failed':
      return [
        of('priority_alert', () =>
          withTask(store, event, ({ id, title, priority }) =>
            priority === 'critical' ? `critical ${id} failed: ${short(title)} (${short(detail['code'])})` : null,
          ),
        ),
      ];
    case 'task.transitioned': {
      const to = detail['to'];
      if (to !== 'blocked' && to !== 'deadletter') return [];
      const state = to === 'blocked' ? 'blocked' : 'dead';
      const why = typeof detail['code'] === 'string' ? ` (${short(detail['code'])})` : '';
      return [
        of('priority_alert', () => withTask(store, event, ({ id, title }) => `${id} ${state}: ${short(title)}${why}`)),
      ];
    }
    case 'session.signaled': {
      const condition = String(detail['condition'] ?? '');
      if (!/^deploy/i.test(condition)) return [];
      return [of('deploy_status', async () => `${short(detail['by'])}: ${condition}=${String(detail['value'] ?? '')}`)];
    }
    default:
      return [];
  }
}

async function withTask(
  store: Store,
  { task, run }: Event,
  say: (task: Task) => string | null | Promise<string | null>,
): Promise<string | null> {
  const found = await store.find(task ?? taskOfRun(run ?? '') ?? '');
  return found === undefined ? null : say(found);
}

const short = (value: unknown): string =>
  clip(
    String(value ?? '')
      .replace(/\s+/g, ' ')
      .trim(),
    MOST_CHARS,
  );

const agentOf = ({ run, routing }: Task): string => run?.agent ?? routing.agent ?? 'somebody';

const listOf = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isFields) : []);

/** How a file was changed, where it was not simply written to. */
const WORDS: Readonly<Record<string, string>> = { CREATED: ' (new)', DELETED: ' (deleted)' };

function filesOf(task: Task, artifacts: unknown): string | null {
  const changed = listOf(artifacts).filter(({ status }) => status !== 'UNCHANGED');
  if (changed.length === 0) return null;
  const named = changed.map(({ path, status }) => `${String(path)}${WORDS[String(status)] ?? ''}`);
  return `${agentOf(task)}: ${counted(changed.length, 'file')}: ${named.join(', ')}`;
}

/** What a report says of its tests stands among its claims: `tests 5/6`. */
function testsOf(task: Task, claims: unknown): string | null {
  const claim = listOf(claims).find(({ what }) => typeof what === 'string' && /^tests \d+\/\d+$/.test(what));
  if (claim === undefined) return null;
  return `${agentOf(task)}: ${String(claim['what'])} passed, ${String(claim['detail'] ?? '')}`;
}

async function verdictOf(store: Store, task: Task, passed: boolean): Promise<string | null> {
  const message = parseJson((await store.text(task.id, 'inputs/task.json')) ?? '');
  const asked = isFields(message) && isFields(message['task']) ? message['task'] : {};
  if (asked['category'] !== 'TESTING') return null;
  return `${agentOf(task)}: ${task.id} ${passed ? 'passed' : 'failed'}: ${short(task.title)}`;
}
