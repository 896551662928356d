/** Channels and letters (§12): `#BROADCAST`, `#SUBSCRIBE`, `#UNSUBSCRIBE`, `#DIRECT`. */
import { type Call, failed, type Handler, type Said } from '../call.ts';
import { knownAgents } from '../people.ts';
import { replyTo } from '../refusals.ts';

/** There without anybody having listened to them (§12). */
export const CHANNELS = ['file_changes', 'deploy_status', 'test_results', 'priority_alert'] as const;

export const broadcast: Handler = (call) => {
  const { params, session, speaker } = call;
  const [channel = '', text = ''] = params;
  return replyTo(call, { type: 'session.send', session, to: { channel }, text, speaker });
};

const listening =
  (on: boolean): Handler =>
  (call) => {
    const { params, session, speaker } = call;
    return replyTo(call, { type: 'session.subscribe', session, channel: params[0] ?? '', on, speaker });
  };

export const subscribe = listening(true);
export const unsubscribe = listening(false);

export async function direct(call: Call): Promise<Said> {
  const { params, session, speaker } = call;
  const [agent = '', text = ''] = params;
  const known = await knownAgents(call);
  if (!known.has(agent)) return failed('E002', `unknown_agent ${agent}`);
  return replyTo(call, { type: 'session.send', session, to: { agent }, text, speaker });
}
