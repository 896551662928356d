/** `POST /v1/messages`: a text with messages of any dialect, into the router; and a session's final report. */
import { BatonError } from '../../core/errors.ts';
import { sessionReport } from '../../runtime/session.ts';
import { bodyBytes } from './body.ts';
import { queryOf, senderOf } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route, TEXT_TYPE } from './routes.ts';
import { MessagesQuery, ReportShape, RoutedShape } from './schemas.ts';

/** The body into the router, as its caller's. */
export const takeText: Route['handle'] = async ({ router }, call) => {
  const { as } = queryOf(MessagesQuery, call);
  const sender = senderOf(call.caller, 'http', as);
  return json(await router.take(await bodyBytes(call.request), sender));
};

export const messageRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/messages',
    summary: 'every message of a text, of any dialect, into the router; what became of each, in its order',
    access: 'run',
    query: MessagesQuery,
    takes: { [TEXT_TYPE]: null },
    answers: { [JSON_TYPE]: RoutedShape.array() },
    handle: takeText,
  },
  {
    method: 'get',
    path: '/v1/sessions/:id/report',
    summary: "a session's final report, as it stands now",
    access: 'person',
    answers: { [JSON_TYPE]: ReportShape },
    async handle({ host: { store, dir, config, now } }, call) {
      const session = call.param('id');
      const report = await sessionReport({ store, dir, session, auditPath: config.audit.storage_path, now: now() });
      if (report.totals.tasks > 0) return json(report);
      throw new BatonError('E_NOT_FOUND', `there is no session ${session}`, 'see: baton task list');
    },
  },
];
