/**
 * One line of a session: a `#COMMAND`, or words that stand for some. Everything that is said here goes through the same commands, the same laws
 * and the same limits, whatever door it came by; and every command is written down with what came of it.
 */
import { nearest } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Problem } from '../core/problem.ts';
import {
  COMMANDS,
  type Command,
  commandName,
  exceedsTokens,
  isBuiltIn,
  readCommand,
  readVariables,
  substitute,
  VARIABLE_TOKENS,
  type Variables,
  withDefaults,
} from '../protocol/command/index.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { answerOf } from './answer.ts';
import {
  type Call,
  type Done,
  failed,
  form,
  type Heard,
  type Interpreter,
  type Said,
  type SessionParts,
  type Voice,
} from './call.ts';
import { askProject } from './commands/project.ts';
import { HANDLERS } from './handlers.ts';
import { createHear, type Hear, type HearOptions } from './hear.ts';
import { createSessionLog } from './log.ts';
import { checkProjectCommands } from './project-commands.ts';
import { codeOf, refusalOf } from './refusals.ts';

const NO_SIGNAL = new AbortController().signal;

export interface InterpreterOptions extends SessionParts {
  /** Turns a line without `#` into commands; by the rules of `hear.ts` where nothing is said. */
  readonly hear?: Hear;
  /** Asked where no rule reaches: a configured agent. */
  readonly unsure?: HearOptions['unsure'];
}

/** A longer line is no command. */
const MOST_CHARS = 100_000;

/** A command as it was understood, or why it was not. */
type Understood = { readonly command: Command; readonly said: Said | null };

interface Ran {
  readonly reply: string;
  readonly failed: boolean;
}

export function createInterpreter(options: InterpreterOptions): Interpreter {
  const { config, store, countTokens } = options;
  checkProjectCommands(config);
  const hear = options.hear ?? createHear(options);
  const log = createSessionLog(options.dir, options.warn);
  const extraNames = new Set(Object.keys(config.commands));
  /** §10: what is deprecated says so, and what to write instead. */
  const deprecation = (name: string): string => {
    const instead = isBuiltIn(name) ? COMMANDS[name].deprecated : config.commands[name]?.deprecated;
    return instead === null || instead === undefined ? '' : `\n[DEPRECATED] use ${instead}`;
  };
  const limitOf = (name: string): number | null => (isBuiltIn(name) ? null : (config.commands[name]?.tokens ?? null));

  const run = async (line: string, voice: Voice, signal: AbortSignal): Promise<Ran> => {
    const began = performance.now();
    const { command, said } = await answerTo(line, voice, signal);
    const reply = `${answerOf(command, said, countTokens, limitOf(command.name))}${deprecation(command.name)}`;
    log.add(voice.session, { at: options.now(), command: line, result: reply, ms: performance.now() - began });
    return { reply, failed: said.kind === 'error' };
  };

  const answerTo = async (
    line: string,
    voice: Voice,
    signal: AbortSignal,
  ): Promise<{ readonly command: Command; readonly said: Said }> => {
    const { command, said } = await understand(line, voice);
    if (said !== null) return { command, said: urgent(said, voice) };
    const call: Call = { ...options, ...voice, command, params: command.params, signal };
    try {
      return { command, said: urgent(await handle(call), voice) };
    } catch (cause) {
      // A store that fails is told as that; what a command runs into is an answer.
      if (!(cause instanceof BatonError) || cause.code.startsWith('E_STORE')) throw cause;
      return { command, said: urgent(failed(codeOf(cause), cause.message), voice) };
    }
  };

  const understand = async (line: string, { session }: Voice): Promise<Understood> => {
    const nothing: Command = { name: commandName(line) ?? '', params: [], limit: null, persistent: false };
    if (line.length > MOST_CHARS)
      return { command: nothing, said: failed('E004', `line_over_${MOST_CHARS}_characters`) };
    if (stripControls(line) !== line) return { command: nothing, said: failed('E002', 'control_characters') };
    const variables = await variablesOf(line, session);
    const problems: Problem[] = [];
    const fill = (param: string): string => {
      const filled = substitute(param, variables, { countTokens });
      problems.push(...filled.problems);
      return filled.text;
    };
    const read = readCommand(line, { countTokens, extraNames, ...(line.includes('{{') ? { fill } : {}) });
    if (read.command === null) return { command: nothing, said: failed('E001', noCommand(line)) };
    // A variable that has no value is what is wrong, not what stands there without it.
    const wrong = [...problems, ...read.problems].find(({ severity }) => severity === 'error');
    if (wrong === undefined) return { command: withDefaults(read.command), said: null };
    const words = wrong.code === 'E001' ? unknown(read.command.name) : wrong.message;
    return { command: read.command, said: failed(codeOf(wrong), words) };
  };

  const variablesOf = async (line: string, session: string): Promise<Variables> =>
    new Map(line.includes('{{') ? Object.entries((await store.session(session))?.variables ?? {}) : []);

  const unknown = (name: string): string =>
    `unknown #${name.slice(0, 40)}, nearest #${nearest(name.slice(0, 40), [...Object.keys(COMMANDS), ...extraNames])}`;

  /** `#state:list`: who writes it so means a command, and is told how it is written. */
  const noCommand = (line: string): string => {
    const name = /^#([a-z][a-z0-9_]*)(?=:|\s*$)/i.exec(line)?.[1]?.toUpperCase() ?? '';
    return isBuiltIn(name) || extraNames.has(name) ? `write #${name}` : 'expected #COMMAND';
  };

  /** `{{NAME}}: "value"` on a line of its own. */
  const declare = async (line: string, voice: Voice): Promise<Done | null> => {
    if (!line.trimStart().startsWith('{{')) return null;
    const [declared] = readVariables(line);
    if (declared === undefined) return null;
    const began = performance.now();
    const said = await keepVariable(declared, line, voice);
    const command: Command = { name: 'STATE', params: [], limit: null, persistent: false };
    const reply = answerOf(command, said, countTokens);
    log.add(voice.session, { at: options.now(), command: line, result: reply, ms: performance.now() - began });
    await log.written();
    return { reply, commands: [], clarify: null, failed: said.kind === 'error' };
  };

  const keepVariable = async (
    [name, value]: readonly [string, string],
    line: string,
    { session, actor }: Voice,
  ): Promise<Said> => {
    if (stripControls(line) !== line) return failed('E002', 'control_characters');
    if (exceedsTokens(value, VARIABLE_TOKENS, countTokens)) {
      return failed('E004', `expected at most ${VARIABLE_TOKENS} tokens for {{${name}}}, got more`);
    }
    const answer = await store.send({ message: { type: 'session.variable', session, name, value }, by: actor });
    return answer.kind === 'refused' ? refusalOf(answer.refusal) : form(answer.reply ?? `saved:${name}`);
  };

  /** What would be done, or the first thing that is wrong with it. */
  const preview = async (commands: readonly string[], voice: Voice): Promise<Done> => {
    for (const line of commands) {
      const { command, said } = await understand(line, voice);
      if (said !== null) return { reply: answerOf(command, said, countTokens), commands, clarify: null, failed: true };
    }
    return { reply: commands.join('\n'), commands, clarify: null, failed: false };
  };

  return {
    async do(line, voice, { dryRun = false, signal = NO_SIGNAL } = {}) {
      const said = line.replace(/[\r\n]+$/, '');
      const declared = dryRun ? null : await declare(said, voice);
      if (declared !== null) return declared;
      const isCommand = /^\uFEFF?\s*#/.test(said);
      const heard: Heard = isCommand ? { commands: [said.trim()], clarify: null } : await hear(said, voice, dryRun);
      const { commands, clarify, note, tell } = heard;
      if (clarify !== null) return { reply: clarify, commands: [], clarify, failed: false };
      if (dryRun) return preview(commands, voice);
      const ran: Ran[] = [];
      for (const command of commands) {
        ran.push(await run(command, voice, signal));
        // What comes after builds upon it.
        if (ran.at(-1)?.failed) break;
      }
      await log.written();
      const replies = ran.map(({ reply }) => reply);
      const told = tell === undefined ? replies.join('\n') : tell(commands, replies);
      const reply = [note ?? '', told].filter((part) => part !== '').join('\n');
      return { reply, commands, clarify: null, failed: ran.some(({ failed: isFailed }) => isFailed) };
    },
  };
}

/** §14: what goes wrong with a P0 task is told at length. */
const urgent = (said: Said, { speaker }: Voice): Said =>
  said.kind === 'error' && speaker.run !== null && said.situation?.priority === undefined
    ? { ...said, situation: { ...said.situation, priority: speaker.priority } }
    : said;

async function handle(call: Call): Promise<Said> {
  const { name } = call.command;
  if (!isBuiltIn(name)) return askProject(call);
  const handler = HANDLERS[name];
  return handler === undefined ? failed('E001', `#${name}`) : handler(call);
}
