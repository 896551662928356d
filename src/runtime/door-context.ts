/** What a run needs to know of where it stands, within a bound: its task, what was handed to it, what it builds upon and what became of its children. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { isFields, parseJson } from '../core/fields.ts';
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { openInside } from './inside.ts';
import { JOINED_CHARS, type JoinedResult, joined, resultOf } from './joined.ts';
import { LETTERS_TITLE } from './letters.ts';
import { sessionWords } from './session-words.ts';

/** The more important comes first; what does not fit any more is left out, and that is said. */
export async function contextOf(
  store: Store,
  task: Task,
  message: TaskMessage,
  maxChars: number,
  dir: string | null = null,
  letters: string | null = null,
): Promise<string> {
  const parts = [headOf(task, message), section('Objective', message.task.objective)];
  if (letters !== null) parts.push(section(LETTERS_TITLE, letters));
  const session = await sessionWords(store, task.session);
  if (session !== null) parts.push(section('Session', session));
  const outputs = (message.task.expected_outputs ?? []).map(({ path }) => `- ${path}`);
  if (outputs.length > 0) parts.push(section('Expected outputs', outputs.join('\n')));
  const given = task.metadata['node'];
  if (typeof given === 'string') {
    parts.push(section('Handed to you', `The node ${given} of the knowledge graph; load all of it with baton_load.`));
  }
  const upon = await Promise.all(task.dependsOn.map((id) => store.find(id)));
  const results = upon.flatMap((other) => (other === undefined ? [] : [resultOf(other)]));
  const where = `baton report ${task.session}`;
  if (results.length > 0) parts.push(section('Builds upon', joined(results, JOINED_CHARS, where)));
  const parent = task.parentId === null ? undefined : await store.find(task.parentId);
  if (parent !== undefined) parts.push(section(`Part of ${parent.id}`, told(parent)));
  for (const { ref, text } of await referred(store, task, dir, maxChars)) parts.push(section(`Context: ${ref}`, text));
  const children: JoinedResult[] = [];
  for await (const other of store.tasks({ session: task.session })) {
    if (other.parentId === task.id) children.push(resultOf(other));
  }
  if (children.length > 0) parts.push(section('Children', joined(children, JOINED_CHARS, where)));
  return within(parts, maxChars);
}

/** Of what a handoff refers to, so many are looked at. */
const MOST_REFS = 100;
/** And of one file, so much is read, however much was asked for. */
const MOST_BYTES = 1024 * 1024;

const REF = /(?:^|\/)(TASK-\d{4}-\d{2}-\d{2}-\d{3,})(?:\.md|\/(.+))$/;

/** What a handoff refers to, wherever the task that it names has moved to; of the same session, and of no other. */
export async function referred(
  store: Store,
  task: Task,
  dir: string | null,
  maxChars: number,
): Promise<{ readonly ref: string; readonly text: string }[]> {
  const handoff = parseJson((await store.text(task.id, 'inputs/handoff.json')) ?? '');
  const refs = isFields(handoff) && Array.isArray(handoff['contextRefs']) ? handoff['contextRefs'] : [];
  const found: { ref: string; text: string }[] = [];
  let room = maxChars;
  for (const ref of refs.slice(0, MOST_REFS)) {
    // More than is told need not be read.
    if (room <= 0) break;
    const [, id, path] = typeof ref === 'string' ? (REF.exec(ref) ?? []) : [];
    const other = id === undefined ? undefined : await store.find(id);
    if (other === undefined || other.session !== task.session || path?.split(/[\\/]/).includes('..')) continue;
    const text = (await store.text(other.id, path ?? 'body')) ?? (await onDisk(dir, other, path, maxChars));
    if (text === null) continue;
    found.push({ ref: String(ref), text });
    room -= text.length;
  }
  return found;
}

/** The beginning of a file that an agent has put into the folder of its task. */
async function onDisk(
  dir: string | null,
  { id, status }: Task,
  path: string | undefined,
  maxChars: number,
): Promise<string | null> {
  if (dir === null || path === undefined) return null;
  const folder = join(dir, 'tasks', status, id);
  try {
    const file = await openInside(await realpath(folder), join(folder, path));
    if (file === null) return null;
    try {
      // A character has at most four bytes; one more than fits, so that it is seen that there is more.
      const bytes = Buffer.alloc(Math.min((await file.stat()).size, 4 * (maxChars + 1), MOST_BYTES));
      const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
      return new TextDecoder().decode(bytes.subarray(0, bytesRead));
    } finally {
      await file.close();
    }
  } catch {
    // It is not there any more; a reference to nothing tells nothing.
    return null;
  }
}

function headOf(task: Task, message: TaskMessage): string {
  const { access, budget, delegationAllowed, timeoutSeconds } = policyOf(message);
  return [
    `# ${task.id}: ${task.title}`,
    '',
    `- Status ${task.status}, priority ${task.priority}, attempt ${task.attempts}, session ${task.session}`,
    `- Workspace: ${message.task.environment.workspace_root}`,
    `- Network ${access.network}, ${timeoutSeconds} seconds${budget.maxCostUsd === null ? '' : `, ${budget.maxCostUsd} dollars`}`,
    `- Handing on is ${delegationAllowed ? 'allowed' : 'not allowed'}`,
  ].join('\n');
}

const section = (title: string, text: string): string => `## ${title}\n\n${text.trim()}`;

const told = ({ title, summary, cause }: Task): string =>
  [title, summary, cause === null ? null : `${cause.code}: ${cause.message}`]
    .filter((text) => text !== null)
    .join('. ');

function within(parts: readonly string[], maxChars: number): string {
  let text = '';
  for (const part of parts) {
    const room = maxChars - text.length - (text === '' ? 0 : 2);
    if (room < 20) break;
    text += `${text === '' ? '' : '\n\n'}${shorten(part, room)}`;
  }
  return text === '' ? shorten(parts[0] ?? '', maxChars) : text;
}
