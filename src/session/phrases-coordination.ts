/** Plain words for agents side by side: locks, waiting, signals, messages, channels. */
import { noForceUnlock, whatChannel, whatCondition, whatMessage, whichResource } from './clarify.ts';
import { nameOf, secondsOf, withoutEnd } from './natural-values.ts';
import { act, actFreely, always, ask, command, type Meaning, type Rule, rule, type Said } from './phrases-rule.ts';
import { isStatement, VERBS } from './phrases-verbs.ts';

const POINTER =
  /^(?:it|that|this|them|those|these|everything|all|something|things?|stuff|file|files|me|us|you|up|down|out)$/i;

/** A file, a service, a key: one word, or two and more in a row. Null where the words name none. */
function resources(said: Said): readonly string[] | null {
  const all = said
    .part('what')
    .split(/(?:,| and|, and) /)
    .map((one) => withoutEnd(one.trim()).replace(/^(?:the )?(?:files? |resources? |services? |keys? )?/i, ''));
  const named = all.map((one) => said.whole(one));
  return all.every((one, i) => /^\S+$/.test(one) && !POINTER.test(one) && (named[i] ?? '') !== '') ? named : null;
}

function lock(said: Said): Meaning | null {
  const named = resources(said);
  if (named === null) return POINTER.test(said.part('what').replace(/^the /i, '')) ? ask(whichResource('lock')) : null;
  const timeout = said.part('time') === '' ? null : secondsOf(said.part('time'));
  return act(...named.map((one) => command('LOCK', timeout === null ? [one] : [one, timeout])));
}

function unlock(said: Said): Meaning | null {
  const named = resources(said);
  if (named === null)
    return POINTER.test(said.part('what').replace(/^the /i, '')) ? ask(whichResource('unlock')) : null;
  return act(...named.map((one) => command('UNLOCK', [one])));
}

const MOST_CONDITION = 5;

/** `dev is complete` → `dev_complete`. A sentence is no condition. */
function conditionOf(said: Said, part: string): string | null {
  const words = said.text(part).replace(/\b(?:is|are|has been|have been|has|have|to be|to) /gi, '');
  if (/\b(?:and|or|if|then|but|while)\b/i.test(words) || words.split(/\s+/).length > MOST_CONDITION) return null;
  return nameOf(words.replace(/^(?:the )?(?:signal|condition) /i, ''));
}

function wait(said: Said): Meaning | null {
  const what = said.part('what');
  if (
    POINTER.test(what) ||
    /^(?:an?|the|\d+|one|two|five|ten) (?:bit|moment|while|minutes?|seconds?|hours?|second|sec|min)$/i.test(what)
  )
    return ask(whatCondition());
  const who = what.replace(
    / (?:to finish|to be (?:done|ready)|is (?:done|finished|ready)|has finished|finishes)$/i,
    '',
  );
  const condition = said.names.resolve(who) ?? conditionOf(said, 'what');
  if (condition === null) return null;
  const timeout = said.part('time') === '' ? null : secondsOf(said.part('time'));
  return act(command('WAIT', timeout === null ? [condition] : [condition, timeout]));
}

function signal(said: Said): Meaning | null {
  const condition = conditionOf(said, 'what');
  if (condition === null || POINTER.test(said.part('what'))) return null;
  return act(command('SIGNAL', [condition, withoutEnd(said.text('value')) || 'true']));
}

const ORDER = new RegExp(`^(?:(?:please|pls|plz) )?(?:${VERBS})\\b`, 'i');
const isOrder = (words: string): boolean => ORDER.test(words) && !isStatement(words);

/** The four channels of the document, as people call them. */
const CHANNELS: readonly (readonly [RegExp, string])[] = [
  [/^(?:file[ _-]?changes?|changed files|changes (?:to|of|in) files)$/i, 'file_changes'],
  [/^(?:deploy(?:ment)?s?|deploy(?:ment)?[ _-]?(?:status|events|news))$/i, 'deploy_status'],
  [/^(?:tests?|test[ _-]?(?:results?|outcomes?|runs))$/i, 'test_results'],
  [/^(?:priority[ _-]?alerts?|alerts?|urgent (?:updates|news|messages))$/i, 'priority_alert'],
];
const channelOf = (words: string): string | null =>
  CHANNELS.find(([pattern]) => pattern.test(words.trim()))?.[1] ?? null;

/** Where a message to everybody belongs, by what it is about. */
function channelFor(message: string): string {
  if (/\bdeploy/i.test(message)) return 'deploy_status';
  if (/\btests?\b|\bcoverage\b/i.test(message)) return 'test_results';
  if (/\bfiles?\b.*\bchanged?|\bchanged?\b.*\bfiles?\b|\b(?:renamed|moved|edited)\b/i.test(message))
    return 'file_changes';
  return 'priority_alert';
}

function broadcast(said: Said): Meaning | null {
  const message = withoutEnd(said.text('what'));
  if (message === '' || /^(?:it|that|this|something)$/i.test(message)) return ask(whatMessage('everyone'));
  const words = said.part('channel');
  const channel = words === '' ? channelFor(message) : (channelOf(words) ?? nameOf(said.text('channel')));
  return channel === null ? null : actFreely(command('BROADCAST', [channel, message]));
}

function direct(said: Said): Meaning | null {
  const agent = said.names.resolve(said.part('agent'));
  if (agent === null) return null;
  const message = withoutEnd(said.text('what'));
  if (/^(?:tell|ask) [^:]+: ?/i.test(said.line) && isOrder(message)) return null; // `tell bob: rename it` gives a task
  if (message === '' || /^(?:it|that|this|something|about it|about that|about this)$/i.test(message))
    return ask(whatMessage(agent));
  return actFreely(command('DIRECT', [agent, message]));
}

const channel =
  (name: string) =>
  (said: Said): Meaning | null => {
    const words = said.text('channel').replace(/^(?:the|any|all|all the) /i, '');
    const known = channelOf(words);
    if (known !== null) return act(command(name, [known]));
    const own = /^(?:(?:the )?channel )([\w-]+)$|^([\w-]+) channel$/i.exec(words);
    const named = own?.[1] ?? own?.[2] ?? (/^[a-z]+_[a-z_]+$/i.test(words) ? words : null);
    if (named !== null) return act(command(name, [named]));
    return /^(?:un)?subscribe$/i.test(said.part('verb')) && words !== '' ? ask(whatChannel(words)) : null;
  };

const EVERYONE =
  '(everyone|everybody|all agents|all the agents|all of them|every agent|the others|the whole team|the team|all the others|all)';
const TIME_LIMIT =
  '(,? (for|up to|for up to|at most|for at most|within|max|with a timeout of|but no longer than|no longer than) {time}( at most| max)?)?';

export const COORDINATION: readonly Rule[] = [
  rule(
    'lock hold held free use taken there',
    [
      'who (is )?(holds|has|owns|holding|keeps|locked|took) (the |a )?(lock|locks)( (on|of|for) .+)?',
      'who (has |is )?(locked|locking|blocking|holding|holds|has locked) \\S+',
      'is \\S+ (locked|free|in use)( by (anyone|someone|somebody))?',
      '(which|what) (locks|files|resources) (are|are currently) (held|locked|taken|there)( now| by whom)?',
      '(list|show|show me|what are) (the |all |all the |current )*(locks|locked files)( now)?',
      'are there (any )?locks',
    ],
    always('REPORT', 'all', 'locks'),
  ),
  rule(
    'unlock lock',
    [
      '(force|forcibly) (an? )?unlock.*',
      '(force|break|steal) (the |a )?lock.*',
      'take (the |a )?lock .*(from|away).*',
      'unlock .+ (by force|anyway|forcibly|with force)',
    ],
    () => ask(noForceUnlock()),
  ),
  rule(
    'lock exclusive reserve touch anyone anybody others somebody someone nobody no',
    [
      `(lock|reserve) {what}${TIME_LIMIT}`,
      `(take|get|acquire|set|put|place|grab) (a |the |an exclusive )?lock (on|for) {what}${TIME_LIMIT}`,
      `(i need |give me |get me |get )?exclusive access to {what}${TIME_LIMIT}`,
      `(don't|do not|never) let (anyone|anybody|others|somebody|someone)( else)? (touch|change|edit|write to|use) {what}`,
      `(make sure |see that )(nobody|no one)( else)? (touches|changes|edits|writes to|uses) {what}`,
    ],
    lock,
  ),
  rule('lock', ['(lock|take a lock|get a lock|acquire a lock)'], () => ask(whichResource('lock'))),
  rule(
    'unlock release lock free go',
    [
      'unlock {what}',
      '(release|free|drop|give up|remove|give back|let go of|open) (the |my |our )?locks? (on|of|for) {what}',
      '(release|free up|let go of) (the )?(file |files |resource )?(?<what>\\S*[/.]\\S*)',
      "(i'm|i am|we're|we are) (done|finished|through) with (the )?(file |files )?(?<what>\\S*[/.]\\S*?),? (so )?(release|unlock|free)( it| them)?",
    ],
    unlock,
  ),
  rule('unlock lock', ['unlock', '(release|free|drop|give up|remove) (the|my) lock'], () =>
    ask(whichResource('unlock')),
  ),

  rule(
    'wait hold block stand pause',
    [
      `(wait|hold|hold on|block|stand by|pause) (until|till|for) (the )?{what}${TIME_LIMIT}`,
      `wait {time} for {what}`,
      `wait (up to|at most) {time} (for|until) {what}`,
    ],
    wait,
  ),
  rule('wait hold', ['wait( here| up)?', 'wait {time}', '(hold on|wait) (a|one) (second|moment|minute|bit|sec)'], () =>
    ask(whatCondition()),
  ),
  rule(
    'signal',
    [
      'signal (that )?{what} (as|=|is|with|with the value|to) (?<value>true|false|done|ready|complete|ok|failed|\\d+)',
      '(set|raise|send|give|fire|emit) (the |a )?signal (for |that )?{what} (to|=|as|with)( the| a)?( value)?( of)? {value}',
      '(set|raise|send|give|fire|emit) (the |a )?signal (for |that |called |named )?{what}',
      '(set|raise|send|give|fire|emit) the (?<what>[\\w -]+?) signal( to {value})?',
      'signal (that )?{what}',
    ],
    signal,
  ),

  rule(
    'broadcast announce',
    [
      `(broadcast|announce) (on|to|in|over) (?!${EVERYONE}(?![\\w-]| channel))(the )?(channel )?(?<channel>[\\w-]+)( channel)?(:|,| that)? {what}`,
      '(broadcast|announce) (that |: ?)?{what} (on|to|in|over) (the )?(channel )?(?<channel>file[ _]changes|deploy[ _]status|test[ _]results|priority[ _]alert|[\\w-]+(?= channel))( channel)?',
      '(send|send out|make) (a |an )?(broadcast|announcement)(:| that|,| saying) {what}',
      `(broadcast|announce)( to ${EVERYONE})?(:| that|,)? {what}`,
    ],
    broadcast,
  ),
  rule(
    'everyone everybody agent others team all word',
    [
      `(tell|inform|notify|message|alert|warn|update) ${EVERYONE}(:| that|, that|,) {what}`,
      `(tell|inform|notify|message|alert|warn) ${EVERYONE} (about |of )?(?!to |not )(?<what>.+)`,
      `(tell|remind|ask|warn) ${EVERYONE} to (?!not )(?<what>.+)`,
      `let ${EVERYONE} know(:| that|,)? {what}`,
      `send (a message |word |this )?to ${EVERYONE}(:| that|,) ?{what}`,
      `(send|spread) the word(:| that|,) {what}`,
    ],
    broadcast,
  ),
  rule(
    'everyone everybody agent others team all broadcast',
    [`(tell|inform|notify|message|alert|warn) ${EVERYONE}`, 'broadcast( it| this| that| something)?'],
    () => ask(whatMessage('everyone')),
  ),
  rule('broadcast', ['broadcast( it| this| that| something)?'], () => ask(whatMessage('everyone'))),
  rule(
    'tell let message inform notify dm remind send warn write ping drop say',
    [
      '(tell|inform|notify|message|dm|remind|warn|ping|write)( to)? {agent}(:| that|, that|,) (?!(she|he|they|it) (should|must|has to|have to|needs to|need to) )(?<what>.+?)',
      'remind {agent} (to|of|about) {what}',
      'let {agent} know(:| that|,| about)? {what}',
      '(send|write|drop) {agent} (a |the )?(message|note|line|word)(:| saying| that says| that|,)? {what}',
      '(send|write|drop) (a |the )?(message|note|line|word) to {agent}(:| saying| that says| that|,)? {what}',
      'say (?<what>.+) to {agent}',
      '(tell|message|dm|inform|notify|ping) {agent} (?!to |not |never |about it$|(that )?(she|he|they|it) (should|must|has to|have to|needs to|need to) )(about )?{what}',
    ],
    direct,
  ),
  rule('message dm inform notify ping', ['(message|dm|inform|notify|ping) {agent}'], (said) => {
    const agent = said.names.resolve(said.part('agent'));
    return agent === null ? null : ask(whatMessage(agent));
  }),

  rule(
    'unsubscribe listen mute notif unfollow stop message',
    [
      '(?<verb>unsubscribe)( me)? (from )?(the )?{channel}',
      '(stop listening to|mute|unfollow|stop following|stop sending me|stop notifying me (about|of|on)) (the )?{channel}',
      "(i )?(don't|do not) (want to )?(listen to|notify me (about|of)) (the )?{channel}( anymore| any more)?",
      'no (more )?(notifications|messages) (about|of|on|from) (the )?{channel}',
    ],
    channel('UNSUBSCRIBE'),
  ),
  rule(
    'subscribe listen follow notify tune watch alert tell keep',
    [
      '(?<verb>subscribe)( me)? to (the )?{channel}',
      '(listen to|listen on|listen for|follow|tune in to|watch) (the )?{channel}',
      '(notify|alert|tell) me (about|of|on|when there are) (the |any |new )?{channel}',
      'keep me (posted|informed|up to date) (about|on|of) (the |any |new )?{channel}',
    ],
    channel('SUBSCRIBE'),
  ),
];
