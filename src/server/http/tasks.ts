/** `/v1/tasks`: making, listing, showing and changing tasks. What a run asks for goes through its door; what a person asks for, to the laws. */
import { hash } from 'node:crypto';
import { BatonError } from '../../core/errors.ts';
import { isFields } from '../../core/fields.ts';
import type { NewTask, TaskMessage } from '../../core/laws/messages.ts';
import type { Task } from '../../core/task.ts';
import type { TaskJson } from '../../core/task-json.ts';
import { isoTime } from '../../core/time.ts';
import { newId } from '../../process/new-id.ts';
import { JSON_KEYS } from '../../protocol/dialects.ts';
import { createTaskView, shownTask, whyTask } from '../../runtime/lookup.ts';
import { newTasksOf } from '../../runtime/new-tasks.ts';
import { changeTask } from '../../runtime/tasks/change-task.ts';
import { createTasks } from '../../runtime/tasks/create-tasks.ts';
import { ordered } from '../../runtime/tasks/ordered.ts';
import { repairing } from '../../runtime/tasks/version-fallback.ts';
import { bodyText, fitting, parsedJson } from './body.ts';
import { type Api, type Call, mayReach, personOf, queryOf, reachedTask, senderOf, stream } from './call.ts';
import { json, refusal } from './problems.ts';
import { JSON_TYPE, type Route, TEXT_TYPE } from './routes.ts';
import * as shape from './schemas.ts';

const T = { [JSON_TYPE]: shape.TaskShape };
const ONCE = { 'Idempotency-Key': 'the same key asked twice acts once and gets the same answer' };

export const taskRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/tasks',
    summary: 'tasks in the order of their ids; a run sees its own and its children',
    access: 'run',
    query: shape.ListQuery,
    answers: { [JSON_TYPE]: shape.TaskShape.array() },
    handle: (api, call) => {
      const query = queryOf(shape.ListQuery, call, ['status']);
      return stream(api, call, JSON_TYPE, (until) => listed(api, call, query, until));
    },
  },
  {
    method: 'post',
    path: '/v1/tasks',
    summary: 'makes a task of fields, or as baton task add does of a text or of TASKs',
    access: 'run',
    headers: ONCE,
    takes: { [JSON_TYPE]: shape.NewTaskBody, [TEXT_TYPE]: null },
    status: 201,
    answers: { [JSON_TYPE]: shape.TaskShape.or(shape.TaskShape.array()) },
    handle: add,
  },
  {
    method: 'get',
    path: '/v1/tasks/:id',
    summary: 'a task with its runs, its events and its text',
    access: 'run',
    query: shape.InSession,
    answers: { [JSON_TYPE]: shape.ShownTaskShape },
    handle: async (api, call) => json(await shownTask(api.host.store, await reachedTask(api, call, call.param('id')))),
  },
  {
    method: 'patch',
    path: '/v1/tasks/:id',
    summary: 'changes what a task says',
    access: 'person',
    query: shape.InSession,
    headers: ONCE,
    takes: { [JSON_TYPE]: shape.EditBody },
    answers: T,
    handle: async (api, call) => edit(api, call, await bodyOf(call, shape.EditBody)),
  },
  {
    method: 'post',
    path: '/v1/tasks/:id/move',
    summary: 'gives a task another status, if that is legal; a run says so of its own work as a status.update',
    access: 'run',
    query: shape.InSession,
    headers: ONCE,
    takes: { [JSON_TYPE]: shape.MoveBody },
    answers: T,
    handle: move,
  },
  {
    method: 'post',
    path: '/v1/tasks/:id/cancel',
    summary: 'calls a task off, and stops its run',
    access: 'person',
    query: shape.InSession,
    headers: ONCE,
    takes: { [JSON_TYPE]: shape.ReasonBody },
    answers: T,
    handle: (api, call) =>
      change(api, call, shape.ReasonBody, ({ id }, body) => ({ type: 'task.cancel', id, ...because(body) })),
  },
  {
    method: 'post',
    path: '/v1/tasks/:id/retry',
    summary: 'makes a task ready once more, with all its attempts',
    access: 'person',
    query: shape.InSession,
    headers: ONCE,
    takes: { [JSON_TYPE]: shape.RetryBody },
    answers: T,
    handle: retry,
  },
  {
    method: 'get',
    path: '/v1/tasks/:id/why',
    summary: 'why a task is as it is and what it waits for, from recorded facts',
    access: 'run',
    query: shape.InSession,
    answers: { [JSON_TYPE]: shape.WhyShape },
    handle: async (api, call) =>
      json(await whyTask(api.host.store, await reachedTask(api, call, call.param('id')), api.host.now())),
  },
];

const because = ({ reason }: { readonly reason?: string | undefined }): { reason?: string } =>
  reason === undefined ? {} : { reason };

async function* listed(
  { host }: Api,
  { caller }: Call,
  { status, session, limit = Infinity }: ReturnType<typeof shape.ListQuery.parse>,
  until: AbortSignal,
): AsyncGenerator<string> {
  const shown = createTaskView(host.store, host.now());
  const filter = { ...(status === undefined ? {} : { status }), ...(session === undefined ? {} : { session }) };
  let count = 0;
  let held = '[';
  for await (const task of host.store.tasks(filter)) {
    if (until.aborted || count >= limit) break;
    if (!mayReach(caller, task)) continue;
    held += `${count === 0 ? '' : ',\n'}${JSON.stringify(await shown(task))}`;
    count++;
    if (held.length < 65_536) continue;
    yield held;
    held = '';
  }
  yield `${held}]\n`;
}

async function add(api: Api, call: Call): Promise<Response> {
  const text = await bodyText(call.request);
  const isJson = /^application\/(?:[\w.-]+\+)?json\b/.test(call.request.headers.get('content-type') ?? '');
  const value = isJson ? parsedJson(text) : undefined;
  const isFieldsOnly = isFields(value) && !JSON_KEYS.some((key) => key in value);
  if (call.caller.kind === 'run') return json(await addAsRun(api, call, value, text), 201);
  const tasks = isFieldsOnly
    ? [newTask(api, fitting(shape.NewTaskBody, value, 'body'))]
    : newTasksOf(text, { repair: repairing({ workspace: api.host.workspace, now: isoTime(api.host.now()) }) });
  if (tasks.some(({ title }) => title.trim() === ''))
    throw new BatonError('E_SCHEMA_VALIDATION', 'expected a text with words in it, or a title');
  const { store } = api.host;
  const options = { by: personOf(call.caller), request: requestOf(call, text) };
  const { answer, warnings } = await createTasks(api.host, tasks, options);
  if (answer.kind === 'refused') throw refusal(answer.refusal);
  const made = answer.tasks;
  const view = createTaskView(store, api.host.now());
  const shown: TaskJson[] = [];
  for (const task of made) shown.push(await view(task));
  const answered = json(shown.length === 1 ? shown[0] : shown, 201);
  for (const warning of warnings) answered.headers.append('baton-warning', headerText(warning));
  return answered;
}

/** What a header may hold: one line of ASCII. */
const headerText = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, MOST_HEADER);
const MOST_HEADER = 500;

/** What a tool may say of a child. */
const OF_A_CHILD = ['title', 'body', 'agent', 'priority', 'dependsOn', 'parentId'];

/** A child of its own task. */
async function addAsRun({ doorFor }: Api, call: Call, value: unknown, text: string): Promise<TaskJson> {
  const { title, body, agent, priority, dependsOn, parentId, ...more } = fitting(shape.NewTaskBody, value, 'body');
  const [first] = Object.keys(present(more));
  if (first !== undefined)
    throw new BatonError('E_PERMISSION_DENIED', `expected of a run ${OF_A_CHILD.join(', ')}, got ${first}`);
  const child = present({ title, body, agent, priority, dependsOn, parentId });
  return doorFor(senderOf(call.caller, 'http'), requestOf(call, text)).create(child);
}

function newTask({ host }: Api, said: ReturnType<typeof shape.NewTaskBody.parse>): NewTask {
  const order = present(shape.OrderFields.parse(said));
  const { body, ...fields } = present(said);
  const rest = Object.fromEntries(Object.entries(fields).filter(([name]) => !Object.hasOwn(order, name)));
  const item = { ...rest, title: said.title, ...(body === undefined ? {} : { texts: { body } }) } as NewTask;
  return ordered(item, order, { workspace: host.workspace, createdAt: isoTime(host.now()) });
}

async function edit(api: Api, call: Call, body: ReturnType<typeof shape.EditBody.parse>): Promise<Response> {
  const before = await reachedTask(api, call, call.param('id'));
  const { reviewRequired: review, ...rest } = body;
  const wanted = present({ ...rest, review });
  const request = requestOf(call, JSON.stringify(body));
  const answer = await changeTask(api.host, before, wanted, { by: personOf(call.caller), request });
  if (answer.kind === 'refused') throw refusal(answer.refusal);
  const task = answer.tasks[0] ?? before;
  return json(await createTaskView(api.host.store, api.host.now())(task));
}

/** What is to be different is changed first. */
async function retry(api: Api, call: Call): Promise<Response> {
  const body = await bodyOf(call, shape.RetryBody);
  if (Object.keys(body).length > 0) await edit(api, call, body);
  return changed(api, call, ({ id }) => ({ type: 'task.retry', id }), JSON.stringify(body));
}

type Present<T> = { [K in keyof T]: Exclude<T[K], undefined> };
/** Without what is undefined. */
const present = <T extends object>(value: T): Present<T> =>
  Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as Present<T>;

async function move(api: Api, call: Call): Promise<Response> {
  if (call.caller.kind === 'person') {
    return change(api, call, shape.MoveBody, ({ id }, { status, reason }) => ({
      type: 'task.move',
      id,
      to: status,
      ...because({ reason }),
    }));
  }
  const task = await reachedTask(api, call, call.param('id'));
  const body = await bodyOf(call, shape.MoveBody);
  return json(
    await api.doorFor(senderOf(call.caller, 'http')).update({ taskId: task.id, status: body.status, ...because(body) }),
  );
}

type Body = typeof shape.MoveBody | typeof shape.ReasonBody | typeof shape.RetryBody | typeof shape.EditBody;

async function bodyOf<S extends Body>(call: Call, schema: S): Promise<ReturnType<S['parse']>> {
  const text = await bodyText(call.request);
  return fitting(schema, text.trim() === '' ? {} : parsedJson(text), 'body') as ReturnType<S['parse']>;
}

async function change<S extends Body>(
  api: Api,
  call: Call,
  schema: S,
  message: (task: Task, body: ReturnType<S['parse']>) => TaskMessage,
): Promise<Response> {
  const body = await bodyOf(call, schema);
  return changed(api, call, (task) => message(task, body), JSON.stringify(body));
}

async function changed(api: Api, call: Call, message: (task: Task) => TaskMessage, body: string): Promise<Response> {
  const before = await reachedTask(api, call, call.param('id'));
  const [task = before] = await ask(api, call, message(before), body);
  return json(await createTaskView(api.host.store, api.host.now())(task));
}

/** As the person; routes that lead here are closed to runs. */
async function ask({ host }: Api, call: Call, message: TaskMessage, body: string): Promise<readonly Task[]> {
  const answer = await host.store.send({ message, by: personOf(call.caller), request: requestOf(call, body) });
  if (answer.kind === 'refused') throw refusal(answer.refusal);
  return answer.tasks;
}

/** A key is one of its caller and its request: with another path or body it is not the same asked twice. */
function requestOf({ request, caller, url }: Call, body: string): string {
  const key = request.headers.get('idempotency-key');
  if (key === null) return newId();
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw new BatonError('E_SCHEMA_VALIDATION', 'expected an Idempotency-Key of at most 200 plain characters');
  const who = caller.kind === 'run' ? [caller.run] : [];
  return `http:${key}:${digestOf([...who, request.method, url.pathname, url.search, body])}`;
}

const digestOf = (parts: readonly string[]): string => hash('sha256', JSON.stringify(parts), 'hex');
