/**
 * Runs inside a sandbox that has no network, around the program: it listens on the sandbox's own loopback, leads what comes there to the
 * proxy's unix socket, starts the program, passes signals on, and ends as the program does.
 *
 *     node relay.mjs <socket> <proxy port> <loopback ports, with commas> -- <program> <arguments…>
 *
 * It is plain JavaScript that needs no other file: it is shown alone inside the sandbox, from the sources, the library or the bundle.
 */
import { spawn } from 'node:child_process';
import { writeSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { constants } from 'node:os';

const [socket = '', proxyPort = '', ports = '', , ...command] = process.argv.slice(2);
/** An answer of the proxy is shorter than this; a longer one is none. */
const LONGEST_HEAD = 16 * 1024;

/** Either side may break off, and takes the other one with it. */
function join(client, gate) {
  lead(client, gate);
  lead(gate, client);
}

/**
 * With `end` left to `pipe` it would look at process.stdout, which makes standard output non-blocking, and not only ours: the program has
 * the same one, and many programs fail when it is full for a moment.
 */
function lead(from, to) {
  from.pipe(to, { end: false });
  from.once('end', () => to.end());
}

/** Standard error as it is: process.stderr would make it non-blocking. */
const complain = (text) => writeSync(2, `baton relay: ${text}\n`);

function open(client) {
  const gate = connect({ path: socket, allowHalfOpen: true });
  client.on('error', () => gate.destroy());
  gate.on('error', () => client.destroy());
  client.on('close', () => gate.destroy());
  gate.on('close', () => client.destroy());
  return gate;
}

/** To this machine's port of the same number, for a program that knows no proxy. */
function throughProxy(client, port) {
  const gate = open(client);
  gate.write(`CONNECT localhost:${port} HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
  let head = Buffer.alloc(0);
  const read = (chunk) => {
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0 && head.length < LONGEST_HEAD) return;
    gate.off('data', read);
    if (end < 0 || !/^HTTP\/1\.1 200 /.test(head.toString('latin1', 0, 13))) {
      client.destroy();
      return;
    }
    if (head.length > end + 4) client.write(head.subarray(end + 4));
    join(client, gate);
  };
  gate.on('data', read);
}

function listen(port, host, onClient) {
  return new Promise((settle, fail) => {
    const server = createServer({ allowHalfOpen: true }, onClient);
    server.once('error', fail);
    server.listen(port, host, settle);
    // The program decides how long all of this lasts.
    server.unref();
  });
}

await listen(Number(proxyPort), '127.0.0.1', (client) => join(client, open(client)));
for (const port of ports.split(',').filter((text) => text !== '')) {
  const onClient = (client) => throughProxy(client, port);
  await listen(Number(port), '127.0.0.1', onClient).catch((cause) => {
    complain(`port ${port} of 127.0.0.1 cannot be led outside: ${cause.message}`);
  });
  // Where there is no version 6 in here, nobody will ask for it.
  await listen(Number(port), '::1', onClient).catch(() => {});
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'];
// Before the program is there, for it may be signalled as soon as it is.
for (const signal of SIGNALS) process.on(signal, () => child.kill(signal));
const child = spawn(command[0], command.slice(1), { stdio: 'inherit' });
child.on('error', (cause) => {
  complain(`${command[0]} cannot be started: ${cause.message}`);
  process.exit(cause.code === 'ENOENT' ? 127 : 126);
});
child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code ?? 0);
  for (const each of SIGNALS) process.removeAllListeners(each);
  // Ends as the program did. Where it cannot, the number says it, as shells do.
  process.kill(process.pid, signal);
  setTimeout(() => process.exit(128 + constants.signals[signal]), 100);
});
