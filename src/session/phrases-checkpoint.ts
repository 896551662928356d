/** Plain words for checkpoints and going back. Whatever goes back wants a checkpoint that leaves no doubt. */
import { whichCheckpoint } from './clarify.ts';
import { checkpointOf } from './natural-agents.ts';
import { nameOf } from './natural-values.ts';
import { act, always, ask, command, type Meaning, type Rule, rule, type Said } from './phrases-rule.ts';

/** The name of one that is not given a name; what follows in the line may give it a better one. */
export const UNNAMED = 'checkpoint';

const create =
  (type: string, before = '') =>
  (said: Said): Meaning | null => {
    const kind = said.part('type').toLowerCase();
    const given = said.part('name');
    const name = given === '' ? UNNAMED : nameOf(`${before || said.part('when')} ${said.text('name')}`.trim());
    // `after emma is done` is a condition, not a name.
    if (name === null || isCondition(said.part('when'), given)) return null;
    return act(command('CHECKPOINT', ['create', kind === 'automatic' ? 'auto' : kind || type, name]));
  };

/** What is done before something is done now; what is done after something that happens is not. */
const isCondition = (when: string, what: string): boolean =>
  /^after$/i.test(when) ? HAPPENS.test(what) : /^before$/i.test(when) && /\b(?:you|ask|tell)\b|(?:\S+ ){5}/i.test(what);

const HAPPENS =
  /\b(?:is|are|was|has|have|you|i|we|they|he|she|it|done|ask|finish(?:es|ed)?|pass(?:es|ed)?|fail(?:s|ed)?|works?|starts?|ends?)\b|(?:\S+ ){5}/i;

const meant =
  (exact: boolean, deed: string, make: (id: string) => Meaning) =>
  (said: Said): Meaning => {
    const words = said.part('ref') === '' ? 'checkpoint' : said.text('ref');
    const checkpoint = checkpointOf(words, said.context, exact);
    return checkpoint.kind === 'one' ? make(checkpoint.id) : ask(whichCheckpoint(said.context.checkpoints, deed));
  };

const rollBack = meant(true, 'go back to', (id) => act(command('ROLLBACK', [id])));
const force = meant(true, 'go back to by force', (id) => act(command('ROLLBACK', [id, 'force'])));
const dryRun = meant(false, 'try going back to', (id) => act(command('ROLLBACK', ['dry-run', id])));
const diff = meant(false, 'compare with', (id) => act(command('CHECKPOINT', ['diff', id])));

/** Only what is, or may be, a checkpoint: `go back to sleep` is none. */
const onlyIfCheckpoint =
  (then: (said: Said) => Meaning) =>
  (said: Said): Meaning | null => {
    const words = said.text('ref');
    const about = /checkpoint|^cp_?\d/i.test(words) || /^(?:before|after|it|that|then)\b/i.test(words);
    return about || checkpointOf(words, said.context, true).kind === 'one' ? then(said) : null;
  };

const MAKE = '(make|create|save|take|set|do|add|record|put|place|drop|need|store)';
const TYPE = '((?<type>manual|auto|automatic|milestone) )?';
const BACK = '(roll ?back|roll us back|roll everything back|roll it back|revert everything|revert|rewind)';

export const CHECKPOINT: readonly Rule[] = [
  rule(
    'checkpoint',
    [
      '(list|show|show me|give me|print|see|display|what are) (the |all |all the |my |our |available |existing )*checkpoints( now| so far| there are)?',
      '(which|what) checkpoints (are there|do we have|exist|have we|are available|did we make|have been made|have we got)( so far| now)?',
      '(do we have|are there) (any )?checkpoints',
      'checkpoints',
    ],
    always('CHECKPOINT', 'list'),
  ),
  rule(
    'checkpoint snapshot',
    [
      `(${MAKE} )?(a |an |the |another )?(new |quick )?${TYPE}checkpoint( here| now)?,? (called|named|with the name|as|:) {name}`,
      `(${MAKE} )?(a |an |the |another )?(new |quick )?${TYPE}checkpoint ?: ?{name}`,
      `(${MAKE} )?(a |an |another )?(new |quick )?${TYPE}checkpoint( here| now| of this)?,? (?<when>before|after) {name}`,
      `checkpoint (this|it|everything|the work|our work|the current state) as {name}`,
      `(${MAKE} )?(a |an |the |another |our )?(new |quick )?${TYPE}checkpoint( here| now| first| this| of this| of everything| right now| it| everything| again)?`,
      `${MAKE} (a |an |another )?(new |quick )?(checkpoint|snapshot)( here| now| of this| of everything| first)?,? (?<when>before) (we|i) (begin |start )?{name}`,
      'checkpoint (the )?(current )?(work|state|files)( now)?',
      `${MAKE} (a |an |another )?(new |quick )?snapshot( here| now| of this| of everything| of the files)?( (called|named|as) {name})?`,
    ],
    create('manual'),
  ),
  rule(
    'before after checkpoint',
    [
      `(?<when>before|after) {name}, ${MAKE} (a |an )?(new |quick )?checkpoint`,
      `(?<when>before|after) {name}, checkpoint( (this|everything|it|now))?`,
    ],
    create('manual'),
  ),
  rule(
    'milestone',
    [
      `(${MAKE}|mark) (a |the |this as a |this as the )?milestone( called| named| for|:|,)? ?{name}`,
      'milestone( reached)?: ?{name}',
      `mark (this|it) as (a |the )?milestone( called| named| for|:|,)? ?{name}`,
    ],
    create('milestone'),
  ),
  rule('milestone', [`(${MAKE}|mark) (a |this as a |the )?milestone( here| now)?`], create('milestone')),
  rule(
    'chang diff compare',
    [
      "what( has|'s| have| did)?( we| i| they)? changed?( since| from| after) {ref}",
      '(show|show me|list|give me|see|what are|get)( me)? (the |all |all the |any )?(changes|diff|differences|diffs)( made)? (since|from|against|to|after|with) {ref}',
      '(changes|diff|differences) (since|from|against|to|after|with) {ref}',
      'diff {ref}',
      '(compare|diff) (this |it |the files |everything |the work )?(with|to|against) {ref}',
      "what('s| is) different (since|from|to) {ref}",
      'which files (have )?(been )?changed (since|after) {ref}',
      'how much (has |have )?changed (since|after) {ref}',
    ],
    onlyIfCheckpoint(diff),
  ),
  rule(
    'chang diff',
    [
      "what( has|'s| have)?( we| i)? changed( since then| so far| since)?",
      '(show|show me|list|give me|see) (the |all |all the )?(changes|diff)( so far| since then)?',
      'diff',
    ],
    diff,
  ),
  rule(
    'dry preview simulate would happen will doing',
    [
      `(do |make |try |start )?(a )?dry[ -]run (of |for )?(a |the )?(roll ?back )?(of |to |for )?{ref}`,
      `(preview|simulate) (a |the )?(roll ?back|rolling back|going back)( to| of)? {ref}`,
      `what (would|will) (happen|change|be lost|i lose|we lose) if (i|we|you) (roll|rolled|go|went|reverted|revert) ?(back)? to {ref}`,
      `what (would|will) (a )?(roll ?back|rolling back|going back) to {ref} (do|change|undo|mean|restore|cost)`,
      `what happens if (i|we|you) (roll|go|revert) ?(back)? to {ref}`,
      `${BACK} to {ref},? (but )?(only )?(as a )?(dry[ -]run|preview|just a preview|without doing it)( only)?`,
      `(dry[ -]run|preview|simulate) {ref}`,
    ],
    onlyIfCheckpoint(dryRun),
  ),
  rule(
    'dry preview simulate would',
    [
      '(do |make |try )?(a )?dry[ -]run( (of )?(a |the )?roll ?back)?',
      '(preview|simulate) (a |the )?(roll ?back|rolling back)',
      'what would (a |the )?roll ?back (do|change)',
    ],
    dryRun,
  ),
  rule(
    'rollback rolled roll',
    [
      "((show|show me|what's|what is|check) )?(the )?(current )?roll ?back('s)? (status|state)",
      '(status|state) of the roll ?back',
      '(did|has) the roll ?back (work|worked|finish|finished|succeed|succeeded|go through|happen|happened)( yet)?',
      'how did the roll ?back go',
      'is (a|the) roll ?back (running|under way|in progress|going on|done|finished|over)( yet| now)?',
      '(are we|have we|did we|did you|have you) (been )?(roll|rolled) back( yet)?',
      'is anything (being )?rolled back',
    ],
    always('ROLLBACK', 'status'),
  ),
  rule(
    'force',
    [
      `force (a |the )?(roll ?back|rolling back|going back|a return) (to )?{ref}`,
      `${BACK} (to )?{ref},? (with|by|using) force`,
      `(go|get) back to {ref},? (with|by|using) force`,
    ],
    onlyIfCheckpoint(force),
  ),
  rule('force', [`force (a |the )?(roll ?back|rolling back)`, `${BACK} (with|by|using) force`], force),
  rule(
    'roll back revert undo restore rewind reset return discard throw drop',
    [
      `${BACK} (to )?{ref}`,
      '(go|get|return|switch|jump|move|take me|take us|bring me|bring us|put us|set us|set everything|put everything) back to {ref}',
      '(return|rewind|reset|revert|restore|reset everything|revert everything|restore everything|reset the files|restore the files) to {ref}',
      'restore {ref}',
      '(undo|revert|discard|throw away|drop) (everything|all|all changes|all the changes|the changes|what was done|all that was done|everything that changed|everything done|what changed|all of it)( made)?( since| after| back to| up to) {ref}',
    ],
    onlyIfCheckpoint(rollBack),
  ),
  rule(
    'roll back revert undo rewind',
    [
      `${BACK}( please| now| everything| it| all| that| the changes| all changes| the files)?`,
      '(do |start |make |perform )(a |the )?roll ?back( now)?',
      '(undo|revert)( it| that| this| everything| all| all of it| the changes| all changes| all the changes| the last change| my changes| the last step)?',
      'go back',
    ],
    // Never carried out at once: nothing says how far back.
    (said) => ask(whichCheckpoint(said.context.checkpoints, 'go back to')),
  ),
];
