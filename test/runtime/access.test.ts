/**
 * What an agent can touch, seen from where it sits: a program in a real sandbox tries, and what it reached is looked at from outside. The
 * run's record has to say the same.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { SandboxProbe } from '../../src/process/sandbox.ts';
import { whereIs } from '../../src/process/where.ts';
import {
  makeRepository,
  makeWorld,
  type Ran,
  reportText,
  type TaskParts,
  taskOf,
  type World,
  type WorldOptions,
} from './world.ts';

const fake = vi.hoisted((): { probe: SandboxProbe | null } => ({ probe: null }));
vi.mock('../../src/process/sandbox.ts', async (original) => {
  const real = await original<typeof import('../../src/process/sandbox.ts')>();
  return { ...real, probeSandbox: async () => fake.probe ?? (await real.probeSandbox()) };
});

const { probeSandbox } = await import('../../src/process/sandbox.ts');
const probed = await probeSandbox();
if (!probed.ok) {
  console.warn(`\n!!! NOT TESTED, for there is no sandbox here: ${probed.reason}\n`);
  test.runIf(process.env['BATON_REAL'] === 'require')('there is a sandbox', () => {
    expect(probed).toEqual({ ok: true });
  });
}

const hasCurl = whereIs('curl') !== null;
if (!hasCurl) console.warn('\n!!! NOT TESTED: the network of a sandbox, for there is no curl here\n');

const servers: Server[] = [];
const folders: string[] = [];
afterEach(() => {
  fake.probe = null;
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Tried {
  readonly world: World;
  readonly ran: Ran;
  /** What the agent printed. */
  readonly out: string;
}

interface Try extends WorldOptions {
  readonly task?: TaskParts['task'] | ((world: World) => TaskParts['task']);
  readonly before?: (world: World) => void;
  readonly env?: readonly string[];
}

const RUN = `eval "$(sed -n '/^#BEGIN/,/^#END/p')"`;

/** Lets an agent run a script of the shell and say that it is done. */
async function attempt(script: string | ((world: World) => string), options: Try = {}): Promise<Tried> {
  const world: World = await makeWorld({
    ...options,
    config: {
      // The script stands in its task, which it is told on its standard input.
      agents: { a: { kind: 'command', command: ['sh', '-c', RUN], env: options.env ?? [] } },
      ...options.config,
    },
  });
  options.before?.(world);
  const text = typeof script === 'string' ? script : script(world);
  const task = typeof options.task === 'function' ? options.task(world) : options.task;
  const objective = `Run what follows.\n#BEGIN\n(${text}\n)\ncat <<'END'\n${reportText()}\nEND\n#END`;
  const ran = await world.run(taskOf(world, { agent: 'a', objective, ...(task === undefined ? {} : { task }) }));
  expect(world.alive()).toEqual([]);
  return { world, ran, out: ran.log('out.log') };
}

async function listen(): Promise<number> {
  const server = createServer((_, answer) => void answer.end('REACHED'));
  servers.push(server);
  await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
  return (server.address() as AddressInfo).port;
}

/** Asks for a URL: as it is, or through the proxy that the environment names. */
const fetching = (url: string, way: 'direct' | 'proxy'): string =>
  `curl -sS -m 60 ${way === 'direct' ? "--noproxy '*'" : `--noproxy '' -x "$http_proxy"`} -w ' %{http_code}\\n' ${url} 2>&1 || true`;

const enforcedIn = (ran: Ran): Readonly<Record<string, unknown>> => ran.told('run.enforced')[0] ?? {};

describe.skipIf(!probed.ok)('what an agent sees', () => {
  test('not the data folder, not the sockets of others, not what is kept from it', async () => {
    const { world, out } = await attempt(
      ({ root, dir }) => `
        echo "data: $(ls -A ${dir})"
        cat ${dir}/baton.json ${dir}/config.yaml
        echo x > ${dir}/planted; mkdir -p ${dir}/tasks/ready; echo x > ${dir}/tasks/ready/evil.md
        echo "sockets: $(find / -xdev -type s 2>/dev/null; find /tmp /run -type s 2>/dev/null)"
        echo "home: $(ls -A "$HOME")"
        cat "$HOME/.ssh/id" ${root}/other/secret.txt
        echo "shadow: $(cat /etc/shadow)."
        echo "beside: $(ls -A ${root})"
        ls /root /home /var/lib`,
      {
        before({ home, root, write }) {
          write(join(home, '.ssh/id'), 'SECRET KEY');
          write(join(root, 'other/secret.txt'), 'SECRET');
        },
      },
    );
    expect(out).toMatch(/^data: logs$/m);
    expect(out).not.toContain('SECRET');
    expect(out).not.toContain('"secret"');
    expect(out).toMatch(/^shadow: \.$/m);
    expect(out).toMatch(/^home: $/m);
    expect(out).not.toMatch(/^beside:.*other/m);
    expect(existsSync(join(world.dir, 'planted'))).toBe(false);
    expect(existsSync(join(world.dir, 'tasks/ready/evil.md'))).toBe(false);
    // Its own socket and its own way out; the owner of the store has one too, and that is not there.
    const sockets = /sockets: ([\s\S]*?)\nhome:/.exec(out)?.[1]?.split('\n') ?? [];
    const kinds = [...new Set(sockets.map((path) => path.replace(/.*\/(gate|s)[^/]*$/, '$1')))].sort();
    expect(kinds).toEqual(['gate', 's']);
  });

  test('its task, its socket and a folder for its details', async () => {
    const script = `
      const net = require('node:net'), fs = require('node:fs');
      const { env } = process;
      console.log('objective', JSON.parse(fs.readFileSync(env.BATON_TASK_FILE, 'utf8')).task.objective);
      fs.writeFileSync(env.BATON_DETAILS_DIR + '/all.json', '{}');
      const socket = net.connect(env.BATON_SOCKET);
      socket.end(env.REPORT + '\\n');
      socket.on('data', (data) => console.log('answer', String(data)));`;
    const world = await makeWorld({
      config: { agents: { a: { kind: 'command', command: ['node', '-e', script], env: { REPORT: reportText() } } } },
    });
    const ran = await world.run(taskOf(world, { agent: 'a', objective: 'Look around.' }));
    expect(ran.log('out.log')).toContain('objective Look around.');
    expect(ran.log('out.log')).toContain('answer {"result":"accepted"');
    expect(ran.log('agent/all.json')).toBe('{}');
    expect(ran.task.status).toBe('done');
  });

  test('its environment, and of Baton’s own only what is passed', async () => {
    const { out } = await attempt('env', {
      environment: { OTHER_SECRET: 'hush', NAMED: 'passed', LC_ALL: 'C.UTF-8', ANTHROPIC_API_KEY: 'hush too' },
      env: ['NAMED'],
    });
    expect(out).toMatch(/^NAMED=passed$/m);
    expect(out).toMatch(/^LC_ALL=C\.UTF-8$/m);
    expect(out).not.toContain('hush');
    const names = [...out.matchAll(/^(\w+)=/gm)].map((match) => match[1] as string);
    const own = names.filter((name) => !/^BATON_|proxy$|PROXY$/.test(name)).sort();
    expect(own.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))).toEqual(
      ['HOME', 'LC_ALL', 'NAMED', 'PATH', 'TMPDIR'].sort(),
    );
  });

  test('no process but its own', async () => {
    const { out } = await attempt(
      `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline; echo; done; kill -0 ${process.pid} && echo SIGNALLED; echo "me: $$"`,
    );
    expect(out).not.toContain('vitest');
    expect(out).not.toContain('SIGNALLED');
    expect(Number(/me: (\d+)/.exec(out)?.[1])).toBeLessThan(100);
  });
});

describe.skipIf(!probed.ok)('paths', () => {
  test('what may be read can be read, what may be written can be written, and nothing beside', async () => {
    const { world, ran, out } = await attempt(
      ({ workspace, root }) => `
        cat src/a.txt ${root}/lib/b.txt
        cat secret.txt ${root}/lib-evil/c.txt
        ls -A ${workspace}
        for f in src/new lib/new new out/new ${root}/lib/new ${root}/new; do echo x > $f; done 2>/dev/null
        echo x > src/a.txt; rm -f src/a.txt; mv src src2`,
      {
        before({ root, write }) {
          write('src/a.txt', 'A-TEXT\n');
          write('out/.keep', '');
          write('secret.txt', 'SECRET\n');
          write(join(root, 'lib/b.txt'), 'B-TEXT\n');
          write(join(root, 'lib-evil/c.txt'), 'SECRET\n');
        },
        task: ({ root }) => ({
          access: { filesystem: { read_paths: ['src', join(root, 'lib')], write_paths: ['out'] } },
          expected_outputs: [{ path: 'out/new' }],
        }),
      },
    );
    expect(out).toContain('A-TEXT');
    expect(out).toContain('B-TEXT');
    expect(out).not.toContain('SECRET');
    expect(out).not.toContain('secret.txt');
    expect(world.read('src/a.txt')).toBe('A-TEXT\n');
    expect(world.read('out/new')).toBe('x\n');
    expect(readdirSync(join(world.root, 'lib'))).toEqual(['b.txt']);
    expect(readdirSync(world.workspace).sort()).toEqual(['.baton', 'out', 'secret.txt', 'src']);
    expect(ran.task.status).toBe('done');
    expect(enforcedIn(ran)).toMatchObject({ sandbox: 'bubblewrap', missing: [] });
  });

  test('a write path that is not there yet can be made, and what is written beside it is found', async () => {
    const task = {
      access: { filesystem: { write_paths: ['new/deep'] } },
      expected_outputs: [{ path: 'new/deep/a.txt' }],
    };
    const good = await attempt('mkdir -p new/deep && echo a > new/deep/a.txt', { task });
    expect(good.ran.task.status).toBe('done');
    expect(enforcedIn(good.ran)['missing']).toEqual([expect.stringContaining(`below ${good.world.workspace} that`)]);
    const bad = await attempt('mkdir -p new/deep && echo a > new/deep/a.txt; echo b > b.txt', { task });
    expect(bad.ran.task.status).toBe('review');
    expect(bad.ran.told('run.judged')[0]).toMatchObject({ passed: false });
    expect(bad.ran.last.response.error_details).toMatchObject({ code: 'E_PERMISSION_DENIED' });
  });

  test('a link in the workspace that leads outside gives nothing', async () => {
    const { world, out } = await attempt(
      'cat link/secret.txt file; echo x > link/new; echo x > file; ln -s "$OLDPWD" other; ls link other',
      {
        before({ root, workspace, write }) {
          write(join(root, 'outside/secret.txt'), 'SECRET\n');
          symlinkSync(join(root, 'outside'), join(workspace, 'link'));
          symlinkSync(join(root, 'outside/secret.txt'), join(workspace, 'file'));
        },
      },
    );
    expect(out).not.toContain('SECRET');
    expect(out).not.toContain('secret.txt\n');
    expect(readdirSync(join(world.root, 'outside'))).toEqual(['secret.txt']);
    expect(readFileSync(join(world.root, 'outside/secret.txt'), 'utf8')).toBe('SECRET\n');
  });

  test('a granted path that a link leads outside is refused', async () => {
    for (const filesystem of [{ write_paths: ['link'] }, { read_paths: ['link/secret.txt'] }]) {
      const { ran, world } = await attempt('echo x > link/new; cat link/secret.txt', {
        before({ root, workspace, write }) {
          write(join(root, 'outside/secret.txt'), 'SECRET\n');
          symlinkSync(join(root, 'outside'), join(workspace, 'link'));
        },
        task: { access: { filesystem } },
      });
      expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_PERMISSION_DENIED' } });
      expect(readdirSync(join(world.root, 'outside'))).toEqual(['secret.txt']);
    }
  });

  test('nobody can grant the data folder, and what is not there outside of the workspace is not made up for', async () => {
    const { world, ran, out } = await attempt(
      ({ dir, root }) => `
        cat ${dir}/baton.json; echo x > ${dir}/planted; mkdir -p ${dir}/tasks/ready; echo x > ${dir}/tasks/ready/evil.md
        echo x > ${root}/evil; mkdir ${root}/nowhere; ls ${root}/other; echo x > ok/x`,
      {
        before({ root, write }) {
          write('ok/.keep', '');
          write(join(root, 'other/secret.txt'), 'SECRET');
        },
        task: ({ dir, root }) => ({
          access: {
            filesystem: {
              read_paths: [dir, '.'],
              write_paths: ['.baton', join(dir, 'tasks'), join(root, 'nowhere/to/be'), '/baton-nowhere/x', 'ok'],
            },
          },
        }),
      },
    );
    expect(out).not.toContain('secret');
    expect(existsSync(join(world.dir, 'planted'))).toBe(false);
    expect(existsSync(join(world.dir, 'tasks/ready/evil.md'))).toBe(false);
    expect(readdirSync(world.root).sort()).toEqual(['bin', 'home', 'other', 'ws']);
    expect(world.read('ok/x')).toBe('x\n');
    expect(enforcedIn(ran)['missing']).toEqual([
      `writing ${join(world.root, 'nowhere/to/be')}: it is not there, and lies outside of the workspace`,
      'writing /baton-nowhere/x: it is not there, and lies outside of the workspace',
    ]);
  });

  test('git knows who commits, and no more of what it is told in HOME', async () => {
    const { world, out } = await attempt(
      'git config user.token; cat "$HOME/.gitconfig"; env; echo x > x; git add x; git commit -qm mine; git log -1 --format="%an <%ae>"',
      {
        before({ home, workspace, write }) {
          execFileSync('git', ['init', '-q', workspace]);
          // Of another user, where that can be made so: then git wants to be told that it is trusted.
          if (process.getuid?.() === 0) execFileSync('chown', ['-R', '12345', workspace]);
          const trusted = `[safe]\n\tdirectory = ${workspace}\n`;
          const person = '[user]\n\tname = Ada L\n\temail = ada@example.org\n\ttoken = SECRET\n';
          write(join(home, '.gitconfig'), person + trusted);
        },
      },
    );
    expect(out).toContain('Ada L <ada@example.org>');
    expect(out).not.toContain('SECRET');
    expect(world.read('x')).toBe('x\n');
  });

  test('a task without the file system sees none of it', async () => {
    const world = await makeWorld({
      config: { agents: { a: { kind: 'command', command: ['sh', '-c', 'ls -A; cat README; echo x > y; pwd'] } } },
    });
    world.write('README', 'SECRET');
    const ran = await world.run(taskOf(world, { agent: 'a', target: { capabilities: { file_system_access: false } } }));
    // The way to its details is all there is.
    expect(ran.log('out.log')).toBe(`.baton\n${world.workspace}\n`);
    expect(existsSync(world.path('y'))).toBe(false);
  });

  test.each([
    ['below HOME', (home: string): string => home, 'ws'],
    ['with spaces and more in its name', (): string => tmpdir(), "w s 'é' $x"],
  ])('a workspace %s, with git and node in it', async (_, base, name) => {
    const root = mkdtempSync(join(base(homedir()), '.baton-test-'));
    folders.push(root);
    const { world, ran, out } = await attempt(
      `set -e
       echo two > two.txt; git add two.txt; git -c user.name=a -c user.email=a@b commit -q -m second; git status --short; git log --oneline | wc -l
       node -e 'console.log("node", require("node:fs").readFileSync("two.txt", "utf8"))'
       npm --version > npm.txt`,
      { root, workspace: name, git: true, task: { expected_outputs: [{ path: 'npm.txt' }] } },
    );
    expect(out).toMatch(/^2$/m);
    expect(out).toContain('node two');
    expect(ran.task.status).toBe('done');
    expect(execFileSync('git', ['-C', world.workspace, 'log', '--format=%s'], { encoding: 'utf8' })).toBe(
      'second\nfirst\n',
    );
  });

  test('a workspace that is named through a link, with a HOME inside of it', async () => {
    const { world, ran } = await attempt('git log --oneline; echo here > here.txt; pwd', {
      git: true,
      before({ root, workspace }) {
        symlinkSync(workspace, join(root, 'by-link'));
      },
      task: ({ root }) => ({
        environment: { workspace_root: join(root, 'by-link') },
        expected_outputs: [{ path: 'here.txt' }, { path: join(root, 'by-link/README.md') }],
      }),
    });
    expect(ran.log('out.log')).toContain('first');
    expect(world.read('here.txt')).toBe('here\n');
    expect(ran.task.status).toBe('done');
  });

  test('checks run within the same walls, and without a network', async () => {
    const port = await listen();
    const check = (command: string): object => ({ command, expects: 'MATCH_FOUND' });
    const { ran } = await attempt('echo x > a.txt; echo x > b.txt; echo x > c.txt', {
      before: ({ root, write }) => void write(join(root, 'secret.txt'), 'SECRET\n'),
      task: ({ root, dir }) => ({
        expected_outputs: [
          { path: 'a.txt', validation: check(`cat ${root}/secret.txt ${dir}/baton.json`) },
          { path: 'b.txt', validation: check(`curl -sS -m 60 --noproxy '*' http://127.0.0.1:${port}/`) },
          { path: 'c.txt', validation: check('cat c.txt; echo made > by-check.txt') },
        ],
      }),
    });
    expect(ran.task.status).toBe('review');
    const claims = ran.told('run.evidence')[0]?.['claims'] as { what: string; verdict: string }[];
    expect(
      claims.filter(({ what }) => what.startsWith('output')).map(({ what, verdict }) => `${what} ${verdict}`),
    ).toEqual([...['output a.txt contradicted', 'output b.txt contradicted', 'output c.txt proven']]);
    expect(JSON.stringify(ran.events)).not.toContain('SECRET');
    expect(JSON.stringify(ran.events)).not.toContain('REACHED');
  });
});

describe.skipIf(!probed.ok)('what Baton itself trusts', () => {
  test.each(['require', 'off'])(
    'what it writes before a turn follows no link of the turn before (sandbox: %s)',
    async (sandbox) => {
      const world = await makeWorld({
        config: { defaults: { sandbox }, agents: { g: { kind: 'gemini', command: ['fake-gemini'] } } },
      });
      const victim = world.write(join(world.root, 'victim'), 'of the user');
      const said = JSON.stringify({ type: 'message', role: 'assistant', content: reportText() });
      world.script(
        'fake-gemini',
        `#!/bin/sh
       echo turn >> turns
       rm -f "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH" 2>> refused; ln -s ${victim} "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH" 2>> refused
       ln -s ${victim} "$(dirname "$BATON_SOCKET")/other" 2>> refused
       cat <<'END'\n${said}\n{"type":"result","status":"success","stats":{}}\nEND\n`.replaceAll('\\n', '\n'),
      );
      const phases = ['ONE', 'TWO'].map((id, i) => ({ phase_id: id, phase_order: i + 1, objective: id }));
      await world.run(taskOf(world, { agent: 'g', provider: 'GEMINI', phases }));
      expect(world.read('turns')).toBe('turn\nturn\n');
      expect(readFileSync(victim, 'utf8')).toBe('of the user');
      if (sandbox === 'require') expect(world.read('refused')).toMatch(/Read-only file system/);
    },
  );

  test('its sockets are hidden, also where a granted folder holds them', async () => {
    const root = mkdtempSync(join(tmpdir(), 'bw-'));
    folders.push(root);
    mkdirSync(join(root, 'ws/run'), { recursive: true, mode: 0o700 });
    vi.stubEnv('XDG_RUNTIME_DIR', join(root, 'ws/run'));
    try {
      const { world, ran, out } = await attempt(
        `find . -type s; echo planted > run/baton/planted; mv run gone; mkdir -p run/baton; echo "mine: $(test -S "$BATON_SOCKET" && echo there)"`,
        { root },
      );
      expect(readdirSync(world.path('run/baton')).some((name) => /^[0-9a-f]+\.sock$/.test(name))).toBe(true);
      expect(readdirSync(world.path('run/baton'))).not.toContain('planted');
      expect(existsSync(world.path('gone'))).toBe(false);
      expect(out).not.toMatch(/\/[0-9a-f]{24}\.sock$/m);
      expect(out).toContain('mine: there');
      expect(ran.task.status).toBe('done');
      await world.close();
    } finally {
      vi.unstubAllEnvs();
    }
  });

  test('a data folder deep in the workspace cannot be moved aside and replaced', async () => {
    const { world, ran } = await attempt(
      'mv deep away; mv deep/er away; mkdir -p deep/er/data; echo evil > deep/er/data/config.yaml; echo x > deep/er/x',
      { data: 'ws/deep/er/data' },
    );
    expect(existsSync(join(world.dir, 'baton.json'))).toBe(true);
    expect(existsSync(join(world.dir, 'config.yaml'))).toBe(false);
    expect(world.read('deep/er/x')).toBe('x\n');
    expect(ran.task.status).toBe('done');
  });

  test.each([
    ['what is there', {}],
    [
      'what is writable only because something granted is not there yet',
      { access: { filesystem: { write_paths: ['new/out'] } } },
    ],
  ])('the settings, hooks and attributes of a repository stay as they are: %s', async (_, task) => {
    const { world, out } = await attempt(
      `git config filter.evil.clean 'touch /tmp/evil'; echo '[core]' >> .git/config; echo '* filter=evil' >> .git/info/attributes
       echo evil > .git/hooks/post-checkout; rm -rf .git/hooks .git/info .git/config; ln -s ../evil .git/hooks
       mv .git moved && cp -r moved .git; mkdir -p evil; echo ../evil > .git/commondir
       ln .git/config linked; echo '[core]' >> linked; rm .git/commondir; echo ../evil > .git/commondir; true`,
      { git: true, task, before: (w) => void rmSync(w.path('.git/hooks'), { recursive: true, force: true }) },
    );
    const config = world.read('.git/config') ?? '';
    expect(config).not.toContain('evil');
    expect(config.match(/\[core\]/g)).toHaveLength(1);
    expect(readdirSync(world.path('.git/hooks'))).toEqual([]);
    expect(world.read('.git/info/attributes')).toBeNull();
    expect(existsSync(world.path('.git/commondir'))).toBe(false);
    expect(existsSync(world.path('moved'))).toBe(false);
    expect(world.warnings.join()).toContain('commondir was made during a run');
    expect(out).not.toBe('');
  });

  test('the settings of submodules too', async () => {
    const { world } = await attempt(
      'cd inner && git config filter.evil.clean evil; echo evil > ../.git/modules/inner/hooks/x; echo two > x.txt; git add . && git -c user.name=a -c user.email=a@b commit -qm two; true',
      {
        git: true,
        before({ root, workspace, path }) {
          makeRepository(join(root, 'other'));
          const git = ['-C', workspace, '-c', 'protocol.file.allow=always'];
          execFileSync('git', [...git, 'submodule', '--quiet', 'add', join(root, 'other'), 'inner']);
          expect(existsSync(path('.git/modules/inner/config'))).toBe(true);
        },
      },
    );
    expect(world.read('.git/modules/inner/config')).not.toContain('evil');
    expect(existsSync(world.path('.git/modules/inner/hooks/x'))).toBe(false);
    const log = execFileSync('git', ['-C', world.path('inner'), 'log', '--format=%s'], { encoding: 'utf8' });
    expect(log).toBe('two\nfirst\n');
  });
});

describe.skipIf(!probed.ok || !hasCurl)('the network', () => {
  const network = (level: 'NONE' | 'RESTRICTED' | 'FULL'): TaskParts['task'] => ({ access: { network: level } });

  test('NONE: there is none at all', async () => {
    const port = await listen();
    const url = `http://127.0.0.1:${port}/`;
    const { ran, out } = await attempt(
      `${fetching(url, 'direct')}; env | grep -i proxy; cat /proc/net/dev | grep -c :`,
      {
        task: network('NONE'),
        environment: { HTTP_PROXY: `http://127.0.0.1:${port}`, http_proxy: `http://127.0.0.1:${port}` },
      },
    );
    expect(out).not.toContain('REACHED');
    expect(enforcedIn(ran)).toMatchObject({ network: 'NONE', by: expect.arrayContaining(['bubblewrap: no network']) });
  });

  test('RESTRICTED: this machine’s own through the proxy, and of others only those that config names', async () => {
    const [port, named] = [await listen(), await listen()];
    const { ran, out } = await attempt(
      [
        `echo "1 $(${fetching(`http://127.0.0.1:${port}/`, 'direct')})"`,
        `echo "2 $(${fetching(`http://127.0.0.1:${port}/`, 'proxy')})"`,
        `echo "3 $(${fetching('http://not-allowed.example/', 'proxy')})"`,
        `echo "4 $(curl -sS -m 60 https://not-allowed.example/ 2>&1)"`,
        `echo "5 $(${fetching(`http://localhost:${named}/`, 'direct')})"`,
        `echo "7 $(curl -sS -m 60 http://127.0.0.1:${port}/ 2>&1)"`,
        `echo "6 $(node -e 'fetch("http://127.0.0.1:${named}/").then((r) => r.text()).then(console.log)')"`,
      ].join('\n'),
      { task: network('RESTRICTED'), config: { network: { allow: [`localhost:${named}`] } } },
    );
    expect(out).toMatch(/^1 curl: .*$/m);
    expect(out).toMatch(/^2 REACHED 200$/m);
    expect(out).toMatch(/^3 Baton: not-allowed\.example:80 is not among the hosts/m);
    expect(out).toMatch(/^4 curl: .*403/m);
    expect(out).toMatch(/^5 REACHED 200$/m);
    expect(out).toMatch(/^6 REACHED$/m);
    expect(out).toMatch(/^7 REACHED$/m);
    expect(ran.last.response.execution_summary?.warnings).toEqual([
      'E_PERMISSION_DENIED: the network did not let through not-allowed.example:80',
      'E_PERMISSION_DENIED: the network did not let through not-allowed.example:443',
    ]);
    expect(enforcedIn(ran)['by']).toContain('allow-list proxy: network RESTRICTED');
    expect(ran.task.status).toBe('done');
  });

  test('FULL: open', async () => {
    const port = await listen();
    const { ran, out } = await attempt(fetching(`http://127.0.0.1:${port}/`, 'direct'), { task: network('FULL') });
    expect(out).toContain('REACHED 200');
    expect(enforcedIn(ran)).toMatchObject({ sandbox: 'bubblewrap', network: 'FULL', missing: [] });
  });
});

describe('without a sandbox', () => {
  const none: SandboxProbe = { ok: false, reason: 'bubblewrap is not installed' };

  test('require refuses before anything is changed', async () => {
    fake.probe = none;
    const { world, ran } = await attempt('echo x > x.txt', { config: { defaults: { sandbox: 'require' } } });
    expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code: 'E_PERMISSION_DENIED' } });
    expect(ran.task.cause?.message).toContain('bubblewrap is not installed');
    expect(world.read('x.txt')).toBeNull();
    expect(ran.told('run.enforced')).toEqual([]);
  });

  test('auto goes on, and says what is not enforced', async () => {
    fake.probe = none;
    const { world, ran } = await attempt('echo x > x.txt');
    expect(ran.task.status).toBe('done');
    expect(world.read('x.txt')).toBe('x\n');
    expect(enforcedIn(ran)).toEqual({
      sandbox: 'none',
      network: 'RESTRICTED',
      paths: { read: [world.workspace], write: [world.workspace] },
      budget: false,
      by: [],
      missing: ['paths and network by a sandbox: bubblewrap is not installed', 'network RESTRICTED'],
    });
  });

  test('off: what may not be written is found afterwards', async () => {
    const { ran } = await attempt('echo x > ok/x.txt; echo y > other.txt', {
      config: { defaults: { sandbox: 'off' } },
      before: ({ write }) => void write('ok/.keep', ''),
      task: { access: { filesystem: { write_paths: ['ok'] } } },
    });
    expect(ran.task.status).toBe('review');
    expect(ran.last.response.error_details).toMatchObject({ message: expect.stringContaining('other.txt') });
    expect(enforcedIn(ran)['missing']).toContain('paths and network by a sandbox: config.yaml says sandbox: off');
  });
});
