/** Texts to be read: those of the documents, and reports of any content in every dialect; then changed at random, or pumped up. */
import { readdirSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import { COMMANDS } from '../../../src/protocol/command/table.ts';
import { REPORTS } from '../../../src/protocol/dialects.ts';
import { PARTS } from '../../../src/protocol/parts.ts';
import { anyReport, anyText } from '../../helpers/arbitrary.ts';
import type { Random } from '../../helpers/random.ts';

const NOW = '2026-03-01T09:00:00.000Z';

/** What means something to a reader of some dialect, and so is worth putting anywhere. */
const TOKENS = [
  ...[
    '[AOP:START] ',
    '[AOP:TASK] ',
    '[AOP:SUMMARY]\n',
    '[AOP:STATUS] success\n',
    '[AOP:METRICS] a: 1, b: 2\n',
    '[AOP:END]',
  ],
  ...[
    '[GRAPH_UPDATE]\n',
    '[/GRAPH_UPDATE]\n',
    'OUTPUT:\n',
    'OUTPUT: {',
    '  _meta:\n',
    '  _handoff:\n',
    'type: add_node\n',
  ],
  ...['#STATE:save:k:v:persistent\n', '#STATE:list\n', '#NOPE\n', ':brief', ':limit=5', '#', 'AOF/1 ', 'AOF/1\n'],
  ...[
    '{"protocol":"aof"}',
    '{"aop_version":"2.1.0"}',
    '"extensions":{"x_a":1},',
    '"__proto__":{"a":1},',
    '"message_type":"TASK"',
  ],
  ...[
    'task: ',
    'Objective:',
    '```',
    '```json\n',
    '~~~~',
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '\\',
    ':',
    ',',
    '- ',
    '? ',
    '&a ',
    '*a ',
    '!!str ',
  ],
  ...[
    '|\n',
    '>\n',
    '---\n',
    '...\n',
    '%YAML 1.1\n',
    '<<: ',
    'null',
    'true',
    '1e999',
    '-0',
    '0x10',
    '.nan',
    '2.0.2-C',
    '{x}',
    '{{A:-b}}',
  ],
  ...[
    '\n',
    '\r\n',
    '\r',
    '\t',
    '    ',
    '\v',
    '\f',
    '\0',
    '\x1b[1m',
    '\x1b]0;',
    '\x1b',
    '\x07',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\ufffd',
  ],
  ...['\ud800', '\udc00', '😀', 'é', '\u202e', 'ß', 'İ', '**', '>', '# ', '## ', '…', '~0', '~1', '/'],
];

const documents = (folder: URL): string[] =>
  readdirSync(folder).map((name) => readFileSync(new URL(name, folder), 'utf8'));

/** One command of every form, as its example has it. */
const commands = (): string[] => Object.values(COMMANDS).flatMap(({ forms }) => forms.map(({ example }) => example));

/** @param fixtures the folder `test/fixtures/`; @param seed of what is made anew */
export function corpus(fixtures: URL, seed: number): string[] {
  const payloads = ['aof-completion-payload.json', 'aof-status-payload.json', 'aof-handoff-payload.json'].map(
    (name, i) => {
      const payload = JSON.parse(readFileSync(new URL(`documents/${name}`, fixtures), 'utf8')) as { taskId: string };
      const type = ['completion.report', 'status.update', 'handoff.request'][i];
      const { taskId } = payload;
      return JSON.stringify({
        protocol: 'aof',
        version: 1,
        type,
        taskId,
        fromAgent: 'a',
        toAgent: 'swe-qa',
        sentAt: NOW,
        payload,
      });
    },
  );
  const reports = fc.sample(anyReport, { seed, numRuns: 20 }).flatMap((report, i) =>
    REPORTS.map(({ name }) => {
      const { output } = PARTS[name].report.write(report, { now: NOW });
      return typeof output === 'string' ? output : JSON.stringify(output, null, i % 3);
    }),
  );
  return [
    ...documents(new URL('documents/', fixtures)),
    ...payloads,
    ...commands(),
    ...reports,
    ...fc.sample(anyText, { seed, numRuns: 40 }),
  ];
}

/** Another text, made from those of the corpus. */
export function mutant(texts: readonly string[], random: Random): string {
  let text = random.chance(0.05) ? '' : random.pick(texts);
  for (let n = random.below(6); n >= 0; n--) text = random.pick(WAYS)(text, texts, random);
  return text.length > MOST ? text.slice(0, MOST) : text;
}

const MOST = 20_000;

type Way = (text: string, texts: readonly string[], random: Random) => string;

const part = (text: string, random: Random): [number, number] => {
  const start = random.below(text.length + 1);
  const size = random.pick([1, 1, 4, 30, 300]);
  return [start, Math.min(text.length, start + 1 + random.below(size))];
};

const WAYS: readonly Way[] = [
  function put(text, _, random) {
    const [at] = part(text, random);
    return text.slice(0, at) + random.pick(TOKENS) + text.slice(at);
  },
  function replace(text, _, random) {
    const [start, end] = part(text, random);
    return text.slice(0, start) + random.pick(TOKENS) + text.slice(end);
  },
  function drop(text, _, random) {
    const [start, end] = part(text, random);
    return text.slice(0, start) + text.slice(end);
  },
  function repeat(text, _, random) {
    const [start, end] = part(text, random);
    return text.slice(0, end) + text.slice(start, end).repeat(random.below(4)) + text.slice(end);
  },
  function cutOff(text, _, random) {
    return text.slice(0, random.below(text.length + 1));
  },
  function join(text, texts, random) {
    return `${text}${random.pick(['', '\n', '\n\n', ' ', '\nwords\n'])}${random.pick(texts)}`;
  },
  function splice(text, texts, random) {
    const other = random.pick(texts);
    const [start, end] = part(other, random);
    const [at] = part(text, random);
    return text.slice(0, at) + other.slice(start, end) + text.slice(at);
  },
  function lineAtMargin(text, _, random) {
    const lines = text.split('\n');
    lines.splice(random.below(lines.length + 1), 0, random.pick(TOKENS) + random.pick(TOKENS));
    return lines.join('\n');
  },
  function indent(text, _, random) {
    const by = ' '.repeat(1 + random.below(4));
    return text.replace(/^/gm, by);
  },
  function fence(text, _, random) {
    const mark = random.pick(['```', '~~~', '````']);
    return `${mark}${random.pick(['', 'json', 'yaml'])}\n${text}\n${random.pick([mark, '', '```'])}`;
  },
  function ends(text, _, random) {
    return text.replaceAll('\n', random.pick(['\r\n', '\r']));
  },
  function changeJson(text, _, random) {
    try {
      return JSON.stringify(changed(JSON.parse(text), random), null, random.below(3));
    } catch {
      return text;
    }
  },
];

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e21,
  '',
  'x',
  '2.0.3',
  'TASK',
  [],
  [1],
  {},
  { x_a: 1 },
  'x'.repeat(700),
];

/** One field of a JSON value, somewhere within it, changed, removed or added. */
function changed(value: unknown, random: Random): unknown {
  if (value === null || typeof value !== 'object' || random.chance(0.1)) return random.pick(VALUES);
  const entries = Object.entries(value);
  const at = random.below(entries.length + 1);
  const [key, child] = entries[at] ?? [
    random.pick(['extensions', '__proto__', 'x_new', 'taskId', 'aop_version', 'a/b~c']),
    {},
  ];
  const without = entries.filter((_, i) => i !== at);
  const next = random.chance(0.2)
    ? without
    : [...without.slice(0, at), [key, changed(child, random)] as const, ...without.slice(at)];
  return Array.isArray(value) ? next.map(([, item]) => item) : Object.fromEntries(next);
}

/** A text of which one part can be repeated as often as one likes. */
export interface Pump {
  readonly before: string;
  readonly repeat: string;
  readonly after: string;
}

export const pumped = ({ before, repeat, after }: Pump, times: number): string => before + repeat.repeat(times) + after;

export function pump(texts: readonly string[], random: Random): Pump {
  const text = mutant(texts, random).slice(0, 1500);
  const [start, end] = part(text, random);
  const unit = random.chance(0.6)
    ? Array.from({ length: 1 + random.below(3) }, () => random.pick(TOKENS)).join('')
    : text.slice(start, Math.min(end, start + 40));
  return {
    before: text.slice(0, start),
    repeat: unit === '' ? ' ' : unit,
    after: text.slice(random.chance(0.5) ? start : end),
  };
}
