/** `#CONTEXT` (§16): a session's context to a file in the workspace, and from one. What was written by another agent's session goes on here. */

import { constants } from 'node:fs';
import { lstat, mkdir, open, readdir, realpath } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { isMissing } from '../../core/errors.ts';
import type { Checkpoint } from '../../core/session.ts';
import { taskOfRun } from '../../core/task.ts';
import { isBelow, replaceFile } from '../../process/files.ts';
import { policyOf } from '../../protocol/aop2/policy.ts';
import { taskMessage } from '../../runtime/child.ts';
import { contextExport, type ExportFilter, exportInput } from '../../runtime/context-export.ts';
import { git, gitInfo } from '../../workspace/git.ts';
import { type Call, failed, form, list, type Said } from '../call.ts';
import { type Capsule, looksLikeCapsule, MOST_CAPSULE_BYTES, readCapsule } from '../context-file.ts';
import { tasksFrom } from '../import-tasks.ts';
import { fitting, since, thousands } from '../lookup.ts';
import { ask, fileWord } from '../refusals.ts';

/** What the file system will not do is an answer, in one word with the name that was given. */
export async function context(call: Call): Promise<Said> {
  try {
    return await done(call);
  } catch (cause) {
    const word = fileWord(cause, call);
    if (word === null) throw cause;
    return failed('E002', `${word} ${call.params[1] ?? ''}`);
  }
}

async function done(call: Call): Promise<Said> {
  const [sub, named = '', more] = call.params;
  const place = await placeOf(call, named, sub === 'export');
  if (typeof place !== 'string') return place;
  switch (sub) {
    case 'export':
      return exportTo(call, place, named, (more ?? 'standard') as ExportFilter);
    case 'import':
      return importFrom(call, place, named, more as 'merge' | 'replace' | undefined);
    case 'validate':
      return validate(call, place, named);
    default:
      return listIn(call, place, named);
  }
}

const outside = (named: string): Said => failed('E005', `outside_workspace ${named}`);
const noFile = (named: string): Said => failed('E002', `no_file ${named}`);

/**
 * The path that is named, inside the workspace, whatever links are on its way; git's folder and Baton's own are not. A run reads and writes
 * here what it may read and write itself.
 */
async function placeOf(call: Call, named: string, toWrite: boolean): Promise<string | Said> {
  const root = await realpath(call.workspace);
  const wanted = resolve(root, named);
  const path = await realPlace(wanted);
  const below = relative(root, path);
  if (!isBelow(path, [root])) return outside(named);
  if (below.split(sep).some((part) => part.toLowerCase() === '.git')) return outside(named);
  if (call.dir !== null && isBelow(path, [await realPlace(call.dir)])) return outside(named);
  const { run } = call.speaker;
  if (run !== null) {
    const task = await call.store.find(taskOfRun(run) ?? '');
    if (task === undefined) return outside(named);
    const message = await taskMessage(call.store, task, call.workspace);
    const { access } = policyOf(message);
    const from = resolve(root, message.task.environment.workspace_root);
    const paths = toWrite ? access.writePaths : [...access.readPaths, ...access.writePaths];
    const mayBe = await Promise.all(paths.map((one) => realPlace(resolve(from, one))));
    if (!isBelow(path, mayBe)) return failed('E005', `not_allowed ${named}`);
  }
  return path;
}

/** As far as it is there, without links. */
async function realPlace(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (cause) {
    const parent = dirname(path);
    if (!isMissing(cause) || parent === path) throw cause;
    // A link that leads nowhere yet would be followed by whoever writes there.
    const found = await lstat(path).catch(() => null);
    if (found?.isSymbolicLink()) return sep;
    return join(await realPlace(parent), basename(path));
  }
}

export async function gitPlace(
  call: Pick<Call, 'store' | 'session' | 'workspace'>,
): Promise<{ readonly commit: string | null }> {
  const { checkpoints = {} } = (await call.store.session(call.session)) ?? {};
  const latest = Object.values(checkpoints).findLast((one: Checkpoint) => one.git !== null);
  return { commit: latest?.git?.commit ?? (await gitInfo(call.workspace))?.head ?? null };
}

const short = (commit: string): string => commit.slice(0, 12);

async function exportTo(call: Call, path: string, named: string, filter: ExportFilter): Promise<Said> {
  const { store, session } = call;
  const there = await contentOf(path);
  if (there === 'folder') return failed('E002', `a_folder ${named}`);
  // Only what was exported before is written over.
  if (there !== null && !looksLikeCapsule(there)) return failed('E005', `not_a_context_file ${named}`);
  const { commit } = await gitPlace(call);
  const { text, items, upTo } = contextExport({
    ...(await exportInput(store, session, { withOrders: true })),
    now: call.now(),
    commit,
    project: basename(call.workspace),
    filter,
  });
  await mkdir(dirname(path), { recursive: true });
  await replaceFile(path, text);
  const isWhole = filter === 'standard' || filter === 'all' || filter === 'incremental';
  const answer = await ask(call, {
    type: 'session.exported',
    session,
    file: path,
    items,
    ...(isWhole ? { upTo, temporary: filter !== 'standard' } : {}),
  });
  if ('said' in answer) return answer.said;
  const size = thousands(Buffer.byteLength(text));
  return form(
    [
      `exported:${items} items`,
      ...(commit === null ? [] : [`→ git_ref:${short(commit)}`]),
      `→ file:${named} (${size})`,
    ].join('\n'),
  );
}

/** Null where there is nothing; a link in its place is not followed, and a pipe does not keep us waiting. */
async function contentOf(path: string): Promise<string | 'folder' | null> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    if (isMissing(cause)) return null;
    return (cause as NodeJS.ErrnoException).code === 'EISDIR' ? 'folder' : '';
  }
  try {
    const found = await file.stat();
    if (found.isDirectory()) return 'folder';
    if (!found.isFile() || found.size > MOST_CAPSULE_BYTES) return '';
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

async function capsuleAt(call: Call, path: string, named: string): Promise<Capsule | { readonly said: Said }> {
  const found = await lstat(path).catch(() => null);
  if (found === null || !found.isFile()) return { said: noFile(named) };
  if (found.size > MOST_CAPSULE_BYTES) return { said: failed('E002', `over_1_MB ${named}`) };
  const capsule = readCapsule((await contentOf(path)) ?? '', call.countTokens);
  return 'why' in capsule ? { said: failed(capsule.code, capsule.why) } : capsule;
}

/** Whether the commit that a file names is here; null where it names none, or there is no repository. */
async function hasCommit(call: Call, commit: string | null): Promise<boolean | null> {
  if (commit === null || !/^[0-9a-f]{4,64}$/.test(commit)) return null;
  const info = await gitInfo(call.workspace);
  return info === null ? null : (await git(info.root, ['cat-file', '-e', `${commit}^{commit}`])).code === 0;
}

async function importFrom(
  call: Call,
  path: string,
  named: string,
  mode: 'merge' | 'replace' | undefined,
): Promise<Said> {
  const { store, session, speaker } = call;
  const capsule = await capsuleAt(call, path, named);
  if ('said' in capsule) return capsule.said;
  const isHere = await hasCommit(call, capsule.commit);
  const before = await store.session(session);
  const brought = await tasksFrom(call, capsule);
  const answer = await ask(call, {
    type: 'session.import',
    session,
    mode: mode ?? 'merge',
    state: capsule.state,
    variables: capsule.variables,
    tasks: brought.tasks,
    file: path,
    ...(capsule.from === null ? {} : { from: capsule.from }),
    done: doneOf(capsule),
    speaker,
  });
  if ('said' in answer) return answer.said;
  const keys = changesIn(
    Object.entries(capsule.state).map(([key, { value }]) => [key, value] as const),
    (key) => before?.state?.[key]?.value,
  );
  const variables = changesIn(Object.entries(capsule.variables), (name) => before?.variables?.[name]);
  const fresh = keys.fresh + variables.fresh + brought.tasks.length;
  const updated = keys.updated + variables.updated;
  const lines = [
    ...(isHere === null ? [] : [`→ ${isHere ? 'validated' : 'missing'}:git_ref:${short(capsule.commit ?? '')}`]),
    `imported:${fresh + updated} items`,
    ...(mode === 'merge' ? [`→ merged:${fresh} new items`, `→ updated:${updated} existing items`] : []),
    ...brought.lines,
    ...[...capsule.warnings, ...brought.warnings].map((warning) => `→ warning:${warning}`),
    ...(brought.canGoOn ? ['→ ready to resume'] : []),
  ];
  return form(lines.join('\n'));
}

/** How many of some values are new, and how many differ from what was there. */
function changesIn(
  values: readonly (readonly [string, string])[],
  wasAt: (name: string) => string | undefined,
): { readonly fresh: number; readonly updated: number } {
  const fresh = values.filter(([name]) => wasAt(name) === undefined).length;
  return {
    fresh,
    updated: values.filter(([name, value]) => wasAt(name) !== undefined && wasAt(name) !== value).length,
  };
}

/** What was done before, for whoever goes on: so many of the latest. */
const MOST_DONE = 10;

function doneOf({ summaries }: Capsule): { readonly task: string; readonly summary: string }[] {
  return [...summaries].slice(0, MOST_DONE).map(([task, summary]) => ({ task, summary }));
}

async function validate(call: Call, path: string, named: string): Promise<Said> {
  const capsule = await capsuleAt(call, path, named);
  if ('said' in capsule) return capsule.said;
  const isHere = await hasCommit(call, capsule.commit);
  const [major, minor] = capsule.version.replace(/^v/, '').split('.');
  return form(
    [
      'valid',
      `→ protocol v${major}.${minor}`,
      `→ git_checkpoint:${capsule.commit === null ? 'none' : isHere === true ? 'found' : 'not_found'}`,
      `→ items:${capsule.items} compatible`,
      ...capsule.warnings.map((warning) => `→ warning:${warning}`),
    ].join('\n'),
  );
}

/** So many files of a folder are looked at. */
const MOST_FILES = 1_000;

/** The newest first. */
async function listIn(call: Call, path: string, named: string): Promise<Said> {
  const entries = await readdir(path, { withFileTypes: true }).catch(() => null);
  if (entries === null) return failed('E002', `no_folder ${named}`);
  const files: { name: string; at: number; size: number }[] = [];
  for (const entry of entries.slice(0, MOST_FILES)) {
    if (!entry.isFile() || !/\.(?:ctx|ya?ml)$/i.test(entry.name)) continue;
    const [found, text] = [
      await lstat(join(path, entry.name)).catch(() => null),
      await contentOf(join(path, entry.name)),
    ];
    if (found === null || text === null || !looksLikeCapsule(text)) continue;
    files.push({ name: entry.name, at: found.mtimeMs, size: found.size });
  }
  return list(
    files
      .sort((a, b) => b.at - a.at)
      .map(({ name, at, size }) => {
        const [age, bytes] = [since(call.now() - at), thousands(size)];
        return fitting(call, [`${name} (${age} ago, ${bytes})`, `${name} (${age}, ${bytes})`, `${name} ${age}`, name]);
      }),
  );
}
