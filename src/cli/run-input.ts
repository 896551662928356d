/** What `baton run` is given: a file, standard input, or an objective in words; and what the command line changes about it. */
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { readV1, type V1Prompt } from '../protocol/aop2/v1.ts';
import { madeEnvelope, OPEN } from '../runtime/index.ts';
import { withOrder } from '../runtime/tasks/order.ts';
import { repairing } from '../runtime/tasks/version-fallback.ts';
import { readExactText, STDIN } from './io.ts';
import { taskMessagesIn } from './new-tasks.ts';
import { type OrderOptions, orderOf } from './order-options.ts';

export interface RunOptions extends OrderOptions {
  readonly workspace?: string;
  readonly session?: string;
}

/** The text, and whether it was typed: a sentence is an objective, a path is a file. */
export async function readRunInput(given: string): Promise<string> {
  if (given === STDIN) {
    const text = await readExactText(STDIN);
    if (text.trim() === '')
      throw new BatonError('E_USAGE', 'expected a TASK or an objective on standard input, got nothing');
    return text;
  }
  if (given.trim() === '') throw new BatonError('E_USAGE', 'expected a FILE or an objective, got an empty text');
  if (isFile(given) || looksLikePath(given)) return readExactText(given);
  return given;
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    // Not there, or nothing that could be a path: longer than one may be, or with a zero in it.
    return false;
  }
}

/** `tasks/fix.json` that is not there is a typing error and not an objective. */
const looksLikePath = (text: string): boolean =>
  /^\S+\.(?:jsonl?|ya?ml|md|txt)$/.test(text) || /^(?:\.{0,2}|~)\/\S*$/.test(text);

interface Fresh {
  readonly now: string;
  readonly session: string;
}

/** The TASKs to run, as they will be kept: with what the command line says in them. */
export function messagesToRun(text: string, options: RunOptions, fresh: Fresh): TaskMessage[] {
  const workspace = resolve(options.workspace ?? '.');
  const { found, messages } = taskMessagesIn(text, {
    repair: repairing({ session: fresh.session, workspace, now: fresh.now }),
  });
  if (messages.length === 0 && isOther(text)) {
    throw new BatonError(
      'E_SCHEMA_VALIDATION',
      `expected a TASK or an objective in words, got ${found[0]?.kind ?? 'JSON'}`,
      'baton check FILE says what it is',
    );
  }
  const all =
    messages.length > 0 ? messages : [ofWords(text, found[0]?.dialect === 'v1' ? readV1(text) : null, options, fresh)];
  return all.map((message) => withOptions(message, options));
}

/** JSON that is no TASK is not meant as words. */
const isOther = (text: string): boolean => isFields(parseJson(text));

function ofWords(text: string, v1: V1Prompt | null, options: RunOptions, { now, session }: Fresh): TaskMessage {
  const agent = v1?.agent ?? v1?.executor ?? null;
  return madeEnvelope({
    // The same words in the same session are the same task.
    taskId: `TASK-${hash('sha256', text.trim(), 'hex').slice(0, 8)}`,
    session,
    createdAt: now,
    agent: agent?.split('\n', 1)[0]?.trim() || OPEN,
    objective: text.trim(),
    workspace: resolve(options.workspace ?? '.'),
  });
}

function withOptions(message: TaskMessage, options: RunOptions): TaskMessage {
  const { workspace, session } = options;
  const root = workspace === undefined ? message.task.environment.workspace_root : resolve(workspace);
  const placed = {
    ...message,
    session: { ...message.session, ...(session === undefined ? {} : { session_id: session }) },
    task: { ...message.task, environment: { ...message.task.environment, workspace_root: root } },
  };
  return withOrder(placed, orderOf(options, root));
}
