/** What a run is told of its session: what was saved in it, and what it goes on from. An agent's role has no memory of its own (shared agent protocol §8). */
import type { Imported } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { shorten } from '../protocol/text/shorten.ts';

const MOST_CHARS = 4_000;

const line = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();

/** A section of its prompt; null where the session has nothing to tell. */
export async function sessionWords(store: Store, session: string): Promise<string | null> {
  const { state = {}, facts } = (await store.session(session)) ?? {};
  const imported = facts?.['imported'] as Imported | undefined;
  const parts: string[] = [];
  const kept = Object.entries(state).map(([key, { value }]) => `- ${key}: ${line(value)}`);
  if (kept.length > 0) parts.push(`Saved in this session:\n${kept.join('\n')}`);
  if (imported !== undefined) {
    const from = imported.from === null ? 'another session' : `the session ${line(imported.from)}`;
    const done = imported.done.map(({ task, summary }) => `- ${line(task)}: ${line(summary)}`);
    parts.push(
      [`This session goes on from ${from}; what that had come to is in ${imported.file}.`, ...done].join('\n'),
    );
  }
  return parts.length === 0 ? null : shorten(parts.join('\n\n'), MOST_CHARS);
}
