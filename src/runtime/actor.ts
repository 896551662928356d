/** Baton itself, as it stands in records. */
import type { Actor } from '../core/laws/messages.ts';

export const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export const agentActor = (name: string): Actor => ({ kind: 'agent', name });
