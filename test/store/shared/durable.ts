/** A small durable store for these tests: one JSON line a record, written before it is answered, request ids remembered. Slow on purpose. */
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { BatonError } from '../../../src/core/errors.ts';
import type { Answer, Ask, Store, StoredRecord } from '../../../src/core/store.ts';
import type { Task } from '../../../src/core/task.ts';
import { compareTaskIds, expandTask, taskId } from '../../../src/core/task.ts';

export interface DurableOptions {
  /** Slept before and after each write, at most. */
  readonly slowMs?: number;
  /** Told of each item that somebody took out of a stream. */
  readonly onRead?: () => void;
  /** Told of each list that was let go of, read to its end or not. */
  readonly onEnd?: () => void;
  readonly onClose?: () => void;
}

export interface Line {
  readonly request: string;
  readonly record: StoredRecord;
  readonly tasks: readonly Task[];
}

const DAY = '2026-01-01';

export const readLines = (file: string): Line[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line) as Line)
    : [];

export async function openDurable(file: string, options: DurableOptions = {}): Promise<Store> {
  if (existsSync(file)) truncateSync(file, readFileSync(file).lastIndexOf(10) + 1);
  const lines = readLines(file);
  const answers = new Map(lines.map((line) => [line.request, line.tasks]));
  const tasks = new Map(lines.flatMap((line) => line.tasks.map((task) => [task.id, task] as const)));
  const waiting = new Set<() => void>();
  const nap = async (): Promise<void> => {
    if (options.slowMs) await sleep(Math.random() * options.slowMs);
  };

  const add = (ask: Ask, request: string): readonly Task[] => {
    const known = answers.get(request);
    if (known) return known;
    if (ask.message.type !== 'task.add') throw new TypeError('only task.add here');
    const made = ask.message.tasks.map(({ title }, i) =>
      expandTask({
        id: taskId(DAY, tasks.size + 1 + i),
        title,
        status: 'ready',
        createdAt: 1,
        createdBy: ask.by.name,
        updatedAt: 1,
        lastTransitionAt: 1,
      }),
    );
    const record: StoredRecord = {
      seq: lines.length + 1,
      at: 1,
      session: 'default',
      by: ask.by,
      events: made.map(({ id }) => ({ type: 'task.added', task: id })),
      changes: [],
      about: made.map(({ id }) => id),
    };
    const line = { request, record, tasks: made };
    appendFileSync(file, `${JSON.stringify(line)}\n`);
    lines.push(line);
    answers.set(request, made);
    for (const task of made) tasks.set(task.id, task);
    for (const wake of waiting) wake();
    return made;
  };

  return {
    async send(ask): Promise<Answer> {
      await nap();
      if (ask.request === undefined) throw new TypeError('a send without a request id');
      if (ask.message.type === 'note') throw new BatonError('E_NOT_FOUND', 'There is no such note.', 'Write one.');
      if (ask.message.type === 'task.cancel') {
        return { kind: 'refused', refusal: { code: 'E_NOT_FOUND', message: 'There is no such task.', hint: null } };
      }
      const made = add(ask, ask.request);
      await nap();
      return { kind: 'changed', tasks: made };
    },
    alive: async (run) => run === 'there',
    async find(id, session) {
      if (session === null) throw new TypeError('a session of null');
      return tasks.get(id);
    },
    async *tasks(filter) {
      try {
        for (const task of [...tasks.values()].sort((a, b) => compareTaskIds(a.id, b.id))) {
          if (filter?.status && !filter.status.includes(task.status)) continue;
          options.onRead?.();
          yield task;
        }
      } finally {
        options.onEnd?.();
      }
    },
    text: async (id, name) => (name === 'body' ? `body of ${id}` : name === 'huge' ? 'x'.repeat(70_000_000) : null),
    node: async () => undefined,
    async *nodes() {},
    lineage: async () => undefined,
    edges: async () => [],
    question: async () => undefined,
    questions: async () => [],
    session: async () => undefined,
    sessions: async () => [],
    history: async (id) => lines.filter(({ record }) => record.about.includes(id)).map(({ record }) => record),
    async *eventsAfter({ after, follow }) {
      for (let at = after; ; ) {
        for (let line = lines[at]; line !== undefined; line = lines[at]) {
          if (follow?.aborted) return;
          options.onRead?.();
          at += 1;
          yield line.record;
        }
        if (!follow || follow.aborted) return;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            follow.removeEventListener('abort', wake);
            resolve();
          };
          waiting.add(wake);
          follow.addEventListener('abort', wake);
        });
      }
    },
    lastRecord: async () => lines.length,
    verify: async (session) => ({ ok: session === undefined, records: lines.length, brokenAt: null }),
    examine: async () => [{ name: 'test', ok: true, detail: 'looked at' }],
    settled: async () => {},
    async close() {
      await nap();
      options.onClose?.();
    },
  };
}

export const adding = (title: string, request?: string): Ask => ({
  message: { type: 'task.add', tasks: [{ title }] },
  by: { kind: 'person', name: 'tester' },
  ...(request === undefined ? {} : { request }),
});
