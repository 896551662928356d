/** What commands look for in a session: agents, tasks, nodes, words. Everything that is answered comes from here and from the store. */
import { nearest } from '../core/config.ts';
import { isFields } from '../core/fields.ts';
import type { WholeNode } from '../core/store.ts';
import type { Routing, Task } from '../core/task.ts';
import { budgetFor, exceedsTokens } from '../protocol/command/index.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { MOST_TITLE } from '../runtime/new-tasks.ts';
import { type Call, failed, type Said } from './call.ts';
import { knownAgents, ORCHESTRATOR } from './people.ts';

/** On one line, and nothing in it that a terminal would act upon. */
export const plain = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();

/** More of a text is never shown in an answer, whose limit is a hundred tokens. */
const MOST_CHARS = 600;
export const brief = (text: string | null | undefined): string => shorten(plain(text ?? ''), MOST_CHARS);

type Whom =
  | { readonly name: string; readonly routing: Partial<Routing>; readonly members: readonly string[] }
  | { readonly said: Said };

/** An agent or a team by its name, in any case: a document says Emma, config says emma. */
export async function whom(call: Call, named: string): Promise<Whom> {
  const { config } = call;
  const names = [...(await knownAgents(call))];
  const name =
    names.find((one) => one === named) ?? names.find((one) => one.toLowerCase() === named.toLowerCase()) ?? null;
  if (name === null) return { said: unknownAgent(named, names) };
  const team = Object.hasOwn(config.agents, name) ? undefined : config.teams[name];
  return team === undefined
    ? { name, routing: { agent: name }, members: [name] }
    : { name, routing: { team: name }, members: team };
}

export function unknownAgent(named: string, names: readonly string[]): Said {
  const others = names.filter((name) => name !== ORCHESTRATOR);
  return failed('E002', `unknown_agent ${named}${others.length === 0 ? '' : `, nearest ${nearest(named, others)}`}`);
}

export async function sessionTasks({ store, session }: Pick<Call, 'store' | 'session'>): Promise<Task[]> {
  const tasks: Task[] = [];
  for await (const task of store.tasks({ session })) tasks.push(task);
  return tasks;
}

/** Whose it is: who does it or did, else whom it is for. */
export const isOf = (task: Task, members: readonly string[]): boolean => {
  const names = [task.run?.agent, task.routing.agent, task.routing.team];
  return names.some((name) => name != null && members.some((one) => one.toLowerCase() === name.toLowerCase()));
};

/** The task that is named, by its id or its name in the session; the one delegated to last where none is. */
export async function taskNamed(call: Call, named: string | undefined): Promise<Task | undefined> {
  const { store, session } = call;
  const { facts } = named === undefined ? ((await store.session(session)) ?? {}) : {};
  const last = facts?.['delegated'] as { readonly task: string } | undefined;
  const task = await store.find(named ?? last?.task ?? '', session);
  // A run sees its own session only.
  return call.speaker.run !== null && task?.session !== session ? undefined : task;
}

/** `auth_impl` and `Auth impl` are one title; a long one is meant by its shortened form too. */
export const titleIs = ({ title }: Task, name: string): boolean => {
  const same = (text: string): string => plain(text).replaceAll('_', ' ').toLowerCase();
  return same(title) === same(name) || same(title) === same(shorten(plain(name), MOST_TITLE));
};

/** So many tasks are named where none or several are meant. */
const MOST_CANDIDATES = 4;
const CANDIDATE_CHARS = 40;

/** An error that names the tasks that could have been meant. */
export function candidates(description: string, tasks: readonly Task[]): Said {
  const shown = tasks.slice(-MOST_CANDIDATES).map(({ id, title }) => `${id} ${shorten(plain(title), CANDIDATE_CHARS)}`);
  const more = tasks.length > shown.length ? [`+${tasks.length - shown.length} more → #REPORT:all:tasks`] : [];
  return { kind: 'error', code: 'E002', description, candidates: [...shown, ...more] };
}

/** A run decides over what it has handed on, a lead over all. */
export const mayChange = ({ speaker }: Call, task: Task): boolean =>
  speaker.leads || (speaker.run !== null && task.parentId !== null && speaker.run.startsWith(`${task.parentId}-r`));

/** Fields of a node's data that say in words what it is. */
const TELLING = ['summary', 'statement', 'claim', 'finding', 'decision', 'title', 'name', 'question', 'description'];

export function nodeWords({ id, document }: WholeNode): string {
  const data = isFields(document['data']) ? document['data'] : {};
  const said = [...TELLING.map((field) => data[field]), ...Object.values(data)].find(
    (value) => typeof value === 'string' && value.trim() !== '',
  );
  return brief(typeof said === 'string' ? said : id);
}

export const wordsOf = (topic: string): string[] =>
  topic
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

/** All of the topic's words stand in the text, in any order and case, or the beginnings of its words. */
export const speaksOf = (text: string, topic: string): boolean => {
  const words = wordsOf(text);
  const asked = wordsOf(topic);
  return asked.length > 0 && asked.every((word) => words.some((one) => one.startsWith(word)));
};

/** Of so many nodes the words are looked at. */
const MOST_NODES = 2_000;

/** Nodes that speak of a topic, the newest first; those that are stale last. */
export async function nodesOn(call: Call, topic: string, most: number): Promise<WholeNode[]> {
  const [first = ''] = wordsOf(topic);
  if (first === '') return [];
  const found: WholeNode[] = [];
  let looked = 0;
  for await (const node of call.store.nodes({ text: first, session: call.session })) {
    if (++looked > MOST_NODES) break;
    if (speaksOf(`${node.id} ${node.topic} ${JSON.stringify(node.document)}`, topic)) found.push(node);
  }
  const late = (node: WholeNode): number => (node.stale === null ? 0 : 1);
  return found.toSorted((a, b) => late(a) - late(b) || b.createdAt - a.createdAt).slice(0, most);
}

/** The first that has room in the answer, or as one item of it; the last is the shortest, and is cut where even that has none. */
export function fitting({ command, countTokens }: Call, candidates: readonly string[]): string {
  const budget = budgetFor(command);
  const room = budget.kind === 'list' ? (budget.totalTokens ?? budget.tokensPerItem) : null;
  const tokens = budget.kind === 'text' ? budget.tokens : room;
  const fits = (words: string): boolean => tokens === null || !exceedsTokens(words, tokens, countTokens);
  return candidates.find(fits) ?? candidates.at(-1) ?? '';
}

/** `2h`, `30m`, `1d`: as the document writes how long ago something was. */
export function since(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

/** `8.2k`, as the document writes sizes; whole below a thousand. */
export const thousands = (count: number): string =>
  count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0).replace(/\.0$/, '')}k`;
