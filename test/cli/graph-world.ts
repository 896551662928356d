/** A folder with a graph, new for each test, and what the tests of `baton graph` ask of it. Whoever imports this has such a folder. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect } from 'vitest';
import { detect } from '../../src/protocol/detect.ts';
import { fixture, type Ran } from './baton.ts';
import { batonHere } from './here.ts';

export type Json = Record<string, unknown>;
export type N = { node_id: string; metadata: Json; data: Json; handoff: Json; lineage: Json } & Json;

export let dir: string;
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'baton graph ')));
  mkdirSync(join(dir, '.baton'));
  writeFileSync(join(dir, '.baton/config.yaml'), CONFIG);
  writeFileSync(join(dir, 'emma.sh'), '#!/bin/sh\n', { mode: 0o755 });
});
afterEach(() => rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 }));

export const CONFIG = `agents:
  emma: { kind: command, command: ["./emma.sh"] }
defaults: { sandbox: "off" }
stages: { implementation-triad: { agent: emma }, test-engineer: emma }
node_types: { ReleaseNote: [version, highlights] }
`;

export const graph = (args: readonly string[], input = ''): Promise<Ran> => batonHere(['graph', ...args], input, dir);
export const add = (text: string, ...options: string[]): Promise<Ran> => graph(['add', '-', ...options], text);
export const show = async (id: string): Promise<N> => (await graph(['show', id, '--json'])).json() as N;
export const list = async (...options: string[]): Promise<string[]> =>
  (JSON.parse((await graph(['list', '--json', ...options])).out) as N[]).map(({ node_id: id }) => id);

export const BUG = 'bug_login_500_20251028_103045';
export const FIX = 'implementation_bug_fix_20251028_140000';
export const bug = readFileSync(fixture('output-bug-node.yaml'), 'utf8');

/** A node as a block; `more` are lines of YAML. */
export const block = (id: string, type = 'ADR', more = ''): string => `[GRAPH_UPDATE]
type: add_node
node_id: ${id}
node_type: ${type}
metadata: { created_by: architect, confidence: 0.95, created_at: "2025-10-28T10:30:45Z", domain: software-development, output_type: analysis }
data: { title: ${id}, context: c, decision: d, rationale: r, summary: s, code_changes: [], files_modified: [] }
handoff: { ready_for_next: true }
${more || 'lineage: {}'}
[/GRAPH_UPDATE]
`;
export const from = (...ids: string[]): string => `lineage: { created_from_nodes: [${ids.join(', ')}] }`;

/** What a text says in one of its messages. */
export const valueIn = (text: string, index: number): Json => (detect(text)[index]?.value ?? {}) as Json;

/** Holds all that was written, key by key; null counts as not written. */
export function expectWithin(written: unknown, kept: unknown, path = ''): void {
  if (written === null) return;
  if (typeof written !== 'object' || Array.isArray(written)) expect([path, kept]).toEqual([path, written]);
  else
    for (const [key, value] of Object.entries(written as Json))
      expectWithin(value, (kept as Json)?.[key], `${path}/${key}`);
}
