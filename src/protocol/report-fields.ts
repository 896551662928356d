/**
 * The fields of a Report as JSON, for the dialects that have room for data of their own (aop2 in `extensions`, output in a
 * node's `data`). What is read comes from an agent: a field of the wrong shape is passed over.
 */
import * as z from 'zod';
import type { Report, ReportField } from '../core/report.ts';

const text = z.string();

const SHAPES = {
  task: text,
  sessionId: text,
  taskId: text,
  agent: z.strictObject({ name: text, provider: text.nullable(), model: text.nullable() }),
  startedAt: text,
  completedAt: text,
  detailsFile: text,
  handoffFile: text,
  actions: z.array(text),
  artifacts: z.array(
    z.strictObject({
      path: text,
      type: text.nullable(),
      hash: text.nullable(),
      status: z.enum(['CREATED', 'UPDATED', 'DELETED', 'UNCHANGED']).nullable(),
      sizeBytes: z.number().nullable(),
    }),
  ),
  checkpoints: z.array(
    z.strictObject({
      id: text,
      status: z.enum(['PENDING', 'PASS', 'FAIL', 'SKIP', 'RECOVERED']).nullable(),
      notes: text.nullable(),
    }),
  ),
  tests: z.strictObject({ total: z.number(), passed: z.number(), failed: z.number() }),
  blockers: z.array(text),
  notes: text,
  warnings: z.array(text),
  errors: z.array(text),
  metrics: z.record(text, text),
  cost: z.strictObject({
    usd: z.number().nullable(),
    tokensInput: z.number().nullable(),
    tokensOutput: z.number().nullable(),
  }),
  confidence: z.number(),
  graphNode: text,
  nextStage: text,
} satisfies Partial<Record<ReportField, z.ZodType>>;

export type CarriedField = keyof typeof SHAPES;

/** The fields that hold something, as an object. */
export function writeFields(report: Report, fields: readonly CarriedField[]): Record<string, unknown> {
  const said = fields.filter((field) => report[field] !== null && !isEmpty(report[field]));
  return Object.fromEntries(said.map((field) => [field, report[field]]));
}

export function readFields(value: unknown, fields: readonly CarriedField[]): Partial<Report> {
  if (value === null || typeof value !== 'object') return {};
  const read = fields.flatMap((field) => {
    if (!Object.hasOwn(value, field)) return [];
    const { success, data } = SHAPES[field].safeParse((value as Record<string, unknown>)[field]);
    return success ? [[field, data]] : [];
  });
  return Object.fromEntries(read);
}

export const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0;
