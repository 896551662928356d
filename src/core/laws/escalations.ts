/** `#ESCALATE`: what somebody in a session puts before the people. It is a question in the inbox until a person answers or dismisses it. */
import { questionKey } from '../question.ts';
import { type Decision, refused } from './decision.ts';
import type { Draft } from './draft.ts';
import { ESCALATED } from './escalation-key.ts';
import type { SessionMessage } from './messages.ts';
import { freeId, openQuestion, writeNode } from './questions.ts';
import { begin, replied } from './session.ts';

type Escalating = Extract<SessionMessage, { type: 'session.escalate' }>;

/** Of one session, open at a time. */
const MOST_OPEN = 100;

export function escalate(draft: Draft, { session: id, text, task, speaker }: Escalating): Decision {
  begin(draft, id);
  const key = `${ESCALATED}${questionKey(text, [])}`;
  const open = [...draft.graph.openQuestions()].filter((one) => one.session === id && one.key.startsWith(ESCALATED));
  const same = open.find((one) => one.key === key);
  if (same !== undefined) return refused('E002', `in the inbox already: ${same.id}`);
  if (open.length >= MOST_OPEN) {
    return refused(
      'E003',
      `expected at most ${MOST_OPEN} open escalations in the session ${id}, and this would be one more`,
    );
  }
  const reason = `escalated by ${speaker.agent}`;
  const node = freeId(draft, 'uncertainty', 'escalation');
  const asking = { draft, task: null, run: speaker.run, session: id, handed: [] };
  writeNode(draft, {
    id: node,
    type: 'Uncertainty',
    outputType: 'uncertainty',
    createdBy: speaker.agent,
    confidence: 1,
    ready: false,
    domain: null,
    sources: [],
    asking,
    data: { uncertainty_source: reason, question: text, context: task ?? `session ${id}` },
    nextStage: 'user',
    requiredFields: ['resolution'],
  });
  const question = openQuestion(
    asking,
    {
      kind: 'uncertainty',
      question: text,
      options: [],
      reason,
      node,
      about: node,
      nextStage: null,
      requiredFields: [],
      optionalFields: [],
    },
    key,
  );
  draft.event('session.escalated', task ?? null, task === undefined ? speaker.run : null, {
    by: speaker.agent,
    text,
    question,
  });
  return draft.decision(id, [`node:${node}`, `question:${question}`, replied(`ack:${question}`)]);
}
