/** Real sandboxes: what is seen inside, and that nothing of them is left, whoever dies. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { expect } from 'vitest';
import type { SandboxSpec } from '../../src/process/types.ts';
import { sandboxTest } from '../helpers/sandbox.ts';
import { boxed, ENV, newFolder, newSleep, sh, start, textOf, until, withText } from './real.ts';

/** What a script prints inside. */
async function inside(script: string, cwd: string, sandbox: SandboxSpec): Promise<string> {
  const program = await sh(`exec 2>&1; ${script}`, { cwd, sandbox });
  const text = await textOf(program.stdout);
  const [stderr] = await Promise.all([textOf(program.stderr), program.end(1000)]);
  return `${stderr}${text}`;
}

sandboxTest('the workspace can be written, the rest is not there or read-only', async () => {
  const [ws, other] = [newFolder('ws with spaces '), newFolder()];
  writeFileSync(join(other, 'secret'), 'secret');
  const script = `
    pwd; echo made > made && echo workspace; touch "$HOME/x" && echo home; touch "$TMPDIR/x" && echo tmp
    ls -A "$HOME"; cat '${other}/secret'; touch '${other}/x'; touch /x /usr/x /etc/x
    ls /proc | grep -c '^[0-9]'; exit 0`;
  const text = await inside(script, ws, boxed(ws));
  expect(text).toMatch(/^.*ws with spaces .*\nworkspace\nhome\ntmp\nx\n/);
  expect(text.match(/No such file/g)).toHaveLength(2);
  expect(text.match(/Read-only file system/g)).toHaveLength(3);
  expect(Number(text.trim().split('\n').at(-1))).toBeLessThan(8);
  expect(readFileSync(join(ws, 'made'), 'utf8')).toBe('made\n');
  expect(readdirSync(other)).toEqual(['secret']);
});

sandboxTest('root has no powers inside, and does not see what only root may', async () => {
  const ws = newFolder();
  if (process.getuid?.() === 0) chownSync(ws, 12_345, 12_345);
  const script = `touch made && echo made; cat /etc/shadow; mount -t tmpfs x /usr; mknod "$TMPDIR/d" b 8 0; hostname other; grep NoNewPrivs /proc/self/status; ls /etc/ssl/private`;
  const text = await inside(script, ws, boxed(ws));
  expect(text).toMatch(/^made\n/);
  expect(text).toMatch(/shadow: Permission denied/);
  expect(text).toMatch(/mount: .*permission denied|must be superuser/i);
  expect(text).toMatch(/mknod: .*not permitted/);
  expect(text).toMatch(/NoNewPrivs:\s*1/);
});

sandboxTest('the settings of the kernel are not written from inside, by root neither', async () => {
  const ws = newFolder();
  // What they are already, so that nothing would come of it.
  const script = `for name in kernel/core_pattern vm/swappiness; do
    was=$(cat /proc/sys/$name); echo "$was" > /proc/sys/$name && echo "wrote $name"; done; exit 0`;
  const text = await inside(script, ws, boxed(ws));
  expect(text.match(/Read-only file system|Permission denied/g)).toHaveLength(2);
  expect(text).not.toContain('wrote');
});

sandboxTest('the data folder is hidden in the workspace, but for what the run has of its own', async () => {
  const ws = newFolder();
  const data = join(ws, '.baton');
  for (const path of ['runs/mine', 'runs/other', 'tasks/ready']) mkdirSync(join(data, path), { recursive: true });
  writeFileSync(join(data, 'runs/mine/f'), 'f');
  writeFileSync(join(data, 'token'), 't');
  mkdirSync(join(ws, 'only-read'));
  symlinkSync(data, join(ws, 'way-round'));
  const sandbox = boxed(ws, {
    readPaths: [join(data, 'tasks')],
    hide: [data],
    binds: [
      { path: join(data, 'runs/mine'), writable: true },
      { path: join(ws, 'only-read'), writable: false },
    ],
  });
  const text = await inside(
    'find .baton way-round/ | sort; echo x > .baton/runs/mine/g; touch only-read/x; touch .baton/lost',
    ws,
    sandbox,
  );
  expect(text.split('\n').slice(0, 8)).toEqual([
    '.baton',
    '.baton/runs',
    '.baton/runs/mine',
    '.baton/runs/mine/f',
    'way-round/',
    'way-round/runs',
    'way-round/runs/mine',
    'way-round/runs/mine/f',
  ]);
  expect(text).toMatch(/only-read\/x.*Read-only/);
  expect(readdirSync(join(data, 'runs/mine')).sort()).toEqual(['f', 'g']);
  expect(existsSync(join(data, 'lost'))).toBe(false);
});

sandboxTest('a workspace that is HOME, one behind a link, and a login in HOME', async () => {
  const [ws, home] = [newFolder(), newFolder()];
  writeFileSync(join(ws, 'mine'), '');
  mkdirSync(join(home, '.cli'));
  writeFileSync(join(home, '.cli/login'), 'login');
  writeFileSync(join(home, 'private'), '');
  symlinkSync(ws, join(home, 'link'));
  expect(await inside('ls "$HOME"', ws, boxed(ws, { home: ws }))).toBe('mine\n');
  const binds = [{ path: join(home, '.cli'), writable: true }];
  const text = await inside(
    `ls -A ~; cat ~/.cli/login; pwd; echo; ls; echo $TMPDIR; touch "$TMPDIR/x"`,
    join(home, 'link'),
    boxed(join(home, 'link'), { home, binds }),
  );
  expect(text).toBe(`.cli\nlink\nlogin${ws}\n\nmine\n/run/tmp\n`);
});

sandboxTest('programs are run from where they are: by a link, from node_modules, by their interpreter', async () => {
  const [ws, tools] = [newFolder(), newFolder()];
  const pack = join(tools, 'lib/node_modules/cli');
  mkdirSync(join(pack, 'bin'), { recursive: true });
  mkdirSync(join(tools, 'bin'));
  writeFileSync(join(pack, 'package.json'), '{"type":"module"}');
  writeFileSync(join(pack, 'word.js'), 'export const word = "cli runs";');
  writeFileSync(join(pack, 'bin/cli.js'), `#!/usr/bin/env node\nimport { word } from '../word.js'; console.log(word);`);
  chmodSync(join(pack, 'bin/cli.js'), 0o755);
  symlinkSync('../lib/node_modules/cli/bin/cli.js', join(tools, 'bin/cli'));
  writeFileSync(join(tools, 'private'), '');
  const env = { ...ENV, PATH: `${join(tools, 'bin')}:${ENV.PATH}` };
  const cli = await start({ command: ['cli'], env, cwd: ws, sandbox: boxed(ws) });
  expect(await Promise.all([textOf(cli.stdout), textOf(cli.stderr)])).toEqual(['cli runs\n', '']);
  writeFileSync(
    join(tools, 'agent.mjs'),
    `import { existsSync } from 'node:fs'; console.log(process.argv[2], existsSync('${ws}'));`,
  );
  const agent = await start({ command: ['node', join(tools, 'agent.mjs'), 'a b'], cwd: ws, sandbox: boxed(ws) });
  expect(await textOf(agent.stdout)).toBe('a b true\n');
});

/** Everything that a process can do to get away from its parent, at once; the sandbox's own program stays. */
const escaping = (name: string): string => `
  trap '' TERM
  sleep ${name} &
  (setsid sh -c 'sleep ${name} & exit 0' &)
  (setsid env -i /bin/sh -c '(setsid env -i sleep ${name} &) ; exit 0' </dev/null >/dev/null 2>&1 &)
  while :; do sleep ${name}; done`;
const RUNNING = 4;
const isRunning = (name: string) => (): boolean => withText(`sleep\0${name}`).length >= RUNNING;

sandboxTest('killing bubblewrap kills everything inside at once', async () => {
  const [ws, name] = [newFolder(), newSleep()];
  const program = await sh(escaping(name), { cwd: ws, sandbox: boxed(ws) });
  await until('it runs', isRunning(name));
  process.kill(program.pid, 'SIGKILL');
  await program.exited;
  await until('nothing is left', () => withText(name).length === 0);
});

sandboxTest('the end of a sandbox is complete when it is told', async () => {
  const [ws, name] = [newFolder(), newSleep()];
  const program = await sh(escaping(name), { cwd: ws, sandbox: boxed(ws) });
  await until('it runs', isRunning(name));
  expect(await program.end(100)).toEqual({ signal: 'SIGKILL', swept: [], left: [] });
  expect(withText(name)).toEqual([]);

  const gone = await sh(`(setsid env -i sleep ${name} >/dev/null 2>&1 &); exit 4`, { cwd: ws, sandbox: boxed(ws) });
  expect(await gone.exited).toEqual({ code: 4, signal: null });
  expect((await gone.end(1000)).left).toEqual([]);
  expect(withText(name)).toEqual([]);
});

sandboxTest('a program inside has its grace, and gets SIGTERM once', async () => {
  const ws = newFolder();
  const program = await sh(`trap 'echo bye' TERM; echo up; while :; do sleep 0.02; done`, {
    cwd: ws,
    sandbox: boxed(ws),
  });
  const out = textOf(program.stdout);
  await once(program.stdout, 'data');
  expect((await program.end(2000)).signal).toBe('SIGKILL');
  expect((await out).match(/bye/g)).toHaveLength(1);

  const polite = await sh(`trap 'exit 9' TERM; echo up; while :; do sleep 0.02; done`, { cwd: ws, sandbox: boxed(ws) });
  await once(polite.stdout, 'data');
  expect((await polite.end(60_000)).signal).toBe('SIGTERM');
  expect(await polite.exited).toEqual({ code: 9, signal: null });
});

sandboxTest('when Baton itself is killed, nothing of a sandbox is left', async () => {
  const [ws, name] = [newFolder(), newSleep()];
  const src = new URL('../../src/process/start.ts', import.meta.url).pathname;
  const outfile = join(ws, 'baton.mjs');
  const options = {
    command: ['sh', '-c', escaping(name)],
    cwd: ws,
    env: ENV,
    stdin: null,
    mark: 'm',
    sandbox: boxed(ws),
  };
  await build({
    stdin: {
      contents: `import { startProgram } from ${JSON.stringify(src)}; await startProgram(${JSON.stringify(options)});`,
      resolveDir: ws,
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
  });
  const baton = spawn(process.execPath, [outfile], { stdio: 'ignore' });
  await until('it runs', isRunning(name));
  baton.kill('SIGKILL');
  await once(baton, 'exit');
  await until('nothing is left', () => withText(name).length === 0);
});

sandboxTest('without a network there is none', async () => {
  const ws = newFolder();
  const script = `const { networkInterfaces } = require('node:os'); console.log(Object.keys(networkInterfaces()).join());`;
  const program = await start({ command: ['node', '-e', script], cwd: ws, sandbox: boxed(ws) });
  expect(await textOf(program.stdout)).toBe('lo\n');
});
