/** Several shared stores of one folder in this process: to each other they are owner and clients as if they were processes. */
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Store } from '../../../src/core/store.ts';
import type { SharedOptions } from '../../../src/store/shared/open.ts';
import { openShared } from '../../../src/store/shared/open.ts';
import type { Place } from '../../../src/store/shared/place.ts';
import { findPlace } from '../../../src/store/shared/place.ts';
import type { Folder } from './crew.ts';
import { until } from './crew.ts';
import type { DurableOptions } from './durable.ts';
import { openDurable } from './durable.ts';

export interface Member extends Store {
  readonly roles: string[];
}

const open: Store[] = [];

export async function member(
  { dir, file, runtimeDir }: Folder,
  options: DurableOptions & Partial<SharedOptions> = {},
): Promise<Member> {
  const roles: string[] = [];
  const store = await openShared({
    dir,
    secret: 'secret',
    runtimeDir,
    openOwner: () => openDurable(file, options),
    onRole: (role) => roles.push(role),
    ...options,
  });
  open.push(store);
  return { ...store, roles };
}

export async function closeAll(): Promise<void> {
  for (const store of open.splice(0)) await store.close();
}

export const placeOf = ({ dir, runtimeDir }: Folder): Place => findPlace({ dir, runtimeDir, secret: 'secret' });

/** A connection without any manners. */
export interface Raw {
  readonly socket: Socket;
  /** What came, line by line. */
  readonly lines: Record<string, unknown>[];
  say(...lines: (string | object)[]): void;
}

export async function rawClient(place: Place): Promise<Raw> {
  const socket = connect({ path: place.socket });
  const lines: Record<string, unknown>[] = [];
  let rest = '';
  socket.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const line of parts) lines.push(JSON.parse(line) as Record<string, unknown>);
  });
  socket.on('error', () => socket.destroy());
  await until('it was greeted', () => lines.length > 0);
  return {
    socket,
    lines,
    say(...said) {
      for (const line of said) socket.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`);
    },
  };
}
