/** What a run needs to know of where it stands, within a bound: its task, what was handed to it, what it builds upon and what became of its children. */
import type { Store } from '../core/store.ts';
import type { Task } from '../core/task.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { shorten } from '../protocol/text/shorten.ts';

/** The more important comes first; what does not fit any more is left out, and that is said. */
export async function contextOf(store: Store, task: Task, message: TaskMessage, maxChars: number): Promise<string> {
  const parts = [headOf(task, message), section('Objective', message.task.objective)];
  const outputs = (message.task.expected_outputs ?? []).map(({ path }) => `- ${path}`);
  if (outputs.length > 0) parts.push(section('Expected outputs', outputs.join('\n')));
  for (const id of task.dependsOn) {
    const other = await store.find(id);
    if (other !== undefined) parts.push(section(`Builds upon ${id}`, told(other)));
  }
  const parent = task.parentId === null ? undefined : await store.find(task.parentId);
  if (parent !== undefined) parts.push(section(`Part of ${parent.id}`, told(parent)));
  const children: string[] = [];
  for await (const other of store.tasks({ session: task.session })) {
    if (other.parentId === task.id) children.push(`- ${other.id} (${other.status}): ${told(other)}`);
  }
  if (children.length > 0) parts.push(section('Children', children.join('\n')));
  return within(parts, maxChars);
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
