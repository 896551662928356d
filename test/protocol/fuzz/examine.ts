/** What must hold of any text at all. Each rule that does not is a sentence; none is what there should be. */
import { isDeepStrictEqual } from 'node:util';
import type * as z from 'zod';
import { countTokens } from '../../../src/cli/tokens.ts';
import { ERRORS } from '../../../src/core/errors.ts';
import { encodeAof } from '../../../src/protocol/aof/encode.ts';
import type { AofEnvelope } from '../../../src/protocol/aof/schema.ts';
import type { TaskMessage } from '../../../src/protocol/aop2/schema.ts';
import { isLater } from '../../../src/protocol/aop2/version.ts';
import type { Command } from '../../../src/protocol/command/command.ts';
import { encodeCommand } from '../../../src/protocol/command/encode.ts';
import { type Converted, convert } from '../../../src/protocol/convert.ts';
import { createDetector, detect, type Found } from '../../../src/protocol/detect.ts';
import { DIALECTS, REPORTS, TARGETS, type Target } from '../../../src/protocol/dialects.ts';
import { encodeGraphUpdate, encodeOutput } from '../../../src/protocol/output/encode.ts';
import type { GraphUpdate, Output } from '../../../src/protocol/output/schema.ts';
import { PARTS } from '../../../src/protocol/parts.ts';
import { agentPrompt } from '../../../src/protocol/prompt.ts';
import type { Random } from '../../helpers/random.ts';

const OPTIONS = { countTokens };
const CONTEXT = { now: '2026-03-01T09:00:00.000Z', workspaceRoot: '/ws', sessionId: 'S-1', taskId: 'TASK-001' };

export function examine(text: string, random: Random): string[] {
  try {
    const found = detect(text, OPTIONS);
    return [
      ...inPieces(text, found, random),
      ...found.flatMap(wellFormed),
      ...inOrder(text, found),
      ...found.filter(({ valid }) => valid).flatMap(readsBack),
      ...found.flatMap(judgedBySchema),
      ...converts(found, random.pick(TARGETS)),
    ];
  } catch (cause) {
    return [`threw ${cause instanceof Error ? cause.stack : String(cause)}`];
  }
}

/** A stream finds what the whole text has, wherever it is cut. */
function inPieces(text: string, whole: readonly Found[], random: Random): string[] {
  const most = random.pick([1, 3, 20, 200]);
  const sources: (string | Uint8Array)[] = isWellFormed(text) ? [text, new TextEncoder().encode(text)] : [text];
  return sources.flatMap((source) => {
    const detector = createDetector(OPTIONS);
    const found: Found[] = [];
    for (let at = 0; at < source.length; ) {
      const end = at + 1 + random.below(most);
      for (const message of detector.feed(source.slice(at, end))) found.push(message);
      at = end;
    }
    for (const message of detector.end()) found.push(message);
    found.sort((a, b) => a.line - b.line);
    return isDeepStrictEqual(found, whole)
      ? []
      : [`in pieces: expected ${outline(whole)}, got ${outline(found)} (${typeof source}, up to ${most})`];
  });
}

/** Bytes cannot hold half of a surrogate pair. */
const isWellFormed = (text: string): boolean => !/\p{Surrogate}/u.test(text);

const outline = (found: readonly Found[]): string =>
  found
    .map(({ line, dialect, kind, valid }) => `${line}:${dialect}/${kind}${valid ? '' : '!'}`)
    .join(' ')
    .slice(0, 300);

function wellFormed(message: Found): string[] {
  const broken: string[] = [];
  if (!DIALECTS.includes(message.dialect)) broken.push(`a dialect ${message.dialect}`);
  if (message.valid === message.problems.some(({ severity }) => severity === 'error'))
    broken.push('valid with an error');
  if (message.problems.length > 450) broken.push(`${message.problems.length} problems`);
  for (const { severity, code, path, message: sentence } of message.problems) {
    if (severity !== 'error' && severity !== 'warning') broken.push(`a severity ${severity}`);
    if (!Object.hasOwn(ERRORS, code)) broken.push(`a code ${code}`);
    if (!/^(?:\/(?:[^~/]|~[01])*)*$/u.test(path)) broken.push(`a path ${JSON.stringify(path)}`);
    if (sentence.trim() === '' || /[\r\n\x1b]/.test(sentence)) broken.push(`a sentence ${JSON.stringify(sentence)}`);
  }
  JSON.stringify(message);
  return broken;
}

function inOrder(text: string, found: readonly Found[]): string[] {
  const last = text.split(/\r\n|\r|\n/).length;
  const isOut = found.some(({ line }, i) => line < 1 || line > last || line < (found[i - 1]?.line ?? 1));
  if (found.length === 0) return ['nothing was found, not even that there is nothing'];
  return isOut ? [`lines out of order: ${outline(found)}`] : [];
}

/** What is valid is written and read as the same. */
function readsBack({ dialect, kind, value }: Found): string[] {
  const lines = written(dialect, kind, value);
  return lines.flatMap((line) => {
    const [back, more] = detect(line, OPTIONS);
    const isSame = more === undefined && back?.valid === true && isDeepStrictEqual(plain(back.value), plain(value));
    return isSame ? [] : [`${dialect} ${kind} does not read back: ${JSON.stringify(line).slice(0, 300)}`];
  });
}

/** JSON has no negative zero. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

function written(dialect: Found['dialect'], kind: string | null, value: unknown): string[] {
  if (dialect === 'aop2') return [JSON.stringify(value)];
  if (dialect === 'aof') return [encodeAof(value as AofEnvelope), encodeAof(value as AofEnvelope, 'text')];
  if (dialect === 'output') {
    return [kind === 'OUTPUT' ? encodeOutput(value as Output) : encodeGraphUpdate(value as GraphUpdate)];
  }
  if (dialect !== 'command') return [];
  const encoded = encodeCommand(value as Command, OPTIONS);
  return [encoded.ok ? encoded.line : `(refused: ${encoded.problem.message})`];
}

/** The schema that is printed says the same as the check that was compiled from it. */
function judgedBySchema({ dialect, kind, value, valid, problems }: Found): string[] {
  const schema = schemaOf(dialect, kind);
  if (schema === null || value === null) return [];
  if (dialect === 'aop2' && isLater(String((value as Record<string, unknown>)['aop_version']))) return [];
  const { success } = schema.safeParse(value);
  if (valid && !success) return [`${dialect} ${kind} is valid, and not by its schema`];
  const isOfSchema = problems.some(({ severity, code }) => severity === 'error' && /SCHEMA|MALFORMED/.test(code));
  const isBeyond = dialect === 'aof' || JSON.stringify(value).includes('__proto__');
  return success && isOfSchema && !isBeyond ? [`${dialect} ${kind} is invalid, and valid by its schema`] : [];
}

function schemaOf(dialect: Found['dialect'], kind: string | null): z.ZodType | null {
  if (dialect === 'v1' || dialect === 'unstructured') return null;
  const { schemas } = PARTS[dialect];
  return (Object.hasOwn(schemas, kind ?? '') && schemas[kind ?? '']) || null;
}

const READ_AS = new Map<Target, string>([
  ['task', 'aop2 TASK'],
  ...REPORTS.map(({ name, kind, to }) => [to as Target, `${name} ${kind}`] as const),
]);

/** What converts is valid, is of the dialect it is said to be, and converts to itself; where something was lost, from the second time on. */
function converts(found: readonly Found[], target: Target): string[] {
  const once = convert(found, target, CONTEXT);
  if ('problem' in once) return [];
  const text = textOf(once);
  const back = detect(text, OPTIONS);
  const failed = (what: string): string[] => [`convert to ${target}: ${what}: ${JSON.stringify(text).slice(0, 300)}`];
  if (target === 'task') agentPrompt(once.output as TaskMessage);
  if (once.event && !detect(JSON.stringify(once.event)).every(({ valid }) => valid)) return failed('an invalid event');
  // A prompt is for people and models: what it holds may be a message of its own.
  if (target === 'prompt') return [];
  const isRead = back.some(({ dialect, kind, valid }) => valid && `${dialect} ${kind}` === READ_AS.get(target));
  if (!isRead) return failed(`reads as ${outline(back)}`);
  const twice = convert(back, target, CONTEXT);
  if ('problem' in twice) return failed(twice.problem.message);
  const isWhole = once.lost.every((field) => field.startsWith('/'));
  if (isWhole && textOf(twice) !== text) return failed(`then ${JSON.stringify(textOf(twice)).slice(0, 300)}`);
  const thrice = convert(detect(textOf(twice), OPTIONS), target, CONTEXT);
  if ('problem' in thrice) return failed(thrice.problem.message);
  return textOf(thrice) === textOf(twice) ? [] : failed(`and then ${JSON.stringify(textOf(thrice)).slice(0, 300)}`);
}

const textOf = ({ output }: Converted): string => (typeof output === 'string' ? output : JSON.stringify(output));
