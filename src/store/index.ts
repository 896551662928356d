export type { Answer, Ask, Check, EventQuery, Store, StoredRecord, TaskFilter, Verification } from '../core/store.ts';
export { openMemoryStore } from './memory.ts';
export { type OpenOptions, openStore } from './open.ts';
