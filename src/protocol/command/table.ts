/**
 * Every command of the session language, as data: what it takes, how long its answer may be, how it is explained.
 * Decoding, encoding, defaults and help all read this one table, so they cannot disagree. Longer than other files for that reason.
 *
 * Sources: §3, §10 to §16 of the document; the arities that it leaves open are ours.
 */
import type { CommandForm, CommandSpec, Effect, Param, Reply } from './form.ts';

/** §6: a value that is kept in the session. */
export const STATE_VALUE_TOKENS = 30;
/** §6. */
export const STATE_KEYS = 20;
/** §12: seconds, for locks and waits. */
const DEFAULT_TIMEOUT = '300';
const DEFAULT_PRIORITY = 'P2';
/** §3: bullets of `#HELP` and of `#HELP:<category>`. */
export const HELP_ITEMS = 10;
export const HELP_CATEGORY_ITEMS = 6;

export const CHECKPOINT_TYPES = ['manual', 'auto', 'milestone'] as const;
export const EXPORT_FILTERS = ['all', 'critical', 'tasks', 'state', 'incremental'] as const;
/** The document names only `merge`; what it is told apart from has to have a name too. */
export const IMPORT_MODES = ['merge', 'replace'] as const;

// §5, the defaults of each kind of answer.
const QUOTED: Reply = { kind: 'form' };
const ACKNOWLEDGEMENT: Reply = { kind: 'acknowledgement', tokens: 5 };
export const STATUS_REPLY: Reply = { kind: 'status', tokens: 10 };
const SUMMARY: Reply = { kind: 'summary', tokens: 15 };
export const ERROR_TOKENS = 10;
const ERROR: Reply = { kind: 'error', tokens: ERROR_TOKENS };
const list = (items = 4): Reply => ({ kind: 'list', items, tokensPerItem: 8 });
/** §3 gives a checkpoint's diff more than other summaries. */
const DIFF: Reply = { kind: 'summary', tokens: 20 };

const REQUIRED: Omit<Param, 'name'> = {
  form: 'text',
  words: [],
  required: true,
  fallback: null,
  absorbs: false,
  maxTokens: null,
};
const param = (name: string, more: Partial<Param> = {}): Param => ({ ...REQUIRED, name, ...more });
const word = (name: string, words: readonly string[]): Param => param(name, { form: 'word', words });
const optional = (of: Param, fallback: string | null = null): Param => ({ ...of, required: false, fallback });
/** A text that takes the rest of the line, its colons among it. */
const rest = (name: string, more: Partial<Param> = {}): Param => param(name, { absorbs: true, ...more });

const form = (
  sub: string | null,
  params: readonly Param[],
  reply: Reply,
  does: string,
  example: string,
  more: Partial<CommandForm> = {},
): CommandForm => ({ sub, params, open: false, persistable: false, effect: 'acts', reply, does, example, ...more });

/** Any number of parameters. */
const open = (reply: Reply, does: string, example: string, more: Partial<CommandForm> = {}): CommandForm =>
  form(null, [], reply, does, example, { open: 'tasks', ...more });

const LOOKS = { effect: 'looks' } as const;

/** What a project's own command takes, and how a line is taken apart whose command is not known. */
export const OPEN_FORM: CommandForm = open(SUMMARY, "a project's own command", '');

const spec = (
  category: CommandSpec['category'],
  since: CommandSpec['since'],
  ...forms: CommandForm[]
): CommandSpec => ({
  category,
  since,
  deprecated: null,
  forms,
});

const KEY = param('key', { form: 'key' });
const VALUE = rest('value', { maxTokens: STATE_VALUE_TOKENS });
const ID = param('id');
const CHANNEL = param('channel');
const AGENT = param('agent');
const FILE = param('filepath', { form: 'path' });
const RESOURCE = param('resource', { form: 'path' });

export const COMMANDS = {
  // `#HELP:#STATE:save` names a command and its form, each a parameter of its own.
  HELP: spec(
    'core',
    '1.0',
    form(
      null,
      [optional(param('category|command|all')), optional(param('form'))],
      list(HELP_ITEMS),
      'list commands',
      '#HELP:state',
      LOOKS,
    ),
  ),
  ASK: spec('core', '1.0', form(null, [rest('topic')], list(), 'load context', '#ASK:auth_service', LOOKS)),
  DEFINE: spec('core', '1.0', open(SUMMARY, 'explain a term', '#DEFINE:lease', { open: 'keys', ...LOOKS })),
  SUMMARY: spec('core', '1.0', open(SUMMARY, 'sum up', '#SUMMARY:auth_service', { open: 'keys', ...LOOKS })),
  HEALTH: spec(
    'core',
    '1.1',
    form('session', [], QUOTED, "show the session's health", '#HEALTH:session', LOOKS),
    form('context', [], QUOTED, 'show context use', '#HEALTH:context', LOOKS),
  ),

  STATE: spec(
    'state',
    '1.0',
    form('save', [KEY, VALUE], QUOTED, 'save value (≤30 tokens) to session', '#STATE:save:user:alice', {
      persistable: true,
    }),
    form('load', [KEY], QUOTED, 'retrieve value', '#STATE:load:user', LOOKS),
    form('list', [], list(5), 'show all keys', '#STATE:list', LOOKS),
    form('clear', [], QUOTED, 'reset state', '#STATE:clear', { effect: 'loses' }),
  ),

  ERROR: spec(
    'error',
    '1.0',
    form(null, [param('code'), rest('desc')], ERROR, 'report error', '#ERROR:E004:max_limit_100'),
  ),

  DELEGATE: spec(
    'tasks',
    '1.0',
    form(
      null,
      [AGENT, rest('task'), optional(param('P0..P3', { form: 'priority' }), DEFAULT_PRIORITY)],
      QUOTED,
      'give a task to an agent',
      '#DELEGATE:DevAgent:implement_auth:P1',
    ),
  ),
  REPORT: spec(
    'tasks',
    '1.0',
    form(
      null,
      [param('agent|all'), param('topic')],
      list(),
      'report from the store',
      '#REPORT:DevAgent:progress',
      LOOKS,
    ),
  ),
  NEXT: spec('tasks', '1.1', open(list(), 'show what comes next', '#NEXT', LOOKS)),
  EVALUATE: spec('tasks', '1.1', open(SUMMARY, 'judge a result', '#EVALUATE:TASK-2026-02-26-001', LOOKS)),
  RETRY: spec('tasks', '1.1', open(ACKNOWLEDGEMENT, 'try a task again', '#RETRY:TASK-2026-02-26-001')),
  ESCALATE: spec(
    'tasks',
    '1.1',
    form(
      null,
      [optional(param('task|text')), optional(rest('text'))],
      ACKNOWLEDGEMENT,
      'put it in the inbox of people',
      '#ESCALATE:TASK-2026-02-26-001',
    ),
  ),

  LOCK: spec(
    'coordination',
    '1.1',
    form(
      null,
      [RESOURCE, optional(param('timeout', { form: 'lease' }), DEFAULT_TIMEOUT)],
      QUOTED,
      'acquire exclusive lock (advisory)',
      '#LOCK:src/auth.js:600',
    ),
  ),
  UNLOCK: spec('coordination', '1.1', form(null, [RESOURCE], QUOTED, 'release lock', '#UNLOCK:src/auth.js')),
  WAIT: spec(
    'coordination',
    '1.1',
    form(
      null,
      [param('condition'), optional(param('timeout', { form: 'seconds' }), DEFAULT_TIMEOUT)],
      QUOTED,
      'wait for condition',
      '#WAIT:dev_complete:300',
    ),
  ),
  SIGNAL: spec(
    'coordination',
    '1.1',
    form(null, [param('condition'), rest('value')], QUOTED, 'signal condition', '#SIGNAL:dev_complete:true'),
  ),
  DEPENDS: spec(
    'coordination',
    '1.1',
    form(null, [AGENT, rest('task')], ACKNOWLEDGEMENT, 'wait for a task', '#DEPENDS:DevAgent:auth_impl'),
  ),
  COORDINATE: spec(
    'coordination',
    '1.1',
    open(SUMMARY, 'bring agents together', '#COORDINATE:DevAgent:TestAgent', { open: 'agents' }),
  ),

  BROADCAST: spec(
    'messages',
    '1.1',
    form(null, [CHANNEL, rest('msg')], QUOTED, 'send to everybody', '#BROADCAST:file_changes:auth_complete'),
  ),
  SUBSCRIBE: spec(
    'messages',
    '1.1',
    form(null, [CHANNEL], ACKNOWLEDGEMENT, 'listen to broadcasts', '#SUBSCRIBE:file_changes'),
  ),
  UNSUBSCRIBE: spec(
    'messages',
    '1.1',
    form(null, [CHANNEL], ACKNOWLEDGEMENT, 'stop listening', '#UNSUBSCRIBE:test_results'),
  ),
  DIRECT: spec(
    'messages',
    '1.1',
    form(null, [AGENT, rest('msg')], ACKNOWLEDGEMENT, 'message one agent', '#DIRECT:TestAgent:auth_ready'),
  ),

  CHECKPOINT: spec(
    'checkpoint',
    '1.1',
    form(
      'create',
      [word('type', CHECKPOINT_TYPES), param('name')],
      QUOTED,
      'create checkpoint with git',
      '#CHECKPOINT:create:manual:before_refactor',
    ),
    form('list', [], list(5), 'list checkpoints', '#CHECKPOINT:list', LOOKS),
    form('diff', [ID], DIFF, 'changes since checkpoint', '#CHECKPOINT:diff:cp_001', LOOKS),
  ),
  ROLLBACK: spec(
    'checkpoint',
    '1.1',
    form(null, [ID, optional(word('force', ['force']))], QUOTED, 'go back to checkpoint', '#ROLLBACK:cp_001', {
      effect: 'loses',
    }),
    form('dry-run', [ID], SUMMARY, 'preview a rollback', '#ROLLBACK:dry-run:cp_001', LOOKS),
    form('status', [], STATUS_REPLY, 'current rollback state', '#ROLLBACK:status', LOOKS),
  ),

  CONTEXT: spec(
    'context',
    '1.1',
    form(
      'export',
      [FILE, optional(word('filter', EXPORT_FILTERS))],
      QUOTED,
      'export session to file',
      '#CONTEXT:export:./context/session.ctx:critical',
    ),
    form(
      'import',
      [FILE, optional(word('mode', IMPORT_MODES))],
      QUOTED,
      'import session from file',
      '#CONTEXT:import:./context/session.ctx:merge',
      { effect: 'may-lose' },
    ),
    form(
      'list',
      [param('directory', { form: 'path' })],
      list(10),
      'list context files',
      '#CONTEXT:list:./context/',
      LOOKS,
    ),
    form('validate', [FILE], QUOTED, 'check context file', '#CONTEXT:validate:./context/session.ctx', LOOKS),
  ),

  VERSION: spec(
    'version',
    '1.0',
    form(null, [], QUOTED, 'protocol version', '#VERSION', LOOKS),
    form('check', [param('version', { form: 'version' })], QUOTED, 'ask if compatible', '#VERSION:check:1.0.0', LOOKS),
    form('features', [], list(), 'list features', '#VERSION:features', LOOKS),
  ),
  SUPPORTS: spec(
    'version',
    '1.1',
    form(null, [param('feature')], QUOTED, 'ask for a feature', '#SUPPORTS:coordination', LOOKS),
  ),
} as const satisfies Record<string, CommandSpec>;

export type CommandName = keyof typeof COMMANDS;

export const isBuiltIn = (name: string): name is CommandName => Object.hasOwn(COMMANDS, name);

/** What a command would do to what is there; null where the table does not know it. */
export const effectOf = ({
  name,
  params,
}: {
  readonly name: string;
  readonly params: readonly string[];
}): Effect | null => (isBuiltIn(name) ? (formOf(name, params)?.effect ?? null) : null);

/** The form that a command's first parameter chooses; null where there is none such. */
export function formOf(name: CommandName, params: readonly string[]): CommandForm | null {
  const forms: readonly CommandForm[] = COMMANDS[name].forms;
  return forms.find((f) => f.sub !== null && f.sub === params[0]) ?? forms.find((f) => f.sub === null) ?? null;
}
