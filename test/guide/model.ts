/** The words of the two models in the guide's story. Only these are scripted: the programs, their tools, Baton and git are real. */
const mcp = (tool: string, input: object): object => ({ tools: [{ do: 'mcp', server: 'baton', tool, input }] });
const say = (line: string): object => mcp('baton_do', { line });

const report = (status: string, ...bullets: readonly string[]): string =>
  [
    ...['[AOP:START]', '[AOP:TASK] what was asked', '[AOP:SUMMARY]', ...bullets.map((bullet) => `- ${bullet}`)],
    ...['[AOP:DETAILS_FILE] none', `[AOP:STATUS] ${status}`, '[AOP:END]'],
  ].join('\n');

const FIXED =
  'export const total = (items) => items.reduce((sum, { price, quantity }) => sum + price * quantity, 0);\n';
const BROKEN = 'export const total = (items) => items.reduce((sum, { price }) => sum + price, 0);\n';

const QUANTITY = `import assert from 'node:assert';
import { test } from 'node:test';
import { total } from '../src/cart.mjs';

test('quantities count', () => assert.equal(total([{ price: 5, quantity: 2 }, { price: 1, quantity: 1 }]), 11));
`;
const ZERO = QUANTITY.replace('quantities count', 'none of a thing costs nothing').replace(
  /total\(.*\), 11\)/,
  'total([{ price: 5, quantity: 0 }]), 0)',
);

const IMPLEMENTATION = `[GRAPH_UPDATE]
type: add_node
node_id: implementation_cart_quantity_20261116_090500
node_type: Implementation
metadata: { created_by: implementation-triad, confidence: 0.95, domain: software-development }
data:
  summary: The total of a cart counts quantities
  code_changes: [total multiplies price by quantity]
  files_modified: [src/cart.mjs]
handoff:
  ready_for_next: true
  next_stage: test-engineer
  required_fields: [summary, files_modified]
lineage: { created_from_node: bug_cart_quantity_20261116_090000 }
[/GRAPH_UPDATE]

OUTPUT:
  _meta: { output_type: implementation, created_by: implementation-triad, confidence: 0.95 }
  _handoff:
    next_stage: user
    graph_node: implementation_cart_quantity_20261116_090500
    required_fields: [summary, files_modified]
    approval_required: true
    approval_question: The total counts quantities now. May it go to the tests?
`;

export const SCRIPTS = {
  mend: {
    when: ['Its objective: Mend the bug'],
    steps: [
      { text: 'One word is missing.', tools: [{ do: 'read', path: 'src/cart.mjs' }] },
      { tools: [{ do: 'edit', path: 'src/cart.mjs', old: BROKEN, new: FIXED }] },
      mcp('aof_handoff', {
        toAgent: 'codex',
        title: 'Two tests that keep the bug away',
        acceptanceCriteria: ['test/quantity.test.mjs and test/zero.test.mjs pass'],
        expectedOutputs: ['test/quantity.test.mjs', 'test/zero.test.mjs'],
        constraints: ['begin when the signal mended is there'],
      }),
      { text: 'It is mended, and codex writes the tests.' },
    ],
  },
  handOn: {
    when: ['Its objective: Give the signal mended'],
    steps: [say('#SIGNAL:mended:true'), say('#WAIT:codex:50'), { text: `It is done.\n\n${IMPLEMENTATION}` }],
  },
  again: {
    when: ['test/zero.test.mjs is not there'],
    steps: [
      { tools: [{ do: 'write', path: 'test/zero.test.mjs', content: ZERO }] },
      { text: report('success', 'test/zero.test.mjs is written, and passes') },
    ],
  },
  tests: {
    when: ['Two tests that keep the bug away'],
    steps: [
      say('#WAIT:mended:50'),
      // Half of it, and then it takes long; whoever comes after finds this half.
      {
        tools: [
          {
            do: 'shell',
            command: `test -e test/quantity.test.mjs || { printf %s '${QUANTITY.replaceAll("'", `'\\''`)}' > test/quantity.test.mjs; sleep 60; }`,
          },
        ],
      },
      { text: report('success', 'test/quantity.test.mjs and test/zero.test.mjs are written, and pass') },
    ],
  },
};
