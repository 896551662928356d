/** Writes down that Baton was told to stop, and what it was at; once for each host. */
import { RUNTIME } from './actor.ts';
import type { Host } from './host.ts';

const told = new WeakSet<Host>();

/** `stopped`: the tasks whose runs ended with it. */
export async function tellShutdown(host: Host, stopped: readonly string[]): Promise<void> {
  if (told.has(host)) return;
  told.add(host);
  const message = { type: 'note' as const, event: 'shutdown', detail: { pid: host.supervisor.pid, stopped } };
  await host.store.send({ message, by: RUNTIME });
}
