/** The command line of a sandbox: what is mounted, and in which order. No sandbox is started here. */
import { dirname } from 'node:path';
import { expect, test } from 'vitest';
import { type Host, realPath, sandboxCommand } from '../../src/process/sandbox-command.ts';
import type { SandboxSpec } from '../../src/process/types.ts';

const FOLDERS = ['/usr', '/etc', '/opt', '/tmp', '/run', '/home/u', '/ws', '/data'];

/** A machine that is made up: `files` and their folders are there, `links` lead elsewhere. */
function hostOf(files: readonly string[] = [], links: Readonly<Record<string, string>> = {}): Host {
  const linkOf = (path: string): string | null => links[path] ?? null;
  const folders = new Set(FOLDERS);
  for (const file of [...files, ...FOLDERS]) {
    for (let at = dirname(file); at !== '/'; at = dirname(at)) folders.add(at);
  }
  return {
    cwd: '/ws',
    bwrap: '/usr/bin/bwrap',
    node: '/usr/bin/node',
    relay: '/opt/baton/relay.mjs',
    isRoot: false,
    secrets: ['/etc/shadow'],
    kindOf: (path) => {
      const real = realPath(path, { linkOf }).path;
      return folders.has(real) ? 'folder' : files.includes(real) || real === '/etc/shadow' ? 'file' : null;
    },
    linkOf,
    find: () => '/usr/bin/node',
  };
}

const spec = (more: Partial<SandboxSpec> = {}): SandboxSpec => ({
  readPaths: [],
  writePaths: [],
  binds: [],
  hide: [],
  network: 'none',
  home: '/home/u',
  ...more,
});

/** The mounts in order, as `how path`. */
function mounts(asked: SandboxSpec, host = hostOf(), command = ['/usr/bin/agent']): string[] {
  const args = sandboxCommand(asked, command, host);
  const found: string[] = [];
  for (let at = 0; at < args.length && args[at] !== '--'; at++) {
    const name = args[at] ?? '';
    if (['--bind', '--ro-bind', '--symlink'].includes(name)) found.push(`${name} ${args[at + 1]} ${args[at + 2]}`);
    else if (['--tmpfs', '--proc', '--dev'].includes(name)) found.push(`${name} ${args[at + 1]}`);
  }
  return found.map((mount) => mount.replace(/^--(ro-bind|bind) (\S+) \2$/, '$1 $2').replace(/^--/, ''));
}

test('the system is read-only, memory is where nothing was granted, secrets are covered', () => {
  expect(mounts(spec())).toEqual([
    'dev /dev',
    'ro-bind /etc',
    'ro-bind /opt',
    'proc /proc',
    'tmpfs /run',
    'tmpfs /tmp',
    'ro-bind /usr',
    // Nothing of the workspace was granted: it is there, and empty.
    'tmpfs /ws',
    'ro-bind /dev/null /etc/shadow',
    'tmpfs /home/u',
  ]);
});

test('a folder comes before what lies in it, and the nearest grant decides', () => {
  const host = hostOf(['/ws/src/a', '/ws/lib/b', '/ws/.baton/runs/1/x', '/ws/.baton/tasks/t']);
  const seen = mounts(
    spec({
      readPaths: ['/ws', '/ws/lib'],
      writePaths: ['/ws/src', '/ws/.baton/tasks'],
      binds: [
        { path: '/ws/.baton/runs/1', writable: true },
        { path: '/ws/missing', writable: true },
      ],
      hide: ['/ws/.baton'],
    }),
    host,
  ).filter((mount) => mount.includes('/ws'));
  // A grant below what is hidden is none; one that repeats what is there already is left out.
  expect(seen).toEqual(['ro-bind /ws', 'tmpfs /ws/.baton', 'bind /ws/src', 'bind /ws/.baton/runs/1']);
});

test('at one path the stronger word counts', () => {
  const at = (more: Partial<SandboxSpec>): string[] =>
    mounts(spec(more)).filter((each) => / \/(ws|home\/u|tmp)$/.test(each));
  expect(at({ readPaths: ['/ws'], writePaths: ['/ws'] })).toContain('bind /ws');
  expect(at({ writePaths: ['/ws'], binds: [{ path: '/ws', writable: false }] })).toContain('ro-bind /ws');
  expect(at({ writePaths: ['/ws'], hide: ['/ws'] }).filter((each) => each.endsWith('/ws'))).toEqual(['tmpfs /ws']);
  expect(at({ writePaths: ['/home/u'] })).toContain('bind /home/u');
  expect(at({ writePaths: ['/tmp'] })).toContain('bind /tmp');
});

test('what is hidden and in no folder that is shown needs no cover; a file is covered by nothing', () => {
  const host = hostOf(['/ws/token', '/data/x']);
  const seen = mounts(spec({ writePaths: ['/ws'], hide: ['/data', '/ws/token', '/ws/absent'] }), host);
  expect(seen).toContain('ro-bind /dev/null /ws/token');
  expect(seen.join()).not.toMatch(/data|absent/);
});

test('folders above what is hidden or fixed are mounts themselves, for what is a mount cannot be renamed', () => {
  const host = hostOf(['/ws/a/b/data/x', '/ws/.git/hooks/x']);
  const binds = [
    { path: '/ws/.git', writable: true, fixed: true },
    { path: '/ws/.git/hooks', writable: false },
  ];
  const asked = spec({ writePaths: ['/ws', '/ws/a'], binds, hide: ['/ws/a/b/data'] });
  expect(mounts(asked, host).filter((each) => each.includes('/ws'))).toEqual([
    ...['bind /ws', 'bind /ws/.git', 'bind /ws/a', 'ro-bind /ws/.git/hooks', 'bind /ws/a/b', 'tmpfs /ws/a/b/data'],
  ]);
});

test('links on the way are made again where they would be missing', () => {
  const host = hostOf(['/disk/ws/a', '/disk/claude/c', '/usr/bin/x'], {
    '/bin': 'usr/bin',
    '/projects': '/disk/ws',
    '/home/u/.claude': '../../disk/claude',
    '/etc/resolv.conf': '/run/resolve/resolv.conf',
  });
  const seen = mounts(spec({ writePaths: ['/projects'], binds: [{ path: '/home/u/.claude', writable: true }] }), host);
  expect(seen).toEqual(
    expect.arrayContaining([
      'symlink usr/bin /bin',
      'bind /disk/ws',
      'symlink /disk/ws /projects',
      'bind /disk/claude',
      'symlink ../../disk/claude /home/u/.claude',
    ]),
  );
  expect(seen.indexOf('symlink ../../disk/claude /home/u/.claude')).toBeGreaterThan(seen.indexOf('tmpfs /home/u'));
  expect(seen.join()).not.toContain('ro-bind /usr/bin');
});

test('names are looked up where the system says, when the network is open', () => {
  const links = { '/etc/resolv.conf': '../run/resolve/resolv.conf' };
  const host = hostOf(['/run/resolve/resolv.conf'], links);
  expect(mounts(spec({ network: 'open' }), host)).toContain('ro-bind /run/resolve/resolv.conf');
  expect(mounts(spec(), host).join()).not.toContain('resolv');
  expect(sandboxCommand(spec({ network: 'open' }), ['/usr/bin/a'], host)).not.toContain('--unshare-net');
  expect(sandboxCommand(spec(), ['/usr/bin/a'], host)).toContain('--unshare-net');
});

test('a program is shown with what it needs, and the user is not', () => {
  const cli = '/home/u/.npm/lib/node_modules/cli/bin/cli.js';
  const host = hostOf([cli, '/home/u/agent', '/home/u/tools/bin/agent', '/home/u/scripts/agent.mjs'], {
    '/home/u/.npm/bin/cli': `../lib/node_modules/cli/bin/cli.js`,
  });
  const seen = (...command: string[]): string[] =>
    mounts(spec({ writePaths: ['/ws'] }), host, command).filter((mount) => mount.includes('/home/u/'));
  expect(seen('/home/u/.npm/bin/cli')).toEqual([
    'symlink ../lib/node_modules/cli/bin/cli.js /home/u/.npm/bin/cli',
    'ro-bind /home/u/.npm/lib/node_modules',
  ]);
  expect(seen('/home/u/agent')).toEqual(['ro-bind /home/u/agent']);
  expect(seen('/home/u/tools/bin/agent')).toEqual(['ro-bind /home/u/tools/bin']);
  expect(seen('/usr/bin/node', '/home/u/scripts/agent.mjs')).toEqual(['ro-bind /home/u/scripts']);
  // What a prompt says is no path to show.
  expect(seen('/usr/bin/cli', '/home/u/scripts/agent.mjs')).toEqual([]);
});

test('the way out is bound in, and the relay stands around the program', () => {
  const network = { socket: '/data/g.sock', loopback: [3128, 8080] };
  const args = sandboxCommand(spec({ network, hide: ['/data'] }), ['/usr/bin/agent', '-p', 'x y'], hostOf());
  expect(args.slice(args.indexOf('--'))).toEqual([
    '--',
    '/usr/bin/node',
    '/run/baton/relay.mjs',
    '/run/baton/gate.sock',
    '3129',
    '3128,8080',
    '--',
    '/usr/bin/agent',
    '-p',
    'x y',
  ]);
  expect(args.join(' ')).toContain('--bind /data/g.sock /run/baton/gate.sock');
});
