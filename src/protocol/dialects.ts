/**
 * The dialects, a row each: how its messages are told from all other text, and what it calls a report. Words only, so that help and the
 * scanner need not load a dialect for them. What a dialect does with its messages is in `<name>/dialect.ts`, gathered in `parts.ts`.
 */

interface DialectRow {
  /** What `baton check --help` says of it. */
  readonly what: string;
  /** The kind of its messages that is a report, and what `baton convert --to` calls one; null where it has none. */
  readonly report: { readonly kind: string; readonly to: string } | null;
  /** Where its messages are JSON objects: the key by which one says whose it is, and how what it says is told. */
  readonly json: { readonly key: string; readonly isOurs: (said: string) => boolean } | null;
  /** What may stand before such an object. Behind it the object is ours, whatever it says. */
  readonly mark: string | null;
}

export const DIALECT_TABLE = {
  aop1: { what: 'a report block', report: { kind: 'report', to: 'aop1' }, json: null, mark: null },
  aop2: {
    what: 'TASK, RESPONSE, EVENT',
    report: { kind: 'RESPONSE', to: 'response' },
    json: { key: 'aop_version', isOurs: (said: string) => said.startsWith('2.') },
    mark: null,
  },
  output: { what: 'OUTPUT, GRAPH_UPDATE', report: { kind: 'OUTPUT', to: 'output' }, json: null, mark: null },
  command: { what: '#STATE:save:key:value', report: null, json: null, mark: null },
  aof: {
    what: 'AOF/1 envelopes',
    report: { kind: 'completion.report', to: 'aof' },
    json: { key: 'protocol', isOurs: (said: string) => said === 'aof' },
    mark: 'AOF/1',
  },
} as const satisfies Readonly<Record<string, DialectRow>>;

type Table = typeof DIALECT_TABLE;
export type DialectName = keyof Table;
/** Those of which the table has something to say under `K`. */
type With<K extends keyof DialectRow> = { [N in DialectName]: Table[N][K] extends null ? never : N }[DialectName];
export type JsonDialect = With<'json'>;
export type MarkedDialect = With<'mark'>;
type ReportDialect = With<'report'>;

export const DIALECT_NAMES = Object.keys(DIALECT_TABLE) as DialectName[];

/** What a message can be of: a dialect, a prompt of v1's form, or none of them. */
export const DIALECTS = [...DIALECT_NAMES, 'v1', 'unstructured'] as const;
export type Dialect = (typeof DIALECTS)[number];

const rows: readonly (readonly [DialectName, DialectRow])[] = DIALECT_NAMES.map((name) => [name, DIALECT_TABLE[name]]);

/** What a report is called in each dialect that has one. */
export const REPORTS = rows.flatMap(([name, { report }]) =>
  report ? [{ name: name as ReportDialect, ...report }] : [],
);

/** Whether a message of that kind is a report. */
export const isReport = (dialect: string, kind: string | null): dialect is ReportDialect =>
  REPORTS.some((report) => report.name === dialect && report.kind === kind);

/** What `baton convert --to` takes: the two that are made of a TASK, and a report of each dialect that has one. */
export type Target = 'task' | 'prompt' | Table[ReportDialect]['report']['to'];
export const TARGETS = ['task', 'prompt', ...REPORTS.map(({ to }) => to)] as readonly Target[];

interface JsonRow {
  readonly name: JsonDialect;
  readonly key: string;
  readonly isOurs: (said: string) => boolean;
  /** Finds the key and what it says in a text that is not parsed. */
  readonly inText: RegExp;
}
const JSON_ROWS: readonly JsonRow[] = rows.flatMap(([name, { json }]) =>
  json ? [{ name: name as JsonDialect, ...json, inText: new RegExp(`"${json.key}"\\s*:\\s*"([^"]*)"`, 'g') }] : [],
);

/** An object without any of these keys is nobody's. */
export const JSON_KEYS: readonly string[] = JSON_ROWS.map(({ key }) => key);

/** Whose JSON an object is. Anything that is not ours is passed by. */
export function ownerOf(value: Readonly<Record<string, unknown>>): JsonDialect | null {
  for (const { name, key, isOurs } of JSON_ROWS) {
    const said = value[key];
    if (typeof said === 'string' && isOurs(said)) return name;
  }
  return null;
}

/** The same question for a text that is too long to parse: asked of its beginning. */
export function ownerOfHead(head: string): JsonDialect | null {
  for (const { name, isOurs, inText } of JSON_ROWS) {
    for (const [, said = ''] of head.matchAll(inText)) if (isOurs(said)) return name;
  }
  return null;
}

/** The marks, and whose they are. */
export const MARKS: readonly (readonly [mark: string, owner: MarkedDialect])[] = rows.flatMap(([name, { mark }]) =>
  mark === null ? [] : [[mark, name as MarkedDialect] as const],
);
