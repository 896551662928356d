/** `run.json`, `run_heartbeat.json` and `run_result.json`: text ⇄ object, with what is wrong with them. */
import type * as z from 'zod';
import { error, hasError, type Problem } from '../../core/problem.ts';
import { exceedsBytes } from '../text/clean.ts';
import { tooDeep } from '../text/depth.ts';
import { quote } from '../text/quote.ts';
import { toProblems, type Validate, validator } from '../text/validate.ts';
import { inOrder } from './encode.ts';
import { LIMITS, RunArtifact, RunHeartbeat, RunResult } from './schema.ts';
import { unknownFields } from './unknown-fields.ts';

const SCHEMAS = {
  'run.json': RunArtifact,
  'run_heartbeat.json': RunHeartbeat,
  'run_result.json': RunResult,
} as const;

export type RunFileName = keyof typeof SCHEMAS;
export type RunFile<N extends RunFileName> = z.infer<(typeof SCHEMAS)[N]>;

/** What is readable may still have warnings; unknown fields are in the value as they stood. */
export type ReadRunFile<N extends RunFileName> =
  | { readonly ok: true; readonly value: RunFile<N>; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

export function readRunFile<N extends RunFileName>(name: N, text: string): ReadRunFile<N> {
  if (exceedsBytes(text, LIMITS.messageBytes)) {
    return refused(error('E_CONTEXT_OVERFLOW', '', `expected at most ${LIMITS.messageBytes} bytes, got more`));
  }
  let value: unknown;
  try {
    value = JSON.parse(text.startsWith('\ufeff') ? text.slice(1) : text);
  } catch {
    return refused(error('E_PARSE_FAILURE', '', `expected one JSON object, got ${quote(text)}`));
  }
  return checkRunFile(name, value);
}

/** The same, of an object that is already parsed. */
export function checkRunFile<N extends RunFileName>(name: N, value: unknown): ReadRunFile<N> {
  if (tooDeep(value)) return refused(error('E_SCHEMA_VALIDATION', '', 'nested too deep'));
  const problems = [
    ...toProblems(VALIDATORS[name](value), value, 'E_SCHEMA_VALIDATION'),
    ...unknownFields(SCHEMAS[name], value),
  ];
  return hasError(problems) ? { ok: false, problems } : { ok: true, value: value as RunFile<N>, problems };
}

export const writeRunFile = <N extends RunFileName>(name: N, value: RunFile<N>): string =>
  `${JSON.stringify(inOrder(value, Object.keys(SCHEMAS[name].shape)), null, 2)}\n`;

const VALIDATORS = {
  'run.json': validator(RunArtifact),
  'run_heartbeat.json': validator(RunHeartbeat),
  'run_result.json': validator(RunResult),
} as const satisfies Record<RunFileName, Validate>;

const refused = (problem: Problem): { ok: false; problems: Problem[] } => ({ ok: false, problems: [problem] });
