/** What the routes share: what they are given, who calls, and what a caller may reach. */
import type { ServerResponse } from 'node:http';
import type * as z from 'zod';
import { BatonError } from '../../core/errors.ts';
import type { Actor } from '../../core/laws/messages.ts';
import type { Task } from '../../core/task.ts';
import { agentActor, speakingAs } from '../../runtime/actor.ts';
import type { Channel, Door, Router, Sender } from '../../runtime/doors.ts';
import type { Host } from '../../runtime/host.ts';
import { findTask } from '../../runtime/lookup.ts';
import { fitting } from './body.ts';
import type { Feed } from './feed.ts';
import { STALL_MS, streamed } from './stream.ts';
import type { Caller } from './tokens.ts';

export interface Api {
  readonly host: Host;
  readonly router: Router;
  doorFor(sender: Sender, request?: string): Door;
  readonly feed: Feed;
  readonly stallMs?: number;
  /** Ends what would go on for ever. */
  readonly stopping: AbortSignal;
}

export interface Call {
  readonly request: Request;
  readonly caller: Caller;
  readonly url: URL;
  /** A parameter of the path, decoded. */
  param(name: string): string;
  /** Node's own answer; none where the app is called without a server. */
  readonly outgoing: ServerResponse | undefined;
}

const USER: Actor = { kind: 'person', name: 'user' };
/** What it does is done, and approves nothing. */
const UNSURE: Actor = { kind: 'unknown', name: 'user, over HTTP' };

/** The person behind a request; routes that ask for it are closed to runs. */
export const personOf = (caller: Caller): Actor => {
  if (caller.kind === 'run') throw new BatonError('E_PERMISSION_DENIED', `expected the person, got ${caller.run}`);
  return caller.isUnsure === true ? UNSURE : USER;
};

/** To speak for an agent is a person's word: while nobody can tell who has the token, it is not given. */
export function refuseUnsure(what: string): never {
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected a person for ${what}, and nobody can tell this from what a run has started`,
    'ask from a terminal, or from a process that began when nothing ran',
  );
}

export function senderOf(caller: Caller, channel: Channel, as?: string): Sender {
  if (caller.kind === 'run') {
    if (as !== undefined) throw new BatonError('E_PERMISSION_DENIED', 'expected a run to speak for itself, got "as"');
    return { channel, run: caller.run, agent: caller.agent, actor: agentActor(caller.agent) };
  }
  const actor = personOf(caller);
  if (as === undefined) return { channel, run: null, agent: null, actor };
  if (caller.isUnsure === true) refuseUnsure('"as"');
  return { channel, run: null, ...speakingAs(actor, as) };
}

/** A run reaches its own task and the children of it. */
export const mayReach = (caller: Caller, task: Pick<Task, 'id' | 'parentId'>): boolean =>
  caller.kind === 'person' || task.id === caller.task || task.parentId === caller.task;

export async function reachedTask({ host }: Api, call: Call, id: string): Promise<Task> {
  const task = await findTask(host.store, id, call.url.searchParams.get('session') ?? undefined);
  if (mayReach(call.caller, task)) return task;
  throw new BatonError(
    'E_PERMISSION_DENIED',
    `expected a run to ask for its own task or a child of it, got ${task.id}`,
  );
}

export const queryOf = <T extends z.ZodType>(schema: T, { url }: Call, lists: readonly string[] = []): z.output<T> => {
  const { searchParams } = url;
  const read = (name: string): unknown => (lists.includes(name) ? searchParams.getAll(name) : searchParams.get(name));
  // As own fields, whatever they are called: one that is set as `__proto__` is none, and nobody would find fault with it.
  const given = Object.fromEntries([...new Set(searchParams.keys())].map((name) => [name, read(name)]));
  return fitting(schema, given, 'query');
};

/** An answer that is made while it is read; `until` says that its reader is gone. */
export function stream(
  { stallMs = STALL_MS }: Api,
  { outgoing }: Call,
  type: string,
  pieces: (until: AbortSignal) => AsyncIterator<string | Uint8Array>,
): Response {
  const gone = new AbortController();
  // It may say nothing for long; who does not read is known by `stallMs`.
  outgoing?.setTimeout(0);
  return streamed(pieces(gone.signal), {
    type,
    stallMs,
    cutOff: () => void outgoing?.destroy(),
    onEnd: () => gone.abort(),
  });
}
