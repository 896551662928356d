/** A TASK that fails its schema is not dropped: it becomes a v1 prompt, and an event says so (contract §1.3). */

import { isFields } from '../../core/fields.ts';
import type { Problem } from '../../core/problem.ts';
import { toV1Prompt } from './prompt.ts';
import type { VersionFallbackEvent } from './schema.ts';
import { AOP_VERSION } from './version.ts';

const PREVIEW = 200;

export interface Fallback {
  readonly event: VersionFallbackEvent;
  readonly prompt: string;
  readonly lost: readonly string[];
}

/** @param received the text of the TASK as it came; the event shows its beginning */
export function fallBack(value: unknown, problems: readonly Problem[], received: string, now: string): Fallback {
  const first = problems.find((problem) => problem.severity === 'error');
  const { text, lost } = toV1Prompt(value);
  return {
    event: {
      aop_version: AOP_VERSION,
      message_type: 'EVENT',
      event: 'VERSION_FALLBACK',
      ...ids(value),
      timestamp: now,
      reason: first?.code ?? 'E_SCHEMA_VALIDATION',
      validation_error: first ? `${first.path || '/'}: ${first.message}` : 'the message does not fit its schema',
      input_preview: received.slice(0, PREVIEW),
    },
    prompt: text,
    lost,
  };
}

function ids(value: unknown): { session_id?: string; task_id?: string } {
  const id = (outer: string, inner: string): Record<string, string> => {
    const holder = isFields(value) ? value[outer] : null;
    const found = isFields(holder) ? holder[inner] : null;
    return typeof found === 'string' && found !== '' ? { [inner]: found } : {};
  };
  return { ...id('session', 'session_id'), ...id('task', 'task_id') };
}
