/** What a person has typed at the session's prompt, kept in the data folder from one time to the next. Only this user may read it. */

import { appendFileSync, closeSync, fstatSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../core/errors.ts';
import { redact } from '../core/redact.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { readIfThere } from './config-file.ts';

export const MOST_LINES = 1_000;
const MOST_BYTES = 256 * 1024;
const MOST_CHARS = 2_000;

interface History {
  /** The newest first, as readline has it. */
  readonly lines: string[];
  add(line: string): void;
}

export function openHistory(dir: string, warn: (text: string) => void): History {
  const path = join(dir, 'history');
  // A history that cannot be read or written must not keep anybody from speaking; it is said once.
  let isBroken = false;
  const careful = <T>(work: () => T, otherwise: T): T => {
    if (isBroken) return otherwise;
    try {
      return work();
    } catch (cause) {
      isBroken = true;
      warn(`what is typed here is not remembered: ${messageOf(cause)}`);
      return otherwise;
    }
  };
  const kept = careful(() => lastLines(path), []);
  let last = kept.at(-1) ?? '';
  return {
    lines: [...kept].reverse(),
    add(line) {
      const plain = stripControls(line).trim();
      // What may be a secret is not kept; neither is the same thing twice in a row.
      if (plain === '' || plain === last || plain.length > MOST_CHARS || redact(plain) !== plain) return;
      last = plain;
      careful(() => appendFileSync(path, `${plain}\n`, { mode: 0o600 }), undefined);
    },
  };
}

/** Of a file that has grown too long the beginning goes. */
function lastLines(path: string): string[] {
  const text = readIfThere(path) === null ? '' : endOf(path);
  const lines = text.split('\n').filter((line) => line !== '');
  const kept = lines.slice(-MOST_LINES);
  if (lines.length > kept.length || text.length >= MOST_BYTES) {
    writeFileSync(path, `${kept.join('\n')}\n`, { mode: 0o600 });
  }
  return kept.map(stripControls);
}

function endOf(path: string): string {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const length = Math.min(size, MOST_BYTES);
    const bytes = Buffer.alloc(length);
    readSync(file, bytes, 0, length, size - length);
    const text = bytes.toString('utf8');
    return size > length ? text.slice(text.indexOf('\n') + 1) : text;
  } finally {
    closeSync(file);
  }
}
