/** What is found out of order when files are read: told to the user in a sentence, and written down as an event. */
import { BatonError } from '../../core/errors.ts';
import type { Actor } from '../../core/laws/messages.ts';
import type { Distrusted, Engine } from './engine.ts';
import { REPAIRED } from './load.ts';

interface Findings {
  /** Reports a file that does not fit its proof. Each file is reported once, however often it is read. */
  distrust(found: Distrusted): void;
  /** Writes down what was found at the start, and from then on what is found later. */
  report(engine: Engine): Promise<void>;
}

const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export function createFindings(dir: string, onWarning: (sentence: string) => void = () => {}): Findings {
  const told = new Set<Distrusted['file']>();
  /** Found while nothing can be written yet. */
  const early: Distrusted[] = [];
  let engine: Engine | null = null;

  const note = async (event: string, detail: Readonly<Record<string, unknown>>): Promise<void> => {
    await engine?.send({ message: { type: 'note', event, detail }, by: RUNTIME });
  };

  /** The user was warned already; a failure to record it as well must not stop reading. */
  const noteDistrust = (found: Distrusted): Promise<void> => note('store.distrusted', { ...found }).catch(onlyBaton);

  return {
    distrust(found) {
      if (told.has(found.file)) return;
      told.add(found.file);
      onWarning(sentenceOf(dir, found));
      // Later: it was found in the middle of reading.
      if (engine === null) early.push(found);
      else setImmediate(noteDistrust, found);
    },
    async report(opened) {
      engine = opened;
      const { torn, damage } = opened;
      if (torn !== null) {
        const detail = { file: `events/${torn.day}.jsonl`, ...torn };
        await note('store.recovered', detail).catch(onlyUnwritable);
      }
      if (damage.length > 0) await note(REPAIRED, { passedOver: damage }).catch(onlyUnwritable);
      for (const found of early) await noteDistrust(found);
    },
  };
}

function onlyBaton(cause: unknown): void {
  if (!(cause instanceof BatonError)) throw cause;
}

/** A folder that cannot be written can still be read. */
function onlyUnwritable(cause: unknown): void {
  if (!(cause instanceof BatonError) || cause.code !== 'E_STORE_UNWRITABLE') throw cause;
}

const sentenceOf = (dir: string, { file, reason }: Distrusted): string =>
  `${dir}/${file} was not believed: ${reason}; it is built again from the journal (baton audit verify checks the journal)`;
