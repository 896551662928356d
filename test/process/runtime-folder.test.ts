/** The user's own folder for sockets: made where it can be, and refused in a sentence where it cannot. */
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { checkedFolder } from '../../src/process/runtime-folder.ts';

test('is made for its user alone, with the folders above it, and found again', () => {
  const above = mkdtempSync(join(tmpdir(), 'baton-runtime-'));
  try {
    const path = join(above, 'a/b');
    expect([checkedFolder(path), checkedFolder(path)]).toEqual([path, path]);
    expect(statSync(path).mode & 0o777).toBe(0o700);
  } finally {
    rmSync(above, { recursive: true });
  }
});

test.skipIf(!existsSync('/proc/self'))('where nothing can be made that is said, and not tried for ever', () => {
  expect(() => checkedFolder('/proc/baton')).toThrow(/^the runtime folder \/proc\/baton could not be made: /);
});
