/** The store's disk on top of a model: every operation is written into a log, and some can be made to fail. */
import type { Disk } from '../../../src/store/fs/disk.ts';
import type { Random } from '../../helpers/random.ts';
import { applyOp, type DiskModel, type DiskOp, fileAt, folderAt, type NodeId } from './disk-model.ts';

export type FaultKind = 'append' | 'fdatasync' | 'sync' | 'write' | 'rename' | 'mkdir' | 'open' | 'remove' | 'truncate';

/** The operation of one of these kinds that comes after so many others fails. */
export interface Fault {
  readonly kinds: readonly FaultKind[];
  readonly after: number;
  readonly code: 'ENOSPC' | 'EIO';
}

export interface CrashDisk extends Disk {
  link(from: string, to: string): void;
  /** From now on; null where nothing is to fail. */
  fail(fault: Fault | null): void;
}

export interface CrashDiskOptions {
  readonly model: DiskModel;
  readonly random: Random;
  /** Told of each operation, after it has been done. */
  readonly onOp: (op: DiskOp) => void;
}

/** Node's own form of a failure. */
function failure(code: string, call: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: ${call} '${path}'`), { code, path, syscall: call });
}

/** The same paths are asked for again and again. */
const split = new Map<string, readonly string[]>();

function parts(path: string): readonly string[] {
  let found = split.get(path);
  if (found === undefined) {
    found = path.split(/[\\/]+/).filter((part) => part !== '');
    if (split.size > 10_000) split.clear();
    split.set(path, found);
  }
  return found;
}

export function openCrashDisk({ model, random, onOp }: CrashDiskOptions): CrashDisk {
  let fault: (Fault & { left: number }) | null = null;

  const log = (op: DiskOp): void => {
    applyOp(model, op);
    onOp(op);
  };

  /** Whether this is the one that fails. It fails once; the next attempt finds space again. */
  const strikes = (kind: FaultKind): string | null => {
    if (fault === null || !fault.kinds.includes(kind)) return null;
    if (fault.left-- > 0) return null;
    const { code } = fault;
    fault = null;
    return code;
  };

  const strike = (kind: FaultKind, path: string): void => {
    const code = strikes(kind);
    if (code !== null) throw failure(code, kind, path);
  };

  const find = (path: string): NodeId | null => walk(parts(path));

  const walk = (names: readonly string[]): NodeId | null => {
    let id = model.root;
    for (const part of names) {
      const node = model.nodes.get(id);
      const next = node?.kind === 'folder' ? node.now.get(part) : undefined;
      if (next === undefined) return null;
      id = next;
    }
    return id;
  };

  /** The folder that a path is in, and its name there. */
  const place = (path: string, call: string): { readonly folder: NodeId; readonly name: string } => {
    const all = parts(path);
    const folder = walk(all.slice(0, -1));
    if (folder === null) throw failure('ENOENT', call, path);
    if (model.nodes.get(folder)?.kind !== 'folder') throw failure('ENOTDIR', call, path);
    return { folder, name: all.at(-1) as string };
  };

  const kindOf = (id: NodeId): 'file' | 'folder' => (model.nodes.get(id)?.kind === 'folder' ? 'folder' : 'file');

  const fileFor = (path: string, call: string): NodeId => {
    const there = find(path);
    if (there !== null) {
      if (kindOf(there) === 'folder') throw failure('EISDIR', call, path);
      return there;
    }
    const node = model.nextId;
    log({ op: 'make', ...place(path, call), node, kind: 'file' });
    return node;
  };

  /** On a full disk a part of it gets through. */
  const append = (file: NodeId, path: string, bytes: Buffer, kind: FaultKind): void => {
    const code = strikes(kind);
    const through = code === null ? bytes : bytes.subarray(0, random.below(bytes.length + 1));
    if (through.length > 0) log({ op: 'append', file, bytes: Buffer.from(through) });
    if (code !== null) throw failure(code, kind, path);
  };

  const put = (path: string, bytes: Uint8Array | string): void => {
    const file = fileFor(path, 'open');
    if (fileAt(model, file).now.length > 0) log({ op: 'truncate', file, size: 0 });
    append(file, path, typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes), 'write');
  };

  const link = (from: string, to: string): void => {
    const node = find(from);
    if (node === null) throw failure('ENOENT', 'link', from);
    if (find(to) !== null) throw failure('EEXIST', 'link', to);
    log({ op: 'link', ...place(to, 'link'), node });
  };

  const remove = (path: string): void => {
    const node = find(path);
    if (node === null) return;
    if (kindOf(node) === 'folder') throw failure('EISDIR', 'unlink', path);
    log({ op: 'unlink', ...place(path, 'unlink') });
  };

  const sync = (path: string): void => {
    const node = find(path);
    if (node === null) throw failure('ENOENT', 'open', path);
    strike('sync', path);
    log({ op: 'sync', node, count: model.nodes.get(node)?.count ?? 0 });
  };

  /** Some of the time the rest of the program gets a turn, or two, before an operation is over. */
  const turns = async (): Promise<void> => {
    for (let n = random.below(3); n > 0; n--) await new Promise((resolve) => setImmediate(resolve));
  };

  return {
    fail(next) {
      fault = next === null ? null : { ...next, left: next.after };
    },
    stat(path) {
      const id = find(path);
      if (id === null) return null;
      const node = model.nodes.get(id);
      if (node === undefined) return null;
      const size = node.kind === 'file' ? node.now.length : 0;
      return { kind: node.kind, size, mtimeMs: node.mtime, ctimeMs: node.mtime };
    },
    read(path) {
      const id = find(path);
      if (id === null) return null;
      if (kindOf(id) === 'folder') throw failure('EISDIR', 'read', path);
      return fileAt(model, id).now;
    },
    readAt(path, offset, length) {
      const id = find(path);
      if (id === null) throw failure('ENOENT', 'open', path);
      return fileAt(model, id).now.subarray(offset, offset + length);
    },
    list(path) {
      const id = find(path);
      return id === null || kindOf(id) === 'file' ? [] : [...folderAt(model, id).now.keys()];
    },
    mkdir(path) {
      const all = parts(path);
      for (let n = 1; n <= all.length; n++) {
        const here = `/${all.slice(0, n).join('/')}`;
        const there = walk(all.slice(0, n));
        if (there !== null && kindOf(there) === 'file')
          throw failure(n < all.length ? 'ENOTDIR' : 'EEXIST', 'mkdir', path);
        if (there !== null) continue;
        strike('mkdir', path);
        log({ op: 'make', ...place(here, 'mkdir'), node: model.nextId, kind: 'folder' });
      }
    },
    write: put,
    create(path, text) {
      const aside = `${path}.aside-${model.nextId}`;
      put(aside, text);
      sync(aside);
      try {
        link(aside, path);
        return true;
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
        throw cause;
      } finally {
        remove(aside);
      }
    },
    sync,
    rename(from, to) {
      const node = find(from);
      if (node === null) throw failure('ENOENT', 'rename', from);
      const [old, fresh] = [place(from, 'rename'), place(to, 'rename')];
      const there = find(to);
      if (there === node) return;
      if (there !== null && kindOf(there) !== kindOf(node)) {
        throw failure(kindOf(there) === 'folder' ? 'EISDIR' : 'ENOTDIR', 'rename', to);
      }
      if (there !== null && kindOf(there) === 'folder' && folderAt(model, there).now.size > 0) {
        throw failure('ENOTEMPTY', 'rename', to);
      }
      strike('rename', to);
      log({ op: 'move', from: old.folder, name: old.name, to: fresh.folder, newName: fresh.name });
    },
    link,
    remove(path) {
      strike('remove', path);
      remove(path);
    },
    removeFolder(path) {
      const node = find(path);
      if (node === null) return false;
      if (kindOf(node) === 'file') throw failure('ENOTDIR', 'rmdir', path);
      if (folderAt(model, node).now.size > 0) return false;
      log({ op: 'unlink', ...place(path, 'rmdir') });
      return true;
    },
    truncate(path, size) {
      const file = find(path);
      if (file === null) throw failure('ENOENT', 'truncate', path);
      strike('truncate', path);
      log({ op: 'truncate', file, size });
    },
    appender(path) {
      strike('open', path);
      const file = fileFor(path, 'open');
      let isOpen = true;
      const mustBeOpen = (call: string): void => {
        if (!isOpen) throw failure('EBADF', call, path);
      };
      return {
        async append(bytes) {
          mustBeOpen('write');
          append(file, path, Buffer.from(bytes), 'append');
          await turns();
        },
        size: () => (find(path) === file ? fileAt(model, file).now.length : null),
        async sync() {
          mustBeOpen('fdatasync');
          // What comes after the call is not covered by it.
          const { count } = fileAt(model, file);
          await turns();
          strike('fdatasync', path);
          log({ op: 'sync', node: file, count });
        },
        close() {
          isOpen = false;
        },
      };
    },
  };
}
