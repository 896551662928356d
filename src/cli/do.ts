/** `baton do`: one line of the session language. */
import type { DoneLine } from '../runtime/doors.ts';
import { print, printJson } from './io.ts';
import { speaking } from './speaking.ts';
import type { SpeakingOptions } from './speaking-folder.ts';
import { safe } from './text.ts';
import { untilStopped } from './until-stopped.ts';

interface Options extends SpeakingOptions {
  readonly dryRun?: boolean;
}

export async function doLine(line: string, { dryRun = false, ...options }: Options): Promise<void> {
  const leaving = untilStopped();
  await speaking(options, leaving, async ({ say }) => tell(await say({ line, dryRun }, leaving), options.json));
}

/** Exits 3 where something failed, or where it has to be asked back first. */
export function tell({ reply, commands, clarify, failed }: DoneLine, json: boolean): void {
  if (json) printJson({ reply, commands, clarify });
  else print(safe(reply));
  if (failed || clarify !== null) process.exitCode = 3;
}
