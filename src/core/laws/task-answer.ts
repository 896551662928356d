/** A person's word on a task that waits for one: work to be looked at, what it cannot go on without, a failure. All that comes of it is one record. */
import type { ApprovalStatus } from '../node.ts';
import type { Task } from '../task.ts';
import { isoTime } from '../time.ts';
import { type Decision, refused } from './decision.ts';
import type { Draft } from './draft.ts';
import type { GraphMessage } from './messages.ts';
import { cancel, leaveDeadLetters, move, retry } from './moves.ts';
import { freeId, writeNode } from './questions.ts';

type Answering = Extract<GraphMessage, { type: 'task.answer' }>;

export function answerTask(draft: Draft, task: Task, message: Answering): Decision {
  const { id, session } = task;
  const { status, text = null, comment = null, kind, asked } = message;
  if (draft.by.kind !== 'person') {
    return refused('E_PERMISSION_DENIED', `only a person answers ${id}, and this came from ${draft.by.name}`);
  }
  if (task.status !== 'review' && task.status !== 'blocked' && task.status !== 'deadletter') {
    return refused('E_ANSWERED', `${id} waits for no answer any more: it is ${task.status}`, `see: baton why ${id}`);
  }
  const words = [text, comment].filter((said) => said !== null).join(' ') || undefined;
  const moved = moveFor(draft, task, status, words);
  if (moved.kind === 'refused') return moved;
  const approved: ApprovalStatus = status === 'answered' ? 'approved' : status;
  const timestamp = isoTime(draft.now);
  const about = [id];
  // That a failure is tried again, or not, approves nothing.
  const node = kind === 'failure' ? null : freeId(draft, 'approval', id);
  if (node !== null) {
    writeNode(draft, {
      id: node,
      type: 'Approval',
      outputType: 'approval',
      createdBy: 'user',
      confidence: 1,
      ready: true,
      domain: 'custom',
      sources: (message.sources ?? []).filter((source) => draft.graph.node(source) !== undefined),
      topic: id,
      asking: { task: null, run: null, session },
      data: {
        approved_item: id,
        approval_status: approved,
        timestamp,
        question: asked,
        ...(text === null ? {} : { resolution: text }),
        ...(comment === null ? {} : { comment }),
      },
      nextStage: 'user',
      requiredFields: ['approval_status'],
    });
    about.push(`node:${node}`);
  }
  const output = {
    _meta: { output_type: 'approval', created_by: 'user', domain: 'custom', timestamp, confidence: 1 },
    _handoff: {
      next_stage: 'user',
      graph_node: node,
      required_fields: ['approval_status'],
      approval_status: approved,
    },
  };
  draft.event('question.answered', id, task.run?.id, {
    question: id,
    kind,
    asked,
    status,
    text,
    comment,
    by: draft.by.name,
    at: timestamp,
    node,
    ...(node === null ? {} : { output }),
  });
  return draft.decision(session, about);
}

function moveFor(draft: Draft, task: Task, status: Answering['status'], words: string | undefined): Decision {
  if (status === 'rejected') {
    // From the dead letters the only way leads through ready. It is cancelled in the same record, so what it depends on does not matter.
    if (task.status === 'deadletter') leaveDeadLetters(draft, task, words);
    return cancel(draft, draft.task(task.id) ?? task, words);
  }
  if (task.status === 'review' && status === 'approved') return move(draft, task, 'done', words);
  // What is said with it reaches the next run, as the reason of the move.
  return task.status === 'deadletter' && words === undefined ? retry(draft, task) : move(draft, task, 'ready', words);
}
