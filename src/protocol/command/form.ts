/** The words the table of commands is written in: what a form of a command takes, and how long its answer may be. */

/** `seconds` may be 0 (look once), `lease` may not (a lock that is over before it starts); `word` is one of a few. */
export type ParamForm = 'text' | 'word' | 'key' | 'priority' | 'seconds' | 'lease' | 'version' | 'path';

export interface Param {
  readonly name: string;
  readonly form: ParamForm;
  /** What it may be, where its form is `word`. */
  readonly words: readonly string[];
  readonly required: boolean;
  /** What it means to leave it out, where that has a value of its own. */
  readonly fallback: string | null;
  /** Takes the rest of the line, colons and all. The last parameter of a form may, or the one before a priority. */
  readonly absorbs: boolean;
  readonly maxTokens: number | null;
}

/**
 * The default limit of an answer (§3, §5). `form` is an answer whose words the document quotes (`saved:<key>`), a usage text or
 * HEALTH: no limit binds it. An acknowledgement's is fixed, the others move with `:brief`, `:detailed` and `:limit=N`.
 */
export type Reply =
  | { readonly kind: 'form' }
  | { readonly kind: 'acknowledgement' | 'status' | 'summary' | 'error'; readonly tokens: number }
  | { readonly kind: 'list'; readonly items: number; readonly tokensPerItem: number };

/**
 * What it does to what is there. `looks`: nothing, so it may be done where a wish is in doubt. `loses`: something is lost, so a person has to be
 * sure; `may-lose`: unless it is to merge.
 */
export type Effect = 'looks' | 'acts' | 'loses' | 'may-lose';

export interface CommandForm {
  /** The word that stands first in this form (`save`); null for the form that has none. */
  readonly sub: string | null;
  /** What follows the sub-command. */
  readonly params: readonly Param[];
  /** Takes any number of parameters beyond the named ones: mostly names of these. */
  readonly open: false | 'agents' | 'keys' | 'tasks';
  /** May end in `:persistent`. */
  readonly persistable: boolean;
  readonly effect: Effect;
  readonly reply: Reply;
  readonly does: string;
  readonly example: string;
}

export const CATEGORIES = [
  'core',
  'state',
  'error',
  'tasks',
  'coordination',
  'messages',
  'checkpoint',
  'context',
  'version',
] as const;
export type Category = (typeof CATEGORIES)[number];

export interface CommandSpec {
  readonly category: Category;
  /** The version of the protocol that brought it. */
  readonly since: '1.0' | '1.1';
  /** What to write instead, where it is deprecated (§10: a migration path); else null. */
  readonly deprecated: string | null;
  readonly forms: readonly CommandForm[];
}

/** `major.minor.patch` (§10), as people write it: with a `v` before it, without the patch. */
export const VERSION_FORM = /^v?(\d{1,9})\.(\d{1,9})(?:\.\d{1,9})?$/;

/** How few parameters a form takes, its sub-command among them. */
export const fewest = (form: CommandForm): number =>
  (form.sub === null ? 0 : 1) + form.params.filter((param) => param.required).length;

/** How many it takes at most. */
export const most = (form: CommandForm): number =>
  form.open ? Number.POSITIVE_INFINITY : (form.sub === null ? 0 : 1) + form.params.length;

/** How the form is written: `#LOCK:<resource>[:timeout]`. */
export function usage(name: string, form: CommandForm): string {
  const parts = form.params.map((param) => {
    const words = param.words.length > 0 ? param.words.join('|') : param.name;
    return param.required ? `:<${words}>` : `[:${words}]`;
  });
  const sub = form.sub === null ? '' : `:${form.sub}`;
  return `#${name}${sub}${parts.join('')}${form.persistable ? '[:persistent]' : ''}${form.open ? '[:…]' : ''}`;
}
