/** `#COORDINATE`: agents that are to work on something together. */
import { type Call, failed, type Said, text } from '../call.ts';
import { whom } from '../lookup.ts';
import { ask } from '../refusals.ts';
import { channelFor } from './mail.ts';

/** They get a channel of their own, and a letter that says so. */
export async function coordinate(call: Call): Promise<Said> {
  const { params, session, speaker } = call;
  const members: string[] = [];
  let subject = '';
  for (const [i, named] of params.entries()) {
    const found = await whom(call, named);
    // Behind two agents the last may say what it is about.
    if ('said' in found && i === params.length - 1 && new Set(members).size > 1) subject = ` on ${named}`;
    else if ('said' in found) return found.said;
    else members.push(...found.members);
  }
  if (members.length > 0 && new Set(members).size < 2) members.push(speaker.agent);
  const agents = [...new Set(members)];
  if (agents.length < 2) return failed('E002', 'expected agents, got none');
  const channel = channelFor(agents);
  for (const agent of agents) {
    const joined = await ask(call, {
      type: 'session.subscribe',
      session,
      channel,
      on: true,
      speaker: { ...speaker, agent, run: null },
    });
    if ('said' in joined) return joined.said;
  }
  const words = `coordinate with ${agents.join(', ')}${subject}, channel ${channel}`;
  for (const agent of agents.filter((one) => one !== speaker.agent)) {
    const told = await ask(call, { type: 'session.send', session, to: { agent }, text: words, speaker });
    if ('said' in told) return told.said;
  }
  return text(`${agents.join(', ')} → ${channel}`);
}
