/**
 * One line of a session: a `#COMMAND`, or words that stand for some. Everything that is said here goes through the same commands, the same laws
 * and the same limits, whatever door it came by; and every command is written down with what came of it.
 */
import { BatonError } from '../core/errors.ts';
import {
  type Command,
  commandName,
  isBuiltIn,
  readCommand,
  readVariables,
  type SessionErrorCode,
  substitute,
  withDefaults,
} from '../protocol/command/index.ts';
import { answerOf } from './answer.ts';
import {
  type Call,
  type Done,
  failed,
  form,
  type Interpreter,
  type Said,
  type SessionParts,
  type Voice,
} from './call.ts';
import { HANDLERS } from './handlers.ts';
import { createSessionLog } from './log.ts';

const NO_SIGNAL = new AbortController().signal;

/** What the words of a person are turned into; see `natural.ts`. */
export interface Heard {
  readonly commands: readonly string[];
  readonly clarify: string | null;
  /** How the answer is told, where it is not as it is. */
  readonly tell?: (commands: readonly string[], replies: readonly string[]) => string;
}

export interface InterpreterOptions extends SessionParts {
  /** Turns a line without `#` into commands. */
  readonly hear: (line: string, voice: Voice) => Promise<Heard>;
}

/** A longer line is no command. */
const MOST_CHARS = 100_000;

export function createInterpreter(options: InterpreterOptions): Interpreter {
  const log = createSessionLog(options.dir, options.warn);
  const extraNames = new Set(Object.keys(options.config.commands));

  const run = async (line: string, voice: Voice, signal: AbortSignal): Promise<string> => {
    const began = performance.now();
    const { command, said } = await answerTo(line, voice, signal);
    const reply = answerOf(command, said, options.countTokens);
    log.add(voice.session, { at: options.now(), command: line, result: reply, ms: performance.now() - began });
    return reply;
  };

  const answerTo = async (
    line: string,
    voice: Voice,
    signal: AbortSignal,
  ): Promise<{ command: Command; said: Said }> => {
    const nothing: Command = { name: commandName(line) ?? '', params: [], limit: null, persistent: false };
    if (line.length > MOST_CHARS)
      return { command: nothing, said: failed('E004', `line_over_${MOST_CHARS}_characters`) };
    const { command: read, problems } = readCommand(line, { countTokens: options.countTokens, extraNames });
    if (read === null) return { command: nothing, said: failed('E001', 'expected_#COMMAND') };
    const wrong = problems.find(({ severity }) => severity === 'error');
    if (wrong !== undefined) return { command: read, said: failed(codeOf(wrong.code), wrong.message) };
    const filled = await fillIn(read, voice);
    if ('said' in filled) return { command: read, said: filled.said };
    const command = withDefaults(filled);
    const call: Call = { ...options, ...voice, command, params: command.params, signal };
    try {
      return { command, said: await handle(call) };
    } catch (cause) {
      // A store that fails is told as that; what a command runs into is an answer.
      if (!(cause instanceof BatonError) || cause.code.startsWith('E_STORE')) throw cause;
      const code: SessionErrorCode = cause.code === 'E_PERMISSION_DENIED' ? 'E005' : 'E002';
      return { command, said: failed(code, cause.message) };
    }
  };

  /** Variables stand within parameters: a value never becomes another command or another parameter. */
  const fillIn = async (command: Command, { session }: Voice): Promise<Command | { said: Said }> => {
    if (!command.params.some((param) => param.includes('{{'))) return command;
    const held = (await options.store.session(session))?.variables ?? {};
    const variables = new Map(Object.entries(held));
    const params: string[] = [];
    for (const param of command.params) {
      const { text, problems } = substitute(param, variables, { countTokens: options.countTokens });
      const wrong = problems[0];
      if (wrong !== undefined) return { said: failed(codeOf(wrong.code), wrong.message) };
      params.push(text);
    }
    return { ...command, params };
  };

  const declare = async (line: string, voice: Voice): Promise<Done | null> => {
    if (!line.trimStart().startsWith('{{')) return null;
    const [declared] = readVariables(line);
    if (declared === undefined) return null;
    const [name, value] = declared;
    const { problems } = substitute(`{{${name}}}`, new Map([[name, value]]), { countTokens: options.countTokens });
    const wrong = problems[0];
    const answer =
      wrong === undefined
        ? await options.store.send({
            message: { type: 'session.variable', session: voice.session, name, value },
            by: voice.actor,
          })
        : null;
    const command: Command = { name: 'STATE', params: [], limit: null, persistent: false };
    const said =
      wrong !== undefined
        ? failed(codeOf(wrong.code), wrong.message)
        : answer?.kind === 'refused'
          ? failed(codeOf(answer.refusal.code), answer.refusal.message)
          : form(`saved:${name}`);
    const reply = answerOf(command, said, options.countTokens);
    return { reply, commands: [], clarify: null, failed: reply.startsWith('#ERROR') };
  };

  return {
    async do(line, voice, { dryRun = false, signal = NO_SIGNAL } = {}) {
      const said = line.replace(/[\r\n]+$/, '');
      const declared = dryRun ? null : await declare(said, voice);
      if (declared !== null) return declared;
      const isCommand = said.trimStart().startsWith('#');
      const heard: Heard = isCommand ? { commands: [said.trim()], clarify: null } : await options.hear(said, voice);
      const { commands, clarify, tell } = heard;
      if (clarify !== null) return { reply: clarify, commands: [], clarify, failed: false };
      if (dryRun) return { reply: commands.join('\n'), commands, clarify: null, failed: false };
      const replies: string[] = [];
      for (const command of commands) {
        replies.push(await run(command, voice, signal));
        // What comes after builds upon it.
        if (replies.at(-1)?.startsWith('#ERROR')) break;
      }
      await log.written();
      const isFailed = replies.at(-1)?.startsWith('#ERROR') === true;
      const reply = tell === undefined ? replies.join('\n') : tell(commands, replies);
      return { reply, commands, clarify: null, failed: isFailed };
    },
  };
}

async function handle(call: Call): Promise<Said> {
  const { name } = call.command;
  const handler = isBuiltIn(name) ? HANDLERS[name] : undefined;
  return handler === undefined ? failed('E001', `#${name}`) : handler(call);
}

const codeOf = (code: string): SessionErrorCode =>
  /^E00[1-5]$/.test(code) ? (code as SessionErrorCode) : code === 'E_PARSE_FAILURE' ? 'E001' : 'E002';
