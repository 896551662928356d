/** The commands of `baton graph`: their names, their options and their help. */
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AddCommand, notEmpty, repeated, sessionOption } from './options.ts';

const ID = 'a node, by its id';

export function addGraphCommands(baton: Command, command: AddCommand): void {
  const graph = baton
    .command('graph')
    .description('the knowledge graph: what agents found out and made, handed on by reference')
    .addHelpText('after', GRAPH_HELP);

  command('add', 'add nodes and edges, or change them, all of a text or nothing of it', graph)
    .argument('[file]', 'GRAPH_UPDATE blocks, or a node as plain YAML or JSON; - is standard input', '-')
    .addOption(sessionOption('where new nodes go that build upon none (default: default)'))
    .addHelpText('after', ADD_HELP)
    .action(async (file: string, options) => (await import('./graph-add.ts')).addToGraph(file, options));

  command('list', 'list nodes, in the order in which they came', graph)
    .addOption(repeated('--type <type>', 'only nodes of this type'))
    .option('--domain <domain>', 'only nodes of this domain', notEmpty)
    .option('--stage <stage>', 'only nodes that go to this stage next', notEmpty)
    .addOption(sessionOption('only nodes of this session'))
    .option('--text <words>', 'only nodes that hold these words, in any case', notEmpty)
    .option('--stale', 'only nodes that are not to be built upon any more')
    .addHelpText(
      'after',
      '\nExamples:\n  baton graph list --type ADR --type Specification\n  baton graph list --text "login form"',
    )
    .action(async (options) => (await import('./graph-list.ts')).listNodes(options));

  command('show', 'show a node with all that is known of it', graph)
    .argument('<id>', ID)
    .addHelpText('after', '\nExample:\n  baton graph show bug_login_500_20251028_103045')
    .action(async (id: string, options) => (await import('./graph-show.ts')).showNode(id, options));

  command('load', 'load what is needed of a node, if it may be built upon', graph)
    .argument('<id>', ID)
    .option('--as <id>', 'the task or the node that uses it; the use is written down', notEmpty)
    .option('--require <fields>', 'fields of its data that have to be there, parted by commas', fieldNames)
    .addHelpText('after', LOAD_HELP)
    .action(async (id: string, options) => (await import('./graph-load.ts')).loadFromGraph(id, options));

  command('lineage', 'what a node comes from and what came of it, with the runs, costs and files behind each', graph)
    .argument('<id>', ID)
    .option('--up', 'only what it comes from')
    .option('--down', 'only what came of it')
    .option('--hops <n>', 'so many steps (default: all)', count)
    .addHelpText('after', LINEAGE_HELP)
    .action(async (id: string, options) => (await import('./graph-lineage.ts')).showLineage(id, options));

  command('bridge', 'sum many nodes up in one, within a number of tokens', graph)
    .addOption(repeated('--type <type>', 'a type that is summed up'))
    .addOption(sessionOption('only nodes of this session'))
    .option('--tokens <n>', 'what the summary may take (default: bridge.tokens of config.yaml, 2000)', count)
    .addOption(new Option('--as <type>', 'the type of the summary').default('DesignSummary').argParser(notEmpty))
    .option('--agent <name>', 'who writes the prose (default: bridge.agent of config.yaml, else nobody)', notEmpty)
    .option('--topic <topic>', 'what it is about; it becomes a part of its id', notEmpty)
    .option('--next <stage>', 'the stage that it goes to next', notEmpty)
    .addHelpText('after', BRIDGE_HELP)
    .action(async (options) => (await import('./graph-bridge.ts')).bridge(options));

  command('new', 'print a node to fill in, of any type; without a type, the list of them', graph)
    .argument('[type]', 'a node type: BugBrief, ADR, …, or one of config.yaml')
    .addHelpText(
      'after',
      '\nExamples:\n  baton graph new\n  baton graph new BugBrief > bug.yaml    # fill it in, then: baton graph add bug.yaml',
    )
    .action(async (type: string | undefined, options) => (await import('./graph-new.ts')).newNode(type, options));

  command('export', 'print the graph, or the lineage of one node, as JSON or as a picture', graph)
    .argument('[id]', `${ID}; all of the graph where none is given`)
    .addOption(new Option('--as <form>', 'what to make of it').choices(FORMS).makeOptionMandatory())
    .addOption(repeated('--type <type>', 'only nodes of this type'))
    .addOption(sessionOption('only nodes of this session'))
    .addHelpText('after', EXPORT_HELP)
    .action(async (id: string | undefined, options) => (await import('./graph-export.ts')).exportGraph(id, options));
}

const FORMS = ['json', 'mermaid', 'dot'];

function count(value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1) {
    throw new InvalidArgumentError(`expected a whole number above 0, got ${value}.`);
  }
  return number;
}

function fieldNames(value: string): string[] {
  const names = value.split(',').map((name) => name.trim());
  if (names.some((name) => name === '')) {
    throw new InvalidArgumentError(`expected names parted by commas, got ${JSON.stringify(value)}.`);
  }
  return names;
}

const GRAPH_HELP = `
Agents leave their results as nodes, in [GRAPH_UPDATE] blocks, and hand them on
by reference, in OUTPUT envelopes. A node says who made it, how sure that is,
what it was made from, and what the next stage needs of it.

Examples:
  baton graph new BugBrief > bug.yaml
  baton graph add bug.yaml
  baton graph lineage bug_login_500_20251028_103045`;

const ADD_HELP = `
The text may hold any number of [GRAPH_UPDATE] blocks (add_node, update_node,
add_edge, update_edge) between other words; they are taken together or not at
all. A text without markers is read as one node, in YAML or JSON, or as a JSON
array of them. An OUTPUT envelope in the text hands its node on, as baton send
does. A node is at most 1 MB.

A node that is less sure than confidence.escalate_below goes to a person first:
baton inbox.
Exits 1 when the text is not valid, 3 when it is refused (an id that is taken, a
circle), 4 when it names what is not there.

Examples:
  baton graph add answer.txt
  baton graph new ADR > adr.yaml && $EDITOR adr.yaml && baton graph add adr.yaml`;

const LOAD_HELP = `
A node may be built upon when all required fields are there, it is sure enough
(confidence.refuse_below), ready for the next stage and not stale, and nobody
waits for an answer about it. Else this exits 3 and names every gap.
Prints the required fields, or all of its data where none are named; with --json
the whole node.
--as is for people; an agent in a run loads for its own task.

Example:
  baton graph load bug_login_500_20251028_103045 --require summary,severity`;

const LINEAGE_HELP = `
With --json: {"nodes":[…],"edges":[{"from","to","relation"}…]}. An edge without
a relation says what was made from what, "used" that a task had loaded it; each
node has "behind": its task, run, agent, cost and files.

Examples:
  baton graph lineage implementation_bug_fix_20251028_140000
  baton graph lineage bug_login_500_20251028_103045 --down --hops 2 --json`;

const BRIDGE_HELP = `
Nodes are scored by 0.3 confidence + 0.3 connections + 0.2 recency + 0.2 type;
the best 20 and what is one step away from them become the sources of one new
node. What is stale, rejected, not ready or asked about is left out. The summary
is as sure as the least sure of the 20. What is optional is shortened and then
dropped first; what is required is only shortened, at sentences; where not even
that fits, nothing is made and the least number of tokens is named.
Prints the OUTPUT envelope; pipe it into baton send to hand the summary on.

Examples:
  baton graph bridge --type ADR --type Specification --tokens 1500
  baton graph bridge --type TestResults --type Review --as ValidationSummary | baton send -`;

const EXPORT_HELP = `
Examples:
  baton graph export --as mermaid > graph.mmd
  baton graph export bug_login_500_20251028_103045 --as dot | dot -Tsvg > lineage.svg
  baton graph export --as json --type ADR`;
