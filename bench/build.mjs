// What the package does not hand out (the runtime, the session language) file by file in bench/build, to be measured from inside.
import { spawnSync } from 'node:child_process';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '..');
const OUT = join(import.meta.dirname, 'build');

export function buildRooms() {
  rmSync(OUT, { recursive: true, force: true });
  const tsc = join(ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [tsc, '-p', join(import.meta.dirname, 'tsconfig.json')], {
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error(`bench/build could not be made: tsc ended with ${status}`);
  copyFileSync(join(ROOT, 'src', 'process', 'relay.mjs'), join(OUT, 'process', 'relay.mjs'));
}
