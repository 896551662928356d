/** What is handed to an agent in a session is counted; at 70 % somebody is told, at 80 % a checkpoint is taken and the context written to a file. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { createContextSums } from '../../src/runtime/context-sums.ts';
import { openHost } from '../../src/runtime/host.ts';
import { tokensOf, tokensOfFiles } from '../../src/runtime/tokens.ts';
import { commitTree, takeCheckpoint } from '../../src/workspace/checkpoint.ts';
import { cpuMsOf } from '../helpers/cpu.ts';
import { hasSandbox } from '../helpers/sandbox.ts';
import { EMMA, emma, REPORT_DONE } from './small-agents.ts';
import { makeRepository, makeWorld, type Ran, taskOf, type World } from './world.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});
const temp = (): string => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'baton-context-')));
  folders.push(folder);
  return folder;
};
const git = (folder: string, ...args: string[]): string =>
  execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();

/** An agent that keeps what it is told, in a session with room for so many tokens. */
async function small(tokens: number, options: { git?: boolean; sandbox?: string } = {}): Promise<World> {
  const world = await makeWorld({
    git: options.git ?? true,
    config: {
      ...EMMA,
      defaults: { sandbox: options.sandbox ?? 'off' },
      limits: { session_tokens: tokens },
    },
    host: { countTokens: (text) => text.length },
  });
  emma(world, 'cat > prompt.txt', REPORT_DONE);
  return world;
}
const run = (world: World, session = 'test-session'): Promise<Ran> =>
  world.run(taskOf(world, { agent: 'emma', session: { session_id: session } }));
const given = (ran: Ran): number => ran.told('run.context').reduce((sum, { tokens }) => sum + Number(tokens), 0);

describe('what is handed to an agent', () => {
  test('is its prompts, told once for a run', async () => {
    const world = await small(1_000_000);
    const ran = await run(world);
    const length = world.read('prompt.txt')?.length ?? 0;
    expect(length).toBeGreaterThan(500);
    expect(ran.told('run.context')).toEqual([
      { agent: 'emma', tokens: length, prompt: length, tool: 0, estimated: false, total: length },
    ]);
    const second = await run(world);
    expect(second.told('run.context')).toMatchObject([{ total: length + given(second) }]);
    expect(ran.told('context.warning')).toEqual([]);
  });

  test('is the answers of its tools, too', async () => {
    const world = await small(1_000_000);
    emma(
      world,
      'cat > /dev/null',
      `node -e '
        const socket = require("node:net").connect(process.env.BATON_SOCKET);
        socket.end(JSON.stringify({ id: 1, method: "context", params: {} }) + "\\n");
        let text = "";
        socket.on("data", (piece) => (text += piece)).on("close", () => require("node:fs").writeFileSync("answer.txt", text));
      '`,
      REPORT_DONE,
    );
    const ran = await run(world);
    const answer = world.read('answer.txt')?.length ?? 0;
    expect(answer).toBeGreaterThan(20);
    expect(ran.told('run.context')[0]).toMatchObject({ tool: answer });
  });

  test('what was printed and delivered is counted, in characters and tokens', async () => {
    const world = await small(1_000_000);
    emma(world, 'cat > /dev/null', 'printf "%s\\n" "ééé"', REPORT_DONE);
    const ran = await run(world);
    const log = ran.log('out.log');
    expect(ran.told('run.output')).toMatchObject([
      {
        ...{ produced: Buffer.byteLength(log), produced_chars: log.length, produced_tokens: log.length },
        ...{ delivered: ran.last.block.length, delivered_tokens: ran.last.block.length, estimated: false },
      },
    ]);
    expect(Buffer.byteLength(log)).toBe(log.length + 3);
  });
});

describe('the marks', () => {
  /** So that the second run passes 70 % and not 80, and the third 80 %. */
  async function prompts(world: World): Promise<number> {
    return given(await run(world, 'to measure'));
  }
  const sized = async (share: number, options = {}): Promise<World> => {
    // The prompt says what the sandbox does not enforce, so it is as long as it is with the same settings.
    const one = await prompts(await small(1_000_000, options));
    return small(Math.round(one / share), options);
  };

  test('at 70 % somebody is told, once, also after a restart', async () => {
    const world = await sized(0.375);
    expect((await run(world)).told('context.warning')).toEqual([]);
    const second = await run(world);
    expect(second.told('context.warning')).toMatchObject([{ agent: 'emma', percent: expect.any(Number) }]);
    expect(second.told('context.full')).toEqual([]);
    expect(world.warnings.filter((text) => text.startsWith('emma was handed'))).toHaveLength(1);
    // Another session has its own.
    expect((await run(world, 'another')).told('context.warning')).toEqual([]);
    const host = await openHost({ store: world.store, dir: world.dir, config: world.host.config });
    await host.sums.ready();
    expect(host.sums.pass('test-session', 'emma', 'warning')).toBe(false);
    expect(host.sums.pass('test-session', 'emma', 'full')).toBe(true);
    await host.close();
  });

  test.each(hasSandbox ? ['off', 'require'] : ['off'])(
    'when it is full a checkpoint is taken and the context written (sandbox: %s)',
    async (sandbox) => {
      const world = await sized(0.85, { sandbox });
      world.write('new.txt', 'not committed\n');
      world.write('README.md', 'changed\n');
      git(world.workspace, 'add', 'README.md');
      const [head, status] = [git(world.workspace, 'rev-parse', 'HEAD'), git(world.workspace, 'status', '--porcelain')];
      const ran = await run(world);
      expect(ran.task.status).toBe('done');
      expect(ran.told('context.full')).toMatchObject([{ agent: 'emma', percent: expect.any(Number) }]);
      const [exported] = ran.told('context.exported');
      expect(exported).toMatchObject({ agent: 'emma', checkpoint: 'cp_001', ref: 'refs/baton/test-session/cp_001' });
      const commit = String(exported?.['commit']);
      expect(git(world.workspace, 'rev-parse', 'refs/baton/test-session/cp_001')).toBe(commit);
      expect(git(world.workspace, 'rev-parse', `${commit}^`)).toBe(head);
      expect(git(world.workspace, 'show', `${commit}:new.txt`)).toBe('not committed');
      expect(git(world.workspace, 'show', `${commit}:README.md`)).toBe('changed');
      expect(git(world.workspace, 'ls-tree', '-r', '--name-only', commit)).not.toContain('.baton/');
      // What the user has is as it was, but for what the agent made.
      expect(git(world.workspace, 'rev-parse', 'HEAD')).toBe(head);
      expect(git(world.workspace, 'status', '--porcelain').replace('\n?? prompt.txt', '')).toBe(status);
      const file = String(exported?.['file']);
      expect(file.startsWith(join(world.dir, 'exports', 'test-session-'))).toBe(true);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const text = readFileSync(file, 'utf8');
      expect(text).toContain(`git_checkpoint: ${commit}`);
      expect(text).toContain(ran.task.id);

      // The next conversation is told of it, and may read it; nothing is done twice.
      emma(world, 'cat > prompt.txt', `cat ${file} > copy.txt`, REPORT_DONE);
      const next = await run(world);
      expect(world.read('prompt.txt')).toContain(`What the session had come to is in ${file}.`);
      expect(world.read('copy.txt')).toBe(text);
      expect([next.told('context.full'), next.told('context.exported')]).toEqual([[], []]);
      await run(world, 'another');
      expect(world.read('prompt.txt')).not.toContain(file);
    },
  );

  test('where there is no repository, the note says so and the file is there', async () => {
    const world = await sized(0.9, { git: false });
    const [exported] = (await run(world)).told('context.exported');
    expect(exported).toMatchObject({
      checkpoint: null,
      missing: [expect.stringContaining('a checkpoint needs a git repository')],
    });
    expect(existsSync(String(exported?.['file']))).toBe(true);
  });
});

describe('the sums', () => {
  test('come from the journal where the file is gone or damaged, and from the file on where it is not', async () => {
    const world = await small(1_000_000);
    const tokens = given(await run(world)) + given(await run(world));
    const file = join(world.dir, 'context-sums.json');
    const sumOf = async (): Promise<number> => {
      const sums = createContextSums(world.store, world.host.watch, world.dir);
      await sums.ready();
      const sum = sums.of('test-session', 'emma');
      await sums.close();
      return sum;
    };
    expect(await sumOf()).toBe(tokens);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ version: 1 });
    const more = given(await run(world));
    expect(await sumOf()).toBe(tokens + more);
    // Only what came after it is read from the journal.
    const kept = JSON.parse(readFileSync(file, 'utf8'));
    kept.sessions['test-session'].emma.tokens = 7;
    writeFileSync(file, JSON.stringify(kept));
    expect(await sumOf()).toBe(7);
    writeFileSync(file, JSON.stringify({ ...kept, seq: kept.seq + 1_000_000 }));
    expect(await sumOf()).toBe(tokens + more);
    writeFileSync(file, 'not JSON');
    expect(await sumOf()).toBe(tokens + more);
    rmSync(file);
    expect(await sumOf()).toBe(tokens + more);
  });
});

describe('tokens', () => {
  const text = 'The run says {"type":"text","n":12345} and goes on, line by line.\n'.repeat(900);

  test('of a few words are reckoned as long as the vocabulary would have to be loaded for them', async () => {
    const file = join(temp(), 'out.log');
    writeFileSync(file, 'abc '.repeat(10));
    let asked = 0;
    const loads = Object.assign(() => ++asked, { isReady: () => asked > 0 });
    expect(tokensOf('abc '.repeat(10), loads)).toEqual({ tokens: 10, estimated: true });
    expect(await tokensOfFiles([file], loads)).toEqual({ tokens: 10, estimated: true });
    expect(asked).toBe(0);
    expect(tokensOf('abc', loads, true)).toEqual({ tokens: 1, estimated: false });
    expect(tokensOf('abc', loads)).toEqual({ tokens: 2, estimated: false });
  });

  test('of up to 64 KB are counted, piece by piece', () => {
    expect(text.length).toBeLessThan(64 * 1024);
    countTokens('load it');
    expect(tokensOf(text, countTokens)).toEqual({ tokens: countTokens(text), estimated: false });
    expect(tokensOf('', countTokens)).toEqual({ tokens: 0, estimated: false });
  });

  test('of more are reckoned, in a text and in a log alike, whatever is in it', async () => {
    const long = text.repeat(40);
    const file = join(temp(), 'out.log');
    writeFileSync(file, long);
    const exact = countTokens(text) * 40;
    for (const { tokens, estimated } of [
      tokensOf(long, countTokens),
      await tokensOfFiles([file, `${file}.none`], countTokens),
    ]) {
      expect(estimated).toBe(true);
      expect(Math.abs(tokens - exact) / exact).toBeLessThan(0.02);
    }
    writeFileSync(file, 'x'.repeat(20_000_000));
    const spent = await cpuMsOf(async () =>
      expect((await tokensOfFiles([file], countTokens)).tokens).toBeGreaterThan(1_000_000),
    );
    expect(spent).toBeLessThan(5_000);
  });
});

describe('a checkpoint', () => {
  test('leaves out what is ignored, what is excluded and what has a repository of its own', async () => {
    const folder = temp();
    makeRepository(folder);
    writeFileSync(join(folder, '.gitignore'), 'ignored.txt\n');
    for (const name of ['ignored.txt', 'seen.txt', 'odd [name] *.txt'] as const)
      writeFileSync(join(folder, name), 'x\n');
    makeRepository(join(folder, 'data'));
    makeRepository(join(folder, 'inner'));
    execFileSync('git', ['-C', folder, 'init', '-q', 'empty']);
    const first = await takeCheckpoint(folder, 'a session: é', [join(folder, 'data')]);
    const names = git(folder, '-c', 'core.quotePath=false', 'ls-tree', '-r', '--name-only', first.commit).split('\n');
    expect(names).toEqual(['.gitignore', 'README.md', 'odd [name] *.txt', 'seen.txt']);
    const second = await takeCheckpoint(folder, 'a session: é', []);
    expect([first.id, second.id]).toEqual(['cp_001', 'cp_002']);
    const commit = await commitTree(folder, [], 'refs/baton/mine/x', 'mine');
    expect(git(folder, 'log', '-1', '--format=%s', commit)).toBe('mine');
    await expect(commitTree(folder, [], 'refs/baton/mine/x', 'again')).rejects.toThrow('git update-ref failed');
    expect(git(folder, 'log', '--oneline', 'main').split('\n')).toHaveLength(1);
  });

  test('is taken before the first commit, and with a hook that would refuse one', async () => {
    const folder = temp();
    git(folder, 'init', '-q', '.');
    writeFileSync(join(folder, 'a.txt'), 'a\n');
    writeFileSync(join(folder, '.git/hooks/reference-transaction'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const { commit, ref } = await takeCheckpoint(folder, 's', []);
    expect(git(folder, 'show', `${commit}:a.txt`)).toBe('a');
    expect(ref).toBe('refs/baton/s/cp_001');
    expect(existsSync(join(folder, '.git/index'))).toBe(false);
  });
});
