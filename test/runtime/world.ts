/**
 * A world for tests of the runtime: a temp folder with a workspace, a data folder, a HOME, a real store and a host in this process. `run`
 * hands TASKs in and works until nothing is left; what came of each is its answer. All of it goes when the test is over.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach } from 'vitest';
import { tasksOfMessages } from '../../src/cli/new-tasks.ts';
import { configOf } from '../../src/core/config.ts';
import type { Event } from '../../src/core/laws/decision.ts';
import type { Store } from '../../src/core/store.ts';
import type { Task } from '../../src/core/task.ts';
import { isDead, statOf } from '../../src/process/identity.ts';
import { MARK } from '../../src/process/types.ts';
import { decodeAop2, type TaskMessage } from '../../src/protocol/aop2/index.ts';
import { type Host, type HostOptions, type Live, openHost } from '../../src/runtime/host.ts';
import { logFolder, markOf } from '../../src/runtime/places.ts';
import type { RunResult } from '../../src/runtime/run.ts';
import { type Work, workOn } from '../../src/runtime/scheduler.ts';
import { openStore } from '../../src/store/open.ts';

export interface WorldOptions {
  /** As it stands in config.yaml; `agents` among it. */
  readonly config?: object;
  /** Beside PATH and HOME; these too, where they are named. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /** Makes a repository of the workspace, with one commit. */
  readonly git?: boolean;
  /** Where all of it lies; a temp folder of its own where it is not given. */
  readonly root?: string;
  /** The workspace's name in the root. */
  readonly workspace?: string;
  /** The data folder's path in the root; `.baton` in the workspace where it is not given. */
  readonly data?: string;
  readonly host?: Partial<HostOptions>;
}

/** What came of a task. */
export interface Ran {
  readonly task: Task;
  /** Of its runs, in order; the last one counts. */
  readonly results: readonly RunResult[];
  readonly last: RunResult;
  /** What the journal says of it, oldest first. */
  readonly events: readonly Event[];
  /** The details of its events of one type, oldest first. */
  told(type: string): readonly Readonly<Record<string, unknown>>[];
  /** A file of the last run's folder; nothing where it is not there. */
  log(name: string): string;
}

export interface World {
  readonly root: string;
  readonly workspace: string;
  readonly dir: string;
  readonly home: string;
  readonly store: Store;
  readonly host: Host;
  readonly warnings: string[];
  readonly lives: Live[];
  path(name: string): string;
  /** A file of the workspace; null where it is not there. */
  read(name: string): string | null;
  /** Writes a file of the workspace, or of anywhere by an absolute path. */
  write(name: string, content: string): string;
  /** A program beside the workspace that the sandbox shows, as a command for config. */
  script(name: string, content: string): string;
  add(...messages: readonly TaskMessage[]): Promise<readonly Task[]>;
  run(message: TaskMessage, work?: Partial<Work>): Promise<Ran>;
  runAll(messages: readonly TaskMessage[], work?: Partial<Work>): Promise<readonly Ran[]>;
  /** What became of a task that was added. */
  ran(id: string, results: readonly RunResult[]): Promise<Ran>;
  /** The processes of any run of this world that are alive. */
  alive(): number[];
  close(): Promise<void>;
}

const worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

export async function makeWorld(options: WorldOptions = {}): Promise<World> {
  const root = options.root ?? realpathSync(mkdtempSync(join(tmpdir(), 'baton-world-')));
  const [workspace, home, bin] = [join(root, options.workspace ?? 'ws'), join(root, 'home'), join(root, 'bin')];
  for (const folder of [workspace, home, bin]) mkdirSync(folder, { recursive: true });
  if (options.git === true) makeRepository(workspace);
  const dir = options.data === undefined ? join(workspace, '.baton') : join(root, options.data);
  // A task is made only for an agent whose program is there; what it does, a test says with `script`.
  for (const name of ['agent', 'qa']) {
    writeFileSync(join(bin, name), '#!/bin/sh\nexit 0\n');
    chmodSync(join(bin, name), 0o755);
  }
  const store = await openStore(dir, { create: true });
  const warnings: string[] = [];
  const lives: Live[] = [];
  const host = await openHost({
    store,
    dir,
    config: configOf(inPlace(options.config ?? {})),
    environment: { PATH: `${bin}:${process.env['PATH'] ?? '/usr/bin:/bin'}`, HOME: home, ...options.environment },
    workspace,
    warn: (text) => void warnings.push(text),
    onLive: (live) => void lives.push(live),
    ...options.host,
  });
  const add = async (...messages: readonly TaskMessage[]): Promise<readonly Task[]> => {
    const answer = await store.send({
      message: { type: 'task.add', tasks: tasksOfMessages(messages), maxDepth: 3 },
      by: { kind: 'person', name: 'test' },
    });
    if (answer.kind === 'refused') throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
    return answer.tasks;
  };

  const ran = async (id: string, results: readonly RunResult[]): Promise<Ran> => {
    const events = (await store.history(id)).flatMap((record) => record.events).filter(({ task }) => task === id);
    const own = results.filter((result) => result.task.id === id);
    const last = own.at(-1) as RunResult;
    return {
      task: (await store.find(id)) as Task,
      results: own,
      last,
      events,
      told: (type) => events.flatMap((event) => (event.type === type ? [event.detail ?? {}] : [])),
      log(name) {
        const path = join(logFolder(host.dir, last.task.run?.id ?? ''), name);
        return existsSync(path) ? readFileSync(path, 'utf8') : '';
      },
    };
  };

  const runAll = async (messages: readonly TaskMessage[], work: Partial<Work> = {}): Promise<readonly Ran[]> => {
    const tasks = await add(...messages);
    const results: RunResult[] = [];
    const only = tasks.map(({ id }) => id);
    const leaving = new AbortController().signal;
    const onResult = (result: RunResult): void => void results.push(result);
    await workOn(host, { only, parallel: 4, untilEmpty: true, leaving, onResult, ...work });
    return Promise.all(only.map((id) => ran(id, results)));
  };

  let closed: Promise<void> | null = null;
  const world: World = {
    root,
    workspace,
    dir,
    home,
    store,
    host,
    warnings,
    lives,
    path: (name) => join(workspace, name),
    read: (name) => (existsSync(join(workspace, name)) ? readFileSync(join(workspace, name), 'utf8') : null),
    write(name, content) {
      const path = name.startsWith('/') ? name : join(workspace, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    script(name, content) {
      const path = join(bin, name);
      writeFileSync(path, content);
      chmodSync(path, 0o755);
      return path;
    },
    add,
    run: async (message, work) => (await runAll([message], work))[0] as Ran,
    runAll,
    ran,
    alive: () => markedPids(dir),
    close() {
      closed ??= (async () => {
        await host.close();
        await store.close();
        rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
      })();
      return closed;
    },
  };
  worlds.push(world);
  return world;
}

/** Tasks that say nothing work in the workspace itself, where most tests look; those of worktrees say so. */
const inPlace = ({ defaults, ...config }: { defaults?: object }): object => ({
  ...config,
  defaults: { isolation: 'shared', ...defaults },
});

export function makeRepository(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const git = (...args: string[]): void => void execFileSync('git', ['-C', folder, ...args], { stdio: 'ignore' });
  git('init', '-q', '-b', 'main', '.');
  git('config', 'user.email', 'test@example.org');
  git('config', 'user.name', 'test');
  writeFileSync(join(folder, 'README.md'), 'hello\n');
  writeFileSync(join(folder, '.gitignore'), '.baton/\n');
  git('add', '.');
  git('commit', '-q', '-m', 'first');
}

/** Some of a TASK; the rest is filled in. */
export interface TaskParts {
  readonly agent: string;
  readonly model?: string;
  readonly provider?: TaskMessage['target']['provider'];
  readonly objective?: string;
  readonly session?: Partial<TaskMessage['session']>;
  readonly target?: Partial<TaskMessage['target']>;
  readonly task?: Partial<TaskMessage['task']>;
  readonly policy?: TaskMessage['execution_policy'];
  readonly rails?: TaskMessage['guard_rails'];
  readonly phases?: TaskMessage['phases'];
}

let number = 0;
/** A TASK that was looked at as one from outside would be. */
export function taskOf(world: Pick<World, 'workspace'>, parts: TaskParts): TaskMessage {
  number += 1;
  const { agent, model = 'none', provider = 'OTHER', objective = 'Do what you do.' } = parts;
  const message = {
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: {
      session_id: 'test-session',
      created_at: '2026-11-16T00:00:00Z',
      orchestrator: 'test',
      origin: 'CLI',
      ...parts.session,
    },
    target: { agent_name: agent, role: 'EXECUTOR', provider, model, ...parts.target },
    task: {
      task_id: `T-${number}`,
      objective,
      category: 'CODE_GENERATION',
      complexity: 'LOW',
      environment: { workspace_root: world.workspace },
      ...parts.task,
    },
    ...(parts.policy === undefined ? {} : { execution_policy: parts.policy }),
    ...(parts.rails === undefined ? {} : { guard_rails: parts.rails }),
    ...(parts.phases === undefined ? {} : { phases: parts.phases }),
  };
  const { value, problems } = decodeAop2(message, JSON.stringify(message));
  const wrong = problems.find(({ severity }) => severity === 'error');
  if (wrong !== undefined) throw new Error(`the test's own TASK is not valid at ${wrong.path}: ${wrong.message}`);
  return value as TaskMessage;
}

/** A report in the form of aop1, as an agent says it. */
export const reportText = (status: 'success' | 'failure' | 'partial' = 'success', summary = '- It is made.'): string =>
  [
    '[AOP:START]',
    '[AOP:TASK] what was asked',
    '[AOP:SUMMARY]',
    summary,
    '[AOP:DETAILS_FILE] none',
    `[AOP:STATUS] ${status}`,
    '[AOP:END]',
  ].join('\n');

/** The same, for a shell to say. */
export const REPORT = `cat <<'END'\n${reportText()}\nEND\n`;

/** An agent that is a script of the shell, as config has it. */
export const sh = (script: string, more: object = {}): object => ({
  kind: 'command',
  command: ['sh', '-c', script],
  ...more,
});

/** A world with agents by name: a script, or what config says of one. */
export const shellWorld = (
  agents: Readonly<Record<string, string | object>>,
  sandbox: 'off' | 'require' = 'off',
): Promise<World> => {
  const entries = Object.entries(agents).map(([name, agent]) => [name, typeof agent === 'string' ? sh(agent) : agent]);
  return makeWorld({ config: { defaults: { sandbox }, agents: Object.fromEntries(entries) } });
};

const pids = (): number[] =>
  readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);

const isRunning = (pid: number): boolean => {
  const stat = statOf(pid);
  return stat !== null && !isDead(stat);
};

const fileOf = (path: string): string => {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    // It ended between the list and the look.
    return '';
  }
};

const withEnvironment = (start: string, end: string): number[] =>
  pids().filter(
    (pid) =>
      fileOf(`/proc/${pid}/environ`)
        .split('\0')
        .some((entry) => entry.startsWith(start) && entry.endsWith(end)) && isRunning(pid),
  );

/** The processes of any run of a data folder that are alive. */
export const markedPids = (dir: string): number[] => withEnvironment(`${MARK}=`, markOf(dir, ''));

/** The processes with this text in their command line, whoever started them. */
export const alivePids = (text: string): number[] =>
  pids().filter((pid) => pid !== process.pid && fileOf(`/proc/${pid}/cmdline`).includes(text) && isRunning(pid));

let lastSleep = 0;
/** So many seconds that no other process sleeps as long. */
export const newSleep = (): string =>
  `${5000 + (process.pid % 1000)}.${Date.now() % 1e6}${String(++lastSleep).padStart(3, '0')}`;

export { until } from '../helpers/until.ts';
