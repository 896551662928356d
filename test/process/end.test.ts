/** When a program ends, for whatever reason, nothing of it is alive; and nothing else was touched. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { descendantsOf, findMarked, takeCensus } from '../../src/process/census.ts';
import { endMarked } from '../../src/process/end.ts';
import { isAlive, self, statOf } from '../../src/process/identity.ts';
import { belonging, watchEscapes } from '../../src/process/watch.ts';
import { ENV, newFolder, newMark, newSleep, sh, start, textOf, until, withText } from './real.ts';

const NOTHING = { signal: null, swept: [], left: [] };

test('one that listens to SIGTERM has its grace', async () => {
  const program = await sh(`trap 'sleep 0.2; echo bye; exit 5' TERM; echo up; while :; do sleep 0.02; done`);
  const out = textOf(program.stdout);
  await once(program.stdout, 'data');
  const [ended, again] = await Promise.all([program.end(5000), program.end(0)]);
  expect(ended).toMatchObject({ signal: 'SIGTERM', left: [] });
  expect(again).toBe(ended);
  expect(await program.exited).toEqual({ code: 5, signal: null });
  expect(await out).toContain('bye');
});

test('one that ignores SIGTERM is killed with its children', async () => {
  const name = newSleep();
  const program = await sh(`trap '' TERM; sleep ${name} & sleep ${name}; sleep ${name}`);
  await until('it runs', () => withText(name).length >= 3);
  const begun = performance.now();
  expect(await program.end(200)).toMatchObject({ signal: 'SIGKILL', swept: [], left: [] });
  expect(performance.now() - begun).toBeGreaterThan(190);
  expect(withText(name)).toEqual([]);
  expect(await program.exited).toEqual({ code: null, signal: 'SIGKILL' });
});

test('a stopped one is ended', async () => {
  const program = await sh('kill -STOP $$; sleep 1000');
  await until('it has stopped', () => takeCensus().get(program.pid)?.state === 'T');
  expect(await program.end(5000)).toMatchObject({ signal: 'SIGTERM', left: [] });
});

test.each([
  ['in the group', (name: string) => `sleep ${name} & exit 0`, 0],
  ['in the group, without an environment', (name: string) => `env -i sleep ${name} & exit 0`, 0],
  ['in a session of its own', (name: string) => `setsid sleep ${name} & exit 0`, 1],
  ['with two forks', (name: string) => `(setsid sh -c 'sleep ${name} & exit 0' &); exit 0`, 1],
])('what a program leaves behind when it ends: %s', async (_, script, swept) => {
  const name = newSleep();
  const program = await sh(script(name));
  await program.exited;
  const ended = await program.end(2000);
  expect(ended.left).toEqual([]);
  expect(ended.swept.length).toBeLessThanOrEqual(2 * swept);
  await until('nothing is left', () => withText(name).length === 0);
});

/** Longer than it takes until all processes are looked at again. The looks are timers of this process, so they come before this one. */
const UNTIL_SEEN_MS = 2_600;

test.each([
  ['itself', (name: string) => `exec sleep ${name}`],
  ['what it came from', (name: string) => `until [ -e seen ]; do sleep 0.05; done; (sleep ${name} &) ; exit 0`],
])('a daemon without parent, session and environment is known, because %s was seen', async (_, daemon) => {
  const [name, cwd] = [newSleep(), newFolder()];
  const program = await sh(
    `setsid env -i PATH="$PATH" sh -c '${daemon(name)}' </dev/null >/dev/null 2>&1 & until [ -e go ]; do sleep 0.05; done; exit 0`,
    { cwd },
  );
  await until('it is there', () => withText(name).some((pid) => statOf(pid)?.session === pid && pid !== program.pid));
  await sleep(UNTIL_SEEN_MS);
  writeFileSync(join(cwd, 'seen'), '');
  await until('it sleeps', () => withText(`sleep\0${name}`).length === 1);
  const [pid = 0] = withText(`sleep\0${name}`);
  writeFileSync(join(cwd, 'go'), '');
  await program.exited;
  // What is left of the ways to find it: nothing that the sweep looks for.
  expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('BATON');
  expect([statOf(pid)?.ppid, statOf(pid)?.pgid, statOf(pid)?.session]).not.toContain(program.pid);
  expect((await program.end(1000)).swept).toContain(pid);
  expect(withText(name)).toEqual([]);
});

test('the sweep needs nothing but the mark', async () => {
  const [mark, name, other] = [newMark(), newSleep(), newSleep()];
  const program = await sh(
    `setsid sh -c 'setsid env -i sleep ${name} & setsid sleep ${name} & wait' & setsid sh -c 'trap "" TERM; while :; do sleep ${name}; done' & wait`,
    { mark },
  );
  const neighbour = await sh(`sleep ${other}`, { mark: `${mark}0` });
  await until('it runs', () => withText(`sleep\0${name}`).length === 3);
  const ended = await endMarked(mark, 200);
  expect(ended).toMatchObject({ signal: 'SIGKILL', left: [] });
  expect(withText(name)).toEqual([]);
  await program.exited;
  // A mark that only begins like it is another one.
  expect(withText(other).length).toBeGreaterThan(0);
  expect(await endMarked(mark, 200)).toEqual(NOTHING);
  await neighbour.end(1000);
});

test('marks are whole entries of an environment', async () => {
  const mark = newMark();
  const exact = await start({ command: ['sleep', newSleep()], mark });
  await start({ command: ['sleep', newSleep()], mark: `${mark}x` });
  await start({ command: ['sleep', newSleep()], env: { ...ENV, OTHER: `BATON_RUN_MARK=${mark}` } });
  await start({ command: ['sleep', newSleep()], env: { ...ENV, XBATON_RUN_MARK: mark } });
  expect(findMarked(mark)).toEqual([exact.pid]);
  const far = await start({
    command: ['sleep', newSleep()],
    env: { ...ENV, A: 'x'.repeat(100_000) },
    mark: `${mark}y`,
  });
  expect(findMarked(`${mark}y`)).toEqual([far.pid]);
});

test('neither this process nor a number that was used again is ended', async () => {
  const mark = newMark();
  const child = spawn('sleep', [newSleep()], { env: ENV });
  // As if this process were of the run: its own child is found by descent, itself never.
  const stranger = { pid: child.pid ?? 0, started: 'at another time' };
  const watch = watchEscapes(stranger);
  expect(belonging(stranger, [], takeCensus())).toEqual([]);
  expect(
    belonging({ pid: 2 ** 22 + 1, started: null }, [{ ...stranger, session: stranger.pid }], takeCensus()),
  ).toEqual([]);
  watch.stop();
  expect(await endMarked(mark, 0)).toEqual(NOTHING);
  expect(isAlive(self())).toBe('alive');
  expect(child.exitCode).toBe(null);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

test('a run inside a run: the inner one may end what is marked, and stays alive itself', async () => {
  // The shell and the node in it carry the mark that is to be ended.
  const mark = newMark();
  const name = newSleep();
  const inner = spawn('sh', ['-c', `sleep ${name} & wait`], { env: { ...ENV, BATON_RUN_MARK: mark } });
  await until('it runs', () => withText(`sleep\0${name}`).length === 1);
  const census = takeCensus();
  expect(descendantsOf([process.pid], census).map(({ pid }) => pid)).toContain(inner.pid);
  expect((await endMarked(mark, 1000)).signal).toBe('SIGTERM');
  expect(withText(name)).toEqual([]);
});
