/** What all launches share: the environment an agent's config asks for, and its paths. */
import { isAbsolute, join } from 'node:path';
import { isWithin } from '../core/policy.ts';
import type { TurnRequest } from './adapter.ts';

/** How a machine reaches the network and whom it trusts: for every program that calls a model. */
const NETWORK_ENV = [
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'https_proxy',
  'http_proxy',
  'all_proxy',
  'no_proxy',
  'NODE_EXTRA_CA_CERTS',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
] as const;

/** How long Baton's tools may take to start, and to answer: waiting for a task takes just under a minute. */
export const MCP_START_MS = 30_000;
export const MCP_CALL_MS = 120_000;

/** The program and the first of its arguments: config's command in place of the name. */
export const programOf = (request: TurnRequest, program: string): readonly string[] =>
  request.agent.command ?? [program];

/** Values that config sets. */
export const envOf = ({ agent }: TurnRequest): Readonly<Record<string, string>> =>
  Array.isArray(agent.env) ? {} : (agent.env as Readonly<Record<string, string>>);

/** Names to pass on: the program's own, those of config, each once. */
export function passed({ agent }: TurnRequest, own: readonly string[]): readonly string[] {
  const asked = Array.isArray(agent.env) ? (agent.env as readonly string[]) : [];
  return [...new Set([...own, ...NETWORK_ENV, ...asked])];
}

/** A variable as the program will see it; an empty one is none. */
export function variable(request: TurnRequest, name: string): string | null {
  const value = envOf(request)[name] ?? request.environment[name];
  return value === undefined || value === '' ? null : value;
}

export const isOn = (request: TurnRequest, name: string): boolean =>
  /^(?:1|true|yes|on)$/i.test(variable(request, name) ?? '');

/** Paths below HOME; none where there is no HOME. */
export function inHome(request: TurnRequest, ...paths: readonly string[]): readonly string[] {
  const home = variable(request, 'HOME');
  return home === null || !isAbsolute(home) ? [] : paths.map((path) => join(home, path));
}

/** A folder that a variable names, else one below HOME. */
export function folderOf(request: TurnRequest, name: string, ...below: readonly string[]): readonly string[] {
  const folder = variable(request, name);
  return folder !== null && isAbsolute(folder) ? [folder] : inHome(request, ...below);
}

export const mayWrite = ({ access }: TurnRequest): boolean => access.writePaths.length > 0;

export const mayWriteWorkspace = ({ access, workspace }: TurnRequest): boolean =>
  isWithin(workspace, access.writePaths);

/** Those of some paths that do not lie in the workspace. */
export const outside = (request: TurnRequest, paths: readonly string[]): readonly string[] =>
  paths.filter((path) => !isWithin(path, [request.workspace]));

/** The addresses of a list that can be read as ones, each once. */
export const urls = (...candidates: readonly (string | null)[]): readonly string[] => [
  ...new Set(candidates.filter((url) => url !== null && URL.canParse(url)) as readonly string[]),
];

/** The prompt for standard input; the one word that means something else there gets a line end. */
export const typed = ({ prompt }: TurnRequest): string => (prompt === 'open' ? 'open\n' : prompt);
