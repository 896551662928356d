/** `baton logs`: what an agent printed, all of it, as it printed it. */
import { createReadStream, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { runId, type Task, taskOfRun } from '../core/task.ts';
import { checkLog } from '../runtime/evidence/check-log.ts';
import { logGrown } from '../runtime/log.ts';
import { logFolder } from '../runtime/places.ts';
import type { InSession } from './globals.ts';
import { createWriter, note } from './io.ts';
import { untilStopped } from './until-stopped.ts';
import { findTask, reading } from './with-store.ts';

interface Options extends InSession {
  readonly follow?: boolean;
  /** The name of a check, whose output is shown in place of the agent's. */
  readonly check?: string;
}

const STREAMS = { out: 'out.log', err: 'err.log' } as const;
type Stream = keyof typeof STREAMS;

export async function logs(named: string, { follow, check, session, ...globals }: Options): Promise<void> {
  await reading(globals, async (store, dir) => {
    const owner = taskOfRun(named);
    const task = await findTask(store, owner ?? named, session);
    const runs = owner === null ? Array.from({ length: task.runs }, (_, i) => runId(task.id, i + 1)) : [named];
    if (runs.length === 0)
      throw new BatonError('E_NOT_FOUND', `${task.id} has not been run yet`, `why: baton why ${task.id}`);
    if (owner !== null && Number(named.slice(task.id.length + 2)) > task.runs) {
      throw new BatonError('E_NOT_FOUND', `there is no run ${named}; ${task.id} has had ${task.runs}`);
    }
    const out = createOut(globals.json);
    if (check !== undefined) {
      await copyCheck(dir, task.id, runs, check, out);
      return out.end();
    }
    for (const run of runs) {
      if (!existsSync(logFolder(dir, run)))
        note(`baton: the log of ${run} is not there; it was removed, or the run never began`);
      for (const stream of ['out', 'err'] as const) await copy(dir, run, stream, 0, out);
    }
    if (follow === true)
      await goOn(dir, runs.at(-1) as string, out, async () => isLive(await store.find(task.id), runs.at(-1) as string));
    await out.end();
  });
}

/** What a check of Baton's printed, in the latest of the runs that had it. */
async function copyCheck(dir: string, task: string, runs: readonly string[], name: string, out: Out): Promise<void> {
  const file = checkLog(name);
  const run = /^[\w.-]+$/.test(name) ? runs.findLast((one) => existsSync(join(logFolder(dir, one), file))) : undefined;
  if (run === undefined)
    throw new BatonError('E_NOT_FOUND', `no run of ${task} has had a check ${name}`, `see: baton task show ${task}`);
  for await (const chunk of createReadStream(join(logFolder(dir, run), file)))
    await out.write(run, 'out', chunk as Buffer);
}

const isLive = (task: Task | undefined, run: string): boolean => task?.run?.id === run && task.run.status === 'running';

interface Out {
  write(run: string, stream: Stream, chunk: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** Bytes as they are; with --json, one object a piece. */
function createOut(json: boolean): Out {
  const writer = createWriter();
  const decoders = new Map<string, InstanceType<typeof TextDecoder>>();
  return {
    async write(run, stream, chunk) {
      if (!json) {
        const target = stream === 'out' ? process.stdout : process.stderr;
        if (!target.write(chunk)) await new Promise((resolve) => target.once('drain', resolve));
        return;
      }
      const key = `${run} ${stream}`;
      const decoder = decoders.get(key) ?? new TextDecoder();
      decoders.set(key, decoder);
      await writer.write(`${JSON.stringify({ run, stream, text: decoder.decode(chunk, { stream: true }) })}\n`);
    },
    end: () => writer.end(),
  };
}

/** Returns how far it has read. */
async function copy(dir: string, run: string, stream: Stream, from: number, out: Out): Promise<number> {
  const path = join(logFolder(dir, run), STREAMS[stream]);
  if (!existsSync(path)) return 0;
  let at = from;
  for await (const chunk of createReadStream(path, { start: from })) {
    at += (chunk as Buffer).length;
    await out.write(run, stream, chunk as Buffer);
  }
  return at;
}

async function goOn(dir: string, run: string, out: Out, isGoing: () => Promise<boolean>): Promise<void> {
  const stop = untilStopped();
  const folder = logFolder(dir, run);
  const size = (stream: Stream): number =>
    statSync(join(folder, STREAMS[stream]), { throwIfNoEntry: false })?.size ?? 0;
  const at = { out: size('out'), err: size('err') };
  for (let going = true; going && !stop.aborted; ) {
    await logGrown(folder, stop);
    // Asked before reading, so that what was written until then is read.
    going = await isGoing();
    for (const stream of ['out', 'err'] as const)
      if (size(stream) > at[stream]) at[stream] = await copy(dir, run, stream, at[stream], out);
    await out.end();
  }
}
