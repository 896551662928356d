/** What the commands use of the runtime. */

export { madeEnvelope, OPEN } from './envelope.ts';
export { type Host, type Live, openHost } from './host.ts';
export { writeJoined } from './joined-file.ts';
export { prepare } from './prepare.ts';
export { finishRollback, recover } from './recovery.ts';
export { workOn } from './scheduler.ts';
export { endSession, kept } from './session.ts';
export { judgeClaims } from './taking.ts';
export { mergeLinked } from './worktrees/linked.ts';
export { mergeWork } from './worktrees/merge-work.ts';
