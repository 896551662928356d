/**
 * The hooks in the real programs, with a scripted model: an agent without a report is asked once and then gives one, a sub-agent's long answer
 * reaches its parent as a block, and what is compacted names the export.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { found } from '../agents/kit.ts';
import { type MockModel, startMockModel } from '../real/mock-model.mjs';
import { baton, MAIN } from './baton.ts';

type Kind = 'claude' | 'codex';
const REAL = join(import.meta.dirname, '../real/node_modules/.bin');

const missing = (['claude', 'codex'] as const).filter((kind) => found(kind) === null);
if (missing.length > 0) {
  console.warn(`\n!!! NOT TESTED, for there is no ${missing.join(' and no ')}: npm ci in test/real installs them\n`);
  test.runIf(process.env['BATON_REAL'] === 'require')('the real programs are here', () => {
    expect(missing).toEqual([]);
  });
}

const undo: (() => unknown)[] = [];
const started = new Set<ChildProcess>();
afterEach(async () => {
  for (const child of started) child.kill('SIGKILL');
  started.clear();
  for (const step of undo.splice(0).reverse()) await step();
});

const BLOCK = [
  '[AOP:START]',
  '[AOP:TASK] look around',
  '[AOP:SUMMARY]',
  '- Looked at all of it.',
  '[AOP:DETAILS_FILE] none',
  '[AOP:STATUS] success',
  '[AOP:END]',
].join('\n');

/** The model answers what it is told to say next when somebody asks it for a report: the words of our hook are the newest prompt then. */
const ASKED = 'Your last message has';

interface Answer {
  readonly exit: number | null;
  readonly out: string;
}

interface Stage {
  readonly model: MockModel;
  readonly path: (name: string) => string;
  run(kind: Kind, args: readonly string[]): Promise<Answer>;
  baton(args: readonly string[]): Promise<Answer>;
  /** What the model was asked, in order. */
  prompts(): readonly string[];
  bodies(): readonly string[];
}

type Steps = readonly Readonly<Record<string, unknown>>[];

/** A project with the hooks installed. What the default script says is the answer to being asked. */
async function stage(scripts: Readonly<Record<string, Steps>>): Promise<Stage> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-hooks-real-')));
  undo.push(() => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));
  // codex refuses a HOME below TMPDIR, so they lie side by side.
  for (const folder of ['bin', 'home', 'p', 'tmp', 'bodies']) mkdirSync(join(root, folder));
  const path = (name: string): string => join(root, 'p', name);
  writeFileSync(join(root, 'bin/baton'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(join(root, 'bin/baton'), 0o755);
  const model = await startMockModel({
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, steps]) => [name, { steps }])),
    bodies: join(root, 'bodies'),
  });
  undo.push(() => model.close());
  const env = {
    PATH: `${join(root, 'bin')}:${REAL}:${process.env['PATH'] ?? ''}`,
    HOME: join(root, 'home'),
    TMPDIR: join(root, 'tmp'),
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'x',
    MOCK_API_KEY: 'x',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    IS_SANDBOX: '1',
  };
  const added = baton(['task', 'add', '--title', 'Mend the roof'], '', path('.'), env);
  const installed = baton(['hooks', 'install', '--json'], '', path('.'), env);
  expect([added.exit, installed.exit]).toEqual([0, 0]);
  expect(installed.json()).toEqual({ changed: [path('.claude/settings.json'), path('.codex/hooks.json')] });
  const start = (program: string, args: readonly string[]): Promise<Answer> =>
    new Promise((settle) => {
      const child = spawn(program, args, { cwd: path('.'), env, stdio: ['ignore', 'pipe', 'pipe'] });
      started.add(child);
      let out = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
      child.stderr.resume();
      child.on('close', (exit) => {
        started.delete(child);
        settle({ exit, out });
      });
    });
  return {
    model,
    path,
    run: (kind, args) => start(join(REAL, kind), [...(kind === 'claude' ? CLAUDE : codexArgs(model.url)), ...args]),
    baton: (args) => start(process.execPath, [MAIN, ...args]),
    prompts: () => model.requests.filter(({ aux }) => aux !== true).map(({ prompt }) => String(prompt)),
    bodies: () =>
      readdirSync(join(root, 'bodies'))
        .sort()
        .map((file) => readFileSync(join(root, 'bodies', file), 'utf8')),
  };
}

const CLAUDE = ['-p', '--output-format', 'json', '--dangerously-skip-permissions', '--model', 'claude-sonnet-4-5'];
const codexArgs = (url: string): string[] => [
  ...['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-m', 'gpt-5.5'],
  // Nobody can look at /hooks here and trust them.
  '--dangerously-bypass-hook-trust',
  ...['-c', 'model_provider="mock"', '-c'],
  `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses"}`,
];

const resultOf = ({ out }: Answer): string => String((JSON.parse(out) as { result: unknown }).result);

describe.skipIf(missing.length > 0)('the hooks in the real programs', () => {
  test.each(['claude', 'codex'] as const)(
    '%s, whose first answer has no report, is asked once and gives one',
    async (kind) => {
      const at = await stage({ work: [{ text: 'All done.' }], default: [{ text: `Again.\n\n${BLOCK}\n` }] });
      const answer = await at.run(kind, ['Do it. [[mock:work]]']);
      expect(answer.exit).toBe(0);
      expect(answer.out).toContain('Looked at all of it.');
      const prompts = at.prompts();
      expect(prompts).toHaveLength(2);
      expect(prompts[1]).toContain(ASKED);
    },
  );

  test('so it is in a run of Baton, whose sandbox may not show what is on PATH', async () => {
    const at = await stage({ work: [{ text: 'All done.' }], default: [{ text: `Again.\n\n${BLOCK}\n` }] });
    const answer = await at.baton(['run', 'Do it. [[mock:work]]', '--agent', 'claude', '--model', 'claude-sonnet-4-5']);
    expect(answer.out).toContain('- Looked at all of it.');
    expect(answer.exit).toBe(0);
    expect(at.prompts().filter((prompt) => prompt.includes(ASKED))).toHaveLength(1);
  });

  test('one that never gives a report is asked once and let go', async () => {
    const at = await stage({ work: [{ text: 'All done.' }], default: [{ text: 'I said that it is done.' }] });
    const answer = await at.run('claude', ['Do it. [[mock:work]]']);
    expect(answer.exit).toBe(0);
    expect(resultOf(answer)).toBe('I said that it is done.');
    expect(at.prompts()).toHaveLength(2);
  });

  test('one with a report is not asked', async () => {
    const at = await stage({ work: [{ text: `Done.\n\n${BLOCK}\n` }] });
    expect(resultOf(await at.run('claude', ['Do it. [[mock:work]]']))).toContain('[AOP:STATUS] success');
    expect(at.prompts()).toHaveLength(1);
  });

  test('a sub-agent is asked too, and what it says at length reaches its parent as a block with a file', async () => {
    const input = {
      description: 'look around',
      prompt: 'Look. [[mock:inner]]',
      subagent_type: 'general-purpose',
      run_in_background: false,
    };
    const words = 'I saw a thing and then another. '.repeat(200);
    const at = await stage({
      outer: [{ tools: [{ do: 'call', name: 'Agent', input }] }, { text: `That is it.\n\n${BLOCK}\n` }],
      inner: [{ text: 'Seen it all.' }],
      default: [{ text: `${words}\n\n${BLOCK}\n` }],
    });
    const answer = await at.run('claude', ['Do it. [[mock:outer]]']);
    expect(answer.exit).toBe(0);
    // Its own words, what it was asked, the parent's second turn.
    expect(at.prompts().map((prompt) => prompt.includes(ASKED))).toEqual([false, false, true, false]);
    const last = at.bodies().at(-1) ?? '';
    expect(last).toContain('- Looked at all of it.');
    expect(last).not.toContain('I saw a thing and then another. I saw');
    const files = readdirSync(at.path('.baton/hooks/details'));
    expect(files).toHaveLength(1);
    expect(last).toContain(files[0]);
    expect(readFileSync(at.path(`.baton/hooks/details/${files[0]}`), 'utf8')).toContain(words.trim());
  });

  test('a sub-agent of codex that says too much is asked for its report alone', async () => {
    const words = 'I saw a thing and then another. '.repeat(200);
    const call = (name: string, input: object): Steps[number] => ({ tools: [{ do: 'call', name, input }] });
    const at = await stage({
      outer: [
        call('spawn_agent', { task_name: 'look', message: 'Look.', fork_turns: 'none' }),
        call('wait_agent', { timeout_ms: 20_000 }),
        { text: `That is it.\n\n${BLOCK}\n` },
      ],
      default: [{ text: `${words}\n\n${BLOCK}\n` }],
    });
    expect((await at.run('codex', ['--enable', 'multi_agent_v2', 'Do it. [[mock:outer]]'])).exit).toBe(0);
    const [file] = readdirSync(at.path('.baton/hooks/details'));
    expect(at.prompts().filter((prompt) => prompt.includes(ASKED))).toHaveLength(1);
    expect(at.bodies().some((body) => body.includes(ASKED) && body.includes(String(file)))).toBe(true);
    expect(readFileSync(at.path(`.baton/hooks/details/${file}`), 'utf8')).toContain(words.trim());
  });

  test('what is compacted names the export of the tasks', async () => {
    const at = await stage({ default: [{ text: `<summary>It is so.</summary>\n\n${BLOCK}\n` }] });
    const first = JSON.parse((await at.run('claude', ['Say hello.'])).out) as { session_id: string };
    await at.run('claude', ['/compact', '--resume', first.session_id]);
    const files = readdirSync(at.path('.baton/hooks/context'));
    expect(files).toHaveLength(1);
    expect(at.bodies().at(-1)).toContain(files[0]);
    expect(readFileSync(at.path(`.baton/hooks/context/${files[0]}`), 'utf8')).toMatch(
      /pending:\n +- TASK-.*Mend the roof/s,
    );
  });

  test('removed, nobody is asked any more, and nothing is left', async () => {
    const at = await stage({ work: [{ text: 'All done.' }] });
    expect(baton(['hooks', 'remove', '--json'], '', at.path('.')).json()).toMatchObject({ changed: { length: 2 } });
    expect(existsSync(at.path('.claude')) || existsSync(at.path('.codex'))).toBe(false);
    expect(resultOf(await at.run('claude', ['Do it. [[mock:work]]']))).toBe('All done.');
    expect(at.prompts()).toHaveLength(1);
  });
});
