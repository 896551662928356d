/**
 * By which names a rule can call what happened, and whether it does. A move of a task goes by `task.<status>` too, and by the status alone;
 * what Baton did about runs whose supervisor died goes by `run.recovered` too.
 */
import type { Event } from '../core/laws/decision.ts';

/** The event's names, the one that says most first. */
export function namesOf(event: Event): string[] {
  const { type, detail } = event;
  if (type === 'task.transitioned' && typeof detail?.['to'] === 'string') {
    return [`task.${detail['to']}`, detail['to'], type];
  }
  if (type === 'run.resumed' || type === 'run.expired') return ['run.recovered', type];
  return [type];
}

/** What notifying itself leaves in the journal; telling of that would never end. */
export const isOwn = ({ type }: Event): boolean => type.startsWith('notify.');

/** Of questions none is like another, so none is left out for having come soon after. */
const ALWAYS = new Set([
  'task.deadletter',
  'shutdown',
  'run.recovered',
  'store.recovered',
  'question.opened',
  'question.answered',
]);

/** Whether it is told every time, however soon it comes again. */
export const isAlwaysTold = (names: readonly string[]): boolean => names.some((name) => ALWAYS.has(name));

/** `*` stands for any characters, dots too. */
export function patternOf(on: readonly string[]): (names: readonly string[]) => boolean {
  const parts = on.map((name) => name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*'));
  const pattern = new RegExp(`^(?:${parts.join('|')})$`);
  return (names) => names.some((name) => pattern.test(name));
}
