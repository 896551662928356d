/** `baton doctor`: what is installed, what is in force, what is broken; `--fix` repairs what can be repaired. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { programOf } from '../agents/index.ts';
import { type AgentKind, CLI_KINDS } from '../core/agent-kinds.ts';
import { CONFIG_FILE, type Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import { REDACTED, redactDeep } from '../core/redact.ts';
import type { Check } from '../core/store.ts';
import { probeSandbox } from '../process/sandbox.ts';
import { whereIs } from '../process/where.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { leftHalfBack } from '../runtime/half-back.ts';
import { checkTasks } from '../runtime/lost-tasks.ts';
import { examine } from '../store/fs/doctor.ts';
import { readConfig } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim, green, red } from './style.ts';
import { oneLine, safe } from './text.ts';
import { reading } from './with-store.ts';

interface Options extends Globals {
  readonly fix?: boolean;
}

export async function doctor({ fix = false, ...globals }: Options): Promise<void> {
  const dir = dataFolder(globals);
  const { config, check: configCheck } = examineConfig(dir);
  const checks = [
    node(),
    git(),
    await sandbox(config),
    ...CLI_KINDS.map(agentProgram),
    ...configuredAgents(config),
    configCheck,
    ...(existsSync(dir) ? await examined(dir, fix, globals) : [noFolder(dir)]),
  ];
  if (checks.some(({ ok }) => !ok)) process.exitCode = 1;
  const shown = config === null ? null : withoutSecrets(config);
  if (globals.json) printJson({ checks, dir, config: shown });
  else print(describe(checks, shown));
}

/** What it says is passed around, and asked about. Values that an agent's environment is given are secrets more often than not. */
function withoutSecrets(config: Config): Config {
  const agents = Object.entries(config.agents).map(([name, agent]) => {
    const env = Array.isArray(agent.env)
      ? agent.env
      : Object.fromEntries(Object.keys(agent.env).map((key) => [key, REDACTED]));
    return [name, { ...agent, env }] as const;
  });
  return redactDeep({ ...config, agents: Object.fromEntries(agents) });
}

async function examined(dir: string, fix: boolean, globals: Globals): Promise<readonly Check[]> {
  const checks = await examine(dir, { fix });
  // A folder that does not open has no sessions to tell of.
  if (checks.some(({ name, ok }) => name === 'data folder' && !ok)) return checks;
  const now = Date.now();
  const [halves, tasks] = await reading(globals, (store) =>
    Promise.all([leftHalfBack(store, now), checkTasks(store, now)]),
  );
  return [...checks, ...halves.map((words) => check('rollback', false, words)), ...tasks];
}

const check = (name: string, ok: boolean, detail: string): Check => ({ name, ok, detail });

/** The oldest that the package says it works with; a test holds this to package.json. */
export const LEAST_NODE = [20, 19] as const;

function node(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const ok = major > LEAST_NODE[0] || (major === LEAST_NODE[0] && minor >= LEAST_NODE[1]);
  return check('node', ok, `${process.versions.node}${ok ? '' : `; ${LEAST_NODE.join('.')} or later is needed`}`);
}

const git = (): Check => check('git', true, whereIs('git') ?? 'not installed; snapshots and worktrees need it');

/** Whether it is installed says little: it is tried. */
async function sandbox(config: Config | null): Promise<Check> {
  const probed = await probeSandbox();
  const mode = config?.defaults.sandbox ?? 'auto';
  if (probed.ok) {
    const used =
      mode === 'off' ? 'works, and config.yaml says sandbox: off' : 'paths, network and processes are enforced by it';
    return check('bubblewrap', true, `${whereIs('bwrap') ?? ''}; ${used}`);
  }
  const why =
    mode === 'require' ? ', and defaults.sandbox in config.yaml requires it' : '; access is not enforced without it';
  return check('bubblewrap', mode !== 'require', `${probed.reason}${why}`);
}

const agentProgram = (kind: AgentKind): Check => check(kind, true, whereIs(programOf(kind) ?? kind) ?? 'not installed');

/** The program of an agent that config names; a path is taken as it is. */
function configuredAgents(config: Config | null): Check[] {
  return Object.entries(config?.agents ?? {}).flatMap(([name, { kind, command }]): Check[] => {
    const program = command?.[0] ?? programOf(kind);
    if (program === null) return [];
    const path = /[\\/]/.test(program) ? (existsSync(program) ? program : null) : whereIs(program);
    const detail =
      path ?? `${program} is not installed, and config.yaml has an agent of the kind ${kind} that needs it`;
    return [check(`agent ${name}`, path !== null, detail)];
  });
}

function examineConfig(dir: string): { readonly config: Config | null; readonly check: Check } {
  try {
    const config = readConfig(dir);
    const file = join(dir, CONFIG_FILE);
    return { config, check: check('config', true, existsSync(file) ? file : 'no config.yaml; the defaults hold') };
  } catch (cause) {
    if (!(cause instanceof BatonError)) throw cause;
    const { message, hint } = cause;
    return { config: null, check: check('config', false, hint === null ? message : `${message} (${hint})`) };
  }
}

const noFolder = (dir: string): Check => check('data folder', true, `none yet at ${dir}; baton init makes it`);

function describe(checks: readonly Check[], config: Config | null): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const lines = checks.map(({ name, ok, detail }) => {
    const mark = ok ? green('ok    ') : red('broken');
    return `${mark}  ${oneLine(name).padEnd(width)}  ${oneLine(detail)}`;
  });
  const inForce =
    config === null ? [] : [`\n${bold('In force')} ${dim('(config.yaml and defaults)')}`, safe(writeYaml(config))];
  return [...lines, ...inForce].join('\n').trimEnd();
}
