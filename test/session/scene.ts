/** A session in a real workspace: a world of the runtime with an interpreter on its store. */
import { execFileSync } from 'node:child_process';
import { countTokens } from '../../src/cli/tokens.ts';
import type { Speaker } from '../../src/core/laws/messages.ts';
import type { Task } from '../../src/core/task.ts';
import type { Voice } from '../../src/session/call.ts';
import { createInterpreter } from '../../src/session/interpreter.ts';
import { makeWorld, type World, type WorldOptions } from '../runtime/world.ts';
import { SESSION, voiceOf } from './talk.ts';

export interface Scene extends World {
  /** The orchestrator's line; in its session, where none is named. */
  say(line: string, session?: string): Promise<string>;
  as(voice: Voice, line: string, signal?: AbortSignal): Promise<string>;
  git(...args: readonly string[]): string;
  tasks(session?: string): Promise<readonly Task[]>;
  /** A task that is claimed, and the voice of its run. */
  claimed(
    agent: string,
    more?: { readonly leads?: boolean; readonly session?: string },
  ): Promise<Voice & { task: Task }>;
}

export async function makeScene(options: WorldOptions & { readonly now?: () => number } = {}): Promise<Scene> {
  const world = await makeWorld(options);
  return sceneOf(world, options.now);
}

export function sceneOf(world: World, now: () => number = Date.now): Scene {
  const { store, host, dir, workspace } = world;
  const interpreter = createInterpreter({
    store,
    config: host.config,
    dir,
    workspace,
    environment: host.environment,
    now,
    countTokens,
    warn: (text) => void world.warnings.push(text),
    askAgent: null,
  });
  const as = async (voice: Voice, line: string, signal?: AbortSignal): Promise<string> =>
    (await interpreter.do(line, voice, signal === undefined ? {} : { signal })).reply;
  const tasks = async (session = SESSION): Promise<Task[]> => {
    const found: Task[] = [];
    for await (const task of store.tasks({ session })) found.push(task);
    return found;
  };
  return {
    ...world,
    say: (line, session = SESSION) => as(voiceOf('orchestrator', {}, session), line),
    as,
    tasks,
    git: (...args) => execFileSync('git', ['-C', workspace, ...args], { encoding: 'utf8' }).trim(),
    async claimed(agent, { leads = false, session = SESSION } = {}) {
      const by = { kind: 'person', name: 'test' } as const;
      const added = await store.send({
        message: { type: 'task.add', tasks: [{ title: 'its own task', session, routing: { agent } }] },
        by,
      });
      const id = added.kind === 'refused' ? '' : (added.tasks[0]?.id ?? '');
      const answer = await store.send({
        message: { type: 'task.claim', id, claimer: { agent }, leaseMs: 60_000 },
        by: { kind: 'runtime', name: 'baton' },
      });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
      const task = answer.tasks[0] as Task;
      const more: Partial<Speaker> = { run: task.run?.id ?? null, leads };
      return { ...voiceOf(agent, more, session), task };
    },
  };
}
