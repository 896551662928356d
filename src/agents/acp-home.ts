/**
 * What an ACP agent needs around it: its login, its keys, its model's address. The protocol does not say, so it goes by the program's
 * name. The four that Baton also drives by themselves (through whatever wrapper) need what they need there; any other has the folders
 * of its name below HOME, by the habit of such programs, the variables that config names, and config's `url` as its model's address.
 */
import type { Launch, ProgramAdapter, TurnRequest } from './adapter.ts';
import { claude } from './claude.ts';
import { codex } from './codex.ts';
import { gemini } from './gemini.ts';
import { inHome, passed, urls } from './launching.ts';
import { opencode } from './opencode.ts';

interface Kin {
  readonly name: RegExp;
  readonly adapter: ProgramAdapter;
  readonly env: Readonly<Record<string, string>>;
}

const KIN: readonly Kin[] = [
  // Its own retries are turned down, because a retry is the runtime's to decide and to record.
  {
    name: /claude/i,
    adapter: claude,
    env: { CLAUDE_CODE_MAX_RETRIES: '2', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
  },
  { name: /codex/i, adapter: codex, env: {} },
  { name: /gemini/i, adapter: gemini, env: {} },
  { name: /opencode/i, adapter: opencode, env: {} },
];

/** Programs that start others: the name that counts is the next word. */
const STARTERS = new Set([
  'node',
  'npx',
  'npm',
  'bun',
  'bunx',
  'deno',
  'python',
  'python3',
  'uv',
  'uvx',
  'pipx',
  'env',
  'sh',
  'bash',
]);

/** Of a path the file's name, or the package's below `node_modules`: a person's folder may be called anything. */
const tellingPart = (word: string): string =>
  word.split(/[\\/]node_modules[\\/]/).at(1) ?? word.split(/[\\/]/).at(-1) ?? '';

/** The words of a command that may be the agent's name: the program, and what a starter starts. */
function nameOf(command: readonly string[]): string | null {
  for (const word of command) {
    const base = word.split(/[\\/]/).at(-1) ?? '';
    const name = base.replace(/@[^@]*$/, '').replace(/\.\w+$/, '');
    if (word.startsWith('-') || word.includes('=') || STARTERS.has(name) || word === 'exec' || word === 'run') continue;
    // A name becomes part of a path below HOME.
    return /^[A-Za-z0-9][\w-]*$/.test(name) ? name : null;
  }
  return null;
}

export function homeOf(request: TurnRequest): Pick<Launch, 'env' | 'passEnv' | 'state' | 'endpoints'> {
  const command = [...(request.agent.command ?? []), ...request.agent.args];
  const own = urls(request.agent.url ?? null);
  const kin = KIN.find(({ name }) => command.some((word) => name.test(tellingPart(word))));
  if (kin !== undefined) {
    const { passEnv, state, endpoints } = kin.adapter.launch(request);
    return { env: kin.env, passEnv, state, endpoints: [...new Set([...own, ...endpoints])] };
  }
  const name = nameOf(command);
  const state =
    name === null
      ? []
      : inHome(
          request,
          `.${name}`,
          `.config/${name}`,
          `.local/share/${name}`,
          `.local/state/${name}`,
          `.cache/${name}`,
        );
  return { env: {}, passEnv: passed(request, []), state, endpoints: own };
}
