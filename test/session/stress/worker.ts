/**
 * One of several processes around one data folder, with many agents in it that all want the same few locks. Whoever has one makes a file that
 * nobody else may have made, and adds one to a number: two owners at a time would be seen by the one, or by the other.
 */
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_CONFIG } from '../../../src/core/config.ts';
import { createInterpreter } from '../../../src/session/interpreter.ts';
import { openStore } from '../../../src/store/open.ts';
import type { Seen, WorkerOptions } from './run.ts';

const { dir, proof, number, agents, locks, seconds } = JSON.parse(process.argv[2] ?? '') as WorkerOptions;

const store = await openStore(dir);
const interpreter = createInterpreter({
  store,
  config: DEFAULT_CONFIG,
  dir,
  workspace: proof,
  now: Date.now,
  countTokens: (text) => text.length / 4,
  warn: (text) => process.send?.({ problem: text }),
  askAgent: null,
});
const seen: Seen[] = [];
const problems: string[] = [];
const counts: Record<string, number> = {};
const until = Date.now() + seconds * 1000;

async function work(agent: string, index: number): Promise<void> {
  const priority = (['P1', 'P2', 'P2', 'P3'] as const)[index % 4] ?? 'P2';
  const voice = {
    session: 'stress',
    speaker: { agent, run: null, priority, leads: false },
    actor: { kind: 'agent', name: agent } as const,
  };
  const say = async (line: string): Promise<string> => (await interpreter.do(line, voice)).reply;
  for (let turn = index; Date.now() < until; turn += 7) {
    const lock = `lock_${turn % locks}`;
    const since = Date.now();
    let reply = await say(`#LOCK:${lock}:60`);
    let hasWaited = false;
    while (reply !== 'locked') {
      if (!reply.startsWith('busy:')) return void problems.push(`${agent} ${lock}: ${reply}`);
      hasWaited = true;
      const waited = await say(`#WAIT:${lock}:120`);
      if (waited !== 'ready') return void problems.push(`${agent} waits for ${lock}: ${waited}`);
      reply = await say(`#LOCK:${lock}:60`);
    }
    const from = Date.now();
    await owned(agent, lock);
    const to = Date.now();
    const given = await say(`#UNLOCK:${lock}`);
    if (given !== 'unlocked') problems.push(`${agent} gives ${lock} back: ${given}`);
    seen.push({ lock, agent, since, from, to, freed: Date.now(), hasWaited });
  }
}

async function owned(agent: string, lock: string): Promise<void> {
  const mark = join(proof, lock);
  const counter = join(proof, `${lock}.count`);
  try {
    closeSync(openSync(mark, 'wx'));
  } catch {
    problems.push(`${agent} has ${lock}, and so has somebody else`);
    return;
  }
  const before = Number(readFileSync(counter, 'utf8'));
  await sleep(Math.random() * 3);
  writeFileSync(counter, String(before + 1));
  counts[lock] = (counts[lock] ?? 0) + 1;
  unlinkSync(mark);
}

await Promise.all(Array.from({ length: agents }, (_, i) => work(`agent_${number}_${i}`, number * agents + i)));
await store.close();
process.send?.({ seen, problems, counts }, () => process.disconnect());
