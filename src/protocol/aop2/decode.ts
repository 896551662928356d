/** A decoded JSON value that calls itself AOP v2 → a message with its problems. The value stays as it was written. */
import type * as z from 'zod';
import type { ErrorCode } from '../../core/errors.ts';
import { type Fields, isFields } from '../../core/fields.ts';
import { error, type Problem, pointer, warning } from '../../core/problem.ts';
import { type Message, message } from '../message.ts';
import { shapeOf } from '../text/depth.ts';
import { quote } from '../text/quote.ts';
import { MOST_PROBLEMS, toProblems, type Validate, validator } from '../text/validate.ts';
import { checkSize, checkSoftLimits } from './limits.ts';
import { EventMessage, ResponseMessage, TaskMessage } from './schema.ts';
import { isLater } from './version.ts';

const validateTask = validator(TaskMessage);
const validateResponse = validator(ResponseMessage);
const validateEvent = new Map<unknown, Validate>(
  EventMessage.options.map((option) => [option.shape.event.value, validator(option)]),
);

/** @param received the JSON text the value was parsed from: the size limits speak of bytes as received */
export function decodeAop2(value: Fields, received: string): Message {
  const kind = typeof value['message_type'] === 'string' ? value['message_type'] : null;
  const shape = shapeOf(value);
  if (shape === 'too-deep')
    return message('aop2', kind, null, [error(codeFor(kind), '', 'the message is nested too deep')]);
  const problems = checkKind(kind, value, received);
  return message(
    'aop2',
    kind,
    value,
    shape === 'proto' ? [...problems, ...protoExtensions(value, kind).slice(0, MOST_PROBLEMS)] : problems,
  );
}

function checkKind(kind: string | null, value: Fields, received: string): Problem[] {
  switch (kind) {
    case 'TASK':
      return checkTask(value, received);
    case 'RESPONSE':
      return checkResponse(value, received);
    case 'EVENT':
      return checkEvent(value);
    default: {
      const came = quote(value['message_type']);
      return [error('E_SCHEMA_VALIDATION', '/message_type', `expected TASK, RESPONSE or EVENT, got ${came}`)];
    }
  }
}

/** The one key without `x_` that the schema does not see. */
function protoExtensions(value: unknown, kind: string | null, path = ''): Problem[] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([key, child]) => {
    const here = path + pointer([key]);
    if (key === '__proto__' && path.endsWith('/extensions')) {
      return [error(codeFor(kind), here, 'expected a key that starts with x_, got "__proto__"')];
    }
    return path.endsWith('/extensions') ? [] : protoExtensions(child, kind, here);
  });
}

const codeFor = (kind: string | null): ErrorCode =>
  kind === 'RESPONSE' ? 'E_MALFORMED_RESPONSE' : 'E_SCHEMA_VALIDATION';

function checkTask(value: Fields, received: string): Problem[] {
  const size = checkSize('TASK', received);
  if (size.length > 0) return size;
  const problems = [...schemaProblems(validateTask, value, 'E_SCHEMA_VALIDATION'), ...checkSoftLimits(value)];
  if (!Object.hasOwn(value, 'task_status')) return problems;
  // Not merely unknown: the contract forbids it (§1.2), whatever the version.
  return [
    ...problems.filter((problem) => problem.path !== '/task_status'),
    error('E_SCHEMA_VALIDATION', '/task_status', 'a TASK must not contain task_status'),
  ];
}

function checkResponse(value: Fields, received: string): Problem[] {
  const size = checkSize('RESPONSE', received);
  if (size.length > 0) return size;
  const problems = [...schemaProblems(validateResponse, value, 'E_MALFORMED_RESPONSE'), ...checkSoftLimits(value)];
  // Looked at alone, what the guard rails may ask for is a warning; `checkGuardRails` makes it an error where they do.
  const missing = missingByGuardRails(value, { finalSignal: true, minimalReport: true });
  return [
    ...problems,
    ...missing.map((path) => warning('E_FIELD_MISSING', path, 'its TASK may require this and it is not there')),
  ];
}

function checkEvent(value: Fields): Problem[] {
  const validate = validateEvent.get(value['event']);
  if (validate) return schemaProblems(validate, value, 'E_SCHEMA_VALIDATION');
  const known = [...validateEvent.keys()].join(' ');
  return [error('E_SCHEMA_VALIDATION', '/event', `expected one of ${known}, got ${quote(value['event'])}`)];
}

/** To a later version unknown fields are forgiven; each kind has a hundred places of its own, so that no warning hides an error. */
function schemaProblems(validate: Validate, value: Fields, code: ErrorCode): Problem[] {
  const issues = validate(value);
  if (issues.length === 0) return [];
  const isForgiven = ({ code }: z.core.$ZodIssue): boolean =>
    code === 'unrecognized_keys' && isLater(String(value['aop_version']));
  const errors = issues.filter((issue) => !isForgiven(issue));
  const unknown = toProblems(issues.filter(isForgiven), value, 'E_FIELD_UNKNOWN');
  return [
    ...toProblems(errors, value, (issue) => (isHardLimit(issue) ? 'E_CONTEXT_OVERFLOW' : code)),
    ...unknown.map(({ code, path, message }) => warning(code, path, `${message}; ignored`)),
  ];
}

const isHardLimit = (issue: z.core.$ZodIssue): boolean => issue.code === 'too_big' && issue.origin === 'array';

export interface GuardRails {
  readonly finalSignal: boolean;
  readonly minimalReport: boolean;
}

/** The pointers of what the guard rails ask of a RESPONSE and it does not have (contract §5). What is there and of the wrong type is not missing. */
function missingByGuardRails(response: Fields, rails: GuardRails): string[] {
  const { task_status: status, execution_summary: said = {} } = response;
  const missing: string[] = [];
  if (rails.finalSignal && isFields(status) && status['final_signal'] === undefined) {
    missing.push('/task_status/final_signal');
  }
  if (!rails.minimalReport || !isFields(said)) return missing;
  const { summary = '', actions = [] } = said;
  if (typeof summary === 'string' && summary.trim() === '') missing.push('/execution_summary/summary');
  if (Array.isArray(actions) && actions.length === 0) missing.push('/execution_summary/actions');
  return missing;
}

/** A valid RESPONSE, judged by the guard rails of the TASK it answers. */
export const checkGuardRails = (response: ResponseMessage, rails: GuardRails): Problem[] =>
  missingByGuardRails(response, rails).map((path) =>
    error('E_MALFORMED_RESPONSE', path, 'the guard rails of its TASK require this and it is not there'),
  );
