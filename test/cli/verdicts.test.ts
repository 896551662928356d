/** What people see of a verdict: the block, the last words of `run`, `task list`, `why`, `report`, `logs --check`, and the exit codes. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { batonHere } from './here.ts';

let root = '';
const said = (summary: string): string => `echo "[AOP:SUMMARY] ${summary}"\necho "[AOP:STATUS] success"\n`;
const AGENTS = `agents:
  emma: { kind: command, command: ["./emma.sh"] }
  silent: { kind: command, command: ["true"] }
  broken: { kind: command, command: ["false"] }
defaults: { agent: emma, sandbox: "off" }
`;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-verdicts-')));
  mkdirSync(join(root, '.baton'));
  writeFileSync(join(root, 'emma.sh'), `#!/bin/sh\ncat > /dev/null\n${said('tests.js written, all 12 tests pass')}`, {
    mode: 0o755,
  });
  writeFileSync(join(root, '.baton/config.yaml'), AGENTS);
});
afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

const here = (...args: string[]): ReturnType<typeof batonHere> => batonHere(args, '', root);
const FALSE_WORDS =
  'the agent says that it changed files (tests.js written, all 12 tests pass), and the run changed none';

test('a false claim of a plain run is called unverified, and what was found is told by every command', async () => {
  const ran = await here('run', 'Write tests.js', '--session', 's');
  expect(ran.exit).toBe(0);
  expect(ran.out).toContain('verdict: unverified');
  expect(ran.out).toContain(FALSE_WORDS);
  const id = /TASK-[\d-]+/.exec(ran.err)?.[0] ?? '';
  expect(ran.err).toContain(`baton: ${id} is done (unverified)`);
  expect((await here('task', 'list')).out).toContain('Write tests.js (unverified)');
  const why = (await here('why', id)).out;
  expect(why).toContain(`${id} is done (unverified)`);
  expect(why).toContain(FALSE_WORDS);
  const report = (await here('report', 's')).out;
  expect(report).toContain('done (unverified)');
  expect(report).toContain(FALSE_WORDS);
  // The folder that it names is there, with the trail in it.
  const folder = /\((\/[^)]*audit)\)/.exec(report)?.[1] ?? '';
  expect(readFileSync(join(folder, 's.jsonl'), 'utf8')).toContain('"TASK_DISPATCHED"');
});

test('a failed check: exit 3, with its command, exit code and last lines in block and why, and all of it in logs', async () => {
  const ran = await here('run', 'Do it', '--check', 'unit=seq 8; exit 2');
  expect(ran.exit).toBe(3);
  expect(ran.out).toContain('[AOP:STATUS] failure');
  expect(ran.out).toContain('verdict: contradicted');
  expect(ran.out).toContain('check `seq 8; exit 2` failed: exit code 2, expected 0');
  const id = /TASK-[\d-]+/.exec(ran.err)?.[0] ?? '';
  const why = (await here('why', id)).out;
  expect(why).toContain(`full output: baton logs ${id} --check unit)`);
  expect(why).toMatch(/\n {6}4\n {6}5\n {6}6\n {6}7\n {6}8\n/);
  expect((await here('logs', id, '--check', 'unit')).out).toBe('1\n2\n3\n4\n5\n6\n7\n8\n');
});

test('why and inbox do not put words into the mouth of an agent that reported nothing', async () => {
  const ran = await here('run', 'Do it', '--agent', 'silent');
  expect(ran.exit).toBe(3);
  const id = /TASK-[\d-]+/.exec(ran.err)?.[0] ?? '';
  const why = (await here('why', id)).out;
  expect(why).toContain('the review of a person, since its agent ended without a report');
  expect(why).not.toContain('agent says');
  expect((await here('inbox', '--json')).out).not.toContain('agent says');
});

test('work --until-empty: 0 where all is done, 3 where one waits for a person, 1 where one is a dead letter', async () => {
  const worked = async (agent: string): Promise<number | null> => {
    await here('task', 'add', '--title', `for ${agent}`, '--agent', agent);
    return (await here('work', '--until-empty')).exit;
  };
  expect(await worked('emma')).toBe(0);
  expect(await worked('silent')).toBe(3);
  // What waits from before is none of this one's tasks.
  expect(await worked('emma')).toBe(0);
  await here('task', 'add', '--title', 'silent too', '--agent', 'silent');
  expect(await worked('broken')).toBe(1);
});

test('unverified: review and checks in config.yaml: it waits in the inbox, and approve makes it done', async () => {
  writeFileSync(join(root, '.baton/config.yaml'), AGENTS.replace('defaults: {', 'defaults: { unverified: review,'));
  const ran = await here('run', 'Do it');
  expect(ran.exit).toBe(3);
  expect(ran.out).toContain('verdict: unverified');
  const id = /TASK-[\d-]+/.exec(ran.err)?.[0] ?? '';
  expect(ran.err).toContain(`Is ${id} done?`);
  expect((await here('approve', id)).exit).toBe(0);
  expect((await here('task', 'list')).out).toContain(' done ');
  writeFileSync(join(root, '.baton/config.yaml'), `${AGENTS}checks: ["test -s emma.sh"]\n`);
  const proven = await here('run', 'Do it again');
  expect([proven.exit, proven.out]).toEqual([0, expect.stringContaining('verdict: proven')]);
});
