/** The output protocol, as the table of dialects wants it. */
import type { DialectParts } from '../dialect.ts';
import { fromReport, toReport, unreported } from './report.ts';
import { type AddNode, GraphUpdate, Output } from './schema.ts';

export const output: DialectParts<'output'> = {
  schemas: { OUTPUT: Output, GRAPH_UPDATE: GraphUpdate },
  json: null,
  broken: null,
  report: {
    /** With the node that it hands on, where that stands in the same text. */
    read({ value }, all) {
      const id = (value as Output)._handoff.graph_node;
      const nodes = all.filter((m) => m.kind === 'GRAPH_UPDATE' && m.valid).map((m) => m.value as AddNode);
      const node = nodes.find((update) => update.type === 'add_node' && update.node_id === id) ?? null;
      return { report: toReport(value as Output, node), unreported: unreported(value as Output, node) };
    },
    write(report, { now }) {
      const { text, lost } = fromReport(report, now);
      return { output: text, lost };
    },
  },
};
