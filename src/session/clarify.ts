/** What is asked back when a line cannot be acted on: one short question that names what is missing. Pure sentences. */
import { quote } from '../protocol/text/quote.ts';
import type { KnownCheckpoint, KnownTask } from './natural-agents.ts';

const MOST_NAMED = 5;

function listed(names: readonly string[], none: string): string {
  if (names.length === 0) return none;
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : '';
  return `${names.slice(0, MOST_NAMED).join(', ')}${more}`;
}

const known = (agents: readonly string[]): string => `I know ${listed(agents, 'none yet')}.`;

export const whichAgent = (task: string, agents: readonly string[]): string =>
  `Which agent should do ${quote(task)}? ${known(agents)}`;
export const unknownAgent = (name: string, agents: readonly string[]): string =>
  `Who is ${quote(name)}? ${known(agents)}`;
export const whoIsMeant = (agents: readonly string[]): string =>
  `Which agent do you mean? Nothing was delegated yet, and ${known(agents)}`;
export const whatTask = (agent: string): string => `What exactly should ${agent} do?`;
export const whatThing = (words: string): string =>
  `What exactly do you mean by ${quote(words)}, and which agent should do it?`;
export const whichTask = (deed: string): string => `Which task should I ${deed}? Nothing was delegated yet.`;
export const oneTask = (deed: string): string => `Which task should I ${deed}? Name one by its id.`;
export const whichNeeded = (words: string, tasks: readonly KnownTask[]): string => {
  const names = tasks.map(({ id, title }) => `${id} (${title})`);
  return `Which task should it wait for? ${quote(words)} names ${names.length === 0 ? 'none that I know' : `several: ${listed(names, '')}`}.`;
};
export const whoseTurn = (agent: string): string =>
  `Should ${agent} be given a task too? Say who does what first, and what comes then.`;
export const whatMessage = (to: string): string => `What should I tell ${to}?`;
export const whatKey = (value: string): string =>
  `Under which name should I save ${quote(value)}? Say "remember … as <name>".`;
export const whatValue = (): string => 'What should I save, and under which name?';
export const whichResource = (deed: string): string => `Which file or resource should I ${deed}?`;
export const whatCondition = (): string => 'What should I wait for? Name the condition.';
export const whichFile = (deed: string): string => `Which file should I ${deed}?`;
export const whichTopic = (topic: string): string =>
  `Help on what? I have none on ${quote(topic)}; say "what can you do" for all of it.`;
export const whatChannel = (words: string): string =>
  `Which channel do you mean by ${quote(words)}? There are file_changes, deploy_status, test_results and priority_alert.`;
export const sureToClear = (): string => 'Shall I delete everything that is saved? Then say "clear the state".';
export const wholeOnly = (): string => 'I can only clear all that is saved. If you mean that, say "clear the state".';
export const noForceUnlock = (): string =>
  'Should the lock be taken from its owner? I do not do that from plain words; write the command yourself.';
export const tooLong = (most: number): string =>
  `Can you say that in fewer words? I read lines of up to ${most} characters.`;
export const tooMany = (): string => 'Can you say that in a few lines? I read only so many wishes in one.';
export const oneCommand = (): string => 'Is that a command? One that starts with # has to stand on a line of its own.';
export const nothingDone = (): string => 'Nothing is done. What should I do instead?';
export const notLater = (): string =>
  'Shall it begin at once? I cannot keep it for later; say it again when it may begin.';
export const notSayable = (words: string): string =>
  `How else could you say ${quote(words)}? A command cannot hold it as it is.`;
export const valueTooLong = (): string => 'Can you say that in fewer words? A saved value has at most 30 tokens.';

export function whichCheckpoint(checkpoints: readonly KnownCheckpoint[] | undefined, deed: string): string {
  const names = (checkpoints ?? []).map(({ id, name }) => (name === null ? id : `${id} (${name})`));
  return `Which checkpoint should I ${deed}? ${names.length === 0 ? 'I know of none.' : `There are ${listed(names.reverse(), '')}.`}`;
}

/** The line was understood, and it was said with doubt. */
export const reallySure = (lines: readonly string[]): string =>
  `Shall I really do ${lines.join(' and ')}? Then say so plainly.`;

/** Somebody is told to do something and then something that cannot be taken back follows: by whom? */
export const whoDoes = (line: string): string =>
  `Should I do ${line} myself, right now? Then say it in a line of its own.`;

export const notUnderstood = (clause: string): string =>
  clause.trim() === ''
    ? 'What should I do? Say "what can you do" for a list.'
    : `What should I do about ${quote(clause)}? I can delegate, report, save, lock, signal, checkpoint and roll back.`;
