/** A project's own commands (§9): a program of its config answers, or an agent. What they say is text, and held to the command's tokens. */
import { finished } from 'node:stream/promises';
import { StringDecoder } from 'node:string_decoder';
import { counted } from '../../core/words.ts';
import { newSuffix } from '../../process/new-id.ts';
import { startProgram } from '../../process/start.ts';
import { within } from '../../process/waiting.ts';
import { stripControls } from '../../protocol/text/clean.ts';
import { type Call, failed, type Said, text } from '../call.ts';

/** What is kept of an endless output: far more than any answer may hold. */
const MOST_CHARS = 16_384;
const GRACE_MS = 2_000;
/** When all processes are gone nobody holds a stream; should one be held, it is not waited for. */
const DRAIN_MS = 2_000;

export async function askProject(call: Call): Promise<Said> {
  const own = call.config.commands[call.command.name];
  if (own === undefined) return failed('E001', `unknown #${call.command.name}`);
  if (call.speaker.run !== null && !own.agents) return failed('E005', `#${call.command.name} is for people`);
  const wrong = own.usage === undefined ? null : miscounted(own.usage, call.params.length);
  if (wrong !== null) return failed('E002', wrong);
  if (own.run !== undefined) return runProgram(call, own.run, own.timeout);
  return askAgent(call, own.agent ?? '', own.does);
}

/** Whether the parameters are as many as the command's `usage` shows; the sentence that says so where they are not. */
function miscounted(usage: string, count: number): string | null {
  const optional = usage.match(/\[:[^\]]*\]/g)?.length ?? 0;
  const required = usage.replace(/\[:[^\]]*\]/g, '').split(':').length - 1;
  const isOpen = /…|\.\.\./.test(usage);
  if (count >= required && (isOpen || count <= required + optional)) return null;
  return `expected ${usage}, got ${counted(count, 'parameter')}`;
}

async function runProgram(call: Call, command: readonly string[], seconds: number): Promise<Said> {
  const { params, workspace, session, speaker } = call;
  // No shell reads them, but the program does: what begins so would be an option of it, which the config does not give.
  const option = params.find((param) => param.startsWith('-'));
  if (option !== undefined) return failed('E002', `expected no parameter that begins with -, got ${option}`);
  const around = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const program = await startProgram({
    command: [...command, ...params],
    cwd: workspace,
    env: { ...Object.fromEntries(around), BATON_SESSION: session, BATON_SPEAKER: speaker.agent },
    stdin: null,
    mark: `command-${newSuffix()}`,
    sandbox: null,
  });
  const [out, err] = [reading(program.stdout), reading(program.stderr)];
  const exit = await within(program.exited, seconds * 1000, call.signal);
  await program.end(exit === null ? GRACE_MS : 0);
  await within(Promise.all([out.ended, err.ended]), DRAIN_MS);
  for (const stream of [program.stdout, program.stderr]) stream.destroy();
  if (exit === null) return failed('E002', call.signal.aborted ? 'interrupted' : `no answer within ${seconds} s`);
  if (exit.code === 0) return text(out.text() || 'done');
  const how = exit.code === null ? `ended by ${exit.signal ?? 'a signal'}` : `exit ${exit.code}`;
  const why = lastLine(err.text()) || lastLine(out.text());
  return failed('E002', why === '' ? how : `${how} ${why}`);
}

const lastLine = (words: string): string => words.trim().split('\n').at(-1)?.trim() ?? '';

interface Reading {
  readonly ended: Promise<unknown>;
  text(): string;
}

function reading(stream: NodeJS.ReadableStream): Reading {
  const decoder = new StringDecoder('utf8');
  let kept = '';
  stream.on('data', (chunk: Buffer) => {
    if (kept.length < MOST_CHARS) kept += decoder.write(chunk);
  });
  // A pipe that breaks at its end is an end.
  const ended = finished(stream, { cleanup: true }).catch(() => undefined);
  return { ended, text: () => stripControls(kept.slice(0, MOST_CHARS)).trim() };
}

async function askAgent(call: Call, agent: string, does: string): Promise<Said> {
  if (call.askAgent === null) return failed('E002', `${agent} cannot be asked here`);
  const given = call.params.length === 0 ? '' : `\n\nGiven: ${call.params.join(', ')}`;
  const prompt = `Answer the command #${call.command.name} of the session ${call.session}: ${does}.${given}\n\nAnswer in one short line.`;
  const said = stripControls(await call.askAgent(agent, prompt, call.signal)).trim();
  return said === '' ? failed('E002', `${agent} said nothing`) : text(said);
}
