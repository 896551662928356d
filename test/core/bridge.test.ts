/** Which nodes a bridge takes, and what it makes of them within a number of tokens. */
import { describe, expect, test } from 'vitest';
import { MOST_PICKED, pick, scored, sharedConfidence, typeWeight, whyLeftOut } from '../../src/core/bridge.ts';
import type { WholeNode } from '../../src/core/store.ts';
import { decodeGraphUpdate, decodeOutput } from '../../src/protocol/output/decode.ts';
import { encodeGraphUpdate, encodeOutput } from '../../src/protocol/output/encode.ts';
import { pluralKey, snakeCase } from '../../src/protocol/output/node-words.ts';
import { NODE_TYPES } from '../../src/protocol/output/registry.ts';
import { type Source, type Summary, type SummaryRequest, summarise } from '../../src/protocol/output/summary.ts';

const node = (id: string, more: Partial<WholeNode> = {}): WholeNode => ({
  id,
  type: 'ADR',
  session: 'default',
  createdBy: 'architect',
  createdAt: 0,
  updatedAt: 0,
  domain: null,
  outputType: null,
  confidence: 0.9,
  effectiveConfidence: 0.9,
  ready: true,
  nextStage: null,
  topic: id,
  sources: [],
  uses: [],
  task: null,
  run: null,
  stale: null,
  approval: null,
  document: {},
  consumers: [],
  degree: 0,
  ...more,
});

const ids = (all: readonly { node: WholeNode }[]): string[] => all.map(({ node: { id } }) => id);

describe('the score', () => {
  test('is 0.3 confidence, 0.3 degree, 0.2 recency and 0.2 type', () => {
    const [best, worst] = scored([
      node('b', { type: 'BugBrief', effectiveConfidence: 0.5, degree: 2, updatedAt: 100 }),
      node('a', { effectiveConfidence: 0.9, degree: 4, updatedAt: 200 }),
    ]);
    expect(best).toMatchObject({ node: { id: 'a' }, score: 0.3 * 0.9 + 0.3 + 0.2 + 0.2 });
    expect(worst?.score).toBeCloseTo(0.3 * 0.5 + 0.3 * 0.5 + 0 + 0.2 * typeWeight('BugBrief'), 6);
  });

  test('the effective confidence counts, not the written one', () => {
    expect(ids(scored([node('a', { confidence: 0.99 }), node('b', { effectiveConfidence: 0.98 })]))).toEqual([
      'b',
      'a',
    ]);
  });

  test('ties are in the order of the ids, whatever order they came in', () => {
    const nodes = ['d', 'a', 'c', 'b'].map((id) => node(id));
    expect(ids(scored(nodes))).toEqual(['a', 'b', 'c', 'd']);
    expect(ids(scored(nodes.reverse()))).toEqual(['a', 'b', 'c', 'd']);
  });

  test('nothing to score is no error', () => expect(scored([])).toEqual([]));
});

describe('the choice', () => {
  test('the best twenty, and what is one step away from them, each once', async () => {
    const nodes = Array.from({ length: 30 }, (_, i) => node(`n${String(i).padStart(2, '0')}`, { degree: i }));
    const near = [node('x'), node('n29'), node('n28')];
    const picked = await pick(nodes, async () => near);
    expect(picked.nodes).toHaveLength(MOST_PICKED);
    expect(picked.nodes[0]?.node.id).toBe('n29');
    expect(ids(picked.neighbours)).toEqual(['x']);
  });

  test('stale, rejected, asked about and not ready are left out, with the reason', () => {
    expect(whyLeftOut(node('a'), false)).toBeNull();
    expect(whyLeftOut(node('a', { stale: { at: 1, because: 'its source was changed', from: 'b' } }), false)).toMatch(
      /stale: its source was changed/,
    );
    expect(whyLeftOut(node('a', { approval: 'rejected' }), false)).toMatch(/rejected/);
    expect(whyLeftOut(node('a'), true)).toMatch(/question/);
    expect(whyLeftOut(node('a', { ready: false }), false)).toMatch(/not ready/);
  });

  test('as sure as the least sure, rounded down; what a person approved is sure', () => {
    expect(
      sharedConfidence([node('a', { effectiveConfidence: 0.95 }), node('b', { effectiveConfidence: 0.899 })]),
    ).toBe(0.89);
    expect(sharedConfidence([node('a', { effectiveConfidence: 0.29 }), node('b', { approval: 'approved' })])).toBe(
      0.29,
    );
    expect(sharedConfidence([node('a', { effectiveConfidence: 0.7, approval: 'approved' })])).toBe(1);
  });
});

// A word is a token: the vocabulary itself is an argument.
const countTokens = (text: string): number => text.match(/\w+|[^\w\s]/g)?.length ?? 0;
const sentences = (word: string, count: number): string =>
  Array.from({ length: count }, (_, i) => `The ${word} number ${i + 1} holds for all of it.`).join(' ');

const adr = (number: number): Source => ({
  id: `adr_choice_${number}_20251028_110000`,
  type: 'ADR',
  domain: 'software-development',
  score: 0.9,
  data: {
    title: `Choice ${number}`,
    context: sentences('context', 10),
    decision: sentences(`decision of ${number}`, 6),
    rationale: sentences('reason', 8),
    constraints: [`No more than ${number} at once`],
  },
  requiredFields: ['title', 'decision'],
});
const spec: Source = {
  id: 'specification_api_20251028_120000',
  type: 'Specification',
  domain: 'software-development',
  score: 0.8,
  data: { component_name: 'The API', purpose: sentences('purpose', 5), interfaces: ['GET /tasks', 'POST /tasks'] },
  requiredFields: [],
};
const neighbour: Source = {
  id: 'bug_login_20251028_100000',
  type: 'BugBrief',
  domain: 'software-development',
  score: 0.3,
  data: { summary: 'Login fails' },
  requiredFields: [],
};

const request = (more: Partial<SummaryRequest> = {}): SummaryRequest => ({
  type: 'DesignSummary',
  fields: NODE_TYPES['DesignSummary'] ?? [],
  id: 'design_summary_20251028_120000',
  topic: null,
  sources: [...[1, 2, 3, 4, 5, 6, 7].map(adr), spec],
  neighbours: [neighbour],
  confidence: 0.95,
  nextStage: 'implementation-triad',
  now: '2025-10-28T12:00:00.000Z',
  tokens: 100_000,
  countTokens,
  ...more,
});

function made(summary: Summary): Extract<Summary, { ok: true }> {
  if (!summary.ok) throw new Error(`it takes ${summary.least}`);
  return summary;
}

describe('the summary', () => {
  test('is the document’s design summary, field by field', () => {
    const { node: written, output } = made(summarise(request()));
    expect(Object.keys(written.data)).toEqual([
      'key_decisions',
      'architecture_overview',
      'implementation_guidance',
      'required_details',
      'critical_components',
      'interfaces',
      'constraints',
    ]);
    // A list has five entries; what the others need is kept beside it.
    expect(written.data['required_details']).toEqual(
      [6, 7].map((i) => ({ node: adr(i).id, title: `Choice ${i}`, decision: adr(i).data['decision'] })),
    );
    expect(written.data['key_decisions']).toHaveLength(5);
    expect(written.data['key_decisions']).toMatchObject([
      { node: adr(1).id, title: 'Choice 1', decision: adr(1).data['decision'] },
      {},
      {},
      {},
      {},
    ]);
    expect(written).toMatchObject({
      metadata: { created_by: 'design-bridge', confidence: 0.95, output_type: 'specification' },
      handoff: {
        ready_for_next: true,
        next_stage: 'implementation-triad',
        required_fields: ['key_decisions', 'architecture_overview', 'implementation_guidance', 'required_details'],
        optional_fields: ['critical_components', 'interfaces', 'constraints'],
      },
      lineage: { created_from_nodes: [...[1, 2, 3, 4, 5, 6, 7].map((i) => adr(i).id), spec.id, neighbour.id] },
      _references: {
        detailed_adrs: [1, 2, 3, 4, 5, 6, 7].map((i) => adr(i).id),
        detailed_specifications: [spec.id],
        detailed_bug_briefs: [neighbour.id],
      },
    });
    expect(output._handoff).toMatchObject({
      graph_node: written.node_id,
      detail_nodes: { adrs: [1, 2, 3, 4, 5, 6, 7].map((i) => adr(i).id), specifications: [spec.id] },
    });
    const block = encodeGraphUpdate(written).split('\n').slice(1, -2).join('\n');
    expect(decodeGraphUpdate(block, true)).toMatchObject({ valid: true, problems: [], value: written });
    expect(decodeOutput(encodeOutput(output))).toMatchObject({ valid: true, problems: [], value: output });
  });

  test('the same nodes give the same bytes', () => {
    expect(JSON.stringify(summarise(request()))).toBe(JSON.stringify(summarise(request())));
  });

  test('fits whatever it is given: optional fields go first, required ones only get shorter, at sentences', () => {
    const whole = made(summarise(request()));
    let before = whole.nodeTokens;
    let [sawDropped, sawShorter] = [false, false];
    for (const tokens of [3_000, 2_500, 2_000, 1_800, 1_600, 1_500, 1_400, 1_300]) {
      const { node: written, nodeTokens: size, tokens: ofData, dropped } = made(summarise(request({ tokens })));
      expect([size, ofData]).toEqual([written, written.data].map((value) => countTokens(JSON.stringify(value))));
      expect(size).toBeLessThanOrEqual(tokens);
      expect(size).toBeLessThanOrEqual(before);
      before = size;
      const decisions = written.data['key_decisions'] as Record<string, string>[];
      expect(decisions).toHaveLength(5);
      for (const [i, decision] of decisions.entries()) {
        expect(decision['title']).toBe(`Choice ${i + 1}`);
        const told = decision['decision'] as string;
        expect(adr(i + 1).data['decision']).toContain(told);
        expect(told.endsWith('.')).toBe(true);
        // Nothing that is required is cut while there is something optional left.
        if (told !== adr(i + 1).data['decision']) {
          sawShorter = true;
          expect(dropped).toEqual(['critical_components', 'interfaces', 'constraints']);
        }
      }
      for (const field of ['architecture_overview', 'implementation_guidance'])
        expect(written.data[field]).not.toBe('');
      expect(written.handoff?.optional_fields).toEqual(
        ['critical_components', 'interfaces', 'constraints'].filter((field) => !dropped.includes(field)),
      );
      expect(written.lineage?.created_from_nodes).toHaveLength(9);
      if (dropped.length > 0) sawDropped = true;
    }
    expect([sawDropped, sawShorter]).toEqual([true, true]);
  });

  test('names of neighbours take a quarter of the tokens at most, and none before something required has to go', () => {
    const neighbours = Array.from({ length: 100 }, (_, i) => ({ ...neighbour, id: `bug_${i}_20251028_100000` }));
    const { node: written, named, nodeTokens, output } = made(summarise(request({ neighbours, tokens: 3_000 })));
    expect(nodeTokens).toBeLessThanOrEqual(3_000);
    expect([named > 0, named < 100]).toEqual([true, true]);
    expect(written.lineage?.created_from_nodes).toHaveLength(8 + named);
    expect(output._handoff.detail_nodes?.['bug_briefs']).toEqual(neighbours.slice(0, named).map(({ id }) => id));
    const refused = summarise(request({ neighbours, tokens: 50 }));
    if (refused.ok) throw new Error('it fits');
    expect(made(summarise(request({ neighbours, tokens: refused.least })))).toMatchObject({ named: 0 });
    expect(made(summarise(request({ neighbours }))).named).toBe(100);
  });

  test.each(['DesignSummary', 'ValidationSummary', 'Report'])(
    'what the next stage of any of twenty nodes needs stays in a %s, or nothing is made',
    (type) => {
      const sources = Array.from({ length: 20 }, (_, i) => ({
        ...(i % 3 === 0 ? adr(i) : spec),
        id: `node_${i}_20251028_110000`,
        data: { ...(i % 3 === 0 ? adr(i) : spec).data, plan: `The plan of ${i}. ${sentences('plan', 20)}` },
        requiredFields: ['plan'],
      }));
      const asked = { type, fields: NODE_TYPES[type] ?? [], sources };
      const refused = summarise(request({ ...asked, tokens: 500 }));
      if (refused.ok) throw new Error('it fits');
      for (const tokens of [refused.least, refused.least + 300, 100_000]) {
        const { node: written, nodeTokens } = made(summarise(request({ ...asked, tokens })));
        expect(nodeTokens).toBeLessThanOrEqual(tokens);
        const text = JSON.stringify(written.data);
        for (const i of sources.keys()) expect(text, `${i} in ${tokens}`).toContain(`The plan of ${i}.`);
      }
      expect(summarise(request({ ...asked, tokens: refused.least - 1 })).ok).toBe(false);
    },
  );

  test('what does not fit at all names the least that would do, and that does', () => {
    const refused = summarise(request({ tokens: 50 }));
    if (refused.ok) throw new Error('it fits');
    expect(refused.least).toBeGreaterThan(50);
    expect(summarise(request({ tokens: refused.least - 1 })).ok).toBe(false);
    expect(made(summarise(request({ tokens: refused.least }))).nodeTokens).toBe(refused.least);
  });

  test('what a node’s own next stage needs stays, also where it stands in an optional field', () => {
    const needed = { ...spec, requiredFields: ['interfaces'] };
    const refused = summarise(request({ sources: [adr(1), needed], tokens: 10 }));
    if (refused.ok) throw new Error('it fits');
    const { node: written } = made(summarise(request({ sources: [adr(1), needed], tokens: refused.least })));
    expect(written.data['interfaces']).toEqual([{ node: spec.id, interfaces: ['GET /tasks', 'POST /tasks'] }]);
    expect(written.data['critical_components']).toBeUndefined();
  });

  test('prose by somebody else takes the place of what is put together, and is fitted too', () => {
    const prose = { by: 'emma', overview: sentences('overview', 50), guidance: 'Begin with the store.' };
    const { node: written, nodeTokens } = made(summarise(request({ prose, tokens: 1_500 })));
    expect([nodeTokens <= 1_500, written.metadata['prose_by']]).toEqual([true, 'emma']);
    expect(prose.overview.startsWith(written.data['architecture_overview'] as string)).toBe(true);
    expect(written.data['implementation_guidance']).toBe('Begin with the store.');
  });

  test.each(Object.keys(NODE_TYPES))('as a %s it has all that the type should have', (type) => {
    const fields = NODE_TYPES[type] ?? [];
    const { node: written } = made(summarise(request({ type, fields })));
    const block = encodeGraphUpdate(written).split('\n').slice(1, -2).join('\n');
    expect(decodeGraphUpdate(block, true)).toMatchObject({ valid: true, problems: [] });
    for (const field of fields) expect([field, written.data[field]]).not.toEqual([field, undefined]);
  });

  test('a validation says what the tests and reviews came to', () => {
    const tests = (failed: number): Source => ({
      ...spec,
      type: 'TestResults',
      data: { test_suite: 'unit', tests_passed: 9, tests_failed: failed },
    });
    const result = (sources: Source[]): unknown =>
      made(summarise(request({ type: 'ValidationSummary', fields: NODE_TYPES['ValidationSummary'] ?? [], sources })))
        .node.data['validation_result'];
    expect(result([tests(0)])).toBe('passed');
    expect(result([tests(0), tests(1)])).toBe('failed');
    expect(result([{ ...spec, type: 'Review', data: { overall_status: 'changes_requested' } }])).toBe('failed');
    expect(result([adr(1)])).toBe('unverified');
  });
});

test('types as keys', () => {
  expect(['ADR', 'SEOBrief', 'DesignSummary', 'TestResults'].map(snakeCase)).toEqual([
    'adr',
    'seo_brief',
    'design_summary',
    'test_results',
  ]);
  expect(
    ['ADR', 'Specification', 'TestResults', 'DesignSummary', 'DataAnalysis', 'Uncertainty'].map(pluralKey),
  ).toEqual(['adrs', 'specifications', 'test_results', 'design_summaries', 'data_analyses', 'uncertainties']);
});
