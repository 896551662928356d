/** `baton session`: one line after the other, from a person at a terminal or from a script. */
import { createInterface } from 'node:readline';
import { tell } from './do.ts';
import { speaking } from './speaking.ts';
import type { SpeakingOptions } from './speaking-folder.ts';
import { untilStopped } from './until-stopped.ts';

type Options = Omit<SpeakingOptions, 'session'>;

export async function session(named: string | undefined, options: Options): Promise<void> {
  const where: SpeakingOptions = { ...options, ...(named === undefined ? {} : { session: named }) };
  if (process.stdin.isTTY && process.stdout.isTTY && !options.json) {
    const leaving = new AbortController();
    const { atPrompt } = await import('./session-prompt.ts');
    return speaking(where, leaving.signal, (spoken) => atPrompt(spoken, leaving));
  }
  const leaving = untilStopped();
  await speaking(where, leaving, async ({ say }) => {
    const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY });
    leaving.addEventListener('abort', () => lines.close(), { once: true });
    for await (const line of lines) {
      if (leaving.aborted) break;
      // A line that failed is told, and the next one is still said: so the exit code is the worst of all.
      if (line.trim() !== '') tell(await say({ line }, leaving), options.json);
    }
    if (leaving.aborted) process.exitCode = 1;
  });
}
