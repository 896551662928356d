/** From the pieces between the colons to the parameters of a form, and what is wrong with them. */
import { error, type Problem } from '../../core/problem.ts';
import { counted } from '../../core/words.ts';
import type { CountTokens } from '../message.ts';
import { quote } from '../text/quote.ts';
import { type CommandForm, fewest, most, type Param, type ParamForm, VERSION_FORM } from './form.ts';
import { exceedsTokens } from './tokens.ts';

/**
 * Gives the colons that separate nothing back to the parameter they belong to: a drive letter's (`C:/x.ctx`) to its path, those
 * within a text to the parameter that takes the rest of the line (`image:1.2:amd64`).
 */
export function fitParams(form: CommandForm, segments: readonly string[]): string[] {
  const first = form.sub === null ? 0 : 1;
  const params = [...segments];
  form.params.forEach((param, i) => {
    if (param.form === 'path' && startsWithDrive(params[first + i], params[first + i + 1])) {
      params.splice(first + i, 2, `${params[first + i]}:${params[first + i + 1]}`);
    }
  });
  const at = form.params.findIndex((param) => param.absorbs);
  if (at < 0) return params;
  const text = first + at;
  const behind = form.params[at + 1];
  const hasMore = behind !== undefined && params.length > text + 1 && looksLike(behind, params.at(-1) ?? '');
  const end = hasMore ? params.length - 1 : params.length;
  return end - text < 2 ? params : [...params.slice(0, text), params.slice(text, end).join(':'), ...params.slice(end)];
}

/** `#DELEGATE:emma:src/a.c:42:P1`: what ends the line is the priority only where it has the form of one; `P9` has, and is then refused. */
const looksLike = ({ form }: Param, segment: string): boolean => form === 'priority' && /^[Pp]\d$/.test(segment);

const startsWithDrive = (letter = '', path = ''): boolean => /^[A-Za-z]$/.test(letter) && /^[/\\]/.test(path);

/**
 * The number first: where it is wrong, nothing can be said of each one's form. The place of a parameter that is missing is the
 * one it would have.
 */
export function checkParams(
  form: CommandForm,
  params: readonly string[],
  expected: string,
  countTokens: CountTokens | undefined,
): Problem[] {
  const first = form.sub === null ? 0 : 1;
  const amiss = missingOrOver(form, params.length);
  const empty = params.indexOf('');
  if (empty >= 0 && (amiss === null || empty < amiss)) {
    return [error('E002', `/params/${empty}`, `expected ${expected}, got an empty parameter`)];
  }
  if (amiss !== null) {
    return [error('E002', `/params/${amiss}`, `expected ${expected}, got ${amount(params.length - first)}`)];
  }
  return form.params.flatMap((param, i) => {
    const value = params[first + i];
    return value === undefined ? [] : check(param, value, `/params/${first + i}`, countTokens);
  });
}

/** The index of the first parameter that is missing or is one too many; null where their number is right. */
function missingOrOver(form: CommandForm, count: number): number | null {
  if (count < fewest(form)) return count;
  return count > most(form) ? most(form) : null;
}

const amount = (count: number): string => (count === 0 ? 'no parameters' : counted(count, 'parameter'));

function check(param: Param, value: string, path: string, countTokens: CountTokens | undefined): Problem[] {
  const form = FORMS[param.form];
  if (!form.accepts(value, param)) return [error('E002', path, `expected ${form.says(param)}, got ${quote(value)}`)];
  if (param.maxTokens !== null && exceedsTokens(value, param.maxTokens, countTokens)) {
    return [error('E004', path, `expected at most ${param.maxTokens} tokens, got more: ${quote(value)}`)];
  }
  return [];
}

interface FormRule {
  readonly accepts: (value: string, param: Param) => boolean;
  readonly says: (param: Param) => string;
}

const rule = (pattern: RegExp, says: string): FormRule => ({
  accepts: (value) => pattern.test(value),
  says: (param) => `${says} as ${param.name}`,
});
const ANY: FormRule = { accepts: () => true, says: (param) => param.name };

// Nine digits are thirty years; more would not be a time-out and not be a number that timers take.
const FORMS = {
  text: ANY,
  path: ANY,
  word: {
    accepts: (value, param) => param.words.includes(value),
    says: (param) => `${param.words.join(', ')} as ${param.name}`,
  },
  key: rule(/^[A-Za-z0-9_]+$/, 'letters, digits and _'),
  priority: { accepts: (value) => /^P[0-3]$/.test(value), says: () => 'a priority from P0 to P3' },
  seconds: rule(/^\d{1,9}$/, 'whole seconds'),
  lease: rule(/^0{0,8}[1-9]\d{0,8}$/, 'whole seconds, at least 1,'),
  version: rule(VERSION_FORM, 'major.minor.patch'),
} as const satisfies Record<ParamForm, FormRule>;
