/** Which hooks Baton asks for, and how they get into a file of settings and out of it again. Pure: text in, text out. */
import type { AgentKind } from '../core/agent-kinds.ts';
import { BatonError } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import { addLast, type Json, replaced, without } from './json-text.ts';

/** What `baton hook` can be called for. */
const HOOKS = ['stop', 'tool', 'precompact'] as const;
type Hook = (typeof HOOKS)[number];

interface Wanted {
  readonly event: string;
  readonly hook: Hook;
  readonly matcher?: string;
}

/** Seconds; a report is looked for in a moment, and an export asks the store. */
const TIMEOUT = 30;

interface HookedProgram {
  /** What its settings are called, in `.<program>` of the project or the user. */
  readonly file: string;
  /** The variable that names another folder of the user. */
  readonly folder: string;
  readonly wanted: readonly Wanted[];
  /** What a person has to do after an install; null where nothing is left. */
  readonly left: string | null;
}

/**
 * The programs that have hooks, and what each has. Both know Stop, SubagentStop and PreCompact. The answer of a sub-agent is a tool's output in
 * claude only (its tool was called Task before it was called Agent).
 */
export const HOOKED = {
  claude: {
    file: 'settings.json',
    folder: 'CLAUDE_CONFIG_DIR',
    wanted: [
      { event: 'Stop', hook: 'stop' },
      { event: 'SubagentStop', hook: 'stop' },
      { event: 'PostToolUse', hook: 'tool', matcher: 'Task|Agent' },
      { event: 'PreCompact', hook: 'precompact' },
    ],
    left: null,
  },
  codex: {
    file: 'hooks.json',
    folder: 'CODEX_HOME',
    wanted: [
      { event: 'Stop', hook: 'stop' },
      { event: 'SubagentStop', hook: 'stop' },
      { event: 'PreCompact', hook: 'precompact' },
    ],
    left: 'codex runs a hook only when you have trusted it: open codex in this project and look at /hooks. Until then it passes them by without a word',
  },
} as const satisfies Partial<Record<AgentKind, HookedProgram>>;
export type Hooked = keyof typeof HOOKED;
export const HOOKED_NAMES = Object.keys(HOOKED) as readonly Hooked[];

/** What was made to put them in, so that it goes with them. Events are those whose list was made. */
export interface Made {
  readonly hooks: boolean;
  readonly events: readonly string[];
}

interface Installed {
  readonly text: string;
  readonly made: Made;
}

/** The settings with our hooks; the very same text where they are there. `text` null is no file. */
export function withHooks(text: string | null, program: Hooked, launcher: string, file: string): Installed {
  let after = text === null || text.trim() === '' ? '{}\n' : text;
  const before = hooksIn(after, file);
  if (before === null) after = addLast(after, [], 'hooks', {});
  const events: string[] = [];
  for (const { event, hook, matcher } of HOOKED[program].wanted as readonly Wanted[]) {
    const command = `${launcher} hook ${hook}`;
    const entry: Json = {
      ...(matcher === undefined ? {} : { matcher }),
      hooks: [{ type: 'command', command, timeout: TIMEOUT }],
    };
    const groups = hooksIn(after, file)?.[event];
    const own = ownIn(groups);
    if (groups === undefined) {
      after = addLast(after, ['hooks'], event, [entry]);
      events.push(event);
    } else if (own.length === 0) after = addLast(after, ['hooks', event], null, entry);
    for (const place of own) {
      // One that was installed from another place calls a program that may not be there any more.
      if (place.command !== command)
        after = replaced(after, ['hooks', event, place.group, 'hooks', place.item, 'command'], command);
    }
  }
  return { text: after, made: { hooks: before === null, events } };
}

/** The settings without our hooks. What of their surroundings goes with them is in `made`; without it, what is empty now goes. */
export function withoutHooks(text: string, made: Made | null, file: string): string {
  let after = text;
  let isChanged = false;
  for (const event of Object.keys(hooksIn(after, file) ?? {})) {
    const own = ownIn(hooksIn(after, file)?.[event]);
    if (own.length === 0) continue;
    isChanged = true;
    // From the end, so that the places before stay what they are.
    for (const { group, item, isAlone } of own.toReversed()) {
      after = without(after, isAlone ? ['hooks', event, group] : ['hooks', event, group, 'hooks', item]);
    }
    const left = hooksIn(after, file)?.[event];
    if (Array.isArray(left) && left.length === 0 && (made === null || made.events.includes(event)))
      after = without(after, ['hooks', event]);
  }
  const hooks = hooksIn(after, file);
  if (isChanged && hooks !== null && Object.keys(hooks).length === 0 && (made === null || made.hooks))
    after = without(after, ['hooks']);
  return after;
}

/** Whether nothing is in it. */
export const isEmpty = (text: string): boolean => {
  const value = parseJson(text.replace(/^\ufeff/, ''));
  return isFields(value) && Object.keys(value).length === 0;
};

interface Own {
  readonly group: number;
  readonly item: number;
  readonly command: string;
  /** Nobody else's hook is in its group. */
  readonly isAlone: boolean;
}

/** A word as `quoted` writes it. */
const WORD = `(?:[\\w./-]+|'(?:[^']|'\\\\'')*')`;
const NAME = String.raw`(?:\$\{BATON_CLI:-baton\}|baton)`;
/** `baton hook stop`, also by a variable, with one before it, or by a path: the forms of `launcherOf`, and no other that has our name in it. */
const OURS = new RegExp(
  `^(?:${NAME}|BATON_BY_PATH=1 ${WORD} ${WORD}|BATON_DIR=${WORD} (?:${NAME}|${WORD} ${WORD})) hook (?:${HOOKS.join('|')})$`,
);

const isOurs = (hook: unknown): hook is { readonly command: string } =>
  isFields(hook) && typeof hook['command'] === 'string' && OURS.test(hook['command']);

function ownIn(groups: unknown): Own[] {
  if (!Array.isArray(groups)) return [];
  return groups.flatMap((group: unknown, index) => {
    const hooks: readonly unknown[] = isFields(group) && Array.isArray(group['hooks']) ? group['hooks'] : [];
    const isAlone = hooks.every(isOurs);
    const own = hooks.flatMap((hook, item) =>
      isOurs(hook) ? [{ group: index, item, command: hook.command, isAlone }] : [],
    );
    // A group of ours alone is one thing.
    return isAlone ? own.slice(0, 1) : own;
  });
}

/** The section of hooks, checked for what we rely on; null where there is none. */
function hooksIn(text: string, file: string): Record<string, unknown> | null {
  const value = parseJson(text.replace(/^\ufeff/, ''));
  if (!isFields(value)) throw odd(file, 'expected JSON with an object in it');
  const hooks = value['hooks'];
  if (hooks === undefined) return null;
  if (!isFields(hooks)) throw odd(file, 'expected an object under hooks');
  for (const [event, groups] of Object.entries(hooks))
    if (!Array.isArray(groups)) throw odd(file, `expected a list under hooks.${event}`);
  return hooks;
}

const odd = (file: string, what: string): BatonError =>
  new BatonError('E_CONFIG', `${file}: ${what}, got something else`, 'mend it first; nothing was changed');
