/** The door of a run from the other side of its socket: what `baton mcp` and `baton send` use within a run. */
import { createConnection } from 'node:net';
import { BatonError, isErrorCode } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import { DOOR_INPUTS, type DoorMethod } from './door-inputs.ts';
import { encodeCall } from './door-wire.ts';
import type { Door } from './doors.ts';

interface ConnectedDoor extends Door {
  close(): Promise<void>;
}

interface Waiting {
  resolve(value: unknown): void;
  reject(cause: BatonError): void;
}

/** Throws where nobody listens there: the run has ended. */
export async function connectDoor(socketPath: string): Promise<ConnectedDoor> {
  const socket = createConnection(socketPath);
  const waiting = new Map<number, Waiting>();
  let failure: BatonError | null = null;
  let count = 0;
  let held = '';

  const gone = (why: string): BatonError =>
    new BatonError('E_STALE_RUN', `the socket of this run does not answer: ${why}`, 'the run has ended');
  const fail = (cause: BatonError): void => {
    failure ??= cause;
    for (const { reject } of waiting.values()) reject(failure);
    waiting.clear();
  };

  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', (cause) => reject(gone(cause.message)));
  });
  socket.setEncoding('utf8');
  socket.on('data', (chunk) => {
    held += String(chunk);
    const lines = held.split('\n');
    held = lines.pop() ?? '';
    for (const line of lines) answer(line);
  });
  socket.on('error', (cause) => fail(gone(cause.message)));
  socket.on('close', () => fail(gone('it was closed')));

  const answer = (line: string): void => {
    const said = parseJson(line);
    if (!isFields(said) || typeof said['id'] !== 'number') return;
    const asked = waiting.get(said['id']);
    waiting.delete(said['id']);
    const { error } = said;
    if (!isFields(error)) return asked?.resolve(said['result']);
    const code = String(error['code']);
    const hint = typeof error['hint'] === 'string' ? error['hint'] : null;
    asked?.reject(new BatonError(isErrorCode(code) ? code : 'E_UNKNOWN', String(error['message']), hint));
  };

  const call = <T>(method: DoorMethod, args: unknown): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      if (failure !== null) return reject(failure);
      const id = ++count;
      waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      socket.write(encodeCall(id, method, args));
    });

  const methods = Object.keys(DOOR_INPUTS).map((name) => [name, (ask: unknown) => call(name as DoorMethod, ask)]);
  return {
    ...(Object.fromEntries(methods) as Door),
    close: () =>
      new Promise((resolve) => {
        if (socket.destroyed) return resolve();
        socket.once('close', () => resolve());
        socket.destroy();
      }),
  };
}
