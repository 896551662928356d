/** A command → its line; or the reason why no line says it. Nothing is written that would be read as something else. */
import { error, type Problem } from '../../core/problem.ts';
import type { Command } from './command.ts';
import { type DecodeOptions, readCommand } from './decode.ts';

export type Encoded = { readonly ok: true; readonly line: string } | { readonly ok: false; readonly problem: Problem };

/**
 * The inverse of decoding, by construction: the line is read back before it is given out. The language has no escapes, so a
 * value with a line break, with blanks at the line's end, or that ends in what reads as a modifier cannot be said; nor can a
 * limit without a parameter before it. A problem's path leads into the command that was given, not into what its line reads as.
 */
export function encodeCommand(command: Command, options: DecodeOptions = {}): Encoded {
  const line = writeCommand(command);
  const back = readCommand(line, options);
  const path = back.command === null ? '' : difference(command, back.command);
  const broken = back.problems.find((problem) => problem.severity === 'error');
  if (broken !== undefined) return { ok: false, problem: { ...broken, path: path ?? broken.path } };
  if (path === null) return { ok: true, line };
  return {
    ok: false,
    problem: error('E002', path, 'expected a value that one line can hold, got one that would read back differently'),
  };
}

export function writeCommand({ name, params, limit, persistent, from }: Command): string {
  const modifiers = persistent ? ['persistent'] : [];
  if (limit !== null) modifiers.push(typeof limit === 'number' ? `limit=${limit}` : limit);
  if (from !== undefined) modifiers.push(`from=${from}`);
  return [`#${name}`, ...params, ...modifiers].join(':');
}

/** Where the two differ, as a pointer; null where they are the same. */
function difference(a: Command, b: Command): string | null {
  if (a.name !== b.name) return '/name';
  const param = a.params.findIndex((value, i) => value !== b.params[i]);
  if (param >= 0) return `/params/${param}`;
  if (a.limit !== b.limit) return '/limit';
  if (a.persistent !== b.persistent) return '/persistent';
  if (a.from !== b.from) return '/from';
  return a.params.length === b.params.length ? null : '/params';
}
