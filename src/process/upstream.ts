/** The proxy that this machine itself has to go through, as its environment names it. */
import { connect, type Socket } from 'node:net';
import { isLoopback, showTarget, type Target } from './network-rules.ts';

/** The proxy for a target; null is the direct way. */
export type Upstream = (target: Target) => URL | null;

/** Lower case wins, as with most programs. A proxy that is not plain HTTP is not known here, and the direct way is tried. */
export function upstreamFrom(env: Readonly<Record<string, string | undefined>>): Upstream {
  const named = (name: string): string => env[name.toLowerCase()] || env[name] || '';
  const text = named('HTTPS_PROXY') || named('ALL_PROXY') || named('HTTP_PROXY');
  const url = URL.canParse(text) ? new URL(text) : null;
  const direct = named('NO_PROXY')
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .map((entry) => entry.toLowerCase().replace(/^\*?\./, ''));
  return ({ host, port }) => {
    if (url?.protocol !== 'http:' || isLoopback(host)) return null;
    const isDirect = direct.some(
      (entry) => entry === '*' || host === entry || `${host}:${port}` === entry || host.endsWith(`.${entry}`),
    );
    return isDirect ? null : url;
  };
}

/** An answer to CONNECT is shorter than this; a longer one is none. */
const LONGEST_HEAD = 16 * 1024;

/** A connection to the target through another proxy. Rejects with what that one says. */
export function connectThrough(proxy: URL, target: Target): Promise<Socket> {
  const name = showTarget(target);
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const auth = login === ':' ? '' : `proxy-authorization: Basic ${Buffer.from(login).toString('base64')}\r\n`;
  return new Promise((settle, fail) => {
    const socket = connect(Number(proxy.port) || 80, proxy.hostname.replace(/^\[(.*)\]$/, '$1'));
    let head = Buffer.alloc(0);
    const stop = (cause: Error): void => {
      socket.destroy();
      fail(new Error(`the proxy ${proxy.host} of this machine: ${cause.message}`));
    };
    const closed = (): void => stop(new Error('it closed the connection'));
    const read = (chunk: Buffer): void => {
      head = Buffer.concat([head, chunk]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0 && head.length < LONGEST_HEAD) return;
      const [first = ''] = head.toString('latin1').split('\r\n', 1);
      if (end < 0 || !/^HTTP\/1\.[01] 200/.test(first)) return stop(new Error(first));
      socket.off('data', read).off('error', stop).off('close', closed).pause();
      const rest = head.subarray(end + 4);
      if (rest.length > 0) socket.unshift(rest);
      settle(socket);
    };
    socket.on('error', stop).on('close', closed).on('data', read);
    socket.write(`CONNECT ${name} HTTP/1.1\r\nhost: ${name}\r\n${auth}\r\n`);
  });
}
