/** A TASK with a mistake in it is the same task through every interface: its evidence and limits hold, and what it lost is named. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { batonHere } from './here.ts';

let root = '';
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-broken-')));
  mkdirSync(join(root, '.baton'));
  writeFileSync(
    join(root, '.baton/config.yaml'),
    'agents: { emma: { kind: command, command: ["echo", "[AOP:SUMMARY] made\\n[AOP:STATUS] success"] } }\ndefaults: { sandbox: "off" }\n',
  );
});
afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));

/** `priority` is misspelt, and one of the checkpoints has no id. */
const broken = (id: string, more: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 's', created_at: '2026-11-16T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
    target: { agent_name: 'emma', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
    task: {
      task_id: id,
      objective: 'Make out.txt.',
      category: 'OTHER',
      complexity: 'LOW',
      priority: 'HIHG',
      environment: { workspace_root: root },
      expected_outputs: [{ path: 'out.txt' }],
      ...more,
    },
    phases: [
      {
        phase_id: 'P',
        checkpoints: [
          { checkpoint_id: 'CP', validation: { command: 'exit 7' }, recovery_strategy: 'CONTINUE' },
          { description: 'without an id' },
        ],
      },
    ],
  });
const LOST = ['/phases/0/checkpoints/1', '/task/priority'];

const here = (args: string[], input = ''): ReturnType<typeof batonHere> => batonHere(args, input, root);
type Shown = {
  status: string;
  events: { type: string; detail: Record<string, unknown> }[];
  cause: { message: string };
};
const show = async (id: string): Promise<Shown> =>
  (await here(['task', 'show', id, '--session', 's', '--json'])).json() as unknown as Shown;

test('run, task add and send hold it to the same evidence, and say what was lost', async () => {
  const ran = await here(['run', '-'], broken('T-RUN'));
  expect([ran.exit, ran.err]).toEqual([3, expect.stringContaining(`without ${LOST.join(', ')}`)]);
  const added = await here(['task', 'add', '-'], broken('T-ADD'));
  expect([added.exit, added.err]).toEqual([0, expect.stringContaining(`without ${LOST.join(', ')}`)]);
  const sent = await here(['send', '-'], broken('T-SEND'));
  expect([sent.exit, sent.out]).toEqual([0, expect.stringContaining(`without ${LOST.join(', ')}`)]);
  await here(['work', '--until-empty']);
  for (const id of ['T-RUN', 'T-ADD', 'T-SEND']) {
    const { status, events, cause } = await show(id);
    expect([id, status]).toEqual([id, 'review']);
    expect(cause.message).toContain('expected out.txt, and it is not there');
    expect(events.find(({ type }) => type === 'run.checkpoint')?.detail).toMatchObject({
      checkpoint: 'CP',
      status: 'FAIL',
    });
    const told = events.filter(({ type }) => type === 'protocol.version.fallback');
    expect(told.map(({ detail }) => [detail['event'], detail['lost']])).toEqual([['VERSION_FALLBACK', LOST]]);
  }
});

test('prompt shows it as it would be run; limits that cannot be read refuse it everywhere', async () => {
  const shown = await here(['prompt', '-'], broken('T'));
  expect([shown.exit, shown.out]).toEqual([0, expect.stringContaining('out.txt')]);
  const checked = await here(['check', '-'], broken('T'));
  expect([checked.exit, checked.out]).toEqual([
    1,
    expect.stringMatching(/error \/task\/priority: [\s\S]*note the TASK T does not fit/),
  ]);
  expect(checked.out).toContain(`it is run as a prompt, without ${LOST.join(', ')}`);
  const bad = broken('T', { budgets: { max_cost_usd: 'two' } });
  for (const args of [
    ['run', '-'],
    ['task', 'add', '-'],
    ['prompt', '-'],
    ['check', '-'],
  ])
    expect([args, (await here(args, bad)).exit]).toEqual([args, 1]);
  expect((await here(['check', '-'], bad)).out).toContain('note such a TASK is refused');
  expect((await here(['send', '-'], bad)).exit).toBe(3);
  expect((await here(['task', 'list', '--json'])).out).toBe('[]\n');
});
