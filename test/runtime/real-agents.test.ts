/**
 * The real programs, run by Baton from a TASK to its RESPONSE: claude and codex with a scripted model, in the sandbox and without one. What
 * is promised of a run is seen here on what people use.
 */
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { probeSandbox } from '../../src/process/sandbox.ts';
import { found } from '../agents/kit.ts';
import { type MockModel, startMockModel } from '../real/mock-model.mjs';
import { alivePids, makeWorld, newSleep, reportText, type TaskParts, taskOf, until, type World } from './world.ts';

type Kind = 'claude' | 'codex';
type Task = ReturnType<typeof taskOf>;
const MODELS = { claude: 'claude-sonnet-4-5', codex: 'gpt-5.5' } as const;
const OTHER = { claude: 'codex', codex: 'claude' } as const;
const REAL = join(import.meta.dirname, '../real/node_modules/.bin');

const probed = await probeSandbox();
const missing = [
  ...(['claude', 'codex'] as const).filter((kind) => found(kind) === null),
  ...(probed.ok ? [] : [`a sandbox (${probed.reason})`]),
];
const isReady = missing.length === 0;
if (!isReady) {
  console.warn(
    `\n!!! NOT TESTED, for there is no ${missing.join(' and no ')}: npm ci in test/real installs the programs\n`,
  );
  test.runIf(process.env['BATON_REAL'] === 'require')('the real programs and the sandbox are here', () => {
    expect(missing).toEqual([]);
  });
}

const models: MockModel[] = [];
const servers: Server[] = [];
const folders: string[] = [];
afterEach(async () => {
  for (const model of models.splice(0)) await model.close();
  for (const server of servers.splice(0)) server.close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

type Step = Readonly<Record<string, unknown>>;
type Scripts = Readonly<Record<string, readonly Step[]>>;

interface Stage extends World {
  readonly model: MockModel;
  /** What the model was asked, whole. */
  bodies(): readonly string[];
  /** A task for one of the programs; `script` is the model's. */
  task(kind: Kind, script: string | null, parts?: Partial<TaskParts>): Task;
}

const provider = (url: string): string =>
  `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses",` +
  'request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms=20000}';

interface StageOptions {
  readonly config?: object;
  /** The script of each program's model for tasks that name none. */
  readonly always?: Partial<Record<Kind, string>>;
}

/** A world with both programs and a model of its own. */
async function stage(scripts: Scripts, { config = {}, always = {} }: StageOptions = {}): Promise<Stage> {
  const bodies = realpathSync(mkdtempSync(join(tmpdir(), 'baton-bodies-')));
  folders.push(bodies);
  const model = await startMockModel({
    scripts: Object.fromEntries(Object.entries(scripts).map(([name, steps]) => [name, { steps }])),
    bodies,
  });
  models.push(model);
  const url = (kind: Kind): string => (always[kind] === undefined ? model.url : `${model.url}/s/${always[kind]}`);
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-world-')));
  // codex refuses a HOME below TMPDIR, so they lie side by side.
  mkdirSync(join(root, 'tmp'));
  const world = await makeWorld({
    root,
    git: true,
    config: {
      agents: {
        claude: { kind: 'claude' },
        codex: { kind: 'codex', args: ['-c', 'model_provider="mock"', '-c', provider(url('codex'))] },
      },
      prices: { 'gpt-5.5': { input: 2, output: 10 } },
      ...config,
    },
    environment: {
      PATH: `${REAL}:${process.env['PATH']}`,
      ANTHROPIC_BASE_URL: url('claude'),
      ANTHROPIC_API_KEY: 'x',
      MOCK_API_KEY: 'x',
      TMPDIR: join(root, 'tmp'),
      OTHER_SECRET: 'hush',
    },
  });
  return {
    ...world,
    model,
    bodies: () => readdirSync(bodies).map((file) => readFileSync(join(bodies, file), 'utf8')),
    task: (kind, script, parts = {}) =>
      taskOf(world, {
        agent: kind,
        provider: kind === 'claude' ? 'CLAUDE' : 'CODEX',
        model: MODELS[kind],
        objective: `Do what has to be done.${script === null ? '' : ` [[mock:${script}]]`}`,
        ...parts,
      }),
  };
}

const shell = (command: string, more: Step = {}): Step => ({ tools: [{ do: 'shell', command }], ...more });
const REPORT: Step = { text: `That is it.\n\n${reportText()}\n` };
const HELLO = 'sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03';
const WORK: readonly Step[] = [
  { text: 'I write it.', tools: [{ do: 'write', path: 'hello.txt', content: 'hello\n' }] },
  shell('env > env.txt'),
  REPORT,
];
const CHECKED = {
  expected_outputs: [
    { path: 'hello.txt', validation: { command: 'grep -q hello hello.txt', expects: 'EXIT_CODE_0' as const } },
  ],
};
const SANDBOXES = ['auto', 'off'] as const;

describe.skipIf(!isReady).each(['claude', 'codex'] as const)('%s', (kind) => {
  test.each(SANDBOXES)('work that is done is done, with hashes and cost (sandbox: %s)', async (sandbox) => {
    const world = await stage({ work: WORK }, { config: { defaults: { sandbox } } });
    const ran = await world.run(world.task(kind, 'work', { task: CHECKED }));
    expect(ran.task.status).toBe('done');
    const { response, block } = ran.last;
    expect(response.task_status).toMatchObject({ state: 'COMPLETED', final_signal: 'SUCCESS' });
    expect(response.agent).toEqual({ name: kind, provider: kind.toUpperCase(), model: MODELS[kind] });
    expect(response.execution_summary?.output_artifacts).toEqual([
      { path: 'hello.txt', hash: HELLO, status: 'CREATED', size_bytes: 6 },
    ]);
    // Three calls of the model.
    expect(response.cost_tracking).toMatchObject({ tokens_input: 3000, tokens_output: 150 });
    // claude tells its dollars; what codex costs is reckoned from config's prices, and estimated before.
    expect(response.cost_tracking?.actual_cost_usd).toBeCloseTo(kind === 'claude' ? 0.01125 : 0.0075, 6);
    expect(response.cost_tracking?.model_pricing_tier).toBe(
      kind === 'claude' ? undefined : 'estimated from config prices',
    );
    expect(ran.told('run.estimate')).toHaveLength(kind === 'claude' ? 0 : 1);
    expect(ran.task.cost).toMatchObject({ tokensInput: 3000, tokensOutput: 150 });
    expect(block).toContain('- It is made.');
    expect(ran.told('run.conversation')).toEqual([{ id: expect.stringMatching(/^[0-9a-f-]{36}$/) }]);
    expect(ran.told('run.enforced')[0]).toMatchObject(
      sandbox === 'off'
        ? {
            sandbox: 'none',
            missing: ['paths and network by a sandbox: config.yaml says sandbox: off', 'network RESTRICTED'],
          }
        : { sandbox: 'bubblewrap', missing: [] },
    );
    const env = world.read('env.txt') ?? '';
    expect(env).toContain('BATON_TASK_ID=');
    expect(env).not.toContain('hush');
    expect(world.alive()).toEqual([]);
  });

  test('a false claim stays in review, with what was found', async () => {
    const world = await stage({ lie: [REPORT] });
    const ran = await world.run(world.task(kind, 'lie', { task: CHECKED }));
    expect(ran.task.status).toBe('review');
    expect(ran.last.response.task_status.state).not.toBe('COMPLETED');
    expect(ran.told('run.judged')[0]).toMatchObject({
      passed: false,
      findings: [expect.stringContaining('expected hello.txt, and it is not there')],
    });
    expect(ran.last.block).toMatch(/Not accepted: expected hello\.txt.*\n.*The agent says: - It is made\./);
    expect(ran.last.block).toContain('[AOP:STATUS] failure');
  });

  test('phases are one conversation, and a phase that failed is done again in it', async () => {
    const world = await stage({
      one: [shell('echo one > one.txt', { text: 'PERSIMMON' }), { text: 'The first is there.' }],
      two: [shell('if [ -e tried ]; then echo two > two.txt; else touch tried; fi'), REPORT],
    });
    // Some have one already, and it has to stay usable.
    if (kind === 'claude') world.write(join(world.home, '.claude.json'), '{}');
    const check = (file: string): object => ({ command: `test -s ${file}`, expects: 'EXIT_CODE_0' });
    const ran = await world.run(
      world.task(kind, 'one', {
        task: { expected_outputs: [{ path: 'two.txt' }] },
        phases: [
          { phase_id: 'p1', phase_order: 1, checkpoints: [{ checkpoint_id: 'c1', validation: check('one.txt') }] },
          {
            phase_id: 'p2',
            phase_order: 2,
            objective: '[[mock:two]]',
            checkpoints: [{ checkpoint_id: 'c2', recovery_strategy: 'RETRY', validation: check('two.txt') }],
          },
        ],
      }),
    );
    expect(ran.task.status).toBe('done');
    expect(ran.last.response.checkpoint_results).toMatchObject([
      { checkpoint_id: 'c1', status: 'PASS' },
      { checkpoint_id: 'c2', status: 'RECOVERED' },
    ]);
    expect(ran.told('run.phase').map(({ phase, state }) => `${phase} ${state}`)).toEqual([
      ...['p1 started', 'p1 passed', 'p2 started', 'p2 started', 'p2 passed'],
    ]);
    // The last turn knows of all of them.
    const last = world.bodies().at(-1) ?? '';
    expect(last).toContain('PERSIMMON');
    expect(last).toContain('The first is there.');
    expect(last).toContain('exit code 1, expected 0');
    expect(ran.told('run.conversation')).toHaveLength(1);
    // Two calls a turn, each counted once.
    expect(ran.last.response.cost_tracking).toMatchObject({ tokens_input: 6000, tokens_output: 300 });
    expect(world.alive()).toEqual([]);
  });

  test('a key that is refused is not tried again', async () => {
    const world = await stage({});
    const ran = await world.run(world.task(kind, 'e401', { policy: { max_retries: 3, retry_backoff_seconds: [0.1] } }));
    expect(ran.task).toMatchObject({ status: 'deadletter', attempts: 1, cause: { code: 'E_CREDENTIALS' } });
    expect(ran.last.response.error_details).toMatchObject({ code: 'E_CREDENTIALS' });
    expect(ran.results).toHaveLength(1);
  });

  test('a model that fails is tried again after a while, and then the other program does it', async () => {
    const isOverloaded = kind === 'codex';
    const world = await stage(
      { work: WORK },
      { always: { [kind]: isOverloaded ? 'e429' : 'e500', [OTHER[kind]]: 'work' } },
    );
    const other = OTHER[kind];
    const ran = await world.run(
      world.task(kind, null, {
        task: CHECKED,
        policy: {
          max_retries: 1,
          retry_backoff_seconds: [0.7],
          alternative_models: [
            { provider: other === 'codex' ? 'CODEX' : 'CLAUDE', model: MODELS[other], fallback_trigger: 'ALL_ERRORS' },
          ],
        },
      }),
    );
    expect(ran.task).toMatchObject({ status: 'done', attempts: 3 });
    expect(ran.told('run.started').map(({ model }) => model)).toEqual([MODELS[kind], MODELS[kind], MODELS[other]]);
    expect(ran.told('run.failed').map(({ code }) => code)).toEqual(['E_PROCESS_CRASH', 'E_PROCESS_CRASH']);
    expect(ran.told('run.failed')[0]?.['message']).toContain(isOverloaded ? '429' : '500');
    expect(ran.last.response.agent).toMatchObject({ name: other, model: MODELS[other] });
    expect(ran.last.response.timing?.retries_attempted).toBe(2);
    const [first, second] = ran.results.map(({ response }) => response.timing);
    const own = second?.extensions?.['x_attempt'] as { readonly started_at: string } | undefined;
    expect(Date.parse(own?.started_at ?? '') - Date.parse(first?.completed_at ?? '')).toBeGreaterThanOrEqual(600);
    expect(world.read('hello.txt')).toBe('hello\n');
  });

  test.each(SANDBOXES)('what takes too long ends, and with it all that it started (sandbox: %s)', async (sandbox) => {
    const [here, away] = [newSleep(), newSleep()];
    const world = await stage(
      { tree: [shell(`setsid sleep ${away} >/dev/null 2>&1 & (sleep ${away} &) ; sleep ${here}`), REPORT] },
      { config: { defaults: { sandbox } } },
    );
    const task = (script: string, seconds: number): Task =>
      world.task(kind, script, { policy: { timeout_seconds: seconds } });
    let seen = 0;
    const looking = setInterval(() => {
      seen = Math.max(seen, alivePids(`sleep\0${away}`).length);
    }, 50);
    const ended = async (tasks: readonly Task[], seconds: number): Promise<void> => {
      for (const ran of await world.runAll(tasks)) {
        expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_TIMEOUT' } });
        expect(ran.last.response.timing?.duration_seconds).toBeLessThan(seconds + 11);
      }
    };
    try {
      await ended([task('tree', 4), ...(sandbox === 'auto' ? [task('hang', 4), task('stall', 4)] : [])], 4);
      // The program needs a while before it has a tool at work: on a busy machine it is given longer, until that was seen.
      for (const seconds of [8, 16]) if (seen < 2) await ended([task('tree', seconds)], seconds);
    } finally {
      clearInterval(looking);
    }
    expect(seen).toBe(2);
    expect([...alivePids(away), ...alivePids(here)]).toEqual([]);
    expect(world.alive()).toEqual([]);
  });

  test('a budget of tokens holds', async () => {
    const world = await stage({
      spend: [...[1, 2, 3, 4, 5].map((i) => shell(`echo ${i} > ${i}.txt`, i > 2 ? { delayMs: 700 } : {})), REPORT],
    });
    const ran = await world.run(world.task(kind, 'spend', { task: { budgets: { max_tokens: 2000 } } }));
    expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_COST_LIMIT_EXCEEDED' } });
    // claude tells what it uses on the way; what codex uses is seen by the proxy.
    expect(ran.told('run.enforced')[0]).toMatchObject({ missing: [] });
    expect(world.read('1.txt')).toBe('1\n');
    expect(world.read('5.txt')).toBeNull();
    expect(world.alive()).toEqual([]);
  });

  test('an answer that was cut is no answer', async () => {
    // claude asks to go on, and gives up after a few of them.
    const world = await stage({}, { always: { [kind]: 'truncated' } });
    const ran = await world.run(world.task(kind, null));
    expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_CONTEXT_OVERFLOW' } });
  });

  test.each(SANDBOXES)('outside of the workspace nothing is written (sandbox: %s)', async (sandbox) => {
    const world = await stage(
      { out: [{ tools: [{ do: 'write', path: '../mock-outside/evil.txt', content: 'x\n' }] }, REPORT] },
      { config: { defaults: { sandbox } } },
    );
    const ran = await world.run(world.task(kind, 'out'));
    expect(existsSync(join(world.root, 'mock-outside'))).toBe(false);
    const enforced = ran.told('run.enforced')[0];
    expect(enforced?.['by']).toContainEqual(
      sandbox === 'auto'
        ? 'bubblewrap: paths, process namespace, dies with its parent'
        : expect.stringMatching(/^(edits of files|writes) only below .*ws/),
    );
    if (sandbox === 'off') {
      expect(ran.last.response.execution_summary?.warnings).toContainEqual(
        expect.stringContaining('E_PERMISSION_DENIED: the agent was not allowed'),
      );
    }
  });

  test.each(SANDBOXES)('a task that may not write does not (sandbox: %s)', async (sandbox) => {
    const world = await stage(
      {
        try: [
          { tools: [{ do: 'write', path: 'a.txt', content: 'x\n' }] },
          shell('echo x > b.txt; echo y >> README.md; cat README.md'),
          REPORT,
        ],
      },
      { config: { defaults: { sandbox } } },
    );
    const ran = await world.run(
      world.task(kind, 'try', {
        task:
          kind === 'claude'
            ? { access: { filesystem: { write_paths: [] } } }
            : { constraints: { read_only_mode: true } },
      }),
    );
    expect(readdirSync(world.workspace).sort()).toEqual(['.baton', '.git', '.gitignore', 'README.md']);
    expect(world.read('README.md')).toBe('hello\n');
    // In our sandbox the walls hold, whatever the program thinks that it may.
    expect(ran.told('run.enforced')[0]?.['by']).toContainEqual(
      expect.stringMatching(sandbox === 'auto' ? /^bubblewrap: paths/ : /^no writes/),
    );
  });

  test('a program that is killed has crashed', async () => {
    const long = newSleep();
    // claude does not take a sleep.
    const world = await stage({ sleepy: [shell(`timeout ${long} tail -f /dev/null`), REPORT] });
    const running = world.run(world.task(kind, 'sleepy'));
    await until('its tool runs', () => alivePids(`timeout\0${long}`).length > 0);
    const program = world.alive().filter((pid) => isProgram(pid, kind));
    expect(program.length).toBeGreaterThan(0);
    for (const pid of program) killed(pid);
    const ran = await running;
    expect(ran.task).toMatchObject({ status: 'deadletter', cause: { code: 'E_PROCESS_CRASH' } });
    expect(alivePids(long)).toEqual([]);
    expect(world.alive()).toEqual([]);
  });

  test('whatever it prints, its parent gets little, and all of it is kept', async () => {
    const numbers = Array.from({ length: 15_000 }, (_, i) => `${i * 7919}`).join(' ');
    const world = await stage({
      flood: [shell('head -c 20000000 /dev/zero | tr "\\0" x'), { text: `${numbers} The end.` }],
    });
    const ran = await world.run(world.task(kind, 'flood'));
    // It did not say how it went.
    expect(ran.task.status).toBe('review');
    expect(ran.last.block.length).toBeLessThan(1500);
    expect(ran.log('out.log')).toContain('The end.');
    expect(JSON.stringify(ran.last.response).length).toBeLessThan(60_000);
  });

  test('network NONE is its model and nothing else', async () => {
    const server = createServer((_, answer) => void answer.end('SECRET'));
    servers.push(server);
    await new Promise<void>((settle) => server.listen(0, '127.0.0.1', settle));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const world = await stage({
      fetch: [
        shell(
          `curl -sS -m 5 --noproxy '*' ${url} > direct.txt 2>&1; curl -sS -m 5 --noproxy '' -x "$http_proxy" ${url} > proxied.txt 2>&1; true`,
        ),
        REPORT,
      ],
    });
    const ran = await world.run(
      world.task(kind, 'fetch', { task: { access: { network: 'NONE' }, expected_outputs: [{ path: 'direct.txt' }] } }),
    );
    expect(ran.task.status).toBe('done');
    expect(`${world.read('direct.txt')}${world.read('proxied.txt')}`).not.toContain('SECRET');
    expect(ran.told('run.enforced')[0]?.['by']).toContain('allow-list proxy: network NONE');
  });
});

/** The program itself: not what stands around it, nor what it has started. */
/** The first may take the others with it. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause;
  }
}

function isProgram(pid: number, kind: Kind): boolean {
  try {
    const [first = '', ...rest] = readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0');
    const isOurs =
      rest.includes(kind === 'claude' ? 'stream-json' : 'exec') && !rest.some((arg) => arg.includes('relay.mjs'));
    return isOurs && !first.endsWith('bwrap');
  } catch {
    // It ended between the list and the look.
    return false;
  }
}
