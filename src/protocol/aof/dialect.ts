/** AOF/1, as the table of dialects wants it. */
import type { DialectParts } from '../dialect.ts';
import { decodeAof, decodeAofValue } from './decode.ts';
import { fromReport, toReport, unreported } from './report.ts';
import { AOF_SCHEMAS } from './schema.ts';

export const aof: DialectParts<'aof'> = {
  schemas: AOF_SCHEMAS,
  json: decodeAofValue,
  broken: decodeAof,
  report: {
    read({ value }) {
      const report = toReport(value);
      return report && { report, unreported: unreported(value) };
    },
    write(report, { now }) {
      const { envelope, lost } = fromReport(report, { now });
      return { output: envelope, lost };
    },
  },
};
