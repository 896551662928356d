/** Which hosts a run may reach. Names are compared as names: no number stands for a name, and no name for a number. */
import { isIP } from 'node:net';

export interface Target {
  /** In lower case, without a dot at its end and without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface Rules {
  /** Why a target may not be reached; null where it may. */
  refusal(target: Target): string | null;
  /** Whether a name that was let through may lead to this address. */
  mayLeadTo(target: Target, address: string): boolean;
  /** Ports of this machine's loopback that are named, to be there inside under the same number. */
  readonly loopback: readonly number[];
}

interface RulesOptions {
  /** `host`, `host:port`, `*.host` or `*.host:port`. */
  readonly allow: readonly string[];
  /** URLs. */
  readonly endpoints: readonly string[];
  /** Whether all of this machine's loopback may be reached. */
  readonly loopback: boolean;
}

interface Rule {
  readonly host: string;
  readonly isBelow: boolean;
  readonly port: number | null;
  /** One that was named as the way to a model may be anywhere. */
  readonly isEndpoint: boolean;
}

const cleanHost = (host: string): string =>
  host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');

/** `host:port` as it stands in a CONNECT; null where it is none. */
export function parseTarget(text: string): Target | null {
  const found = /^(\[[^\]]+\]|[^:/\s]+):(\d{1,5})$/.exec(text);
  const port = Number(found?.[2]);
  return found === null || port < 1 || port > 65_535 ? null : { host: cleanHost(found[1] ?? ''), port };
}

export const showTarget = ({ host, port }: Target): string => `${host.includes(':') ? `[${host}]` : host}:${port}`;

const LOOPBACK_NAME = /(^|\.)localhost$/;

/** Of names only `localhost`, which leads nowhere else. */
export const isLoopback = (host: string): boolean =>
  LOOPBACK_NAME.test(host) || (isIP(host) === 0 ? false : isLoopbackAddress(host));

const plainAddress = (address: string): string => cleanHost(address).replace(/^::ffff:(?=\d+\.)/, '');

function isLoopbackAddress(address: string): boolean {
  const plain = plainAddress(address);
  return plain.startsWith('127.') || plain === '::1' || plain === '::' || plain === '0.0.0.0';
}

/** Where clouds keep the keys of their machines. */
const isLinkLocal = (address: string): boolean => /^(169\.254\.|fe[89ab][0-9a-f]:)/.test(plainAddress(address));

const parseAllowed = (entry: string): Rule => {
  const text = entry.trim();
  const port = /^(.*[^:]):(\d{1,5})$/.exec(text);
  // Two colons or more without brackets are an address of version 6, and no port.
  const hasPort = port !== null && (!(port[1] ?? '').includes(':') || (port[1] ?? '').endsWith(']'));
  const host = cleanHost(hasPort ? (port[1] ?? '') : text);
  const isBelow = host.startsWith('*.');
  return { host: isBelow ? host.slice(1) : host, isBelow, port: hasPort ? Number(port[2]) : null, isEndpoint: false };
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443, 'ws:': 80, 'wss:': 443 };

export const targetOfUrl = (url: URL): Target => ({
  host: cleanHost(url.hostname),
  port: url.port === '' ? (DEFAULT_PORTS[url.protocol] ?? 443) : Number(url.port),
});

/** An endpoint that is no URL is one that no program could use, so nothing is let through for it. */
const parseEndpoint = (text: string): Rule[] =>
  URL.canParse(text) ? [{ ...targetOfUrl(new URL(text)), isBelow: false, isEndpoint: true }] : [];

export function rulesFor({ allow, endpoints, loopback }: RulesOptions): Rules {
  const rules = [...allow.map(parseAllowed), ...endpoints.flatMap(parseEndpoint)];
  const fitting = ({ host, port }: Target): Rule | undefined =>
    rules.find(
      (rule) =>
        (rule.port === null || rule.port === port) &&
        // The names of loopback are one host.
        (rule.host === host ||
          (rule.isBelow && host.endsWith(rule.host)) ||
          (isLoopback(rule.host) && isLoopback(host))),
    );
  const ports = rules.flatMap(({ host, port }) => (port !== null && isLoopback(host) ? [port] : []));
  return {
    refusal(target) {
      if (fitting(target) !== undefined || (loopback && isLoopback(target.host))) return null;
      return `${showTarget(target)} is not among the hosts that this run may reach`;
    },
    mayLeadTo(target, address) {
      if (isLoopback(target.host)) return isLoopbackAddress(address);
      if (fitting(target)?.isEndpoint === true) return true;
      return !isLinkLocal(address) && (loopback || !isLoopbackAddress(address));
    },
    loopback: [...new Set(ports)].sort((a, b) => a - b),
  };
}
