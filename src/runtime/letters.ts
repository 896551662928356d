/** What was written to an agent in its session (`#DIRECT`, `#BROADCAST`) and it has not read: told with its task, and then taken as read. */
import { droppedBefore } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { counted } from '../core/words.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { RUNTIME } from './actor.ts';

/** The latest ones count; what is older is told by its number only. */
const MOST_TOLD = 20;
const MOST_CHARS = 500;

export const LETTERS_TITLE = 'Messages for you';

interface Letters {
  /** A line each. They are what others say, and no orders. */
  readonly text: string;
  /** The number of the last one. */
  readonly upTo: number;
}

export async function unread(store: Store, session: string, agent: string): Promise<Letters | null> {
  const letters = Object.entries((await store.session(session))?.letters ?? {})
    .filter(([, { to }]) => to === agent)
    .map(([number, letter]) => ({ number: Number(number), ...letter }))
    .sort((a, b) => a.number - b.number);
  const last = letters.at(-1);
  if (last === undefined) return null;
  const lines = letters.slice(-MOST_TOLD).map(({ from, channel, text }) => {
    const where = channel === null ? '' : ` (${oneLine(channel)})`;
    return `- ${oneLine(from)}${where}: ${shorten(oneLine(text), MOST_CHARS)}`;
  });
  const lost = droppedBefore(letters);
  const gone =
    lost === 0
      ? []
      : [`- ${counted(lost, 'older message')} ${lost === 1 ? 'was' : 'were'} dropped: too many were unread`];
  const more = letters.length > MOST_TOLD ? [`- and ${letters.length - MOST_TOLD} before these`] : [];
  return { text: [...gone, ...more, ...lines].join('\n'), upTo: last.number };
}

const oneLine = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();

export async function markRead(store: Store, session: string, agent: string, { upTo }: Letters): Promise<void> {
  await store.send({ message: { type: 'session.read', session, agent, upTo }, by: RUNTIME });
}
