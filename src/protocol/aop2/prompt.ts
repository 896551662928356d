/**
 * A TASK as text that a model reads. It reads leniently, since a TASK that failed its schema is rendered too (contract §1.3):
 * what has the wrong shape is passed over, and counted among what is lost.
 */

import { type Fields, isFields } from '../../core/fields.ts';
import { pointer } from '../../core/problem.ts';
import { stripControls } from '../text/clean.ts';

export interface RenderedTask {
  readonly text: string;
  /** Pointers into the TASK of what the text does not say. */
  readonly lost: readonly string[];
}

/** The sections of a TASK as lines: `Task:` and `Objective:` make it a v1 prompt that can be read back. */
export function renderTask(message: unknown): RenderedTask {
  const reader = new Reader(message);
  const sections = [
    header(reader),
    `Objective: ${reader.text('task', 'objective') ?? '(none given)'}`,
    environment(reader),
    list('Inputs', reader.items('task', 'inputs').map(input)),
    list('Expected Outputs', reader.items('task', 'expected_outputs').map(expectedOutput)),
    list('Phases', reader.items('phases').map(phase)),
    list('Budgets', pairs(reader, ['task', 'budgets'], ['max_cost_usd', 'max_tokens'])),
    list('Execution Policy', executionPolicy(reader)),
  ];
  return { text: sections.filter((section) => section !== '').join('\n\n'), lost: reader.unread() };
}

/** The v1 prompt of a TASK, with a last section that says what it could not say. */
export function toV1Prompt(message: unknown): RenderedTask {
  const { text, lost } = renderTask(message);
  return { text: lost.length === 0 ? text : `${text}\n\n${list('Not in this prompt', lost)}`, lost };
}

const header = (reader: Reader): string =>
  [
    ['Task', reader.text('task', 'task_id')],
    ['Agent', reader.text('target', 'agent_name')],
    ['Category', reader.text('task', 'category')],
    ['Complexity', reader.text('task', 'complexity')],
    ['Priority', reader.text('task', 'priority') ?? 'NORMAL'],
  ]
    .flatMap(([label, value]) => (value == null ? [] : [`${label}: ${oneLine(value)}`]))
    .join('\n');

const environment = (reader: Reader): string =>
  list('Environment', pairs(reader, ['task', 'environment'], ['workspace_root', 'os', 'shell', 'git_branch']));

const executionPolicy = (reader: Reader): string[] => [
  ...pairs(reader, ['execution_policy'], ['timeout_seconds', 'max_retries', 'retry_backoff_seconds', 'on_failure']),
  ...pairs(reader, ['guard_rails'], ['timeout_seconds']).map((pair) => `${pair} (guard rail, holds)`),
];

function pairs(reader: Reader, path: readonly string[], keys: readonly string[]): string[] {
  return keys.flatMap((key) => {
    const value = reader.scalar(...path, key);
    return value === null ? [] : [`${key}: ${value}`];
  });
}

const input = (item: Reader): string =>
  `${item.text('path') ?? ''}${note(item.text('type'), item.flag('read_only') === false ? null : 'read only', item.text('description'))}`;

const expectedOutput = (item: Reader): string =>
  `${item.text('path') ?? ''}${note(item.text('type'), item.text('description'))}${checkedBy(item)}`;

function phase(item: Reader): string {
  const title = [item.text('phase_id'), item.text('label')].filter((part) => part !== null).join(', ');
  const order = item.scalar('phase_order');
  const lines = item.items('checkpoints').map((checkpoint) => {
    const artifacts = checkpoint
      .items('expected_artifacts')
      .map((artifact) => `${artifact.text('path') ?? '?'}${note(artifact.text('type'), artifact.text('status'))}`);
    const needs = artifacts.length > 0 ? `, needs ${artifacts.join(', ')}` : '';
    const recovery = checkpoint.text('recovery_strategy');
    const then = recovery === null ? '' : `, else ${recovery}`;
    const status = checkpoint.text('status');
    const soFar = status === null || status === 'PENDING' ? '' : `, ${oneLine(status)} so far`;
    return `  - ${oneLine(checkpoint.text('checkpoint_id') ?? '?')}${note(checkpoint.text('description'))}${needs}${checkedBy(checkpoint)}${then}${soFar}`;
  });
  const objective = item.text('objective');
  const first = `${order === null ? '' : `${order}. `}${oneLine(title)}${objective === null ? '' : `: ${oneLine(objective)}`}`;
  return [first, ...lines].join('\n');
}

function checkedBy(item: Reader): string {
  const command = item.text('validation', 'command');
  const expects = item.text('validation', 'expects');
  if (command === null && expects === null) return '';
  return `, checked by ${command === null ? '' : `\`${oneLine(command)}\` `}(${expects ?? 'EXIT_CODE_0'})`;
}

const note = (...parts: (string | null)[]): string => {
  const said = parts.flatMap((part) => (part === null || part === '' ? [] : [oneLine(part)]));
  return said.length === 0 ? '' : ` (${said.join('; ')})`;
};

function list(title: string, items: readonly string[]): string {
  const said = items.filter((item) => item !== '');
  return said.length === 0 ? '' : [`${title}:`, ...said.map((item) => `- ${item}`)].join('\n');
}

const oneLine = (text: string): string =>
  text
    .split(/[\r\n]+/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .join(' ');

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/** Said elsewhere or of no use to the agent that reads the prompt. */
const SILENT = new Set(['aop_version', 'schema_version', 'protocol_family', 'message_type']);

/** Reads fields of a value of unknown shape and remembers which were read, so that the rest can be named as lost. */
class Reader {
  readonly #value: Fields;
  readonly #path: readonly (string | number)[];
  readonly #read: Set<string>;

  constructor(value: unknown, path: readonly (string | number)[] = [], read: Set<string> = new Set()) {
    this.#value = isFields(value) ? value : {};
    this.#path = path;
    this.#read = read;
  }

  #look(path: readonly string[]): unknown {
    let at: unknown = this.#value;
    for (const key of path) at = isFields(at) && Object.hasOwn(at, key) ? at[key] : undefined;
    return at;
  }

  #take(path: readonly string[], fits: (value: unknown) => boolean): unknown {
    const value = this.#look(path);
    if (!fits(value)) return null;
    this.#read.add(pointer([...this.#path, ...path]));
    return value;
  }

  text(...path: string[]): string | null {
    const value = this.#take(path, (v) => typeof v === 'string') as string | null;
    return value === null ? null : stripControls(value);
  }

  flag(...path: string[]): boolean | null {
    return this.#take(path, (v) => typeof v === 'boolean') as boolean | null;
  }

  scalar(...path: string[]): string | null {
    const isScalar = (v: unknown): boolean => typeof v === 'string' || typeof v === 'number' || typeof v === 'boolean';
    const value = this.#take(path, (v) => isScalar(v) || (Array.isArray(v) && v.every(isScalar)));
    return value === null ? null : oneLine(stripControls(String(value)));
  }

  /** The items that have fields. The list itself is not read by this: it is lost if nothing of its items is read. */
  items(...path: string[]): Reader[] {
    const value = this.#look(path);
    if (!Array.isArray(value)) return [];
    const at = [...this.#path, ...path];
    return value.flatMap((item, i) => (isFields(item) ? [new Reader(item, [...at, i], this.#read)] : []));
  }

  /** The outermost fields of which nothing was read, and of fields read in part, the parts that were not. */
  unread(): string[] {
    const partly = new Set<string>();
    for (const path of this.#read) {
      for (let cut = path.lastIndexOf('/'); cut > 0; cut = path.lastIndexOf('/', cut - 1))
        partly.add(path.slice(0, cut));
    }
    const lost: string[] = [];
    const visit = (value: unknown, path: string): void => {
      if (value === null || typeof value !== 'object') return;
      for (const [key, child] of Object.entries(value)) {
        const here = path + pointer([key]);
        if (path === '' && SILENT.has(key)) continue;
        if (partly.has(here)) visit(child, here);
        else if (!this.#read.has(here) && !isEmptyList(child)) lost.push(here);
      }
    };
    visit(this.#value, '');
    return lost;
  }
}
