/** The events of the journal as a stream of aop2 EVENTs: `baton events --as aop2`, `GET /v1/events?as=aop2` and the audit trail. */
import { createSessionReport } from '../../core/session-report.ts';
import type { Store } from '../../core/store.ts';
import type { EventJson } from '../../core/task-json.ts';
import { parseTime } from '../../core/time.ts';
import { type EventMessage, type EventSubject, toAop2Event } from '../../protocol/aop2/index.ts';

interface Aop2Events {
  /** The EVENT that the contract has for this event; null where it has none. Events have to come in their order. */
  take(event: EventJson): Promise<EventMessage | null>;
}

interface Options {
  readonly store: Store;
  /** Where the audit trail is, for the final reports. */
  readonly auditPath: string;
}

interface KnownRun {
  agent: string;
  progress: { percentage?: number; phase?: string; checkpoint?: string };
}

export function createAop2Events({ store, auditPath }: Options): Aop2Events {
  const runs = new Map<string, KnownRun>();
  const names = new Map<string, string>();

  /** An id never changes; it is looked up once. */
  const nameOf = async (id: string): Promise<string> => {
    const known = names.get(id);
    if (known !== undefined) return known;
    const name = (await store.find(id))?.externalId ?? id;
    names.set(id, name);
    return name;
  };

  const runOf = async ({ run, task }: EventJson): Promise<KnownRun | null> => {
    if (run === null) return null;
    const known = runs.get(run);
    if (known !== undefined) return known;
    const found = task === null ? undefined : await store.find(task);
    const made: KnownRun = { agent: found?.run?.agent ?? found?.routing.agent ?? 'unknown', progress: {} };
    runs.set(run, made);
    return made;
  };

  return {
    async take(event) {
      if (event.type === 'session.ended') return finalReport(store, event, auditPath);
      const run = await runOf(event);
      if (run !== null) learn(run, event);
      const subject: EventSubject = {
        taskId: event.task === null ? null : await nameOf(event.task),
        agent: run?.agent ?? 'unknown',
        progress: run?.progress ?? {},
      };
      return toAop2Event(event, subject);
    },
  };
}

/** Who does a run, and how far it is, as far as the events say so. */
function learn(run: KnownRun, { detail }: EventJson): void {
  const { agent, percentage, phase, checkpoint } = detail;
  if (typeof agent === 'string' && agent !== '') run.agent = agent;
  if (typeof percentage === 'number') run.progress.percentage = percentage;
  if (typeof checkpoint === 'string') run.progress.checkpoint = checkpoint;
  if (typeof phase !== 'string') return;
  // The checkpoints of another phase are not where it is now.
  if (phase !== run.progress.phase && typeof checkpoint !== 'string') delete run.progress.checkpoint;
  run.progress.phase = phase;
}

/** The report as it was when the session ended, not as it is now. */
async function finalReport(
  store: Store,
  { session, seq, at, id }: EventJson,
  auditPath: string,
): Promise<EventMessage> {
  const report = createSessionReport(session);
  for await (const record of store.eventsAfter({ after: 0, session })) {
    if (record.seq > seq) break;
    report.take(record);
  }
  return { ...report.finish(parseTime(at), { auditPath }), extensions: { x_event_id: id } } as EventMessage;
}
