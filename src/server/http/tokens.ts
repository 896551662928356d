/**
 * Who speaks over HTTP is known by a token. The person's lies in a file of the data folder that only this user reads, and stays the same until it
 * is removed; each run has one of its own, held in memory and good until the run ends.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import type { HttpDoor } from '../../runtime/host.ts';

interface RunCaller {
  readonly kind: 'run';
  readonly run: string;
  readonly task: string;
  readonly agent: string;
}
export interface PersonCaller {
  readonly kind: 'person';
  /** Nobody can tell whether it is the person, or an agent that has read the token. */
  readonly isUnsure?: boolean;
}
export type Caller = PersonCaller | RunCaller;

export interface Tokens extends Pick<HttpDoor, 'open' | 'close'> {
  /** Null for a token that nobody has. */
  caller(token: string): Caller | null;
}

const BYTES = 32;
const PERSON: Caller = { kind: 'person' };
const newToken = (): string => randomBytes(BYTES).toString('base64url');
const digest = (token: string): Buffer => createHash('sha256').update(token).digest();

export function createTokens(person: string): Tokens {
  const expected = digest(person);
  /** By the hash of the token: how long a look takes says nothing about the tokens that are there. */
  const callers = new Map<string, RunCaller>();
  const hashes = new Map<string, string>();
  const close = (run: string): void => {
    const hash = hashes.get(run);
    if (hash !== undefined) callers.delete(hash);
    hashes.delete(run);
  };
  return {
    open({ id, task, agent }) {
      close(id);
      const token = newToken();
      const hash = digest(token).toString('hex');
      callers.set(hash, { kind: 'run', run: id, task, agent });
      hashes.set(id, hash);
      return token;
    },
    close,
    caller(token) {
      const given = digest(token);
      if (timingSafeEqual(given, expected)) return PERSON;
      return callers.get(given.toString('hex')) ?? null;
    },
  };
}

export const tokenFile = (dir: string): string => join(dir, 'serve.token');

/** The person's token, made where there is none yet, or where others could have read the one that is there. */
export function personToken(dir: string): string {
  const path = tokenFile(dir);
  const kept = readToken(path);
  if (kept !== null) return kept;
  const token = newToken();
  const { O_WRONLY, O_CREAT, O_EXCL } = constants;
  const file = openSync(path, O_WRONLY | O_CREAT | O_EXCL, 0o600);
  try {
    writeSync(file, `${token}\n`);
  } finally {
    closeSync(file);
  }
  return token;
}

const FORM = /^[\w-]{43}\n?$/;
const OTHERS = 0o077;

function readToken(path: string): string | null {
  let file: number;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    throw new BatonError(
      'E_STORE_FORM',
      `expected a readable file with the token at ${path}, got ${code ?? 'an error'}`,
      'remove it, and a new one is made',
    );
  }
  try {
    const found = fstatSync(file);
    if (!found.isFile())
      throw new BatonError('E_STORE_FORM', `expected a file with the token at ${path}, got something else`);
    const bytes = Buffer.alloc(64);
    const text = bytes.toString('utf8', 0, readSync(file, bytes, 0, 64, 0));
    // Windows has no such bits.
    const isOpen = process.platform !== 'win32' && (found.mode & OTHERS) !== 0;
    if (FORM.test(text) && !isOpen) return text.trim();
  } finally {
    closeSync(file);
  }
  unlinkSync(path);
  return null;
}
