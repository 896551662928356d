/** What every store does with a question before it writes anything: has it been answered, and if not, what do the laws say. */
import { decide } from '../core/laws/decide.ts';
import type { Decision, Facts, GraphChange } from '../core/laws/decision.ts';
import type { Edge, Node } from '../core/node.ts';
import type { Question } from '../core/question.ts';
import type { State } from '../core/state.ts';
import type { Answer, Ask, QuestionFilter } from '../core/store.ts';
import { compareTaskIds, type Task } from '../core/task.ts';

export function decideAsk(state: State, { message, by, request }: Ask, now: number): Decision {
  const before = request === undefined ? undefined : state.answered(request);
  if (before !== undefined) return { kind: 'same', about: before };
  const decision = decide(state, message, by, now);
  if (decision.kind !== 'changed' || request === undefined) return decision;
  return { kind: 'changed', facts: { ...decision.facts, request } };
}

const NODE = 'node:';
const QUESTION = 'question:';
const REPLY = 'reply:';

/** The answer to what was written down, with its events. */
export const answerChanged = (state: State, { about, events }: Pick<Facts, 'about' | 'events'>): Answer => ({
  ...answerAbout(state, 'changed', about),
  events,
});

/** The answer to what is so already. */
export const answerSame = (state: State, about: readonly string[]): Answer => answerAbout(state, 'same', about);

type Said = Exclude<Answer, { kind: 'refused' }>;

/** The tasks, nodes and questions that an answer speaks of, as they are now, and what is to be said. */
function answerAbout(state: State, kind: 'changed' | 'same', about: readonly string[]): Said {
  const tasks: Task[] = [];
  const nodes: Node[] = [];
  const questions: Question[] = [];
  let reply: string | undefined;
  for (const key of about) {
    // Only where a node is named: the graph may not have been read yet.
    if (key.startsWith(NODE)) put(nodes, state.graph.node(key.slice(NODE.length)));
    else if (key.startsWith(QUESTION)) put(questions, state.question(key.slice(QUESTION.length)));
    else if (key.startsWith(REPLY)) reply = key.slice(REPLY.length);
    else put(tasks, state.task(key));
  }
  return {
    kind,
    tasks,
    ...(nodes.length === 0 ? {} : { nodes }),
    ...(questions.length === 0 ? {} : { questions }),
    ...(reply === undefined ? {} : { reply }),
  };
}

function put<T>(list: T[], item: T | undefined): void {
  if (item !== undefined) list.push(item);
}

/** In the order in which they were asked. */
export const findQuestions = (state: State, { open, session }: QuestionFilter = {}): Question[] =>
  [...state.questions()].filter(
    (question) =>
      (open === undefined || open === (question.answer === null)) &&
      (session === undefined || question.session === session),
  );

/** Of one node, those that begin at it first. */
export const findEdges = ({ graph }: State, id: string | undefined): Edge[] =>
  id === undefined
    ? [...graph.edges()]
    : // One that leads back to where it begins is told once.
      [...graph.edgesFrom(id), ...[...graph.edgesTo(id)].filter(({ source }) => source !== id)];

/** What nobody needs who follows what happens: the texts of nodes are read with the nodes. */
export const withoutDocuments = (
  changes: readonly (Exclude<GraphChange, { kind: 'node' }> | Omit<NodeChange, 'document'>)[],
): GraphChange[] => changes.map((change) => (change.kind === 'node' ? { ...change, document: null } : change));

type NodeChange = Extract<GraphChange, { kind: 'node' }>;

/** By id, or by an external id: of the session, or of any where only one has it. */
export function findTask(state: State, id: string, session: string | undefined): Task | undefined {
  const task = state.task(id);
  if (task !== undefined) return task;
  if (session !== undefined) return state.task(state.byExternalId(session, id) ?? '');
  const named = state.named(id);
  return named.length === 1 ? state.task(named[0] as string) : undefined;
}

/** Tasks are held in the order in which they came, which is that of their ids but for ids of one's own choice. */
export function inOrder(tasks: Iterable<Task>): Task[] {
  const list = [...tasks];
  for (let i = 1; i < list.length; i++) {
    if (compareTaskIds((list[i - 1] as Task).id, (list[i] as Task).id) > 0) {
      return list.sort((a, b) => compareTaskIds(a.id, b.id));
    }
  }
  return list;
}
