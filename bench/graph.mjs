// The knowledge graph: adding nodes against notes of the same size through the same journal; lineage, start and memory with a million of them.
// Each measurement runs in a process of its own, on a folder of its own. BATON_BENCH_DIR says on which disk;
// BATON_BENCH_NODES=200000 makes fewer.
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inProcess, report } from './measure.mjs';

const PERSON = { kind: 'person', name: 'user' };
const IN_FLIGHT = 200;
const ESCALATE = { below: 0.9, domains: {} };
/** Nodes come in chains of this many, each made from the one before. */
const CHAIN = 40;
const HOPS = 20;
/** A chain behind all others. */
const WARM = CHAIN * 1_000_000;

const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
const idOf = (i) => `findings_part_${i}_20260101_000000`;

/** About 600 bytes. */
const documentOf = (i) =>
  JSON.stringify({
    type: 'add_node',
    node_id: idOf(i),
    node_type: 'Findings',
    metadata: { created_by: 'emma', domain: 'software', confidence: 0.95, output_type: 'analysis' },
    data: {
      summary: `What was found out about part ${i} of the parser, and why it drops the last line of a text.`,
      findings: ['the buffer is cut at its size', 'the line end is not looked for', 'there is no test of it'],
      files: ['src/parser/lines.ts', 'src/parser/buffer.ts'],
    },
    handoff: { ready_for_next: true, next_stage: 'implementation', required_fields: ['summary', 'findings'] },
    lineage: { created_from_node: i % CHAIN === 0 ? null : idOf(i - 1), consumed_by_nodes: [] },
  });

const nodeOf = (i) => ({
  type: 'graph.apply',
  escalate: ESCALATE,
  updates: [
    {
      kind: 'add-node',
      node: {
        id: idOf(i),
        type: 'Findings',
        createdBy: 'emma',
        confidence: 0.95,
        sources: i % CHAIN === 0 ? [] : [idOf(i - 1)],
        domain: 'software',
        outputType: 'analysis',
        ready: true,
        nextStage: 'implementation',
        topic: null,
      },
      document: documentOf(i),
    },
  ],
});

/** Chains are added at the same time, each node after its source. */
async function inFlight(from, to, work) {
  let next = from;
  const worker = async () => {
    while (next < to) {
      const start = next;
      next += CHAIN;
      for (let i = start; i < Math.min(start + CHAIN, to); i++) await work(i);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
}

async function open(dir) {
  const { openFsStore } = await import('../dist/store/fs/store.js');
  return openFsStore(dir);
}

async function sent(store, message) {
  const answer = await store.send({ message, by: PERSON });
  if (answer.kind === 'refused') throw new Error(answer.refusal.message);
}

const bytesIn = (dir) => {
  const events = join(dir, 'events');
  return readdirSync(events).reduce((sum, name) => sum + statSync(join(events, name)).size, 0);
};

/** A note whose record is as long as that of a node: what is around it differs by a few bytes. */
const noteOf = (i, length) => ({
  type: 'note',
  event: 'bench.note',
  detail: { i, text: documentOf(i).padEnd(length, ' ') },
});

const CHILDREN = {
  /** Nodes and notes by turns in one process, a part of the nodes at a time, so that both meet the same machine. */
  async add(dir, count) {
    const store = await open(join(dir, 'graph'));
    const floor = await open(join(dir, 'floor'));
    const length = await lengthOf(store, floor, dir);
    const parts = 10;
    const part = Math.max(CHAIN, Math.floor(count / parts / CHAIN) * CHAIN);
    const spent = [0, 0];
    for (let from = 0; from < count; from += part) {
      const to = Math.min(from + part, count);
      const turns = [
        () => inFlight(from, to, (i) => sent(store, nodeOf(i))),
        () => inFlight(from, to, (i) => sent(floor, noteOf(i, length))),
      ];
      for (const [i, turn] of turns.entries()) {
        const start = performance.now();
        await turn();
        spent[i] += performance.now() - start;
      }
    }
    const sizes = [bytesIn(join(dir, 'graph')), bytesIn(join(dir, 'floor'))];
    await floor.close();
    await store.close();
    const [nodes, notes] = spent.map((ms) => (count / ms) * 1000);
    return { nodes, notes, sizes };
  },
  async start(dir) {
    const begin = performance.now();
    const store = await open(dir);
    const ms = performance.now() - begin;
    await store.close();
    return { ms };
  },
  /** The first question reads the graph; then many, of nodes far from each other. */
  async lineage(dir, count) {
    const store = await open(dir);
    const begin = performance.now();
    await store.edges('none');
    const first = performance.now() - begin;
    const times = [];
    for (let i = 0; i < 1_000; i++) {
      const chain = Math.floor((i * 7919) % (count / CHAIN)) * CHAIN;
      const start = performance.now();
      const { nodes } = await store.lineage(idOf(chain + CHAIN - 1), { hops: HOPS, down: false });
      times.push(performance.now() - start);
      if (nodes.length !== HOPS + 1) throw new Error(`${nodes.length} nodes`);
    }
    const look = performance.now();
    await store.node(idOf(0));
    const node = performance.now() - look;
    const again = performance.now();
    await store.node(idOf(CHAIN));
    const nodeAgain = performance.now() - again;
    await store.close();
    return { first, hops: median(times), worst: Math.max(...times), node, nodeAgain };
  },
  async memory(dir) {
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    const store = await open(dir);
    globalThis.gc();
    const without = process.memoryUsage().heapUsed - before;
    await store.edges('none');
    globalThis.gc();
    const bytes = process.memoryUsage().heapUsed - before;
    await store.close();
    return { without, bytes };
  },
};

/** How long a note's text has to be so that its record is as long as a node's. */
async function lengthOf(store, floor, dir) {
  const sizeOf = async (one, folder, message) => {
    const before = bytesIn(join(dir, folder));
    await sent(one, message);
    return bytesIn(join(dir, folder)) - before;
  };
  // The first one makes the file.
  await sent(store, nodeOf(WARM));
  await sent(floor, noteOf(0, 0));
  const node = await sizeOf(store, 'graph', nodeOf(WARM + 1));
  const note = await sizeOf(floor, 'floor', noteOf(1, 0));
  return documentOf(1).length + node - note;
}

const child = (name, ...args) => inProcess(import.meta.url, name, ...args);

export function graph() {
  const count = Number(process.env.BATON_BENCH_NODES ?? 1_000_000);
  const dir = mkdtempSync(join(process.env.BATON_BENCH_DIR ?? tmpdir(), 'baton-bench-'));
  try {
    const { nodes, notes, sizes } = child('add', dir, count);
    const sure = `${nodes.toFixed(0)} a second / ${notes.toFixed(0)}, records of ${(sizes[0] / count).toFixed(0)} and ${(sizes[1] / count).toFixed(0)} bytes`;
    report(`adding ${count.toLocaleString('en')} nodes / notes of that size`, nodes / notes, { least: 0.5 }, sure);
    const folders = [join(dir, 'graph'), join(dir, 'floor')];
    const starts = folders.map(() => []);
    for (let round = 0; round < 5; round++) for (const i of [0, 1]) starts[i].push(child('start', folders[i]).ms);
    const [withGraph, without] = starts.map(median);
    const opened = `${withGraph.toFixed(0)} ms / ${without.toFixed(0)} ms`;
    report('start with the graph / with as many notes', withGraph / without, { most: 1.5 }, opened);
    const { first, hops, worst, node, nodeAgain } = child('lineage', folders[0], count);
    report('lineage of 20 hops, ms', hops, { most: 5 }, `at worst ${worst.toFixed(2)} ms`);
    report(
      'first question about the graph, s',
      first / 1000,
      null,
      `a node ${node.toFixed(0)} ms, the next ${nodeAgain.toFixed(2)} ms`,
    );
    const { bytes, without: alone } = child('memory', folders[0]);
    report(
      'memory a node, KB',
      bytes / count / 1024,
      { most: 1 },
      `${(bytes / 1e6).toFixed(0)} MB; ${(alone / 1e6).toFixed(1)} MB before anybody asks`,
    );
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [name, ...args] = process.argv.slice(2);
  const result = await CHILDREN[name](...args.map((arg) => (/^\d+$/.test(arg) ? Number(arg) : arg)));
  process.stdout.write(JSON.stringify(result));
}
