/** One of each: what the whole house needs is done in one place. Whoever needs it elsewhere imports it; who has a reason stands in the list. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

const SRC = join(import.meta.dirname, '../../src');
const texts = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|mjs)$/.test(file))
    .map((file) => [file, readFileSync(join(SRC, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')]),
);

interface Single {
  readonly what: string;
  readonly use: string;
  readonly pattern: RegExp;
  /** Files or folders (ending in `/`), each with the reason why it may. */
  readonly only: Readonly<Record<string, string>>;
}

const SINGLES: readonly Single[] = [
  {
    what: 'programs are started',
    use: 'startProgram of process/start.ts',
    pattern: /from 'node:child_process'/,
    only: { 'process/': 'it alone starts a program' },
  },
  {
    what: 'a thrown thing is put into words',
    use: 'messageOf of core/errors.ts',
    pattern: /instanceof Error \? \w+\.message : String\(/,
    only: { 'core/errors.ts': 'the one' },
  },
  {
    what: 'waits are made',
    use: 'pause, within and createBell of process/waiting.ts',
    pattern: /timers\/promises|new Promise(?:<\w+>)?\(\(\w+\) => setTimeout\(/,
    only: {},
  },
  {
    what: 'a file is put in the place of another',
    use: 'replaceFile or replaceWith of process/files.ts',
    pattern: /\brename(?:Sync)?\(/,
    only: {
      'process/files.ts': 'the one',
      'store/fs/': 'through its own disk, which the crash tests replace',
      'store/shared/lock-file.ts': 'under a second lock, where nothing may wait',
      'store/shared/owner-file.ts': 'a folder that cannot be written is no failure there',
      'workspace/put-back.ts': 'paths that are bytes, and links as well as files',
      'workspace/restore-files.ts': 'paths that are bytes, and links as well as files',
      'runtime/inbox.ts': 'it moves what people put there',
      'runtime/gc.ts': 'it gives a folder that is to go another name',
      'runtime/worktrees/unneeded.ts': 'it gives a folder that is to go another name',
      'runtime/worktrees/take-run.ts': 'it puts a folder out of the way whose work could not be taken',
      'workspace/move-checkout.ts': "git's index, under git's own lock",
    },
  },
  {
    what: 'it is told that there is no such file',
    use: 'isMissing of core/errors.ts',
    pattern: /'ENOENT' (?:\|\||&&) \S+ [!=]== 'ENOTDIR'/,
    only: { 'core/errors.ts': 'the one' },
  },
  {
    what: 'real paths are held against real roots',
    use: 'isBelow of process/files.ts',
    pattern: /startsWith\(`\.\.\$\{sep\}`\)|\$\{sep\}`\.startsWith\(/,
    only: { 'process/files.ts': 'the one' },
  },
  {
    what: 'a time is read or written as text',
    use: 'parseTime, isoTime, dayOf or timeStamp of core/time.ts',
    pattern: /Date\.parse\(|\.toISOString\(/,
    only: { 'core/time.ts': 'the one' },
  },
  {
    what: 'a name is made that nobody else has',
    use: 'newId or newSuffix of process/new-id.ts',
    pattern: /\brandom(?:UUID|Bytes|Int)\b|\bMath\.random\b/,
    only: { 'process/new-id.ts': 'the one', 'server/http/tokens.ts': 'secrets, and no names' },
  },
  {
    what: 'a value is told to be an object with fields',
    use: 'isFields of core/fields.ts',
    pattern: /(?:typeof \w+ === 'object' && \w+ !== null|\w+ !== null && typeof \w+ === 'object') && !Array\.isArray\(/,
    only: { 'core/fields.ts': 'the one' },
  },
  {
    what: 'a noun is put into the plural',
    use: 'counted of core/words.ts',
    pattern: /=== 1 \? '' : 's'/,
    only: { 'core/words.ts': 'the one' },
  },
  {
    what: 'terminal escapes are taken out of a text',
    use: 'stripAnsi and stripControls of protocol/text/clean.ts',
    pattern: /\/(?:\\x1b|\\u001b)[^/\n]*\[/,
    only: { 'protocol/text/clean.ts': 'the one' },
  },
  {
    what: 'tokens are counted',
    use: 'countTokens of cli/tokens.ts, which is given to whoever needs it',
    pattern: /gpt-tokenizer/,
    only: { 'cli/tokens.ts': 'the one' },
  },
];

const isAllowed = (file: string, only: Single['only']): boolean =>
  Object.keys(only).some((place) => (place.endsWith('/') ? file.startsWith(place) : file === place));

describe.each(SINGLES)('$what in one place', ({ use, pattern, only }) => {
  const found = [...texts].filter(([, text]) => pattern.test(text)).map(([file]) => file);

  test('and nowhere else', () => {
    expect(
      found.filter((file) => !isAllowed(file, only)),
      `use ${use}`,
    ).toEqual([]);
  });

  test('and the list of who may names nobody who does not', () => {
    const idle = Object.keys(only).filter((place) => !found.some((file) => isAllowed(file, { [place]: '' })));
    expect(idle).toEqual([]);
  });
});
