/** What is asked of this folder, and what it answers. */
import type { Readable, Writable } from 'node:stream';

/** The environment variable that every process of a run carries, so that what escaped its group is found. */
export const MARK = 'BATON_RUN_MARK';

export interface Exit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** How a tree of processes was ended. */
export interface Ended {
  /** The strongest signal that was needed; null where nothing was alive any more. */
  readonly signal: 'SIGTERM' | 'SIGKILL' | null;
  /** Pids that had left the group and were found by the sweep. */
  readonly swept: readonly number[];
  /** Pids that could not be ended, which should be none. */
  readonly left: readonly number[];
}

export interface StartOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  /** The whole environment; nothing is inherited. `MARK` is added. */
  readonly env: Readonly<Record<string, string>>;
  /** Written to standard input, which is then closed; null is no input; `open` keeps it open. */
  readonly stdin: string | null | 'open';
  /** The value of `MARK`. */
  readonly mark: string;
  readonly sandbox: SandboxSpec | null;
  /**
   * Told of the first process of a session that a descendant made without the mark: only by having been seen is it known whose that is. Once
   * for each session.
   */
  onEscape?(first: { readonly pid: number; readonly started: string | null }): void;
}

export interface Program {
  readonly pid: number;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Null unless it was started with `open`. Errors on it (a reader that is gone) are no errors of ours. */
  readonly stdin: Writable | null;
  /** The process itself is gone; its children may not be, and its streams may still hold something. */
  readonly exited: Promise<Exit>;
  /** Ends all of it: SIGTERM to the group, `graceMs`, SIGKILL, then the sweep. Twice is once. Also to be called after an exit by itself. */
  end(graceMs: number): Promise<Ended>;
}

export interface Bind {
  readonly path: string;
  readonly writable: boolean;
  /** Neither it nor a folder above it can be renamed from inside, for something else to take its place. */
  readonly fixed?: boolean;
}

/** What a sandboxed program sees. Everything that is not named is not there, but for the system's own folders, read-only. */
export interface SandboxSpec {
  /** What it may read, and what it may write; absolute, existing, symlinks resolved. */
  readonly readPaths: readonly string[];
  readonly writePaths: readonly string[];
  /** Folders and files that it needs beside (its login, the run's own folder and socket). Missing ones are left out. */
  readonly binds: readonly Bind[];
  /** Hidden whatever else is granted: the data folder. Binds below it are shown nevertheless. */
  readonly hide: readonly string[];
  /** `open`; `none`: no network at all; or only what goes through our proxy. */
  readonly network: 'open' | 'none' | NetworkGate;
  /** Its HOME: an empty folder in memory at this path, with the binds in it. */
  readonly home: string;
}

/** The one way out of a sandbox without a network of its own. */
export interface NetworkGate {
  /** The proxy's unix socket, to be bound into the sandbox. */
  readonly socket: string;
  /** Ports of 127.0.0.1 that lead, from inside, to the same ports of this machine's loopback. */
  readonly loopback: readonly number[];
}
