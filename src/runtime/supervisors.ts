/** Whether whoever watched over a run is still there. */
import type { Supervisor } from '../core/task.ts';
import { isAlive } from '../process/identity.ts';
import type { Host } from './host.ts';

/** Nobody watches over it, or nobody can tell from here: then its lease decides. */
export const isUnwatched = (supervisor: Supervisor | null): boolean =>
  supervisor === null || isAlive(supervisor) === 'unsure';

/** Never by a guess: where it cannot be told, the lease decides, and the law asks for that. Nobody's is never gone. */
export function isSupervisorGone(host: Host, supervisor: Supervisor | null): boolean {
  if (supervisor === null) return false;
  if (supervisor.pid === host.supervisor.pid && supervisor.started === host.supervisor.started) return false;
  return isAlive(supervisor) === 'gone';
}
