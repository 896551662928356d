/**
 * Whether a tool call that an ACP agent asks about is within its access.
 *
 * | kind               | allowed when                                                                                              |
 * |--------------------|-----------------------------------------------------------------------------------------------------------|
 * | edit, delete, move | every path that it names lies within the write paths and in no read-only input; naming none: only in a sandbox, where writes are allowed at all |
 * | read, search       | every path that it names lies within the read or write paths; a search that names none is one of the workspace, a read that names none is allowed only in a sandbox |
 * | execute            | in a sandbox, which holds the paths and the network, as long as anything may be read; without one a command can do anything, so only where nothing is restricted |
 * | fetch              | the network is FULL: many agents fetch by their model's provider, past any proxy of ours                     |
 * | think              | always                                                                                                    |
 * | other, Baton's own | always: the run's socket knows what it may                                                       |
 * | switch_mode, other | nothing is restricted: a mode may be one that no longer asks, and what is not known is not judged          |
 *
 * It judges by names: `..` is resolved, symlinks are not (that needs the disk, and the agent may make one after it asked). A sandbox
 * does not depend on this, and without one the changes are looked at after the run.
 */
import { rightTo } from '../core/access.ts';
import { type Access, isWithin } from '../core/policy.ts';
import { type Json, listOf, objectOf } from './json.ts';

/** What is known of a tool call, from all that the agent said about it. */
export interface ToolCall {
  readonly kind: string | null;
  readonly title: string;
  readonly paths: ReadonlySet<string>;
}

/** A call that names more is not looked through, and not allowed. */
export const MOST_PATHS = 10_000;

interface Surroundings {
  readonly access: Access;
  readonly sandboxed: boolean;
  readonly workspace: string;
  /** Baton's own tools, where it has them. */
  readonly mcp: { readonly name: string } | null;
}

type Verdict = { readonly allowed: true } | { readonly allowed: false; readonly why: string };

const ALLOWED: Verdict = { allowed: true };
const refused = (why: string): Verdict => ({ allowed: false, why });

export function judge(call: ToolCall, { access, sandboxed, workspace, mcp }: Surroundings): Verdict {
  const { writePaths, network } = access;
  const readPaths = [...access.readPaths, ...writePaths];
  const paths = [...call.paths];
  const outside = (roots: readonly string[]): string | null =>
    paths.find((path) => !isInside(path, roots, workspace)) ?? null;
  if (paths.length > MOST_PATHS) return refused(`it names more than ${MOST_PATHS} paths`);

  switch (call.kind) {
    case 'edit':
    case 'delete':
    case 'move': {
      if (writePaths.length === 0) return refused('nothing may be written');
      if (paths.length === 0) return sandboxed ? ALLOWED : refused('it names no path');
      const path = outside(writePaths);
      if (path !== null) return refused(`${path} is outside the write paths`);
      const input = paths.find((each) => rightTo(access, absolute(each, workspace)) !== 'write');
      return input === undefined ? ALLOWED : refused(`${input} is an input that must not change`);
    }
    case 'read':
    case 'search': {
      if (readPaths.length === 0) return refused('nothing may be read');
      if (paths.length === 0 && call.kind === 'read') return sandboxed ? ALLOWED : refused('it names no path');
      if (paths.length === 0) paths.push(workspace);
      const path = outside(readPaths);
      return path === null ? ALLOWED : refused(`${path} is outside the read paths`);
    }
    case 'execute':
      if (isUnrestricted(access)) return ALLOWED;
      if (!sandboxed) return refused('without a sandbox a command could write and reach anything');
      return readPaths.length > 0 ? ALLOWED : refused('nothing may be read');
    case 'fetch':
      return network === 'FULL' ? ALLOWED : refused(`the network is ${network}`);
    case 'think':
      return ALLOWED;
    case 'other':
      if (mcp !== null && OURS.exec(call.title)?.[1] === mcp.name) return ALLOWED;
      return unknown(call, access);
    default:
      return unknown(call, access);
  }
}

/** How a tool of an MCP server is called. */
const OURS = /^mcp__([a-z]+)__\w+$/;

const unknown = ({ kind }: ToolCall, access: Access): Verdict =>
  isUnrestricted(access) ? ALLOWED : refused(`what ${kind ?? 'a tool of no kind'} does is not known`);

/** The whole file system and the whole network. Write paths of `/` can be read too. */
export const isUnrestricted = ({ writePaths, network }: Access): boolean =>
  network === 'FULL' && isWithin('/', writePaths);

function isInside(path: string, roots: readonly string[], workspace: string): boolean {
  // A shell's home is not known here, and is not the workspace.
  if (path.startsWith('~')) return false;
  return isWithin(absolute(path, workspace), roots);
}

const absolute = (path: string, workspace: string): string => (isAbsolute(path) ? path : `${workspace}/${path}`);

const isAbsolute = (path: string): boolean => /^(?:[\\/]|[A-Za-z]:)/.test(path);

/** Names of fields that hold paths end in one of these: `file_path`, `parentDir`, `filepath`, `destination`. */
const PATH_WORDS = new Set(
  'path paths file files filepath filepaths filename filenames dir dirs directory directories folder uri uris cwd source destination src dst dest target'.split(
    ' ',
  ),
);

/** The paths in what an agent says of a tool call: `locations`, the `path` of diffs, and the fields of the raw input that are named like paths. */
export function pathsOf(call: Json): readonly string[] {
  const found = new Set<string>();
  const take = (value: unknown): void => {
    // Content has lines; a path does not.
    if (typeof value === 'string' && value !== '' && !/[\n\r\0]/.test(value)) found.add(withoutScheme(value));
  };
  for (const each of [...listOf(call['locations']), ...listOf(call['content'])]) take(objectOf(each)?.['path']);
  // A stack and not recursion: how deep it goes is the agent's choice, and what is not looked at would count as allowed.
  const open: unknown[] = [call['rawInput']];
  for (let value = open.pop(); value !== undefined || open.length > 0; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    for (const [name, field] of Object.entries(value)) {
      // One of the agents lists its changes by path.
      if (name === 'changes') for (const path of Object.keys(objectOf(field) ?? {})) take(path);
      if (isPathName(name)) for (const each of Array.isArray(field) ? field : [field]) take(each);
      if (typeof field === 'object') open.push(field);
    }
  }
  return [...found];
}

function isPathName(name: string): boolean {
  const words = name.split(/[_\-\s]|(?<=[a-z0-9])(?=[A-Z])/);
  return PATH_WORDS.has((words.at(-1) ?? '').toLowerCase());
}

function withoutScheme(path: string): string {
  if (!path.startsWith('file://')) return path;
  try {
    return decodeURIComponent(path.slice('file://'.length));
  } catch {
    // Not an encoding: the bare text is what there is to judge.
    return path.slice('file://'.length);
  }
}
