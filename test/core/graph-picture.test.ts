/** The graph as Mermaid and DOT: whatever a label holds, it stays a label. */
import { expect, test } from 'vitest';
import { dot, mermaid, type PictureNode } from '../../src/core/graph-picture.ts';

const node = (id: string, title: string, more: Partial<PictureNode> = {}): PictureNode => ({
  id,
  type: 'BugBrief',
  title,
  confidence: 0.95,
  isStale: false,
  ...more,
});
const EVIL = 'say "hi"] --> n1[x]; click n1 "javascript:x" \\ #quot; %% {a} |b| <b>\nend\n\u0007 naïve';

const edges = [
  { from: 'a', to: 'b', relation: null },
  { from: 'a', to: 'b', relation: 'used' },
  { from: 'b', to: 'a', relation: 'says "no" --> |x|' },
  { from: 'a', to: 'gone', relation: null },
];

test('mermaid', () => {
  const text = [...mermaid([node('a', EVIL), node('b', '', { isStale: true, type: 'A"B' })], edges)].join('');
  expect(text.split('\n')).toEqual([
    'flowchart LR',
    expect.stringMatching(/^ {2}n1\["BugBrief 0\.95<br\/>a<br\/>[^"[\]{}|<>\\;%]*(?:#\d+;[^"[\]{}|<>\\;%#]*)*"\]$/),
    '  n2["A#34;B 0.95 #40;stale#41;<br/>b"]',
    '  n1 --> n2',
    '  n1 -.->|"used"| n2',
    '  n2 -->|"says #34;no#34; #45;#45;#62; #124;x#124;"| n1',
    '  classDef stale stroke-dasharray: 4 4',
    '  class n2 stale',
    '',
  ]);
  expect(text).toContain('#34;hi#34;#93;');
  expect(text).not.toMatch(/\u0007/);
});

test('dot', () => {
  const text = [...dot([node('a', EVIL), node('b', 'c:\\', { isStale: true })], edges)].join('');
  const lines = text.split('\n');
  expect(lines[3]).toMatch(/^ {2}"a" \[label="BugBrief 0\.95\\na\\nsay \\"hi\\"\]/);
  expect(lines[4]).toBe('  "b" [label="BugBrief 0.95 (stale)\\nb\\nc:\\\\", style=dashed];');
  expect(lines.slice(5)).toEqual([
    '  "a" -> "b";',
    '  "a" -> "b" [label="used", style=dotted];',
    '  "b" -> "a" [label="says \\"no\\" --> |x|"];',
    '}',
    '',
  ]);
  // Every quote that is not escaped opens or closes a text.
  for (const line of lines) expect((line.replace(/\\./g, '').match(/"/g) ?? []).length % 2).toBe(0);
});

test('a long title is cut, and nothing is drawn of nothing', () => {
  expect([...mermaid([node('a', 'x'.repeat(500))], [])].join('')).toMatch(/x{59}#8230;/u);
  expect([...mermaid([], [])].join('')).toBe('flowchart LR\n');
});
