export type {
  Answer,
  Ask,
  Broken,
  Check,
  EventQuery,
  Lineage,
  LineageQuery,
  NodeFilter,
  QuestionFilter,
  Store,
  StoredRecord,
  TaskFilter,
  Verification,
  WholeNode,
} from '../core/store.ts';
export type { OpenOptions } from './open.ts';
export { openMemoryStore, openStore } from './validated.ts';
