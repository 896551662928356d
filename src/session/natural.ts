/**
 * What a person says in plain words → commands of the session language, by rules (§2.5). Pure. All or nothing: where any
 * part of a line is not understood, or what cannot be taken back is said with doubt, no command is made and a question is asked instead.
 */
import type { Command } from '../protocol/command/command.ts';
import { encodeCommand } from '../protocol/command/encode.ts';
import { COMMANDS, effectOf, formOf, isBuiltIn } from '../protocol/command/table.ts';
import {
  nothingDone,
  notLater,
  notSayable,
  notUnderstood,
  oneCommand,
  reallySure,
  tooLong,
  tooMany,
  whatThing,
  whichAgent,
  whichNeeded,
  whoDoes,
  whoseTurn,
} from './clarify.ts';
import type { NaturalContext } from './natural-agents.ts';
import {
  type Doubt,
  isCancel,
  isFiller,
  isNegated,
  isPutOff,
  type Piece,
  piecesOf,
  wishOf,
} from './natural-clauses.ts';
import { leadingCondition, type Needed, trailingCondition } from './natural-order.ts';
import { originalOf } from './natural-original.ts';
import { type Priority, priorityOnly, takePriority } from './natural-priority.ts';
import { maskQuotes } from './natural-quotes.ts';
import { corrected } from './natural-spelling.ts';
import { nameOf } from './natural-values.ts';
import { type Grammar, grammarOf } from './phrases.ts';
import { UNNAMED } from './phrases-checkpoint.ts';
import type { Meaning, Mode } from './phrases-rule.ts';
import { VERBS } from './phrases-verbs.ts';
import { isVague } from './phrases-work.ts';

export type { NaturalContext } from './natural-agents.ts';
export type { Mode } from './phrases-rule.ts';

interface Interpretation {
  /** In the order in which they are to be carried out. Empty where there is a question. */
  readonly commands: readonly string[];
  /** A question back; null where there is none. */
  readonly clarify: string | null;
  /** How the session should talk from now on; null where the line does not say. */
  readonly mode: Mode | null;
  /** No rule reaches the line, so a configured agent may be asked. False with a question: only the person can answer it. */
  readonly unsure: boolean;
}

/** More is not read: rules are tried on each part, and what is longer is no wish but a document. */
export const MOST_LINE = 4000;
const MOST_PIECES = 200;
const MOST_COMMANDS = 20;

export function interpret(line: string, context: NaturalContext): Interpretation {
  if (/^\uFEFF?\s*#/.test(line.slice(0, MOST_LINE))) return { ...NOTHING, commands: [line.replace(/^\uFEFF?\s*/, '')] };
  if (line.length > MOST_LINE) return question(tooLong(MOST_LINE), false);
  const { text, quotes } = maskQuotes(tidy(line));
  if (/\n\s*#/.test(text)) return question(oneCommand(), false);
  const pieces = piecesOf(text);
  if (pieces.length > MOST_PIECES) return question(tooMany(), false);
  const reader: Reader = { grammar: grammarOf(context), quotes, context, line };
  const answer = readPieces(pieces, reader);
  if (!answer.unsure || pieces.length < 2) return answer;
  // What looks like several wishes may be one: `before the refactor, checkpoint`.
  const whole = readPieces([{ text, gap: 'sentence', glue: '', asks: /\?\s*$/.test(text), follows: false }], reader);
  return whole.unsure ? answer : whole;
}

const NOTHING: Interpretation = { commands: [], clarify: null, mode: null, unsure: false };
const question = (clarify: string, unsure: boolean): Interpretation => ({ ...NOTHING, clarify, unsure });

/** One kind of quotes, apostrophes and blanks; nothing that is not text, and none of the characters that will stand for quotations. */
const tidy = (line: string): string =>
  line
    .replace(/[\u2018\u2019\u02BC]/g, "'")
    .replace(/[\u201C\u201D\u201E\u00AB\u00BB]/g, '"')
    .replace(/\r\n?|\u2028|\u2029/g, '\n')
    .replace(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u00A0\uE000-\uF8FF\uFEFF]/g, ' ')
    .replace(/[\u200B-\u200F\u202A-\u202E\u2060-\u2069]/g, '')
    .replace(/[^\S\n]+/g, ' ')
    .trim();

interface Reader {
  readonly grammar: Grammar;
  readonly quotes: readonly string[];
  readonly context: NaturalContext;
  /** As it was written. */
  readonly line: string;
}

interface Read {
  readonly meaning: Meaning | null;
  readonly priority: Priority | null;
  readonly doubt: Doubt;
  readonly polite: boolean;
  readonly wish: string;
}

/** A clause as the rules read it: as it stands, then without `now` at its end, then without what is said of its urgency. */
function read(clause: string, { grammar, quotes, context }: Reader, antecedent: string | null): Read {
  const wish = wishOf(clause);
  const meaningOf = (text: string): Meaning | null => grammar.meaningOf(text, quotes, antecedent ?? context.lastTask);
  const done = (meaning: Meaning | null, priority: Priority | null): Read => ({
    meaning,
    priority,
    doubt: wish.doubt,
    polite: wish.polite,
    wish: wish.text,
  });
  const plain = meaningOf(wish.text) ?? meaningOf(wish.text.replace(/ (?:right )?now$/i, ''));
  if (plain !== null && plain.kind !== 'ask') return done(plain, null);
  const ranked = takePriority(wish.text);
  const other = ranked.text === wish.text ? null : meaningOf(wishOf(ranked.text).text);
  if (other !== null) return done(other, ranked.priority);
  const fixed = plain === null ? wishOf(corrected(clause)) : wish;
  const meant = fixed.text === wish.text ? null : meaningOf(fixed.text);
  // A slip is forgiven where nothing is lost if it was none.
  const isSafe = meant?.kind === 'do' && !meant.commands.some(isDestructive);
  return isSafe ? { ...done(meant, null), ...fixed, wish: fixed.text } : done(plain, null);
}

/** One wish: the pieces that belong to it. */
interface Clause {
  readonly text: string;
  /** Of its first piece; what follows may only make it longer. */
  readonly first: Meaning | null;
  /** It has already gone on after a `then`. */
  readonly goesOn: boolean;
  readonly asks: boolean;
  /** Comes after what the line said before. */
  readonly follows: boolean;
}

function readPieces(pieces: readonly Piece[], reader: Reader): Interpretation {
  if (pieces.some((piece) => isCancel(wishOf(piece.text).text) || isCancel(piece.text)))
    return question(nothingDone(), false);
  const wanted = pieces.filter((piece) => !isFiller(piece.text));
  const clauses: Clause[] = [];
  for (const written of wanted) {
    const last = clauses.at(-1);
    const piece = completed(written, last, wanted, reader);
    const meaning = read(piece.text, reader, 'it').meaning;
    const join = last === undefined ? 'new' : joining(last, piece, meaning);
    if (join === 'whose') return question(whoDoes(lineOf(meaning) ?? piece.text), false);
    if (join === 'new' || last === undefined) {
      clauses.push({ text: piece.text, first: meaning, goesOn: false, asks: piece.asks, follows: piece.follows });
    } else {
      clauses[clauses.length - 1] = {
        ...last,
        text: last.text + (written.glue || ' ') + written.text,
        goesOn: last.goesOn || piece.gap === 'then',
        asks: piece.asks,
      };
    }
  }
  if (clauses.length > 1 && clauses.some(({ text }) => isPutOff(wishOf(text).text))) return question(notLater(), false);
  return readClauses(clauses, reader);
}

/**
 * What a piece leaves out because the one before has said it: `ask emma to fix the header and bob to fix the footer`; `first emma fixes
 * the build, then codex updates the docs`.
 */
function completed(piece: Piece, last: Clause | undefined, all: readonly Piece[], { grammar }: Reader): Piece {
  const { text } = wishOf(piece.text);
  const { pattern } = grammar.names;
  if (last !== undefined && isTask(last) && new RegExp(`^${pattern} to \\S`, 'i').test(text))
    return { ...piece, text: `ask ${text}` };
  const isPlan = piece.follows || (piece === all[0] && /^first\b/i.test(piece.text) && all[1]?.follows === true);
  const [, who, verb = '', rest = ''] = (isPlan && new RegExp(`^(${pattern}) ([a-z]+s)( .+)$`, 'i').exec(text)) || [];
  const bare = verb === '' ? null : bareVerb(verb);
  return who === undefined || bare === null ? piece : { ...piece, text: `ask ${who} to ${bare}${rest}` };
}

/** `fixes` → `fix`; null where it is no verb of work. */
const bareVerb = (verb: string): string | null =>
  [verb.slice(0, -1), verb.replace(/es$/i, ''), verb.replace(/ies$/i, 'y')].find((one) => WHOLE_VERB.test(one)) ?? null;

const isTask = ({ first }: Clause): boolean =>
  first?.kind === 'do' && first.free && first.commands.every(({ name }) => name === 'DELEGATE');

/** In a message it may be said of anything. */
const isMessage = ({ first }: Clause): boolean => first?.kind === 'do' && first.commands.every(isLetter);

/** What ends in free words for others. */
const isLetter = ({ name, params }: Command): boolean =>
  isBuiltIn(name) && COMMANDS[name].category === 'messages' && formOf(name, params)?.params.at(-1)?.absorbs === true;

/**
 * Whether a piece begins a wish of its own. Behind a task or a message, `and …` belongs to it unless somebody is given a task; `then …` begins
 * something new, but who is to do what cannot be taken back is asked.
 */
function joining(last: Clause, piece: Piece, meaning: Meaning | null): 'new' | 'same' | 'whose' {
  const { text } = wishOf(piece.text);
  const isFree = last.first?.kind === 'do' && last.first.free;
  const behindTask = isTask(last);
  if (isPutOff(text) && !isMessage(last)) return 'new';
  if (priorityOnly(text) !== null) return isFree && !behindTask ? 'same' : 'new';
  if (meaning === null) return isNegated(text) && !isFree ? 'new' : 'same';
  if (!isFree || piece.gap === 'sentence') return 'new';
  const delegates = meaning.kind === 'do' && meaning.commands.every(({ name }) => name === 'DELEGATE');
  if (delegates) return 'new';
  if (piece.gap === 'weak') return /^(?:show|tell|give) me\b/i.test(text) ? 'new' : 'same';
  if (last.goesOn || (behindTask && meaning.kind === 'do' && meaning.commands.every(isAboutWords))) return 'same';
  return behindTask && (meaning.kind === 'ask' || (meaning.kind === 'do' && meaning.commands.some(isDestructive)))
    ? 'whose'
    : 'new';
}

/** `and then summarize it`, `and explain it`: said to the agent that has the task. */
const isAboutWords = ({ name }: Command): boolean => isBuiltIn(name) && COMMANDS[name].category === 'core';

const lineOf = (meaning: Meaning | null): string | null => {
  const first = meaning?.kind === 'do' ? meaning.commands[0] : undefined;
  const encoded = first === undefined ? null : encodeCommand(first);
  return encoded?.ok === true ? encoded.line : null;
};

function readClauses(clauses: readonly Clause[], reader: Reader): Interpretation {
  const commands: Command[] = [];
  let mode: Mode | null = null;
  let negated = false;
  /** Said before any task: it is of the next one. */
  let waiting: Priority | null = null;
  let antecedent: string | null = null;
  /** What was delegated last in this line, and what the next task has to wait for. */
  let before: readonly Needed[] = [];
  let needed: readonly Needed[] = [];
  for (const clause of clauses) {
    const waits = leadingCondition(wishOf(clause.text).text, reader.context, reader.grammar.names, before);
    if (waits?.kind === 'which') return question(whichNeeded(waits.words, waits.candidates), false);
    if (waits?.kind === 'needs') {
      needed = waits.needed;
      continue;
    }
    const said = read(clause.text, reader, antecedent);
    const only = said.meaning === null ? priorityOnly(said.wish) : null;
    if (only !== null) {
      if (!rank(commands, only)) waiting = only;
      continue;
    }
    if (said.meaning === null) {
      if (!isNegated(said.wish)) return question(missing(said.wish, reader), true);
      negated = true;
      continue;
    }
    if (said.meaning.kind === 'ask') return question(said.meaning.question, false);
    if (said.meaning.kind === 'mode') {
      mode = said.meaning.mode;
      continue;
    }
    if (isDoubtful(said, clause.asks, said.meaning)) return question(reallySure(linesOf(said.meaning.commands)), false);
    const priority: Priority | null = said.priority ?? waiting;
    const given = priority === null ? said.meaning.commands : said.meaning.commands.map((one) => ranked(one, priority));
    const tasks = given.filter(({ name }) => name === 'DELEGATE');
    if (tasks.length > 0) waiting = null;
    const order = inOrder(given, [...needed, ...(clause.follows ? before : [])], before, reader);
    if ('clarify' in order) return question(order.clarify, false);
    // What is done at once cannot wait for a task.
    if (needed.length > 0 && tasks.length === 0 && !given.every(isLooking)) return question(notLater(), false);
    commands.push(...order.commands);
    if (tasks.length > 0) [before, needed] = [order.made, []];
    antecedent = given.findLast(({ name }) => name === 'DELEGATE')?.params[1] ?? antecedent;
  }
  // `never ever do that, roll back to cp_001` may be said of both.
  const lost = negated ? commands.filter(isDestructive) : [];
  if (lost.length > 0) return question(reallySure(linesOf(lost)), false);
  if (commands.length > MOST_COMMANDS) return question(tooMany(), false);
  if (commands.length === 0 && mode === null) {
    return negated ? question(nothingDone(), false) : question(notUnderstood(''), waiting !== null);
  }
  if (needed.length > 0) return question(notUnderstood(clauses.map(({ text }) => text).join(', ')), true);
  if (waiting !== null) return question(notUnderstood(clauses.map(({ text }) => text).join(', ')), true);
  return encoded(named(commands), mode, reader);
}

/** Each task of a clause with what it has to wait for: from the words before it, and from the end of its own. */
function inOrder(
  given: readonly Command[],
  needed: readonly Needed[],
  before: readonly Needed[],
  { context, grammar }: Reader,
): { readonly commands: readonly Command[]; readonly made: readonly Needed[] } | { readonly clarify: string } {
  const commands: Command[] = [];
  const made: Needed[] = [];
  for (const command of given) {
    const [agent = '', words = '', ...more] = command.params;
    const end = command.name === 'DELEGATE' ? trailingCondition(words, context, grammar.names, before) : null;
    if (end?.condition.kind === 'which') return { clarify: whichNeeded(end.condition.words, end.condition.candidates) };
    const other = command.name === 'DELEGATE' ? BEFORE(grammar.names.pattern).exec(words)?.[1] : undefined;
    if (other !== undefined) return { clarify: whoseTurn(other) };
    const task = end?.task ?? words;
    commands.push(end === null ? command : { ...command, params: [agent, task, ...more] });
    if (command.name !== 'DELEGATE') continue;
    made.push({ agent, task });
    const all = [...needed, ...(end?.condition.kind === 'needs' ? end.condition.needed : [])];
    const once = all.filter(
      (one, i) => all.findIndex(({ agent: a, task: t }) => a === one.agent && t === one.task) === i,
    );
    commands.push(...once.map((one) => ({ ...DEPENDS, params: [one.agent, one.task] })));
  }
  return { commands, made };
}

/** `… before codex removes the tables`: is that a task of codex, or does it happen anyway? */
const BEFORE = (names: string): RegExp => new RegExp(` (?:before|until) (${names}) [a-z]+s\\b`, 'i');

const DEPENDS: Command = { name: 'DEPENDS', params: [], limit: null, persistent: false };

/** Gives the last task its priority; false where there is no task. */
function rank(commands: Command[], priority: Priority): boolean {
  const at = commands.findLastIndex(({ name }) => name === 'DELEGATE');
  const task = commands[at];
  if (task === undefined) return false;
  commands[at] = ranked(task, priority);
  return true;
}

const ranked = (command: Command, priority: Priority): Command =>
  command.name === 'DELEGATE' ? { ...command, params: [...command.params.slice(0, 2), priority] } : command;

/** A checkpoint without a name that stands before a task is named after it. */
const named = (commands: readonly Command[]): Command[] =>
  commands.map((command, i) => {
    const next = commands[i + 1];
    if (command.name !== 'CHECKPOINT' || command.params[2] !== UNNAMED || next?.name !== 'DELEGATE') return command;
    const name = nameOf(`before ${next.params[1] ?? ''}`);
    return name === null ? command : { ...command, params: [...command.params.slice(0, 2), name] };
  });

function encoded(commands: readonly Command[], mode: Mode | null, { context, line: said }: Reader): Interpretation {
  const lines: string[] = [];
  const options = context.countTokens === undefined ? {} : { countTokens: context.countTokens };
  for (const read of commands) {
    const command = { ...read, params: read.params.map((param) => originalOf(said, param)) };
    const line = encodeCommand(command, options);
    if (!line.ok) return question(notSayable(command.params.join(' ')), false);
    lines.push(line.line);
  }
  return { commands: lines, clarify: null, mode, unsure: false };
}

const linesOf = (commands: readonly Command[]): string[] =>
  commands.flatMap((command) => {
    const line = encodeCommand(command);
    return line.ok ? [line.line] : [];
  });

const isLooking = (command: Command): boolean => effectOf(command) === 'looks';

/** What loses something: going back, clearing, putting another session in this one's place. */
function isDestructive(command: Command): boolean {
  const effect = effectOf(command);
  return effect === 'loses' || (effect === 'may-lose' && command.params.at(-1) === 'replace');
}

function isDoubtful({ doubt, polite, wish }: Read, asks: boolean, meaning: Meaning & { kind: 'do' }): boolean {
  if (meaning.commands.every(isLooking)) return false;
  if (doubt === 'hardly') return true;
  const destructive = meaning.commands.some(isDestructive);
  if (doubt === 'half' && destructive) return true;
  // `have emma fix it?` may ask whether she has.
  return asks && !polite && doubt === 'none' && (!meaning.free || /^have\b/i.test(wish));
}

const WHOLE_VERB = new RegExp(`^(?:${VERBS})$`, 'i');
const IMPERATIVE = new RegExp(`^(?:${VERBS})\\b`, 'i');

/** What a clause that no rule reaches seems to lack. */
function missing(wish: string, { quotes, context }: Reader): string {
  const words = wish.replace(/[\uE000-\uE3FF]/g, (char) => quotes[char.charCodeAt(0) - 0xe000] ?? '');
  if (IMPERATIVE.test(wish)) return isVague(wish) ? whatThing(words) : whichAgent(words, context.agents);
  return notUnderstood(words);
}
