/** Who can be spoken to and given work in a session. */
import type { SessionParts, Voice } from './call.ts';

export const ORCHESTRATOR = 'orchestrator';

/** Those of config, those that tasks of the session are for or were done by, those who have spoken, and who leads. */
export async function knownAgents({
  store,
  config,
  session,
  speaker,
}: Pick<SessionParts, 'store' | 'config'> & Pick<Voice, 'session' | 'speaker'>): Promise<ReadonlySet<string>> {
  const names = new Set([ORCHESTRATOR, speaker.agent, ...Object.keys(config.agents), ...Object.keys(config.teams)]);
  for await (const { routing, run } of store.tasks({ session })) {
    if (routing.agent !== null) names.add(routing.agent);
    if (run !== null) names.add(run.agent);
  }
  const { subscribers = {}, locks = {} } = (await store.session(session)) ?? {};
  for (const listeners of Object.values(subscribers)) for (const agent of listeners) names.add(agent);
  for (const { owner } of Object.values(locks)) names.add(owner);
  return names;
}
