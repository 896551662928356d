/**
 * The one way in for messages of all dialects. Who speaks is known by the channel; messages of one task are handled one after
 * another and those of different tasks side by side; every refusal is written down with its reason and answered. Nothing that is said can make
 * it throw; a store that fails does.
 */

import { isFields } from '../core/fields.ts';
import type { Refusal } from '../core/laws/decision.ts';
import { isTaskId, type Task, taskOfRun } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import type { HandoffRequestEnvelope } from '../protocol/aof/index.ts';
import type { EventMessage, TaskMessage } from '../protocol/aop2/schema.ts';
import { detect } from '../protocol/detect.ts';
import { ownerOfHead } from '../protocol/dialects.ts';
import type { Message } from '../protocol/message.ts';
import type { Router, Sender } from './doors.ts';
import { PRINTED } from './hearing.ts';
import { isTask } from './new-tasks.ts';
import { isSignOfLife, type Told, takeEvent, takeSign } from './route-event.ts';
import { keyOfHandoff, takeHandoff, takeHandoffAnswer, takeTask } from './route-handoff.ts';
import { type Bodies, createBodies, takeNews } from './route-news.ts';
import { isOutput, notTheirWord, takeOfRun, takeOutputs } from './route-output.ts';
import { reportIn, takeReport } from './route-report.ts';
import { isPerson, isRefusal, notTheirs, ownTask } from './route-who.ts';
import {
  type Answered,
  ignored,
  nameOf,
  no,
  note,
  originOf,
  type RouterOptions,
  reject,
  type Said,
  UNKNOWN,
  WARNING,
} from './routed.ts';
import { repairing } from './tasks/version-fallback.ts';

/** A router whose answers say the code of a refusal too. */
export interface CodedRouter extends Router {
  take(text: string | Uint8Array, sender: Sender): Promise<readonly Answered[]>;
  message(message: Message, sender: Sender): Promise<Answered>;
}

export function createRouter(options: RouterOptions): CodedRouter {
  const queue = createQueue();
  const bodies = createBodies();
  const told: Told = new Map();

  const message = async (found: Message, sender: Sender): Promise<Answered> => {
    const { dialect } = found;
    // Not ours, or not for this door: passed by without a word.
    if (dialect === 'unstructured' || dialect === 'v1') return ignored('it holds no message');
    if (dialect === 'command') return ignored('a #COMMAND acts only where commands are given: baton do');
    const said: Said = { message: found, sender };
    if (isOutput(found) && sender.run === null) return (await outputs([found], sender))[0] as Answered;
    const whole = found.valid ? said : repaired(options, said);
    if (whole === null) return invalid(options, said);
    return queue(await keyOf(options, whole), () => handle(options, bodies, told, whole));
  };

  /** What is said of the graph in one text is one report. */
  const outputs = (found: readonly Message[], sender: Sender): Promise<readonly Answered[]> =>
    queue('output', () => takeOutputs(options, found, sender));

  return {
    message,
    async take(text, sender) {
      const answers: Answered[] = [];
      const all = detect(text);
      const [only] = all;
      if (only?.dialect === 'unstructured' && isCutOff(text)) {
        const why = no('E_PARSE_FAILURE', 'expected a message, got JSON that is broken or cut off');
        return [await reject(options, { message: only, sender }, undefined, why)];
      }
      // One after the other: what comes later in a text may build upon what came before.
      const ofGraph = all.filter(isOutput);
      const isRefused = sender.run !== null && ofGraph.length > 1 && ofGraph.some(({ valid }) => !valid);
      let told: readonly Answered[] | null = null;
      for (const found of all) {
        const isTogether = isOutput(found) && (sender.run === null || isRefused);
        // A run is told at once that nothing of the text was taken; what it has said before stands.
        if (isTogether) told ??= await outputs(ofGraph, sender);
        answers.push(
          isTogether ? ((told as Answered[])[ofGraph.indexOf(found)] as Answered) : await message(found, sender),
        );
      }
      return answers;
    },
  };
}

/** A TASK that does not fit its schema is taken for the one that it falls back to, as at every other interface. */
function repaired({ workspace, dir, now }: RouterOptions, { message, sender }: Said): Said | null {
  if (!isTask(message)) return null;
  const value = repairing({ workspace: workspace ?? dir ?? process.cwd(), now: isoTime(now()) })(message);
  return value === null ? null : { message: { ...message, kind: 'TASK', valid: true, value }, sender };
}

/** Begins like one of ours and never ends: whoever sent it thinks that it was heard. */
function isCutOff(text: string | Uint8Array): boolean {
  const start = (typeof text === 'string' ? text : Buffer.from(text).toString('utf8', 0, 1_000)).trimStart();
  const [head] = /^\{\s*"[^"]*"\s*:\s*"[^"]*"/.exec(start.slice(0, 1_000)) ?? [''];
  return ownerOfHead(head) !== null && !isWhole(text);
}

function isWhole(text: string | Uint8Array): boolean {
  try {
    JSON.parse(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'));
    return true;
  } catch {
    // That is the question.
    return false;
  }
}

/** The task that a message is about, by the one name under which its messages are in order. */
async function keyOf({ store }: RouterOptions, { message, sender }: Said): Promise<string> {
  const own = sender.run === null ? null : taskOfRun(sender.run);
  const name = nameIn(message) ?? own;
  if (name === null) return '';
  return isTaskId(name) ? name : ((await store.find(name, sessionIn(message)))?.id ?? name);
}

function nameIn({ dialect, kind, value }: Message): string | null {
  if (dialect === 'aof') {
    const envelope = value as HandoffRequestEnvelope;
    return kind === 'handoff.request' ? keyOfHandoff(envelope) : envelope.taskId;
  }
  if (dialect !== 'aop2' || !isFields(value)) return null;
  const id = kind === 'TASK' ? (value as TaskMessage).task.parent_task_id : value['task_id'];
  return typeof id === 'string' ? id : null;
}

function sessionIn({ value }: Message): string | undefined {
  const { session, session_id: id } = isFields(value) ? value : {};
  const named = id ?? (isFields(session) ? session['session_id'] : undefined);
  return typeof named === 'string' ? named : undefined;
}

async function handle(options: RouterOptions, bodies: Bodies, told: Told, said: Said): Promise<Answered> {
  const { message, sender } = said;
  const { dialect, kind } = message;
  const own = await ownTask(options, sender);
  if (isRefusal(own)) {
    const report = reportIn(said);
    return reject(options, said, await taskOfRunOf(options, sender), own, report === null ? {} : { report });
  }
  const forPeople = isOutput(message) ? notTheirWord(said) : null;
  if (forPeople !== null) return reject(options, said, own ?? undefined, forPeople);
  if (own !== null && dialect === 'output' && kind === 'GRAPH_UPDATE') return takeOfRun(options, said, own);
  if (dialect === 'aop2' && kind === 'TASK')
    return warned(options, said, undefined, await takeTask(options, said, own));
  if (dialect === 'aof' && kind === 'handoff.request') {
    return warned(options, said, undefined, await takeHandoff(options, said, own));
  }
  const task = await taskOf(options, said, own);
  if (task === undefined) return unknownTask(options, said, own);
  if (sender.channel === 'stdout' && own !== null && task.id !== own.id) {
    const name = `${nameOf(message)} about ${task.id}`;
    return reject(options, said, task, no('E_PERMISSION_DENIED', `${name} is not about ${own.id}, and ${PRINTED}`));
  }
  const strange = ofOtherSession(message, task);
  if (strange !== null) return reject(options, said, task, strange);
  const isEvent = dialect === 'aop2' && kind === 'EVENT';
  if (isEvent && !isSignOfLife(message.value as EventMessage)) return takeEvent(options, said, task, own);
  const refusal = notTheirs(options.config, task, sender, own);
  if (refusal !== null) return reject(options, said, task, refusal);
  if (isEvent) return takeSign(options, told, said, task);
  const answer = await ofTask(options, bodies, said, task);
  return warned(options, said, task, answer);
}

/** A RESPONSE or an EVENT names its session too: that of another session is not about this task, although it may have the same id there. */
function ofOtherSession(message: Message, task: Task): Refusal | null {
  const named = message.dialect === 'aop2' ? sessionIn(message) : undefined;
  if (named === undefined || named === task.session) return null;
  const name = nameOf(message);
  return no('E_NOT_FOUND', `this ${name} is of the session ${named}, and ${task.id} is a task of ${task.session}`);
}

async function ofTask(options: RouterOptions, bodies: Bodies, said: Said, task: Task): Promise<Answered> {
  const { kind, dialect } = said.message;
  if (dialect === 'aof' && kind === 'status.update') return takeNews(options, bodies, said, task);
  if (dialect === 'aof' && kind !== 'completion.report') return takeHandoffAnswer(options, said, task);
  const report = reportIn(said);
  if (report === null)
    return reject(
      options,
      said,
      task,
      no('E_SCHEMA_VALIDATION', `${nameOf(said.message)} says nothing that could be read`),
    );
  return takeReport(options, said, task, report);
}

/** The task that a message names; that of the run that speaks where it names none. */
async function taskOf({ store }: RouterOptions, { message }: Said, own: Task | null): Promise<Task | undefined> {
  const { dialect, value } = message;
  if (!isFields(value)) return own ?? undefined;
  const id = dialect === 'aof' ? value['taskId'] : dialect === 'aop2' ? value['task_id'] : undefined;
  if (typeof id !== 'string') return own ?? undefined;
  if (own !== null && (id === own.id || id === own.externalId)) return own;
  // An external id is one of its session, and of no other.
  return isTaskId(id) ? store.find(id) : store.find(id, sessionIn(message));
}

async function taskOfRunOf({ store }: RouterOptions, { run }: Sender): Promise<Task | undefined> {
  return run === null ? undefined : store.find(taskOfRun(run) ?? '');
}

/** Ours, but broken; or of a type that nobody knows. Neither changes a task. */
async function invalid(options: RouterOptions, said: Said): Promise<Answered> {
  const { message, sender } = said;
  const errors = message.problems.filter(({ severity }) => severity === 'error');
  const task = await taskNamed(options, said);
  // What the run prints itself its ear has heard already: nothing of the report counts any more.
  const isByTool = sender.run !== null && sender.channel !== 'stdout';
  const isOfGraph = isOutput(message) && isByTool;
  const isOfRun = isOfGraph || (isByTool && message.dialect === 'aop2' && message.kind === 'RESPONSE');
  if (isOfRun && sender.run !== null) options.runs.get(sender.run)?.hear(message);
  const strange = errors.find(({ code }) => code === 'E_UNKNOWN_TYPE');
  const first = strange ?? errors[0];
  const code = first?.code ?? 'E_SCHEMA_VALIDATION';
  const reason = `${first?.path ? `${first.path}: ` : ''}${first?.message ?? 'it is not valid'}`;
  if (strange === undefined)
    return reject(
      options,
      said,
      task,
      no(code, reason, 'baton check lists all that is wrong with it'),
      // Whoever finishes the run after a crash has to know that nothing of it counts.
      isOfGraph ? { broken: { node_id: brokenNode(message.value) }, kind: message.kind } : {},
    );
  const about = { task: task?.id, run: sender.run };
  const events = await note(options, said, UNKNOWN, about, { ...originOf(said), reason });
  return { result: 'unknown', reason, task: task?.id ?? null, events, code, hint: null };
}

const brokenNode = (value: unknown): string | null =>
  isFields(value) && typeof value['node_id'] === 'string' ? value['node_id'].slice(0, 200) : null;

/** Where a message that is broken still says which task it means, or came from a run. */
async function taskNamed(options: RouterOptions, { message: { value }, sender }: Said): Promise<Task | undefined> {
  const id = isFields(value) ? (value['taskId'] ?? value['task_id']) : undefined;
  const named = typeof id === 'string' ? await options.store.find(id) : undefined;
  return named ?? taskOfRunOf(options, sender);
}

/** Recorded, and told on the alerts channel; nothing else is the worse for it. */
async function unknownTask(options: RouterOptions, said: Said, own: Task | null): Promise<Answered> {
  const { value } = said.message;
  const id = isFields(value) ? (value['taskId'] ?? value['task_id']) : undefined;
  if (typeof id !== 'string') {
    const who = isPerson(said.sender) ? 'a person' : (said.sender.agent ?? said.sender.actor.name);
    return reject(
      options,
      said,
      undefined,
      no('E_NOT_FOUND', `${nameOf(said.message)} names no task, and it came from ${who} and not from a run`),
    );
  }
  // Who said it shows in the history of its own task.
  const told = await reject(options, said, own ?? undefined, no('E_NOT_FOUND', `there is no task ${id}`), {
    taskId: id,
  });
  const rejected = { ...told, task: null };
  const alert = await note(
    options,
    said,
    'alert',
    {},
    { ...originOf(said), taskId: id, reason: `a message for a task that is not there: ${id}` },
  );
  return { ...rejected, events: [...rejected.events, ...alert] };
}

/** What was accepted although it is not as it should be is written down too. */
async function warned(options: RouterOptions, said: Said, task: Task | undefined, answer: Answered): Promise<Answered> {
  const problems = said.message.problems.filter(({ severity }) => severity === 'warning');
  if (problems.length === 0 || answer.result !== 'accepted' || answer.events.length === 0) return answer;
  const about = { task: answer.task ?? task?.id, run: said.sender.run };
  const detail = { ...originOf(said), problems: problems.slice(0, MOST_PROBLEMS) };
  const events = await note(options, said, WARNING, about, detail);
  return { ...answer, events: [...answer.events, ...events] };
}

const MOST_PROBLEMS = 20;

/** One after another by key, side by side otherwise. */
function createQueue(): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const last = new Map<string, Promise<unknown>>();
  return (key, work) => {
    const before = last.get(key);
    const done = before === undefined ? work() : before.then(work, work);
    last.set(key, done);
    const forget = (): void => {
      if (last.get(key) === done) last.delete(key);
    };
    done.then(forget, forget);
    return done;
  };
}
