/** Who acts, as it stands in records. */
import { BatonError } from '../core/errors.ts';
import type { Actor } from '../core/laws/messages.ts';

export const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export const agentActor = (name: string): Actor => ({ kind: 'agent', name });

/** It stands in records, in answers and in other agents' prompts: nothing in it that a terminal would act upon, or that cannot be seen. */
const NAME_FORM = /^[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}]{1,256}$/u;

/** A person who speaks for an agent. */
export function speakingAs(actor: Actor, agent: string): { readonly agent: string; readonly actor: Actor } {
  if (!NAME_FORM.test(agent) || agent.trim() !== agent) {
    throw new BatonError(
      'E_USAGE',
      "expected an agent's name of 1 to 256 characters to speak as, none of them a control character and no blanks around it, got another",
    );
  }
  return { agent, actor: { kind: actor.kind, name: `user as ${agent}` } };
}
