/** aop1, as the table of dialects wants it. */
import type { DialectParts } from '../dialect.ts';
import type { Aop1Report } from './decode.ts';
import { fromReport, toReport, unreported } from './encode.ts';
import { Aop1Value, DetailsFile } from './schema.ts';

export const aop1: DialectParts<'aop1'> = {
  schemas: { report: Aop1Value, details: DetailsFile },
  json: null,
  broken: null,
  report: {
    read({ value }) {
      return { report: toReport(value as Aop1Report), unreported: unreported(value as Aop1Report) };
    },
    write(report, { taskType }) {
      const { text, lost } = fromReport(report, taskType);
      return { output: text, lost };
    },
  },
};
