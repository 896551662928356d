/** `baton mcp` outside of runs: the data folder, for an agent. */
import { type Task, taskOfRun } from '../core/task.ts';
import { openDoor } from '../runtime/door.ts';
import type { Sender } from '../runtime/doors.ts';
import { homeOf } from '../runtime/home-of.ts';
import { createLiveRuns } from '../runtime/live-runs.ts';
import { createRouter } from '../runtime/router.ts';
import { createMcpServer, lookAt, type StdioOptions, serveStdio } from '../server/mcp/index.ts';
import { runSender } from './caller.ts';
import type { Globals } from './globals.ts';
import { doLineFor } from './language.ts';
import { followConfig } from './live-config.ts';
import { reading } from './with-store.ts';

/** The folder has to be there: a program that starts this wherever it is opened is not to leave one everywhere. */
export async function onFolder(options: Globals, serving: StdioOptions): Promise<void> {
  await reading(options, async (store, dir) => {
    const warn = serving.warn ?? ((): void => {});
    const parts = { store, dir, config: followConfig(dir, warn), now: Date.now, workspace: homeOf(dir) };
    const router = createRouter({ ...parts, runs: createLiveRuns() });
    const sender = (await runSender(store, dir, 'mcp')) ?? PROGRAM;
    const leaving = serving.signal ?? new AbortController().signal;
    const doLine = doLineFor({ ...parts, warn, leaving, isQuiet: true });
    const door = openDoor({ ...parts, router, sender, doLine });
    const look = lookAt(store, dir, mayRead(sender));
    await serveStdio(createMcpServer(door, { look, inRun: sender.run !== null }), serving);
  });
}

/** Never a person: whoever is behind it, it is a program that speaks. */
const PROGRAM: Sender = { channel: 'mcp', run: null, agent: 'mcp', actor: { kind: 'agent', name: 'mcp' } };

/** A run that left its socket aside sees no more than over it. */
function mayRead({ run }: Sender): (task: Task) => boolean {
  const own = run === null ? null : taskOfRun(run);
  return ({ id, parentId }) => run === null || id === own || parentId === own;
}
