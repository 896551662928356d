/** What a run looks like at this moment, told often enough to be useful and seldom enough to cost nothing. */
import type { AgentSign } from '../agents/adapter.ts';
import type { Run, Task } from '../core/task.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { shorten } from '../protocol/text/shorten.ts';
import type { Facts } from './facts.ts';
import type { Host, Live } from './host.ts';
import { NOTHING_USED } from './meter.ts';
import type { Progress } from './progress.ts';

export interface LiveRun {
  update(fields: Partial<Live>): void;
  sign(sign: AgentSign): void;
  progress(progress: Progress): void;
  /** The model that the agent says it has. */
  readonly model: string | null;
  /** The last thing that is known about what it does. */
  readonly doing: string | null;
  /** Writes down what is still to be written down. */
  flush(): void;
  readonly last: { readonly at: number; readonly percentage: number | null } | null;
  end(fields: Partial<Live>): void;
}

/** The contract's measure for PROGRESS_UPDATE (aop2 §6.2). */
const RECORD_EVERY_MS = 30_000;
const SHOW_EVERY_MS = 200;
const DOING_CHARS = 80;

interface Begun {
  readonly task: Task;
  readonly run: Run;
  readonly startedAt: number;
  readonly state: Live['state'];
}

export function createLive(host: Host, facts: Facts, { task, run: of, startedAt, state }: Begun): LiveRun {
  let live: Live = {
    task: task.id,
    title: task.title,
    run: of.id,
    agent: of.agent,
    model: of.model,
    state,
    phase: null,
    checkpoint: null,
    percentage: null,
    doing: null,
    startedAt,
    lastSign: startedAt,
    used: NOTHING_USED,
    status: null,
  };
  let shownAt = 0;
  let recordedAt = 0;
  let waiting: Progress | null = null;
  let timer: NodeJS.Timeout | undefined;
  let showing: NodeJS.Timeout | undefined;
  let last: { at: number; percentage: number | null } | null = null;

  const show = (now: number): void => {
    clearTimeout(showing);
    showing = undefined;
    shownAt = now;
    host.onLive(live);
  };

  /** At once, or when enough time has passed: the last word is always shown. */
  const showSoon = (now: number): void => {
    if (now - shownAt >= SHOW_EVERY_MS) return show(now);
    showing ??= setTimeout(() => show(host.now()), SHOW_EVERY_MS).unref();
  };

  const record = (): void => {
    timer = undefined;
    if (waiting === null) return;
    recordedAt = host.now();
    facts.tell('run.progress', { ...waiting });
    waiting = null;
  };

  const run: LiveRun = {
    update(fields) {
      live = { ...live, ...fields };
      show(host.now());
    },
    sign(sign) {
      const now = host.now();
      const doing =
        sign.kind === 'tool'
          ? `${sign.name} ${sign.detail}`
          : sign.kind === 'retrying'
            ? `its model does not answer${sign.status === null ? '' : ` (HTTP ${sign.status})`}; it tries again`
            : null;
      live = {
        ...live,
        lastSign: now,
        ...(sign.kind === 'model' ? { model: sign.model } : {}),
        ...(doing === null ? {} : { doing: shorten(stripControls(doing).replace(/\s+/g, ' '), DOING_CHARS) }),
      };
      showSoon(now);
    },
    progress(said) {
      const now = host.now();
      last = { at: now, percentage: said.percentage ?? last?.percentage ?? null };
      live = {
        ...live,
        lastSign: now,
        ...(said.percentage === null ? {} : { percentage: said.percentage }),
        ...(said.checkpoint === null ? {} : { checkpoint: said.checkpoint }),
        ...(said.message === null
          ? {}
          : { doing: shorten(stripControls(said.message).replace(/\s+/g, ' '), DOING_CHARS) }),
      };
      showSoon(now);
      waiting = said;
      const left = recordedAt + RECORD_EVERY_MS - now;
      if (left <= 0) run.flush();
      else timer ??= setTimeout(record, left);
    },
    get model() {
      return live.model;
    },
    get doing() {
      return live.doing;
    },
    get last() {
      return last;
    },
    flush() {
      clearTimeout(timer);
      record();
    },
    end(fields) {
      run.flush();
      run.update({ ...fields, state: 'ended' });
    },
  };
  return run;
}
