/** The interpreter as every door knows it: a line, and who speaks. One for a process, so that how somebody wants to be answered holds for all doors. */
import type { DoLine } from '../runtime/doors.ts';
import type { Interpreter, SessionParts } from './call.ts';
import { voiceOf } from './voice.ts';

/** What a timer can hold. */
const LONGEST_MS = 2 ** 31 - 1;

export function createDoLine(interpreter: Interpreter, parts: Pick<SessionParts, 'store' | 'config'>): DoLine {
  return async ({ line, session, dryRun = false, timeoutMs }, sender, signal) => {
    const voice = await voiceOf(parts, sender, session);
    const ends = [
      ...(signal === undefined ? [] : [signal]),
      ...(timeoutMs === undefined ? [] : [AbortSignal.timeout(Math.min(timeoutMs, LONGEST_MS))]),
    ];
    return interpreter.do(line, voice, { dryRun, signal: AbortSignal.any(ends) });
  };
}
