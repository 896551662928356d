/** `#REPORT`: how an agent's tasks stand, from the store, its runs and the graph. A topic that has no rule is looked for in what was said. */
import { droppedBefore, type Letter } from '../../core/session.ts';
import { isRunning, type Task, type TaskStatus, taskOfRun } from '../../core/task.ts';
import { counted } from '../../core/words.ts';
import {
  type Budget,
  budgetFor,
  bullets,
  exceedsTokens,
  MAX_LIMIT,
  smartLimit,
  writeCommand,
} from '../../protocol/command/index.ts';
import { progressOf } from '../../runtime/context-export.ts';
import { type Call, list, type Said, text } from '../call.ts';
import { brief, fitting, isOf, nodesOn, nodeWords, plain, sessionTasks, speaksOf, thousands, whom } from '../lookup.ts';
import { ask } from '../refusals.ts';

/** What is under way first; of what is over, the latest first. */
const ORDER: readonly TaskStatus[] = [
  'in-progress',
  'review',
  'blocked',
  'deadletter',
  'ready',
  'backlog',
  'done',
  'cancelled',
];
const WORDS: Readonly<Record<TaskStatus, string>> = {
  'in-progress': 'active',
  review: 'in review',
  blocked: 'blocked',
  deadletter: 'failed',
  ready: 'pending',
  backlog: 'pending',
  done: 'done',
  cancelled: 'cancelled',
};

/** Of so many nodes that speak of a topic the words are looked at. */
const MOST_LOOKED = 2_000;

export async function report(call: Call): Promise<Said> {
  const [named = '', topic = ''] = call.params;
  const of = named === 'all' ? null : await whom(call, named);
  if (of !== null && 'said' in of) return of.said;
  const members = of?.members ?? null;
  const tasks = (await sessionTasks(call))
    .filter((task) => members === null || isOf(task, members))
    .toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status) || b.updatedAt - a.updatedAt);
  const situation = { topic };
  switch (topic.toLowerCase()) {
    case 'progress':
      return list(await progress(call, tasks), situation);
    case 'status':
      return text(fitting(call, [counts(tasks), counts(tasks, '/')]), situation);
    case 'errors':
      return list(errors(tasks), { ...situation, isError: true, priority: tasks.some(isUrgentFailure) ? 'P0' : null });
    case 'results':
      return list(await results(call, tasks), situation);
    case 'messages':
      return messages(call, members);
    case 'cost':
      return list(cost(tasks), situation);
    case 'tasks':
      return list(
        tasks.map(({ id, title, status }) => `${id} ${WORDS[status]}: ${brief(title)}`),
        situation,
      );
    case 'locks':
      return list(await locks(call, members), situation);
    default:
      return list(await onTopic(call, tasks, members, topic), situation);
  }
}

/** `Tests: pending`, and where there is no room for all of it `80% implement…`: how far it is matters most. */
async function progress(call: Call, tasks: readonly Task[]): Promise<string[]> {
  const { store, countTokens } = call;
  const budget = roomFor(call, 'progress');
  const room = budget.kind === 'list' ? (budget.totalTokens ?? budget.tokensPerItem) : Number.POSITIVE_INFINITY;
  return Promise.all(
    tasks.map(async ({ id, title, status }) => {
      const percent = status === 'in-progress' ? await progressOf(store, id) : null;
      const stands = percent === null ? WORDS[status] : `${Math.round(percent)}%`;
      const whole = `${brief(title)}: ${stands}`;
      return exceedsTokens(whole, room, countTokens) ? `${stands} ${brief(title)}` : whole;
    }),
  );
}

const roomFor = ({ command }: Call, topic: string): Budget =>
  budgetFor({ ...command, limit: smartLimit(command.limit, { topic }) });

export function counts(tasks: readonly Task[], between = ', '): string {
  const words = new Map<string, number>();
  for (const { status } of tasks.toSorted((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status))) {
    words.set(WORDS[status], (words.get(WORDS[status]) ?? 0) + 1);
  }
  return [...words].map(([word, count]) => `${count} ${word}`).join(between) || 'none';
}

const hasFailed = ({ cause, status }: Task): boolean => cause !== null && status !== 'done';
/** §14: what is wrong with a P0 task is told at length. */
const isUrgentFailure = (task: Task): boolean => hasFailed(task) && task.priority === 'critical';

const errors = (tasks: readonly Task[]): string[] =>
  tasks.filter(hasFailed).map(({ title, cause }) => `${brief(title)}: ${cause?.code ?? ''} ${brief(cause?.message)}`);

/** What is done, in the words of who did it, and the nodes that came of it. */
async function results({ store, session }: Call, tasks: readonly Task[]): Promise<string[]> {
  const done = tasks.filter(({ status, metadata }) => status === 'done' && metadata['stale'] !== true);
  const items = done.map(({ title, summary }) => `${brief(title)}: ${brief(summary) || 'done'}`);
  for (const { id } of done) {
    for await (const node of store.nodes({ task: id, session })) {
      if (node.stale === null) items.push(`${node.type} ${node.confidence}: ${nodeWords(node)}`);
    }
  }
  return items;
}

function cost(tasks: readonly Task[]): string[] {
  const spent = tasks.reduce(
    (sum, { cost: { usd, unknown, tokensInput, tokensOutput } }) => ({
      isUnknown: sum.isUnknown || unknown === true,
      usd: sum.usd + usd,
      tokens: sum.tokens + tokensInput + tokensOutput,
    }),
    { isUnknown: false, usd: 0, tokens: 0 },
  );
  const known = `$${spent.usd.toFixed(2)}`;
  const dollars = !spent.isUnknown ? known : spent.usd === 0 ? 'cost unknown' : `${known} and an unknown cost`;
  return spent.usd + spent.tokens === 0 ? [] : [`${dollars}, ${thousands(spent.tokens)} tokens, ${tasks.length} tasks`];
}

/** Held at this moment: a run that has ended holds nothing, whatever the time. */
async function locks({ store, session, now }: Call, members: readonly string[] | null): Promise<string[]> {
  const { locks: all = {} } = (await store.session(session)) ?? {};
  const inTime = Object.entries(all).filter(
    ([, { owner, until }]) => until > now() && (members === null || members.includes(owner)),
  );
  const isHeld = await Promise.all(
    inTime.map(async ([, { run }]) => {
      const task = run === null ? undefined : await store.find(taskOfRun(run) ?? '');
      return run === null || (task?.run?.id === run && isRunning(task));
    }),
  );
  return inTime.filter((_, i) => isHeld[i]).map(([resource, { owner }]) => `${resource}: ${owner}`);
}

/** Unread ones, the oldest first. What its own reader was shown whole is read. */
async function messages(call: Call, members: readonly string[] | null): Promise<Said> {
  const { store, session, speaker, countTokens } = call;
  const { letters = {} } = (await store.session(session)) ?? {};
  const waiting = Object.entries(letters)
    .filter(([, { to }]) => members === null || members.includes(to))
    .sort(([a], [b]) => Number(a) - Number(b));
  const lost = droppedBefore(waiting.map(([, letter]) => letter));
  const gone = lost === 0 ? [] : [`${counted(lost, 'older message')} ${lost === 1 ? 'was' : 'were'} dropped`];
  const items = [...gone, ...waiting.map(([, letter]) => lineOf(letter, members === null))];
  const isReader = members?.length === 1 && members[0] === speaker.agent;
  const budget = roomFor(call, 'messages');
  // What was shown is read and gone: the rest is seen by asking again.
  const next = (): string => writeCommand({ ...call.command, limit: MAX_LIMIT });
  if (isReader && items.length > 0 && budget.kind === 'list') {
    const shown = bullets(items, { ...budget, countTokens, next }).split('\n');
    const whole = items.findIndex((item, i) => shown[i] !== `• ${item}`);
    const last = waiting[(whole < 0 ? items.length : whole) - gone.length - 1]?.[0];
    if (last !== undefined)
      await ask(call, { type: 'session.read', session, agent: speaker.agent, upTo: Number(last) });
  }
  return isReader ? { kind: 'list', items, next } : list(items);
}

const lineOf = ({ from, to, channel, text: said }: Letter, isForAll: boolean): string =>
  plain(`${from}${isForAll ? ` → ${to}` : ''}${channel === null ? '' : ` #${channel}`}: ${said}`);

async function onTopic(
  call: Call,
  tasks: readonly Task[],
  members: readonly string[] | null,
  topic: string,
): Promise<string[]> {
  const own = new Set(tasks.map(({ id }) => id));
  const nodes = (await nodesOn(call, topic, MOST_LOOKED)).filter(
    ({ task, createdBy }) => members === null || (task !== null && own.has(task)) || members.includes(createdBy),
  );
  const told = tasks.filter(({ title, summary }) => speaksOf(`${title} ${summary ?? ''}`, topic));
  return [
    ...nodes.map((node) => `${node.type}: ${nodeWords(node)}${node.stale === null ? '' : ' (stale)'}`),
    ...told.map(({ title, summary, status }) => `${brief(title)}: ${brief(summary) || WORDS[status]}`),
  ];
}
