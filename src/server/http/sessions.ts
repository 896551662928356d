/** `/v1/sessions`: the sessions there are, and a line of the session language said in one. A run sees its own and speaks in its own. */
import { BatonError } from '../../core/errors.ts';
import { sessionDetails, sessionsOf } from '../../session/overview.ts';
import { bodyText, fitting, parsedJson } from './body.ts';
import { type Api, type Call, senderOf } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route } from './routes.ts';
import { DoneShape, LineBody, SessionDetailsShape, SessionShape } from './schemas.ts';

export const sessionRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/sessions',
    summary: 'the sessions, the oldest first',
    access: 'person',
    answers: { [JSON_TYPE]: SessionShape.array() },
    handle: async ({ host: { store, now } }) => json(await sessionsOf(store, now())),
  },
  {
    method: 'get',
    path: '/v1/sessions/:id',
    summary: 'what a session remembers, and how its tasks stand; a run may ask for its own',
    access: 'run',
    answers: { [JSON_TYPE]: SessionDetailsShape },
    async handle(api, call) {
      const id = call.param('id');
      await refuseOthers(api, call, id);
      const found = await sessionDetails(api.host.store, id, api.host.now());
      if (found !== null) return json(found);
      throw new BatonError('E_NOT_FOUND', `there is no session ${id}`, 'see: baton session list');
    },
  },
  {
    method: 'post',
    path: '/v1/sessions/:id/do',
    summary: 'one line of the session language; what a #COMMAND answers, #ERROR among it, is the reply',
    access: 'run',
    takes: { [JSON_TYPE]: LineBody },
    answers: { [JSON_TYPE]: DoneShape },
    handle: say,
  },
];

async function say(api: Api, call: Call): Promise<Response> {
  const { line, as, dryRun } = fitting(LineBody, parsedJson(await bodyText(call.request)), 'body');
  const door = api.doorFor(senderOf(call.caller, 'http', as));
  const ask = { line, session: call.param('id'), ...(dryRun === undefined ? {} : { dryRun }) };
  // A #WAIT may say nothing for long; it ends when nobody waits for its answer any more.
  call.outgoing?.setTimeout(0);
  const gone = AbortSignal.any([call.request.signal, api.stopping]);
  const { reply, commands, clarify } = await door.do(ask, gone);
  return json({ reply, commands, clarify });
}

/** A run sees the session that it is of. */
async function refuseOthers({ host }: Api, { caller }: Call, id: string): Promise<void> {
  if (caller.kind === 'person') return;
  const own = (await host.store.find(caller.task))?.session;
  if (own === id) return;
  throw new BatonError('E_PERMISSION_DENIED', `expected a run to ask for its own session ${own}, got ${id}`);
}
