/** Templates: valid once they are filled in, and not before. */
import { expect, test } from 'vitest';
import { detect } from '../../../src/protocol/detect.ts';
import { snakeCase } from '../../../src/protocol/output/node-words.ts';
import { NODE_TYPES } from '../../../src/protocol/output/registry.ts';
import { fieldsOfType, knownTypes, templateOf } from '../../../src/protocol/output/templates.ts';
import { domainOf, nextStageOf, outputTypeOf } from '../../../src/protocol/output/type-defaults.ts';

const NOW = '2025-10-28T10:30:45Z';
const own = { ReleaseNote: ['version', 'highlights'], Empty: [] };

test.each(knownTypes(own))('%s', (type) => {
  const fields = fieldsOfType(type, own) ?? [];
  const template = templateOf(type, fields, NOW);
  expect(detect(template).map(({ valid }) => valid)).toEqual([false, false]);
  const [node, output] = detect(template.replaceAll(/<[^<>\n]+>/g, 'word'));
  const problems = [...(node?.problems ?? []), ...(output?.problems ?? [])].filter(
    ({ code }) => code !== 'E_UNREGISTERED_TYPE',
  );
  expect(problems).toEqual([]);
  expect([node?.kind, node?.valid, output?.kind, output?.valid]).toEqual(['GRAPH_UPDATE', true, 'OUTPUT', true]);
  const value = node?.value as { node_id: string; data: Record<string, unknown>; handoff: Record<string, unknown> };
  expect(Object.keys(value.data)).toEqual(expect.arrayContaining([...fields]));
  expect(output?.value).toMatchObject({
    _meta: { output_type: outputTypeOf(type), domain: domainOf(type) },
    _handoff: {
      graph_node: value.node_id,
      next_stage: nextStageOf(type),
      required_fields: value.handoff['required_fields'],
    },
  });
});

test('ids are those of the document', () => {
  expect(templateOf('BugBrief', NODE_TYPES['BugBrief'] ?? [], NOW)).toContain('node_id: bug_<topic>_20251028_103045');
  expect(templateOf('TestResults', [], NOW)).toContain('node_id: test_results_<topic>_20251028_103045');
});

test('of a project’s own types and of the registry’s, and of no others', () => {
  expect(fieldsOfType('ReleaseNote', own)).toEqual(['version', 'highlights']);
  expect(fieldsOfType('ADR', own)).toEqual(NODE_TYPES['ADR']);
  expect(fieldsOfType('constructor', own)).toBeNull();
  expect(outputTypeOf('toString')).toBe('analysis');
});

test('a type is written in the words of an id, in one pass', () => {
  expect(['DesignSummary', 'SEOBrief', 'ADR', 'ABTestResults'].map(snakeCase)).toEqual([
    'design_summary',
    'seo_brief',
    'adr',
    'ab_test_results',
  ]);
  expect(snakeCase('A'.repeat(1_000_000))).toHaveLength(1_000_000);
});
