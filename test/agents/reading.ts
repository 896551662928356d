/** What the tests of this room share: a request to begin with, and all the signs of some bytes. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AgentSign, ProgramAdapter, TurnRequest } from '../../src/agents/adapter.ts';
import { ADAPTERS } from '../../src/agents/index.ts';
import type { AgentKind } from '../../src/core/agent-kinds.ts';
import { ConfigSchema } from '../../src/core/config.ts';

export const CAPTURES = join(import.meta.dirname, 'captures');

export const agentOf = (kind: AgentKind, fields: object = {}): TurnRequest['agent'] =>
  ConfigSchema.parse({ agents: { it: { kind, ...fields } } }).agents['it'] as TurnRequest['agent'];

export const programAdapter = (kind: AgentKind): ProgramAdapter => {
  const adapter = ADAPTERS[kind];
  if (adapter.way !== 'program') throw new Error(`expected an adapter of a program, got ${kind}`);
  return adapter;
};

export const requestOf = (kind: AgentKind, fields: Partial<TurnRequest> = {}): TurnRequest => ({
  agent: agentOf(kind),
  prompt: 'do it',
  model: null,
  workspace: '/ws/repo',
  access: { readPaths: ['/ws/repo'], writePaths: ['/ws/repo'], network: 'RESTRICTED' },
  sandboxed: false,
  budget: { maxCostUsd: null, maxTokens: null },
  resume: null,
  mcp: null,
  conversation: '00000000-0000-4000-8000-000000000001',
  folder: '/data/runs/1',
  environment: { HOME: '/home/me' },
  ...fields,
});

interface Bytes {
  readonly stdout: readonly Uint8Array[];
  readonly stderr?: readonly Uint8Array[];
  readonly exit?: { readonly code: number | null; readonly signal: string | null };
}

/** All signs of a program that printed this and ended so. */
export function signsOf(kind: AgentKind, bytes: Bytes, request: TurnRequest = requestOf(kind)): AgentSign[] {
  const signs: AgentSign[] = [];
  const silent = (): never => {
    throw new Error('expected nothing to be said to the program');
  };
  const reader = programAdapter(kind).reader({
    request,
    emit: (sign) => signs.push(sign),
    say: silent,
    hangUp: silent,
  });
  for (const chunk of bytes.stderr ?? []) reader.stderr(chunk);
  for (const chunk of bytes.stdout) reader.stdout(chunk);
  reader.end(bytes.exit ?? { code: 0, signal: null });
  return signs;
}

type Exits = Readonly<Record<string, { readonly code: number | null; readonly signal: string | null }>>;

export const exitsOf = (kind: AgentKind): Exits =>
  JSON.parse(readFileSync(join(CAPTURES, kind, 'exits.json'), 'utf8')) as Exits;

export const captureOf = (kind: AgentKind, name: string): Buffer => readFileSync(join(CAPTURES, kind, `${name}.jsonl`));

/** The signs of what a real program printed once. */
export function signsOfCapture(kind: AgentKind, name: string, request?: TurnRequest): AgentSign[] {
  const errors = join(CAPTURES, kind, `${name}.stderr.txt`);
  const exit = exitsOf(kind)[name];
  if (exit === undefined) throw new Error(`expected an exit of ${name} in exits.json, got none`);
  const stderr = existsSync(errors) ? [readFileSync(errors)] : [];
  return signsOf(kind, { stdout: [captureOf(kind, name)], stderr, exit }, request);
}

export const ofKind = <K extends AgentSign['kind']>(
  signs: readonly AgentSign[],
  kind: K,
): Extract<AgentSign, { kind: K }>[] => signs.filter((sign) => sign.kind === kind) as Extract<AgentSign, { kind: K }>[];
