/** `baton graph` as those call it who build upon a node: finding and loading, what is behind it, and what a run may do there. */
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readYaml } from '../../src/protocol/text/yaml.ts';
import { MAIN, type Ran } from './baton.ts';
import { add, BUG, block, bug, dir, FIX, from, graph, type Json, list, type N, show } from './graph-world.ts';
import { batonHere } from './here.ts';

describe('finding and loading', () => {
  beforeEach(async () => {
    await add(`${bug}${block(FIX, 'Implementation', `${from(BUG)}`)}`);
  });

  test('by type, domain, stage, text and session', async () => {
    expect(await list()).toEqual([BUG, FIX]);
    expect(await list('--type', 'BugBrief')).toEqual([BUG]);
    expect(await list('--type', 'BugBrief', '--type', 'Implementation')).toEqual([BUG, FIX]);
    expect(await list('--domain', 'software-development')).toEqual([BUG, FIX]);
    expect(await list('--domain', 'research')).toEqual([]);
    expect(await list('--stage', 'implementation-triad')).toEqual([BUG]);
    expect(await list('--text', 'nullpointerEXCEPTION')).toEqual([BUG]);
    expect(await list('--session', 'default')).toEqual([BUG, FIX]);
    expect(await list('--session', 'another')).toEqual([]);
    expect((await graph(['list', '--type', 'Nope'])).out).toBe('no node is such\n');
  });

  test('into a session, where it builds upon nothing of another', async () => {
    expect((await add(block('adr_x_20251028_100000'), '--session', 'far')).exit).toBe(0);
    expect((await show('adr_x_20251028_100000'))['session']).toBe('far');
    const upon = block('adr_y_20251028_100000', 'ADR', from('adr_x_20251028_100000'));
    const refused = await add(upon, '--session', 'near');
    expect([refused.exit, refused.err]).toEqual([3, expect.stringMatching(/session near.*of the session far/)]);
    expect((await add(upon, '--session', 'far')).exit).toBe(0);
    expect(await list('--session', 'far')).toEqual(['adr_x_20251028_100000', 'adr_y_20251028_100000']);
  });

  test('just what is required, and every gap', async () => {
    const loaded = await graph(['load', BUG, '--require', 'summary,acceptance_criteria']);
    expect(loaded.exit).toBe(0);
    const read = readYaml(loaded.out);
    expect(read.ok && Object.keys(read.value as Json)).toEqual(['summary', 'acceptance_criteria']);
    expect((await graph(['load', BUG, '--json'])).json()).toEqual(await show(BUG));
    const refused = await graph(['load', BUG, '--require', 'plan,summary,budget', '--json']);
    expect(refused.exit).toBe(3);
    expect(refused.err).toMatch(/E_NOT_LOADABLE.*data\.plan.*data\.budget/);
    expect((await graph(['load', 'nothing'])).exit).toBe(4);
    expect((await graph(['load', BUG, '--require', 'a,,b'])).exit).toBe(2);
  });

  test('who uses it is written down, as the person who says so', async () => {
    await add(block('review_fix_20251028_150000', 'Review'));
    expect((await graph(['load', FIX, '--as', 'review_fix_20251028_150000'])).exit).toBe(0);
    expect((await show(FIX)).lineage['consumed_by_nodes']).toEqual(['review_fix_20251028_150000']);
    const task = (await batonHere(['task', 'add', '--title', 'use it', '--json'], '', dir)).json()['id'] as string;
    expect((await graph(['load', BUG, '--as', task])).exit).toBe(0);
    const events = (await batonHere(['events', '--json'], '', dir)).out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Json);
    expect(events.filter(({ type }) => type === 'node.loaded')).toMatchObject([
      { by: 'user as review_fix_20251028_150000' },
      { by: `user as ${task}`, task },
    ]);
    expect((await graph(['load', BUG, '--as', 'nobody'])).exit).toBe(4);
    expect((await graph(['load', BUG, '--as', BUG])).exit).toBe(3);
  });
});

test('lineage both ways, to the run, the cost and the files behind a node', async () => {
  await add(bug);
  const id = 'implementation_fix_20251028_140000';
  writeFileSync(
    join(dir, 'emma.sh'),
    `#!/bin/sh
cat > /dev/null
echo fixed > fix.txt
cat <<'END'
${block(id, 'Implementation', from(BUG))}
AOF/1 {"protocol":"aof"}
[AOP:START] 2026-01-01T00:00:00Z
[AOP:TASK] fix
[AOP:SUMMARY]
Fixed.
[AOP:DETAILS_FILE] none
[AOP:STATUS] success
[AOP:END] 2026-01-01T00:00:01Z
END
`.replace('AOF/1 {"protocol":"aof"}\n', ''),
  );
  chmodSync(join(dir, 'emma.sh'), 0o755);
  const task = {
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'TASK',
    session: { session_id: 's', created_at: '2026-01-01T00:00:00Z', orchestrator: 'test', origin: 'CLI' },
    target: { agent_name: 'emma', role: 'EXECUTOR', provider: 'OTHER', model: 'none' },
    task: {
      task_id: 'fix',
      objective: 'Fix it',
      category: 'CODE_GENERATION',
      complexity: 'LOW',
      environment: { workspace_root: dir },
      expected_outputs: [{ path: 'fix.txt' }],
    },
  };
  // Its session is another one than the brief's: to read is free.
  const ran = await batonHere(['run', '-'], JSON.stringify(task), dir);
  expect([ran.exit, ran.err]).toEqual([0, expect.anything()]);
  await add(block('test_results_fix_20251028_150000', 'TestResults', from(id)));
  const { nodes, edges } = (await graph(['lineage', id, '--json'])).json() as { nodes: N[]; edges: Json[] };
  expect(nodes.map(({ node_id: each }) => each).sort()).toEqual([BUG, id, 'test_results_fix_20251028_150000'].sort());
  expect(edges).toEqual(
    expect.arrayContaining([
      { from: BUG, to: id, relation: null },
      { from: id, to: 'test_results_fix_20251028_150000', relation: null },
    ]),
  );
  const mine = nodes.find(({ node_id: each }) => each === id);
  expect(mine?.['behind']).toMatchObject({
    run: mine?.['run'],
    agent: 'emma',
    files: [{ path: 'fix.txt', status: 'CREATED' }],
  });
  const { out } = await graph(['lineage', id]);
  expect(out).toMatch(
    /^implementation_fix_20251028_140000\n {2}Implementation 0\.95 by architect\n[\s\S]*TASK-[\d-]+-r1 by emma[\s\S]*files: fix\.txt \(created\)/,
  );
  expect(out).toMatch(/Comes from\n {2}└─ bug_login_500[\s\S]*Led to\n {2}└─ test_results_fix/);
  expect((await graph(['lineage', id, '--up'])).out).not.toMatch(/Led to/);
  expect(
    ((await graph(['lineage', BUG, '--hops', '1', '--json'])).json()['nodes'] as N[]).map((each) => each.node_id),
  ).toEqual([BUG, id]);
  expect((await graph(['lineage', 'nothing'])).exit).toBe(4);
  expect((await graph(['lineage', BUG, '--hops', 'x'])).exit).toBe(2);
});

describe('within a run it is the run that speaks', () => {
  const cli = `${process.execPath} ${MAIN} graph`;
  const said = (name: string): string => readFileSync(join(dir, `${name}.out`), 'utf8');
  const mine = 'implementation_fix_20251028_140000';

  /** Runs an agent that calls these commands, and keeps what each of them says. */
  async function run(calls: Readonly<Record<string, string>>): Promise<Ran> {
    await add(bug);
    writeFileSync(join(dir, 'node.txt'), block(mine, 'Implementation', from(BUG)));
    writeFileSync(join(dir, 'yes.txt'), block('approval_bug_20251028_140000', 'Approval'));
    const lines = Object.entries(calls).map(
      ([name, command]) => `${command} > ${name}.out 2>&1; echo $? >> ${name}.out`,
    );
    const report = "printf '[AOP:SUMMARY] Fixed.\\n[AOP:DETAILS_FILE] none\\n[AOP:STATUS] success\\n'";
    writeFileSync(join(dir, 'emma.sh'), ['#!/bin/sh', 'cat > /dev/null', ...lines, report, ''].join('\n'));
    chmodSync(join(dir, 'emma.sh'), 0o755);
    return await batonHere(['run', 'fix it', '--agent', 'emma', '--session', 'default'], '', dir);
  }

  test('for its own task and session, and never as somebody else', async () => {
    const ran = await run({
      load: `${cli} load ${BUG} --require summary`,
      gap: `${cli} load ${BUG} --require plan`,
      bare: `env -u BATON_SOCKET ${cli} load ${BUG} --require summary`,
      as: `${cli} load ${BUG} --as TASK-2020-01-01-001`,
      bridge: `env -u BATON_SOCKET ${cli} bridge --type BugBrief --session other`,
      add: `${cli} add node.txt`,
    });
    expect(said('load')).toBe('summary: Login form returns 500 error with valid credentials\n0\n');
    expect(said('bare')).toBe(said('load'));
    expect(said('gap')).toMatch(/data\.plan[\s\S]*\n3\n$/);
    expect(said('as')).toMatch(/--as is for people[\s\S]*\n3\n$/);
    expect(said('bridge')).toMatch(/E_PERMISSION_DENIED[\s\S]*\n3\n$/);
    expect(said('add')).toMatch(/kept implementation_fix_20251028_140000[\s\S]*\n0\n$/);
    expect([ran.exit, await list('--type', 'Implementation')]).toEqual([0, [mine]]);
    expect((await show(BUG)).lineage['consumed_by_nodes']).toEqual([mine]);
  });

  test('it reads the nodes of every session, and in the inbox what is of its own', async () => {
    const secret = 'adr_secret_20251028_100000';
    const doubtful = block('adr_doubtful_20251028_100000').replace('confidence: 0.95', 'confidence: 0.8');
    expect((await add(`${block(secret)}${doubtful}`, '--session', 'far')).exit).toBe(0);
    const inbox = cli.replace(/graph$/, 'inbox');
    const seen = {
      list: `${cli} list --session far`,
      show: `${cli} show ${secret}`,
      load: `${cli} load ${secret}`,
      lineage: `${cli} lineage ${secret} --json`,
      json: `${cli} export ${secret} --as json`,
      dot: `${cli} export --as dot`,
    };
    const asked = { own: `${inbox} --json`, far: `${inbox} --session far` };
    expect((await run({ ...seen, ...asked })).exit).toBe(0);
    for (const name of Object.keys(seen)) expect(said(name), name).toMatch(/(?:secret|summary: s)[\s\S]*\n0\n$/);
    expect(said('own')).toBe('[]\n0\n');
    expect(said('far')).toMatch(/^[^\n]*E_PERMISSION_DENIED[\s\S]*\n3\n$/);
    expect((await batonHere(['inbox', '--json'], '', dir)).json()).toHaveLength(1);
  });

  test.each(['', 'env -u BATON_SOCKET '])(
    'a summary is the run’s, and counts when that has ended well (%s)',
    async (how) => {
      const summed = { one: `${how}${cli} bridge --type BugBrief --json`, two: `${how}${cli} bridge --type BugBrief` };
      const ran = await run({ ...summed, none: `${cli} list --type DesignSummary --json` });
      expect(said('one')).toMatch(/the graph takes it when this run has ended well\n0\n$/);
      expect(said('two')).toMatch(/^OUTPUT:[\s\S]*the graph takes it when this run has ended well\n0\n$/);
      expect(said('none')).toBe('[]\n0\n');
      expect(ran.exit).toBe(0);
      const made = await Promise.all((await list('--type', 'DesignSummary')).map(show));
      expect(made).toMatchObject(
        Array.from({ length: 2 }, () => ({
          task: expect.stringMatching(/^TASK-/),
          run: expect.stringMatching(/-r1$/),
        })),
      );

      writeFileSync(join(dir, 'emma.sh'), `#!/bin/sh\n${summed.one} > one.out\nexit 3\n`);
      expect((await batonHere(['run', 'fail', '--agent', 'emma', '--session', 'default'], '', dir)).exit).not.toBe(0);
      expect(said('one')).toContain('DesignSummary');
      expect(await list('--type', 'DesignSummary')).toHaveLength(2);
    },
  );

  test('a person’s word is not its to say, and then nothing of it is taken', async () => {
    const ran = await run({
      add: `${cli} add node.txt`,
      yes: `env -u BATON_SOCKET ${cli} add yes.txt`,
    });
    expect(said('yes')).toMatch(/kept approval_bug_20251028_140000[\s\S]*\n0\n$/);
    expect([ran.exit, await list()]).toEqual([3, [BUG]]);
    expect(ran.err).toMatch(/would be a person's or Baton's own word/);
  });
});
