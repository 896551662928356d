/** The results of several tasks for whoever asked for them together: a few lines for the block, and a details file with all of them and where each is. */
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DEFAULT_SESSION, type Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { replaceFile } from '../process/files.ts';
import { BULLETS_MOST } from '../protocol/aop1/limits.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { Host } from './host.ts';
import { detailsOf, joined, resultOf } from './joined.ts';
import { reportFile } from './places.ts';

interface JoinedFile {
  readonly file: string;
  /** Within `most`, the most important lines. */
  readonly summary: string;
}

export async function writeJoined(
  { dir }: Pick<Host, 'dir'>,
  tasks: readonly Task[],
  title: string,
  most: number,
): Promise<JoinedFile> {
  const session = tasks[0]?.session ?? DEFAULT_SESSION;
  const report = reportFile(dir, session);
  const file = report.replace(/\.json$/, '.tasks.json');
  const results = tasks.map((task) => ({ ...resultOf(task), id: task.externalId ?? task.id }));
  const [from, to] = [Math.min(...tasks.map((t) => t.createdAt)), Math.max(...tasks.map((t) => t.updatedAt))];
  const details = {
    aop_version: '1.0.0',
    agent_id: `baton-${session}`,
    task: shorten(title, 200),
    timestamp: isoTime(from),
    duration_ms: Math.max(0, to - from),
    results: {
      joined: joined(results, undefined, `baton report ${session}`),
      session_report: report,
      tasks: tasks.map((task) => ({
        id: task.id,
        external_id: task.externalId,
        title: task.title,
        status: task.status,
        summary: task.summary,
        cause: task.cause,
        run: task.run?.id ?? null,
        details: absolute(dir, detailsOf(task)),
      })),
    },
    metadata: { session, tasks: tasks.length, done: tasks.filter(({ status }) => status === 'done').length },
  };
  await mkdir(dirname(file), { recursive: true });
  await replaceFile(file, `${JSON.stringify(details, null, 2)}\n`);
  // Where each is stands in the file; the few characters of the block are for what came of them.
  const few = results.map((result) => ({ ...result, reference: null }));
  return { file, summary: joined(few, most, 'see the details file', BULLETS_MOST) };
}

const absolute = (dir: string, path: string | null): string | null => (path === null ? null : join(dir, path));
