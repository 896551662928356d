/**
 * What a field alone cannot tell: that payload and envelope agree, and what is accepted although it is not as it should be.
 *
 * These are looked at whatever else is wrong with the message, so that one mistake does not hide another.
 */
import * as z from 'zod';
import { type Fields, isFields } from '../../core/fields.ts';
import { error, type Problem, pointer, warning } from '../../core/problem.ts';
import { quote } from '../text/quote.ts';
import { toProblems, validator } from '../text/validate.ts';
import { type AofType, Criteria } from './schema.ts';

export function agreement(type: AofType, envelope: Fields): Problem[] {
  const { payload } = envelope;
  if (!isFields(payload)) return [];
  const problems = agree(envelope, payload, 'taskId', error);
  if (!type.startsWith('handoff.')) return problems;
  // Who is meant must be clear; who speaks is known by the channel and never by the payload, so that is only odd.
  problems.push(
    ...agree(envelope, payload, 'toAgent', error),
    ...agree(envelope, payload, 'fromAgent', warning),
    ...agree(envelope, payload, 'parentTaskId', warning),
  );
  if (type === 'handoff.request') problems.push(...criteria(envelope));
  if (type === 'handoff.rejected' && !Object.hasOwn(payload, 'reason')) {
    problems.push(warning('E_FIELD_MISSING', '/payload/reason', 'expected the reason of the rejection, got nothing'));
  }
  return problems;
}

function agree(envelope: Fields, payload: Fields, field: string, finding: typeof error): Problem[] {
  const [outer, inner] = [envelope[field], payload[field]];
  if (typeof outer !== 'string' || typeof inner !== 'string' || outer === inner) return [];
  const code = finding === error ? 'E_SCHEMA_VALIDATION' : 'E_FIELD_FORM';
  const sentence = `expected the envelope's ${field} ${quote(outer)}, got ${quote(inner)}`;
  return [finding(code, pointer(['payload', field]), sentence)];
}

const criteriaIssues = validator(z.looseObject({ payload: z.looseObject({ acceptanceCriteria: Criteria }) }));

/**
 * Criteria that cannot be read are a warning; readable ones are bound by the limits like every list. It is the value
 * that tells which: zod calls whatever has a `length` too big, a long text where a list is expected too.
 */
function criteria(envelope: Fields): Problem[] {
  const payload = envelope['payload'] as Fields;
  if (!Object.hasOwn(payload, 'acceptanceCriteria')) return []; // the schema's own finding
  const problems = toProblems(criteriaIssues(envelope), envelope, 'E_SCHEMA_VALIDATION');
  if (isTexts(payload['acceptanceCriteria'])) return problems;
  return problems.map(({ code, path, message }) => warning(code, path, message));
}

const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((item) => typeof item === 'string');
