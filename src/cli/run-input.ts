/** What `baton run` is given: a file, standard input, or an objective in words; and what the command line changes about it. */
import { hash } from 'node:crypto';
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import { type Fields, isFields, parseJson } from '../core/fields.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { readV1, type V1Prompt } from '../protocol/aop2/v1.ts';
import { aop2, detect, type Found } from '../protocol/index.ts';
import { madeEnvelope, OPEN } from '../runtime/index.ts';
import { withOrder } from '../runtime/tasks/order.ts';
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
export function messagesToRun(
  text: string,
  options: RunOptions,
  fresh: Fresh,
  onFallback: (fallback: aop2.Fallback) => void,
): TaskMessage[] {
  const { found, messages } = taskMessagesIn(text, { repair: (broken) => repaired(broken, fresh, onFallback) });
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

/** What limits a run. Where one of these is there and cannot be read, nothing is run: it would be run with less than was asked for. */
const LIMITS = [
  ['task', 'access'],
  ['task', 'constraints'],
  ['task', 'budgets'],
  ['execution_policy'],
  ['guard_rails'],
  ['target', 'capabilities'],
] as const;

/**
 * A TASK that fails its schema is run as the v1 prompt that it falls back to (contract §1.3), with all of its limits; null where it is too
 * large, says nothing to do, or where its limits cannot be read.
 */
function repaired(
  broken: Found,
  { now, session }: Fresh,
  onFallback: (fallback: aop2.Fallback) => void,
): TaskMessage | null {
  const { value, problems } = broken;
  if (!isFields(value) || problems.some(({ code }) => code === 'E_CONTEXT_OVERFLOW')) return null;
  const { task, target, session: said } = value;
  const objective = isFields(task) ? task['objective'] : null;
  if (typeof objective !== 'string' || objective.trim() === '') return null;
  const fallback = aop2.fallBack(value, problems, JSON.stringify(value), now);
  const name = (holder: unknown, key: string): string | null => {
    const found = isFields(holder) ? holder[key] : null;
    return typeof found === 'string' && found !== '' ? found : null;
  };
  const environment = isFields(task) ? task['environment'] : null;
  let message: Fields = {
    ...madeEnvelope({
      taskId: name(task, 'task_id') ?? 'TASK-001',
      session: name(said, 'session_id') ?? session,
      createdAt: now,
      agent: name(target, 'agent_name') ?? OPEN,
      objective: fallback.prompt,
      workspace: name(environment, 'workspace_root') ?? resolve('.'),
    }),
  };
  for (const [outer, inner] of LIMITS) {
    const limit = inner === undefined ? value[outer] : isFields(value[outer]) ? value[outer][inner] : undefined;
    if (limit === undefined) continue;
    message = { ...message, [outer]: inner === undefined ? limit : { ...(message[outer] as Fields), [inner]: limit } };
  }
  if (!detect(JSON.stringify(message))[0]?.valid) return null;
  onFallback(fallback);
  return message as unknown as TaskMessage;
}
