/** A place in the journal as one number: the day of its file, and the byte within it. */
import { isoTime, parseTime } from '../../core/time.ts';

const DAY_MS = 86_400_000;
/** A day's journal may grow to 100 GB. */
const MOST = 1e11;

export const placeOf = (day: string, offset: number): number => (parseTime(day) / DAY_MS) * MOST + offset;

export const dayAt = (place: number): string => isoTime(Math.floor(place / MOST) * DAY_MS).slice(0, 10);

export const offsetAt = (place: number): number => place % MOST;
