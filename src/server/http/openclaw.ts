/**
 * `POST /v1/openclaw/events`: what an OpenClaw gateway tells its plugins. A message that is ours goes to the router, any other is passed by; the end
 * of a session is the end of the runs that were its own, and of no others: what they left as their result is taken as their report.
 */
import { join } from 'node:path';
import { type Fields, isFields } from '../../core/fields.ts';
import type { Run, Task } from '../../core/task.ts';
import { isoTime } from '../../core/time.ts';
import { readRunFile } from '../../protocol/aof/run-files.ts';
import { detect } from '../../protocol/detect.ts';
import { agentActor } from '../../runtime/actor.ts';
import type { Routed, Sender } from '../../runtime/doors.ts';
import { openInside } from '../../runtime/inside.ts';
import { isOwnResult } from '../../runtime/run-result.ts';
import { bodyText, fitting, parsedJson } from './body.ts';
import { type Api, refuseUnsure } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route } from './routes.ts';
import { OpenClawBody, RoutedShape } from './schemas.ts';

export const openclawRoutes: readonly Route[] = [
  {
    method: 'post',
    path: '/v1/openclaw/events',
    summary: "OpenClaw's message_received and session_end, as its plugins are told of them",
    access: 'person',
    takes: { [JSON_TYPE]: OpenClawBody },
    answers: { [JSON_TYPE]: RoutedShape.array() },
    async handle(api, { request, caller }) {
      if (caller.kind === 'person' && caller.isUnsure === true) refuseUnsure("an agent's words");
      const { type, event, context = {} } = fitting(OpenClawBody, parsedJson(await bodyText(request)), 'body');
      return json(type === 'message_received' ? await received(api, event, context) : await ended(api, event, context));
    },
  },
];

const IGNORED: Routed = { result: 'ignored', reason: null, task: null, events: [] };

async function received(api: Api, event: Fields, context: Fields): Promise<readonly Routed[]> {
  const text = ours(event);
  if (text === null) return [IGNORED];
  return api.router.take(text, await senderIn(api, event, context));
}

/** aof: an object that says so, else a content that is JSON or begins with `AOF/1 `. In a chat, all else is talk. */
function ours(event: Fields): string | null {
  const { metadata, content } = event;
  const objects = [event, event['payload'], event['message'], content, isFields(metadata) ? metadata['payload'] : null];
  const parsed = objects.find((value) => isFields(value) && value['protocol'] === 'aof');
  if (parsed !== undefined) return JSON.stringify(parsed);
  if (typeof content !== 'string') return null;
  const said = content.trim();
  if (said.startsWith('AOF/1 ') || /^\{[\s\S]*"protocol"\s*:\s*"aof"/.test(said)) return said;
  if (!said.startsWith('{')) return null;
  const found = detect(said);
  return found.length > 0 && found.every(({ dialect }) => dialect === 'aof') ? said : null;
}

/** Who speaks is who the gateway says it is: the session that a run of ours began, else the gateway's agent. Never a person. */
async function senderIn(api: Api, event: Fields, context: Fields): Promise<Sender> {
  const keys = keysIn(event, context);
  for await (const { run } of ownRuns(api, keys)) return senderOfRun(run);
  const agent = nameOf(api, agentIn(keys, context));
  return { channel: 'openclaw', run: null, agent, actor: agentActor(agent) };
}

const senderOfRun = (run: Run): Sender => ({
  channel: 'openclaw',
  // A session goes on when the run that began it has long been answered; then it speaks as the agent that has the task.
  run: run.status === 'running' ? run.id : null,
  agent: run.agent,
  actor: agentActor(run.agent),
});

const KEYS = ['sessionKey', 'sessionId', 'conversationId', 'childSessionKey'];

const keysIn = (...places: readonly Fields[]): string[] =>
  places
    .flatMap((place) => KEYS.map((key) => place[key]))
    .filter((key) => typeof key === 'string' && key !== '') as string[];

/** A session's key begins with its agent: `agent:swe-backend:…`. */
function agentIn(keys: readonly string[], { agentId }: Fields): string {
  if (typeof agentId === 'string' && agentId !== '') return agentId;
  return keys.map((key) => /^agent:([^:]+):/.exec(key)?.[1]).find((name) => name !== undefined) ?? 'unknown';
}

/** The name that config has for the gateway's agent. One that has none is nobody's name here. */
function nameOf({ host }: Api, id: string): string {
  const claws = Object.entries(host.config.agents).filter(([, { kind }]) => kind === 'openclaw');
  const found =
    claws.find(([, { args }]) => args[0] === id) ?? claws.find(([name, { args }]) => name === id && args.length === 0);
  return found?.[0] ?? `openclaw:${id}`;
}

/** The runs that a session is the conversation of; of tasks that something can still happen to. */
async function* ownRuns(
  { host }: Api,
  keys: readonly string[],
): AsyncGenerator<{ readonly task: Task; readonly run: Run }> {
  if (keys.length === 0) return;
  for await (const task of host.store.tasks({ status: ['in-progress', 'review', 'blocked', 'ready'] })) {
    const { run } = task;
    if (run === null || host.config.agents[run.agent]?.kind !== 'openclaw') continue;
    const isOwn = (await host.store.history(task.id)).some(({ events }) =>
      events.some(
        ({ type, run: of, detail }) =>
          type === 'run.conversation' && of === run.id && keys.includes(String(detail?.['id'])),
      ),
    );
    if (isOwn) yield { task, run };
  }
}

async function ended(api: Api, event: Fields, context: Fields): Promise<readonly Routed[]> {
  const routed: Routed[] = [];
  for await (const { task, run } of ownRuns(api, keysIn(event, context))) {
    // One that was taken from it is another's business now.
    if (run.status !== 'running' && run.status !== 'completed') continue;
    const report = await reportOf(api, task, run);
    // A session that left nothing has said nothing; its run's own time decides.
    if (report !== null) routed.push(...(await api.router.take(report, senderOfRun(run))));
  }
  return routed.length === 0 ? [IGNORED] : routed;
}

/** `run_result.json`, said as the completion report that it is. One that names another run is that one's. */
async function reportOf({ host }: Api, task: Task, run: Run): Promise<string | null> {
  const file = await openInside(host.dir, join(host.dir, 'runs', task.id, 'run_result.json'));
  if (file === null) return null;
  let text: string;
  try {
    text = await file.readFile('utf8');
  } finally {
    await file.close();
  }
  // What Baton wrote there itself is no word of the session's.
  if (await isOwnResult(host.store, task, text)) return null;
  const read = readRunFile('run_result.json', text);
  if (!read.ok || read.value.runId !== run.id || read.value.taskId !== task.id) return null;
  const envelope = {
    protocol: 'aof',
    version: 1,
    type: 'completion.report',
    taskId: task.id,
    fromAgent: run.agent,
    sentAt: isoTime(host.now()),
    messageId: `session_end:${run.id}`,
    payload: read.value,
  };
  return `AOF/1 ${JSON.stringify(envelope)}`;
}
