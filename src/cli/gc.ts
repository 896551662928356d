/** `baton gc`: removes what nothing needs any more, and says of each that stays why. */
import { BatonError } from '../core/errors.ts';
import { type Collected, collect } from '../runtime/gc.ts';
import { homeOf } from '../runtime/home-of.ts';
import { actorOf } from './caller.ts';
import type { Globals } from './globals.ts';
import { note, print, printJson } from './io.ts';
import { dim } from './style.ts';
import { oneLine } from './text.ts';
import { reading } from './with-store.ts';

interface Options extends Globals {
  readonly keep: number;
  readonly dryRun?: boolean;
}

export async function gc({ keep, dryRun = false, ...globals }: Options): Promise<void> {
  await reading(globals, async (store, dir) => {
    const by = await actorOf(store);
    if (by.kind !== 'person')
      throw new BatonError('E_PERMISSION_DENIED', `expected a person to remove logs and worktrees, got ${by.name}`);
    const found = await collect({ store, dir, workspace: homeOf(dir), by, keepDays: keep, dryRun, now: Date.now() });
    if (globals.json) printJson({ removed: found.removed.map(({ path }) => path), kept: found.kept });
    else print(describe(found));
    if (dryRun && !globals.json) note('baton: nothing was removed (--dry-run)');
  });
}

function describe({ removed, kept }: Collected): string {
  const bytes = removed.reduce((sum, one) => sum + one.bytes, 0);
  return [
    ...removed.map(({ path, bytes: size }) => `removed  ${oneLine(path)}  ${dim(sizeText(size))}`),
    ...kept.map(({ path, because }) => `kept     ${oneLine(path)}  ${dim(oneLine(because))}`),
    `removed ${removed.length} (${sizeText(bytes)}), kept ${kept.length}`,
  ].join('\n');
}

function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : bytes < 1e9 ? [bytes / 1e6, 'MB'] : [bytes / 1e9, 'GB'];
  return `${size.toFixed(1)} ${unit}`;
}
