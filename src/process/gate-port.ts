/** The port of 127.0.0.1 inside a sandbox on which its proxy is found. */

const USUAL = 3128;

/** The network inside is the sandbox's own, so any port is free but those that lead to this machine's. */
export function proxyPort(loopback: readonly number[]): number {
  let port = USUAL;
  while (loopback.includes(port)) port++;
  return port;
}
