/** `#DEPENDS` (§12): it is written down, and tasks of the speaker that have not begun wait for the one it names. */
import { findCycle } from '../../core/laws/dependencies.ts';
import { partsOfId, type Task } from '../../core/task.ts';
import { type Call, failed, type Said } from '../call.ts';
import { knownAgents } from '../people.ts';
import { ask, replyTo } from '../refusals.ts';

export async function depends(call: Call): Promise<Said> {
  const { params, session, speaker, store } = call;
  const [agent = '', name = ''] = params;
  if (!(await knownAgents(call)).has(agent)) return failed('E002', `unknown_agent ${agent}`);
  const needed = await store.find(name, session);
  // What is not a task of this session is only written down.
  if (needed?.session === session) {
    const found = await ownTasks(call, needed);
    if (typeof found === 'string') return failed('E002', `cycle ${found}`);
    for (const { id, dependsOn } of found) {
      const answer = await ask(call, { type: 'task.edit', id, dependsOn: [...dependsOn, needed.id] });
      if ('said' in answer) return answer.said;
    }
  }
  return replyTo(call, { type: 'session.depend', session, agent, task: name, speaker });
}

/** What the speaker is to do and has not begun; or the path of the circle that one of them would close, in names that are short enough for an answer: then none is changed. */
async function ownTasks({ store, session, speaker }: Call, needed: Task): Promise<readonly Task[] | string> {
  const all = new Map<string, Task>();
  for await (const task of store.tasks({ session })) all.set(task.id, task);
  const own = [...all.values()].filter(
    ({ id, routing, status, dependsOn }) =>
      routing.agent === speaker.agent &&
      (status === 'backlog' || status === 'ready') &&
      id !== needed.id &&
      !dependsOn.includes(needed.id),
  );
  const ids = new Set(own.map(({ id }) => id));
  const after = (id: string): readonly string[] => {
    const dependsOn = all.get(id)?.dependsOn ?? [];
    return ids.has(id) ? [...dependsOn, needed.id] : dependsOn;
  };
  const cycle = findCycle([...ids], after);
  return cycle === null ? own : cycle.map((id) => all.get(id)?.externalId ?? String(partsOfId(id).number)).join('→');
}
