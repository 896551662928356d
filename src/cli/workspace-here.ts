/** The folder that a new task is ordered for: this one, where it belongs to the data folder's project; else the project's own. */
import { realpathSync } from 'node:fs';
import { isBelow } from '../process/files.ts';
import { homeOf } from '../runtime/home-of.ts';

export function workspaceHere(dir: string): string {
  const [home, here] = [homeOf(realpathSync(dir)), realpathSync(process.cwd())];
  return isBelow(here, [home]) ? here : home;
}
