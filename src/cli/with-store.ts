/** Opens the store for one command and closes it behind it; and how a person asks something of it. */
import type { AnyMessage, TaskMessage } from '../core/laws/messages.ts';
import type { Answer, KnownTasks, Store } from '../core/store.ts';
import { newId } from '../process/new-id.ts';
import { homeOf } from '../runtime/home-of.ts';
import { openStore } from '../store/open.ts';
import { actorOf } from './caller.ts';
import { readConfig } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { note, Refused } from './io.ts';

type Work<T> = (store: Store, dir: string) => Promise<T>;

/** For commands that only read: the data folder has to be there. */
export const reading = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), false, work);

/** For commands that write: the data folder is made where there is none. */
export const writing = <T>(options: Globals, work: Work<T>): Promise<T> => withStore(dataFolder(options), true, work);

async function withStore<T>(dir: string, create: boolean, work: Work<T>): Promise<T> {
  const store = await openStore(dir, {
    create,
    onWarning: (sentence) => note(`baton: ${sentence}`),
    admit: (message, known) => admitFile(dir, message, known),
  });
  try {
    return await work(store, dir);
  } finally {
    await store.close();
  }
}

/** A file that was dropped or edited by hand passes the checks of every new task; what they need is loaded when there is one. */
async function admitFile(dir: string, message: TaskMessage, known: KnownTasks): Promise<TaskMessage> {
  const { admitMessage } = await import('../runtime/tasks/admit-message.ts');
  return admitMessage({ store: known, config: readConfig(dir), workspace: homeOf(dir), now: Date.now }, message);
}

type Done = Extract<Answer, { tasks: unknown }>;

export const ask = async (store: Store, message: AnyMessage): Promise<Done> =>
  accepted(await store.send({ message, by: await actorOf(store), request: newId() }));

/** The answer, where it is no refusal. */
export function accepted(answer: Answer): Done {
  if (answer.kind !== 'refused') return answer;
  const { code, message: sentence, hint } = answer.refusal;
  throw new Refused(code, sentence, hint);
}

export { createTaskView, findTask } from '../runtime/lookup.ts';
