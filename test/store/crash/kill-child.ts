/** A process at work on a data folder until it is killed: tells on stdout what it asks and what it is answered, a line each. */
import { writeSync } from 'node:fs';
import { realDisk } from '../../../src/store/fs/disk.ts';
import { layoutOf } from '../../../src/store/fs/layout.ts';
import { makeFolder } from '../../../src/store/fs/marker.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { seeded } from '../../helpers/random.ts';
import type { Mark } from './ledger.ts';
import { work } from './workload.ts';

const [dir = '', seed = '0'] = process.argv.slice(2);

/** At once, and not when there is time: what is said is said before anything else happens. */
function enter(mark: Mark): void {
  const line = Buffer.from(`${JSON.stringify(mark)}\n`);
  for (let at = 0; at < line.length; ) at += writeSync(1, line, at);
}

await work({
  random: seeded(Number(seed)),
  asks: Number.POSITIVE_INFINITY,
  mostTasks: Number.POSITIVE_INFINITY,
  name: `k${seed}`,
  clock: { now: Date.now() },
  enter,
  open: async () => {
    makeFolder(realDisk, layoutOf(dir), 'secret');
    return openFsStore(dir, { snapshotEvery: 40 });
  },
});
