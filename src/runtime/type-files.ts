/** The file that a type of task asks for beside its details (document, "Summary Length Limits by Task Type"). */
import { type FileHandle, open, readdir, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Report } from '../core/report.ts';
import type { TaskType } from '../protocol/aop1/limits.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { eachPiece } from './details.ts';
import type { Claim } from './evidence/claim.ts';

export const CHANGES = 'changes.diff';

/** Types that are not named here have none: the details of a search are its file. */
const NAMES: Readonly<Partial<Record<TaskType, string>>> = {
  code: CHANGES,
  test: 'test-output.txt',
  build: 'build.log',
  analysis: 'analysis.md',
  documentation: 'documentation.md',
};

export const typeFileOf = (type: TaskType): string | null => NAMES[type] ?? null;

/** What the workspace was, while a run is at work; whoever comes after a Baton that died throws it away. */
export const scratchOf = (folder: string): string => join(folder, 'before');

interface TypeFacts {
  readonly type: TaskType;
  readonly folder: string;
  readonly title: string;
  readonly status: string;
  /** As Baton bears it out. */
  readonly report: Report;
  /** The agent's own summary, whole; null where it gave none. */
  readonly said: string | null;
  readonly lastText: string;
  readonly claims: readonly Claim[];
  readonly workspace: string;
  /** Whether what the agent printed is meant for people, and no stream of its program's own. */
  readonly isPlain: boolean;
}

/** Writes it where the type has one that is made of the run's output. The diff of a task of code was written when the agent stopped. */
export async function writeTypeFile(facts: TypeFacts): Promise<void> {
  const { type, folder } = facts;
  const name = typeFileOf(type);
  if (name === null || type === 'code') return;
  // Whatever stands there was not put there by us.
  await rm(join(folder, name), { recursive: true, force: true });
  const file = await open(join(folder, name), 'wx', 0o600);
  try {
    if (type === 'test' || type === 'build') await putLogs(folder, file);
    else if (type === 'analysis') await putAnalysis(facts, file);
    else await file.writeFile(documentationOf(facts));
  } finally {
    await file.close();
  }
}

/** What Baton's own checks printed, and what the agent did: nobody knows which of it a reader looks for. */
async function putLogs(folder: string, file: FileHandle): Promise<void> {
  const checks = (await readdir(folder))
    .filter((name) => /^check-.+\.log$/.test(name))
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  for (const name of [...checks, 'out.log', 'err.log']) {
    let isFirst = true;
    await eachPiece(folder, name, async (piece) => {
      if (isFirst) await file.writeFile(`==> ${name} <==\n`);
      isFirst = false;
      await file.writeFile(piece);
    });
    if (!isFirst) await file.writeFile('\n');
  }
}

async function putAnalysis(facts: TypeFacts, file: FileHandle): Promise<void> {
  const { report, said, lastText, claims, folder, isPlain } = facts;
  const summary = said ?? report.summary;
  await file.writeFile(
    [
      `# ${oneLine(facts.title)}`,
      `Status: ${facts.status} (${report.outcome})`,
      `## Summary\n\n${stripControls(summary).trim() || '(none)'}`,
      ...(report.notes === null ? [] : [`## Notes\n\n${stripControls(report.notes).trim()}`]),
      ...listed(
        'Claims',
        claims.map(({ what, verdict, detail }) => `${what}: ${verdict} (${detail})`),
      ),
      ...listed(
        'Artifacts',
        report.artifacts.map(({ path, status }) => `${link(facts, path)} ${status ?? ''}`),
      ),
      ...listed('Errors', report.errors),
      ...listed('Warnings', report.warnings),
      isPlain
        ? '## What the agent said\n\n'
        : `## What the agent said last\n\n${stripControls(lastText).trim() || '(nothing)'}\n`,
    ].join('\n\n'),
  );
  if (isPlain) await eachPiece(folder, 'out.log', (piece) => file.writeFile(piece));
}

function documentationOf(facts: TypeFacts): string {
  const { report, said, status } = facts;
  const files = report.artifacts.map(({ path, status: change, sizeBytes }) =>
    [link(facts, path), change?.toLowerCase(), sizeBytes === null ? undefined : `${sizeBytes} bytes`]
      .filter((part) => part !== undefined)
      .join(', '),
  );
  return `${[
    `# ${oneLine(facts.title)}`,
    `Status: ${status} (${report.outcome})`,
    ...listed('Documents', files.length === 0 ? ['(none was named)'] : files),
    `## Summary\n\n${stripControls(said ?? report.summary).trim() || '(none)'}`,
  ].join('\n\n')}\n`;
}

const listed = (title: string, items: readonly string[]): string[] =>
  items.length === 0 ? [] : [`## ${title}\n\n${items.map((item) => `- ${oneLine(item)}`).join('\n')}`];

const oneLine = (text: string): string => stripControls(text).replace(/\s+/g, ' ').trim();

/** A link that leads there from wherever the file is read. */
function link({ workspace }: TypeFacts, path: string): string {
  const target = isAbsolute(path) ? path : join(workspace, path);
  return `[${oneLine(path).replace(/[[\]\\]/g, '\\$&')}](<${oneLine(target).replace(/[<>\\]/g, '\\$&')}>)`;
}
