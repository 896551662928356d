/** `baton convert`: the same content in another dialect. */
import { BatonError } from '../core/errors.ts';
import { isoTime } from '../core/time.ts';
import type { TaskType } from '../protocol/aop1/limits.ts';
import { convert } from '../protocol/convert.ts';
import type { Target } from '../protocol/dialects.ts';
import { detectIn } from './check.ts';
import type { Globals } from './globals.ts';
import { note, print, printJson } from './io.ts';

interface Options extends Globals {
  readonly to: Target;
  readonly type?: TaskType;
  readonly task?: string;
  readonly session?: string;
  readonly agent?: string;
}

export async function convertFile(file: string, options: Options): Promise<void> {
  const { to, type, task, session, agent, json } = options;
  const now = isoTime(Date.now());
  const converted = convert(await detectIn(file), to, {
    now,
    workspaceRoot: process.cwd(),
    sessionId: session ?? `AOP-SESSION-${now.slice(0, 10)}-001`,
    taskId: task ?? 'TASK-001',
    ...(type ? { taskType: type } : {}),
    known: {
      ...(task ? { taskId: task } : {}),
      ...(session ? { sessionId: session } : {}),
      ...(agent ? { agent: { name: agent, provider: null, model: null } } : {}),
    },
  });
  if ('problem' in converted) {
    throw new BatonError('E_NOT_CONVERTIBLE', converted.problem.message, 'baton check shows what is in the text');
  }
  const { output, lost, event } = converted;
  if (json) return printJson({ output, lost, ...(event ? { event } : {}) });
  print(typeof output === 'string' ? output : JSON.stringify(output, null, 2));
  if (event) note(`VERSION_FALLBACK: ${event.validation_error}`);
  if (lost.length > 0) note(`lost: ${lost.join(', ')}`);
}
