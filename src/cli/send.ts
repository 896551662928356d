/** `baton send`: protocol messages into the router. Within a run they go to the run's own socket, where they are the run's. */
import { createConnection } from 'node:net';
import { BatonError, messageOf } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import type { Actor } from '../core/laws/messages.ts';
import { speakingAs } from '../runtime/actor.ts';
import type { Routed, Sender } from '../runtime/doors.ts';
import { judgeClaims, openHost } from '../runtime/index.ts';
import { actorOf, refuseAsWithinRun, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { print, printJson, readText } from './io.ts';
import { writing } from './with-store.ts';

interface Options extends Globals {
  readonly as?: string;
  readonly token?: string;
}

export async function send(file: string, { as, token, ...globals }: Options): Promise<void> {
  const text = await readText(file);
  const socket = process.env['BATON_SOCKET'];
  refuseAsWithinRun(as);
  const answers =
    socket !== undefined && socket !== ''
      ? await overSocket(socket, text)
      : token !== undefined
        ? await overHttp(text, token, as)
        : await direct(text, globals, as);
  show(answers, globals.json);
}

/** As a person, as an agent on a person's word, or as a run that lost its socket. */
function direct(text: string, globals: Globals, as: string | undefined): Promise<readonly Routed[]> {
  return writing(globals, async (store, dir) => {
    const host = await openHost({ store, dir, config: readConfig(dir) });
    try {
      judgeClaims(host);
      const sender = (await runSender(store, dir, 'cli')) ?? personSender(await actorOf(store), as);
      return await host.router.take(text, sender);
    } finally {
      await host.close();
    }
  });
}

export function personSender(actor: Actor, as: string | undefined): Sender {
  if (as === undefined) return { channel: 'cli', run: null, agent: null, actor };
  if (actor.kind !== 'person') {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      '--as is for people, and nobody can tell this from what a run has started',
      'say it from a terminal',
    );
  }
  return { channel: 'cli', run: null, ...speakingAs(actor, as) };
}

export function overSocket(path: string, text: string): Promise<readonly Routed[]> {
  return new Promise((resolve, reject) => {
    let said = '';
    const socket = createConnection({ path, allowHalfOpen: true });
    socket.setEncoding('utf8');
    socket.on('connect', () => socket.end(text));
    socket.on('data', (chunk) => {
      said += String(chunk);
    });
    socket.on('end', () => {
      const answers = said
        .split('\n')
        .map(routedOf)
        .filter((answer) => answer !== null);
      if (answers.length > 0 || text.trim() === '') return resolve(answers);
      // A connection that ends without a word is no acknowledgement.
      const sentence = 'not acknowledged: the socket of this run was closed without an answer';
      reject(
        new BatonError('E_STALE_RUN', sentence, 'the run has ended, or its store failed: look before it is sent again'),
      );
    });
    socket.on('error', (cause) => {
      const sentence = `the socket of this run does not answer: ${cause.message}`;
      reject(new BatonError('E_STALE_RUN', sentence, 'the run has ended'));
    });
  });
}

function routedOf(line: string): Routed | null {
  const said = parseJson(line);
  return isFields(said) && typeof said['result'] === 'string' ? (said as unknown as Routed) : null;
}

/** To the Baton that listens there; the token says who speaks. */
async function overHttp(text: string, token: string, as: string | undefined): Promise<readonly Routed[]> {
  const url = process.env['BATON_URL'];
  if (url === undefined || url === '') {
    throw new BatonError('E_USAGE', 'expected BATON_URL with --token: it says where baton serve listens');
  }
  const place = new URL('/v1/messages', url);
  if (as !== undefined) place.searchParams.set('as', as);
  const response = await fetch(place, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: text,
  }).catch((cause: unknown) => {
    const reason = messageOf(cause);
    throw new BatonError('E_NOT_FOUND', `nothing answers at ${url}: ${reason}`, 'is baton serve running?');
  });
  const said: unknown = await response.json().catch(() => null);
  if (response.status === 401 || response.status === 403) {
    throw new BatonError('E_PERMISSION_DENIED', `the token is not accepted at ${url}`);
  }
  if (!Array.isArray(said))
    throw new BatonError('E_UNKNOWN', `expected answers from ${url}, got HTTP ${response.status}`);
  return said.filter(isFields) as unknown as Routed[];
}

/** One answer for one message; of several the worst, with all of them beside it. */
function show(answers: readonly Routed[], json: boolean): void {
  const ours = answers.filter(({ result }) => result !== 'ignored');
  const all = ours.length > 0 ? ours : answers.slice(0, 1);
  const worst = WORST.flatMap((result) => all.filter((answer) => answer.result === result))[0];
  const { result, reason, task } = worst ?? { result: 'ignored' as const, reason: 'it holds no message', task: null };
  const events = all.flatMap((answer) => answer.events);
  if (json) printJson({ result, reason, task, events, ...(all.length > 1 ? { messages: all } : {}) });
  else for (const answer of all) print(line(answer));
  if (result === 'rejected') process.exitCode = 3;
}

const WORST: readonly Routed['result'][] = ['rejected', 'unknown', 'accepted', 'ignored'];

const line = ({ result, reason, task, events }: Routed): string =>
  [
    result,
    ...(task === null ? [] : [task]),
    ...(reason === null ? [] : [reason]),
    ...(events.length === 0 ? [] : [`(${events.join(', ')})`]),
  ].join(' ');
