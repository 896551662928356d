/** Opens the store for one command and closes it behind it; and how a person asks something of it. */
import type { AnyMessage } from '../core/laws/messages.ts';
import type { Answer, Store } from '../core/store.ts';
import { newId } from '../process/new-id.ts';
import { openStore } from '../store/open.ts';
import { actorOf } from './caller.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { note, Refused } from './io.ts';

type Work<T> = (store: Store, dir: string) => Promise<T>;

/** For commands that only read: the data folder has to be there. */
export const reading = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), false, work);

/** For commands that write: the data folder is made where there is none. */
export const writing = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), true, work);

async function withStore<T>(dir: string, create: boolean, work: Work<T>): Promise<T> {
  const store = await openStore(dir, { create, onWarning: (sentence) => note(`baton: ${sentence}`) });
  try {
    return await work(store, dir);
  } finally {
    await store.close();
  }
}

type Done = Extract<Answer, { tasks: unknown }>;

export async function ask(store: Store, message: AnyMessage): Promise<Done> {
  const answer = await store.send({ message, by: await actorOf(store), request: newId() });
  if (answer.kind !== 'refused') return answer;
  const { code, message: sentence, hint } = answer.refusal;
  throw new Refused(code, sentence, hint);
}

export { createBlockedBy, findTask } from '../runtime/lookup.ts';
