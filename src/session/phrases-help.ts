/** Plain words for help, versions, terms and summaries, and for how the session should talk. */

import { CATEGORIES } from '../protocol/command/form.ts';
import { COMMANDS, isBuiltIn } from '../protocol/command/table.ts';
import { whichTopic } from './clarify.ts';
import { topicText, withoutArticle, withoutEnd } from './natural-values.ts';
import {
  act,
  always,
  ask,
  command,
  type Meaning,
  type Mode,
  type Rule,
  rule,
  type Said,
  sizeOf,
} from './phrases-rule.ts';

/** What people call things, where that is neither a command's name nor a category. */
const TOPICS: Readonly<Record<string, string>> = {
  locks: 'LOCK',
  locking: 'LOCK',
  unlocking: 'UNLOCK',
  delegating: 'DELEGATE',
  delegation: 'DELEGATE',
  delegates: 'DELEGATE',
  reports: 'REPORT',
  reporting: 'REPORT',
  rollbacks: 'ROLLBACK',
  'rolling back': 'ROLLBACK',
  'roll back': 'ROLLBACK',
  'going back': 'ROLLBACK',
  checkpoints: 'checkpoint',
  checkpointing: 'checkpoint',
  'saved values': 'state',
  saving: 'state',
  memory: 'state',
  errors: 'error',
  waiting: 'WAIT',
  signals: 'SIGNAL',
  signalling: 'SIGNAL',
  signaling: 'SIGNAL',
  broadcasts: 'BROADCAST',
  broadcasting: 'BROADCAST',
  channels: 'messages',
  messaging: 'messages',
  message: 'messages',
  task: 'tasks',
  versions: 'version',
  exporting: 'context',
  importing: 'context',
  export: 'context',
  import: 'context',
  retrying: 'RETRY',
  escalating: 'ESCALATE',
  escalation: 'ESCALATE',
  summaries: 'SUMMARY',
  subscribing: 'SUBSCRIBE',
  subscriptions: 'SUBSCRIBE',
  everything: 'all',
  all: 'all',
};

/** What `#HELP` has on these words; null where it has nothing. Lower case is a category, upper case a command. */
function topicOf(words: string): string | null {
  const said = withoutArticle(withoutEnd(words))
    .toLowerCase()
    .replace(/^#/, '')
    .replace(/ commands?$/, '');
  if (Object.hasOwn(TOPICS, said)) return TOPICS[said] ?? null;
  if (CATEGORIES.some((category) => category === said)) return said;
  const name = said.toUpperCase();
  return isBuiltIn(name) && Object.hasOwn(COMMANDS, name) ? name : null;
}

/** A command rather than its category, where one has that name: `what does checkpoint do`. */
function commandOf(words: string): string | null {
  const said = withoutArticle(withoutEnd(words))
    .toLowerCase()
    .replace(/^#/, '')
    .replace(
      / (?:commands?|(?:a |an |the )?(?:file|files|task|tasks|something|things|value|values|message|agent))$/,
      '',
    );
  const name = said.toUpperCase();
  if (isBuiltIn(name)) return name;
  const topic = topicOf(said);
  return topic !== null && isBuiltIn(topic.toUpperCase()) ? topic.toUpperCase() : topic;
}

const help = (said: Said): Meaning => {
  const topic = topicOf(said.text('topicwords'));
  return topic === null ? ask(whichTopic(said.text('topicwords'))) : act(command('HELP', [topic]));
};

/** `how do I clear the state`: by what the words begin with. */
const DEEDS: readonly (readonly [RegExp, string])[] = [
  [/^(?:roll|go|get) ?back\b|^undo\b|^revert\b/i, 'ROLLBACK'],
  [/^(?:clear|reset) the state\b|^(?:save|remember|store|recall|load) /i, 'STATE'],
  [/^(?:make|create|take|save) a checkpoint\b|^checkpoint\b/i, 'CHECKPOINT'],
  [/^(?:export|import) /i, 'CONTEXT'],
  [/^lock /i, 'LOCK'],
  [/^unlock /i, 'UNLOCK'],
  [/^(?:delegate|assign|give) /i, 'DELEGATE'],
  [/^wait /i, 'WAIT'],
  [/^signal /i, 'SIGNAL'],
  [/^(?:broadcast|announce|tell everyone) /i, 'BROADCAST'],
  [/^(?:retry|escalate|subscribe|unsubscribe) ?/i, ''],
];

function deedOf(words: string): string | null {
  const found = DEEDS.find(([pattern]) => pattern.test(words));
  return found === undefined ? null : found[1] || (words.split(' ')[0] ?? '').toUpperCase();
}

const helpOn = (said: Said): Meaning | null => {
  const name = commandOf(said.text('what')) ?? deedOf(said.text('what'));
  return name === null ? null : act(command('HELP', [name]));
};

const MOST_TERM = 3;

function define(said: Said): Meaning | null {
  const name = commandOf(said.text('what'));
  if (name !== null) return act(command('HELP', [name]));
  const term = topicText(withoutArticle(withoutEnd(said.text('what'))));
  const isTerm =
    term !== '' &&
    term.split(' ').length <= MOST_TERM &&
    !/^(?:it|that|this|why|how|what|who|when|where|you|me)\b/i.test(term);
  return isTerm ? act(command('DEFINE', [term])) : null;
}

function sumUp(said: Said): Meaning | null {
  const words = withoutArticle(withoutEnd(said.text('what')));
  const size = sizeOf(said.part('size'));
  if (/^(?:it|that|task|last task)$/i.test(words)) {
    return said.context.lastTask === null ? null : act(command('SUMMARY', [said.context.lastTask], size));
  }
  const topic = topicText(words);
  if (
    topic === '' ||
    /^(?:everything|all|session|so far|what happened|what has happened|what happened so far|whole thing|lot|things|things so far)$/i.test(
      topic,
    )
  ) {
    return act(command('SUMMARY', size === null ? [] : ['session'], size));
  }
  return act(command('SUMMARY', [topic], size));
}

const inMode = (mode: Mode) => (): Meaning => ({ kind: 'mode', mode });

const PROTOCOL =
  '(the |your |me the |me |us the )?(protocol|protocol commands|internal commands|commands you use|commands inline|commands behind it|internals)';

export const HELP: readonly Rule[] = [
  rule(
    'protocol command internal',
    [
      `(don't|do not|stop|no longer|never|quit) (show|showing|display|displaying|explain|explaining|print|printing)( me)? ${PROTOCOL}( anymore| any more)?`,
      `(hide|turn off|switch off|disable) ${PROTOCOL}( display| view| explanations?)?`,
      'no (more )?protocol',
    ],
    inMode('hide'),
  ),
  rule(
    'protocol command internal',
    [
      `(show|display|reveal|print) ${PROTOCOL}( inline| too| as well| from now on)?`,
      `(turn on|enable|switch on) (the )?protocol (display|view|transparency)`,
      '(the )?commands you use',
      "(i want|i would like|i'd like) to see the (protocol|commands)( you use)?",
    ],
    inMode('show'),
  ),
  rule(
    'explain mode teach',
    [
      `explain ${PROTOCOL}( to me| as you go| from now on)?`,
      `(use |switch to |turn on |enable )?(the )?(educational|explain|explaining|teaching|learning) mode`,
      'explain (what you (do|are doing)|each command|every command|the commands)( as you go)?',
      'teach me the protocol',
    ],
    inMode('explain'),
  ),
  rule(
    'protocol',
    [
      '(use|switch to|go to|enter|change to|go into|turn on|enable|activate) (the )?(direct )?protocol( mode)?( now| directly)?',
      '(direct )?protocol mode( on)?',
      '(speak|talk|answer|reply)( to me)?( only)? (in )?protocol',
    ],
    inMode('protocol'),
  ),
  rule(
    'natural plain normal language conversation english protocol',
    [
      '(use|switch to|go to|go back to|back to|switch back to|change to|return to|enter|turn on|enable) (the )?(natural language|natural|plain language|plain english|normal language|conversational|conversation)( mode)?( again| now)?',
      '(natural language|natural|conversational)( mode)?( on)?',
      '(talk|speak|answer|reply)( to me)? (normally|naturally|plainly|in plain english|in plain language|in natural language|in english|in plain words)( again)?',
      '(leave|exit|quit|stop|end|turn off|switch off|disable|no more) (the )?protocol mode',
      "(stop using|don't use|do not use) (the )?protocol( mode)?",
    ],
    inMode('natural'),
  ),

  rule(
    'help what command options how',
    [
      'help( me)?( please| out)?',
      '(i |we )?(need|want)( some)? help',
      'what (can|could|do|should) (you|i|we) (do|say|ask|ask you|tell you|type|ask for)( here| for me| now)?',
      '(what|which) commands (are there|do you (know|have|understand)|can i use|exist|do i have|are available)( here)?',
      '(list|show|show me|give me|what are) (the |all |all the |available |your |possible )*(commands|options)( you know| there are)?',
      'how (does this|do you|does it|does baton) work',
      'how do i use (this|you|it)',
    ],
    always('HELP'),
  ),
  rule(
    'help',
    [
      '(show|show me|give me)? ?(all (of )?the help|help on everything|help for everything|the full help|the whole help|all help)',
    ],
    always('HELP', 'all'),
  ),
  rule(
    'help',
    [
      '((i |we )?(need|want)( some)? |give me |show me |show |get )?help( me)? (with|on|about|for|regarding) (the )?(?<topicwords>.+)',
    ],
    help,
  ),
  rule('help', ['(?<what>\\S+) help', 'help {what}'], helpOn),
  rule(
    'what how explain command',
    [
      'what does (the )?(command )?{what} do',
      'how (does|do) (the )?(command |commands )?{what} work',
      'how (do|can|would|should) (i|we|you|one) (use )?(the )?{what}',
      "what('s| is| are) (the )?(command )?{what} (for|good for|used for)",
      'explain (to me )?(how )?(the )?(command )?{what}( works?| to me)?',
      '(what|which) (is the )?command (for|to|lets me|do i use to|do i use for) {what}',
    ],
    helpOn,
  ),
  rule(
    'version support compatible speak understand',
    [
      '(is this|are you|is it|are we) compatible with (protocol )?(version )?v?(?<version>\\d+\\.\\d+(?:\\.\\d+)?)',
      'check (compatibility with )?(protocol )?version v?(?<version>\\d+\\.\\d+(?:\\.\\d+)?)',
      '(do you|can you) (speak|understand|support) (protocol )?(version )?v?(?<version>\\d+\\.\\d+(?:\\.\\d+)?)',
    ],
    (said) => act(command('VERSION', ['check', said.part('version')])),
  ),
  rule(
    'feature',
    [
      '(list|show|show me|what are) (the |all |your |all the |supported )*features',
      '(what|which) features (do you (have|support|offer)|are there|are supported|does (this|the protocol) (have|support))',
    ],
    always('VERSION', 'features'),
  ),
  rule(
    'version',
    [
      "(what|which)('s| is)?( the| your)?( protocol)? version( of the protocol)?( (is|are) (this|it|you|that|running|we on|we using|in use)| do you (have|run|speak|use))?( now)?",
      '(show|show me|give me|print|tell me) (the |your )?(protocol )?version',
      '(the )?(protocol )?version',
    ],
    always('VERSION'),
  ),
  rule(
    'support',
    [
      '(do you|does this|does baton|does it|does the protocol) support (the )?{what}',
      '(is|are) (the )?{what} supported',
    ],
    (said) => {
      const feature = withoutEnd(said.text('what'))
        .toLowerCase()
        .replace(/[^a-z0-9_]+/g, '_')
        .replace(/^_+|_+$/g, '');
      return feature === '' || feature.length > 40 ? null : act(command('SUPPORTS', [feature]));
    },
  ),
  rule(
    'define mean definition term what explain',
    [
      '(define|give me a definition of|give me the definition of|explain the term|explain the word) (the term |the word )?{what}',
      'what does (the (term|word) )?{what} mean( here)?',
      "what('s| is| are) (a|an) {what}",
      "what('s| is) (the definition|the meaning|meant by|the meaning of|the definition of)( of| by)? {what}",
    ],
    define,
  ),
  rule(
    'know context background',
    [
      'what do (you|we) know (about|of) {what}',
      'what you know about {what}',
      '(load|get|fetch|bring up|pull up) (the |some |all )?(context|background) (for|on|about|of) {what}',
    ],
    (said) => {
      const topic = withoutArticle(withoutEnd(said.text('what')));
      return topic === '' || /^(?:it|that|this)$/i.test(topic) ? null : act(command('ASK', [topic]));
    },
  ),
  rule(
    'sum recap happened tl done achieved',
    [
      '(summari[sz]e|sum up|recap)( for me)?( {what})?',
      '((give me|show me|write|make|i need|i want|get me|can i have|let me have) )?(a |an |the )?({size} )?(summary|recap)( (of|on|about) {what})?',
      'what (has )?happened( so far| until now| up to now| in this session| today| since i left)?',
      'what have (we|you|they) (done|achieved)( so far| until now| today)?',
      'tl;?dr',
    ],
    sumUp,
  ),
];
