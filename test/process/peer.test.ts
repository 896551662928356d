/** Who is at the other end of a connection, with real processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { hasProc } from '../../src/process/census.ts';
import { type Peer, peerOf } from '../../src/process/peer.ts';
import { MARK } from '../../src/process/types.ts';

let server: Server;
const children: ChildProcess[] = [];
beforeEach(async () => {
  server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  server.close();
});

const port = (): number => (server.address() as AddressInfo).port;
const look = ({ localPort = 0, remotePort = 0, remoteAddress = '' }: Socket): Peer =>
  peerOf({ localPort, remotePort, remoteAddress });

async function peerOfProgram(code: string, env: NodeJS.ProcessEnv): Promise<Peer> {
  const child = spawn(process.execPath, ['-e', code], { env: { ...env, PORT: String(port()) }, stdio: 'ignore' });
  children.push(child);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const peer = look(socket);
  socket.destroy();
  return peer;
}

const CONNECT = `require('node:net').connect(Number(process.env.PORT), '127.0.0.1'); setInterval(() => {}, 1000);`;
/** It ends with its connection. */
const CONNECT_ALONE = `const end = () => process.exit(); require('node:net').connect(Number(process.env.PORT), '127.0.0.1').on('close', end).on('error', end).resume();`;
/** Its child has an empty environment. */
const BY_A_CHILD = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(CONNECT_ALONE)}], { env: { PORT: process.env.PORT }, stdio: 'ignore' }); setInterval(() => {}, 1000);`;

test.runIf(hasProc())('a process of a run is known by its mark, or by that of its parents', async () => {
  const marked = { [MARK]: 'TASK-2026-01-01-001-r1@0123456789abcdef' };
  const run = { kind: 'run', run: 'TASK-2026-01-01-001-r1' };
  expect(await peerOfProgram(CONNECT, marked)).toEqual(run);
  const child = await peerOfProgram(BY_A_CHILD, marked);
  expect(child).toEqual(run);
  expect(await peerOfProgram(CONNECT, {})).toMatchObject({ kind: 'other', isOurs: true });
});

test.runIf(hasProc())(
  'what comes through ourselves is a run behind our proxy, and what is not here is elsewhere',
  async () => {
    const client = connect(port(), '127.0.0.1');
    const [socket] = (await once(server, 'connection')) as [Socket];
    expect(look(socket)).toEqual({ kind: 'run', run: null });
    client.destroy();
    socket.destroy();
    expect(peerOf({ localPort: 1, remotePort: 2, remoteAddress: '192.0.2.1' })).toEqual({ kind: 'elsewhere' });
  },
);

test.runIf(hasProc())('what lost its parents since a run began may be of it', async () => {
  const before = Date.now();
  const code = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(CONNECT_ALONE)}], { env: { PORT: process.env.PORT }, stdio: 'ignore', detached: true }).unref();`;
  const child = spawn(process.execPath, ['-e', code], { env: { PORT: String(port()) }, stdio: 'ignore' });
  const [socket] = (await once(server, 'connection')) as [Socket];
  if (child.exitCode === null) await once(child, 'exit');
  const { localPort = 0, remotePort = 0, remoteAddress = '' } = socket;
  const peer = peerOf({ localPort, remotePort, remoteAddress });
  expect(peer).toEqual({ kind: 'other', orphans: [expect.any(Number)] });
  const [began = 0] = peer.kind === 'other' ? (peer.orphans ?? []) : [];
  expect([began > before - 1_000, began < Date.now() + 1_000]).toEqual([true, true]);
  socket.destroy();
});

test.runIf(hasProc())('one of this machine that has hung up is nobody that could be named', async () => {
  const sent = `require('node:net').connect(Number(process.env.PORT), '127.0.0.1', () => process.exit());`;
  const child = spawn(process.execPath, ['-e', sent], { env: { PORT: String(port()) }, stdio: 'ignore' });
  children.push(child);
  const [socket] = (await once(server, 'connection')) as [Socket];
  const { localPort = 0, remotePort = 0, remoteAddress = '' } = socket.pause();
  if (child.exitCode === null) await once(child, 'exit');
  expect(peerOf({ localPort, remotePort, remoteAddress })).toEqual({ kind: 'unknown', isGone: true });
  socket.destroy();
  for (const remoteAddress of ['127.0.0.1', '::ffff:127.0.0.1', '::1'])
    expect(peerOf({ localPort: 1, remotePort: 2, remoteAddress })).toEqual({ kind: 'unknown', isGone: true });
  expect(peerOf({ localPort: 1, remotePort: 2 })).toEqual({ kind: 'unknown', isGone: true });
});

test.skipIf(hasProc())('where the system does not tell, nobody knows', () => {
  expect(peerOf({ localPort: 1, remotePort: 2 })).toEqual({ kind: 'unknown' });
});
