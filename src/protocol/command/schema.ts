/** The value of a decoded command, for those who read `baton check --json`. */
import * as z from 'zod';
import { LIMIT_WORDS, MAX_LIMIT } from './command.ts';

export const CommandValue = z.strictObject({
  name: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  params: z.array(z.string()),
  limit: z.union([z.int().min(1).max(MAX_LIMIT), z.enum(LIMIT_WORDS)]).nullable(),
  persistent: z.boolean(),
  from: z.int().min(1).optional(),
});
