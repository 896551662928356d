/** What a record behind the snapshot costs a start: it is read, parsed, checked and folded. Snapshots are due by this, not by the number of records. */

/** The length of an ordinary record. */
const BYTES = 500;

/** In ordinary records: one that adds 500 tasks at once costs as much as hundreds that add one. */
export const costOf = (bytes: number): number => Math.max(1, bytes / BYTES);
