/** The door of a run that has left its socket aside and opened the data folder: it may do no more here than over that. */
import type { Store } from '../core/store.ts';
import { openDoor } from '../runtime/door.ts';
import type { Door, Sender } from '../runtime/doors.ts';
import { homeOf } from '../runtime/home-of.ts';
import { createLiveRuns } from '../runtime/live-runs.ts';
import { createRouter } from '../runtime/router.ts';
import { readConfig } from './config-file.ts';

export function doorOn(store: Store, dir: string, sender: Sender): Door {
  const parts = { store, dir, config: readConfig(dir), now: Date.now, workspace: homeOf(dir) };
  return openDoor({ ...parts, router: createRouter({ ...parts, runs: createLiveRuns() }), sender });
}
