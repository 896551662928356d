/**
 * What is around a run: its environment, its sandbox, its way to the network; and what of its access is enforced here, by what, and what is
 * not. Nothing is started before this is known, and `sandbox: require` refuses where it cannot be.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename } from 'node:path';
import type { Adapter, AgentConfig, Launch } from '../agents/adapter.ts';
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import { type Access, isWithin } from '../core/policy.ts';
import { openGate } from '../process/network.ts';
import { runtimeFolders } from '../process/runtime-folder.ts';
import { probeSandbox, programsHeld } from '../process/sandbox.ts';
import type { Bind, SandboxSpec } from '../process/types.ts';
import type { GitInfo } from '../workspace/git.ts';
import { gapsOf, pathsOf, type RunAccess, type SandboxHere } from './access/run-access.ts';
import { gitGuards } from './binds.ts';
import { gitSettings } from './git-settings.ts';
import { worktreeFolder } from './places.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the run's record says about it. */
interface Enforced {
  readonly sandbox: 'bubblewrap' | 'none';
  readonly network: Access['network'];
  readonly paths: Readonly<Record<string, unknown>>;
  readonly by: readonly string[];
  readonly missing: readonly string[];
}

export interface Surroundings {
  readonly mark: string;
  readonly sandbox: SandboxSpec | null;
  readonly enforced: Enforced;
  environment(launch: Pick<Launch, 'env' | 'passEnv'>): Record<string, string>;
  /** Whether the proxy sees what the model says of its use. */
  readonly isMetered: boolean;
  /** Hosts that were asked for and refused. */
  readonly refusedHosts: () => readonly string[];
  close(): Promise<void>;
}

/** Whether a sandbox will be around the agents of this machine; throws where one is required and there is none. */
export async function sandboxHere(config: Config, adapter: Adapter): Promise<SandboxHere> {
  const mode = config.defaults.sandbox;
  if (mode === 'off') return { ok: false, reason: 'config.yaml says sandbox: off' };
  const probed: { ok: boolean; reason: string } =
    adapter.way === 'remote'
      ? { ok: false, reason: `an agent of kind ${adapter.kind} works elsewhere` }
      : { reason: '', ...(await probeSandbox()) };
  if (mode === 'require' && !probed.ok) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      `config.yaml says sandbox: require, and there can be none: ${probed.reason}`,
      'install bubblewrap, or set defaults.sandbox to auto',
    );
  }
  return probed;
}

interface SurroundOptions {
  readonly config: Config;
  readonly environment: Environment;
  readonly adapter: Adapter;
  readonly agent: AgentConfig;
  readonly access: RunAccess;
  readonly mark: string;
  readonly launch: Launch | null;
  readonly git: GitInfo | null;
  /** The data folder, which no agent sees. */
  readonly dir: string;
  /** What the run has of its own: its folder and socket, and where it puts its details. */
  readonly own: readonly Bind[];
  /** A short path for the proxy's socket. */
  readonly folder: string;
  /** Where Baton's own HTTP listens: within reach of all that may reach anything. */
  readonly url?: string;
  /** Told of tokens that pass the proxy in plain sight; each time by how many more. */
  onUsage?(tokensInput: number, tokensOutput: number): void;
}

export async function surround(options: SurroundOptions): Promise<Surroundings> {
  const { access, agent, environment, launch, mark } = options;
  const base = (asked: Pick<Launch, 'env' | 'passEnv'>): Record<string, string> =>
    environmentOf(environment, agent, asked);
  const told = { network: access.network, paths: pathsOf(access), missing: gapsOf(access) };
  if (!access.sandbox.ok || launch === null) {
    const enforced: Enforced = { ...told, sandbox: 'none', by: launch?.enforces ?? [] };
    return {
      mark,
      sandbox: null,
      enforced,
      isMetered: false,
      environment: base,
      refusedHosts: () => [],
      close: async () => {},
    };
  }
  makeState(launch.state);
  const [network, git] = await Promise.all([networkOf(options, launch), gitSettings(environment)]);
  const home = environment['HOME'] ?? homedir();
  const sandbox: SandboxSpec = {
    readPaths: access.readPaths.filter((path) => existsSync(path)),
    writePaths: access.writable,
    binds: [
      ...launch.state.map((path) => ({ path, writable: true })),
      ...inWorktree(options),
      ...gitGuards(options.git, access.writable),
      ...access.readOnlyPaths.map((path) => ({ path, writable: false })),
      ...options.own,
    ],
    // Whoever reaches the sockets of the store and of other runs can speak for them.
    hide: [options.dir, ...runtimeFolders()],
    network: network.spec,
    home,
  };
  return {
    mark,
    sandbox,
    isMetered: network.isMetered,
    enforced: {
      ...told,
      sandbox: 'bubblewrap',
      by: [
        'bubblewrap: paths, process namespace, dies with its parent',
        ...programsHeld(sandbox, launch.command, access.workspace, environment['PATH']).map(
          (path) => `bubblewrap: the agent's own program ${path} is there to be read, and cannot be written`,
        ),
        ...network.by,
        ...launch.enforces,
      ],
    },
    environment: (asked) => ({ ...git, ...base(asked), ...network.env, TMPDIR: '/tmp' }),
    refusedHosts: network.refused,
    close: network.close,
  };
}

/**
 * Where a program keeps its conversations, as it would make it itself when it is first used. What is not there cannot be bound, and what it
 * would make inside is gone with the sandbox, and its conversation with it.
 */
function makeState(paths: readonly string[]): void {
  for (const path of paths) {
    // A file is the program's own to make.
    if (/[^.]\./.test(basename(path)) || existsSync(path)) continue;
    try {
      mkdirSync(path, { recursive: true, mode: 0o700 });
    } catch {
      // A HOME that is not there or may not be written: the program does without, as it would outside.
    }
  }
}

/** A worktree lies in the data folder, which is hidden: what is granted of it is shown nevertheless. Nobody can grant more of that folder. */
function inWorktree({ access, dir }: SurroundOptions): Bind[] {
  const { workspace } = access;
  if (!isWithin(workspace, [worktreeFolder(dir)])) return [];
  const isShown = (path: string): boolean => isWithin(path, [workspace]);
  return [
    ...access.readPaths.filter(isShown).map((path) => ({ path, writable: false })),
    ...access.writable.filter(isShown).map((path) => ({ path, writable: true })),
  ];
}

interface Network {
  readonly isMetered: boolean;
  readonly spec: SandboxSpec['network'];
  readonly env: Readonly<Record<string, string>>;
  readonly by: readonly string[];
  readonly refused: () => readonly string[];
  close(): Promise<void>;
}

/** NONE is the model's endpoint and nothing else (no network at all for `command`), RESTRICTED adds config's hosts, FULL is open. */
async function networkOf(
  { access, adapter, config, environment, folder, url, onUsage }: SurroundOptions,
  launch: Launch,
): Promise<Network> {
  const plain = { isMetered: false, env: {}, refused: () => [], close: async () => {} };
  if (access.network === 'FULL') return { ...plain, spec: 'open', by: [] };
  if (access.network === 'NONE' && adapter.kind === 'command') {
    return { ...plain, spec: 'none', by: ['bubblewrap: no network'] };
  }
  const restricted = access.network === 'RESTRICTED';
  const gate = await openGate({
    allow: restricted ? [...config.network.allow, ...(url === undefined ? [] : [new URL(url).host])] : [],
    endpoints: launch.endpoints,
    loopback: restricted,
    folder,
    environment,
    ...(onUsage === undefined ? {} : { onUsage }),
  });
  return {
    spec: gate.gate,
    isMetered: onUsage !== undefined && launch.endpoints.every((url) => url.startsWith('http:')),
    env: gate.env,
    by: [`allow-list proxy: network ${access.network}`],
    refused: () => gate.refused,
    close: () => gate.close(),
  };
}

/** Of Baton's own environment, what any program needs; all else only by name. */
const BASE = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'TZ',
  'TMPDIR',
  'TERM',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
];
const BASE_PREFIX = /^LC_/;
/** What Windows needs to start anything at all. */
const WINDOWS = ['SystemRoot', 'ComSpec', 'PATHEXT', 'APPDATA', 'LOCALAPPDATA', 'USERPROFILE', 'TEMP', 'TMP'];

function environmentOf(
  environment: Environment,
  agent: AgentConfig,
  launch: Pick<Launch, 'env' | 'passEnv'>,
): Record<string, string> {
  const isList = Array.isArray(agent.env);
  const passed = [
    ...BASE,
    ...Object.keys(environment).filter((name) => BASE_PREFIX.test(name)),
    ...(process.platform === 'win32' ? WINDOWS : []),
    ...launch.passEnv,
    ...(isList ? (agent.env as readonly string[]) : []),
  ];
  const env: Record<string, string> = {};
  for (const name of passed) {
    const value = environment[name];
    if (value !== undefined) env[name] = value;
  }
  // The launch has what config sets in it already, and may have added to it.
  return { ...env, ...(isList ? {} : (agent.env as Record<string, string>)), ...launch.env };
}
