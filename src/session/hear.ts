/**
 * A line without `#`: by rules into commands (`natural.ts`), and their answers into sentences (`spoken.ts`). How a voice is answered is its own
 * choice (§2.5), which the session keeps: the protocol is hidden, shown or explained, or it is all that is understood.
 */

import { isFinal } from '../core/task.ts';
import type { Heard, SessionParts, Voice } from './call.ts';
import { interpret, type Mode, type NaturalContext } from './natural.ts';
import type { KnownTask } from './natural-agents.ts';
import { knownAgents } from './people.ts';
import { projectCommands } from './project-commands.ts';
import { explain, spoken } from './spoken.ts';

export interface HearOptions extends Pick<SessionParts, 'store' | 'config' | 'countTokens'> {
  /** Asked where no rule reaches: a configured agent. Null where it does not know either. */
  readonly unsure?: ((line: string, voice: Voice, context: NaturalContext) => Promise<Heard | null>) | undefined;
}

/** A dry run only says what would be done: how the voice is answered stays as it is. */
export type Hear = (line: string, voice: Voice, dryRun?: boolean) => Promise<Heard>;

const SAID: Readonly<Record<Mode, string>> = {
  show: 'Commands are shown from now on. Say "hide protocol" to hide them.',
  hide: 'Commands are hidden from now on.',
  explain: 'Commands are shown and explained from now on. Say "hide protocol" to hide them.',
  protocol: 'Only commands are understood from now on. Say "use natural language" to go back.',
  natural: 'Plain words are understood from now on.',
};

export function createHear(options: HearOptions): Hear {
  const { store } = options;
  return async (line, voice, dryRun = false) => {
    const who = nameOfVoice(voice);
    const context = await contextFor(options, voice);
    const meant = interpret(line, context);
    const { session, actor } = voice;
    if (meant.mode !== null && !dryRun) {
      const mode = meant.mode === 'natural' || meant.mode === 'hide' ? null : meant.mode;
      const answer = await store.send({ message: { type: 'session.mode', session, voice: who, mode }, by: actor });
      if (answer.kind === 'refused') return { commands: [], clarify: answer.refusal.message };
    }
    const kept = (await store.session(session))?.facts?.['modes'] as Readonly<Record<string, string>> | undefined;
    const mode = modeOf(dryRun ? meant.mode : null) ?? modeOf(kept?.[who]) ?? 'natural';
    const note = meant.mode === null ? {} : { note: SAID[meant.mode] };
    // What is no command is none: the interpreter says so in its own words.
    if (mode === 'protocol' && meant.mode === null)
      return { commands: [line], clarify: null, tell: (_, replies) => [...replies, ONLY_COMMANDS].join('\n') };
    const heard = meant.unsure ? ((await options.unsure?.(line, voice, context)) ?? meant) : meant;
    return { commands: heard.commands, clarify: heard.clarify, ...note, tell: telling(mode, options) };
  };
}

/** A person by name, an agent by its own: each has a choice of its own in the session. */
const nameOfVoice = ({ speaker, actor }: Voice): string =>
  actor.kind === 'person' ? `${speaker.agent} ${actor.name}` : speaker.agent;

const modeOf = (kept: string | null | undefined): Mode | null =>
  kept != null && Object.hasOwn(SAID, kept) ? (kept as Mode) : null;

const ONLY_COMMANDS = '[protocol mode: say "use natural language" to leave it]';

/** Every answer as a sentence, and what was not done because of one that failed. */
function telling(mode: Mode, { config }: HearOptions): NonNullable<Heard['tell']> {
  const own = projectCommands(config);
  return (commands, replies) => {
    const told = replies.map((reply, i) => {
      const command = commands[i] ?? '';
      const shown = mode === 'show' ? [command] : mode === 'explain' ? [command, explain(command, own)] : [];
      return [...shown, spoken(command, reply)].join('\n');
    });
    const left = commands.slice(replies.length);
    return [...told, ...(left.length === 0 ? [] : [`Not done: ${left.join(', ')}`])].join('\n');
  };
}

async function contextFor(options: HearOptions, voice: Voice): Promise<NaturalContext> {
  const { store, config, countTokens } = options;
  const agents = await knownAgents({ store, config, ...voice });
  const { facts, state = {}, checkpoints = {} } = (await store.session(voice.session)) ?? {};
  const tasks: KnownTask[] = [];
  for await (const { id, title, routing, run, status } of store.tasks({ session: voice.session }))
    tasks.push({ id, title, agent: run?.agent ?? routing.agent ?? routing.team, open: !isFinal(status) });
  const delegated = facts?.['delegated'] as { readonly agent: string; readonly task: string } | undefined;
  return {
    agents: [...agents],
    lastAgent: delegated?.agent ?? null,
    lastTask: delegated?.task ?? null,
    roles: rolesOf(config),
    checkpoints: Object.entries(checkpoints).map(([id, { name }]) => ({ id, name })),
    tasks,
    keys: Object.keys(state),
    countTokens,
  };
}

/** The words by which config knows its agents, where they lead to one only. */
function rolesOf({ agents }: HearOptions['config']): Record<string, string> {
  const words = new Map<string, string | null>();
  for (const [agent, { roles, tags }] of Object.entries(agents)) {
    for (const word of [...roles, ...tags].map((each) => each.toLowerCase())) {
      words.set(word, words.has(word) && words.get(word) !== agent ? null : agent);
    }
  }
  return Object.fromEntries([...words].filter((entry): entry is [string, string] => entry[1] !== null));
}
