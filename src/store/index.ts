export type {
  Answer,
  Ask,
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
export { openMemoryStore } from './memory.ts';
export { type OpenOptions, openStore } from './open.ts';
