/** What a child task finds in its `inputs/`: `handoff.json`, which counts, and `handoff.md`, which a person reads. */
import { stripControls } from '../text/clean.ts';
import { inOrder } from './encode.ts';
import { HandoffRequest, type HandoffRequestEnvelope } from './schema.ts';

/** A request that stands alone: what its payload leaves to the envelope is filled in. */
export type Handoff = HandoffRequest & {
  readonly taskId: string;
  readonly fromAgent: string;
  readonly toAgent: string;
};

export function handoffOf({ taskId, parentTaskId, fromAgent, toAgent, payload }: HandoffRequestEnvelope): Handoff {
  const parent = payload.parentTaskId ?? parentTaskId;
  return {
    ...payload,
    taskId,
    ...(parent === undefined ? {} : { parentTaskId: parent }),
    fromAgent: payload.fromAgent ?? fromAgent,
    toAgent,
  };
}

export const handoffJson = (handoff: Handoff): string =>
  `${JSON.stringify(inOrder(handoff, Object.keys(HandoffRequest.shape)), null, 2)}\n`;

export const handoffMarkdown = (handoff: Handoff): string => `# Handoff: ${inline(handoff.taskId)}

- From: ${inline(handoff.fromAgent)}
- To: ${inline(handoff.toAgent)}
- Parent task: ${inline(handoff.parentTaskId ?? NONE)}
- Due by: ${inline(handoff.dueBy ?? NONE)}

## Acceptance Criteria

${bullets(readableCriteria(handoff.acceptanceCriteria))}

## Expected Outputs

${bullets(handoff.expectedOutputs)}

## Context

${bullets(handoff.contextRefs?.map(whereverItIs))}

## Constraints

${bullets(handoff.constraints)}
`;

/** The criteria that can be read: a request is accepted even where they are not a list of texts. */
export function readableCriteria(value: unknown): string[] {
  const items: unknown[] = Array.isArray(value) ? value : [value];
  return items.filter((item): item is string => typeof item === 'string' && item.trim() !== '');
}

/** A task's file and folder move with its status: `tasks/in-progress/TASK-….md`. */
const OF_TASK = /^(.*\btasks\/)[a-z-]+\/(TASK-\d{4}-\d{2}-\d{2}-\d{3,}(?:\.md|\/.+))$/;

/** A reference into the task store with the place at which it is found when its task has moved on. */
function whereverItIs(ref: string): string {
  const [, tasks, name] = OF_TASK.exec(ref) ?? [];
  return tasks === undefined ? ref : `${ref} (wherever its task is now: ${tasks}*/${name})`;
}

const NONE = 'None';

const bullets = (items: readonly string[] = []): string =>
  items.length === 0 ? NONE : items.map((item) => `- ${inline(item)}`).join('\n');

/** One line: an item must not be able to start a section of its own. */
const inline = (text: string): string => stripControls(text.replace(/[\r\n\u2028\u2029]+/g, ' ')).trim();
