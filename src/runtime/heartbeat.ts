/** `runs/<task>/run_heartbeat.json`: the last sign of life of a run, written by Baton for its own runs and read of the runs of other programs. */
import { join } from 'node:path';
import { isMissing } from '../core/errors.ts';
import { fileNameOfRun, type Run } from '../core/task.ts';
import { isoTime, parseTime } from '../core/time.ts';
import { readIfThere, replaceFile } from '../process/files.ts';
import { readRunFile, writeRunFile } from '../protocol/aof/run-files.ts';

const FILE = 'run_heartbeat.json';
const pathOf = (dir: string, task: string): string => join(dir, 'runs', task, FILE);

export interface Heartbeat {
  /** A sign of life. The first is written at once, later ones at most every ten seconds. */
  beat(): void;
  /** Waits for what is being written. */
  close(): Promise<void>;
}

const EVERY_MS = 10_000;

interface HeartbeatOptions {
  readonly dir: string;
  readonly task: string;
  readonly run: Run;
  now(): number;
  /** What its agent is doing; null where that is not known. */
  progress(): string | null;
  warn(text: string): void;
}

export function createHeartbeat({ dir, task, run, now, progress, warn }: HeartbeatOptions): Heartbeat {
  let beats = 0;
  let writtenAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> = Promise.resolve();
  const write = (): Promise<void> =>
    replaceFile(
      pathOf(dir, task),
      writeRunFile(FILE, {
        runId: run.id,
        taskId: task,
        agentId: run.agent,
        lastHeartbeat: isoTime(now()),
        beatCount: beats,
        ...(progress() === null ? {} : { progress: progress() }),
      }),
    );
  return {
    beat() {
      beats += 1;
      if (now() - writtenAt < EVERY_MS) return;
      writtenAt = now();
      // The journal and the lease know that it lives; the file is for other programs. A folder that was taken away is no news.
      writing = writing.then(write).catch((cause: unknown) => {
        if (!isMissing(cause)) warn(`${task}: ${FILE} could not be written: ${(cause as Error).message}`);
      });
    },
    close: () => writing,
  };
}

/** Until when a run counts as alive by its own heartbeat file; null where it has none that can be read. */
export async function aliveUntil(dir: string, task: string, run: Run): Promise<number | null> {
  // A folder in its place, or no right to read: there is no heartbeat then.
  const text = await readIfThere(pathOf(dir, task)).catch(() => null);
  const read = text === null ? null : readRunFile(FILE, text);
  if (read === null || !read.ok || read.value.runId !== fileNameOfRun(run) || read.value.taskId !== task) return null;
  const { expiresAt, lastHeartbeat } = read.value;
  return expiresAt == null ? parseTime(lastHeartbeat) + run.leaseMs : parseTime(expiresAt);
}
