/** What must be so after a crash: opens the store on what is left, holds it to everything in the ledger, works on with it, and looks again. */
import { isDeepStrictEqual } from 'node:util';
import type { Ask, Store } from '../../../src/core/store.ts';
import type { Disk } from '../../../src/store/fs/disk.ts';
import type { Random } from '../../helpers/random.ts';
import { canonical, type Ledger, type Mark, requestOf } from './ledger.ts';
import { recordsOf, retell, type Told, textKey } from './retold.ts';
import { toldConsumers, toldDocument } from './retold-graph.ts';
import { textProblem, treeProblem } from './tree-check.ts';
import { ESCALATE, someNode } from './workload-graph.ts';

export interface CheckOptions {
  readonly disk: Disk;
  readonly dir: string;
  /** Takes in what is asked and answered here as well. */
  readonly ledger: Ledger;
  readonly enter: (mark: Mark) => void;
  readonly open: () => Promise<Store>;
  /** Where journals of this workload begin. */
  readonly start: Told;
  readonly random: Random;
  readonly hasTree: boolean;
  /** The power never went: then the files in the tasks' folders, which an agent may change at will, are as they were written. */
  readonly hadPower: boolean;
}

/** A promise that was broken. */
export class Broken extends Error {}

function must(isSo: boolean, say: () => string): asserts isSo {
  if (!isSo) throw new Broken(say());
}

const PERSON = { kind: 'person', name: 'after' } as const;
const RUNTIME = { kind: 'runtime', name: 'after' } as const;

const WORKED = 'after more work';

export async function check(options: CheckOptions): Promise<void> {
  const { disk, dir, random } = options;
  must(isWhole(disk.read(`${dir}/snapshot.jsonl`)), () => 'there is half a snapshot');
  must(isWhole(disk.read(`${dir}/graph.jsonl`)), () => 'there is half a graph');
  const store = await options.open();
  // Some cannot wait until the tree has been looked at.
  const isHasty = random.chance(0.3);
  if (isHasty) {
    const there = tell(options);
    await askAgain(store, there, options);
    await changeOne(store, there, options);
  }
  await store.settled();
  const found = await compare(store, options, 'after the crash');
  await compareDetails(store, found, options);
  await compareTree(store, found, options, 'after the crash');
  if (!isHasty) await askAgain(store, found, options);
  // One of three, so that there is time for many crashes.
  const way = random.below(3);
  if (way > 0) await workOn(store, options);
  await store.settled();
  if (way === 1) await compareTree(store, await compare(store, options, WORKED), options, WORKED);
  const told = tell(options);
  await store.close();
  if (way === 2) await openAgain(told, options);
  must(disk.stat(dir)?.kind === 'folder', () => 'the data folder is gone');
}

/** A store that was closed in good order has nothing to add. */
async function openAgain(told: Told, options: CheckOptions): Promise<void> {
  const when = 'after closing and opening';
  const store = await options.open();
  await store.settled();
  const reopened = await compare(store, options, when);
  must(reopened === told, () => `records ${told.seq} became ${reopened.seq} by closing and opening`);
  const { ok, records, brokenAt } = await store.verify();
  must(ok && records === told.seq, () => `${when}: verify says ${records} records, ${brokenAt?.reason}`);
  await compareTree(store, reopened, options, when);
  must(tell(options) === told, () => 'the tree, at rest, brought records');
  await store.close();
}

/** A snapshot has its name only when it is whole; one that is not would cost the next start the whole journal. */
const isWhole = (snapshot: Uint8Array | null): boolean =>
  snapshot === null ||
  (!snapshot.includes(0) &&
    Buffer.from(snapshot)
      .toString('utf8')
      .match(/\n"end"\n"seal \w{64}"\n$/) !== null);

const tell = ({ disk, dir, start, ledger }: CheckOptions): Told =>
  retell(disk, dir, start, (request) => ledger.asked.get(request));

/** The journal against the ledger, and memory against the journal. */
async function compare(store: Store, options: CheckOptions, when: string): Promise<Told> {
  const { ledger } = options;
  const told = tell(options);
  must(told.problem === null, () => `${when}: ${told.problem}`);
  for (const [request, count] of told.requests) must(count === 1, () => `${when}: ${request} acted ${count} times`);
  for (const [request, { kind }] of ledger.answered) {
    must(kind !== 'changed' || told.requests.has(request), () => `${when}: ${request} was acknowledged and is gone`);
  }
  for (const [request, { isGone }] of ledger.failed) {
    must(!isGone || !told.requests.has(request), () => `${when}: ${request} was said to have failed, and is there`);
  }
  const versions = new Set<string>();
  for (let at: Told | null = told; at !== null; at = at.before) for (const text of at.shown) versions.add(text);
  for (const [text, { id }] of ledger.shown) must(versions.has(text), () => `${when}: ${id} was shown as ${text}`);
  const ids: string[] = [];
  for await (const task of store.tasks()) {
    ids.push(task.id);
    const should = told.tasks.get(task.id);
    must(isDeepStrictEqual(task, should), () => `${when}: ${canonical(task)} should be ${canonical(should)}`);
  }
  must(
    isDeepStrictEqual(ids, [...told.tasks.keys()].sort(byDateAndNumber)),
    () => `${when}: there are the tasks ${ids.join(' ')}`,
  );
  await compareGraph(store, told, when);
  return told;
}

/** Every node with its document, every edge, every question. */
async function compareGraph(store: Store, { graph }: Told, when: string): Promise<void> {
  const ids: string[] = [];
  for await (const whole of store.nodes()) {
    const { document, consumers, effectiveConfidence: _, degree: __, ...node } = whole;
    ids.push(node.id);
    const should = graph.nodes.get(node.id);
    must(isDeepStrictEqual(node, should), () => `${when}: ${canonical(node)} should be ${canonical(should)}`);
    const written = toldDocument(graph.documents.get(node.id) ?? []);
    must(isDeepStrictEqual(document, written), () => `${when}: ${node.id} is written ${canonical(document)}`);
    const users = consumers.toSorted();
    must(isDeepStrictEqual(users, toldConsumers(graph, node.id)), () => `${when}: ${node.id} is used by ${users}`);
  }
  must(isDeepStrictEqual(ids, [...graph.nodes.keys()]), () => `${when}: there are the nodes ${ids.join(' ')}`);
  const edges = await store.edges();
  must(isDeepStrictEqual(edges, graph.edges), () => `${when}: there are the edges ${canonical(edges)}`);
  const questions = await store.questions();
  const asked = [...graph.questions.values()];
  must(isDeepStrictEqual(questions, asked), () => `${when}: there are the questions ${canonical(questions)}`);
}

const byDateAndNumber = (a: string, b: string): number =>
  a.slice(0, 15).localeCompare(b.slice(0, 15)) || Number(a.slice(16)) - Number(b.slice(16));

/** A text in a file of its own is lost more easily than one in a record. */
const LONG = 16 * 1024;

/** Texts, the long ones all, and all that is known of one task. */
async function compareDetails(store: Store, told: Told, { random }: CheckOptions): Promise<void> {
  for (const [key, text] of told.texts) {
    if (text.length * 3 < LONG && random.chance(0.7)) continue;
    const [task = '', name = ''] = key.split('\n');
    const there = await store.text(task, name);
    must(there === text, () => `the text ${name} of ${task} is ${there?.slice(0, 40)}, not ${text.slice(0, 40)}`);
  }
  const ids = [...told.tasks.keys()];
  if (ids.length === 0) return;
  const id = random.pick(ids);
  if (!told.texts.has(textKey(id, 'body'))) must((await store.text(id, 'body')) === null, () => `${id} has a body`);
  const seqs = (await store.history(id)).map(({ seq }) => seq);
  must(isDeepStrictEqual(seqs, recordsOf(told, id)), () => `the history of ${id} is ${seqs}`);
  if (random.chance(0.7)) return;
  const after = random.below(told.seq + 1);
  let seq = after;
  for await (const record of store.eventsAfter({ after }))
    must(record.seq === ++seq, () => `${record.seq} follows ${seq}`);
  must(seq === told.seq, () => `events end at ${seq}, not ${told.seq}`);
}

async function compareTree(store: Store, told: Told, options: CheckOptions, when: string): Promise<void> {
  await store.settled();
  if (!options.hasTree) return;
  const now = tell(options);
  must(now.tasks === told.tasks || isDeepStrictEqual(now.tasks, told.tasks), () => `${when}: the tree changed a task`);
  const { disk, dir, hadPower } = options;
  const problem = treeProblem(disk, dir, now) ?? (hadPower ? textProblem(disk, dir, now) : null);
  must(problem === null, () => `${when}: ${problem}`);
}

/** Whoever got no answer asks again, and some who got one: what was done is not done twice. */
async function askAgain(store: Store, told: Told, { ledger, random, enter }: CheckOptions): Promise<void> {
  const answered = [...ledger.answered].filter(([, { kind }]) => kind === 'changed').map(([request]) => request);
  const again = [...ledger.asked.keys()].filter(
    (request) => !ledger.answered.has(request) && !ledger.failed.has(request),
  );
  for (let n = Math.min(3, answered.length); n > 0; n--) again.push(random.pick(answered));
  const ask = async (request: string): Promise<void> => {
    const asked = ledger.asked.get(request) as Ask;
    enter({ mark: 'asked', ask: asked, now: ledger.now });
    const answer = await store.send(asked);
    if (!ledger.answered.has(request)) enter({ mark: 'answered', request, answer });
    if (told.requests.has(request)) must(answer.kind === 'same', () => `${request} asked again was ${answer.kind}`);
  };
  if (random.chance(0.5)) await Promise.all(again.map(ask));
  else for (const request of again) await ask(request);
}

/** Its file may have been torn, and has not been looked at yet. */
async function changeOne(store: Store, told: Told, { ledger, random, enter }: CheckOptions): Promise<void> {
  const ids = [...told.tasks.keys()];
  if (ids.length === 0) return;
  const message = { type: 'task.edit', id: random.pick(ids), title: `after ${ledger.asked.size}` } as const;
  const ask: Ask = { message, by: PERSON, request: `change-${ledger.asked.size}` };
  enter({ mark: 'asked', ask, now: ledger.now });
  enter({ mark: 'answered', request: requestOf(ask), answer: await store.send(ask) });
}

/** A task from its beginning to its end. */
async function workOn(store: Store, { ledger, enter }: CheckOptions): Promise<void> {
  let count = 0;
  while (ledger.asked.has(`after-${count}-add`)) count++;
  const send = async (name: string, message: Ask['message'], by: Ask['by'] = PERSON): Promise<string> => {
    const ask: Ask = { message, by, request: `after-${count}-${name}` };
    enter({ mark: 'asked', ask, now: ledger.now });
    const answer = await store.send(ask);
    enter({ mark: 'answered', request: requestOf(ask), answer });
    must(answer.kind === 'changed', () => `after the crash ${name} was ${JSON.stringify(answer)}`);
    return answer.tasks[0]?.id ?? '';
  };
  const id = await send('add', { type: 'task.add', tasks: [{ title: 'after the crash', texts: { body: 'go on\n' } }] });
  await send('claim', { type: 'task.claim', id, claimer: { agent: 'after' }, leaseMs: 1000 });
  await send('report', { type: 'run.report', run: `${id}-r1`, outcome: 'done' });
  await send('judge', { type: 'run.judge', run: `${id}-r1`, passed: true }, RUNTIME);
  await send('graph', { type: 'graph.apply', updates: [someNode(`after_${count}`)], escalate: ESCALATE });
}
