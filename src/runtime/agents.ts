/** Which agent does a task, and with which model: what config names, else the CLI that the provider stands for, found on PATH. */
import { accessSync, constants, existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Adapter, AgentConfig, Provider } from '../agents/adapter.ts';
import { adapterFor, kindOfProvider, programOf } from '../agents/index.ts';
import { AGENT_KINDS, type AgentKind, CLI_KINDS } from '../core/agent-kinds.ts';
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Task } from '../core/task.ts';
import { whereIs } from '../process/where.ts';
import { Provider as ProviderSchema, type TaskMessage } from '../protocol/aop2/schema.ts';
import { OPEN } from './envelope.ts';

export interface Chosen {
  /** The name it goes by in records: that of config, or of the task. */
  readonly name: string;
  readonly agent: AgentConfig;
  readonly adapter: Adapter;
  readonly provider: Provider;
  readonly model: string | null;
}

interface Wish {
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly task: Pick<Task, 'routing' | 'fallback'>;
  readonly message: TaskMessage;
  /** Who has claimed it: the agent of a task that names nobody. */
  readonly claimed?: string | undefined;
}

const bare = (kind: AgentKind): AgentConfig => ({ kind, args: [], env: [], roles: [], tags: [] });

/** Throws E_AGENT_NOT_FOUND where there is none. */
export function chooseAgent(wish: Wish): Chosen {
  const { task, message } = wish;
  const { fallback } = task;
  const [name, agent] = fallback === null ? named(wish) : alternative(wish, fallback);
  const adapter = adapterFor(agent.kind);
  const provider = adapter.provider === 'OTHER' ? said(message.target.provider) : adapter.provider;
  const model = fallback?.model ?? modelOf(wish.config, message, agent, provider);
  return { name, agent, adapter, provider, model };
}

const said = (provider: string): Provider => ProviderSchema.safeParse(provider).data ?? 'OTHER';

function named(wish: Wish): [string, AgentConfig] {
  const { config, task, message } = wish;
  const { agent_name: target, provider } = message.target;
  const name = task.routing.agent ?? (target === OPEN ? null : target);
  if (name !== null) {
    // The provider of a TASK stands for the agent that the TASK names, and for no other.
    const found = byName(wish, name) ?? (name === target ? byProvider(wish, said(provider)) : null);
    if (found !== null) return [name, found];
    throw notFound(
      wish,
      kindOfProvider(said(provider)) === null
        ? `there is no agent ${name} in config.yaml, and no agent program of that name is installed`
        : `there is no agent ${name} in config.yaml, and no program on PATH for its provider ${provider}`,
    );
  }
  const claimed = wish.claimed === undefined ? null : byName(wish, wish.claimed);
  if (wish.claimed !== undefined && claimed !== null) return [wish.claimed, claimed];
  const fit = byRouting(config, task.routing);
  if (fit !== null) return [fit, config.agents[fit] as AgentConfig];
  const ofProvider = byProvider(wish, said(message.target.provider));
  if (ofProvider !== null && message.target.provider !== 'OTHER') return [ofProvider.kind, ofProvider];
  const preset = config.defaults.agent;
  if (preset !== null) {
    const found = byName(wish, preset);
    if (found !== null) return [preset, found];
    throw notFound(wish, `the default agent ${preset} is not in config.yaml and is no agent program`);
  }
  const [only] = Object.keys(config.agents);
  if (only !== undefined) return [only, config.agents[only] as AgentConfig];
  const found = installed(wish);
  if (found !== null) return [found, bare(found)];
  throw notFound(wish, 'the task names no agent, config.yaml has none, and no agent program is on PATH');
}

/** The first agent program that is on PATH. */
export const installed = (wish: Pick<Wish, 'environment'>): AgentKind | null =>
  CLI_KINDS.find((kind) => isInstalled(wish, bare(kind))) ?? null;

const notFound = ({ config }: Pick<Wish, 'config'>, what: string): BatonError => {
  const known = Object.keys(config.agents);
  const has = known.length === 0 ? 'config.yaml names none' : `config.yaml names ${known.join(', ')}`;
  return new BatonError('E_AGENT_NOT_FOUND', what, `${has}; baton doctor shows which programs are installed`);
};

/** By the name it has in config, in any case; else a kind of CLI by its own name. */
function byName(wish: Pick<Wish, 'config' | 'environment'>, name: string): AgentConfig | null {
  const { agents } = wish.config;
  if (Object.hasOwn(agents, name)) return agents[name] ?? null;
  const other = Object.keys(agents).find((known) => known.toLowerCase() === name.toLowerCase());
  if (other !== undefined) return agents[other] ?? null;
  const kind = AGENT_KINDS.find((known) => known === name.toLowerCase());
  return kind !== undefined && isInstalled(wish, bare(kind)) ? bare(kind) : null;
}

function byProvider(wish: Wish, provider: Provider): AgentConfig | null {
  const kind = kindOfProvider(provider);
  return kind !== null && isInstalled(wish, bare(kind)) ? bare(kind) : null;
}

function byRouting(config: Config, { role, team, tags }: Task['routing']): string | null {
  if (role === null && team === null && tags.length === 0) return null;
  const members = team === null ? null : (config.teams[team] ?? []);
  const fits = ([name, agent]: [string, AgentConfig]): boolean =>
    (role === null || agent.roles.includes(role)) &&
    (members === null || members.includes(name)) &&
    tags.every((tag) => agent.tags.includes(tag));
  return Object.entries(config.agents).find(fits)?.[0] ?? null;
}

/** The agent of another provider, when a model has to be replaced: one of config that is of its kind, else its CLI. */
/** The agent of a model that is tried in place of another: the one whose model it is, else one of its provider. */
function alternative(wish: Wish, { provider, model }: { provider: string; model: string }): [string, AgentConfig] {
  const kind = kindOfProvider(said(provider));
  const agents = Object.entries(wish.config.agents);
  if (kind !== null) {
    const known = agents.find(([, agent]) => agent.kind === kind);
    if (known !== undefined) return known;
    const found = byProvider(wish, said(provider));
    if (found !== null) return [found.kind, found];
    throw notFound(wish, `there is no agent for the provider ${provider}, which the next model is of`);
  }
  const owner = agents.find(([, agent]) => agent.model === model);
  if (owner !== undefined) return owner;
  const first = named({ ...wish, task: { ...wish.task, fallback: null } });
  // An agent without a provider of its own is given the model's name; claude or codex could do nothing with it.
  if (adapterFor(first[1].kind).provider === 'OTHER') return first;
  throw notFound(wish, `there is no agent with the model ${model}, which is tried next (provider ${provider})`);
}

/** Throws where there is no agent of that name. */
export function checkAgentName(parts: Pick<Wish, 'config' | 'environment'>, name: string): void {
  if (byName(parts, name) !== null) return;
  throw notFound(parts, `there is no agent ${name} in config.yaml, and no agent program of that name is installed`);
}

/** The errors of an agent that cannot be had set these off. */
const FOR_A_MISSING_AGENT: readonly string[] = ['FIRST_ERROR', 'CRITICAL_ERROR', 'ALL_ERRORS'];

/** Throws where an agent is ordered that cannot be had, nor any model that would be tried in its place. */
export function checkOrderedAgent(
  { config, environment, workspace = '.' }: Pick<Wish, 'config' | 'environment'> & { readonly workspace?: string },
  routing: Partial<Task['routing']> | undefined,
  message: TaskMessage,
): void {
  const task = { routing: { agent: null, role: null, team: null, tags: [], ...routing }, fallback: null };
  if (task.routing.agent === null && message.target.agent_name === OPEN) return;
  const wish: Wish = { config, environment, task, message };
  const root = resolve(workspace, message.task.environment.workspace_root);
  const tries = (fallback: Task['fallback']): BatonError | null => {
    try {
      checkProgram(chooseAgent({ ...wish, task: { ...task, fallback } }), root, environment['PATH']);
      return null;
    } catch (cause) {
      if (cause instanceof BatonError) return cause;
      throw cause;
    }
  };
  const failure = tries(null);
  if (failure === null) return;
  const others = message.execution_policy?.alternative_models ?? [];
  const isSaved = others.some(
    ({ provider, model, fallback_trigger: trigger = 'ALL_ERRORS' }) =>
      FOR_A_MISSING_AGENT.includes(trigger) && tries({ provider, model, used: [], causes: [] }) === null,
  );
  if (!isSaved) throw failure;
}

/** Throws where the agent's program is not there or may not be run. */
export function checkProgram({ adapter, agent, name }: Chosen, workspace: string, path: string | undefined): void {
  if (adapter.way === 'remote') return;
  const program = agent.command?.[0] ?? adapter.program;
  if (program === null) return;
  if (!/[\\/]/.test(program)) {
    if (whereIs(program, path) !== null) return;
    throw new BatonError(
      'E_AGENT_NOT_FOUND',
      `the agent ${name} needs the program ${program}, and PATH has none of that name`,
      'install it, or name another program: agents in config.yaml',
    );
  }
  try {
    accessSync(resolve(workspace, program), constants.X_OK);
  } catch {
    if (!existsSync(workspace)) throw new BatonError('E_FILE_NOT_FOUND', `the workspace ${workspace} is not there`);
    throw new BatonError(
      'E_AGENT_NOT_FOUND',
      `the agent ${name} needs the program ${program}, and it is not there or may not be run`,
    );
  }
}

function isInstalled({ environment }: Pick<Wish, 'environment'>, agent: AgentConfig): boolean {
  const program = programOf(agent.kind);
  return program !== null && whereIs(program, environment['PATH']) !== null;
}

/** The TASK's own; else the agent's; else what config maps the profile, the complexity or the category to. Null is the program's own default. */
function modelOf(config: Config, { target, task }: TaskMessage, agent: AgentConfig, provider: Provider): string | null {
  if (target.model !== OPEN) return target.model;
  const mapped = [target.execution_profile, task.complexity, task.category].flatMap((key) =>
    key === undefined ? [] : [config.models[key]?.[provider] ?? []].flat(),
  );
  return agent.model ?? mapped[0] ?? null;
}
