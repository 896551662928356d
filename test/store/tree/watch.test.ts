import { spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import {
  appendFileSync,
  existsSync,
  type FSWatcher,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { TASK_STATUSES } from '../../../src/core/task.ts';
import { type WatchOptions, watchTree } from '../../../src/store/fs/tree/watch.ts';
import { PATIENCE_MS } from '../../helpers/until.ts';
import { program } from './built.ts';

let root: string;
let seen: string[];
let batches: string[][];
let close: () => void;

const at = (status: string, name: string): string => `${root}/tasks/${status}/${name}`;
const start = (options: WatchOptions = {}): void => {
  ({ close } = watchTree(
    root,
    (paths) => {
      batches.push(paths);
      seen.push(...paths);
    },
    options,
  ));
};
const until = (condition: () => void): Promise<void> => vi.waitFor(condition, { timeout: PATIENCE_MS, interval: 10 });
const untilSeen = (path: string): Promise<void> => until(() => expect(seen).toContain(path));

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'baton-watch-'));
  seen = [];
  batches = [];
});
afterEach(() => {
  close();
  rmSync(root, { recursive: true, force: true });
});

it('makes the folders, and tells of files that come, change, move and go', async () => {
  start();
  writeFileSync(at('ready', 'a.md'), 'a');
  await untilSeen(at('ready', 'a.md'));
  seen.length = 0;
  appendFileSync(at('ready', 'a.md'), 'b');
  await untilSeen(at('ready', 'a.md'));
  seen.length = 0;
  renameSync(at('ready', 'a.md'), at('done', 'a.md'));
  await untilSeen(at('ready', 'a.md'));
  await untilSeen(at('done', 'a.md'));
  seen.length = 0;
  unlinkSync(at('done', 'a.md'));
  await untilSeen(at('done', 'a.md'));
});

it('tells once of many events of one file, and nothing of names that are no task', async () => {
  start();
  for (let i = 0; i < 20; i++) {
    writeFileSync(at('ready', '.a.md.swp'), 'x');
    writeFileSync(at('ready', 'a.md~'), 'x');
    mkdirSync(at('ready', `TASK-2026-01-01-0${10 + i}`));
    writeFileSync(at('ready', 'new'), `${i}`);
    renameSync(at('ready', 'new'), at('ready', 'a.md'));
  }
  await untilSeen(at('ready', 'a.md'));
  writeFileSync(at('ready', 'end.md'), '');
  await untilSeen(at('ready', 'end.md'));
  expect(seen).toEqual([at('ready', 'a.md'), at('ready', 'end.md')]);
});

it('hands over a file only when it has kept still', async () => {
  const ages: number[] = [];
  ({ close } = watchTree(root, (paths) => {
    for (const path of paths) ages.push(Date.now() - statSync(path).mtimeMs);
    seen.push(...paths);
  }));
  for (let i = 0; i < 12; i++) {
    appendFileSync(at('ready', 'slow.md'), `${i}\n`);
    await sleep(30);
  }
  await untilSeen(at('ready', 'slow.md'));
  // Less a little, since a file's time is that of the last tick.
  for (const age of ages) expect(age).toBeGreaterThanOrEqual(90);
});

it('goes on when a folder was removed', async () => {
  start();
  rmSync(`${root}/tasks/ready`, { recursive: true });
  await untilSeen(`${root}/tasks/ready`);
  await until(() => writeFileSync(at('ready', 'a.md'), 'a'));
  await untilSeen(at('ready', 'a.md'));
});

it('is silent when nothing happens, and after it was closed', async () => {
  start();
  writeFileSync(at('ready', 'a.md'), 'a');
  close();
  const before = watchTree(root, (paths) => seen.push(...paths));
  writeFileSync(at('ready', 'b.md'), 'a');
  await untilSeen(at('ready', 'b.md'));
  before.close();
  expect(batches).toEqual([]);
});

const refusing = (): never => {
  throw Object.assign(new Error('no watches left'), { code: 'ENOSPC' });
};

it('looks at the times of the folders where the system cannot watch', async () => {
  const problems: Error[] = [];
  start({ watchFolder: refusing, onProblem: (problem) => problems.push(problem) });
  expect(problems.map((problem) => problem.message)).toEqual(['no watches left']);
  mkdirSync(`${root}/tasks/ready`, { recursive: true });
  await untilSeen(`${root}/tasks/ready`);
  seen.length = 0;
  writeFileSync(at('ready', 'a.md'), 'a');
  await untilSeen(`${root}/tasks/ready`);
});

it('does so too when a watch fails later, and says it once', async () => {
  const problems: Error[] = [];
  const watchers: EventEmitter[] = [];
  const watchFolder = (): FSWatcher => {
    const watcher = Object.assign(new EventEmitter(), { close() {} });
    watchers.push(watcher);
    return watcher as unknown as FSWatcher;
  };
  start({ watchFolder, onProblem: (problem) => problems.push(problem) });
  expect(watchers).toHaveLength(TASK_STATUSES.length);
  for (const watcher of watchers) watcher.emit('error', new Error('gone'));
  expect(problems).toHaveLength(1);
  writeFileSync(at('done', 'a.md'), 'a');
  await untilSeen(`${root}/tasks/done`);
});

it('hands over the folder where the system does not say which file it was', () => {
  let tell: (name: string | null) => void = () => {};
  start({
    watchFolder: (_, onEvent) => {
      tell = onEvent;
      return Object.assign(new EventEmitter(), { close() {} }) as unknown as FSWatcher;
    },
  });
  tell(null);
  expect(seen).toEqual([`${root}/tasks/${TASK_STATUSES.at(-1)}`]);
});

it('does not make a folder again under the hands of whoever removes them all', async () => {
  const tell = new Map<string, (name: string | null) => void>();
  start({
    watchFolder: (folder, onEvent) => {
      tell.set(folder, onEvent);
      return Object.assign(new EventEmitter(), { close() {} }) as unknown as FSWatcher;
    },
  });
  rmSync(`${root}/tasks/ready`, { recursive: true });
  tell.get(`${root}/tasks/ready`)?.('ready');
  expect(existsSync(`${root}/tasks/ready`)).toBe(false);
  await untilSeen(`${root}/tasks/ready`);
  expect(existsSync(`${root}/tasks/ready`)).toBe(true);
});

it('keeps no program from ending', async () => {
  start();
  const code = `import { watchTree } from './watch.ts'; watchTree(process.argv[2], () => {}); console.log('watching');`;
  const child = spawn(process.execPath, [await program(root, 'watching', code), root], { stdio: 'ignore' });
  const [status] = await once(child, 'exit');
  expect(status).toBe(0);
});

it('does not take a link for a folder of its own', () => {
  mkdirSync(`${root}/tasks`);
  mkdirSync(`${root}/elsewhere`);
  symlinkSync(`${root}/elsewhere`, `${root}/tasks/ready`);
  const problems: Error[] = [];
  start({ onProblem: (problem) => problems.push(problem) });
  expect(problems).toHaveLength(1);
});
