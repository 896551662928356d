/** A shared store keeps every promise of the port, for the owner and at the other end of its socket. */
import { afterAll } from 'vitest';
import { openMemoryStore } from '../../../src/store/memory.ts';
import type { SharedOptions } from '../../../src/store/shared/open.ts';
import { openShared } from '../../../src/store/shared/open.ts';
import type { OpenStore } from '../conformance.ts';
import { storeConformance } from '../conformance.ts';
import { graphConformance } from '../conformance-graph.ts';
import { newFolder, removeFolders } from './crew.ts';

afterAll(removeFolders);

const optionsFor = (now: () => number): SharedOptions => {
  const { dir, runtimeDir } = newFolder();
  return { dir, runtimeDir, secret: 'secret', openOwner: async () => openMemoryStore({ now }) };
};

const asOwner: OpenStore = async ({ now }) => {
  const store = await openShared(optionsFor(now));
  return { store, destroy: () => store.close() };
};

const asClient: OpenStore = async ({ now }) => {
  const options = optionsFor(now);
  const owner = await openShared(options);
  const store = await openShared(options);
  const destroy = async (): Promise<void> => {
    await store.close();
    await owner.close();
  };
  return { store, destroy };
};

storeConformance('shared, as its owner', asOwner);
storeConformance('shared, as a client', asClient);
graphConformance('shared, as its owner', asOwner);
graphConformance('shared, as a client', asClient);
