/** What every part of the runtime needs to know of where it runs: the store, the folders, the settings, who is told what. */
import { realpathSync } from 'node:fs';
import type { Config } from '../core/config.ts';
import { BatonError } from '../core/errors.ts';
import type { Store } from '../core/store.ts';
import type { Supervisor, Task } from '../core/task.ts';
import { self } from '../process/identity.ts';
import { type ContextSums, createContextSums } from './context-sums.ts';
import type { DoLine } from './doors.ts';
import { graphRepairs } from './graph-report.ts';
import { homeOf } from './home-of.ts';
import { createLiveRuns, type LiveRuns } from './live-runs.ts';
import type { Used } from './meter.ts';
import { openNotifier } from './notify.ts';
import { createPurses, type Purses } from './purse.ts';
import type { RepairCheck } from './repair-check.ts';
import type { RouterOptions } from './routed.ts';
import { type CodedRouter, createRouter } from './router.ts';
import { type RunWatch, watchRuns } from './run-watch.ts';
import type { CountTokens } from './tokens.ts';

/** A run as it is at this moment, for whoever shows it. */
export interface Live {
  readonly task: string;
  readonly title: string;
  readonly run: string;
  readonly agent: string;
  readonly model: string | null;
  readonly state: 'starting' | 'working' | 'checking' | 'rolling-back' | 'ended';
  readonly phase: string | null;
  readonly checkpoint: string | null;
  readonly percentage: number | null;
  /** The last thing that is known about what it does. */
  readonly doing: string | null;
  readonly startedAt: number;
  readonly lastSign: number;
  readonly used: Used;
  /** Its task's status, once it has ended. */
  readonly status: string | null;
}

/** Where HTTP listens, and the token by which a run is known there: it holds until the run ends. */
export interface HttpDoor {
  readonly url: string;
  open(run: { readonly id: string; readonly task: string; readonly agent: string }): string;
  close(run: string): void;
}

export interface Host {
  readonly store: Store;
  /** The data folder's real path. */
  readonly dir: string;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where tasks work that do not say where. */
  readonly workspace: string;
  readonly supervisor: Supervisor;
  readonly watch: RunWatch;
  readonly purses: Purses;
  /** What was handed to the agents of each session. */
  readonly sums: ContextSums;
  /** Whoever finds something in a report that its agent could put right adds itself here. */
  readonly repairs: RepairCheck[];
  /** The runs that this process watches over. */
  readonly runs: LiveRuns;
  /** Where all messages go. */
  readonly router: CodedRouter;
  /** Who looks at the evidence for a claim of a task that nobody supervises; told by whoever can (`verdict.ts`). */
  judge: ((task: Task) => Promise<readonly string[]>) | null;
  /** Who takes a person's answers that come by message; told by whoever can (`taking.ts`). */
  answer: NonNullable<RouterOptions['answer']> | null;
  /** Who understands the session language, for the doors of runs; told by whoever can, as it stands above the runtime. */
  doLine: DoLine | null;
  /** Only where `baton serve` listens. */
  readonly door: HttpDoor | null;
  now(): number;
  readonly countTokens: CountTokens;
  onLive(live: Live): void;
  /** A sentence for the person who looks on. */
  warn(text: string): void;
  close(): Promise<void>;
}

export interface HostOptions {
  readonly store: Store;
  readonly dir: string;
  readonly config: Config;
  readonly environment?: Readonly<Record<string, string | undefined>>;
  readonly workspace?: string;
  readonly door?: HttpDoor;
  readonly now?: () => number;
  readonly countTokens?: CountTokens;
  readonly onLive?: (live: Live) => void;
  readonly warn?: (text: string) => void;
}

export async function openHost(options: HostOptions): Promise<Host> {
  const dir = realpathSync(options.dir);
  const watch = await watchRuns(options.store);
  const { pid, started } = self();
  const environment = options.environment ?? process.env;
  const [now, warn] = [options.now ?? Date.now, options.warn ?? (() => {})];
  const notifier = openNotifier({ store: options.store, dir, config: options.config, environment, watch, now, warn });
  const { store, config } = options;
  const workspace = options.workspace ?? homeOf(dir);
  const runs = createLiveRuns();
  const host: Host = {
    store,
    dir,
    config,
    environment,
    workspace,
    supervisor: { pid, started: started ?? '' },
    watch,
    purses: createPurses(),
    sums: createContextSums(store, watch, dir),
    repairs: [graphRepairs({ store, config, now, workspace, environment, runs })],
    runs,
    router: createRouter({
      store,
      config,
      now,
      runs,
      dir,
      workspace,
      environment,
      judge: async (task) => (await host.judge?.(task)) ?? [],
      answer: (word, by) => {
        if (host.answer !== null) return host.answer(word, by);
        throw new BatonError('E_USAGE', `nobody takes an answer to ${word.id} here`, 'try: baton inbox');
      },
    }),
    judge: null,
    answer: null,
    doLine: null,
    door: options.door ?? null,
    now,
    countTokens: options.countTokens ?? ((text) => Math.ceil(text.length / 4)),
    onLive: options.onLive ?? (() => {}),
    warn,
    async close() {
      try {
        await notifier.close();
        await host.sums.close();
      } finally {
        await watch.close();
      }
    },
  };
  return host;
}
