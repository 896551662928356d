/** A disk in memory, with the failures of a real one. Files are nodes, so that a second name is the same file. */
import type { Disk, Stat } from '../../src/store/fs/disk.ts';

interface Node {
  readonly kind: Stat['kind'];
  bytes: Uint8Array;
  mtimeMs: number;
}

export interface MemoryDisk extends Disk {
  /** Every path there is. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Something that is neither a file nor a folder. */
  putOther(path: string): void;
}

const failure = (code: string, path: string): Error => Object.assign(new Error(`${code}: ${path}`), { code, path });
const above = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';

export function memoryDisk(): MemoryDisk {
  const nodes = new Map<string, Node>([['/', { kind: 'folder', bytes: new Uint8Array(), mtimeMs: 0 }]]);
  let clock = 0;

  const make = (kind: Stat['kind'], bytes = new Uint8Array()): Node => ({ kind, bytes, mtimeMs: ++clock });
  const file = (path: string): Node => {
    const node = nodes.get(path);
    if (node === undefined) throw failure('ENOENT', path);
    if (node.kind !== 'file') throw failure('EISDIR', path);
    return node;
  };
  const needFolder = (path: string): void => {
    const node = nodes.get(above(path));
    if (node?.kind !== 'folder') throw failure(node === undefined ? 'ENOENT' : 'ENOTDIR', path);
  };
  const within = (folder: string): string[] => [...nodes.keys()].filter((path) => path.startsWith(`${folder}/`));
  const write = (path: string, bytes: Uint8Array | string): void => {
    needFolder(path);
    const node = nodes.get(path) ?? make('file');
    if (node.kind !== 'file') throw failure('EISDIR', path);
    node.bytes = typeof bytes === 'string' ? Buffer.from(bytes) : Uint8Array.from(bytes);
    node.mtimeMs = ++clock;
    nodes.set(path, node);
  };

  return {
    nodes,
    putOther: (path) => void nodes.set(path, make('other')),
    stat(path) {
      const node = nodes.get(path);
      if (node === undefined) return null;
      const { kind, bytes, mtimeMs } = node;
      return { kind, size: bytes.length, mtimeMs, ctimeMs: mtimeMs };
    },
    read: (path) => (nodes.has(path) ? Uint8Array.from(file(path).bytes) : null),
    readAt: (path, offset, length) => file(path).bytes.slice(offset, offset + length),
    list: (path) =>
      within(path)
        .map((each) => each.slice(path.length + 1))
        .filter((name) => !name.includes('/')),
    mkdir(path) {
      const parts = path.split('/').slice(1);
      for (let i = 1; i <= parts.length; i++) {
        const folder = `/${parts.slice(0, i).join('/')}`;
        const kind = nodes.get(folder)?.kind;
        if (kind === undefined) nodes.set(folder, make('folder'));
        else if (kind !== 'folder') throw failure(i === parts.length ? 'EEXIST' : 'ENOTDIR', path);
      }
    },
    write,
    create(path, text) {
      if (nodes.has(path)) return false;
      write(path, text);
      return true;
    },
    sync() {},
    rename(from, to) {
      const node = nodes.get(from);
      if (node === undefined) throw failure('ENOENT', from);
      needFolder(to);
      const there = nodes.get(to);
      // Two names of one file: nothing happens, and both stay.
      if (there === node) return;
      if (node.kind === 'folder') {
        if (there !== undefined && there.kind !== 'folder') throw failure('ENOTDIR', to);
        if (within(to).length > 0) throw failure('ENOTEMPTY', to);
      } else if (there?.kind === 'folder') throw failure('EISDIR', to);
      for (const path of node.kind === 'folder' ? within(from) : []) {
        nodes.set(to + path.slice(from.length), nodes.get(path) as Node);
        nodes.delete(path);
      }
      nodes.delete(from);
      nodes.set(to, node);
    },
    link(from, to) {
      if (nodes.has(to)) throw failure('EEXIST', to);
      needFolder(to);
      nodes.set(to, file(from));
    },
    remove(path) {
      if (nodes.get(path)?.kind === 'folder') throw failure('EISDIR', path);
      nodes.delete(path);
    },
    removeFolder(path) {
      if (nodes.get(path)?.kind !== 'folder' || within(path).length > 0) return false;
      return nodes.delete(path);
    },
    truncate(path, size) {
      const node = file(path);
      node.bytes = node.bytes.slice(0, size);
    },
    appender(path) {
      if (!nodes.has(path)) write(path, '');
      const node = file(path);
      return {
        async append(bytes) {
          node.bytes = Buffer.concat([node.bytes, bytes]);
        },
        sync: async () => {},
        size: () => (nodes.get(path) === node ? node.bytes.length : null),
        close() {},
      };
    },
  };
}
