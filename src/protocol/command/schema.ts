/** The value of a decoded command, for those who read `baton check --json`. */
import * as z from 'zod';

export const CommandValue = z.strictObject({
  name: z.string().regex(/^[A-Z][A-Z0-9_]*$/),
  params: z.array(z.string()),
  limit: z.union([z.int().min(1).max(100), z.enum(['brief', 'standard', 'detailed'])]).nullable(),
  persistent: z.boolean(),
});
