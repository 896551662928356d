/** Reading the journal: a task's records, its texts, and everything after a record. */
import { BatonError } from '../../core/errors.ts';
import { mergeDocuments } from '../../core/graph-queries.ts';
import type { EventQuery, StoredRecord, WholeNode } from '../../core/store.ts';
import { expandTask, type SparseTask, type Task } from '../../core/task.ts';
import { withoutDocuments } from '../decide-ask.ts';
import { touches } from '../memory.ts';
import type { Signal } from '../signal.ts';
import { readText } from './content.ts';
import type { Disk } from './disk.ts';
import type { Folded } from './folded.ts';
import type { Journal } from './journal.ts';
import { journalLines, openRecordCache, placeAfter, type ReadRecord } from './journal-files.ts';
import type { Layout } from './layout.ts';
import { decodeLine, type Line, type StoredChange, type StoredText } from './record.ts';

export interface Reader {
  /** A task's records, newest first, as they stand in the journal. */
  linesOf(id: string): Generator<Line>;
  history(id: string): StoredRecord[];
  text(id: string, name: string): string | null;
  /** Of the files in a task's folder, those that were given to it. */
  textNames(id: string): string[];
  /** All that was written of a node and is durable, as one. With a reader of its own, many are read one after another. */
  document(id: string, read?: ReadRecord): WholeNode['document'];
  /** The task as a record left it. */
  asOf(id: string, seq: number): { readonly task: Task; readonly body: string } | undefined;
  eventsAfter(query: EventQuery, closing: AbortSignal): AsyncGenerator<StoredRecord>;
  /** The tasks that were touched after a record. */
  touchedAfter(seq: number): Set<string>;
}

export function createReader(
  disk: Disk,
  layout: Layout,
  folded: () => Folded,
  journal: () => Journal,
  written: Signal,
): Reader {
  const whole = (name: string, text: StoredText): string => {
    const found = readText(disk, layout, text);
    if (found !== null) return found;
    const sha256 = typeof text === 'string' ? '' : text.sha256;
    throw new BatonError('E_STORE_DAMAGED', `the text ${name} is gone or changed: content ${sha256} in ${layout.root}`);
  };

  /** A record is told also where a text of it is gone. */
  const wholeOrGone = (text: StoredText): string =>
    readText(disk, layout, text) ?? `[gone: ${typeof text === 'string' ? '' : text.sha256}]`;

  const textsOf = (line: Line | null, id: string): StoredChange['texts'] =>
    line?.changes.find(({ task }) => task === id)?.texts;

  /** Without what only the journal needs to know. */
  const recordOf = ({ back: _, batch: __, hash: ___, changes, graph, ...rest }: Line): StoredRecord => ({
    ...rest,
    ...(graph === undefined ? {} : { graph: withoutDocuments(graph) }),
    changes: changes.map(({ texts, ...change }) =>
      texts === undefined
        ? change
        : {
            ...change,
            texts: Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, wholeOrGone(text)])),
          },
    ),
  });

  /** The records that name each other under one key, newest first. What is not durable yet is passed by. */
  function* chain(key: string, last: number | undefined, read: ReadRecord): Generator<Line> {
    let place = last;
    while (place !== undefined && place > 0) {
      const flying = journal().backOf(place);
      if (flying !== undefined) {
        place = flying[key];
        continue;
      }
      const line = read(place);
      // Damaged, and passed over when the folder was repaired; `baton audit verify` names it.
      if (line === null) return;
      yield line;
      place = line.back[key];
    }
  }

  const readOne = openRecordCache(disk, layout);
  const linesOf = (id: string): Generator<Line> => chain(id, folded().places.get(id)?.last, readOne);

  /** What a record says of a node, oldest first, from where it was written anew; and whether it was. */
  const documentsIn = (line: Line, id: string): { readonly texts: StoredText[]; readonly isNew: boolean } => {
    const texts: StoredText[] = [];
    let isNew = false;
    for (const change of line.graph ?? []) {
      if (change.kind !== 'node' || change.node !== id || change.document === null) continue;
      if (change.document.isNew) texts.length = 0;
      isNew ||= change.document.isNew;
      texts.push(change.document.text);
    }
    return { texts, isNew };
  };

  return {
    linesOf,
    history: (id) => [...linesOf(id)].reverse().map(recordOf),
    text(id, name) {
      const body = folded().places.get(id)?.body ?? 0;
      if (name === 'body' && body === 0) return null;
      const isThere = name === 'body' && journal().backOf(body) === undefined;
      for (const line of isThere ? [readOne(body)] : linesOf(id)) {
        const texts = textsOf(line, id) ?? {};
        if (Object.hasOwn(texts, name)) return whole(name, texts[name] as StoredText);
      }
      return null;
    },
    textNames(id) {
      const names = new Set<string>();
      for (const line of linesOf(id)) for (const name of Object.keys(textsOf(line, id) ?? {})) names.add(name);
      names.delete('body');
      return [...names];
    },
    document(id, read = readOne) {
      const found: StoredText[] = [];
      for (const line of chain(`node:${id}`, folded().nodePlaces.get(id), read)) {
        const { texts, isNew } = documentsIn(line, id);
        found.unshift(...texts);
        if (isNew) break;
      }
      return mergeDocuments(found.map((text) => JSON.parse(whole(`of node ${id}`, text)) as WholeNode['document']));
    },
    asOf(id, seq) {
      let set: Partial<Task> = {};
      let body: StoredText | undefined;
      for (const line of linesOf(id)) {
        if (line.seq > seq) continue;
        const change = line.changes.find(({ task }) => task === id);
        set = { ...change?.set, ...set };
        body ??= change?.texts?.['body'];
      }
      if (set.id === undefined) return undefined;
      return { task: expandTask(set as SparseTask), body: body === undefined ? '' : whole('body', body) };
    },
    async *eventsAfter({ after, task, session, follow }, closing) {
      const until = follow === undefined ? null : AbortSignal.any([follow, closing]);
      const end = journal().end;
      let seq = after;
      let from: { readonly day: string | null; readonly size: number } =
        after >= end.seq ? end : placeAfter(disk, layout, after, end);
      for (;;) {
        const to = journal().end;
        for (const { line } of journalLines(disk, layout, from, to)) {
          const found = decodeLine(line.text);
          // Damaged, and passed over when the folder was repaired; `baton audit verify` names it.
          if (found === null) continue;
          if (found.seq <= seq) continue;
          seq = found.seq;
          const record = recordOf(found);
          if (task !== undefined && !touches(record, task)) continue;
          if (session === undefined || record.session === session) yield record;
        }
        from = to;
        if (until === null || !(await written.wait(until, () => journal().end.seq > to.seq))) return;
      }
    },
    touchedAfter(seq) {
      const ids = new Set<string>();
      const { end } = journal();
      if (seq >= end.seq) return ids;
      for (const { line } of journalLines(disk, layout, placeAfter(disk, layout, seq, end), end)) {
        const record = decodeLine(line.text);
        if (record !== null && record.seq > seq) for (const { task } of record.changes) ids.add(task);
      }
      return ids;
    },
  };
}
