/** Who runs, shown on stderr: a line that changes in place for each run on a terminal; else a line when something happens, and now and then. */
import { stripControls } from '../protocol/text/clean.ts';
import type { Live } from '../runtime/index.ts';
import { note } from './io.ts';

export interface Progress {
  show(live: Live): void;
  say(text: string): void;
  end(): void;
}

/** Without a terminal: not more often than this while nothing changes. */
const STILL_EVERY_MS = 30_000;
/** An agent may count its percents as fast as it likes; whoever reads this pays for every line. */
const PERCENT_EVERY_MS = 10_000;
const REDRAW_MS = 250;
/** More lines than this would only flicker. */
const MOST_LINES = 12;

export function createProgress(quiet: boolean, now: () => number = Date.now): Progress {
  if (quiet) return { show: () => {}, say: (text) => note(`baton: ${text}`), end: () => {} };
  return process.stderr.isTTY ? onTerminal(now) : inLines(now);
}

const seconds = (ms: number): string => {
  const all = Math.max(0, Math.round(ms / 1000));
  return all < 60 ? `${all} s` : `${Math.floor(all / 60)} min ${String(all % 60).padStart(2, '0')} s`;
};

function liveLine(live: Live, now: number): string {
  const { used } = live;
  const tokens = used.tokensInput + used.tokensOutput;
  const cost = [
    ...(used.usd === null ? [] : [`${used.estimated ? '~' : ''}$${used.usd.toFixed(4)}`]),
    ...(tokens === 0 ? [] : [`${tokens} tokens`]),
  ];
  const silent = now - live.lastSign;
  return stripControls(
    [
      live.task,
      `${live.agent}${live.model === null ? '' : ` (${live.model})`}`,
      [live.state === 'ended' ? (live.status ?? 'ended') : live.state, live.phase, live.checkpoint]
        .filter(Boolean)
        .join(' · '),
      ...(live.percentage === null ? [] : [`${live.percentage} %`]),
      seconds(now - live.startedAt),
      ...cost,
      ...(live.state === 'ended' ? [] : silent > 5_000 ? [`silent for ${seconds(silent)}`] : []),
      ...(live.doing === null || live.state === 'ended' ? [] : [live.doing]),
    ].join('  '),
  );
}

function inLines(now: () => number): Progress {
  const last = new Map<string, { readonly what: string; readonly at: number; live: Live }>();
  const timer = setInterval(() => {
    for (const [run, shown] of last) if (now() - shown.at >= STILL_EVERY_MS) print(run, shown.live, shown.what);
  }, 1_000);
  timer.unref();
  const print = (run: string, live: Live, what: string): void => {
    note(liveLine(live, now()));
    last.set(run, { what, at: now(), live });
  };
  return {
    show(live) {
      const what = JSON.stringify([live.state, live.phase, live.checkpoint, live.status]);
      const shown = last.get(live.run);
      const isSoon = shown !== undefined && now() - shown.at < PERCENT_EVERY_MS;
      if (shown?.what === what && (isSoon || shown.live.percentage === live.percentage)) shown.live = live;
      else print(live.run, live, what);
      if (live.state === 'ended') last.delete(live.run);
    },
    say: (text) => note(`baton: ${stripControls(text)}`),
    end: () => clearInterval(timer),
  };
}

function onTerminal(now: () => number): Progress {
  const runs = new Map<string, Live>();
  let drawn = 0;
  const erase = (): void => {
    if (drawn > 0) process.stderr.write(`\x1b[${drawn}A\x1b[0J`);
    drawn = 0;
  };
  const draw = (): void => {
    erase();
    const width = (process.stderr.columns ?? 100) - 1;
    const lines = [...runs.values()].slice(0, MOST_LINES).map((live) => liveLine(live, now()).slice(0, width));
    if (runs.size > MOST_LINES) lines.push(`… and ${runs.size - MOST_LINES} more`);
    if (lines.length > 0) process.stderr.write(`${lines.join('\n')}\n`);
    drawn = lines.length;
  };
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  const above = (text: string): void => {
    erase();
    note(text);
    draw();
  };
  return {
    show(live) {
      if (live.state !== 'ended') return void runs.set(live.run, live);
      runs.delete(live.run);
      above(liveLine(live, now()));
    },
    say: (text) => above(`baton: ${stripControls(text)}`),
    end() {
      clearInterval(timer);
      erase();
    },
  };
}
