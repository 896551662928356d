/** The store on files keeps every promise of the port, and remembers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '../../../src/core/store.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { storeAgreement } from '../agreement.ts';
import { type OpenStore, storeConformance } from '../conformance.ts';
import { graphConformance } from '../conformance-graph.ts';

type Open = (dir: string, now: () => number) => Promise<Store>;

const onFolder =
  (openIt: Open) =>
  async ({ now }: { readonly now: () => number }) => {
    const dir = mkdtempSync(join(tmpdir(), 'baton-test-'));
    let current = await openIt(dir, now);
    return {
      store: current,
      async reopen() {
        await current.close();
        current = await openIt(dir, now);
        return current;
      },
      async destroy() {
        await current.close();
        rmSync(dir, { recursive: true });
      },
    };
  };

const plain: OpenStore = onFolder((dir, now) => openFsStore(dir, { now }));
const withSnapshots: OpenStore = onFolder((dir, now) => openFsStore(dir, { now, snapshotEvery: 3 }));
const asClient: OpenStore = async (options) => {
  // The owner has the clock; the client only asks.
  const dir = mkdtempSync(join(tmpdir(), 'baton-test-'));
  const { openShared } = await import('../../../src/store/shared/open.ts');
  const openOwner = () => openFsStore(dir, { now: options.now });
  const owner = await openShared({ dir, secret: 'x', openOwner });
  let client = await openShared({ dir, secret: 'x', openOwner });
  return {
    store: client,
    async reopen() {
      await client.close();
      client = await openShared({ dir, secret: 'x', openOwner });
      return client;
    },
    async destroy() {
      await client.close();
      await owner.close();
      rmSync(dir, { recursive: true });
    },
  };
};

for (const conformance of [storeConformance, graphConformance]) {
  conformance('fs', plain);
  conformance('fs with a snapshot after every few records', withSnapshots);
  conformance('fs, as a client of its owner', asClient);
}
storeAgreement(
  'fs',
  onFolder((dir, now) => openFsStore(dir, { now, snapshotEvery: 5 })),
  10,
);
