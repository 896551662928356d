/** What a run has while it works: its folder, its log, its ear, its clocks, its meter, its socket, its surroundings. All of it goes when the run does. */
import { existsSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSign, TurnRequest } from '../agents/adapter.ts';
import type { Policy } from '../core/policy.ts';
import type { Report } from '../core/report.ts';
import { isRunning, type Spent } from '../core/task.ts';
import type { ProcessMark } from '../process/identity.ts';
import { newId } from '../process/new-id.ts';
import type { Found, Message } from '../protocol/index.ts';
import { agentActor } from './actor.ts';
import { dropPlanted, privateGit } from './binds.ts';
import { recordClaim } from './claims.ts';
import { startClocks } from './clocks.ts';
import { openTally } from './context-budget.ts';
import { contextFiles } from './context-files.ts';
import { openDoor } from './door.ts';
import type { Sender } from './doors.ts';
import { type Checker, createChecker } from './evidence/checks.ts';
import { createHearing, type Heard, type Hearing } from './hearing.ts';
import { createHeartbeat, type Heartbeat } from './heartbeat.ts';
import { openLog, type RunLog } from './log.ts';
import { createMeter, EPSILON, type Meter } from './meter.ts';
import { ownTools } from './own-tools.ts';
import type { Phase } from './phases.ts';
import { logFolder, markOf, openRunFolder } from './places.ts';
import { usedBy } from './purse.ts';
import { isReportKind } from './repair-check.ts';
import { together } from './response/all-attempts.ts';
import { costIn } from './response/said.ts';
import { openRunSocket } from './run-socket.ts';
import { createStopper, type Stop, type Stopper } from './stop.ts';
import { type Surroundings, surround } from './surroundings.ts';
import { programTurn, remoteTurn, type TurnEnd } from './turn.ts';
import { bindsUpon } from './upon.ts';
import { LEASE_MS, type Supervision } from './work.ts';

export interface Attempt {
  readonly stopper: Stopper;
  readonly hearing: Hearing;
  readonly meter: Meter;
  readonly log: RunLog;
  readonly surroundings: Surroundings;
  readonly checker: Checker;
  /** Whether the agent has Baton's own tools. */
  readonly hasTools: boolean;
  /** Where the agent may put its details. */
  readonly details: string;
  readonly warnings: string[];
  /** What it said that was meant as a report and was not taken. */
  readonly broken: readonly { readonly kind: string; readonly reason: string }[];
  /** What its session had come to when its context there was full; null where it never was. */
  readonly contextFile: string | null;
  /** Where the files are that its handoff refers to; null where it refers to none. */
  readonly contextWords: string | null;
  readonly lastText: () => string;
  readonly conversation: () => string | null;
  /** The time begins to count. */
  startClocks(): void;
  stopClocks(): void;
  turn(prompt: string, phase: Phase | null, extra?: ExtraTurn): Promise<TurnEnd>;
  /** Takes what the last report says that it cost, where that has not counted yet. Returns whether it counts. */
  chargeClaim(): boolean;
  close(): Promise<void>;
}

/** A turn that the run can do without: what ends it early, its time or a budget, ends nothing else. It goes on with the conversation or not at all. */
interface ExtraTurn {
  readonly mostMs: number;
}

const BEAT_MS = LEASE_MS / 3;
/** A TASK may ask for heartbeats every few milliseconds; the journal has no more than this. */
const LEAST_RECORDED_BEAT_MS = 1_000;
const NOTE_USE_MS = 30_000;
const LAST_TEXT_CHARS = 20_000;
/** So many conversations of a run are written down, and so many refusals told; a program may name ever new ones. */
const MOST_CONVERSATIONS = 20;
const MOST_DENIED = 100;

/** Nothing in the workspace is changed by opening it. */
export async function openAttempt(given: Supervision): Promise<Attempt> {
  const { host, task, run, live, prepared } = given;
  const { message, policy, chosen, ready, access, budget, price } = prepared;
  const { adapter } = chosen;
  const undo: (() => unknown)[] = [];
  const close = async (): Promise<void> => {
    for (const action of undo.splice(0).reverse()) await action();
  };
  try {
    const stopper = createStopper();
    const warnings: string[] = [];
    await listenForEnd(given, stopper, undo);
    undo.push(() => dropPlanted(ready.git, host.warn));
    const folder = await openRunFolder();
    undo.push(() => rm(folder, { recursive: true, force: true }));
    const logs = logFolder(host.dir, run.id);
    const log = openLog(logs);
    undo.push(() => log.close());
    const meter = createMeter(budget, price, await usedBefore(given));
    // One that has ended is looked at once more; it says nothing.
    const isOpen = run.status === 'running';
    const heart = isOpen ? openHeart(given, undo) : null;
    const clocks = createClocks(given, stopper, warnings, undo, () => heart?.beat());
    const broken: { kind: string; reason: string }[] = [];
    const routes = createRoutes(given, warnings, broken);
    const hearing = createHearing({
      task,
      run: run.id,
      rails: { finalSignal: policy.requireFinalSignal, minimalReport: policy.requireMinimalReport },
      onProgress: (progress) => live.progress(progress),
      ...(isOpen ? { route: (found) => routes.take(found), onPrinted: (heard) => routes.printed(heard) } : {}),
    });
    if (isOpen) undo.push(...listen(given, hearing, stopper));
    await host.sums.ready();
    const tally = openTally(given);
    undo.push(() => tally.close());
    const exported = host.sums.exported(task.session, chosen.name);
    const contextFile = exported !== null && existsSync(exported) ? exported : null;
    const sender = senderOf(run, 'socket');
    const socket = await openRunSocket(folder, {
      take: (found) => host.router.message(found, sender),
      door: openDoor({ ...host, sender }),
      onSign: () => clocks.alive(),
      onAnswer: (text) => tally.give('tool', text),
    });
    undo.push(() => socket.close());
    const mark = markOf(host.dir, run.id);
    const tools = ownTools({ adapter, access, socket: socket.path, run: run.id, task: task.id, mark });
    const details = join(logs, 'agent');
    const contextWords = isOpen ? await contextFiles(host, task, folder) : null;
    const taskFile = join(folder, 'task.json');
    await Promise.all([writeFile(taskFile, JSON.stringify(message, null, 2)), mkdir(details, { recursive: true })]);

    const request = (prompt: string, resume: string | null, resumeOnly = false): TurnRequest => ({
      agent: chosen.agent,
      prompt,
      model: chosen.model,
      workspace: ready.workspace,
      access,
      sandboxed: access.sandbox.ok,
      budget,
      resume,
      resumeOnly,
      // All turns of an attempt are one conversation.
      spent: meter.used,
      conversation: newId(),
      mcp: tools.mcp,
      folder,
      environment: host.environment,
    });
    const launch = adapter.way === 'program' ? adapter.launch(request('', null)) : null;
    let notedAt = Number.NEGATIVE_INFINITY;
    /** Where Baton dies, this is what is known of it. */
    const noteUse = (isEnd = false): void => {
      if (!isEnd && host.now() - notedAt < NOTE_USE_MS) return;
      notedAt = host.now();
      const { name, provider, model } = chosen;
      given.facts.tell('run.usage', { ...meter.used, agent: name, model: live.model ?? model, provider });
    };
    const use = (usage: Parameters<Meter['turn']>[0]): void => {
      meter.turn(usage);
      weighUse();
    };
    const weighUse = (): void => {
      live.update({ used: meter.used });
      noteUse();
      const over = meter.exceeded() ?? sessionExceeded(given, meter);
      if (over === null) return;
      if (extra === null) stopper.stop({ code: 'E_COST_LIMIT_EXCEEDED', message: over, kind: 'failed' });
      else extra.abort();
    };
    /** The last report whose cost was taken: each counts once. */
    let charged: Heard | null = null;
    const chargeClaim = (): boolean => {
      const { heard } = hearing;
      if (heard === null || heard === charged) return false;
      const cost = costIn(heard.message, heard.report);
      // Asked for its report once more, an agent says the same cost once more.
      const isAgain = extra !== null && charged !== null;
      charged = heard;
      if (cost === null || isAgain) return false;
      meter.claim(cost);
      weighUse();
      return true;
    };
    /** Ends a turn that the run can do without; null in any other. */
    let extra: AbortController | null = null;
    /** What our proxy has seen of a program that tells its use only at the end. */
    let metered = { tokensInput: 0, tokensOutput: 0, usd: null };
    const surroundings = await surround({
      ...(adapter.usage === 'at-end'
        ? {
            onUsage: (tokensInput: number, tokensOutput: number) => {
              metered = {
                tokensInput: metered.tokensInput + tokensInput,
                tokensOutput: metered.tokensOutput + tokensOutput,
                usd: null,
              };
              use(metered);
            },
          }
        : {}),
      config: host.config,
      environment: host.environment,
      adapter,
      agent: chosen.agent,
      access,
      mark,
      launch,
      dir: host.dir,
      git: ready.git,
      // What Baton itself writes there, before every turn, must not be a link by then.
      own: [
        { path: folder, writable: false },
        { path: details, writable: true },
        ...(contextFile === null ? [] : [{ path: contextFile, writable: false }]),
        ...privateGit(ready.git),
        ...tools.binds,
        ...(await bindsUpon(host, task)),
      ],
      folder,
      ...(host.door === null ? {} : { url: host.door.url }),
    });
    undo.push(() => surroundings.close());

    let lastText = '';
    let conversation: string | null = null;
    let [conversations, denied] = [0, 0];
    const onSign = (sign: AgentSign): void => {
      clocks.alive();
      live.sign(sign);
      if (sign.kind === 'text') {
        hearing.text(sign.text);
        if (sign.whole) hearing.pause();
        lastText = (sign.whole ? sign.text : lastText + sign.text).slice(-LAST_TEXT_CHARS);
      } else if (sign.kind === 'end') lastText = sign.text ? sign.text.slice(-LAST_TEXT_CHARS) : lastText;
      else if (sign.kind === 'conversation') {
        // A person may go on with it.
        if (sign.id !== conversation && ++conversations <= MOST_CONVERSATIONS)
          given.facts.tell('run.conversation', { id: sign.id });
        conversation = sign.id;
      } else if (sign.kind === 'denied') {
        if (++denied <= MOST_DENIED) warnings.push(`E_PERMISSION_DENIED: the agent was not allowed ${sign.what}`);
      } else if (sign.kind === 'usage') use(sign);
    };

    const environment = {
      BATON_RUN_ID: run.id,
      BATON_TASK_ID: task.id,
      BATON_SESSION: task.session,
      BATON_ATTEMPT: String(run.attempt),
      BATON_TASK_FILE: taskFile,
      BATON_SOCKET: socket.path,
      BATON_DETAILS_DIR: details,
      // How the agent and its hooks call Baton, which the sandbox shows at this place only.
      ...(tools.cli === null ? {} : { BATON_CLI: tools.cli.join(' ') }),
      ...overHttp(given, undo),
    };

    const turn = async (prompt: string, phase: Phase | null, only?: ExtraTurn): Promise<TurnEnd> => {
      live.update({ state: 'working', phase: phase?.phase_id ?? null, checkpoint: null });
      const asked = request(prompt, adapter.goesOn ? conversation : null, only !== undefined);
      extra = only === undefined ? null : new AbortController();
      const timer = only === undefined ? undefined : setTimeout(() => extra?.abort(), only.mostMs);
      const signal = extra === null ? stopper.signal : AbortSignal.any([stopper.signal, extra.signal]);
      const common = { request: asked, log, signal, onSign };
      tally.give('prompt', prompt);
      const env = { ...environment, ...(phase === null ? {} : { BATON_PHASE: phase.phase_id }) };
      // Nobody is silent who is not waited for.
      clocks.listen(only === undefined);
      const onExit = (): void => {
        clearTimeout(timer);
        clocks.listen(false);
        clocks.pause();
      };
      const end =
        adapter.way === 'remote'
          ? await remoteTurn({ ...common, adapter }).finally(onExit)
          : await programTurn({ ...common, adapter, surroundings, env, onProcess: remember(given), onExit });
      clocks.goOn();
      hearing.end();
      await routes.done();
      chargeClaim();
      meter.nextTurn();
      // What a phase has cost is known before the next one begins: the budget is for all attempts together.
      if (phase !== null) noteUse(true);
      extra = null;
      metered = { tokensInput: 0, tokensOutput: 0, usd: null };
      const left = end.ended?.left ?? [];
      if (left.length > 0) warnings.push(`processes that could not be ended: ${left.join(', ')}`);
      return end;
    };

    const checker = createChecker({
      task: task.id,
      workspace: ready.workspace,
      writePaths: ready.writePaths,
      env: surroundings.environment(launch ?? { env: {}, passEnv: [] }),
      mark: surroundings.mark,
      // What the agent has made is run here: within the same walls, and with no network unless all of it is open.
      sandbox:
        surroundings.sandbox === null
          ? null
          : { ...surroundings.sandbox, network: access.network === 'FULL' ? 'open' : 'none' },
      policy,
      folder: logs,
      signal: stopper.signal,
    });

    return {
      stopper,
      hearing,
      meter,
      log,
      surroundings,
      checker,
      hasTools: tools.mcp !== null,
      details,
      warnings,
      broken,
      contextFile,
      contextWords,
      lastText: () => lastText,
      conversation: () => conversation,
      startClocks: clocks.start,
      stopClocks: clocks.stop,
      turn,
      chargeClaim,
      close,
    };
  } catch (cause) {
    await close();
    throw cause;
  }
}

const senderOf = (run: Supervision['run'], channel: Sender['channel']): Sender => ({
  channel,
  run: run.id,
  agent: run.agent,
  actor: agentActor(run.agent),
});

/** So many messages of one turn's words act; an agent that prints without end does not fill the journal. */
const MOST_ROUTED = 1_000;
/** So many refusals stand in the run's own report; all are in the journal. */
const MOST_TOLD = 20;

/** What the agent says and what is not for its run alone: it acts at once, in its order, and before the turn counts as over. */
function createRoutes(
  { host, run, task }: Supervision,
  warnings: string[],
  broken: { kind: string; reason: string }[],
): { take(found: Found): void; printed(heard: Heard): void; done(): Promise<void> } {
  const sender = senderOf(run, 'stdout');
  let last: Promise<void> = Promise.resolve();
  let count = 0;
  let refused = 0;
  /** The last report that was printed and is not recorded yet: an earlier one no longer counts. */
  let unrecorded: Heard | null = null;
  const record = async (): Promise<void> => {
    const heard = unrecorded;
    unrecorded = null;
    if (heard === null || heard.message === null) return;
    const now = await host.store.find(task.id);
    // Its task may have been taken from it meanwhile.
    if (now?.run?.id !== run.id || !isRunning(now)) return;
    await recordClaim(host, { message: heard.message, sender }, now, heard.report);
  };
  return {
    printed(heard) {
      if (unrecorded === null) {
        last = last.then(record);
        // Waited for in `done`.
        last.catch(() => {});
      }
      unrecorded = heard;
    },
    take(found) {
      count += 1;
      if (count === MOST_ROUTED) host.warn(`${task.id}: its agent says too much; messages after this are not heard`);
      if (count >= MOST_ROUTED) return;
      last = last.then(async () => {
        const { result, reason } = await host.router.message(found, sender);
        if (result !== 'rejected' && result !== 'unknown') return;
        const kind = `${found.dialect} ${found.kind ?? ''}`.trim();
        if (++refused <= MOST_TOLD) warnings.push(`not heard: ${kind}: ${reason}`);
        if (broken.length < MOST_TOLD && isReportKind(kind))
          broken.push({ kind, reason: reason ?? 'it was not taken' });
      });
      // Waited for in `done`; a store that fails is told there.
      last.catch(() => {});
    },
    async done() {
      await last;
      count = 0;
    },
  };
}

/** Lets others speak to the run: in this process by its ear, from others by the journal. */
function listen({ host, run }: Supervision, hearing: Hearing, stopper: Stopper): (() => void)[] {
  return [
    host.runs.add(run.id, {
      hear: (message) => hearing.message(message),
      graph: () => hearing.graph,
      mendGraph: () => hearing.mendGraph(),
      end: (code, message) => stopper.stop({ code, message, kind: 'failed' }),
    }),
    host.watch.onRecord(({ events }) => {
      for (const { type, run: of, detail } of events) {
        if (type !== 'protocol.message.received' || of !== run.id || detail?.['forward'] !== true) continue;
        // What is said of the graph, and a RESPONSE, is more than a report of it.
        if (detail['message'] !== undefined) hearing.message(detail['message'] as Message);
        else hearing.claim(detail['report'] as Report, String(detail['type']));
      }
    }),
  ];
}

/** Where HTTP listens, and who the run is there until it ends. */
function overHttp({ host, task, run }: Supervision, undo: (() => unknown)[]): Record<string, string> {
  const { door } = host;
  if (door === null) return {};
  undo.push(() => door.close(run.id));
  return { BATON_URL: door.url, BATON_TOKEN: door.open({ id: run.id, task: task.id, agent: run.agent }) };
}

/** A budget is for all attempts of a task together; an alternative for COST_LIMIT_EXCEEDED has it once more: that is what it is for. */
async function usedBefore({ host, task }: Supervision): Promise<Spent> {
  const isCost = (code: unknown): boolean => code === 'E_COST_LIMIT_EXCEEDED';
  // A run that the task was taken from may have told what it used since the claim.
  if (task.fallback?.causes.some(({ code }) => isCost(code)) !== true)
    return (await host.store.find(task.id))?.cost ?? task.cost;
  const since = usedBy(await host.store.history(task.id), ({ events }) =>
    events.some(({ type, detail }) => type === 'task.fallback' && isCost(detail?.['code'])),
  );
  const { knownUsd: usd, tokensInput, tokensOutput } = together([...since.values()]);
  return { usd, tokensInput, tokensOutput };
}

/** A sentence where all runs of the session together have used what config gives them. */
function sessionExceeded({ host, task, run, prepared }: Supervision, { used }: Meter): string | null {
  host.purses.tell(task.session, run.id, used.usd ?? 0);
  const { limit } = prepared;
  if (limit === null || host.purses.told(task.session) < limit.until - EPSILON) return null;
  return `expected at most ${limit.most} dollars for the session ${task.session}, and they are used`;
}

/** Others may end a run: whoever takes its task away, and whoever tells Baton to go. */
async function listenForEnd(given: Supervision, stopper: Stopper, undo: (() => unknown)[]): Promise<void> {
  const { host, task, run, leaving } = given;
  // One that has ended is looked at once more, and cannot be taken away.
  if (run.status !== 'running') return;
  const taken = (status: string): void =>
    stopper.stop({ code: 'E_STALE_RUN', message: `the task was taken from its run: it is ${status}`, kind: 'taken' });
  undo.push(host.watch.add(task.id, run.id, taken));
  const leave = (): void =>
    stopper.stop({ code: 'E_RUN_EXPIRED', message: 'Baton was asked to stop', kind: 'leaving' });
  if (leaving?.aborted) leave();
  leaving?.addEventListener('abort', leave, { once: true });
  undo.push(() => leaving?.removeEventListener('abort', leave));
  // It may have been taken before anybody listened.
  const now = await host.store.find(task.id);
  if (now?.run?.id !== run.id || now.run.status !== 'running') taken(now?.status ?? 'gone');
}

/** By this whoever comes after a Baton that died knows what is left of it. */
const remember =
  ({ facts }: Supervision) =>
  ({ pid, started }: ProcessMark): void =>
    facts.tell('run.process', { pid, started });

interface RunClocks {
  start(): void;
  stop(): void;
  alive(): void;
  listen(isOn: boolean): void;
  pause(): void;
  goOn(): void;
}

function openHeart({ host, task, run, live }: Supervision, undo: (() => unknown)[]): Heartbeat {
  const { dir, now, warn } = host;
  const heart = createHeartbeat({ dir, task: task.id, run, now, warn, progress: () => live.doing });
  undo.push(() => heart.close());
  return heart;
}

function createClocks(
  given: Supervision,
  stopper: Stopper,
  warnings: string[],
  undo: (() => unknown)[],
  onSign: () => void,
): RunClocks {
  const { host, task, run, facts, prepared, startedAt } = given;
  const { policy } = prepared;
  let clocks: ReturnType<typeof startClocks> | null = null;
  let beat: NodeJS.Timeout | undefined;
  let heartbeat: NodeJS.Timeout | undefined;
  let isAlive = true;
  const fail = (code: Stop['code'], message: string): void => stopper.stop({ code, message, kind: 'failed' });
  const warn = (code: Stop['code'], text: string): void => {
    warnings.push(`${code}: ${text}`);
    host.warn(`${task.id}: ${text}`);
  };
  const stop = (): void => {
    clocks?.stop();
    clearInterval(beat);
    clearInterval(heartbeat);
  };
  /** Where its TASK asks for heartbeats they are in the journal too; a run that is silent has none. */
  const recordBeats = ({ enabled, intervalSeconds }: Policy['heartbeat']): void => {
    if (!enabled) return;
    const everyMs = Math.max(LEAST_RECORDED_BEAT_MS, intervalSeconds * 1000);
    heartbeat = setInterval(() => {
      if (isAlive) facts.tell('run.heartbeat', { agent: run.agent });
      isAlive = false;
    }, everyMs);
  };
  undo.push(stop);
  return {
    start() {
      onSign();
      // A store that is away for a moment is asked again; its lease is long enough for that.
      recordBeats(policy.heartbeat);
      beat = setInterval(() => void host.store.alive(run.id).catch(() => {}), BEAT_MS);
      clocks = startClocks({
        policy,
        // Not the clock on the wall: that one may be set meanwhile.
        now: () => performance.now(),
        startedAt: performance.now() - Math.max(0, host.now() - startedAt),
        onTimeout() {
          const text = `the run took longer than ${policy.timeoutSeconds} seconds`;
          if (policy.terminateOnTimeout) return fail('E_TIMEOUT', text);
          facts.tell('run.overdue', { code: 'E_TIMEOUT', message: text });
          warn('E_TIMEOUT', `${text}; its policy lets it go on`);
        },
        onSilence(silentMs) {
          const { maxMissedBeats, onFailure } = policy.heartbeat;
          const text = `no sign of life for ${Math.round(silentMs / 1000)} seconds (${maxMissedBeats} beats missed)`;
          if (onFailure === 'ABORT') return fail('E_HEARTBEAT_FAILURE', text);
          facts.tell('run.silent', { code: 'E_HEARTBEAT_FAILURE', message: text, policy: onFailure });
          if (onFailure === 'WARN') warn('E_HEARTBEAT_FAILURE', text);
        },
      });
    },
    stop,
    alive() {
      onSign();
      isAlive = true;
      clocks?.alive();
    },
    listen: (isOn) => clocks?.listen(isOn),
    pause: () => clocks?.pause(),
    goOn: () => clocks?.goOn(),
  };
}
