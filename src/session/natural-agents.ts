/** Who is meant: the names of agents as people say them (`emma`, `the dev agent`, `test agent`), and checkpoints (`cp_001`, `before the refactor`). */
import type { CountTokens } from '../protocol/message.ts';
import { nameOf } from './natural-values.ts';

export interface KnownCheckpoint {
  readonly id: string;
  readonly name: string | null;
}

/** A task of the session, as words may mean it. */
export interface KnownTask {
  readonly id: string;
  readonly title: string;
  readonly agent: string | null;
  /** Neither done nor cancelled. */
  readonly open: boolean;
}

/** What is known when a line is read. */
export interface NaturalContext {
  readonly agents: readonly string[];
  /** Who was delegated to last, and what. */
  readonly lastAgent: string | null;
  readonly lastTask: string | null;
  /** Plain words for agents: `tests` → `TestAgent`. */
  readonly roles?: Readonly<Record<string, string>>;
  /** The oldest first. */
  readonly checkpoints?: readonly KnownCheckpoint[];
  /** The session's tasks: `once the api is done` means one of them. */
  readonly tasks?: readonly KnownTask[];
  /** The keys that are saved: `what is the db?` is asked of those only. */
  readonly keys?: readonly string[];
  /** With it, a value that is too long to be saved is asked about instead of being refused later. */
  readonly countTokens?: CountTokens;
}

export interface Names {
  /** A pattern of all that may stand for an agent. Matches nothing where there are none. */
  readonly pattern: string;
  /** The agent that such words stand for; null where there is none. */
  readonly resolve: (words: string) => string | null;
  /** The agent whose field a word is (`test` results); null where nobody is known for it. */
  readonly byField: (word: string) => string | null;
}

/** Words that mean somebody else, whatever an agent is called. */
const RESERVED = new Set(
  'me you i we us it they them everyone everybody all anyone someone somebody nobody agent agents team that this the a an'.split(
    ' ',
  ),
);
const PRONOUNS = ['her', 'him', 'them', 'the same agent', 'that agent', 'the last agent'];
const MOST_AGENTS = 500;

export function namesOf({ agents, roles, lastAgent }: NaturalContext): Names {
  const aliases = new Map<string, string | null>();
  const add = (alias: string, agent: string): void => {
    const key = alias.toLowerCase();
    if (key === '' || RESERVED.has(key)) return;
    const known = aliases.get(key);
    aliases.set(key, known === undefined || known === agent ? agent : null); // of two agents a short name is nobody's
  };
  const sayable = agents.slice(0, MOST_AGENTS).filter((agent) => agent.trim() !== '' && !/[:\r\n]/.test(agent));
  for (const agent of sayable) for (const alias of shortNames(agent)) add(alias, agent);
  for (const [word, agent] of Object.entries(roles ?? {})) {
    add(word, agent);
    aliases.set(word.toLowerCase(), agent);
  }
  for (const agent of sayable) aliases.set(agent.toLowerCase(), agent); // a whole name is always its own
  if (lastAgent !== null) for (const pronoun of PRONOUNS) aliases.set(pronoun, lastAgent);

  const resolve = (words: string): string | null => {
    const said = words.toLowerCase().trim();
    const bare = said.replace(/^@|^the /, '');
    const shorter = bare.replace(/ (?:agent|team)$/, '');
    return aliases.get(said) ?? aliases.get(bare) ?? aliases.get(shorter) ?? null;
  };
  const byField = (word: string): string | null => {
    const said = word.toLowerCase();
    const forms = [said, said.replace(/s$/, ''), `${said}s`, said.replace(/ing$/, '')];
    for (const form of forms) {
      const agent = aliases.get(form);
      if (agent !== undefined && agent !== null) return agent;
    }
    return /^tests?$/.test(said) ? 'TestAgent' : null; // the document's own example, §2.5
  };
  return { pattern: patternOf([...aliases.keys()]), resolve, byField };
}

/** `TestAgent` is also `test agent` and `test`, `code-reviewer` is `code reviewer` and `the reviewer`. */
function shortNames(agent: string): string[] {
  const words = agent
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[-_./]+/g, ' ')
    .trim();
  const bare = words.replace(/ agent$/i, '');
  const last = bare.includes(' ') ? (bare.split(' ').at(-1) ?? '') : '';
  return [agent, words, bare, ...(last.length > 3 ? [last] : [])].filter((alias) => alias.length > 1);
}

function patternOf(aliases: readonly string[]): string {
  if (aliases.length === 0) return '(?!)';
  const longestFirst = [...aliases].sort((a, b) => b.length - a.length || (a < b ? -1 : 1));
  const words = longestFirst.map((alias) => alias.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|');
  return `@?(?:the )?(?:${words})(?: agent| team)?(?![\\w-])`;
}

type CheckpointMeant =
  | { readonly kind: 'one'; readonly id: string }
  /** None is named, or none of that name is known. */
  | { readonly kind: 'which' };

const ID = /^(?:checkpoint )?(cp_?\d{1,6})$/i;

/** `exact`: only what leaves no doubt counts, because much depends on it. */
export function checkpointOf(words: string, { checkpoints = [] }: NaturalContext, exact: boolean): CheckpointMeant {
  const said = words
    .trim()
    .toLowerCase()
    .replace(/^(?:the )?(?:point |state )?/, '');
  const id = ID.exec(said)?.[1];
  if (id !== undefined) {
    const number = Number(id.replace(/\D/g, ''));
    const same = checkpoints.filter((one) => /^cp_\d+$/.test(one.id) && Number(one.id.slice(3)) === number);
    return { kind: 'one', id: same.length === 1 && same[0] !== undefined ? same[0].id : id.replace(/^cp_?/, 'cp_') };
  }
  const last = checkpoints.at(-1);
  const only = checkpoints.length === 1 ? last : undefined;
  if (/^(?:very )?(?:last|latest|newest|most recent) (?:checkpoint|one|save)$/.test(said)) return meant(last);
  if (/^(?:checkpoint|it|that|that checkpoint|this checkpoint|then|previous checkpoint)$/.test(said)) {
    return meant(exact ? only : last);
  }
  const name = nameOf(said.replace(/^(?:checkpoint )?(?:called |named )?/, ''))?.toLowerCase();
  const named = checkpoints.filter(
    (one) => one.id.toLowerCase() === said || (one.name !== null && nameOf(one.name)?.toLowerCase() === name),
  );
  return meant(named.length === 1 ? named[0] : undefined);
}

const meant = (one: KnownCheckpoint | undefined): CheckpointMeant =>
  one === undefined ? { kind: 'which' } : { kind: 'one', id: one.id };
