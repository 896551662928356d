/** Reading what is given: without an end, it is refused before memory is full. */
import { expect, test } from 'vitest';
import { readExactText } from '../../src/cli/io.ts';

test.runIf(process.platform === 'linux')('a file without an end is refused in one sentence', async () => {
  const sentence = 'expected at most 67108864 bytes, got more in /dev/zero';
  await expect(readExactText('/dev/zero')).rejects.toMatchObject({ code: 'E_CONTEXT_OVERFLOW', message: sentence });
});
