/** Messages as agents send them, and who may send them, for the tests of the router and its doors. */
import type { Sender } from '../../src/runtime/doors.ts';

let number = 0;

/** An aof envelope on one line. */
export const aof = (type: string, taskId: string, payload: object, more: object = {}): string =>
  JSON.stringify({
    protocol: 'aof',
    version: 1,
    type,
    taskId,
    fromAgent: 'emma',
    sentAt: '2026-11-16T10:00:00.000Z',
    ...(type.startsWith('handoff.') ? { toAgent: 'qa' } : {}),
    ...more,
    payload,
  });

export const newId = (): string => `m-${++number}`;

export const USER: Sender = { channel: 'cli', run: null, agent: null, actor: { kind: 'person', name: 'user' } };
export const as = (agent: string): Sender => ({
  channel: 'cli',
  run: null,
  agent,
  actor: { kind: 'person', name: `user as ${agent}` },
});
export const ofRun = (run: string, agent: string): Sender => ({
  channel: 'socket',
  run,
  agent,
  actor: { kind: 'agent', name: agent },
});
export const NOBODY: Sender = {
  channel: 'inbox',
  run: null,
  agent: null,
  actor: { kind: 'unknown', name: 'somebody, in the inbox' },
};

export const event = (kind: string, taskId: string, more: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    message_type: 'EVENT',
    event: kind,
    session_id: 'default',
    task_id: taskId,
    timestamp: '2026-11-16T10:00:00Z',
    ...more,
  });
