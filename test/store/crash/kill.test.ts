/** A real process on a real disk, killed at fifty moments, and started again on what it left each time. */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { realDisk } from '../../../src/store/fs/disk.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { type Random, seeded } from '../../helpers/random.ts';
import { bundle } from './bundle.ts';
import { check } from './check.ts';
import { crashed, emptyLedger, enter, type Ledger, type Mark } from './ledger.ts';
import { nothingTold } from './retold.ts';
import { hasTree } from './tree-check.ts';

const KILLS = 50;
/** A new one each time; a failure tells it. */
const SEED = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000_000);

let folder: string;
let script: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'baton-kill-'));
  script = await bundle('kill-child.ts', folder);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs it until it has said so many lines, or, with none, for a moment that may end before it has begun. Its last words are all heard. */
function runAndKill(dir: string, seed: number, random: Random): Promise<Mark[]> {
  const child = spawn(process.execPath, [script, dir, String(seed)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = random.chance(0.15) ? 0 : 1 + random.below(120);
  let text = '';
  let heard = 0;
  let isDoomed = false;
  const kill = (after: number): void => {
    isDoomed = true;
    setTimeout(() => child.kill('SIGKILL'), after);
  };
  if (lines === 0) kill(random.below(200));
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    heard += piece.split('\n').length - 1;
    if (!isDoomed && heard >= lines) kill(random.below(8));
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal !== 'SIGKILL') return reject(new Error(`expected it to be killed, got exit ${code}`));
      // A line that the kill cut off was not said.
      const said = text.split('\n').slice(0, -1);
      resolve(said.map((line) => JSON.parse(line) as Mark));
    });
  });
}

async function checkRealDisk(dir: string, ledger: Ledger, random: Random): Promise<void> {
  crashed(ledger);
  await check({
    disk: realDisk,
    dir,
    ledger,
    enter: (mark) => enter(ledger, mark),
    open: () => openFsStore(dir, { snapshotEvery: 40 }),
    start: nothingTold(),
    random,
    hasTree: hasTree(realDisk, dir),
    hadPower: true,
  });
}

it(`survives ${KILLS} kills under load (seed ${SEED})`, { timeout: 300_000 }, async () => {
  const dir = join(folder, 'data');
  const random = seeded(SEED);
  const ledger = emptyLedger(Date.now());
  for (let kill = 1; kill <= KILLS; kill++) {
    for (const mark of await runAndKill(dir, SEED + kill, random)) enter(ledger, mark);
    if (kill % 10 === 0) await checkRealDisk(dir, ledger, random);
  }
  const changed = [...ledger.answered.values()].filter(({ kind }) => kind === 'changed');
  expect(changed.length).toBeGreaterThan(KILLS * 5);
  expect(ledger.asked.size).toBeGreaterThan(changed.length);
});
