/**
 * The conformance kit of adapters: one table of what can happen to an agent, run on any adapter with a real program behind it.
 * Each run has a HOME, a TMPDIR, a repository and an environment of its own, and leaves no process.
 */
import { execFileSync } from 'node:child_process';
import {
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
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { AgentSign, TurnRequest } from '../../src/agents/adapter.ts';
import type { AgentKind } from '../../src/core/agent-kinds.ts';
import type { ErrorCode } from '../../src/core/errors.ts';
import { startProgram } from '../../src/process/start.ts';
import { type Ended, type Exit, MARK, type Program } from '../../src/process/types.ts';
import { until } from '../helpers/until.ts';
import type { MockModel } from '../real/mock-model.mjs';
import { agentOf, ofKind, programAdapter, requestOf } from './reading.ts';

/** A kind of agent and how it is brought to talk with the scripted model. */
export interface Subject {
  readonly kind: AgentKind;
  /** Its program; null where it is not installed. */
  readonly program: string | null;
  readonly model: string | null;
  agent(url: string): object;
  environment(url: string): Readonly<Record<string, string>>;
  prepare?(home: string): void;
  /** Scenarios that do not fit it, and why. */
  readonly unfit: Readonly<Record<string, string>>;
}

const REAL = join(import.meta.dirname, '../real/node_modules/.bin');

/** A real program: of the package beside this folder, else on PATH. */
export function found(name: string): string | null {
  const folders = [REAL, ...(process.env['PATH'] ?? '').split(delimiter)];
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path)) ?? null;
}

/** Folders of one test; removed by `remove`. */
export interface World {
  readonly root: string;
  readonly home: string;
  readonly tmp: string;
  readonly repo: string;
  readonly folder: string;
  remove(): void;
}

export function newWorld(): World {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-kit-')));
  const at = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };
  // codex refuses a HOME below TMPDIR.
  const world = { root, home: at('home'), tmp: at('tmp'), repo: at('ws/repo'), folder: at('run') };
  execFileSync('git', ['init', '-q', world.repo]);
  return { ...world, remove: () => rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }) };
}

export interface Outcome {
  readonly signs: readonly AgentSign[];
  readonly exit: Exit;
  readonly ended: Ended;
  /** Processes of the run that are alive after its end. */
  readonly left: readonly number[];
  readonly text: string;
}

interface Live {
  readonly program: Program;
  readonly signs: readonly AgentSign[];
  readonly mark: string;
}

export interface Turn {
  readonly prompt: string;
  /** A script for all calls, whatever the newest prompt is; else the prompt names it. */
  readonly script?: string;
  readonly mayWrite?: boolean;
  readonly resume?: string;
  readonly spent?: { readonly tokensInput: number; readonly tokensOutput: number };
  /** What happens to it while it works; it is ended after that. */
  readonly during?: (live: Live) => Promise<void>;
}

/** The longest that a turn of the kit may take. */
const LIMIT_MS = 45_000;

let turns = 0;

export async function runTurn(subject: Subject, world: World, model: MockModel, turn: Turn): Promise<Outcome> {
  const adapter = programAdapter(subject.kind);
  const url = turn.script === undefined ? model.url : `${model.url}/s/${turn.script}`;
  const environment = { HOME: world.home, ...subject.environment(url) };
  subject.prepare?.(world.home);
  const request: TurnRequest = requestOf(subject.kind, {
    agent: agentOf(subject.kind, { command: [subject.program], ...subject.agent(url) }),
    prompt: turn.prompt,
    model: subject.model,
    workspace: world.repo,
    access: { readPaths: [world.repo], writePaths: turn.mayWrite === false ? [] : [world.repo], network: 'RESTRICTED' },
    resume: turn.resume ?? null,
    conversation: crypto.randomUUID(),
    folder: world.folder,
    environment,
    ...(turn.spent && { spent: turn.spent }),
  });
  const launch = adapter.launch(request);
  for (const { path, content } of launch.files) writeFileSync(path, content);
  const mark = `kit-${process.pid}-${turns++}`;
  const program = await startProgram({
    command: launch.command,
    cwd: world.repo,
    env: {
      ...{ PATH: process.env['PATH'] ?? '', HOME: world.home, TMPDIR: world.tmp, LANG: 'C.UTF-8' },
      ...Object.fromEntries(Object.entries(environment).filter(([name]) => launch.passEnv.includes(name))),
      ...launch.env,
    },
    stdin: launch.stdin,
    mark,
    sandbox: null,
  });
  const signs: AgentSign[] = [];
  const reader = adapter.reader({ request, emit: (sign) => signs.push(sign), say: () => {}, hangUp: () => {} });
  program.stdout.on('data', (chunk: Buffer) => reader.stdout(chunk));
  program.stderr.on('data', (chunk: Buffer) => reader.stderr(chunk));
  const closed = [program.stdout, program.stderr].map((stream) => new Promise((done) => stream.once('close', done)));
  let ended: Ended;
  try {
    const work: Promise<unknown> = turn.during === undefined ? program.exited : turn.during({ program, signs, mark });
    await inTime(work, `the turn of ${subject.kind}: ${turn.prompt.slice(0, 100)}`);
  } finally {
    ended = await program.end(3000);
  }
  const exit = await program.exited;
  await inTime(Promise.all(closed), 'the end of its streams');
  reader.end(exit);
  const text = ofKind(signs, 'text')
    .map((sign) => sign.text)
    .join('');
  return { signs, exit, ended, left: marked(mark), text };
}

async function inTime<T>(work: Promise<T>, what: string): Promise<T> {
  const late = new AbortController();
  const limit = sleep(LIMIT_MS, null, { signal: late.signal }).then(
    () => Promise.reject(new Error(`expected ${what} within ${LIMIT_MS} ms`)),
    // The work was done first.
    () => new Promise<never>(() => {}),
  );
  try {
    return await Promise.race([work, limit]);
  } finally {
    late.abort();
  }
}

/** Pids that carry a run's mark: an independent look, not that of src/process. Linux only. */
function marked(mark: string): number[] {
  if (!existsSync('/proc/self/environ')) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const isDead = /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
        return !isDead && readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`${MARK}=${mark}`);
      } catch {
        // Gone since it was listed, or not ours to look at.
        return false;
      }
    })
    .map(Number);
}

const commandOf = (pid: number): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0')[0] ?? '';
  } catch {
    // Gone since it was found.
    return '';
  }
};

interface Stage {
  readonly subject: Subject;
  readonly world: World;
  readonly model: MockModel;
  run(turn: Turn): Promise<Outcome>;
}

export interface Scenario {
  readonly name: string;
  play(stage: Stage): Promise<void>;
}

const errorOf = (outcome: Outcome): Extract<AgentSign, { kind: 'error' }> | undefined =>
  ofKind(outcome.signs, 'error').at(-1);

const endOf = (outcome: Outcome): Extract<AgentSign, { kind: 'end' }> | undefined =>
  ofKind(outcome.signs, 'end').at(-1);

function nothingLeft(outcome: Outcome): void {
  expect(outcome.ended.left).toEqual([]);
  expect(outcome.left).toEqual([]);
}

function done({ subject }: Stage, outcome: Outcome): void {
  expect(ofKind(outcome.signs, 'error')).toEqual([]);
  expect(outcome.exit).toEqual({ code: 0, signal: null });
  const { hasEnd } = programAdapter(subject.kind);
  expect(ofKind(outcome.signs, 'end').map(({ ok }) => ok)).toEqual(hasEnd ? [true] : []);
  nothingLeft(outcome);
}

/** A program that is no agent CLI can only say that it failed. */
function failed({ subject }: Stage, outcome: Outcome, code: ErrorCode, words: RegExp): void {
  expect(errorOf(outcome)?.code).toBe(subject.kind === 'command' ? 'E_PROCESS_CRASH' : code);
  expect(errorOf(outcome)?.message).toMatch(words);
  expect(endOf(outcome)?.ok ?? false).toBe(false);
  expect(outcome.exit.code).not.toBe(0);
  nothingLeft(outcome);
}

/** It was stopped in the middle: no end of a turn, and an error that says what happened to the program. */
function cutOff(outcome: Outcome, words: RegExp): void {
  expect(endOf(outcome)).toBeUndefined();
  expect(errorOf(outcome)).toMatchObject({ code: 'E_PROCESS_CRASH' });
  expect(errorOf(outcome)?.message).toMatch(words);
  nothingLeft(outcome);
}

/** The scripted model has been asked, where there is one; where there is none, the program has said something or had the time to. */
async function underWay({ subject, model }: Stage, script: string, signs: readonly AgentSign[]): Promise<void> {
  if (subject.kind === 'command') await until('a second of life', () => signs.length > 0, 1000).catch(() => {});
  else await until(`a call of the model for ${script}`, () => model.requests.some((call) => call.script === script));
  // Long enough for an end that should not come.
  await sleep(1000);
}

/** Ends it while the model does not answer. */
const silence = (name: string, script: string): Scenario => ({
  name,
  async play(stage) {
    const outcome = await stage.run({
      prompt: `[[mock:${script}]]`,
      during: ({ signs }) => underWay(stage, script, signs),
    });
    cutOff(outcome, /was ended by SIG|ended with code/);
  },
});

const refusal = (name: string, script: string, code: ErrorCode, words: RegExp): Scenario => ({
  name,
  async play(stage) {
    failed(stage, await stage.run({ prompt: `[[mock:${script}]]` }), code, words);
  },
});

/** What the scripted model has to know beside its own scripts. */
export const SCRIPTS = {
  flood: {
    steps: [
      { tools: [{ do: 'shell', command: 'head -c 20000000 /dev/zero | tr "\\0" x' }] },
      // gemini takes one thing said over and over for a loop, and stops.
      { text: `${Array.from({ length: 15_000 }, (_, i) => `${i * 7919}`).join(' ')} The end.` },
    ],
  },
  slowwrite: {
    steps: [
      { text: 'Slowly.', tools: [{ do: 'shell', command: 'echo 1' }], delayMs: 500 },
      { text: 'Done.', delayMs: 500 },
    ],
  },
} as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'success, with a prompt of 200 KB that begins with a dash',
    async play(stage) {
      const prompt = `--- begins with dashes ${'and goes on '.repeat(17_000)} [[mock:text]]`;
      const outcome = await stage.run({ prompt });
      done(stage, outcome);
      expect(outcome.text).toContain('Hello');
      if (stage.subject.kind === 'command') expect(outcome.text).toContain(`${prompt.length} characters`);
      else {
        expect(stage.model.requests.some((call) => call.prompt?.trimStart().startsWith('--- begins'))).toBe(true);
        expect(ofKind(outcome.signs, 'conversation')).toHaveLength(1);
        expect(ofKind(outcome.signs, 'usage').at(-1)).toMatchObject({
          tokensInput: 1000,
          tokensOutput: 50,
          final: true,
        });
      }
    },
  },
  {
    name: 'tool use: a file is written',
    async play(stage) {
      const outcome = await stage.run({ prompt: '[[mock:write]]' });
      done(stage, outcome);
      expect(readFileSync(join(stage.world.repo, 'hello.txt'), 'utf8')).toBe('hello from mock\n');
      if (stage.subject.kind !== 'command') {
        expect(ofKind(outcome.signs, 'tool').map(({ detail }) => detail)).toEqual([
          expect.stringContaining('hello.txt'),
        ]);
      }
    },
  },
  {
    name: 'refused permission: nothing is written outside of the workspace',
    async play(stage) {
      const outcome = await stage.run({ prompt: '[[mock:outside]]' });
      expect(existsSync(join(stage.world.root, 'ws/mock-outside'))).toBe(false);
      expect(ofKind(outcome.signs, 'denied')).toHaveLength(1);
      nothingLeft(outcome);
    },
  },
  {
    name: 'read-only: nothing is written, by a tool or by a command',
    async play(stage) {
      for (const script of ['write', 'shell']) {
        const outcome = await stage.run({ prompt: `[[mock:${script}]]`, mayWrite: false });
        done(stage, outcome);
      }
      expect(readdirSync(stage.world.repo)).toEqual(['.git']);
    },
  },
  refusal('HTTP 401', 'e401', 'E_CREDENTIALS', /HTTP 401/),
  refusal('HTTP 429', 'e429', 'E_PROCESS_CRASH', /HTTP 429/),
  refusal('HTTP 500', 'e500', 'E_PROCESS_CRASH', /HTTP 500|high demand/),
  silence('hang: the model never answers', 'hang'),
  silence('stall: the model stops in the middle', 'stall'),
  {
    name: 'cut answer',
    async play(stage) {
      // claude asks its model to go on, in words of its own: that answer is cut too.
      const outcome = await stage.run({ prompt: 'go on and on', script: 'truncated' });
      expect(endOf(outcome)).toMatchObject({ ok: false, reason: 'max_tokens' });
      expect(errorOf(outcome)?.code).toBe('E_CONTEXT_OVERFLOW');
      nothingLeft(outcome);
    },
  },
  {
    name: 'crash: killed while a tool runs',
    async play(stage) {
      const isCommand = stage.subject.kind === 'command';
      const outcome = await stage.run({
        prompt: '[[mock:sleepy]]',
        during: async ({ program, signs, mark }) => {
          // opencode tells of a tool only when it is done.
          const isRunning = (): boolean => marked(mark).some((pid) => commandOf(pid).includes('tail'));
          await until('a tool', () => (isCommand ? ofKind(signs, 'text').length > 0 : isRunning()));
          process.kill(program.pid, 'SIGKILL');
          await program.exited;
        },
      });
      expect(outcome.exit).toEqual({ code: null, signal: 'SIGKILL' });
      cutOff(outcome, /was ended by SIGKILL/);
    },
  },
  {
    name: 'flood: what it prints is drained, and no sign of it is large',
    async play(stage) {
      const outcome = await stage.run({ prompt: '[[mock:flood]]' });
      done(stage, outcome);
      expect(outcome.text).toMatch(/The end\.\s*$/);
      expect(Math.max(...outcome.signs.map((sign) => JSON.stringify(sign).length))).toBeLessThan(512 * 1024);
    },
  },
  {
    name: 'closed stdout: nobody reads it any more',
    async play(stage) {
      const outcome = await stage.run({
        prompt: '[[mock:slowwrite]]',
        during: async ({ program }) => {
          await new Promise((first) => program.stdout.once('data', first));
          program.stdout.destroy();
          await program.exited;
        },
      });
      cutOff(outcome, /ended with code|was ended by/);
    },
  },
  {
    name: 'resume: the conversation goes on, and each turn counts its own',
    async play(stage) {
      const first = await stage.run({ prompt: 'The word is PERSIMMON. [[mock:text]]' });
      done(stage, first);
      const id = ofKind(first.signs, 'conversation')[0]?.id ?? '';
      const used = ofKind(first.signs, 'usage').at(-1);
      const second = await stage.run({
        prompt: 'The word is TAMARIND. [[mock:text]]',
        resume: id,
        spent: { tokensInput: used?.tokensInput ?? 0, tokensOutput: used?.tokensOutput ?? 0 },
      });
      done(stage, second);
      expect(ofKind(second.signs, 'conversation').map((sign) => sign.id)).toEqual([id]);
      expect(ofKind(second.signs, 'usage').at(-1)).toMatchObject({ tokensInput: 1000, tokensOutput: 50, final: true });
      expect(bodiesOf(stage.world).some((body) => body.includes('PERSIMMON') && body.includes('TAMARIND'))).toBe(true);
    },
  },
];

/** Where the scripted model keeps what it was asked. */
export const bodiesFolder = (world: World): string => {
  const folder = join(world.root, 'bodies');
  mkdirSync(folder, { recursive: true });
  return folder;
};

const bodiesOf = (world: World): string[] =>
  readdirSync(bodiesFolder(world)).map((file) => readFileSync(join(bodiesFolder(world), file), 'utf8'));
