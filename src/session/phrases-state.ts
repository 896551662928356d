/** Plain words for what a session keeps: saved values, context files, its health. */
import { sureToClear, valueTooLong, whatKey, whatValue, whichFile, wholeOnly } from './clarify.ts';
import { keyOf, withoutEnd } from './natural-values.ts';
import { act, always, ask, command, type Meaning, type Rule, rule, type Said } from './phrases-rule.ts';

/** Said of a value that is to outlive the session. */
const LASTING =
  /,? (?:permanently|persistently|for good|forever|for later sessions|for the next session|across sessions|for next time|beyond this session)$/i;

const IS_KEY = /^[A-Za-z]\w*$/;

/** `save eu-west-1 as region` and `save region as eu-west-1` mean the same: only one of the two can be a key. */
function saveAs(said: Said): Meaning {
  const [value, key] = [withoutEnd(said.part('what')), withoutEnd(said.part('key')).replace(LASTING, '')];
  const isTurned = IS_KEY.test(value) && !/^[\w ]+$/.test(key) && !/[\uE000-\uE3FF]/.test(value);
  const isKnown = (said.context.keys ?? []).includes(value) && !(said.context.keys ?? []).includes(key);
  if (!isTurned && !isKnown) return save(said);
  const turned = (name: string): string =>
    name === 'what' ? said.part('key') : name === 'key' ? said.part('what') : said.part(name);
  return save({ ...said, part: turned });
}

function save(said: Said): Meaning {
  const lasting = LASTING.test(said.part('key')) || LASTING.test(said.part('what')) || said.part('lasting') !== '';
  const key = keyOf(said.whole(said.part('key').replace(LASTING, '')));
  const value = withoutEnd(said.whole(said.part('what').replace(LASTING, '')));
  if (value === '' || /^(?:it|this|that|these|everything|all)$/i.test(value)) return ask(whatValue());
  if (key === null || /^(?:it|this|that|there|i|we|you|he|she|they|what|who|which)$/i.test(key))
    return ask(whatKey(value));
  if ((said.context.countTokens?.(value) ?? 0) > 30) return ask(valueTooLong());
  return act(command('STATE', ['save', key, value], null, lasting));
}

const load = (said: Said): Meaning | null => {
  const key = keyOf(said.text('key'));
  return key === null ? null : act(command('STATE', ['load', known(said, key)]));
};

/** As it was saved, where it differs in nothing but large and small letters. */
const known = ({ context: { keys = [] } }: Said, key: string): string =>
  keys.includes(key) ? key : (keys.find((one) => one.toLowerCase() === key.toLowerCase()) ?? key);

/** `what is the db?` is a question about a key only where there is one of that name. */
function loadKnown(said: Said): Meaning | null {
  const key = keyOf(said.text('key'));
  const keys = (said.context.keys ?? []).map((one) => one.toLowerCase());
  return key !== null && keys.includes(key.toLowerCase()) ? load(said) : null;
}

const IS_FILE = /[/\\.]/;
const FILTERS: Readonly<Record<string, string>> = {
  task: 'tasks',
  tasks: 'tasks',
  state: 'state',
  critical: 'critical',
  important: 'critical',
  persistent: 'critical',
  everything: 'all',
  all: 'all',
  changed: 'incremental',
  changes: 'incremental',
};

function exported(said: Said): Meaning | null {
  const file = withoutEnd(said.text('file'));
  if (!IS_FILE.test(file) && !/[\uE000-\uE3FF]/.test(said.part('file'))) return null;
  const filter = FILTERS[said.part('filter').toLowerCase()];
  return act(command('CONTEXT', filter === undefined ? ['export', file] : ['export', file, filter]));
}

const onFile =
  (sub: string, ...more: readonly string[]) =>
  (said: Said): Meaning | null => {
    const file = withoutEnd(said.text('file'));
    return IS_FILE.test(file) ? act(command('CONTEXT', [sub, file, ...more])) : null;
  };

const WHOLE = '(the |this |my |our )?(whole |entire |current )?(session context|session|context)';
const SAVED = '(saved |stored )?(state|keys|values|variables|data|memory|things)';

export const STATE: readonly Rule[] = [
  // Files first: `save the session to a file` saves no value.
  rule(
    'export save write dump back',
    [
      `(export|save|write|dump|back up) ${WHOLE} (to|into|in|as|at) (the )?(file )?{file}`,
      '(export|save|write|dump) (?<filter>everything|all) (to|into) (the )?(file )?{file}',
      `(export|save|write|dump) (only )?(the )?(?<filter>critical|important|persistent|tasks?|state) ?(parts?|state|values|context|data|things|part of the context|context only|only)? (to|into|in) (the )?(file )?{file}`,
      `(export|save|write|dump) (only )?(the |what )?(?<filter>changed|changes)( since the last export)? (to|into|in) (the )?(file )?{file}`,
      '(export) (to|into) (the )?(file )?{file}',
    ],
    exported,
  ),
  rule('export', [`export( (${WHOLE}|everything|all|the tasks|tasks|the state|state))?( to a file)?`], () =>
    ask(whichFile('export to')),
  ),
  rule(
    'import load resume restore read from',
    [
      `(import|load|restore|read) (${WHOLE} )?(from )?(the )?(file )?(?<file>\\S+\\.(?:ctx|ya?ml))`,
      `(import|load|restore|read) ${WHOLE} from (the )?(file )?{file}`,
      '(import) (from )?(the )?(file )?{file}',
      '(resume|continue|go on|carry on|pick up) from (the )?(file )?{file}',
    ],
    onFile('import'),
  ),
  rule(
    'merge',
    [
      `merge (in )?(the )?(context )?(file )?{file}( (into|with) ${WHOLE}| in)?`,
      `(import|load) (the )?(file )?{file} (and|,) merge( it)?`,
      `merge (the )?(context|session) (from|of|in) {file}`,
    ],
    onFile('import', 'merge'),
  ),
  rule(
    'replac',
    [
      `replace ${WHOLE} (with|by) (the )?(one (in|from) )?(file )?{file}`,
      '(import|load) (the )?(file )?{file},? (and )?(replacing|replace) (everything|all|the state|what is here)',
    ],
    onFile('import', 'replace'),
  ),
  rule('import load restore', [`(import|load|restore) (${WHOLE}|a context|a session|a file)`, 'import'], () =>
    ask(whichFile('import')),
  ),
  rule(
    'context',
    [
      '(list|show|show me|what are|which are) (the |all |all the )?(saved |exported )?context files( in (the )?(folder |directory )?{file})?',
      '(which|what) (saved |exported )?context files (are there|exist|do we have)( in (the )?(folder |directory )?{file})?',
    ],
    (said) => act(command('CONTEXT', ['list', withoutEnd(said.text('file')) || './context/'])),
  ),
  rule(
    'valid check verify is',
    [
      '(validate|check|verify) (the )?(context )?(file )?(?<file>\\S+\\.(?:ctx|ya?ml))',
      '(validate) (the )?(context )?(file )?{file}',
      'is (the )?(context )?(file )?(?<file>\\S+\\.(?:ctx|ya?ml)) (valid|ok|okay|good|fine)',
    ],
    onFile('validate'),
  ),

  rule(
    'remind recall save stored store remember kept look value key say decide',
    [
      'what (is|was|did i|did we|have i|have we|do you have) ?(saved|stored|remembered|kept|save|store) (as|under|in|for) {key}',
      "what('s| is| was) (the )?(saved|stored|remembered) (value (of|for|under) )?{key}",
      "what('s| is| was) the value (of|for|under) {key}",
      'remind me (what|of) (the )?{key} (is|was)',
      'remind me (of|about) {key}',
      '(recall|look up) (the )?(value (of|for) |saved )?{key}',
      '(load|get|show|show me|read|fetch) (the )?(saved |stored )(value (of|for) )?{key}',
      '(load|get|show|show me|read|fetch) (the )?(value|key) (of |for )?{key}',
      'what did (i|we) (say|decide) (the )?{key} (is|was)',
      'do you remember (the )?{key}',
    ],
    (said) => (/^(?:everything|all|things|it|that|state|keys|values)$/i.test(said.part('key')) ? null : load(said)),
  ),
  rule('what', ["what('s| is| was) (the |our |my )?{key}( again)?"], loadKnown),
  rule(
    'save store remember note know state key value variable data memory things',
    [
      'what (did|have) (i|we|you) (save|saved|store|stored|remember|remembered|noted)( so far| here| in this session)?',
      `(list|show|show me|what are|give me|print|display|see) (the |all |all the |my |our |everything in the )?${SAVED}`,
      "(list|show|show me) (everything|all|all that is|what is|what's|everything that is) (saved|stored|remembered|in the state|in memory)",
      'what do you (still )?(remember|know by heart)',
      '(list|show|show me|tell me) (everything|all|all that|what) you (remember|saved|have saved|stored)',
      "what('s| is) (in|saved in|stored in) (the |your )?(state|memory|session state)",
      '(what|which) (keys|values) (are there|are saved|do we have|have we saved|exist)',
      "what('s| is) (saved|stored|remembered)( so far| right now)?",
      '(list|show|show me|tell me) (everything|all|all that|what) (that )?(we|i|you|was|is|has been|have been) (have |had |ever )?(saved|save|stored|store|remembered|noted)( so far| here)?',
    ],
    always('STATE', 'list'),
  ),
  rule(
    'state saved stored',
    [
      '(clear|reset|wipe|empty|erase) (out )?(the |all |all the |my |our )?(session )?(state|saved state|state memory)',
      '(clear|delete|wipe|erase|remove|forget) (all |all the |the whole |the entire |every )(saved |stored )(state|keys?|values?|variables|data|things)',
      '(clear|delete|erase|remove) (the whole|the entire|all of the|all) (session )?state',
    ],
    always('STATE', 'clear'),
  ),
  rule(
    'forget clear wipe reset delete erase remove start',
    [
      '(forget|clear|wipe|reset|delete|erase|remove) (everything|it all|all|all of it|all of that|the lot|everything you (know|remember)|your memory|the memory|memory|the session|all the data|all saved things)',
      '(clear|wipe|reset|erase|start over|start afresh|start from scratch|reset yourself)',
      '(wipe|clear|reset|erase|delete) (it|that|this|them)( all)?',
    ],
    () => ask(sureToClear()),
  ),
  rule(
    'forget delete remove clear',
    [
      '(forget|delete|remove|clear) (the )?(saved |stored |key |value )(of )?{what}',
      'forget (about )?(the |my |our ).+',
    ],
    () => ask(wholeOnly()),
  ),

  rule(
    'save remember store note keep record put',
    ['(save|store|remember|note|keep|record|put) (the )?(value )?{what} as (the |a )?{key}'],
    saveAs,
  ),
  rule('set change update', ['(set|change|update) (the )?(?<key>\\S+) (to|=) {what}'], (said) =>
    (said.context.keys ?? []).includes(said.text('key')) ? save(said) : null,
  ),
  rule(
    'save remember store note keep record put write set',
    [
      '(save|store|remember|note|keep|record|put) (the )?(value )?{what} (as|under|under the name|under the key|in the key|with the key|in the state as) (the |a )?(key |name )?{key}',
      '(save|store|remember|note|keep in mind|keep|record|note down|write down)(:| that|,)? (the |our |my |an? )?(?<key>(?!that\\b)[^,:=]+?) (is|are|=|equals|should be|will be) {what}',
      '(save|store|set|keep) (the )?(state |key |variable |value )(of )?{key} (=|to|as|with|with the value) {what}',
      '(save|store|note|remember|set|keep)(:| that)? ?(?<key>[\\w-]+) ?= ?{what}',
      '(save|store|remember|note|keep) (?<lasting>permanently|persistently)(:| that|,)? (the |our |my |an? )?(?<key>(?!that\\b)[^,:=]+?) (is|are|=) {what}',
    ],
    save,
  ),
  rule(
    'save remember store note memorize keep',
    ['(save|store|remember|note|memorize|keep in mind|save down)( it| this| that| these| something| everything| all)?'],
    () => ask(whatValue()),
  ),
  rule('remember note keep memorize', ['(remember|note|keep in mind|memorize)(:| that)? {what}'], (said) =>
    ask(whatKey(said.text('what'))),
  ),

  rule(
    'context token window room space',
    [
      'how (full|big|large|long) is (the |this |my |our )?(context|context window|window)( now| already| so far)?',
      'how (much|many) (of the )?(context|tokens|context window|room|space)( (is|are|do we have|have we|did we))?( still)?( left| used| use| remaining| free| gone| spent)( so far| in the context)?',
      "(show|show me|check|what is|what's|give me) (the )?context (usage|use|health|size|window|fill|level)",
      'context (usage|use|health|size|fill|level|window)',
      '(are we|am i) (running )?(out of|low on|short of) (context|tokens)',
      'is the context (window )?(full|nearly full|almost full|getting full)( yet| already)?',
      '(check) (the )?context',
    ],
    always('HEALTH', 'context'),
  ),
  rule(
    'health session uptime are is how',
    [
      "(show|show me|check|what is|what's|how is|how's|give me)( the| your| our)? (session('s)? )?health( of the session| check| report)?",
      '(do a |run a )?(session )?health( check| report)?',
      "how('s| is) the session( doing| going| holding up)?",
      '(how )?(are you|is the session|is everything|is the system) (healthy|still healthy|ok|okay|fine|in good shape|alive)',
      'how healthy (is the session|are you|are we|is this session)',
      'how long (has|have) (the session|this session|we|you) been (running|going|up|open)( now)?',
      "(show|show me|what's|what is) (the |your )?uptime|uptime",
      '(should|do) (i|we) (need to )?start a (new|fresh) session( now)?',
    ],
    always('HEALTH', 'session'),
  ),
];
