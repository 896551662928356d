/** What is wrong with a message before any law sees it: a message that is not what its type says would be journaled as it is. */
import { isFields } from '../../core/fields.ts';
import type { Refusal } from '../../core/laws/decision.ts';
import { quote } from '../../protocol/text/quote.ts';
import { toProblems, type Validate, validator } from '../../protocol/text/validate.ts';
import { actor } from './parts.ts';
import { SCHEMAS } from './schemas.ts';

const byType = new Map<string, Validate>();
const checkActor = validator(actor);

function validatorOf(type: string): Validate {
  const known = byType.get(type) ?? validator(SCHEMAS[type as keyof typeof SCHEMAS]);
  byType.set(type, known);
  return known;
}

/** Null where it may be sent. */
export function refusalOf(ask: unknown): Refusal | null {
  if (!isFields(ask)) return no(`expected { message, by }, got ${quote(ask)}`);
  const { message, by, request } = ask;
  const type = isFields(message) ? message['type'] : undefined;
  if (typeof type !== 'string' || !Object.hasOwn(SCHEMAS, type)) {
    return no(`expected a message with a type such as task.add, got ${quote(isFields(message) ? type : message)}`);
  }
  if (request !== undefined && typeof request !== 'string') {
    return no(`expected the id of the request to be a text, got ${quote(request)}`);
  }
  const wrongSender = problemOf(checkActor, by, 'the sender (by)');
  return wrongSender ?? problemOf(validatorOf(type), message, `the message ${type}`);
}

function problemOf(check: Validate, value: unknown, what: string): Refusal | null {
  const issues = check(value);
  if (issues.length === 0) return null;
  const [problem] = toProblems(issues, value, 'E_SCHEMA_VALIDATION');
  const place = problem === undefined || problem.path === '' ? '' : ` at ${problem.path}`;
  return no(`${what} is not valid${place}: ${problem?.message ?? ''}`);
}

const no = (message: string): Refusal => ({
  code: 'E_SCHEMA_VALIDATION',
  message,
  hint: 'nothing was written; the types of baton-run/store say what a message holds',
});
