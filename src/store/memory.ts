/** The store that forgets: the same laws and answers, nothing on disk. For tests, and for what need not outlive its process. */

import { BatonError } from '../core/errors.ts';
import { fitsFilter, hasText, lineageOf, mergeDocuments, wholeNode } from '../core/graph-queries.ts';
import type { Facts } from '../core/laws/decision.ts';
import type { Node } from '../core/node.ts';
import { createState } from '../core/state.ts';
import type { Store, StoredRecord, WholeNode } from '../core/store.ts';
import { isRunning, taskOfRun } from '../core/task.ts';
import {
  answerChanged,
  answerSame,
  decideAsk,
  findEdges,
  findQuestions,
  findTask,
  inOrder,
  withoutDocuments,
} from './decide-ask.ts';
import { createSignal } from './signal.ts';

export function openMemoryStore({ now = Date.now }: { now?: () => number } = {}): Store {
  const state = createState();
  const records: StoredRecord[] = [];
  const texts = new Map<string, string>();
  /** What was written of each node, oldest first. */
  const documents = new Map<string, WholeNode['document'][]>();
  const written = createSignal();
  const closing = new AbortController();
  const ready = (): void => {
    if (closing.signal.aborted) throw new BatonError('E_STORE_FAILED', 'the store is closed');
  };

  const keepDocuments = ({ graph = [] }: Facts): void => {
    for (const change of graph) {
      if (change.kind !== 'node' || change.document === null) continue;
      const before = change.document.isNew ? [] : (documents.get(change.node) ?? []);
      documents.set(change.node, [...before, JSON.parse(change.document.text)]);
    }
  };
  const whole = (node: Node): WholeNode => wholeNode(state.graph, node, mergeDocuments(documents.get(node.id) ?? []));

  return {
    async send(ask) {
      ready();
      const decision = decideAsk(state, ask, now());
      if (decision.kind === 'refused') return decision;
      if (decision.kind === 'same') return answerSame(state, decision.about);
      state.apply(decision.facts);
      for (const change of decision.facts.changes) {
        for (const [name, text] of Object.entries(change.texts ?? {})) texts.set(`${change.task}/${name}`, text);
      }
      keepDocuments(decision.facts);
      const { graph, ...facts } = decision.facts;
      const told = graph === undefined ? facts : { ...facts, graph: withoutDocuments(graph) };
      records.push({ ...told, seq: records.length + 1 });
      written.raise();
      return answerChanged(state, decision.facts);
    },
    async alive(run) {
      const task = state.task(taskOfRun(run) ?? '');
      if (task === undefined || !isRunning(task) || task.run?.id !== run) return false;
      state.alive(task.run, now());
      return true;
    },
    find: async (id, session) => findTask(state, id, session),
    async *tasks({ status, session } = {}) {
      for (const task of inOrder(state.all())) {
        if (status !== undefined && !status.includes(task.status)) continue;
        if (session === undefined || task.session === session) yield task;
      }
    },
    text: async (id, name) => texts.get(`${id}/${name}`) ?? null,
    async node(id) {
      const node = state.graph.node(id);
      return node === undefined ? undefined : whole(node);
    },
    async *nodes(filter = {}) {
      const { text, after } = filter;
      let isBehind = after === undefined;
      for (const node of [...state.graph.all()]) {
        if (isBehind && fitsFilter(node, filter)) {
          const found = whole(node);
          if (text === undefined || hasText(node, found.document, text)) yield found;
        }
        isBehind ||= node.id === after;
      }
    },
    lineage: async (id, query) => lineageOf(state.graph, id, query),
    edges: async (id) => findEdges(state, id),
    question: async (id) => state.question(id),
    questions: async (filter) => findQuestions(state, filter),
    session: async (id) => state.session(id)?.json(),
    sessions: async () => [...state.sessions()].map((session) => session.json()),
    history: async (id) => records.filter((record) => touches(record, id)),
    async *eventsAfter({ after, task, session, follow }) {
      const until = follow === undefined ? undefined : AbortSignal.any([follow, closing.signal]);
      for (let seq = after; ; ) {
        for (; seq < records.length; seq++) {
          const record = records[seq] as StoredRecord;
          if (task !== undefined && !touches(record, task)) continue;
          if (session === undefined || record.session === session) yield record;
        }
        if (until === undefined || !(await written.wait(until, () => seq < records.length))) return;
      }
    },
    lastRecord: async () => records.length,
    verify: async () => ({ ok: true, records: records.length, brokenAt: null }),
    examine: async () => [],
    settled: async () => {},
    close: async () => closing.abort(),
  };
}

/** Whether a record changed a task or speaks of it. */
export const touches = (record: StoredRecord, id: string): boolean =>
  record.changes.some((change) => change.task === id) || record.events.some((event) => event.task === id);
