/** A context file as it is read (§16): of unknown origin, so everything in it is looked at, and what is not known is left out and said. Pure. */
import { BatonError, type SessionErrorCode } from '../core/errors.ts';
import { type Fields, isFields } from '../core/fields.ts';
import { MOST_KEYS } from '../core/laws/session.ts';
import { TASK_PRIORITIES, type TaskPriority } from '../core/task.ts';
import { checkVersion, exceedsTokens, STATE_VALUE_TOKENS, VARIABLE_TOKENS } from '../protocol/command/index.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { quote } from '../protocol/text/quote.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { readYaml } from '../protocol/text/yaml.ts';
import { codeOf } from './refusals.ts';

/** What a task was ordered to be, as far as the file says it. */
export interface CapsuleOrder {
  readonly status: string | null;
  readonly priority: TaskPriority | null;
  /** The external id that it had. */
  readonly name: string | null;
  readonly agent: string | null;
  readonly model: string | null;
  readonly dependsOn: readonly string[];
  readonly review: boolean;
  readonly body: string | null;
  /** Its TASK, not looked at yet. */
  readonly task: Fields | null;
}

/** A file of a session, on its way to another. */
export interface Capsule {
  readonly version: string;
  readonly from: string | null;
  /** The commit that its project was at; null where it says none. */
  readonly commit: string | null;
  readonly state: Readonly<Record<string, { readonly value: string; readonly persistent: boolean }>>;
  readonly variables: Readonly<Record<string, string>>;
  readonly completed: readonly string[];
  readonly active: readonly string[];
  readonly pending: readonly string[];
  readonly titles: ReadonlyMap<string, string>;
  readonly summaries: ReadonlyMap<string, string>;
  readonly orders: ReadonlyMap<string, CapsuleOrder>;
  /** All that it holds. */
  readonly items: number;
  /** What was left out, a sentence each. */
  readonly warnings: readonly string[];
}

type ReadCapsule = Capsule | { readonly code: SessionErrorCode; readonly why: string };

/** More is no context of a session. */
export const MOST_CAPSULE_BYTES = 1024 * 1024;
const MOST_TASKS = 1_000;
const TITLE_CHARS = 120;
const SUMMARY_CHARS = 300;

const KNOWN = [
  'version',
  'exported',
  'session_id',
  'git_checkpoint',
  'state',
  'tasks',
  'orders',
  'titles',
  'summaries',
  'configuration',
];

const wrong = (why: string, code: SessionErrorCode = 'E002'): BatonError => new BatonError(code, why);

/** Whether a text begins as such a file does: what else there is, no export writes over. */
export const looksLikeCapsule = (text: string): boolean => {
  const read = readYaml(text, { plain: true });
  return read.ok && isFields(read.value) && 'version' in read.value && 'session_id' in read.value;
};

export function readCapsule(text: string, countTokens: (text: string) => number): ReadCapsule {
  const yaml = readYaml(text.replace(/^\ufeff/, ''), { plain: true });
  if (!yaml.ok) return { code: 'E002', why: `not_a_context_file: ${yaml.reason}` };
  try {
    return capsuleOf(yaml.value, countTokens);
  } catch (cause) {
    if (cause instanceof BatonError) return { code: codeOf(cause), why: cause.message };
    throw cause;
  }
}

function capsuleOf(value: unknown, countTokens: (text: string) => number): Capsule {
  if (!isFields(value)) throw wrong('not_a_context_file: expected a mapping');
  const warnings = Object.keys(value)
    .filter((key) => !KNOWN.includes(key))
    .map((key) => `${quote(key)} is not known here and left out`);
  const version = versionOf(value['version']);
  const { persistent, temporary, ...more } = section(value, 'state');
  for (const key of Object.keys(more)) warnings.push(`${quote(`state.${key}`)} is not known here and left out`);
  const state = {
    ...keysOf(temporary, false, countTokens),
    ...keysOf(persistent, true, countTokens),
  };
  if (Object.keys(state).length > MOST_KEYS) {
    throw wrong(`expected at most ${MOST_KEYS} keys, got ${Object.keys(state).length}`, 'E003');
  }
  const tasks = section(value, 'tasks');
  const [completed, pending] = [namesOf(tasks['completed']), namesOf(tasks['pending'])];
  const active = namesOf(tasks['in_progress']);
  const waiting = namesOf(tasks['waiting']);
  const variables = variablesOf(section(value, 'configuration'), countTokens, warnings);
  const open = [...pending, ...waiting];
  const count = Object.keys(state).length + Object.keys(variables).length;
  return {
    version,
    from: scalar(value['session_id']),
    commit: scalar(value['git_checkpoint']),
    state,
    variables,
    completed,
    active,
    pending: open,
    orders: ordersOf(section(value, 'orders')),
    titles: textsOf(section(value, 'titles'), TITLE_CHARS),
    summaries: textsOf(section(value, 'summaries'), SUMMARY_CHARS),
    items: count + completed.length + active.length + open.length,
    warnings,
  };
}

function ordersOf(value: Fields): ReadonlyMap<string, CapsuleOrder> {
  const orders = Object.entries(value).flatMap(([name, held]) =>
    isFields(held) ? [[name, orderOf(held)] as const] : [],
  );
  return new Map(orders.slice(0, MOST_TASKS));
}

function orderOf(held: Fields): CapsuleOrder {
  const body = held['body'];
  return {
    status: scalar(held['status']),
    priority: TASK_PRIORITIES.find((known) => known === held['priority']) ?? null,
    name: scalar(held['name']),
    agent: scalar(held['agent']),
    model: scalar(held['model']),
    dependsOn: namesOf(held['depends_on']),
    review: held['review'] === true,
    body: typeof body === 'string' ? body : null,
    task: isFields(held['task']) ? held['task'] : null,
  };
}

/** Of a later version there may be more in it than is understood here. */
function versionOf(value: unknown): string {
  const version = scalar(value) ?? '';
  const said = checkVersion(version);
  if (said === null) throw wrong(`not_a_context_file: expected a version, got ${quote(version)}`);
  if (said === 'incompatible') throw wrong(`incompatible_version ${version}`);
  return version;
}

const scalar = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
    ? stripControls(String(value)).trim()
    : null;

function section(of: Fields, name: string): Fields {
  const value = of[name];
  if (value === undefined || value === null) return {};
  if (!isFields(value)) throw wrong(`expected a mapping as ${name}`);
  return value;
}

function keysOf(
  value: unknown,
  persistent: boolean,
  countTokens: (text: string) => number,
): Record<string, { value: string; persistent: boolean }> {
  if (value === undefined || value === null) return {};
  if (!isFields(value)) throw wrong('expected a mapping of keys as state');
  const entries = Object.entries(value).map(([key, held]) => {
    const words = held === null ? '' : scalar(held);
    if (!/^[A-Za-z0-9_]+$/.test(key)) throw wrong(`expected letters, digits and _ as key, got ${quote(key)}`);
    if (words === null) throw wrong(`expected a text as ${key}, got a structure`);
    if (exceedsTokens(words, STATE_VALUE_TOKENS, countTokens)) {
      throw wrong(`expected at most ${STATE_VALUE_TOKENS} tokens as ${key}`, 'E004');
    }
    return [key, { value: words, persistent }] as const;
  });
  return Object.fromEntries(entries);
}

function variablesOf(value: Fields, countTokens: (text: string) => number, warnings: string[]): Record<string, string> {
  const entries = Object.entries(value).flatMap(([name, held]) => {
    const words = scalar(held);
    const isRight = /^[A-Z][A-Z0-9_]*$/.test(name) && words !== null;
    if (isRight && !exceedsTokens(words, VARIABLE_TOKENS, countTokens)) return [[name, words] as const];
    warnings.push(`${quote(`configuration.${name}`)} is no variable and left out`);
    return [];
  });
  return Object.fromEntries(entries);
}

/** A list of names, or a mapping from names to how far they are. */
function namesOf(value: unknown): string[] {
  if (value === undefined || value === null) return [];
  const names = Array.isArray(value) ? value.map(scalar) : isFields(value) ? Object.keys(value) : null;
  if (names === null) throw wrong('expected lists of names as tasks');
  const whole = names.filter((name): name is string => name !== null && name !== '' && name.length <= 200);
  return [...new Set(whole)].slice(0, MOST_TASKS);
}

/** A task may have any name: only what the file itself says of it is found. */
const textsOf = (value: Fields, most: number): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(value).flatMap(([key, held]) => {
      const words = scalar(held);
      return words === null || words === '' ? [] : [[key, shorten(words, most)] as const];
    }),
  );
