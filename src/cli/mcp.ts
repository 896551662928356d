/**
 * `baton mcp`: the tools for an agent, on standard input and output. In a run it speaks over that run's socket and is nobody else; elsewhere
 * it opens the data folder as an agent, never as a person. Standard output is the protocol's alone.
 */
import { connectDoor } from '../runtime/door-client.ts';
import { createMcpServer, lookThrough, serveStdio } from '../server/mcp/index.ts';
import type { Globals } from './globals.ts';
import { note } from './io.ts';
import { untilStopped } from './until-stopped.ts';

export async function mcp(options: Globals): Promise<void> {
  const serving = { warn: note, signal: untilStopped() };
  // Whatever else is said: within a run it is that run.
  const socket = process.env['BATON_SOCKET'] || null;
  if (socket === null) {
    // The store is much to load, and a run has no use for it.
    return (await import('./mcp-folder.ts')).onFolder(options, serving);
  }
  const door = await connectDoor(socket);
  try {
    await serveStdio(createMcpServer(door, { look: lookThrough(door), inRun: true }), serving);
  } finally {
    await door.close();
  }
}
