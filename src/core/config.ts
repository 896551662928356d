/** `config.yaml`: what may stand in it, what holds where nothing does, and what is wrong with it. From a parsed object; reading the file is the edge's. */
import * as z from 'zod';
import { AGENT_KINDS, neededBy } from './agent-kinds.ts';
import { BatonError } from './errors.ts';
import { MAX_DEPTH } from './laws/add.ts';
import { MERGE_POLICIES } from './task.ts';
import { shown } from './words.ts';

export const CONFIG_FILE = 'config.yaml';

const name = z.string().min(1);
const names = z.array(name);
const amount = z.number().min(0);
const share = z.number().min(0).max(1);

const Agent = z.strictObject({
  kind: z.enum(AGENT_KINDS),
  command: names.min(1).optional(),
  args: z.array(z.string()).default([]),
  /** Names to pass through, or values to set. */
  env: z.union([names, z.record(name, z.string())]).default([]),
  model: name.optional(),
  roles: names.default([]),
  tags: names.default([]),
  max_parallel: z.int().min(1).optional(),
  url: z.url().optional(),
  token_env: name.optional(),
});

/** Where a notification goes: exactly one of webhook, command and file. */
const Channel = z.strictObject({
  webhook: z.url({ protocol: /^https?$/ }).optional(),
  /** The variable that holds what webhooks are signed with. */
  secret_env: name.optional(),
  command: names.min(1).optional(),
  file: name.optional(),
});

const NotifyRule = z.strictObject({
  /** Names of events, `task.<status>`, or either with `*`. */
  on: z.array(z.string().regex(/^[\w.*-]+$/)).min(1),
  to: Channel,
  /** The same of the same task is told once within so many seconds. */
  window_seconds: amount.default(300),
});

const Confidence = { escalate_below: share, refuse_below: share };

/** What a stage does in turn; Baton runs the check itself, and the next begins when it has exited with 0. */
const StagePhase = z.strictObject({
  name,
  do: name,
  check: name.optional(),
  on_failure: z.enum(['RETRY', 'CONTINUE', 'SKIP', 'ABORT']).default('RETRY'),
});

/** Who a stage is, and what its tasks may cost, take and write: the words of `baton run`. */
const Stage = z.strictObject({
  agent: name.optional(),
  role: name.optional(),
  team: name.optional(),
  budget: z.number().positive().optional(),
  timeout: z.number().positive().optional(),
  /** Paths of the workspace; nothing else of it may be written then. */
  write: names.optional(),
  retries: z.int().min(0).optional(),
  phases: z.array(StagePhase).max(10).optional(),
});
export type StageConfig = z.output<typeof Stage>;

/** Each section has its default, so that no file and an empty file mean the same. */
export const ConfigSchema = z.strictObject({
  agents: z.record(name, Agent).default({}),
  defaults: z
    .strictObject({
      agent: name.nullable().default(null),
      parallel: z.int().min(1).default(4),
      sandbox: z.enum(['auto', 'require', 'off']).default('auto'),
      /** `auto`: what a person gives to `baton run` works in their checkout, all else in a worktree of its own. */
      isolation: z.enum(['auto', 'worktree', 'shared']).default('auto'),
      /** What of the work in a worktree is merged by itself. */
      merge: z.enum(MERGE_POLICIES).default('proven'),
      /** What becomes of a task that its agent calls done and that none of Baton's checks has proven. */
      unverified: z.enum(['done', 'review']).default('done'),
    })
    .prefault({}),
  /** Commands that have to exit with 0 for every task that may write: `CMD` or `NAME=CMD`. */
  checks: z.array(z.string().regex(/\S/)).default([]),
  limits: z
    .strictObject({
      max_cost_usd: amount.nullable().default(null),
      session_tokens: z.int().min(1).default(100_000),
    })
    .prefault({}),
  reports: z.strictObject({ repair: z.boolean().default(true) }).prefault({}),
  store: z.enum(['fs']).default('fs'),
  network: z.strictObject({ allow: names.default([]) }).prefault({}),
  teams: z.record(name, names).default({}),
  models: z.record(name, z.record(name, name)).default({}),
  delegation: z
    .strictObject({
      max_depth: z.int().min(0).default(MAX_DEPTH),
      /** So many stages may hand on to each other in a row. */
      max_stages: z.int().min(1).default(20),
    })
    .prefault({}),
  confidence: z
    .strictObject({
      escalate_below: share.default(0.9),
      refuse_below: share.default(0.85),
      domains: z.record(name, z.strictObject(Confidence).partial()).default({}),
    })
    .prefault({}),
  /** Who a stage of the output protocol is: an agent, a role or a team, with its limits; a name alone stands for another stage, agent, team or role. */
  stages: z.record(name, z.union([name, Stage])).default({}),
  /** Node types of the project beside the registry's, with the fields that they should have. */
  node_types: z.record(z.string().regex(/^[A-Z][A-Za-z0-9]*$/), names).default({}),
  /** Commands of the session language that the project adds: a program or an agent answers. */
  commands: z
    .record(
      z.string().regex(/^[A-Z][A-Z0-9_]*$/),
      z.strictObject({
        usage: name.optional(),
        does: name,
        run: names.min(1).optional(),
        agent: name.optional(),
        tokens: z.int().min(1).max(100).default(15),
        timeout: z.int().min(1).default(60),
        deprecated: name.optional(),
        /** Whether a run may give it too; a program of the project is not in the run's sandbox. */
        agents: z.boolean().default(false),
      }),
    )
    .default({}),
  /** Who turns what the rules do not reach into commands of the session language. */
  language: z.strictObject({ agent: name.nullable().default(null) }).prefault({}),
  /** Where checkpoints of a session are kept: under refs/baton, or as commits on the branch. */
  git: z.enum(['refs', 'branch']).default('refs'),
  /** Who writes the prose of a bridge's summary; without one it is put together from the nodes. */
  bridge: z.strictObject({ agent: name.nullable().default(null), tokens: z.int().min(50).default(2_000) }).prefault({}),
  prices: z.record(name, z.strictObject({ input: amount, output: amount })).default({}),
  notify: z.array(NotifyRule).default([]),
  audit: z.strictObject({ storage_path: name.default('audit') }).prefault({}),
});

/** `handoff_depth` is `max_depth` where the file says one: that setting raises and lowers both limits. */
export type Config = z.output<typeof ConfigSchema> & { readonly delegation: { readonly handoff_depth?: number } };

const TABLES = ['agents', 'teams', 'models', 'stages', 'node_types', 'commands', 'prices'] as const;

const ownOnly = <T extends object>(table: T): T => Object.assign(Object.create(null), table);

/** What is looked up in a table is said by anybody: a name that every object has (`constructor`) is none of ours. */
function withOwnTables<T extends z.output<typeof ConfigSchema>>(config: T): T {
  const tables = Object.fromEntries(TABLES.map((name) => [name, ownOnly(config[name])]));
  return { ...config, ...tables, confidence: { ...config.confidence, domains: ownOnly(config.confidence.domains) } };
}

export const DEFAULT_CONFIG: Config = withOwnTables(ConfigSchema.parse({}));

/** The ways in which somebody can be told. */
const CHANNELS = ['webhook', 'command', 'file'] as const;

/** The settings in force; throws on the first thing that is wrong. `value` is the parsed file, null where it is empty. */
export function configOf(value: unknown): Config {
  const parsed = ConfigSchema.safeParse(value ?? {});
  if (!parsed.success) throw problem(worst(parsed.error.issues), value);
  for (const [agent, { kind, ...fields }] of Object.entries(parsed.data.agents)) {
    const needed = neededBy(kind);
    if (needed !== null && fields[needed] === undefined) {
      throw invalid(`agents.${agent}`, `expected a ${needed}, which the kind ${kind} needs, got none`);
    }
  }
  for (const [i, { to }] of parsed.data.notify.entries()) {
    const given = CHANNELS.filter((channel) => to[channel] !== undefined);
    if (given.length !== 1) {
      throw invalid(`notify.${i}.to`, `expected one of ${CHANNELS.join(', ')}, got ${given.join(' and ') || 'none'}`);
    }
    if (to.secret_env !== undefined && to.webhook === undefined) {
      throw invalid(`notify.${i}.to`, `expected secret_env with a webhook only, got it with a ${given[0]}`);
    }
  }
  for (const [command, { run, agent }] of Object.entries(parsed.data.commands)) {
    if ((run === undefined) === (agent === undefined)) {
      const got = run === undefined ? 'neither' : 'both';
      throw invalid(`commands.${command}`, `expected a program (run) or an agent that answers, got ${got}`);
    }
  }
  const checks = parsed.data.checks.map((check) => /^([A-Za-z][\w.-]*)=/.exec(check.trim())?.[1]);
  const double = checks.find((check, i) => check !== undefined && checks.indexOf(check) !== i);
  if (double !== undefined)
    throw invalid('checks', `expected each check to have a name of its own, got ${double} twice`);
  const { delegation } = parsed.data;
  // The limit of a handoff is another one than the default of max_depth, until somebody says which holds.
  const isSaid = (value as { delegation?: { max_depth?: unknown } } | null)?.delegation?.max_depth !== undefined;
  return withOwnTables({
    ...parsed.data,
    delegation: isSaid ? { ...delegation, handoff_depth: delegation.max_depth } : delegation,
  });
}

/** A key that is misspelt is also one that is missing; the misspelling is what helps. */
const worst = (issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue =>
  issues.find(({ code }) => code === 'unrecognized_keys') ?? (issues[0] as z.core.$ZodIssue);

const invalid = (where: string, what: string, hint: string | null = null): BatonError =>
  new BatonError('E_CONFIG', `${CONFIG_FILE}${where === '' ? '' : `, ${where}`}: ${what}`, hint);

function problem(issue: z.core.$ZodIssue, root: unknown): BatonError {
  const meant = issue.code === 'invalid_union' ? meantBy(issue.errors) : undefined;
  if (meant !== undefined) return problem({ ...meant, path: [...issue.path, ...meant.path] }, root);
  if (issue.code === 'invalid_key') {
    const [wrong] = issue.issues;
    const what = wrong === undefined ? issue.message : expectation(wrong);
    return invalid(issue.path.slice(0, -1).join('.'), `expected as a key ${what}, got ${shown(issue.path.at(-1))}`);
  }
  const where = issue.path.join('.');
  if (issue.code === 'unrecognized_keys') {
    const key = issue.keys[0] as string;
    const known = keysAt(ConfigSchema, issue.path);
    const what = `unknown key ${shown(key)}; the nearest known one is ${nearest(key, known)}`;
    return invalid(where, what, `known here: ${known.join(', ')}`);
  }
  const came = issue.path.reduce<unknown>((at, part) => (at as Record<PropertyKey, unknown> | undefined)?.[part], root);
  return invalid(where, `expected ${expectation(issue)}, got ${shown(came)}`);
}

/** Of several forms the one that the value has, where something inside of it is wrong. */
const meantBy = (forms: readonly (readonly z.core.$ZodIssue[])[]): z.core.$ZodIssue | undefined =>
  forms
    .map((issues) => worst(issues))
    .find((first) => first !== undefined && (first.path.length > 0 || first.code === 'unrecognized_keys'));

const WORDS: Readonly<Record<string, string>> = {
  int: 'a whole number',
  number: 'a number',
  string: 'a text',
  array: 'a list',
  object: 'keys and values',
  record: 'keys and values',
};

function expectation(issue: z.core.$ZodIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      return WORDS[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return `one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      return issue.origin === 'string'
        ? 'a text that is not empty'
        : `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${things(issue.origin, issue.minimum)}`;
    case 'too_big':
      return `at most ${issue.maximum}${things(issue.origin, issue.maximum)}`;
    case 'invalid_format':
      return issue.format === 'url' ? 'a URL' : `a text of the form ${issue.pattern ?? issue.format}`;
    case 'invalid_union':
      return issue.errors.flatMap(([first]) => (first === undefined ? [] : [expectation(first)])).join(', or ');
    default:
      return issue.message;
  }
}

const things = (origin: string, count: number | bigint): string =>
  origin !== 'array' ? '' : Number(count) === 1 ? ' item' : ' items';

/** The keys that the schema knows at a place. */
function keysAt(schema: z.ZodType, path: readonly PropertyKey[]): string[] {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodUnion) return inner.options.flatMap((form) => keysAt(form as z.ZodType, path));
  const [first, ...rest] = path;
  if (first === undefined) return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
  if (inner instanceof z.ZodObject) return keysAt(inner.shape[String(first)] as z.ZodType, rest);
  if (inner instanceof z.ZodRecord) return keysAt(inner.valueType as z.ZodType, rest);
  if (inner instanceof z.ZodArray) return keysAt(inner.element as z.ZodType, rest);
  return [];
}

function unwrapped(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional) {
    return unwrapped(schema.unwrap() as z.ZodType);
  }
  return schema;
}

/** The word of a list that another one is closest to; the first of several. */
export function nearest(word: string, known: readonly string[]): string {
  const edits = known.map((candidate) => editsBetween(word, candidate));
  return known[edits.indexOf(Math.min(...edits))] as string;
}

/** How many characters have to be put in, taken out or changed to make one word of the other. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] as number) + 1, (next[j - 1] as number) + 1, change));
    }
    row = next;
  }
  return row[b.length] as number;
}
