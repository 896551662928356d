/** The session language, as the table of dialects wants it. It reports nothing. */
import type { DialectParts } from '../dialect.ts';
import { CommandValue } from './schema.ts';

export const command: DialectParts<'command'> = {
  schemas: { command: CommandValue },
  json: null,
  broken: null,
  report: null,
};
