/** What is told of an agent that has not reported: the end of what it said. */
import { plainLines } from '../protocol/aop1/checklist.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { lastOf } from '../protocol/text/shorten.ts';

/** Without logs, stacks and code; what an agent says of its work comes at its end. */
export const lastWords = (lastText: string, most: number): string =>
  lastOf(plainLines(stripControls(lastText)).join('\n').trim(), most);
