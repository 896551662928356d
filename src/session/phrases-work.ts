/** Plain words for work: delegating, asking how it goes, trying again, handing to a person. */
import { oneTask, unknownAgent, whatMessage, whatTask, whichAgent, whichTask, whoIsMeant } from './clarify.ts';
import { takePriority } from './natural-priority.ts';
import { topicText, withoutEnd } from './natural-values.ts';
import { act, actFreely, ask, command, type Meaning, type Rule, rule, type Said, sizeOf } from './phrases-rule.ts';
import { isStatement, VERBS } from './phrases-verbs.ts';

/** Words that point to something said before. */
const POINTS_BACK =
  /^(?:[a-z]+(?: (?:at|on|with|up|out|over|into|of|care of))?) (?:it|that|this|these|those|them)(?: (?:better|work|out|up|now|again|properly|faster|nicer|too|as well))*$/i;
/** Words that point to nothing. */
const NOTHING =
  /^(?:(?:[a-z]+(?: (?:at|on|with|up|out|care of))?) )?(?:(?:the|that|this|those|these|some|a|your) )?(?:things?|thingy|stuff|something|anything|whatever|work|job|task)(?: (?:better|work|out|up|now|again))?$|^(?:help|go|begin|start|continue)$/i;

export const isVague = (task: string): boolean => POINTS_BACK.test(task) || NOTHING.test(task);

/** What is no task but a word to somebody at work. */
const WORD_TO_SOMEBODY = /^(?:stop|pause|wait|continue|hurry(?: up)?|hold on|slow down|carry on|keep going|stand by)$/i;

function delegate(said: Said, agents: readonly string[]): Meaning | null {
  const { text, priority } = takePriority(said.part('what'));
  const whole = withoutEnd(text).replace(/^(?:please|also|just|kindly|now) /i, '');
  const [agent = ''] = agents;
  if (whole === '' || /^(?:it|that|this|them|these|those)$/i.test(whole)) return ask(whatTask(agent));
  if (/^(?:not|never)\b/i.test(whole)) return null; // what somebody should not do is no task
  if (isStatement(whole)) return null;
  if (WORD_TO_SOMEBODY.test(whole)) return act(...agents.map((one) => command('DIRECT', [one, whole])));
  if (NOTHING.test(whole)) return ask(whatTask(agent));
  if (POINTS_BACK.test(whole) && said.antecedent === null) return ask(whatTask(agent));
  const about = POINTS_BACK.test(whole) ? ` (${said.antecedent})` : '';
  const task = said.whole(whole) + about;
  if (task === '') return ask(whatTask(agent));
  return actFreely(...agents.map((one) => command('DELEGATE', [one, task, priority ?? 'P2'])));
}

const agentOf = (said: Said, name = 'agent'): string | null => said.names.resolve(said.part(name));

/** What is given to somebody to have, not to do. */
const NO_WORK =
  /^(?:the |a |an |some |this |that )?(?:message|news|note|word|credit|benefit|chance|time|break|feedback|link|url|keys?|password|token|answer|info|information|details|heads[- ]up|day off|access|permission|rights?|floor|boot|results?|status|report|go-ahead|green light|ok|file|files|context|summary|list)\b/i;

const handOver = (said: Said): Meaning | null => (NO_WORK.test(said.part('what')) ? null : delegateToOne(said));

function delegateToOne(said: Said): Meaning | null {
  const agent = agentOf(said);
  return agent === null ? null : delegate(said, [agent]);
}

/** `have emma finished` asks, `have emma finish` tells. */
function tellToDo(said: Said): Meaning | null {
  if (
    /^(?:finished|done|been|completed|any|an?|the|that|this|it|in|on|off|be|not|is|has|know|passed|failed|started|stopped|worked|answered|gone|got|had|begun|written|fixed|run out)\b/i.test(
      said.part('what'),
    )
  )
    return null;
  return delegateToOne(said);
}

function toNobody(said: Said): Meaning | null {
  const who = said.text('who');
  if (
    /^(?:someone|somebody|anyone|anybody|an agent|one|somebody else|someone else|everyone|everybody|all|all agents|the team)$/i.test(
      who,
    )
  ) {
    return ask(whichAgent(said.text('what'), said.context.agents));
  }
  if (/^(?:her|him|them|it|that agent|the same agent|the last agent)$/i.test(who))
    return ask(whoIsMeant(said.context.agents));
  if (/^(?:me|you|us|yourself)\b/i.test(who)) return null;
  return ask(unknownAgent(who, said.context.agents));
}

const TOPICS: Readonly<Record<string, string>> = {
  result: 'results',
  outcome: 'results',
  outcomes: 'results',
  output: 'results',
  findings: 'results',
  error: 'errors',
  failure: 'errors',
  fail: 'errors',
  failures: 'errors',
  problem: 'errors',
  problems: 'errors',
  issues: 'errors',
  mistakes: 'errors',
  update: 'progress',
  updates: 'progress',
  news: 'progress',
  state: 'status',
};
const topicOf = (word: string, fallback: string): string => {
  const said = word.toLowerCase();
  return said === '' ? fallback : (TOPICS[said] ?? said);
};

const report =
  (topic: string) =>
  (said: Said): Meaning | null => {
    const agent = agentOf(said);
    if (agent === null) return null;
    return act(command('REPORT', [agent, topicOf(said.part('topic'), topic)], sizeOf(said.part('size'))));
  };

const reportAll =
  (topic: string) =>
  (said: Said): Meaning =>
    act(command('REPORT', ['all', topicOf(said.part('topic'), topic)], sizeOf(said.part('size'))));

const reportLast =
  (topic: string) =>
  ({ context }: Said): Meaning =>
    context.lastAgent === null ? ask(whoIsMeant(context.agents)) : act(command('REPORT', [context.lastAgent, topic]));

function reportField(said: Said): Meaning | null {
  const agent = said.names.byField(said.part('word'));
  return agent === null
    ? null
    : act(command('REPORT', [agent, topicOf(said.part('topic'), 'results')], sizeOf(said.part('size'))));
}

const onTask =
  (name: string, deed: string) =>
  (said: Said): Meaning => {
    const written = said.part('task').replace(/^task (?=task)/i, '');
    const task = written === '' ? said.context.lastTask : written;
    return task === null ? ask(whichTask(deed)) : act(command(name, [task]));
  };

function together(said: Said): Meaning | null {
  const [one, two] = [agentOf(said), agentOf(said, 'agent2')];
  if (one === null || two === null) return null;
  const on = topicText(said.text('what'));
  return act(command('COORDINATE', on === '' ? [one, two] : [one, two, on]));
}

const SHOW =
  "(show|show me|give me|get|get me|send me|let me see|see|check|check on|display|print|pull up|read|look at|fetch|review|what are|what were|what is|what's|how are|how is|any|i want|are there any|are there)";

/** Bringing together comes first: it names two agents where others name one. */
export const WORK: readonly Rule[] = [
  rule(
    'together coordinate',
    [
      '(have|let|get|make) {agent} and {agent2} (to )?work together( on {what})?',
      'bring {agent} and {agent2} together( (on|for) {what})?',
      'coordinate {agent} (and|with) {agent2}( (on|for) {what})?',
    ],
    together,
  ),
  rule('not never', ['(ask|tell|remind) {agent} (not to|to not|never to) {what}'], (said) => {
    const agent = agentOf(said);
    return agent === null ? null : actFreely(command('DIRECT', [agent, `do not ${withoutEnd(said.text('what'))}`]));
  }),
  rule(
    'result outcome output finding test coverage error fail status progress',
    [
      `(${SHOW} )?(the |our |my )?(latest |current |last )?{word} (?<topic>results?|outcomes?|output|findings|coverage|errors?|failures?|status|progress)( so far| now| again| are| look like)?`,
      'how (did|do) (the |our )?(?<word>tests) (go|look|do)( so far| now)?',
      '(do|did|are|have) (all )?(of )?(the |our )?(?<word>tests) (all )?(pass|passed|passing|green|ok|okay|fine|running|working|run|done|go through)( now| yet| again| already)?',
      'are there (any )?(?<topic>fail)(ing|ed) (?<word>tests)( left)?',
      'how are (the |our )?(?<word>tests)( doing| going| looking)?( so far| now)?',
    ],
    reportField,
  ),
  // Before delegating: these ask an agent for news.
  rule(
    'ask',
    [
      'ask {agent} (for|about) (a |an |the |her |his |its |their |some |any )?{size}? ?{topic}( report| update)?',
      'ask {agent} (for|about) (a |an |the )?({size} )?(status |progress )?(report|update)',
      "ask {agent} (how|where) (it's|it is|things are|that is|that's|she is|he is|she's|he's|they are)( going| with it| coming along| doing)?",
      "ask {agent} (if|whether) (she|he|it|they|that)('s| is| are|'re| has| have) (done|finished|ready|complete)( yet)?",
    ],
    report('progress'),
  ),
  rule(
    'ask tell get have let make',
    ['(ask|tell|get) {agent} and {agent2} to {what}', '(have|let|make) (both )?{agent} and {agent2} {what}'],
    (said) => {
      const agents = [agentOf(said), agentOf(said, 'agent2')].filter((agent) => agent !== null);
      return agents.length < 2 ? null : delegate(said, agents);
    },
  ),
  rule(
    'ask tell get want like need instruct order request direct delegate assign hand give pass put send should needs must could can would has is',
    [
      '(ask|tell|get|instruct|order|want|need|request|direct) {agent} (to|, to) {what}',
      "(i|we)(('d| would) like| want| need) {agent} to {what}",
      '(delegate|assign|hand|hand over|hand off|pass|pass on) to {agent}( the task)?(:|,| to| of)? {what}',
      '(give|hand|assign) {agent} (the|a|this) (task|job) ?(:|to|of|,) ?{what}',
      '(delegate|assign|hand|pass|hand over|hand off) (the (task|job) (of|to) )?{what} (over |off |on )?to {agent}',
      'put {agent} (on|to work on) {what}',
      'assign {agent} to {what}',
      'get {agent} (started|going|working) (on|with) {what}',
      '{agent} (should|needs to|has to|must|is to) {what}',
      '(could|can|would) {agent} (please )?(?!mind\\b)(?<what>.+?)',
    ],
    delegateToOne,
  ),
  rule(
    'task todo to-do job work ask tell remind inform make put',
    [
      '(a |one )?(new |another )?(task|todo|to-do|job|work( item)?) for {agent} ?(:|-|–|—|->|,) ?{what}',
      '(make|put) {agent} (responsible for|in charge of) {what}',
      'ask {agent} (if|whether) (she|he|they|it) (can|could|would|might|will)( please| maybe)? {what}',
      '(tell|remind|inform) {agent} (that )?(she|he|they|it) (should|must|has to|have to|needs to|need to|is to|are to) {what}',
    ],
    delegateToOne,
  ),
  rule('give hand throw', ['(give|hand|throw) {agent} (?<what>(?:the|a|an|this|our) .+)'], handOver),
  rule('have let make', ['(have|let|make) {agent} {what}'], tellToDo),
  rule(
    VERBS.replaceAll('[sz]e', '').replaceAll('|', ' '),
    [
      `{agent} ?(?:[,:]|->|=>|→|–|—| - ) ?(?:(?:please|pls|plz|kindly) )?(?<what>(?:${VERBS})\\b.*)`,
      `@?{agent} (?:please|pls|plz|kindly) (?<what>(?:${VERBS})\\b.*)`,
      `(?:tell|ask|message) {agent} ?: ?(?:(?:please|pls|plz) )?(?<what>(?:${VERBS})\\b.*)`,
      `{agent} ?[,:] ?(can|could|would|will) you (please )?(?<what>(?:${VERBS})\\b.*)`,
      `@{agent} (?<what>(?:${VERBS})\\b.*)`,
    ],
    delegateToOne,
  ),
  rule(
    'ask delegate assign give hand get have let tell instruct make',
    [
      '(ask|tell|get|instruct|have|let|make) {agent}( to)?',
      '(delegate|assign|hand|give)( something| it| this| that)? to {agent}',
    ],
    (said) => {
      const agent = agentOf(said);
      return agent === null ? null : ask(whatTask(agent));
    },
  ),

  rule(
    'how what is are any done finished progress news update status far',
    [
      "how('s| is| are| did)? (it|that|this|things|the task|that task|the work|everything)( all)? (going|coming along|coming|looking|progressing|doing|go)( so far| now)?",
      'how far( along)? (is|are) (it|that|they|we|things)( now| already)?',
      '(is|are) (it|that|this|they|the task|that task|the work) (done|finished|ready|complete|completed|over|through)( yet| now| already)?',
      '(any|some) (progress|news|updates?)( yet| on (it|that|this)| so far)?',
      "what('s| is) the (status|progress|state)( of| on| with) (it|that|this|the task|that task)",
      'what the (status|progress) (of|on) (it|that|this|the task|that task) is',
      "what('s| is) (the )?(news|latest)( on (it|that|this))?",
    ],
    reportLast('progress'),
  ),
  rule(
    'error fail problem wrong broke break block stuck hang',
    [
      '(any|show( me)?( all)?( the)?|list( all)?( the)?|are there( any)?|were there( any)?|check for( any)?|what are the|give me( all)?( the)?|do we have( any)?|what|which|report( all)?( the)?) (errors|failures|problems)( so far| yet| occurred| happened| are there| do we have| lately| today)?',
      'what (failed|broke|went wrong|has failed|has gone wrong)( so far| today)?',
      '(did|has) (anything|something) (fail|failed|break|broken|go wrong|gone wrong)( so far| yet)?',
      '(errors|failures)( so far)?',
      'is (anything|something) (broken|failing|wrong)( now| right now)?',
      '(did|do|have) (we|you) (get|have|see|hit|run into|had|seen) any (errors|failures|problems)( so far| yet)?',
      'which tasks (have )?failed',
      '(is )?(anything|anyone|anybody|something|somebody|someone|any tasks?) (is )?(blocked|stuck|hanging)( right now| now| at the moment| so far)?',
      '(what|who|which tasks?) (is|are) (blocked|stuck|hanging)( right now| now| at the moment)?',
    ],
    reportAll('errors'),
  ),
  rule(
    'error fail problem trouble wrong stuck blocked',
    [
      '(any|are there any|show( me)?( the)?|list( the)?) (errors|failures|problems|trouble) (from|of|by|with|for) {agent}',
      '(did|has) {agent} (fail|failed|make any errors|hit any (errors|problems)|run into (any )?(errors|problems|trouble))( yet)?',
      "(what went wrong|what failed|what is wrong|what's wrong) (with|for|at) {agent}",
      'is {agent} (stuck|blocked|in trouble)',
    ],
    report('errors'),
  ),
  rule(
    'cost spend spent use money expensive token',
    [
      'how (much|many tokens) (did|has|does) {agent} (cost|spent|spend|used|use)( so far| yet| today| us| me)*',
      'how expensive (was|is) {agent}( so far| yet)?',
      'what (did|has|does) {agent} (cost|spent|spend|used)( so far| yet| us| me)?',
    ],
    report('cost'),
  ),
  rule(
    'cost spend spent use money expensive token',
    [
      'how (much|many tokens) (did|have|has|does|do) (it|this|that|we|all of it|everything|the session|all|they)( all)? (cost|spent|spend|used|use)( so far| yet| today| us| me)*',
      'what (did|has|does) (it|this|that|all of it|everything|the session)( all)? (cost|costs)( so far| yet| us| me)?',
      'how much (money )?(have|did) (we|you|they) (spent|spend|used)( so far| yet| today)?',
    ],
    reportAll('cost'),
  ),
  rule(
    'result find found what',
    [
      'what (did|has) {agent} (find|found|find out|produce|produced|deliver|delivered|do|done|come up with|get done|achieve|achieved)( so far| yet| today)?',
      'what (are|were) (the results|the findings) (of|from) {agent}',
      '(show |show me |give me |list |let me see |see )?(all |everything )?what {agent} (has |have )?(produced|did|done|made|found|delivered|finished|written|built|changed|achieved)( so far| yet| today)?',
    ],
    report('results'),
  ),
  rule(
    'how what is are did has status progress report update result outcome output finding error fail problem issue mistake state about check far working doing news coverage security performance audit cost usage blocker',
    [
      `(${SHOW} )?(the |a |an )?({size} )?{topic}( report| update| audit| check)? (of|from|for|on|by) {agent}( so far| now)?`,
      `(${SHOW} )?(on )?({size} )?{agent}'s? (latest |current )?{topic}( report| update| audit)?( so far| now)?`,
      `(${SHOW} )?(a |an |the )?({size} )?(status |progress )?(report|update) (on|about|from|of|for) {agent}`,
      "how('s| is| are) {agent}( doing| getting on| getting along| coming along| progressing| going| faring)?( with (it|that|this|.+))?( so far| now)?",
      'how far( along)? (is|has) {agent}( got| gotten| come)?( with .+)?',
      "what('s| is| are) {agent} (doing|up to|working on|busy with)( now| right now| at the moment)?",
      '(if |whether )?(is |has |did |are ){agent} (done|finished|finish|ready|complete|completed|through|still working|working|busy)( yet| it| that| already| now| on it| with .+)?',
      '(if |whether ){agent} (is|has) (done|finished|ready)( yet)?',
      'check (in )?(on|with) {agent}',
      "what('s| is) (up|happening|going on) (with|at) {agent}",
      '{agent} {topic}( report)?',
      'tell me about {agent}',
      '(report|update)( me)? on {agent}',
    ],
    report('progress'),
  ),
  rule(
    'result',
    [`${SHOW} (the |all |all the )?(?<topic>results)( so far| now| of everyone| from everyone)?`, '(the )?results'],
    ({ context }) => act(command('REPORT', [context.lastAgent ?? 'all', 'results'])),
  ),
  rule(
    'status progress report overview everyone everybody everything agent all team what where who how up',
    [
      `(${SHOW} )?(the |a |an |me )?({size} )?(overall |current |general |project |session |team )?(?<topic>status|progress)( report| update| overview)?( of| from| for)?( (all|everyone|everybody|everything|all agents|all the agents|the agents|all of them|the team|the project|the session|all tasks|the tasks|each agent|every agent))?( now| so far| please)?`,
      'what the (overall |current )?(?<topic>status|progress) is',
      `(${SHOW} )?(a |an |the )?({size} )?(report|overview|status report)( of| from| on)?( (all|everyone|everything|all agents|the agents|all tasks|the tasks))?`,
      "how('s| is| are) (everyone|everybody|everything|all agents|the agents|all of them|the team|all the agents|all)( all)?( doing| going| coming along| getting on)?( so far| now)?",
      "what('s| is| are) (everyone|everybody|the agents|all agents|the team|they all) (doing|up to|working on)( now| right now| at the moment)?",
      "what('s| is) (going on|happening|running|in progress|being done|being worked on)( now| right now| at the moment| here)?",
      'where (are we|do we stand|are things|are we at)( now)?',
      '(who|which agents?) (is|are) (working|busy|active)( on what| now| right now)?',
      "who('s| is) (doing|working on) what",
      '(give me|send me|i want|i need|get me) (an |the |a )?({size} )?updates?',
      'how far( along)? are (we|things)( now)?',
      '(bring|get) me up to (date|speed)',
      'what (have|did|has) (the agents|all agents|everyone|everybody|they|the team)( all)? (done|do|achieved|finished|worked on)( so far| yet| today)?',
    ],
    reportAll('status'),
  ),

  rule(
    'next left remain open outstanding to list backlog queue now else',
    [
      "what('s| is| comes| should| shall| do| can| to)( be)?( i| we| they)?( (do|work on|tackle|come|happen|be done))? next( up| on the list| for us| for me)?",
      "what('s| is) (the )?next( step| task| thing)( to do)?",
      '(show( me)?|list|give me|what are) (the )?next (steps|tasks|things)( to do)?',
      'next( steps| tasks| step| task| up)?',
      "what('s| is)? (still )?(left|remains|remaining|open|outstanding)( to (do|be done))?",
      "what('s| is) (on|in) the (todo list|to-do list|to do list|backlog|queue|list)",
      'what now',
      'what else (is there|is left|remains|should (i|we) do)( to do| now)?',
    ],
    () => act(command('NEXT', [])),
  ),
  rule(
    'retry rerun re-run redo repeat again another restart once anew',
    [
      `(retry|rerun|re-run|redo|restart) (it|that|this|the task|the last task|that task|the last one)`,
      '(retry|rerun|re-run|redo|restart|repeat) {task}',
      '(retry|redo|rerun|try again|try it again|try that again|try once more|try that once more|try it once more|run it again|run that again|do it again|do that again|once more|once again)',
      '(try|run|start|do) {task} (again|once more|another time|anew)',
      '(give|have) (it|that) another (try|go|shot)',
      'give {task} another (try|go|shot)',
    ],
    (said) => onTask('RETRY', 'try again')(said),
  ),
  rule(
    'retry rerun redo',
    [
      '(retry|rerun|redo) (all|everything|the failed tasks?|all failed tasks|all the failed tasks|what failed|everything that failed)',
    ],
    () => ask(oneTask('try again')),
  ),
  rule(
    'escalate human person somebody',
    [
      'escalate( (it|that|this|the task|the last task|that task))?( to (a|the) (person|human|user|operator))?',
      'escalate {task}( to (a|the) (person|human|user|operator))?',
      '(raise|pass|hand|give|take) (it|that|this) (up )?to a (person|human)',
      '(raise|pass|hand|give|take) {task} (up )?to a (person|human)',
      '(get|bring in|call|involve|find) (a|some) (person|human)( to (look at|check|decide|decide on|review) (it|that|this))?',
      '(get|bring in|call|involve|find) (a|some) (person|human) (to (look at|check|decide|decide on|review)|for|on) {task}',
      'a (person|human) (should|must|has to|needs to) (look at|check|decide|decide on|review) (it|that|this)',
      '(i|we) (want|need) a (person|human|human being) to (look at|check|decide|decide on|review|see) {task}',
      '(i|we) (want|need) a (person|human)( to (look at|check|decide|decide on|review)( (it|that|this))?)?',
      'a (person|human) (should|must|has to|needs to) (look at|check|decide|decide on|review) {task}',
    ],
    onTask('ESCALATE', 'raise to a person'),
  ),
  rule(
    'evaluate judge assess rate grade good is are',
    [
      '(evaluate|judge|assess|rate|grade) (the )?(results?|outcome|output|quality|work)( of (it|that|this|the task|the last task))?',
      '(evaluate|judge|assess|rate|grade) (it|that|this)',
      '(evaluate|judge|assess|rate|grade) ((the )?(results?|outcome|output|quality) (of|for|from) )?{task}',
      '(how good is|is) {task}( good enough| any good| good)?',
      'how good (is|was) (it|that|the result)',
      '(is|are|how good is|how good are) (the )?(results?|outcome|output|quality|work) (of|from|for) {task}( any good| good enough| good| ok| okay| acceptable| usable)?',
    ],
    onTask('EVALUATE', 'judge'),
  ),
  rule(
    'depend',
    [
      "(this|it|that|my task|the task|we) depends? on {agent}'s? (task )?{what}",
      '(this|it|that|my task|the task|we) depends? on {agent} (for|to finish|finishing|to do|doing|with) {what}',
    ],
    (said) => {
      const agent = agentOf(said);
      const task = withoutEnd(said.text('what'));
      return agent === null || task === '' ? null : act(command('DEPENDS', [agent, task]));
    },
  ),

  // Last: whoever else is asked to do something is nobody that is known.
  rule(
    'ask tell delegate assign hand instruct have let get need want',
    [
      '(ask|instruct|tell) {who} to {what}',
      '(delegate|assign|hand over|hand off|hand) {what} to {who}',
      '(have|let|get) (?<who>someone|somebody|anyone|an agent)( to)? {what}',
      '(i|we) (need|want) (?<who>someone|somebody|anyone|an agent) to {what}',
    ],
    toNobody,
  ),
  rule('delegate assign', ['(delegate|assign) {what}'], (said) =>
    ask(whichAgent(said.text('what'), said.context.agents)),
  ),
  rule('ask tell', ['(ask|tell) {who}'], (said) =>
    /^(?:me|you|us)\b/i.test(said.part('who')) ? null : ask(whatMessage(said.text('who'))),
  ),
];
