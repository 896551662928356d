/** The store that forgets keeps every promise of the port but to remember. */
import { openMemoryStore } from '../../src/store/memory.ts';
import { storeAgreement } from './agreement.ts';
import { storeConformance } from './conformance.ts';
import { graphConformance } from './conformance-graph.ts';

const open = async (options: { readonly now: () => number }) => {
  const store = openMemoryStore(options);
  return { store, destroy: () => store.close() };
};

storeConformance('memory', open);
storeAgreement('memory', open, 200);
graphConformance('memory', open);
