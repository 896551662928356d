/** Rollbacks of sessions that nobody is at any more: some of their files are back, others are not, until somebody completes them. */
import type { RollingBack } from '../core/session.ts';
import type { Store } from '../core/store.ts';
import { isAlive } from '../process/identity.ts';

/** Whether somebody is: its time is not over, and its process is there. */
export const isAtWork = ({ holder, until }: RollingBack, now: number): boolean =>
  until > now && holder != null && isAlive(holder) !== 'gone';

/** A sentence for each, with what completes it. */
export async function leftHalfBack(store: Store, now: number): Promise<readonly string[]> {
  return (await store.sessions()).flatMap(({ id, facts }) => {
    const under = facts?.['rollingBack'] as RollingBack | undefined;
    if (under === undefined || facts?.['endedAt'] !== undefined || isAtWork(under, now)) return [];
    return [
      `the rollback of ${id} to ${under.to} was stopped half-way; complete it in that session: #ROLLBACK:${under.to}`,
    ];
  });
}
