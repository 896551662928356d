/** aop2, as the table of dialects wants it. */
import type { DialectParts } from '../dialect.ts';
import { decodeAop2 } from './decode.ts';
import { fromReport, toReport, unreported } from './report.ts';
import { EventMessage, ResponseMessage, TaskMessage } from './schema.ts';

export const aop2: DialectParts<'aop2'> = {
  schemas: { TASK: TaskMessage, RESPONSE: ResponseMessage, EVENT: EventMessage },
  json: decodeAop2,
  broken: null,
  report: {
    read({ value }) {
      return { report: toReport(value as ResponseMessage), unreported: unreported(value as ResponseMessage) };
    },
    write(report) {
      const { response, lost } = fromReport(report);
      return { output: response, lost };
    },
  },
};
