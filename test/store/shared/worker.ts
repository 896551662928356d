/** One process of a data folder, driven over its IPC channel by `crew.ts`. */
import { openShared } from '../../../src/store/shared/open.ts';
import { adding, openDurable } from './durable.ts';

export interface WorkerOptions {
  readonly dir: string;
  readonly file: string;
  readonly runtimeDir?: string;
  readonly lock?: 'abstract' | 'file';
  readonly slowMs?: number;
  /** How many sends of `load` are under way at once. */
  readonly lanes?: number;
  readonly waitMs?: number;
  /** What to do as soon as it is open. */
  readonly orders?: readonly (readonly [string, string?])[];
}

const {
  lanes = 3,
  file,
  slowMs = 0,
  orders: first = [],
  ...shared
} = JSON.parse(process.argv[2] ?? '') as WorkerOptions;
const name = process.pid;
let isLoading = false;
let stopFollowing = new AbortController();

const tell = (value: object): void => void process.send?.(value);
const failed = (cause: unknown): void => {
  const { code = null, message, hint = null } = cause as { code?: string; message: string; hint?: string | null };
  tell({ failed: { code, message, hint } });
};

try {
  const store = await openShared({
    ...shared,
    secret: 'secret',
    openOwner: () => openDurable(file, { slowMs }),
    onRole: (role) => tell({ role }),
  });
  tell({ opened: true });

  const lane = async (number: number): Promise<void> => {
    for (let i = 0; isLoading; i += 1) {
      const title = `${name}/${number}/${i}`;
      await store.send(adding(title));
      tell({ acked: title });
    }
  };
  let load: Promise<unknown> = Promise.resolve();
  let following: Promise<unknown> = Promise.resolve();
  const follow = async (): Promise<void> => {
    for await (const { seq } of store.eventsAfter({ after: 0, follow: stopFollowing.signal })) tell({ seq });
  };

  const orders: Record<string, (argument?: string) => unknown> = {
    async add(title = '') {
      await store.send(adding(title));
      tell({ acked: title });
    },
    load() {
      isLoading = true;
      load = Promise.all(Array.from({ length: lanes }, (_, number) => lane(number))).catch(failed);
    },
    async rest() {
      isLoading = false;
      await load;
      tell({ resting: true });
    },
    follow() {
      stopFollowing = new AbortController();
      following = follow().catch(failed);
    },
    async close() {
      isLoading = false;
      await load;
      stopFollowing.abort();
      await following;
      await store.close();
      tell({ closed: true });
      process.disconnect();
    },
  };
  process.on('message', ([order, argument]: [string, string?]) => {
    Promise.resolve(orders[order]?.(argument)).catch(failed);
  });
  for (const [order, argument] of first) await orders[order]?.(argument);
} catch (cause) {
  failed(cause);
  process.disconnect();
}
