/** `baton prompt`: what an agent would be told. */
import { BatonError } from '../core/errors.ts';
import { isoTime } from '../core/time.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { convert } from '../protocol/convert.ts';
import type { Found } from '../protocol/detect.ts';
import { agentPrompt } from '../protocol/prompt.ts';
import { repairing } from '../runtime/tasks/version-fallback.ts';
import { detectIn } from './check.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';

export async function prompt(file: string, { json }: Globals): Promise<void> {
  const now = isoTime(Date.now());
  const context = {
    now,
    workspaceRoot: process.cwd(),
    sessionId: `AOP-SESSION-${now.slice(0, 10)}-001`,
    taskId: 'TASK-001',
  };
  const found = await detectIn(file);
  const converted = convert(found.map(mended), 'task', context);
  if ('problem' in converted)
    throw new BatonError('E_SCHEMA_VALIDATION', converted.problem.message, `try: baton check ${file}`);
  const text = agentPrompt(converted.output as TaskMessage);
  if (json) printJson({ prompt: text });
  else print(text);
}

/** A TASK that does not fit its schema is shown as it would be run. */
function mended(found: Found): Found {
  if (found.valid || found.dialect !== 'aop2' || found.kind !== 'TASK') return found;
  const value = repairing({ workspace: process.cwd(), now: isoTime(Date.now()) })(found);
  return value === null ? found : { ...found, valid: true, value };
}
