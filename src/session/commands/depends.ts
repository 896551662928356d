/** `#DEPENDS` (§12): a task waits for another one, which is named by whose it is and its id, its external id or its title. */
import { isFinal, type Task, taskOfRun } from '../../core/task.ts';
import type { Command } from '../../protocol/command/index.ts';
import { changeTask } from '../../runtime/tasks/change-task.ts';
import { type Call, failed, form, type Said } from '../call.ts';
import { candidates, isOf, mayChange, sessionTasks, titleIs, whom } from '../lookup.ts';
import { ORCHESTRATOR } from '../people.ts';
import { ask, refusalOf } from '../refusals.ts';

/** Takes the place of the agent's name where a task is named by its id. */
const ANY = 'any';

export async function depends(call: Call): Promise<Said> {
  const needed = await neededBy(call, call.params);
  if ('said' in needed) return needed.said;
  const own = await dependentOf(call);
  if ('said' in own) return own.said;
  const { task } = own;
  if (task.id === needed.id) return failed('E002', 'a task cannot wait for itself');
  if (task.dependsOn.includes(needed.id)) return form(`${task.id} waits for ${needed.id} already`);
  const answer = await changeTask(call, task, { dependsOn: [...task.dependsOn, needed.id] }, { by: call.actor });
  if (answer.kind === 'refused') return refusalOf(answer.refusal);
  const { session, speaker } = call;
  await ask(call, { type: 'session.depend', session, agent: call.params[0] ?? '', task: needed.id, speaker });
  return form(waitsFor(task.id, needed, task.status === 'in-progress'));
}

/** The reply names both; of one that is at work it says from when it waits. */
export const waitsFor = (id: string, needed: Task, isRunning = false): string => {
  const when =
    needed.status === 'done' ? ', which is done' : isRunning ? ` when it starts again; now: #WAIT:${needed.id}` : '';
  return `ack:${id} waits for ${needed.id}${when}`;
};

/** The task that is named; several or none is an error that says which there are. */
async function neededBy(call: Call, params: readonly string[]): Promise<Task | { readonly said: Said }> {
  const [agent = '', name = ''] = params;
  const all = await sessionTasks(call);
  const of = agent === ANY ? null : await whom(call, agent);
  if (of !== null && 'said' in of) return of;
  const theirs = of === null ? all : all.filter((task) => isOf(task, of.members));
  const made = call.line?.made.get(madeKey(agent, name));
  const byId = await call.store.find(made ?? name, call.session);
  const found = byId?.session === call.session ? [byId] : theirs.filter((task) => titleIs(task, name));
  const [one] = found;
  if (one === undefined)
    return {
      said: candidates(
        `unknown_task ${name}`,
        theirs.filter(({ status }) => !isFinal(status)),
      ),
    };
  if (found.length > 1) return { said: candidates(`${found.length} tasks are called ${name}`, found) };
  if (!theirs.some(({ id }) => id === one.id)) {
    return {
      said: candidates(
        `it is no task of ${agent}`,
        theirs.filter(({ status }) => !isFinal(status)),
      ),
    };
  }
  return one;
}

/** Of the tasks that one line makes: by whom and by what words a later part of the line means one. */
export const madeKey = (agent: string, words: string): string => JSON.stringify([agent.toLowerCase(), words]);

/** What waits: the run's own task; the task at hand of whom a person speaks for; else the one that was delegated last. */
async function dependentOf(call: Call): Promise<{ readonly task: Task } | { readonly said: Said }> {
  const { speaker, store, session } = call;
  if (speaker.run !== null) {
    const task = await store.find(taskOfRun(speaker.run) ?? '');
    return task === undefined ? { said: failed('E002', `${speaker.run} has no task`) } : { task };
  }
  if (speaker.agent !== ORCHESTRATOR) {
    const own = (await sessionTasks(call)).filter((task) => isOf(task, [speaker.agent]) && !isFinal(task.status));
    const at = own.filter(({ status }) => status === 'in-progress');
    const [task, ...more] = at.length === 1 ? at : own;
    if (more.length > 0) return { said: candidates(`which of ${own.length} tasks of ${speaker.agent}`, own) };
    return task === undefined ? { said: failed('E002', `${speaker.agent} has no open task here`) } : { task };
  }
  const last = (await store.session(session))?.facts?.['delegated'] as { readonly task: string } | undefined;
  const task = last === undefined ? undefined : await store.find(last.task);
  if (task === undefined) return { said: failed('E002', 'expected a task to be delegated first') };
  return mayChange(call, task) ? { task } : { said: failed('E005', `${task.id} is not yours`) };
}

/** What `#DEPENDS` lines behind a `#DELEGATE` of the same line name: the new task is made with them, so it never starts before. */
export async function neededOf(
  call: Call,
  lines: readonly Command[],
): Promise<readonly Task[] | { readonly said: Said }> {
  const tasks: Task[] = [];
  for (const { params } of lines) {
    const needed = await neededBy(call, params);
    if ('said' in needed) return needed;
    tasks.push(needed);
  }
  return tasks;
}
