/** `/v1/inbox`: what waits for a person, and the person's answers. A run that answers is refused, and that is written down. */
import { agentActor } from '../../runtime/actor.ts';
import { answeredJson, answerQuestion, type PersonsWord } from '../../runtime/answers.ts';
import { answerParts } from '../../runtime/host-answers.ts';
import { waitingFor } from '../../runtime/people-inbox.ts';
import { bodyText, fitting, parsedJson } from './body.ts';
import { type Api, type Call, personOf, queryOf } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route } from './routes.ts';
import { AnswerBody, AnsweredShape, InboxItemShape, InboxQuery } from './schemas.ts';

export const inboxRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/inbox',
    summary: 'what waits for a person, the oldest first',
    access: 'person',
    query: InboxQuery,
    answers: { [JSON_TYPE]: InboxItemShape.array() },
    handle: async ({ host }, call) => json(await waitingFor(host.store, queryOf(InboxQuery, call).session)),
  },
  {
    method: 'post',
    path: '/v1/inbox/:id/answer',
    summary: "a person's answer, by the item's id, its node or its task; a run's is refused and written down",
    // Closed to runs all the same: the law and we say no, and who tried is recorded.
    access: 'run',
    takes: { [JSON_TYPE]: AnswerBody },
    answers: { [JSON_TYPE]: AnsweredShape },
    handle: answer,
  },
];

async function answer({ host }: Api, call: Call): Promise<Response> {
  const { caller } = call;
  const { status, text, comment, next } = fitting(AnswerBody, parsedJson(await bodyText(call.request)), 'body');
  const word: PersonsWord = {
    id: call.param('id'),
    status,
    ...(text === undefined ? {} : { text }),
    ...(comment === undefined ? {} : { comment }),
    ...(next === undefined ? {} : { next }),
  };
  const by = caller.kind === 'run' ? agentActor(caller.agent) : personOf(caller);
  return json(answeredJson(await answerQuestion(answerParts(host), word, by)));
}
