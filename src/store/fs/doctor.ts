/** What is wrong with a data folder, and mending it: also where it is so broken that it does not open. */
import type { Check } from '../../core/store.ts';
import { openStore } from '../open.ts';
import { realDisk } from './disk.ts';
import { storeFailure } from './failures.ts';
import { layoutOf } from './layout.ts';

/** What is wrong keeps its sentence; with `fix`, what can be mended is. */
export async function examine(
  dir: string,
  { fix = false }: { readonly fix?: boolean } = {},
): Promise<readonly Check[]> {
  const before: Check[] = [];
  if (fix) before.push(...putMarkerAside(dir));
  try {
    const store = await openStore(dir, { create: fix, repair: fix });
    try {
      return [...before, { name: 'data folder', ok: true, detail: dir }, ...(await store.examine())];
    } finally {
      await store.close();
    }
  } catch (cause) {
    const { message, code, hint } = storeFailure(cause, dir);
    const advice = hint === null ? '' : `; ${hint}`;
    return [...before, { name: 'data folder', ok: false, detail: `${message} (${code})${advice}` }];
  }
}

/** A marker that cannot be read is kept under another name, and a new one is written. */
function putMarkerAside(dir: string): Check[] {
  const { marker } = layoutOf(dir);
  const bytes = realDisk.read(marker);
  if (bytes === null || isJson(bytes)) return [];
  realDisk.rename(marker, `${marker}.unreadable`);
  return [{ name: 'marker', ok: true, detail: `${marker} could not be read; it is now ${marker}.unreadable` }];
}

function isJson(bytes: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder().decode(bytes));
    return true;
  } catch {
    return false;
  }
}
