/** The results of a run whose Baton died before it wrote them: what the log and the journal know of it. */
import { existsSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Run, Task } from '../core/task.ts';
import { detailsFile } from './details.ts';
import { envelopeOf } from './envelope.ts';
import type { Evidence } from './evidence/claim.ts';
import { createFacts } from './facts.ts';
import type { Host } from './host.ts';
import { openInside } from './inside.ts';
import { NOTHING_USED } from './meter.ts';
import { countOutput } from './output-counts.ts';
import { logFolder } from './places.ts';
import { usedBy } from './purse.ts';
import { earlierAttempts } from './response/all-attempts.ts';
import { blockOf, type RunFacts, responseOf, writeResults } from './results.ts';
import { claimedBefore } from './run-result.ts';
import { scratchOf } from './type-files.ts';

/** Writes them where a run has left a folder without; nothing happens where they are there. */
export async function leaveResults(host: Host, id: string, run: Run): Promise<void> {
  const folder = logFolder(host.dir, run.id);
  if (!existsSync(folder)) return;
  await rm(scratchOf(folder), { recursive: true, force: true });
  if (existsSync(detailsFile(folder))) return;
  const task = await host.store.find(id);
  if (task === undefined) return;
  const facts = await factsLeft(host, task, run, folder);
  const block = blockOf(facts);
  await writeResults(facts, responseOf(facts), block);
  // What it printed counts. Of a run that said nothing nobody is told: its task goes on.
  const handed = facts.report === null && run.outcome === null ? '' : block;
  const { produced_chars: _, ...counts } = await countOutput(host, { ...facts, chars: 0 }, handed);
  const notes = createFacts(host.store, id, run.id);
  notes.tell('run.output', { ...counts, log: join('logs', run.id) });
  await notes.written();
}

async function factsLeft(host: Host, task: Task, run: Run, folder: string): Promise<RunFacts> {
  const [history, envelope, body] = await Promise.all([
    host.store.history(task.id),
    host.store.text(task.id, 'inputs/task.json'),
    host.store.text(task.id, 'body'),
  ]);
  const told = history.flatMap(({ events }) => events.filter((event) => event.run === run.id));
  const evidence = told.findLast(({ type }) => type === 'run.evidence')?.detail as Evidence | undefined;
  const used = usedBy(history).get(run.id);
  const report = claimedBefore(history, run.id);
  const sizes = await Promise.all(['out.log', 'err.log'].map((name) => sizeOf(join(folder, name))));
  const isPlain = host.config.agents[run.agent]?.kind === 'command';
  return {
    message: envelopeOf(task, { envelope, body }, host.workspace),
    task,
    run,
    chosen: { name: run.agent, provider: 'OTHER', model: run.model },
    report,
    lastText: isPlain ? await endOf(host.dir, join(folder, 'out.log')) : '',
    evidence: evidence ?? null,
    checkpoints: [],
    used: used ?? NOTHING_USED,
    earlier: earlierAttempts(history, task.id, run.id),
    estimatedUsd: null,
    failure:
      report === null
        ? { code: 'E_RUN_EXPIRED', message: 'Baton ended before the run did, and it left no report' }
        : null,
    isAborted: false,
    warnings: ['Baton ended before it wrote the results of this run; they were made of its log and the journal'],
    startedAt: run.startedAt,
    endedAt: run.endedAt ?? host.now(),
    progress: null,
    bytes: sizes.reduce((sum, size) => sum + size, 0),
    folder,
  };
}

const sizeOf = async (path: string): Promise<number> => {
  // Not there: nothing was printed.
  const found = await stat(path).catch(() => null);
  return found?.size ?? 0;
};

const LAST_BYTES = 20_000;

async function endOf(dir: string, path: string): Promise<string> {
  const file = await openInside(dir, path);
  if (file === null) return '';
  try {
    const { size } = await file.stat();
    const bytes = Buffer.alloc(Math.min(size, LAST_BYTES));
    const { bytesRead } = await file.read(bytes, 0, bytes.length, size - bytes.length);
    return new TextDecoder().decode(bytes.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}
