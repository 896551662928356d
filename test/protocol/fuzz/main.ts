/** `npm run fuzz`: fuzzes for some minutes, keeps what it finds in a folder, and says how it went. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Finding, fuzz } from './fuzz.ts';

export interface Asked {
  readonly minutes: number;
  readonly seed: number;
  /** The folder `test/fixtures/`. */
  readonly fixtures: URL;
}

/** Of one kind, more than these say nothing new. */
const MOST_OF_A_KIND = 3;
const EVERY_MS = 30_000;

export function main({ minutes, seed, fixtures }: Asked): number {
  const began = Date.now();
  const kinds = new Map<string, number>();
  let told = began;
  let settled = 0;
  const count = fuzz({
    seed,
    fixtures,
    timed: true,
    goesOn(done) {
      if (done === 2000) settled = heap();
      if (Date.now() - told > EVERY_MS) {
        told = Date.now();
        console.log(`${done} texts, ${Math.round((told - began) / 1000)} s, ${total(kinds)} findings`);
      }
      return Date.now() - began < minutes * 60_000;
    },
    onFound(finding) {
      const kind = finding.why.slice(0, 25);
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      if ((kinds.get(kind) ?? 0) <= MOST_OF_A_KIND) console.log(`${finding.why}\n  kept in ${keep(finding, fixtures)}`);
    },
  });
  const grown = settled === 0 ? 0 : heap() - settled;
  console.log(`${count} texts from seed ${seed}, ${total(kinds)} findings; memory grew by ${grown} MB`);
  return kinds.size === 0 ? 0 : 1;
}

const total = (kinds: ReadonlyMap<string, number>): number => [...kinds.values()].reduce((sum, n) => sum + n, 0);

function heap(): number {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1_048_576);
}

function keep(finding: Finding, fixtures: URL): string {
  const text = `${JSON.stringify(finding, null, 2)}\n`;
  const name = `${createHash('sha256').update(text).digest('hex').slice(0, 12)}.found.json`;
  const path = join(fileURLToPath(new URL('found/', fixtures)), name);
  writeFileSync(path, text);
  return path;
}
