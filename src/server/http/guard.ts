/**
 * Who may come in. A page in a browser can make the browser call us: a name that was made to point here (DNS rebinding) is known by its Host, a
 * page of somebody else's by its Origin. All else is the token's business.
 */
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { BatonError } from '../../core/errors.ts';
import type { Caller, Tokens } from './tokens.ts';

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];
const ANY = ['0.0.0.0', '::'];

/** The names by which we may be called, where `bound` is what we listen on. A number is always itself: nobody can make it point here. */
function allowedHosts(bound: string): (name: string) => boolean {
  const own = bound.toLowerCase();
  const isEverywhere = ANY.includes(own);
  const names = new Set([...LOOPBACK, ...(isEverywhere ? [hostname().toLowerCase()] : [own])]);
  return (name) => names.has(name) || (isEverywhere && isIP(name) !== 0);
}

interface Guard {
  /** Throws where the request is not for us, or comes from a page that is not ours. */
  checkPlace(headers: Headers): void;
  /** Throws where there is no token, or a wrong one. */
  caller(headers: Headers): Caller;
}

export function createGuard(tokens: Tokens, bound: string): Guard {
  const isAllowed = allowedHosts(bound);
  return {
    checkPlace(headers) {
      const host = headers.get('host') ?? '';
      const name = nameIn(host);
      if (name === null || !isAllowed(name)) {
        throw new BatonError(
          'E_PERMISSION_DENIED',
          `expected a request for this machine, got one for the host ${host === '' ? '(none)' : host}`,
          'call it by the address that baton serve printed',
        );
      }
      const origin = headers.get('origin');
      if (origin === null || isOwn(origin, host)) return;
      throw new BatonError('E_PERMISSION_DENIED', `expected no page but our own to call, got one of ${origin}`);
    },
    caller(headers) {
      const token = /^Bearer +(\S+) *$/i.exec(headers.get('authorization') ?? '')?.[1];
      const caller = token === undefined ? null : tokens.caller(token);
      if (caller !== null) return caller;
      throw new BatonError(
        'E_CREDENTIALS',
        `expected the token as "Authorization: Bearer …", got ${token === undefined ? 'none' : 'one that is not known, or of a run that has ended'}`,
        "the person's is in serve.token of the data folder",
      );
    },
  };
}

/** `[::1]:4700` is `::1`. */
function nameIn(host: string): string | null {
  const found = /^(?:\[([^\]]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(host);
  return (found?.[1] ?? found?.[2])?.toLowerCase() ?? null;
}

function isOwn(origin: string, host: string): boolean {
  try {
    const { protocol, host: of } = new URL(origin);
    return (protocol === 'http:' || protocol === 'https:') && of === host.toLowerCase();
  } catch {
    // `null`, and whatever else is no address.
    return false;
  }
}
