/**
 * A disk as a crash sees it: what every program sees now, what a loss of power is sure to leave, and the operations between the two.
 * Operations are plain data, so a disk as it was at any of them is had by doing them again up to there.
 */
import type { Random } from '../../helpers/random.ts';

export type NodeId = number;

type Write =
  | { readonly kind: 'bytes'; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: 'size'; readonly size: number };

/** Names given and taken away in one folder, in one step. */
interface Naming {
  readonly set: readonly (readonly [name: string, node: NodeId | null])[];
  /** The other half of a move to another folder: this half is not there without it. */
  readonly after: { readonly folder: NodeId; readonly count: number } | null;
}

interface FileNode {
  readonly kind: 'file';
  readonly now: Buffer;
  readonly durable: Buffer;
  /** Since the last sync, in order. */
  readonly pending: readonly Write[];
  /** Of all writes ever. */
  readonly count: number;
  readonly mtime: number;
}

interface FolderNode {
  readonly kind: 'folder';
  readonly now: ReadonlyMap<string, NodeId>;
  readonly durable: ReadonlyMap<string, NodeId>;
  readonly pending: readonly Naming[];
  readonly count: number;
  readonly mtime: number;
}

export type Node = FileNode | FolderNode;

export interface DiskModel {
  readonly nodes: Map<NodeId, Node>;
  readonly root: NodeId;
  nextId: NodeId;
  time: number;
  /** How often the power has gone. */
  readonly boot: number;
}

export type DiskOp =
  | {
      readonly op: 'make';
      readonly folder: NodeId;
      readonly name: string;
      readonly node: NodeId;
      readonly kind: Node['kind'];
    }
  | { readonly op: 'link'; readonly folder: NodeId; readonly name: string; readonly node: NodeId }
  | { readonly op: 'unlink'; readonly folder: NodeId; readonly name: string }
  | { readonly op: 'move'; readonly from: NodeId; readonly name: string; readonly to: NodeId; readonly newName: string }
  | { readonly op: 'append'; readonly file: NodeId; readonly bytes: Buffer }
  | { readonly op: 'truncate'; readonly file: NodeId; readonly size: number }
  /** Makes the first `count` writes or namings of a file or folder durable. */
  | { readonly op: 'sync'; readonly node: NodeId; readonly count: number };

const NOTHING = Buffer.alloc(0);

export function emptyModel(): DiskModel {
  return { nodes: new Map([[0, newNode('folder', 0)]]), root: 0, nextId: 1, time: 1, boot: 0 };
}

const newNode = (kind: Node['kind'], mtime: number): Node =>
  kind === 'file'
    ? { kind, now: NOTHING, durable: NOTHING, pending: [], count: 0, mtime }
    : { kind, now: new Map(), durable: new Map(), pending: [], count: 0, mtime };

/** The same disk once more. Nodes are never changed, only replaced, so that copying the list is enough. */
export const copyModel = (model: DiskModel): DiskModel => ({ ...model, nodes: new Map(model.nodes) });

export function fileAt(model: DiskModel, id: NodeId): FileNode {
  const node = model.nodes.get(id);
  if (node?.kind !== 'file') throw new Error(`no file ${id} in this model`);
  return node;
}

export function folderAt(model: DiskModel, id: NodeId): FolderNode {
  const node = model.nodes.get(id);
  if (node?.kind !== 'folder') throw new Error(`no folder ${id} in this model`);
  return node;
}

export function applyOp(model: DiskModel, op: DiskOp): void {
  model.time++;
  switch (op.op) {
    case 'make':
      model.nodes.set(op.node, newNode(op.kind, model.time));
      model.nextId = Math.max(model.nextId, op.node + 1);
      return name(model, op.folder, [[op.name, op.node]]);
    case 'link':
      return name(model, op.folder, [[op.name, op.node]]);
    case 'unlink':
      return name(model, op.folder, [[op.name, null]]);
    case 'move':
      return move(model, op);
    case 'append':
      return write(model, op.file, { kind: 'bytes', at: fileAt(model, op.file).now.length, bytes: op.bytes });
    case 'truncate':
      return write(model, op.file, { kind: 'size', size: op.size });
    case 'sync':
      return sync(model, op.node, op.count);
  }
}

function name(model: DiskModel, id: NodeId, set: Naming['set'], after: Naming['after'] = null): void {
  const folder = folderAt(model, id);
  model.nodes.set(id, {
    ...folder,
    now: named(folder.now, set),
    pending: [...folder.pending, { set, after }],
    count: folder.count + 1,
    mtime: model.time,
  });
}

function named(names: ReadonlyMap<string, NodeId>, set: Naming['set']): Map<string, NodeId> {
  const after = new Map(names);
  for (const [key, node] of set) {
    if (node === null) after.delete(key);
    else after.set(key, node);
  }
  return after;
}

function move(model: DiskModel, { from, name: old, to, newName }: Extract<DiskOp, { op: 'move' }>): void {
  const node = folderAt(model, from).now.get(old);
  if (node === undefined) throw new Error(`no ${old} to move`);
  if (from === to) {
    return name(model, from, [
      [old, null],
      [newName, node],
    ]);
  }
  // A folder has one name at all times; of a file, power lost in between may leave both.
  const isFolder = model.nodes.get(node)?.kind === 'folder';
  const halves = { to: folderAt(model, to).count + 1, from: folderAt(model, from).count + 1 };
  name(model, to, [[newName, node]], isFolder ? { folder: from, count: halves.from } : null);
  name(model, from, [[old, null]], { folder: to, count: halves.to });
}

function write(model: DiskModel, id: NodeId, one: Write): void {
  const file = fileAt(model, id);
  model.nodes.set(id, {
    ...file,
    now: written(file.now, one),
    pending: [...file.pending, one],
    count: file.count + 1,
    mtime: model.time,
  });
}

function written(before: Buffer, one: Write): Buffer {
  if (one.kind === 'size') {
    return one.size <= before.length
      ? before.subarray(0, one.size)
      : Buffer.concat([before, Buffer.alloc(one.size - before.length)]);
  }
  if (one.at === before.length) return Buffer.concat([before, one.bytes]);
  const after = Buffer.alloc(Math.max(before.length, one.at + one.bytes.length));
  before.copy(after);
  one.bytes.copy(after, one.at);
  return after;
}

function sync(model: DiskModel, id: NodeId, count: number): void {
  const node = model.nodes.get(id);
  // A file that is gone may still be open.
  if (node === undefined) return;
  const done = Math.min(node.pending.length, count - (node.count - node.pending.length));
  if (done <= 0) return;
  if (node.kind === 'file') {
    let durable = node.durable;
    for (const one of node.pending.slice(0, done)) durable = written(durable, one);
    model.nodes.set(id, { ...node, durable, pending: node.pending.slice(done) });
    return;
  }
  let durable = node.durable;
  for (const { set } of node.pending.slice(0, done)) durable = named(durable, set);
  model.nodes.set(id, { ...node, durable, pending: node.pending.slice(done) });
  // A file system that keeps one half of a move keeps both.
  for (const { after } of node.pending.slice(0, done)) if (after !== null) sync(model, after.folder, after.count);
}

/** `kill -9`: the system keeps all that was written, and of an append that was under way a part. What was not synced still is not. */
export function killed(model: DiskModel, next: DiskOp | undefined, random: Random): DiskModel {
  const left = copyModel(model);
  if (next?.op === 'append' && next.bytes.length > 1) {
    applyOp(left, { ...next, bytes: next.bytes.subarray(0, random.below(next.bytes.length)) });
  }
  return left;
}

/** A loss of power: of what was not synced any part may be there, as `random` has it. */
export function powerLost(model: DiskModel, random: Random): DiskModel {
  const cuts = namesKept(model, random);
  const left: DiskModel = { ...model, nodes: new Map(), boot: model.boot + 1 };
  const walk = (id: NodeId): void => {
    if (left.nodes.has(id)) return;
    const node = model.nodes.get(id) as Node;
    if (node.kind === 'file') {
      const bytes = node.pending.length === 0 ? node.durable : bytesKept(node, random);
      left.nodes.set(id, { ...node, now: bytes, durable: bytes, pending: [] });
      return;
    }
    let names = node.durable;
    for (const { set } of node.pending.slice(0, cuts.get(id) ?? 0)) names = named(names, set);
    left.nodes.set(id, { ...node, now: names, durable: names, pending: [] });
    for (const child of names.values()) walk(child);
  };
  walk(model.root);
  return left;
}

/** How many of each folder's namings are there: any number of the first ones, each folder for itself but for the halves of a move. */
function namesKept(model: DiskModel, random: Random): Map<NodeId, number> {
  const cuts = new Map<NodeId, number>();
  for (const [id, node] of model.nodes) {
    if (node.kind === 'folder' && node.pending.length > 0) cuts.set(id, someOf(node.pending.length, random));
  }
  const isKept = ({ folder, count }: NonNullable<Naming['after']>): boolean => {
    const { pending, count: all } = folderAt(model, folder);
    return count <= all - pending.length + (cuts.get(folder) ?? 0);
  };
  for (let isStable = false; !isStable; ) {
    isStable = true;
    for (const [id, cut] of cuts) {
      const first = folderAt(model, id).pending.findIndex(({ after }) => after !== null && !isKept(after));
      if (first < 0 || first >= cut) continue;
      cuts.set(id, first);
      isStable = false;
    }
  }
  return cuts;
}

/** None, all or some: the ends are where the mistakes are. */
function someOf(count: number, random: Random): number {
  const way = random.below(3);
  return way === 0 ? 0 : way === 1 ? count : random.below(count + 1);
}

function bytesKept({ durable, pending }: FileNode, random: Random): Buffer {
  const way = random.below(6);
  if (way === 0) return durable;
  if (way === 1) return pending.reduce(written, durable);
  if (way <= 3) return torn(durable, pending, random);
  if (way === 4) return holed(durable, pending, random);
  return stale(durable, pending);
}

/** The first writes whole, the next cut at a byte. */
function torn(durable: Buffer, pending: readonly Write[], random: Random): Buffer {
  const whole = random.below(pending.length);
  const bytes = pending.slice(0, whole).reduce(written, durable);
  const next = pending[whole] as Write;
  if (next.kind === 'size') return bytes;
  return written(bytes, { ...next, bytes: next.bytes.subarray(0, random.below(next.bytes.length + 1)) });
}

/** All of its length, but in the middle of what is new there are zeros. */
function holed(durable: Buffer, pending: readonly Write[], random: Random): Buffer {
  const bytes = Buffer.from(pending.reduce(written, durable));
  const fresh = pending.filter((one) => one.kind === 'bytes');
  if (fresh.length === 0) return bytes;
  const { at, bytes: part } = random.pick(fresh);
  const from = at + random.below(part.length + 1);
  return bytes.fill(0, from, Math.min(bytes.length, from + 1 + random.below(part.length + 1)));
}

/** What was cut off is there again, behind what was written since. */
function stale(durable: Buffer, pending: readonly Write[]): Buffer {
  return pending.filter((one) => one.kind === 'bytes').reduce(written, durable);
}
