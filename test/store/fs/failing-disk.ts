/** The real disk, with failures to order. */
import { type Disk, realDisk } from '../../../src/store/fs/disk.ts';

export interface Failing {
  readonly disk: Disk;
  /** From now on these operations fail with this code; none where it is null. */
  fail(code: string | null, operations?: readonly (keyof Disk | 'append' | 'fdatasync')[]): void;
}

export function failingDisk(): Failing {
  let failing: { readonly code: string; readonly operations: readonly string[] } | null = null;
  const check = (operation: string, path: string): void => {
    if (failing === null || !failing.operations.includes(operation)) return;
    throw Object.assign(new Error(`${failing.code}: ${operation} '${path}'`), { code: failing.code, path });
  };
  const disk = { ...realDisk };
  for (const name of ['mkdir', 'write', 'create', 'rename', 'truncate', 'sync', 'remove', 'removeFolder'] as const) {
    const real = realDisk[name] as (...args: unknown[]) => unknown;
    (disk as Record<string, unknown>)[name] = (...args: unknown[]) => {
      check(name, String(args[0]));
      return real(...args);
    };
  }
  disk.appender = (path) => {
    check('appender', path);
    const file = realDisk.appender(path);
    return {
      async append(bytes) {
        // A full disk takes a part of it.
        if (failing?.operations.includes('append')) await file.append(bytes.subarray(0, bytes.length >> 1));
        check('append', path);
        await file.append(bytes);
      },
      async sync() {
        check('fdatasync', path);
        await file.sync();
      },
      size: () => file.size(),
      close: () => file.close(),
    };
  };
  return {
    disk,
    fail(code, operations = ['append']) {
      failing = code === null ? null : { code, operations };
    },
  };
}

/** What is only read may be synced. */
export const ALL_WRITES = [
  'appender',
  'append',
  'mkdir',
  'write',
  'create',
  'rename',
  'truncate',
  'remove',
  'removeFolder',
] as const;
