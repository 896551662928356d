/** Channels and letters (§12): `#BROADCAST`, `#SUBSCRIBE`, `#UNSUBSCRIBE`, `#DIRECT`. */
import { nearest } from '../../core/config.ts';
import { exceedsTokens } from '../../protocol/command/index.ts';
import { type Call, failed, form, type Handler, type Said } from '../call.ts';
import { knownAgents } from '../people.ts';
import { ask, replyTo } from '../refusals.ts';

/** There without anybody having listened to them (§12); `feed.ts` tells on them what happens. */
export const CHANNELS = ['file_changes', 'deploy_status', 'test_results', 'priority_alert'] as const;

/** The channel of a few agents that work together. */
export const channelFor = (agents: readonly string[]): string => agents.join('-').toLowerCase().slice(0, 80);

const isBuiltInChannel = (channel: string): boolean => (CHANNELS as readonly string[]).includes(channel);

/** To everybody of the session; on a channel that `#COORDINATE` made for a few, to those. */
export const broadcast: Handler = async (call) => {
  const { params, session, speaker, store } = call;
  const [channel = '', words = ''] = params;
  const members = (await store.session(session))?.subscribers?.[channel] ?? [];
  const everyone = members.length < 2 || channelFor(members) !== channel;
  return replyTo(call, { type: 'session.send', session, to: { channel, everyone }, text: words, speaker });
};

/** Five tokens are the most that an acknowledgement has: where the channel's name does not fit, it goes without it. */
const ACKNOWLEDGEMENT_TOKENS = 5;

const listening =
  (on: boolean): Handler =>
  async (call) => {
    const { params, session, speaker, countTokens } = call;
    const [channel = ''] = params;
    const answer = await ask(call, { type: 'session.subscribe', session, channel, on, speaker });
    if ('said' in answer) return answer.said;
    const done = on ? 'subscribed' : 'unsubscribed';
    const short = answer.kind === 'same' ? `already_${done}` : done;
    const reply = `${short}:${channel}`;
    // Those that everybody uses are known to fit, without a vocabulary being loaded for it.
    const isLong =
      !(on && short === done && isBuiltInChannel(channel)) && exceedsTokens(reply, ACKNOWLEDGEMENT_TOKENS, countTokens);
    return form(isLong ? short : reply);
  };

export const subscribe = listening(true);
export const unsubscribe = listening(false);

export async function direct(call: Call): Promise<Said> {
  const { params, session, speaker, config } = call;
  const [agent = '', words = ''] = params;
  const known = await knownAgents(call);
  if (!known.has(agent)) return failed('E002', `unknown_agent ${agent}, nearest ${nearest(agent, [...known])}`);
  const team = config.teams[agent];
  if (team === undefined) return replyTo(call, { type: 'session.send', session, to: { agent }, text: words, speaker });
  // A team has no mailbox; those who are in it have.
  for (const member of team) {
    const answer = await ask(call, { type: 'session.send', session, to: { agent: member }, text: words, speaker });
    if ('said' in answer) return answer.said;
  }
  return form(`sent:${team.length}`);
}
