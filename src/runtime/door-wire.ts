/**
 * The door on a socket: a call is one line of JSON, `{"baton":1,"id":N,"call":"create","args":{…}}`, and so is its answer, `{"id":N,"result":…}` or
 * `{"id":N,"error":{"code","message","hint"}}`. All other lines are text, and may hold messages.
 */
import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod';
import { BatonError, messageOf } from '../core/errors.ts';
import { parseJson } from '../core/fields.ts';
import { checkInput, DOOR_INPUTS, type DoorMethod } from './door-inputs.ts';
import type { Door } from './doors.ts';

/** How every call begins, so that it is known by its first bytes. */
export const CALL_START = '{"baton":1,';
const MOST_CALL = 10 * 1024 * 1024;

export const encodeCall = (id: number, call: DoorMethod, args: unknown): string =>
  `${CALL_START}"id":${id},"call":${JSON.stringify(call)},"args":${JSON.stringify(args ?? {})}}\n`;

const Call = z.looseObject({ id: z.number(), call: z.string(), args: z.unknown() });

type CallAnswer =
  | { readonly id: number | null; readonly result: unknown }
  | {
      readonly id: number | null;
      readonly error: { readonly code: string; readonly message: string; readonly hint: string | null };
    };

/** Never throws: whatever goes wrong is the answer. */
export async function answerCall(door: Door, line: string, gone?: AbortSignal): Promise<CallAnswer> {
  const read = Call.safeParse(parseJson(line));
  if (!read.success)
    return failure(
      null,
      new BatonError('E_SCHEMA_VALIDATION', 'expected a call {"baton":1,"id","call","args"}, got another form'),
    );
  const { id, call, args } = read.data;
  try {
    return { id, result: await callDoor(door, call, args, gone) };
  } catch (cause) {
    return failure(id, cause);
  }
}

/** Calls a method by its name, with arguments that nobody has looked at. `gone` says that nobody waits for the answer any more. */
async function callDoor(door: Door, call: string, args: unknown, gone?: AbortSignal): Promise<unknown> {
  if (!Object.hasOwn(DOOR_INPUTS, call)) {
    throw new BatonError('E_NOT_FOUND', `there is no call ${call}`, `known: ${Object.keys(DOOR_INPUTS).join(', ')}`);
  }
  const method = call as DoorMethod;
  const input = args ?? {};
  checkInput(call, DOOR_INPUTS[method], input);
  return (door[method] as (ask: unknown, gone?: AbortSignal) => Promise<unknown>)(input, gone);
}

function failure(id: number | null, cause: unknown): CallAnswer {
  const error = cause instanceof BatonError ? cause : new BatonError('E_UNKNOWN', messageOf(cause));
  return { id, error: { code: error.code, message: error.message, hint: error.hint } };
}

interface SplitterOptions {
  text(piece: string): void;
  call(line: string): void;
  tooLong(): void;
}

/** Takes calls out of a stream of text, line by line; all else passes through as it comes. */
export function createSplitter({ text: pass, call, tooLong }: SplitterOptions): {
  feed(chunk: Uint8Array): void;
  end(): void;
} {
  const decoder = new StringDecoder('utf8');
  /** The beginning of a line that may be a call. */
  let held = '';
  let isText = false;

  const take = (piece: string): void => {
    for (let rest = piece; rest !== ''; ) {
      const end = rest.indexOf('\n');
      const line = end < 0 ? rest : rest.slice(0, end + 1);
      rest = rest.slice(line.length);
      if (isText) pass(line);
      else {
        held += line;
        const known = held.slice(0, CALL_START.length);
        if (!CALL_START.startsWith(known)) {
          isText = true;
          pass(held);
          held = '';
        } else if (held.length > MOST_CALL) return tooLong();
      }
      if (end < 0) continue;
      if (!isText) {
        if (held.length > CALL_START.length) call(held.trimEnd());
        else pass(held);
      }
      held = '';
      isText = false;
    }
  };
  return {
    feed: (chunk) => take(decoder.write(chunk as Buffer)),
    end() {
      take(decoder.end());
      if (held.length > CALL_START.length) call(held);
      else if (held !== '') pass(held);
      held = '';
    },
  };
}
