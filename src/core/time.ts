/** Times as text: always UTC, as in ids, records and files. */

/** The moment that a text names; NaN where it names none. */
export const parseTime = (text: string): number => Date.parse(text);

/** The years of four digits, which is what a time may have; a lease may be longer. */
const FIRST = parseTime('0000-01-01T00:00:00.000Z');
const LAST = parseTime('9999-12-31T23:59:59.999Z');

/** `2026-11-15T23:04:25.118Z` */
export const isoTime = (at: number): string => new Date(Math.max(FIRST, Math.min(LAST, at))).toISOString();

/** `2026-11-15` */
export const dayOf = (at: number): string => isoTime(at).slice(0, 10);

/** `20261115-230425`, for names that sort by time. */
export const timeStamp = (at: number): string => isoTime(at).slice(0, 19).replace(/[-:]/g, '').replace('T', '-');
