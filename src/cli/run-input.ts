/** What `baton run` is given: a file, standard input, or an objective in words; and what the command line changes about it. */
import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { BatonError } from '../core/errors.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { readV1, type V1Prompt } from '../protocol/aop2/v1.ts';
import { isFields, parseJson } from '../protocol/text/fields.ts';
import { madeEnvelope, OPEN } from '../runtime/index.ts';
import { readExactText, STDIN } from './io.ts';
import { taskMessagesIn } from './new-tasks.ts';

export interface RunOptions {
  readonly agent?: string;
  readonly model?: string;
  readonly workspace?: string;
  readonly session?: string;
  readonly budget?: number;
  readonly timeout?: number;
  readonly write: readonly string[];
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

const isFile = (path: string): boolean =>
  path.length < 4096 && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
/** `tasks/fix.json` that is not there is a typing error and not an objective. */
const looksLikePath = (text: string): boolean =>
  /^\S+\.(?:jsonl?|ya?ml|md|txt)$/.test(text) || /^(?:\.{0,2}|~)\/\S*$/.test(text);

export interface Fresh {
  readonly now: string;
  readonly session: string;
}

/** The TASKs to run, as they will be kept: with what the command line says in them. */
export function messagesToRun(text: string, options: RunOptions, fresh: Fresh): TaskMessage[] {
  const { found, messages } = taskMessagesIn(text);
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
    taskId: 'TASK-001',
    session,
    createdAt: now,
    agent: agent?.split('\n', 1)[0]?.trim() || OPEN,
    objective: text.trim(),
    workspace: resolve(options.workspace ?? '.'),
  });
}

function withOptions(message: TaskMessage, { workspace, session, budget, timeout, write }: RunOptions): TaskMessage {
  const root = workspace === undefined ? message.task.environment.workspace_root : resolve(workspace);
  const files = message.task.access?.filesystem;
  return {
    ...message,
    session: { ...message.session, ...(session === undefined ? {} : { session_id: session }) },
    task: {
      ...message.task,
      environment: { ...message.task.environment, workspace_root: root },
      ...(budget === undefined ? {} : { budgets: { ...message.task.budgets, max_cost_usd: budget } }),
      ...(write.length === 0
        ? {}
        : {
            access: {
              ...message.task.access,
              filesystem: {
                ...files,
                read_paths: files?.read_paths ?? [root],
                write_paths: write.map((path) => resolve(root, path)),
              },
            },
          }),
    },
    ...(timeout === undefined ? {} : { guard_rails: { ...message.guard_rails, timeout_seconds: timeout } }),
  };
}
