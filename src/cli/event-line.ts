/** One event in one line. */
import type { EventJson } from '../core/task-json.ts';
import { bold, dim } from './style.ts';
import { details, oneLine, time } from './text.ts';

const TYPE = 18;
const TASK = 19;

export function eventLine(event: EventJson, { ofOneTask = false } = {}): string {
  const told = details(event.detail);
  return [
    dim(time(event.at)),
    bold(oneLine(event.type).padEnd(TYPE)),
    ...(ofOneTask ? [] : [oneLine(event.task ?? '-').padEnd(TASK)]),
    dim(`by ${oneLine(event.by)}`),
    ...(told === '' ? [] : [told]),
  ].join('  ');
}
