/**
 * One line of a session: a `#COMMAND`, or words that stand for some. Everything that is said here goes through the same commands, the same laws
 * and the same limits, whatever door it came by; and every command is written down with what came of it.
 */
import { BatonError } from '../core/errors.ts';
import {
  COMMANDS,
  type Command,
  exceedsTokens,
  isBuiltIn,
  readDeclaration,
  VARIABLE_TOKENS,
  type Variables,
} from '../protocol/command/index.ts';
import { answerOf } from './answer.ts';
import {
  type Call,
  type Done,
  failed,
  form,
  type Heard,
  type Interpreter,
  type LineSoFar,
  type Said,
  type SessionParts,
  type Voice,
} from './call.ts';
import { askProject } from './commands/project.ts';
import { HANDLERS } from './handlers.ts';
import { createHear, type Hear, type HearOptions } from './hear.ts';
import { createSessionLog } from './log.ts';
import { checkProjectCommands } from './project-commands.ts';
import { codeOf, fileWord, refusalOf } from './refusals.ts';
import { createReader, hasVariables, isPlain, NO_VARIABLES, type Understood } from './understand.ts';

const NO_SIGNAL = new AbortController().signal;

export interface InterpreterOptions extends SessionParts {
  /** Turns a line without `#` into commands; by the rules of `hear.ts` where nothing is said. */
  readonly hear?: Hear;
  /** Asked where no rule reaches: a configured agent. */
  readonly unsure?: HearOptions['unsure'];
}

interface Ran {
  readonly reply: string;
  readonly failed: boolean;
  /** The answers to the commands behind it that were done with it. */
  readonly more: readonly string[];
}

export function createInterpreter(options: InterpreterOptions): Interpreter {
  const { config, store, countTokens, dir, workspace, environment = process.env, now, warn, askAgent } = options;
  checkProjectCommands(config);
  const hear = options.hear ?? createHear(options);
  const log = createSessionLog(dir, warn);
  const read = createReader(config, countTokens);

  const run = async (line: string, voice: Voice, signal: AbortSignal, soFar: LineSoFar | null): Promise<Ran> => {
    const began = performance.now();
    const understood = read(line, hasVariables(line) ? await variablesOf(voice) : NO_VARIABLES);
    const said = urgent(understood.said ?? (await answerTo(understood.command, voice, signal, soFar)), voice);
    const reply = told(understood.command, said);
    log.add(voice.session, { at: now(), command: line, result: reply, ms: performance.now() - began });
    return { reply, failed: said.kind === 'error', more: (said.kind === 'form' && said.more) || [] };
  };

  const answerTo = async (
    command: Command,
    voice: Voice,
    signal: AbortSignal,
    line: LineSoFar | null,
  ): Promise<Said> => {
    // Field by field: a spread of all that is known costs more than most commands.
    const { session, speaker, actor } = voice;
    const call: Call = {
      store,
      config,
      dir,
      workspace,
      environment,
      now,
      countTokens,
      warn,
      askAgent,
      session,
      speaker,
      actor,
      command,
      params: command.params,
      signal,
      line,
    };
    try {
      return await (isBuiltIn(command.name) ? HANDLERS[command.name](call) : askProject(call));
    } catch (cause) {
      // A store that fails is told as that; what a command runs into is an answer.
      const said = cause instanceof BatonError ? ofBaton(cause) : ofFiles(cause, call);
      if (said === null) throw cause;
      return said;
    }
  };

  /** Within the limits of the command; what is deprecated says so, and what to write instead (§10). */
  const told = (command: Command, said: Said): string => {
    const { name } = command;
    const own = isBuiltIn(name) ? undefined : config.commands[name];
    const reply = answerOf(command, said, countTokens, own?.tokens ?? null);
    const instead = isBuiltIn(name) ? COMMANDS[name].deprecated : (own?.deprecated ?? null);
    return instead === null ? reply : `${reply}\n[DEPRECATED] use ${instead}`;
  };

  const variablesOf = async ({ session }: Voice): Promise<Variables> =>
    new Map(Object.entries((await store.session(session))?.variables ?? {}));

  /** `{{NAME}}: "value"` on a line of its own. */
  const declare = async (line: string, voice: Voice): Promise<Done | null> => {
    const declared = readDeclaration(line);
    if (declared === null) return null;
    const began = performance.now();
    const said = await keepVariable(declared, line, voice);
    const reply = answerOf({ name: 'STATE', params: [], limit: null, persistent: false }, said, countTokens);
    log.add(voice.session, { at: now(), command: line, result: reply, ms: performance.now() - began });
    await log.written();
    return { reply, commands: [], clarify: null, failed: said.kind === 'error' };
  };

  const keepVariable = async (
    { name, value, rest }: NonNullable<ReturnType<typeof readDeclaration>>,
    line: string,
    { session, actor }: Voice,
  ): Promise<Said> => {
    if (!isPlain(line)) return failed('E002', 'control_characters');
    // A quotation mark in a value ends it where it has no backslash: what is behind would be lost.
    if (rest !== '') return failed('E002', `unexpected ${rest}`);
    if (exceedsTokens(value, VARIABLE_TOKENS, countTokens)) {
      return failed('E004', `expected at most ${VARIABLE_TOKENS} tokens for {{${name}}}, got more`);
    }
    const answer = await store.send({ message: { type: 'session.variable', session, name, value }, by: actor });
    return answer.kind === 'refused' ? refusalOf(answer.refusal) : form(answer.reply ?? `saved:${name}`);
  };

  /** One after another; what comes after builds upon it, so the first that fails ends it. */
  const runAll = async (commands: readonly string[], voice: Voice, signal: AbortSignal): Promise<Ran[]> => {
    const ran: Ran[] = [];
    const made = new Map<string, string>();
    while (ran.length < commands.length) {
      const [line = '', ...behind] = commands.slice(ran.length);
      const needs = commands.length > 1 && line.startsWith('#DELEGATE:') ? leadingDepends(behind) : [];
      const one = await run(line, voice, signal, commands.length > 1 ? { made, needs } : null);
      ran.push(one, ...one.more.map((reply) => ({ reply, failed: false, more: [] })));
      if (one.failed) break;
    }
    return ran;
  };

  /** The `#DEPENDS` right behind a task are about it. */
  const leadingDepends = (lines: readonly string[]): Command[] => {
    const end = lines.findIndex((line) => !line.startsWith('#DEPENDS:'));
    return lines.slice(0, end < 0 ? lines.length : end).map((line) => read(line, NO_VARIABLES).command);
  };

  /** What would be done, or the first thing that is wrong with it. */
  const preview = async (commands: readonly string[], voice: Voice): Promise<Done> => {
    const variables = commands.some(hasVariables) ? await variablesOf(voice) : NO_VARIABLES;
    const isWrong = (each: Understood): each is Understood & { said: Said } => each.said !== null;
    const wrong = commands.map((line) => read(line, variables)).find(isWrong);
    const reply = wrong === undefined ? commands.join('\n') : told(wrong.command, wrong.said);
    return { reply, commands, clarify: null, failed: wrong !== undefined };
  };

  return {
    async do(line, voice, { dryRun = false, signal = NO_SIGNAL } = {}) {
      const said = withoutLineEnd(line);
      const declared = !dryRun && /^\s*\{\{/.test(said) ? await declare(said, voice) : null;
      if (declared !== null) return declared;
      const isCommand = /^\uFEFF?\s*#/.test(said);
      const heard: Heard = isCommand ? { commands: [said.trim()], clarify: null } : await hear(said, voice, dryRun);
      const { commands, clarify, note, tell } = heard;
      if (clarify !== null) return { reply: clarify, commands: [], clarify, failed: false };
      if (dryRun) return preview(commands, voice);
      const ran = await runAll(commands, voice, signal);
      if (dir !== null) await log.written();
      const replies = ran.map(({ reply }) => reply);
      const words = tell === undefined ? replies.join('\n') : tell(commands, replies);
      const reply = note === undefined ? words : [note, words].filter((part) => part !== '').join('\n');
      return { reply, commands, clarify: null, failed: ran.some(({ failed: isFailed }) => isFailed) };
    },
  };
}

/** By hand: a pattern would run over many line ends in the middle again and again. */
function withoutLineEnd(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === '\n' || line[end - 1] === '\r')) end--;
  return line.slice(0, end);
}

const ofBaton = (cause: BatonError): Said | null =>
  cause.code.startsWith('E_STORE') ? null : failed(codeOf(cause), cause.message);

function ofFiles(cause: unknown, call: Call): Said | null {
  const word = fileWord(cause, call);
  return word === null ? null : failed('E002', word);
}

/** §14: what goes wrong with a P0 task is told at length. */
const urgent = (said: Said, { speaker }: Voice): Said =>
  said.kind === 'error' && speaker.run !== null && said.situation?.priority === undefined
    ? { ...said, situation: { ...said.situation, priority: speaker.priority } }
    : said;
