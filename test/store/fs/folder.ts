/** A data folder for a test, and the few messages that most tests send. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { Actor, NewTask, TaskMessage } from '../../../src/core/laws/messages.ts';
import type { Store } from '../../../src/core/store.ts';
import type { Task, TaskStatus } from '../../../src/core/task.ts';

export const PERSON: Actor = { kind: 'person', name: 'user' };
export const RUNTIME: Actor = { kind: 'runtime', name: 'baton' };

export function temporaryFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'baton-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Sends, and expects that it is not refused. */
export async function sent(store: Store, message: TaskMessage, by: Actor = PERSON): Promise<Task> {
  const answer = await store.send({ message, by });
  if (answer.kind === 'refused') throw new Error(`${answer.refusal.code}: ${answer.refusal.message}`);
  return answer.tasks[0] as Task;
}

export const add = (store: Store, task: Partial<NewTask> = {}): Promise<Task> =>
  sent(store, {
    type: 'task.add',
    tasks: [{ title: 'Mend the parser', texts: { body: 'It drops a line.\n' }, ...task }],
  });

export const move = (store: Store, id: string, to: TaskStatus): Promise<Task> =>
  sent(store, { type: 'task.move', id, to });

export const claim = (store: Store, id?: string): Promise<Task> =>
  sent(
    store,
    { type: 'task.claim', claimer: { agent: 'emma' }, leaseMs: 60_000, ...(id === undefined ? {} : { id }) },
    RUNTIME,
  );

export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}
