/** `GET /v1/events`: the journal as server-sent events, from where a reader left off. */
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import type { EventJson } from '../../core/task-json.ts';
import { createAop2Events } from '../../runtime/events/as-aop2.ts';
import { findTask } from '../../runtime/lookup.ts';
import { type Api, type Call, mayReach, queryOf, reachedTask, stream } from './call.ts';
import { HEARTBEAT_MS, type Place } from './feed.ts';
import { type Route, SSE_TYPE } from './routes.ts';
import { EventShape, EventsQuery } from './schemas.ts';

export const eventRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/events',
    summary: 'every event as it happens, each once and in order, as server-sent events',
    access: 'run',
    query: EventsQuery,
    headers: { 'Last-Event-ID': 'the id of the last event that was seen, or the number of a record' },
    answers: { [SSE_TYPE]: EventShape },
    async handle(api, call) {
      const query = queryOf(EventsQuery, call);
      const place = placeOf(call.request.headers.get('last-event-id') ?? query.after ?? null);
      const task = query.task === undefined ? null : (await reachedTask(api, call, query.task)).id;
      const isWanted = filter(api, call, task, query.session ?? null);
      const write = query.as === undefined ? asIs : asAop2(api);
      return stream(api, call, SSE_TYPE, (until) => frames(api, place, isWanted, write, until));
    },
  },
];

/** `17` is after all of record 17; `17-1` after its second event. */
function placeOf(id: string | null): Place | null {
  if (id === null || id === '') return null;
  const found = /^(\d{1,15})(?:-(\d{1,9}))?$/.exec(id);
  if (found === null)
    throw new BatonError('E_SCHEMA_VALIDATION', `expected the id of an event as Last-Event-ID, got ${id}`);
  const seq = Number(found[1]);
  return found[2] === undefined ? { seq, skip: 0 } : { seq: seq - 1, skip: Number(found[2]) + 1 };
}

type Filter = (event: EventJson) => boolean | Promise<boolean>;

function filter({ host }: Api, { caller }: Call, task: string | null, session: string | null): Filter {
  const isAsked = (event: EventJson): boolean =>
    (task === null || event.task === task) && (session === null || event.session === session);
  if (caller.kind === 'person') return isAsked;
  /** Whose child a task is never changes. */
  const reached = new Map<string, boolean>();
  return async (event) => {
    if (!isAsked(event) || event.task === null) return false;
    const known = reached.get(event.task);
    if (known !== undefined) return known;
    const may = mayReach(caller, await findTask(host.store, event.task));
    reached.set(event.task, may);
    return may;
  };
}

type Write = (event: EventJson, frame: string) => string | Promise<string>;

const asIs: Write = (_event, frame) => frame;

/** The EVENT of the orchestration protocol, under the id that the event has; nothing where there is none. */
function asAop2({ host }: Api): Write {
  const auditPath = join(host.dir, host.config.audit.storage_path);
  const events = createAop2Events({ store: host.store, auditPath });
  return async (event) => {
    const message = await events.take(event);
    return message === null ? '' : `id: ${event.id}\ndata: ${JSON.stringify(message)}\n\n`;
  };
}

async function* frames(
  { feed, host }: Api,
  place: Place | null,
  isWanted: Filter,
  write: Write,
  until: AbortSignal,
): AsyncGenerator<string> {
  const from = place ?? { seq: await feed.lastRecord(), skip: 0 };
  // A reader that is cut off before anything happened knows by this where it was.
  yield `retry: 1000\nid: ${from.skip === 0 ? from.seq : `${from.seq + 1}-${from.skip - 1}`}\n\n`;
  let { skip } = from;
  let saidAt = host.now();
  for await (const records of feed.after(from.seq, until)) {
    let text = '';
    for (const { seq, told } of records) {
      for (const { event, frame } of told) {
        if (seq === from.seq + 1 && skip > 0) skip--;
        else if (await isWanted(event)) text += await write(event, frame);
      }
    }
    // Much may happen that is not for this reader.
    if (text === '' && records.length > 0 && host.now() - saidAt < HEARTBEAT_MS) continue;
    yield text === '' ? ': still here\n\n' : text;
    saidAt = host.now();
  }
}
