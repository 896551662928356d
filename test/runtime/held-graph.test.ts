/** What a run says of the knowledge graph acts, all of it, or waits for the person who approves the task; nothing of it is lost without a word. */
import { describe, expect, test } from 'vitest';
import type { Actor } from '../../src/core/laws/messages.ts';
import { answerQuestion } from '../../src/runtime/answers.ts';
import { answerParts } from '../../src/runtime/host-answers.ts';
import { workOn } from '../../src/runtime/scheduler.ts';
import { nodeOf, nodes, nodeText, outputText, tasks, worldOf } from './graph-world.ts';
import { print } from './small-agents.ts';
import { reportText, taskOf, type World } from './world.ts';

const ANN: Actor = { kind: 'person', name: 'ann' };
const EXPECTS = { expected_outputs: [{ type: 'FILE', path: 'made.txt' }] };

const approve = (world: World, id: string) => answerQuestion(answerParts(world.host), { id, status: 'approved' }, ANN);

/** A task whose run said this and did not make the file that was expected of it. */
async function unproven(said: string, config: object = {}) {
  const world = await worldOf({ one: print(said), two: 'true', three: 'true' }, config);
  const ran = await world.run(taskOf(world, { agent: 'one', task: EXPECTS }));
  expect(ran.task.status).toBe('review');
  expect(await nodes(world)).toEqual([]);
  return { world, ran, id: ran.task.id };
}

const stagesOf = async (world: World): Promise<string[]> =>
  (await tasks(world)).flatMap(({ metadata, status }) =>
    metadata['stage'] === undefined || status === 'cancelled' ? [] : [String(metadata['stage'])],
  );

describe('approving a task whose evidence failed', () => {
  test('applies its nodes and its handoff, and the next stage starts', async () => {
    const { world, ran, id } = await unproven(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`);
    expect(ran.told('graph.held')).toMatchObject([{ blocks: 1, node: 'a_1' }]);
    const { task, made, nodes: written } = await approve(world, id);
    expect(task?.status).toBe('done');
    expect(made.map(({ metadata }) => metadata['stage'])).toEqual(['two']);
    expect(written.map((node) => node.id)).toContain('a_1');
    expect(await nodeOf(world, 'a_1')).toMatchObject({ task: id, run: ran.task.run?.id, stale: null });
    expect(await stagesOf(world)).toEqual(['two']);
  });

  test('is refused with the gap, changes nothing, and works once the gap is closed', async () => {
    const { world, id } = await unproven(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'nobody-is-this')}`);
    await expect(approve(world, id)).rejects.toThrow(/nobody-is-this/);
    expect((await world.store.find(id))?.status).toBe('review');
    expect(await nodes(world)).toEqual([]);
    Object.assign(world.host.config.stages, { 'nobody-is-this': { agent: 'two' } });
    expect((await approve(world, id)).task?.status).toBe('done');
    expect(await stagesOf(world)).toEqual(['nobody-is-this']);
  });

  test('leads to the question that its OUTPUT asks, and is done with the answer', async () => {
    const gate = { approval_required: true, approval_question: 'Ship it?' };
    const { world, id } = await unproven(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two', gate)}`);
    await expect(approve(world, id)).rejects.toThrow(/Ship it\?/);
    const [asked] = await world.store.questions();
    expect((await approve(world, asked?.id ?? '')).task?.status).toBe('done');
    expect(await stagesOf(world)).toEqual(['two']);
  });

  test('no other way makes it done without what was held back', async () => {
    const { world, id } = await unproven(nodeText({ id: 'a_1' }));
    const moved = await world.store.send({ message: { type: 'task.move', id, to: 'done' }, by: ANN });
    expect(moved).toMatchObject({
      kind: 'refused',
      refusal: { code: 'E_HELD_BACK', hint: `try: baton approve ${id}` },
    });
    expect((await world.store.find(id))?.status).toBe('review');
  });

  test('what was rejected is never applied', async () => {
    const { world, id } = await unproven(`${nodeText({ id: 'a_1' })}\n${outputText('a_1', 'two')}`);
    await answerQuestion(answerParts(world.host), { id, status: 'rejected' }, ANN);
    expect((await nodes(world)).map(({ type }) => type)).toEqual(['Approval']);
    expect(await stagesOf(world)).toEqual([]);
  });

  test('of a task that was run again, the last run counts', async () => {
    const script = `n=$(ls .tried 2>/dev/null | wc -l); mkdir -p .tried; touch .tried/$n
      if [ "$n" = 0 ]; then ${print(nodeText({ id: 'first' }))}
      else ${print(nodeText({ id: 'second' }))}
      fi`;
    const world = await worldOf({ one: script });
    const ran = await world.run(taskOf(world, { agent: 'one', task: EXPECTS }));
    await answerQuestion(
      answerParts(world.host),
      { id: ran.task.id, status: 'changes_requested', comment: 'again' },
      ANN,
    );
    const leaving = new AbortController().signal;
    await workOn(world.host, { only: [ran.task.id], parallel: 1, untilEmpty: true, leaving });
    expect(await world.store.find(ran.task.id)).toMatchObject({ status: 'review', runs: 2 });
    await approve(world, ran.task.id);
    expect((await nodes(world)).flatMap(({ id, type }) => (type === 'Findings' ? [id] : []))).toEqual(['second']);
  });
});

describe('every OUTPUT of a run acts', () => {
  test('two nodes for two stages, and one node for two', async () => {
    const said = [
      nodeText({ id: 'a_1' }),
      nodeText({ id: 'b_1' }),
      outputText('a_1', 'two'),
      outputText('b_1', 'three'),
      outputText('a_1', 'three'),
    ].join('\n');
    const world = await worldOf({ one: print(`${said}\n${reportText()}`), two: 'true', three: 'true' });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task.status).toBe('done');
    const made = (await tasks(world)).filter(({ metadata }) => metadata['stage'] !== undefined);
    expect(made.map(({ metadata }) => `${metadata['node']} ${metadata['stage']}`).sort()).toEqual([
      'a_1 three',
      'a_1 two',
      'b_1 three',
    ]);
    expect(made.map(({ status }) => status)).not.toContain('cancelled');
  });

  test('one that cannot act refuses all of them, by name', async () => {
    const said = [nodeText({ id: 'a_1' }), outputText('a_1', 'two'), outputText('gone', 'two')].join('\n');
    const world = await worldOf({ one: print(said), two: 'true' });
    const ran = await world.run(taskOf(world, { agent: 'one' }));
    expect(ran.task).toMatchObject({ status: 'review', cause: { message: expect.stringContaining('gone') } });
    expect(await nodes(world)).toEqual([]);
    expect(await stagesOf(world)).toEqual([]);
  });
});

describe('nodes of another session', () => {
  test('are read and built upon; writing stays with the session', async () => {
    const world = await worldOf({
      brief: print(`${nodeText({ id: 'brief_1', type: 'BugBrief' })}\n${reportText()}`),
      fix: print(`${nodeText({ id: 'fix_1', from: 'brief_1' })}\n${reportText()}`),
      thief: print(
        `[GRAPH_UPDATE]\ntype: update_node\nnode_id: brief_1\ndata: { summary: "mine now" }\n[/GRAPH_UPDATE]\n${reportText()}`,
      ),
      usurper: print(
        `${nodeText({ id: 'new_1' })}\n[GRAPH_UPDATE]\ntype: add_edge\nsource: new_1\ntarget: brief_1\nrelation: supersedes\n[/GRAPH_UPDATE]\n${reportText()}`,
      ),
    });
    const runIn = (session: string, agent: string) =>
      world.run(taskOf(world, { agent, session: { session_id: session } }));
    expect((await runIn('monday', 'brief')).task.status).toBe('done');
    expect((await runIn('tuesday', 'fix')).task.status).toBe('done');
    expect(await nodeOf(world, 'fix_1')).toMatchObject({ session: 'tuesday', sources: ['brief_1'] });
    for (const agent of ['thief', 'usurper']) {
      const { task } = await runIn('wednesday', agent);
      expect(task).toMatchObject({ status: 'review', cause: { code: 'E_PERMISSION_DENIED' } });
    }
    expect(await nodeOf(world, 'brief_1')).toMatchObject({ stale: null, document: { data: { summary: 's' } } });
  });
});
