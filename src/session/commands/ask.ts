/** `#ASK`, `#DEFINE`, `#SUMMARY`: what the session knows, from its state, its tasks and the graph. What nobody has said is `none`. */

import type { Task } from '../../core/task.ts';
import { counted } from '../../core/words.ts';
import { COMMANDS, isBuiltIn } from '../../protocol/command/index.ts';
import { openQuestions } from '../../runtime/open-questions.ts';
import { type Call, list, type Said, text } from '../call.ts';
import { brief, nodesOn, nodeWords, sessionTasks, speaksOf, wordsOf } from '../lookup.ts';
import { projectCommands } from '../project-commands.ts';
import { VOCABULARY } from '../vocabulary.ts';
import { counts } from './report.ts';

const MOST_NODES = 2_000;

export async function askTopic(call: Call): Promise<Said> {
  const [topic = ''] = call.params;
  return list(await factsOn(call, topic), { topic });
}

/** What was saved, then what was found out, then what was done about it. */
async function factsOn(call: Call, topic: string): Promise<string[]> {
  const { state = {}, variables = {} } = (await call.store.session(call.session)) ?? {};
  const kept = Object.entries(state).filter(([key, { value }]) => speaksOf(`${key} ${value}`, topic));
  const named = Object.entries(variables).filter(([name, value]) => speaksOf(`${name} ${value}`, topic));
  const nodes = await nodesOn(call, topic, MOST_NODES);
  const tasks = (await sessionTasks(call))
    .filter(({ title, summary }) => speaksOf(`${title} ${summary ?? ''}`, topic))
    .toSorted((a, b) => b.updatedAt - a.updatedAt);
  return [
    ...kept.map(([key, { value }]) => `${key}: ${brief(value)}`),
    ...named.map(([name, value]) => `${name}: ${brief(value)}`),
    ...nodes.map((node) => `${node.type}: ${nodeWords(node)}${node.stale === null ? '' : ' (stale)'}`),
    ...tasks.map(({ title, summary, status }) => `${brief(title)}: ${brief(summary) || status}`),
  ];
}

export async function define(call: Call): Promise<Said> {
  const term = call.params.join(' ').trim();
  const { state = {} } = (await call.store.session(call.session)) ?? {};
  const kept = Object.hasOwn(state, term) ? state[term]?.value : undefined;
  return text(kept ?? (await fromGraph(call, term)) ?? fromLanguage(call, term) ?? 'none');
}

/** A node that is about nothing but the term. */
async function fromGraph(call: Call, term: string): Promise<string | null> {
  const words = wordsOf(term).join(' ');
  const [found] = (await nodesOn(call, term, MOST_NODES)).filter(
    ({ topic, stale }) => stale === null && words !== '' && wordsOf(topic).join(' ') === words,
  );
  return found === undefined ? null : nodeWords(found);
}

function fromLanguage({ config }: Call, term: string): string | null {
  const name = term.replace(/^#/, '').toUpperCase();
  const word = wordsOf(term).join(' ');
  const singular = word.replace(/ies$/, 'y').replace(/s$/, '');
  const meaning = [word, singular].find((one) => Object.hasOwn(VOCABULARY, one));
  if (meaning !== undefined && !term.startsWith('#')) return VOCABULARY[meaning] ?? null;
  if (isBuiltIn(name)) return COMMANDS[name].forms.map(({ does }) => does).join('; ');
  return projectCommands(config).find((own) => own.name === name)?.does ?? null;
}

export async function summary(call: Call): Promise<Said> {
  const topic = call.params.join(' ').trim();
  if (topic !== '') return text((await factsOn(call, topic)).join('; ') || 'none', { topic });
  const { store, session } = call;
  const tasks = await sessionTasks(call);
  const questions = await openQuestions(store, session);
  const now = pressing(tasks);
  const parts = [
    tasks.length === 0 ? '' : counts(tasks),
    questions.length === 0 ? '' : `${counted(questions.length, 'question')} open`,
    now === undefined ? '' : `now: ${brief(now.title)}`,
  ];
  const { state = {} } = (await store.session(session)) ?? {};
  const keys = Object.keys(state).length;
  if (tasks.length === 0 && keys > 0) parts.push(`${counted(keys, 'key')} saved`);
  return text(parts.filter((part) => part !== '').join('; ') || 'none');
}

/** What somebody should look at first. */
const pressing = (tasks: readonly Task[]): Task | undefined =>
  (['deadletter', 'blocked', 'review', 'in-progress', 'ready'] as const)
    .map((status) => tasks.find((task) => task.status === status))
    .find((task) => task !== undefined);
