/** `baton graph bridge`: one summary of many nodes, within the tokens it is given. */
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { detect } from '../../src/protocol/detect.ts';
import { add, CONFIG, dir, graph, type Json, list, type N, show } from './graph-world.ts';
import { batonHere } from './here.ts';

describe('the bridge', () => {
  const adr = (i: number, more: Json = {}): Json => ({
    node_id: `adr_choice${i}_20251028_110000`,
    node_type: 'ADR',
    metadata: { created_by: 'solution-architect', confidence: 0.95, domain: 'software-development' },
    data: {
      title: `Choice ${i}`,
      context: 'We had to choose.',
      decision: `We take way ${i}. ${'It is the best of all ways that we have looked at. '.repeat(5)}`.trim(),
      rationale: 'It is simple. It is known.',
      constraints: ['Node 20'],
    },
    handoff: { ready_for_next: true, required_fields: ['title', 'decision'] },
    ...more,
  });
  const spec = {
    node_id: 'specification_api_20251028_120000',
    node_type: 'Specification',
    metadata: { created_by: 'solution-architect', confidence: 0.92, domain: 'software-development' },
    data: { component_name: 'API', purpose: 'To talk to it.', interfaces: ['GET /tasks'] },
    lineage: { created_from_node: 'adr_choice1_20251028_110000' },
  };
  beforeEach(async () => {
    expect((await add(JSON.stringify([...[1, 2, 3, 4, 5, 6].map((i) => adr(i)), spec]))).exit).toBe(0);
  });
  const bridge = async (...args: string[]): Promise<N & { output: { _meta: Json; _handoff: Json } }> => {
    const ran = await graph(['bridge', '--json', ...args]);
    expect([ran.exit, ran.err.includes('baton:')]).toEqual([0, false]);
    return ran.json() as Awaited<ReturnType<typeof bridge>>;
  };

  test('one summary of ADRs and specifications, as in the document', async () => {
    const made = await bridge('--type', 'ADR', '--type', 'Specification');
    const all = [...[1, 2, 3, 4, 5, 6].map((i) => `adr_choice${i}_20251028_110000`), spec.node_id];
    expect(made.node_id).toMatch(/^design_summary_\d{8}_\d{6}$/);
    expect(made).toMatchObject({
      node_type: 'DesignSummary',
      metadata: { created_by: 'design-bridge', confidence: 0.92 },
    });
    expect(made.data['key_decisions']).toHaveLength(5);
    expect([...(made.lineage['created_from_nodes'] as string[])].sort()).toEqual([...all].sort());
    expect(made['_references']).toMatchObject({ detailed_specifications: [spec.node_id] });
    expect(made.output._handoff).toMatchObject({
      graph_node: made.node_id,
      next_stage: 'implementation-triad',
      detail_nodes: { specifications: [spec.node_id] },
    });
    expect((await show(spec.node_id)).lineage['consumed_by_nodes']).toEqual([made.node_id]);
    const { output: _, ...node } = made;
    expect(await show(made.node_id)).toEqual(node);
    expect(
      (await graph(['load', made.node_id, '--require', 'key_decisions,architecture_overview,implementation_guidance']))
        .exit,
    ).toBe(0);
  });

  test('within the tokens it is given; what is too little names the least', async () => {
    for (const tokens of [2_000, 1_400, 1_100]) {
      const made = await bridge('--type', 'ADR', '--tokens', String(tokens));
      const { node_id, node_type, metadata, data, handoff, lineage, _references } = made;
      const written = { type: 'add_node', node_id, node_type, metadata, data, handoff, lineage, _references };
      expect(countTokens(JSON.stringify(written))).toBeLessThanOrEqual(tokens);
      expect(JSON.stringify(data)).toMatch(/(?:We take way \d.*){6}/);
      for (const decision of made.data['key_decisions'] as Json[]) {
        expect(decision).toMatchObject({
          title: expect.stringMatching(/^Choice \d$/),
          decision: expect.stringMatching(/^We take way \d\..*\.$/),
        });
      }
    }
    const before = await list('--type', 'DesignSummary');
    const refused = await graph(['bridge', '--type', 'ADR', '--tokens', '60', '--json']);
    expect(refused.exit).toBe(3);
    const { error } = JSON.parse(refused.err) as { error: { code: string; message: string } };
    expect(error.code).toBe('E_CONTEXT_OVERFLOW');
    expect(await list('--type', 'DesignSummary')).toEqual(before);
    const least = /at least (\d+)/.exec(error.message)?.[1] ?? '';
    expect((await bridge('--type', 'ADR', '--tokens', least)).data['key_decisions']).toHaveLength(5);
  });

  test('neighbours are named, what is stale is not; two summaries do not feed on each other', async () => {
    const [first, second] = [await bridge('--type', 'ADR'), await bridge('--type', 'ADR')];
    for (const made of [first, second]) {
      expect(made.lineage['created_from_nodes']).toHaveLength(7);
      expect(made.lineage['created_from_nodes']).toContain(spec.node_id);
    }
    expect(second.node_id).not.toBe(first.node_id);
    await add(
      `type: add_edge\nsource: adr_choice2_20251028_110000\ntarget: adr_choice1_20251028_110000\nrelation: supersedes\n`,
    );
    const third = await graph(['bridge', '--type', 'ADR', '--json']);
    expect(third.err).toMatch(
      /adr_choice1_20251028_110000 is left out: it is stale: adr_choice2_20251028_110000 supersedes it/,
    );
    expect((third.json() as N).lineage['created_from_nodes']).not.toContain('adr_choice1_20251028_110000');
    expect((await graph(['bridge', '--type', 'Nope'])).exit).toBe(4);
    expect((await graph(['bridge'])).exit).toBe(2);
    expect((await graph(['bridge', '--type', 'ADR', '--as', 'lower case'])).exit).toBe(2);
  });

  test('as another type, about a topic, to another stage; its envelope hands it on', async () => {
    const made = await bridge(
      '--type',
      'ADR',
      '--as',
      'ValidationSummary',
      '--topic',
      'The Store',
      '--next',
      'test-engineer',
    );
    expect(made.node_id).toMatch(/^validation_summary_the_store_\d{8}_\d{6}$/);
    const fields = ['validation_result', 'priority_score', 'key_findings', 'recommendation', 'required_details'];
    expect(Object.keys(made.data)).toEqual(fields);
    const { out } = await graph(['bridge', '--type', 'ADR', '--next', 'test-engineer']);
    expect(detect(out)).toMatchObject([{ kind: 'OUTPUT', valid: true, problems: [] }]);
    const sent = await batonHere(['send', '-', '--json'], out, dir);
    expect([sent.exit, sent.json()['result']]).toEqual([0, 'accepted']);
    expect(JSON.parse((await batonHere(['task', 'list', '--json'], '', dir)).out)).toMatchObject([
      { agent: 'emma', status: 'ready' },
    ]);
  });

  test('a configured agent writes the prose; one that fails is warned about, and the rest stays', async () => {
    const say = (summary: string): void => {
      const lines = [
        '[AOP:START] 2026-01-01T00:00:00Z',
        '[AOP:TASK] prose',
        '[AOP:SUMMARY]',
        summary,
        '[AOP:DETAILS_FILE] none',
        '[AOP:STATUS] success',
        '[AOP:END] 2026-01-01T00:00:01Z',
      ];
      writeFileSync(join(dir, 'emma.sh'), `#!/bin/sh\ncat > /dev/null\ncat <<'END'\n${lines.join('\n')}\nEND\n`);
      chmodSync(join(dir, 'emma.sh'), 0o755);
    };
    say('One store, many agents. All by reference.\nGuidance: Begin with the store.');
    const made = await bridge('--type', 'ADR', '--agent', 'emma');
    expect(made.data).toMatchObject({
      architecture_overview: 'One store, many agents. All by reference.',
      implementation_guidance: 'Begin with the store.',
    });
    expect(made.metadata['prose_by']).toBe('emma');
    writeFileSync(join(dir, 'emma.sh'), '#!/bin/sh\nexit 3\n');
    writeFileSync(join(dir, '.baton/config.yaml'), `${CONFIG}bridge: { agent: emma }\n`);
    const failed = await graph(['bridge', '--type', 'ADR', '--json', '--topic', 'again']);
    expect(failed.exit).toBe(0);
    expect(failed.err).toMatch(/warning: emma wrote no prose/);
    expect((failed.json() as N).data['architecture_overview']).toMatch(/^A summary of 6 ADR about again\./);
    expect((await graph(['bridge', '--type', 'ADR', '--agent', 'nobody', '--topic', 'more'])).err).toMatch(
      /warning: nobody wrote no prose/,
    );
  });
});
