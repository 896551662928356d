/**
 * What a new task has to wait for, in plain words: `once emma finishes the api`, `after TASK-… is done`, `when that is done`. What names a task
 * becomes a dependency on it; what names none (`after lunch`, `once the tests pass`) stays a part of the task's words.
 */
import type { KnownTask, Names, NaturalContext } from './natural-agents.ts';

/** The task to wait for, as `#DEPENDS` takes it. */
export interface Needed {
  readonly agent: string;
  readonly task: string;
}

type Condition =
  | { readonly kind: 'needs'; readonly needed: readonly Needed[] }
  /** It speaks of a task, and no task or several are meant. */
  | { readonly kind: 'which'; readonly words: string; readonly candidates: readonly KnownTask[] }
  | { readonly kind: 'none' };

const WHEN = '(?:once|after|when|as soon as|only after|only once)';
const DONE = '(?:done|finished|complete|completed|ready|through|merged)';
const BE = "(?:'s|'ve| is| are| has been| have been| has| have| gets| got)";
const ENDS = `(?:${BE} ${DONE}| finishes| finished| completes| completed)`;

const LEADING = new RegExp(`^${WHEN} (.+)$`, 'i');
const TRAILING = new RegExp(`^(.+?),? ${WHEN} (.+)$`, 'i');
const TASK_ID = new RegExp(`^(?:task )?(TASK-[\\w-]+)(?:${ENDS})?$`, 'i');
const THAT = new RegExp(`^(?:that|this|it|the last task|that task)${ENDS}$`, 'i');
const NAMED = new RegExp(`^(.+?)${ENDS}$`, 'i');

/** A clause that says nothing but what is waited for; null where it is no such clause. */
export function leadingCondition(
  clause: string,
  context: NaturalContext,
  names: Names,
  before: readonly Needed[],
): Condition | null {
  const [, words] = LEADING.exec(clause) ?? [];
  if (words === undefined) return null;
  const found = conditionOf(words, context, names, before);
  if (found.kind !== 'none') return found;
  // `when will it be ready` asks; `once more` wants the same again.
  return NAMED.test(words) && !/^(?:more|again|will|do|does|did|is|are|can)\b/i.test(words)
    ? { kind: 'which', words, candidates: [] }
    : null;
}

/** What stands at the end of a task's words, and the task without it. Null where nothing there names a task. */
export function trailingCondition(
  task: string,
  context: NaturalContext,
  names: Names,
  before: readonly Needed[],
): { readonly task: string; readonly condition: Condition } | null {
  const [, rest, words] = TRAILING.exec(task) ?? [];
  if (rest === undefined || words === undefined) return null;
  const condition = conditionOf(words, context, names, before);
  return condition.kind === 'none' ? null : { task: rest, condition };
}

function conditionOf(words: string, context: NaturalContext, names: Names, before: readonly Needed[]): Condition {
  const id = TASK_ID.exec(words)?.[1];
  if (id !== undefined) return needs([ofId(id.toUpperCase(), context)]);
  if (THAT.test(words)) return ofThat(words, context, before);
  const agent = ofAgent(words, context, names);
  if (agent !== null) return agent;
  const [, named] = NAMED.exec(words) ?? [];
  if (named === undefined) return { kind: 'none' };
  const found = tasksOn(context.tasks ?? [], named);
  if (found.length === 0) return { kind: 'none' };
  return one(found, named);
}

const needs = (needed: readonly Needed[]): Condition => ({ kind: 'needs', needed });

/** Takes the place of the agent's name where a task is named by its id. */
const ANY_AGENT = 'any';

const ofId = (id: string, { tasks = [], lastTask, lastAgent }: NaturalContext): Needed => ({
  agent: tasks.find((task) => task.id === id)?.agent ?? (id === lastTask ? lastAgent : null) ?? ANY_AGENT,
  task: id,
});

function ofThat(words: string, context: NaturalContext, before: readonly Needed[]): Condition {
  if (before.length > 0) return needs(before);
  return context.lastTask === null
    ? { kind: 'which', words, candidates: [] }
    : needs([ofId(context.lastTask, context)]);
}

/** `emma is done`, `emma has finished the api`, `emma finishes with the parser`. */
function ofAgent(words: string, context: NaturalContext, names: Names): Condition | null {
  const pattern = new RegExp(`^(${names.pattern})${ENDS}(?: (?:with |on )?(.+))?$`, 'i');
  const [, who = '', what] = pattern.exec(words) ?? [];
  const agent = who === '' ? null : names.resolve(who);
  if (agent === null) return null;
  const own = (context.tasks ?? []).filter((task) => task.agent === agent);
  if (what !== undefined && !/^(?:it|that|this|everything|all)$/i.test(what)) {
    const found = tasksOn(own, what);
    // The command says which there are, where none or several are meant.
    return found.length === 1 ? one(found, what) : needs([{ agent, task: what }]);
  }
  const open = own.filter(({ open }) => open);
  if (open.length > 0) return needs(open.map(({ id }) => ({ agent, task: id })));
  if (context.lastAgent === agent && context.lastTask !== null) return needs([{ agent, task: context.lastTask }]);
  return { kind: 'which', words, candidates: own };
}

function one(found: readonly KnownTask[], words: string): Condition {
  const [first] = found;
  if (found.length !== 1 || first === undefined) return { kind: 'which', words, candidates: found };
  return needs([{ agent: first.agent ?? ANY_AGENT, task: first.id }]);
}

const SMALL = /^(?:the|a|an|his|her|its|their|my|our|task|with|of|on|for|to)$/;
const wordsOf = (text: string): string[] =>
  text
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '' && !SMALL.test(word));

/** Open tasks whose title has all of the words; finished ones where no open one has. */
function tasksOn(tasks: readonly KnownTask[], words: string): readonly KnownTask[] {
  const asked = wordsOf(words);
  if (asked.length === 0) return [];
  const found = tasks.filter(({ title }) => {
    const has = wordsOf(title);
    return asked.every((word) => has.includes(word));
  });
  const open = found.filter((task) => task.open);
  return open.length > 0 ? open : found;
}
