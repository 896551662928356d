/** Work for the knowledge graph, made up by chance: nodes made from each other, changed, asked about, answered and given up. */
import type { AnyMessage } from '../../../src/core/laws/messages.ts';
import type { GraphUpdate, Node } from '../../../src/core/node.ts';
import type { Question } from '../../../src/core/question.ts';
import type { Ask } from '../../../src/core/store.ts';
import type { Task } from '../../../src/core/task.ts';
import type { Random } from '../../helpers/random.ts';

export interface KnownGraph {
  readonly nodes: Map<string, Node>;
  readonly questions: Map<string, Question>;
}

export const ESCALATE = { below: 0.9, domains: {} };
const PERSON = { kind: 'person', name: 'ada' } as const;
const EMMA = { kind: 'agent', name: 'emma' } as const;

export const someNode = (
  id: string,
  sources: readonly string[] = [],
  confidence = 0.95,
  text = '',
): Extract<GraphUpdate, { kind: 'add-node' }> => ({
  kind: 'add-node',
  node: {
    id,
    type: 'Findings',
    createdBy: 'emma',
    confidence,
    sources,
    domain: null,
    outputType: null,
    ready: null,
    nextStage: null,
    topic: null,
  },
  document: JSON.stringify({ type: 'add_node', node_id: id, data: { summary: text } }),
});

/** What fits the graph as it is known; some of it comes too late or is refused. */
export function someGraphAsk(
  random: Random,
  tasks: readonly Task[],
  { nodes, questions }: KnownGraph,
  request: string,
  text: string,
): Ask {
  const ids = [...nodes.keys()];
  const open = [...questions.values()].filter(({ answer }) => answer === null);
  if (open.length > 0 && random.chance(0.3)) return answering(random, random.pick(open));
  if (ids.length > 0 && random.chance(0.1)) {
    return { by: PERSON, message: { type: 'graph.stale', nodes: [random.pick(ids)], reason: 'no more' } };
  }
  if (ids.length > 0 && tasks.length > 0 && random.chance(0.15)) {
    const by = { task: random.pick(tasks).id };
    return { by: PERSON, message: { type: 'graph.load', node: random.pick(ids), by } };
  }
  const updates = Array.from({ length: 1 + random.below(3) }, (_, i) =>
    someUpdate(random, ids, `${request.replaceAll(/\W/g, '_')}_${i}`, text),
  );
  const task = tasks.length > 0 && random.chance(0.4) ? { task: random.pick(tasks).id } : {};
  const message: AnyMessage = { type: 'graph.apply', updates, escalate: ESCALATE, ...task };
  return { by: random.chance(0.5) ? EMMA : PERSON, message };
}

function answering(random: Random, { id }: Question): Ask {
  const status = random.pick(['approved', 'rejected', 'changes_requested', 'answered'] as const);
  const by = random.chance(0.8) ? PERSON : EMMA;
  return { by, message: { type: 'question.answer', id, status, ...(status === 'answered' ? { text: 'go on' } : {}) } };
}

function someUpdate(random: Random, ids: readonly string[], id: string, text: string): GraphUpdate {
  const way = random.next();
  if (ids.length === 0 || way < 0.5) {
    const sources = ids.length > 0 && random.chance(0.6) ? [random.pick(ids)] : [];
    return someNode(id, sources, random.pick([0.95, 0.92, 0.5, 1]), text);
  }
  const other = random.pick(ids);
  if (way < 0.8) {
    return {
      kind: 'update-node',
      id: other,
      set: { confidence: random.pick([0.91, 0.99]) },
      changesData: random.chance(0.5),
      document: JSON.stringify({
        type: 'update_node',
        node_id: other,
        data: { [`by_${random.below(4)}`]: text, at: id },
      }),
    };
  }
  const relation = random.pick([null, 'supports', 'supersedes']);
  return { kind: 'add-edge', source: random.pick(ids), target: other, relation, fields: { from: id } };
}
