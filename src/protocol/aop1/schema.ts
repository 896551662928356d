/** What a report is once it is read, and the details file: everything that a summary leaves out (document, "Details File Format"). */
import * as z from 'zod';
import { error, type Problem } from '../../core/problem.ts';
import { toProblems, validator } from '../text/validate.ts';
import { SUMMARY_CHARS_MOST } from './limits.ts';

const text = z.string().nullable();

/** The value of a valid report; of an invalid one `summary` and `status` may be null or anything. */
export const Aop1Value = z.strictObject({
  task: text,
  summary: z.string().min(1).max(SUMMARY_CHARS_MOST),
  detailsFile: text,
  metrics: z.record(z.string(), z.string()),
  status: z.enum(['success', 'failure', 'partial']),
  timestamps: z.strictObject({ start: text, end: text }),
  unknown: z.record(z.string(), z.string()).optional(),
});

export const DetailsFile = z.looseObject({
  aop_version: z.literal('1.0.0'),
  agent_id: z.string().min(1),
  task: z.string(),
  timestamp: z.iso.datetime({ offset: true, local: true }),
  duration_ms: z.number().min(0).optional(),
  results: z.record(z.string(), z.unknown()),
  metadata: z.record(z.string(), z.unknown()).optional(),
});
export type DetailsFile = z.infer<typeof DetailsFile>;

const validate = validator(DetailsFile);

export type ReadDetails =
  | { readonly ok: true; readonly details: DetailsFile }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function readDetails(text: string): ReadDetails {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return {
      ok: false,
      problems: [error('E_PARSE_FAILURE', '', 'expected a details file in JSON, got something else')],
    };
  }
  const problems = toProblems(validate(value), value, 'E_SCHEMA_VALIDATION');
  return problems.length > 0 ? { ok: false, problems } : { ok: true, details: value as DetailsFile };
}

export const writeDetails = (details: DetailsFile): string => `${JSON.stringify(details, null, 2)}\n`;
