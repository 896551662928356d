/** What a line of the session language can go on with: from the table of commands, and from what there is in the session. */
import { CATEGORIES, COMMANDS, type CommandForm, formOf, isBuiltIn, type Param } from '../protocol/command/index.ts';

/** The names that there are. */
export interface Known {
  readonly agents: readonly string[];
  readonly keys: readonly string[];
  readonly checkpoints: readonly string[];
  readonly tasks: readonly string[];
  readonly channels: readonly string[];
  /** Locks and signals. */
  readonly resources: readonly string[];
  /** A project's own commands. */
  readonly commands: readonly string[];
}

/** What fits, and what it takes the place of; as readline wants it. */
type Completion = [fits: string[], of: string];

export function completionsOf(line: string, known: Known): Completion {
  if (!line.startsWith('#')) {
    // In plain words: the name that is being written.
    const word = /\S*$/.exec(line)?.[0] ?? '';
    if (word === '') return [[], word];
    return fitting(word, [...known.agents, ...known.keys, ...known.checkpoints, ...known.tasks]);
  }
  const [head = '', ...segments] = line.slice(1).split(':');
  const last = segments.at(-1);
  if (last === undefined) return fitting(line, [...Object.keys(COMMANDS), ...known.commands].map(written));
  return fitting(last, isBuiltIn(head) ? wordsFor(head, segments, known) : []);
}

const fitting = (start: string, all: readonly string[]): Completion => [
  [...new Set(all)].filter((item) => item.startsWith(start)).sort(),
  start,
];

/** With its colon where something has to follow. */
function written(name: string): string {
  if (!isBuiltIn(name)) return `#${name}`;
  const forms: readonly CommandForm[] = COMMANDS[name].forms;
  const takes = ({ sub, params, open }: CommandForm): boolean => sub !== null || params.length > 0 || open !== false;
  return forms.some(takes) && !forms.some(({ sub, params }) => sub === null && params.every((p) => !p.required))
    ? `#${name}:`
    : `#${name}`;
}

function wordsFor(name: keyof typeof COMMANDS, segments: readonly string[], known: Known): readonly string[] {
  const forms: readonly CommandForm[] = COMMANDS[name].forms;
  const subs =
    segments.length > 1
      ? []
      : forms.flatMap(({ sub, params }) => (sub === null ? [] : [params.length > 0 ? `${sub}:` : sub]));
  const form = formOf(name, segments);
  if (form === null) return subs;
  const param = form.params[segments.length - (form.sub === null ? 1 : 2)];
  if (param !== undefined) return [...subs, ...valuesOf(param, known)];
  return form.open === false ? subs : known[form.open];
}

function valuesOf({ name, words, form }: Param, known: Known): readonly string[] {
  if (words.length > 0) return words;
  if (form === 'priority') return ['P0', 'P1', 'P2', 'P3'];
  switch (name) {
    case 'agent':
      return known.agents;
    case 'agent|all':
      return [...known.agents, 'all'];
    case 'key':
      return known.keys;
    case 'id':
      return known.checkpoints;
    case 'task':
      return known.tasks;
    case 'channel':
      return known.channels;
    case 'resource':
    case 'condition':
      return known.resources;
    case 'topic':
      return [...REPORTS, ...known.keys];
    case 'category|command|all':
      return [...CATEGORIES, ...Object.keys(COMMANDS), ...known.commands, 'all'];
    default:
      return [];
  }
}

const REPORTS = ['progress', 'errors', 'results', 'status', 'messages'];
