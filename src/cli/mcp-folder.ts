/** `baton mcp` outside of runs: the data folder, for an agent. */
import { runOfCaller } from '../process/caller.ts';
import { openDoor } from '../runtime/door.ts';
import type { Sender } from '../runtime/doors.ts';
import { homeOf } from '../runtime/host.ts';
import { createLiveRuns } from '../runtime/live-runs.ts';
import { createRouter } from '../runtime/router.ts';
import { createMcpServer, lookAt, type StdioOptions, serveStdio } from '../server/mcp/index.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { reading } from './with-store.ts';

/** The folder has to be there: a program that starts this wherever it is opened is not to leave one everywhere. */
export async function onFolder(options: Globals, serving: StdioOptions): Promise<void> {
  await reading(options, async (store, dir) => {
    const parts = { store, dir, config: readConfig(dir), now: Date.now, workspace: homeOf(dir) };
    const router = createRouter({ ...parts, runs: createLiveRuns() });
    const door = openDoor({ ...parts, router, sender: speaker() });
    await serveStdio(createMcpServer(door, { look: lookAt(store, dir) }), serving);
  });
}

/** Never a person: whoever is behind it, it is a program that speaks. */
function speaker(): Sender {
  const run = runOfCaller();
  const name = run === null ? 'mcp' : `agent of ${run}`;
  return { channel: 'mcp', run: null, agent: name, actor: { kind: 'agent', name } };
}
