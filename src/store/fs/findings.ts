/** What a start finds out of order, told to the user in a sentence and written down as an event. */
import { BatonError } from '../../core/errors.ts';
import type { Actor } from '../../core/laws/messages.ts';
import type { Ask } from '../../core/store.ts';
import type { Distrusted, Engine } from './engine.ts';
import { REPAIRED } from './load.ts';

const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export const sentenceOf = (dir: string, { file, reason }: Distrusted): string =>
  `${dir}/${file} was not believed: ${reason}; it is built again from the journal (baton audit verify checks the journal)`;

export const distrustNote = ({ file, reason }: Distrusted): Ask => ({
  message: { type: 'note', event: 'store.distrusted', detail: { file, reason } },
  by: RUNTIME,
});

/** What was found at the start is written down, where anything can be. */
export async function reportFindings({ torn, damage, send }: Engine, distrusted: readonly Distrusted[]): Promise<void> {
  const notes = [
    ...(torn === null ? [] : [{ event: 'store.recovered', detail: { file: `events/${torn.day}.jsonl`, ...torn } }]),
    ...(damage.length === 0 ? [] : [{ event: REPAIRED, detail: { passedOver: damage } }]),
  ];
  try {
    for (const note of notes) await send({ message: { type: 'note', ...note }, by: RUNTIME });
    for (const found of distrusted) await send(distrustNote(found));
  } catch (cause) {
    onlyUnwritable(cause);
  }
}

/** A folder that cannot be written can still be read. */
export function onlyUnwritable(cause: unknown): void {
  if (!(cause instanceof BatonError) || cause.code !== 'E_STORE_UNWRITABLE') throw cause;
}
