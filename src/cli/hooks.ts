/** `baton hooks install|remove`: puts our hooks into the settings of claude and codex, and takes exactly that out again. */
import { accessSync, constants, mkdirSync, realpathSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import { runOfCaller } from '../process/caller.ts';
import { replaceFile } from '../process/files.ts';
import { whereIs } from '../process/where.ts';
import { readIfThere } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { settingsText } from './hooks-file.ts';
import { HOOKED, HOOKED_NAMES, type Hooked, isEmpty, type Made, withHooks, withoutHooks } from './hooks-settings.ts';
import { installedAgents } from './installed.ts';
import { note, print, printJson } from './io.ts';
import { writing } from './with-store.ts';

interface Options extends Globals {
  /** For all of the user's projects. */
  readonly user?: boolean;
}

/** What of a file is ours beside the hooks. */
interface Place extends Made {
  readonly file: boolean;
  readonly folder: boolean;
  /** What stood in a file that said nothing, as it was written. */
  readonly blank?: string;
}

type Places = Readonly<Record<string, Place>>;

interface Change {
  readonly path: string;
  /** Null is no file. */
  readonly text: string | null;
  readonly place: Place | null;
}

export async function installHooks(names: readonly string[], options: Options): Promise<void> {
  const programs = named(names, here);
  const launcher = launcherOf(options);
  const dir = dataFolder(options);
  // All of them are looked at before one is written, and before a data folder is made for it.
  planOf(programs, launcher, options, dir);
  const changes = await writing(options, async () => {
    // Again, for somebody may have written there while we waited for our turn.
    const plan = planOf(programs, launcher, options, dir);
    // What has to be undone is on disk before it is done.
    if (plan.length > 0) writePlaces(dir, { ...readPlaces(dir), ...placesOf(plan) });
    for (const change of plan) await apply(change);
    return plan;
  });
  tell('hooked', changes, programs, options.json);
  for (const program of programs) {
    const { left } = HOOKED[program];
    if (left !== null) note(`baton: ${left}`);
  }
}

function planOf(programs: readonly Hooked[], launcher: string, options: Options, dir: string): readonly Change[] {
  const before = readPlaces(dir);
  return programs.flatMap((program): Change[] => {
    const path = settingsOf(program, options, dir);
    const text = settingsText(path);
    const { text: after, made } = withHooks(text, program, launcher, path);
    if (after === text) return [];
    refuseReadOnly(path);
    const known = before[path];
    const place = {
      file: known?.file === true || text === null,
      folder: known?.folder === true || !isThere(dirname(path)),
      hooks: known?.hooks === true || made.hooks,
      events: [...new Set([...(known?.events ?? []), ...made.events])],
      ...blankOf(known?.blank ?? text),
    };
    return [{ path, text: after, place }];
  });
}

const blankOf = (text: string | null | undefined): Pick<Place, 'blank'> =>
  text != null && (text.trim() === '' || isEmpty(text)) ? { blank: text } : {};

/** A file is put in its place, which would go through whatever its mode says. */
function refuseReadOnly(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  try {
    accessSync(path, constants.W_OK);
    // To root all are writable, but this one was not meant to be.
    if ((found.mode & 0o222) !== 0) return;
  } catch {
    // Said below.
  }
  throw new BatonError(
    'E_CONFIG',
    `${path}: expected a file that may be written, got a read-only one`,
    'nothing was changed',
  );
}

export async function removeHooks(names: readonly string[], options: Options): Promise<void> {
  refuseAgents();
  const programs = named(names, () => HOOKED_NAMES);
  const dir = dataFolder(options);
  const before = readPlaces(dir);
  const changes = programs.flatMap((program): Change[] => {
    const path = settingsOf(program, options, dir);
    const text = settingsText(path);
    if (text === null) return [];
    const place = before[path] ?? null;
    const after = withoutHooks(text, place, path);
    if (after === text) return [];
    refuseReadOnly(path);
    const nothing = place?.file === true ? null : (place?.blank ?? after);
    return [{ path, text: isEmpty(after) ? nothing : after, place }];
  });
  for (const change of changes) await apply(change);
  const left = Object.entries(before).filter(([path]) => !changes.some((change) => change.path === path));
  if (left.length < Object.keys(before).length) writePlaces(dir, Object.fromEntries(left));
  tell('unhooked', changes, programs, options.json);
}

function tell(word: string, changes: readonly Change[], programs: readonly Hooked[], json: boolean): void {
  if (json) return printJson({ changed: changes.map(({ path }) => path) });
  for (const { path, text } of changes) print(`${word}: ${path}${text === null ? ' (removed, for it was ours)' : ''}`);
  if (changes.length === 0) print(`nothing to change for ${programs.join(' and ')}`);
}

function named(names: readonly string[], otherwise: () => readonly Hooked[]): readonly Hooked[] {
  refuseAgents();
  const known = names.map((name) => {
    const found = HOOKED_NAMES.find((program) => program === name);
    if (found !== undefined) return found;
    throw new BatonError(
      'E_USAGE',
      `expected ${HOOKED_NAMES.join(' or ')}, got ${name}`,
      'others have no hooks that Baton knows',
    );
  });
  return known.length > 0 ? [...new Set(known)] : otherwise();
}

/** Settings decide what runs outside of a run's sandbox: not an agent's to change by our hand. */
function refuseAgents(): void {
  const run = runOfCaller();
  if (run !== null)
    throw new BatonError('E_PERMISSION_DENIED', `hooks are a person's to install or remove, and this came from ${run}`);
}

function here(): readonly Hooked[] {
  const found = installedAgents().map(({ name }) => name);
  const programs = HOOKED_NAMES.filter((program) => found.includes(program));
  if (programs.length > 0) return programs;
  throw new BatonError(
    'E_AGENT_NOT_FOUND',
    `expected ${HOOKED_NAMES.join(' or ')} on PATH, found none`,
    'or name one: baton hooks install claude',
  );
}

/** Where a program looks: in the project, or in the user's own folder. */
function settingsOf(program: Hooked, { user }: Options, dir: string): string {
  const project = basename(dir) === '.baton' ? dirname(dir) : process.cwd();
  const { file, folder: variable } = HOOKED[program];
  const own = process.env[variable];
  const folder = user === true ? own || join(homedir(), `.${program}`) : join(project, `.${program}`);
  return join(folder, file);
}

/**
 * How the hooks call us: by name where that leads somewhere, so that the settings can be shared; else by the path of this very program, with a
 * variable before it that says whose it is. In a run of ours the run says where we are, for in its sandbox the name may lead nowhere.
 */
function launcherOf({ dir }: Options): string {
  const isNamed = whereIs('baton') !== null;
  const program = isNamed ? 'baton' : `${quoted(process.execPath)} ${quoted(realOf(process.argv[1] ?? ''))}`;
  const anywhere = isNamed ? `\${BATON_CLI:-${program}}` : program;
  if (dir !== undefined) return `BATON_DIR=${quoted(realOf(resolve(dir)))} ${anywhere}`;
  return isNamed ? anywhere : `BATON_BY_PATH=1 ${anywhere}`;
}

const quoted = (text: string): string => (/^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`);

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    // Not made yet.
    return path;
  }
}

const isThere = (path: string): boolean => statSync(path, { throwIfNoEntry: false }) !== undefined;

/** Beside it and then in its place; through a link, whose file it is that has the settings. */
async function apply({ path, text, place }: Change): Promise<void> {
  if (text === null) {
    rmSync(path);
    if (place?.folder === true) removeIfEmpty(dirname(path));
    return;
  }
  mkdirSync(dirname(path), { recursive: true });
  const target = realOf(path);
  const mode = statSync(target, { throwIfNoEntry: false })?.mode;
  await replaceFile(target, text, { mode: mode ?? 0o666 });
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (cause) {
    // Somebody has put something there since, so it stays.
    if ((cause as NodeJS.ErrnoException).code !== 'ENOTEMPTY') throw cause;
  }
}

const placesFile = (dir: string): string => join(dir, 'hooks', 'installed.json');

const placesOf = (changes: readonly Change[]): Places =>
  Object.fromEntries(changes.flatMap(({ path, place }) => (place === null ? [] : [[path, place]])));

/** What was made where; what is not readable is as if nothing had been written down. */
function readPlaces(dir: string): Places {
  const value = parseJson(readIfThere(placesFile(dir)) ?? '');
  if (!isFields(value)) return {};
  const places = Object.entries(value).flatMap(([path, place]): [string, Place][] => {
    if (!isFields(place) || !Array.isArray(place['events'])) return [];
    const { file, folder, hooks, events, blank } = place;
    const names = (events as unknown[]).filter((event) => typeof event === 'string');
    const known = { file: file === true, folder: folder === true, hooks: hooks === true, events: names };
    return [[path, { ...known, ...(typeof blank === 'string' ? blankOf(blank) : {}) }]];
  });
  return Object.fromEntries(places);
}

function writePlaces(dir: string, places: Places): void {
  const path = placesFile(dir);
  if (Object.keys(places).length === 0) return rmSync(path, { force: true });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `${JSON.stringify(places, null, 2)}\n`);
}
