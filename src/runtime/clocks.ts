/** The two clocks of a run: how long it may take in all, and how long it may be silent. They belong to one run and touch no other. */
import type { Policy } from '../core/policy.ts';

interface Clocks {
  /** A sign of life. */
  alive(): void;
  /** Whether there is anybody to hear: nobody is silent while checks run, or what an agent left is ended. */
  listen(isOn: boolean): void;
  /** What it takes to end an agent that came in time is not the agent's time. */
  pause(): void;
  goOn(): void;
  readonly lastSign: number;
  stop(): void;
}

interface ClockOptions {
  readonly policy: Pick<Policy, 'timeoutSeconds' | 'heartbeat'>;
  readonly now: () => number;
  /** When the time began to count. */
  readonly startedAt: number;
  /** The time is up. Told once. */
  onTimeout(): void;
  /** So many beats in a row were missed. Told once for each silence. */
  onSilence(silentMs: number): void;
}

/** The longest time that a timer of the system can wait. */
const LONGEST = 2 ** 31 - 1;

export function startClocks({ policy, now, startedAt, onTimeout, onSilence }: ClockOptions): Clocks {
  const { heartbeat, timeoutSeconds } = policy;
  const silence = heartbeat.enabled ? heartbeat.intervalSeconds * heartbeat.maxMissedBeats * 1000 : null;
  let lastSign = now();
  let told = false;
  let begunAt = startedAt;
  let pausedAt: number | null = null;
  let isOver = false;
  let isHeard = false;
  let idle: NodeJS.Timeout | undefined;
  let wall: NodeJS.Timeout | undefined;

  const waitForEnd = (): void => {
    const left = begunAt + timeoutSeconds * 1000 - now();
    if (left > 0) wall = setTimeout(waitForEnd, Math.min(left, LONGEST));
    else if (!isOver) {
      isOver = true;
      onTimeout();
    }
  };

  /** One timer that looks at the last sign when it fires: a chatty agent costs nothing. */
  const look = (): void => {
    if (silence === null) return;
    if (!isHeard) lastSign = now();
    const left = lastSign + silence - now();
    if (left > 0) idle = setTimeout(look, Math.min(left, LONGEST));
    else {
      if (!told) onSilence(now() - lastSign);
      told = true;
      idle = setTimeout(look, Math.min(silence, LONGEST));
    }
  };

  waitForEnd();
  look();
  const alive = (): void => {
    lastSign = now();
    told = false;
  };
  return {
    alive,
    listen(isOn) {
      alive();
      isHeard = isOn;
    },
    pause() {
      pausedAt ??= now();
      clearTimeout(wall);
    },
    goOn() {
      if (pausedAt === null) return;
      begunAt += now() - pausedAt;
      pausedAt = null;
      waitForEnd();
    },
    get lastSign() {
      return lastSign;
    },
    stop() {
      clearTimeout(wall);
      clearTimeout(idle);
    },
  };
}
