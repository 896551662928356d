/**
 * A bubblewrap command line from what is granted. A program inside sees the system's own folders read-only, itself, and what was granted;
 * nothing else is there. It has process numbers of its own: when bubblewrap dies, the kernel kills everything inside.
 *
 * `--new-session` is not asked for: every program is started as the leader of a session of its own and so has no terminal to push
 * keystrokes into, and the first process inside has to stay in the group by which the end of all of it is seen (`end.ts`).
 */
import { basename, dirname, join, resolve, sep } from 'node:path';
import { isBelow } from './files.ts';
import { proxyPort } from './gate-port.ts';
import type { SandboxSpec } from './types.ts';

/** What has to be known of this machine. Paths are absolute. */
export interface Host {
  /** Where the program is to work. */
  readonly cwd: string;
  readonly bwrap: string;
  /** The program that runs this one, and the relay. */
  readonly node: string;
  readonly relay: string;
  readonly isRoot: boolean;
  /** Files and folders below the system's own that not everybody may read. */
  readonly secrets: readonly string[];
  /** Symlinks are followed; null is nothing there. */
  kindOf(path: string): 'folder' | 'file' | null;
  /** Where a symlink leads; null where there is none. */
  linkOf(path: string): string | null;
  /** A program by its name, along the PATH that the sandboxed one gets. */
  find(name: string): string | null;
}

const SYSTEM = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  // Where the certificates in /etc lead to on some systems.
  '/var/lib/ca-certificates',
];
/** By what is written here the machine itself is set up: `core_pattern` names a program that the kernel starts, outside and as root. */
const OF_THE_KERNEL = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'acpi', 'scsi', 'mtrr'].map(
  (name) => `/proc/${name}`,
);
/** Their first argument is the program, when it is a path. */
const INTERPRETERS = /^(node|nodejs|bun|deno|python[\d.]*|ruby|perl|php|sh|bash|zsh|dash)$/;
/** Where our own things are inside. */
const OURS = '/run/baton';

/** In the order in which they win over each other at the same path. */
const RANKS = ['memory', 'system', 'read', 'write', 'bind', 'hide'] as const;
type Rank = (typeof RANKS)[number];
type How = 'ro-bind' | 'bind' | 'tmpfs' | 'nothing' | 'proc' | 'dev';

interface Mount {
  readonly at: string;
  readonly how: How;
  readonly rank: Rank;
  /** Kept though it shows no more than the one above it: what is a mount cannot be renamed. */
  readonly fixed?: boolean;
}

/** How many processes stand around the program: bubblewrap outside, bubblewrap as the first process inside, and the relay. */
export const wrappersOf = ({ network }: SandboxSpec): number => (typeof network === 'string' ? 2 : 3);

/** The first of `command` is the program's absolute path. */
export function sandboxCommand(spec: SandboxSpec, command: readonly string[], host: Host): string[] {
  const { network, home } = spec;
  const view = lookFor(spec, command, host);
  const inHome = isBelow(home, ['/tmp']);
  const args = [
    host.bwrap,
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    '--die-with-parent',
    ...(network === 'open' ? [] : ['--unshare-net']),
    // Root would keep all its powers inside, mounting among them, and so its way out.
    ...['--cap-drop', 'ALL'],
    // Without these it could not write what belongs to another user, not even in its own workspace.
    ...(host.isRoot ? ['CAP_DAC_OVERRIDE', 'CAP_CHOWN', 'CAP_FOWNER'].flatMap((cap) => ['--cap-add', cap]) : []),
    ...view,
    // Some programs want no HOME below the folder for temporary files.
    ...(inHome ? ['--dir', '/run/tmp'] : []),
    ...['--setenv', 'TMPDIR', inHome ? '/run/tmp' : '/tmp', '--setenv', 'HOME', home],
    ...['--chdir', realPath(host.cwd, host).path],
  ];
  if (typeof network === 'string') return [...args, '--', ...command];
  const [relay, socket] = [`${OURS}/relay.mjs`, `${OURS}/gate.sock`];
  return [
    ...args,
    ...['--ro-bind', host.relay, relay, '--bind', network.socket, socket, '--'],
    ...[host.node, relay, socket, String(proxyPort(network.loopback)), network.loopback.join(','), '--'],
    ...command,
  ];
}

/** What is seen inside, as arguments in the order in which it is to be mounted. */
function lookFor(spec: SandboxSpec, command: readonly string[], host: Host): string[] {
  const mounts = new Map<string, Mount>();
  const links = new Map<string, string>();
  const put = (path: string, how: How, rank: Rank): void => {
    const real = realPath(path, host);
    for (const [at, target] of real.links) links.set(at, target);
    const there = mounts.get(real.path);
    if (there !== undefined && RANKS.indexOf(there.rank) > RANKS.indexOf(rank)) return;
    mounts.set(real.path, { at: real.path, how, rank });
  };
  /** What is not there is left out. */
  const show = (path: string, how: 'ro-bind' | 'bind', rank: Rank): void => {
    if (host.kindOf(path) !== null) put(path, how, rank);
  };

  for (const at of ['/tmp', '/run', spec.home]) put(at, 'tmpfs', 'memory');
  put('/proc', 'proc', 'hide');
  // Whoever is root outside is root there; bubblewrap by itself leaves some of it open to be written.
  if (host.isRoot) for (const path of OF_THE_KERNEL) show(path, 'ro-bind', 'hide');
  put('/dev', 'dev', 'hide');
  for (const path of SYSTEM) show(path, 'ro-bind', 'system');
  // It may lead to /run, which is empty inside.
  if (spec.network === 'open') show('/etc/resolv.conf', 'ro-bind', 'system');

  const hidden = spec.hide.filter((path) => host.kindOf(path) !== null).map((path) => realPath(path, host).path);
  const isHidden = (path: string): boolean => hidden.some((each) => isBelow(realPath(path, host).path, [each]));
  for (const path of spec.readPaths) if (!isHidden(path)) show(path, 'ro-bind', 'read');
  for (const path of spec.writePaths) if (!isHidden(path)) show(path, 'bind', 'write');
  for (const { path, writable } of spec.binds) show(path, writable ? 'bind' : 'ro-bind', 'bind');
  const needed = neededBy(spec, command, host);
  const isWritable = (path: string): boolean => above(realPath(path, host).path, mounts)?.how === 'bind';
  for (const path of needed.folders.filter((folder) => !isWritable(folder))) show(path, 'ro-bind', 'system');
  for (const path of needed.programs) show(path, 'ro-bind', 'system');
  for (const at of [...hidden, ...host.secrets]) {
    if (isShown(at, mounts)) put(at, host.kindOf(at) === 'folder' ? 'tmpfs' : 'nothing', 'hide');
  }
  // Where nothing of the workspace is granted it is there, empty and read-only: what is written to it must not vanish in a folder in memory.
  const work = realPath(host.cwd, host).path;
  const isEmpty = work !== '/' && !mounts.has(work) && !isShown(work, mounts);
  if (isEmpty) mounts.set(work, { at: work, how: 'tmpfs', rank: 'memory' });
  for (const at of hidden) fix(at, mounts);
  for (const { path, fixed } of spec.binds) if (fixed === true) fix(realPath(path, host).path, mounts);

  const kept = withoutRepeats(mounts);
  // A link in a folder that is shown is there already.
  const missing = [...links].filter(([at]) => !isShown(at, kept));
  const steps = [
    ...[...kept.values()].map((mount) => ({ at: mount.at, args: argumentsOf(mount) })),
    ...missing.map(([at, target]) => ({ at, args: ['--symlink', target, at] })),
  ];
  // A folder before what lies in it.
  steps.sort((a, b) => depth(a.at) - depth(b.at) || (a.at < b.at ? -1 : 1));
  const args = [...steps.flatMap((step) => step.args), ...(isEmpty ? ['--remount-ro', work] : [])];
  // What is written beside the granted folders would be gone with the sandbox: better that it fails at once.
  return kept.has('/') ? args : [...args, ...['--dir', OURS, '--remount-ro', '/']];
}

function argumentsOf({ at, how }: Mount): string[] {
  if (how === 'nothing') return ['--ro-bind', '/dev/null', at];
  return how === 'bind' || how === 'ro-bind' ? [`--${how}`, at, at] : [`--${how}`, at];
}

interface Needed {
  /** Read-only also where the rest of their folder may be written: what Baton starts next is not for the agent to choose. */
  readonly programs: readonly string[];
  /** Shown where nothing else shows them. A folder that may be written stays so. */
  readonly folders: readonly string[];
}

/** The program, the one that is named after its interpreter, and `node` for those that are written for it. */
function neededBy(spec: SandboxSpec, command: readonly string[], host: Host): Needed {
  const programs = programsOf(command, host);
  const nodes = [host.node, host.find('node')].filter((path) => path !== null);
  const isOwn = (path: string): boolean => !isTooMuch(path, spec);
  return {
    programs: programs.filter(isOwn),
    // By the way they are called, and by what they need where they really are.
    folders: [
      ...nodes,
      ...programs.map((path) => homeOf(realPath(path, host).path)).filter((folder) => !isOfTheWork(folder, host)),
      ...nodes.map((path) => dirname(dirname(realPath(path, host).path))),
    ].filter(isOwn),
  };
}

/** The program of a command, and the script that its interpreter is given. */
function programsOf([program = '', first = '']: readonly string[], host: Host): readonly string[] {
  const script = INTERPRETERS.test(basename(program)) && !first.startsWith('-') ? resolve(host.cwd, first) : null;
  return [program, ...(script !== null && first !== '' && host.kindOf(script) === 'file' ? [script] : [])];
}

/** The programs of a command that lie in a folder which may be written, and cannot be written themselves. */
export function heldPrograms(spec: SandboxSpec, command: readonly string[], host: Host): readonly string[] {
  const real = (path: string): string => realPath(path, host).path;
  const granted = [...spec.writePaths, ...spec.binds.filter(({ writable }) => writable).map(({ path }) => path)].map(
    real,
  );
  const isOfTheWorkspace = (path: string): boolean => isBelow(path, [real(host.cwd)]) || isBelow(path, granted);
  return programsOf(command, host)
    .map(real)
    .filter((path) => isOfTheWorkspace(path) && !granted.includes(path) && host.kindOf(path) !== null);
}

/** A folder of the workspace is not shown for the sake of a program in it, but for the packages that the program is made of. */
const isOfTheWork = (folder: string, host: Host): boolean =>
  basename(folder) !== 'node_modules' &&
  host.cwd !== '/' &&
  (isBelow(folder, [realPath(host.cwd, host).path]) || isBelow(realPath(host.cwd, host).path, [folder]));

/** The outermost `node_modules` that a program lies in, for its packages lie beside it; else its own folder. */
function homeOf(program: string): string {
  const parts = program.split(sep);
  const at = parts.indexOf('node_modules');
  return at < 0 ? dirname(program) : parts.slice(0, at + 1).join(sep);
}

/** A folder that holds the user's own things is not shown for the sake of a program that lies in it. */
const isTooMuch = (path: string, { home, hide, readPaths, writePaths }: SandboxSpec): boolean =>
  ['/tmp', '/etc', '/var/lib', home, ...hide, ...readPaths, ...writePaths].some((each) => isBelow(each, [path]));

/** Whether a path is in a folder of this machine that is shown, and not covered by something in memory. */
function isShown(path: string, mounts: ReadonlyMap<string, Mount>): boolean {
  const over = above(path, mounts);
  return over !== null && (over.how === 'bind' || over.how === 'ro-bind');
}

/** The mount that decides what is seen at a path, other than one at the path itself. */
function above(path: string, mounts: ReadonlyMap<string, Mount>): Mount | null {
  for (let at = path; at !== '/'; ) {
    at = dirname(at);
    const found = mounts.get(at);
    if (found !== undefined) return found;
  }
  return null;
}

/**
 * Makes mounts of the folders above a mount that could be renamed: it would go with them, and on this machine something else could be put
 * where it was.
 */
function fix(path: string, mounts: Map<string, Mount>): void {
  const own = mounts.get(path);
  if (own === undefined) return;
  mounts.set(path, { ...own, fixed: true });
  for (let below = path, over = above(below, mounts); over !== null; below = over.at, over = above(below, mounts)) {
    mounts.set(over.at, { ...over, fixed: true });
    if (over.how !== 'bind') continue;
    for (let at = dirname(below); at !== over.at; at = dirname(at)) mounts.set(at, { ...over, at, fixed: true });
  }
}

function withoutRepeats(mounts: ReadonlyMap<string, Mount>): Map<string, Mount> {
  const kept = [...mounts.values()].filter((mount) => {
    const over = above(mount.at, mounts);
    return (
      mount.fixed === true ||
      over === null ||
      over.how !== mount.how ||
      (mount.how !== 'bind' && mount.how !== 'ro-bind')
    );
  });
  return new Map(kept.map((mount) => [mount.at, mount]));
}

const depth = (path: string): number => path.split(sep).filter((part) => part !== '').length;

/** Nobody has more symlinks than this in one path, but for those that lead in a circle. */
const MOST_LINKS = 40;

interface RealPath {
  readonly path: string;
  /** The symlinks on the way: where, and what is written there. */
  readonly links: readonly (readonly [at: string, target: string])[];
}

/** Follows the symlinks of a path; what is not there is taken as it is. */
export function realPath(path: string, host: Pick<Host, 'linkOf'>): RealPath {
  const links: (readonly [string, string])[] = [];
  const open = resolve(path)
    .split(sep)
    .filter((part) => part !== '');
  let at = '/';
  for (let part = open.shift(); part !== undefined; part = open.shift()) {
    const next = join(at, part);
    const target = links.length < MOST_LINKS ? host.linkOf(next) : null;
    if (target === null) {
      at = next;
      continue;
    }
    links.push([next, target]);
    open.unshift(
      ...resolve(at, target)
        .split(sep)
        .filter((each) => each !== ''),
    );
    at = '/';
  }
  return { path: at, links };
}
