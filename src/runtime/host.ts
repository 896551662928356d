/** What every part of the runtime needs to know of where it runs: the store, the folders, the settings, who is told what. */
import { realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Config } from '../core/config.ts';
import type { Store } from '../core/store.ts';
import type { Supervisor } from '../core/task.ts';
import { self } from '../process/identity.ts';
import type { Progress } from './hearing.ts';
import type { Used } from './meter.ts';
import { createPurses, type Purses } from './purse.ts';
import { type RunWatch, watchRuns } from './run-watch.ts';

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

export interface Overrides {
  readonly agent?: string;
  readonly model?: string;
}

export interface Host {
  readonly store: Store;
  /** The data folder's real path. */
  readonly dir: string;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Where tasks work that do not say where. */
  readonly workspace: string;
  readonly overrides: Overrides;
  readonly supervisor: Supervisor;
  readonly watch: RunWatch;
  readonly purses: Purses;
  now(): number;
  countTokens(text: string): number;
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
  readonly overrides?: Overrides;
  readonly now?: () => number;
  readonly countTokens?: (text: string) => number;
  readonly onLive?: (live: Live) => void;
  readonly warn?: (text: string) => void;
}

export async function openHost(options: HostOptions): Promise<Host> {
  const dir = realpathSync(options.dir);
  const watch = await watchRuns(options.store);
  const { pid, started } = self();
  return {
    store: options.store,
    dir,
    config: options.config,
    environment: options.environment ?? process.env,
    workspace: options.workspace ?? homeOf(dir),
    overrides: options.overrides ?? {},
    supervisor: { pid, started: started ?? '' },
    watch,
    purses: createPurses(),
    now: options.now ?? Date.now,
    countTokens: options.countTokens ?? ((text) => Math.ceil(text.length / 4)),
    onLive: options.onLive ?? (() => {}),
    warn: options.warn ?? (() => {}),
    close: () => watch.close(),
  };
}

/** The folder that a data folder belongs to: the one that `.baton` lies in. */
const homeOf = (dir: string): string => (basename(dir) === '.baton' ? dirname(dir) : process.cwd());

export type { Progress };
