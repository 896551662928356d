/** Small agents for the tests of this folder: a shell script each, named `agent`, and what they may say. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { reportText, type World } from './world.ts';

/** One agent, `emma`, which is the script `agent` of the world. */
export const EMMA = { agents: { emma: { kind: 'command', command: ['agent'] } }, defaults: { sandbox: 'off' } };

/** Words as a piece of shell script that prints them. */
export const print = (text: string): string => `cat <<'SAID'\n${text}\nSAID`;
export const REPORT_DONE = print(reportText());

/** What `emma` does, in shell; it works in the workspace. */
export const emma = (world: World, ...lines: readonly string[]): string =>
  world.script('agent', `#!/bin/sh\n${lines.join('\n')}\n`);

/** A RESPONSE as an agent may say it; on one line. */
export const responseText = (fields: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'RESPONSE',
    session_id: 'test-session',
    task_id: 'T-1',
    agent: { name: 'emma', provider: 'OTHER', model: 'none' },
    task_status: { state: 'COMPLETED', final_signal: 'SUCCESS' },
    execution_summary: { summary: 'It is made.', actions: ['made it'] },
    ...fields,
  });

export const output = (path: string, more: object = {}): { type: string; path: string } => ({
  type: 'FILE',
  path,
  ...more,
});

/** What a program is called with is noted in `calls.txt` of HOME, a line each, the model among it. */
const NOTED = (name: string): string => `echo "${name} $*" >> "$HOME/calls.txt"; cat > /dev/null`;
const line = (value: object): string => print(JSON.stringify(value));

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly usd?: number;
}

/** `claude`, `codex` or `gemini` as far as a run of them can be told by what they print. */
export function fakeCli(world: World, kind: 'claude' | 'codex' | 'gemini', ...lines: readonly string[]): string {
  return world.script(kind, `#!/bin/sh\n${NOTED(kind)}\n${lines.join('\n')}\n`);
}

export const claude = {
  begin: line({ type: 'system', subtype: 'init', session_id: '00000000-0000-4000-8000-000000000001', model: 'opus-x' }),
  /** On the way; every message has its own id. */
  uses: (id: string, { input, output: made }: Tokens): string =>
    line({
      type: 'assistant',
      message: {
        id,
        content: [{ type: 'text', text: 'at work' }],
        usage: { input_tokens: input, output_tokens: made },
      },
    }),
  ends: (text: string, { input, output: made, usd = 0 }: Tokens): string =>
    line({
      type: 'result',
      subtype: 'success',
      is_error: false,
      result: text,
      modelUsage: { 'opus-x': { inputTokens: input, outputTokens: made, costUSD: usd } },
    }),
  says: (text: string): string =>
    line({ type: 'assistant', message: { id: 'last', content: [{ type: 'text', text }], usage: {} } }),
  fails: (status: number, text: string): string =>
    line({ type: 'result', subtype: 'success', is_error: true, api_error_status: status, result: text }),
};

export const codex = (text: string, { input, output: made }: Tokens): string =>
  [
    line({ type: 'thread.started', thread_id: 'thread-1' }),
    line({ type: 'item.completed', item: { id: 'i', type: 'agent_message', text } }),
    line({ type: 'turn.completed', usage: { input_tokens: input, output_tokens: made } }),
  ].join('\n');

export const gemini = (text: string, { input, output: made }: Tokens): string =>
  [
    line({ type: 'init', session_id: 'g-1', model: 'gemini-x' }),
    line({ type: 'message', role: 'assistant', content: text }),
    line({
      type: 'result',
      status: 'success',
      stats: { input_tokens: input, output_tokens: made, total_tokens: input + made },
    }),
  ].join('\n');

/** The programs that were called, with their models, in order. */
export function callsOf(world: World): string[] {
  const path = join(world.home, 'calls.txt');
  if (!existsSync(path)) return [];
  const calls = readFileSync(path, 'utf8').trim().split('\n');
  return calls.map((call) => {
    const words = call.split(' ');
    const at = words.findIndex((word) => word === '--model' || word === '-m');
    return at < 0 ? (words[0] as string) : `${words[0]} ${words[at + 1]}`;
  });
}
