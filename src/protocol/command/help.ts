/** What `#HELP` answers (§11), made from the table. Usage texts are exempt from token limits, the number of bullets is not. */
import { CATEGORIES, type Category, type CommandForm, type CommandSpec, usage } from './form.ts';
import { errorReply } from './reply.ts';
import { COMMANDS, type CommandName, HELP_CATEGORY_ITEMS, HELP_ITEMS, isBuiltIn } from './table.ts';

/** A command that a project adds (§9). */
export interface ProjectCommand {
  readonly name: string;
  /** How it is written, `#DEPLOY:<target>`. */
  readonly usage: string;
  readonly does: string;
  /** What to write instead, where it is deprecated; else null. */
  readonly deprecated: string | null;
}

/** The category of what projects add. */
const PROJECT = 'project';

interface Entry {
  readonly name: string;
  readonly category: Category | typeof PROJECT;
  readonly since: string;
  readonly deprecated: string | null;
  readonly forms: readonly {
    readonly sub: string | null;
    readonly usage: string;
    readonly does: string;
    readonly example: string;
  }[];
}

/** The answer to `#HELP` with these parameters: none, a category, a command with or without `#` and its form, or `all`. */
export function helpReply(params: readonly string[], project: readonly ProjectCommand[] = []): string {
  const entries = [...BUILT_IN, ...project.map(projectEntry)];
  const [topic, sub] = params;
  if (topic === undefined) return overview(entries);
  if (sub === undefined && topic === 'all') return entries.flatMap(lines).join('\n');
  const ofCategory = sub === undefined ? entries.filter((entry) => entry.category === topic) : [];
  if (ofCategory.length > 0) return atMost(ofCategory.flatMap(lines), HELP_CATEGORY_ITEMS);
  return commandHelp(entries, topic, sub) ?? errorReply('E002', `unknown_topic ${topic.slice(0, 40)}`);
}

/** A line a category, as in §11: `• state: #STATE`. */
function overview(entries: readonly Entry[]): string {
  const rows = [...CATEGORIES, PROJECT].flatMap((category) => {
    const of = entries.filter((entry) => entry.category === category);
    if (of.length === 0) return [];
    const since = of.every((entry) => entry.since === '1.1') ? ' [v1.1+]' : '';
    return [`• ${category}: ${of.map((entry) => `#${entry.name}`).join(' ')}${since}`];
  });
  return [...rows.slice(0, HELP_ITEMS), '[#HELP:<category> for details, #HELP:all for all]'].join('\n');
}

/** `Usage`, what it does, `Ex`: of one form, or of all that the command has. */
function commandHelp(entries: readonly Entry[], topic: string, sub: string | undefined): string | null {
  const name = topic.replace(/^#/, '').toUpperCase();
  const entry = entries.find((candidate) => candidate.name === name);
  const forms = entry?.forms.filter((form) => sub === undefined || form.sub === sub) ?? [];
  const first = forms[0];
  if (entry === undefined || first === undefined) return null;
  const usages = forms.map((form) => `Usage: ${form.usage}${mark(entry)}`);
  const does = forms.length === 1 ? [sentence(first.does)] : [];
  const instead = entry.deprecated === null ? [] : [`Use instead: ${entry.deprecated}`];
  const example = first.example === '' ? [] : [`Ex: ${first.example}`];
  return [...usages, ...does, ...instead, ...example].join('\n');
}

const lines = (entry: Entry): string[] => entry.forms.map((form) => `• ${form.usage} - ${form.does}${mark(entry)}`);
const mark = (entry: Entry): string => (entry.deprecated === null ? '' : ' [DEPRECATED]');
const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function atMost(rows: readonly string[], items: number): string {
  if (rows.length <= items) return rows.join('\n');
  return [...rows.slice(0, items - 1), `• +${rows.length - items + 1} more, see #HELP:all`].join('\n');
}

const builtInEntry = (name: CommandName, spec: CommandSpec): Entry => ({
  name,
  category: spec.category,
  since: spec.since,
  deprecated: spec.deprecated,
  forms: spec.forms.map((form: CommandForm) => ({
    sub: form.sub,
    usage: usage(name, form),
    does: form.does,
    example: form.example,
  })),
});

const projectEntry = ({ name, usage, does, deprecated }: ProjectCommand): Entry => ({
  name,
  category: PROJECT,
  since: '',
  deprecated,
  forms: [{ sub: null, usage, does, example: '' }],
});

const BUILT_IN: readonly Entry[] = Object.keys(COMMANDS)
  .filter(isBuiltIn)
  .map((name) => builtInEntry(name, COMMANDS[name]));
