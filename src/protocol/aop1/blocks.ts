/**
 * The block grammar: lines in, the report's block out (document, "AOP Format Specification").
 *
 * A marker `[AOP:NAME]` stands at a line's start. Its value is the rest of its line, for SUMMARY everything up to the next
 * marker. Of several blocks the last complete one counts, so the reader keeps two at most, and each value is bounded: a
 * stream of any length costs no more than this.
 */
import { stripAnsi } from '../text/clean.ts';

const MARKERS = ['START', 'TASK', 'SUMMARY', 'DETAILS_FILE', 'METRICS', 'STATUS', 'END'] as const;
type Marker = (typeof MARKERS)[number];

/** Far above every limit: what is longer is an error anyway, and its length is what matters. */
const MAX_VALUE_CHARS = 65_536;

export interface Block {
  /** The number of the line it starts on. */
  readonly line: number;
  /** Real values only: what an echoed template says is not here. */
  readonly values: ReadonlyMap<Marker, string>;
  readonly unknown: ReadonlyMap<string, string>;
}

export interface Found {
  readonly block: Block;
  /** Whether a cut-off block follows the complete one. */
  readonly cutOffAfter: boolean;
}

const MARKER = /^[ \t]*(\*\*)?\[AOP:([A-Z][A-Z0-9_]*)\](\*\*)?([\s\S]*)$/;

interface Open {
  line: number;
  inFence: boolean;
  seen: Set<string>;
  values: Map<Marker, string>;
  unknown: Map<string, string>;
  summary: string[] | null;
  summaryChars: number;
}

export interface BlockReader {
  /** Whether a line that is no marker matters now, as part of a summary. */
  readonly collecting: boolean;
  /** @returns whether the line is a marker */
  line(line: string, number: number, inFence: boolean): boolean;
  /** Something that ends a summary and is no marker: another message, or the end of the code fence the block stands in. */
  interrupt(fence?: boolean): void;
  end(): Found | null;
}

export function createBlockReader(): BlockReader {
  let open: Open | null = null;
  let complete: Block | null = null;
  let partial: Block | null = null;

  const close = (): void => {
    if (open === null) return;
    const block = finish(open);
    open = null;
    if (block.values.has('SUMMARY') && block.values.has('STATUS')) {
      complete = block;
      partial = null;
    } else if (block.values.size > 0) partial = block;
  };

  const marker = (name: string, value: string, line: number, inFence: boolean): void => {
    if (open === null || beginsBlock(open, name)) {
      close();
      const values = new Map<Marker, string>();
      open = { line, inFence, seen: new Set(), values, unknown: new Map(), summary: null, summaryChars: 0 };
    }
    endSummary(open);
    open.seen.add(name);
    if (name === 'SUMMARY') {
      open.summary = value === '' ? [] : [value];
      open.summaryChars = value.length;
    } else if (!isMarker(name)) keep(open.unknown, name, value, '\n');
    else if (value !== '' && !isTemplate(name, value)) keep(open.values, name, value, ', ');
  };

  return {
    get collecting() {
      return open !== null && open.summary !== null;
    },
    line(raw, number, inFence) {
      const line = stripAnsi(raw).replace(/\r$/, '');
      const found = MARKER.exec(line);
      if (found === null) {
        if (open?.summary && open.summaryChars <= MAX_VALUE_CHARS) {
          open.summary.push(line);
          open.summaryChars += line.length + 1;
        }
        return false;
      }
      const [, bold, name = '', boldEnd, rest = ''] = found;
      const value = rest.trim();
      marker(name, bold && !boldEnd && value.endsWith('**') ? value.slice(0, -2).trim() : value, number, inFence);
      return true;
    },
    interrupt(fence = false) {
      if (open && (!fence || open.inFence)) endSummary(open);
    },
    end() {
      close();
      const block = complete ?? partial;
      return block && { block, cutOffAfter: complete !== null && partial !== null };
    },
  };
}

/** Those of which a report has one: a second one is the next report's. Of the others, all are kept. */
const ONCE: readonly string[] = ['START', 'TASK', 'SUMMARY', 'STATUS'];

const beginsBlock = (open: Open, name: string): boolean =>
  name === 'START' || open.seen.has('END') || (ONCE.includes(name) && open.seen.has(name));

/** Far more markers than any report has; a stream of new names is no report. */
const MAX_MARKERS = 100;

/** Adds a value behind what is there, within bounds. DETAILS_FILE is one path, so there the last one counts. */
function keep<K extends string>(values: Map<K, string>, name: K, value: string, between: string): void {
  const before = name === 'DETAILS_FILE' ? undefined : values.get(name);
  if (before === undefined && values.size >= MAX_MARKERS) return;
  values.set(name, (before === undefined ? value : before + between + value).slice(0, MAX_VALUE_CHARS));
}

const isMarker = (name: string): name is Marker => (MARKERS as readonly string[]).includes(name);

function endSummary(open: Open): void {
  if (open.summary === null) return;
  const value = open.summary.join('\n').slice(0, MAX_VALUE_CHARS).trim();
  if (value !== '' && !isTemplate('SUMMARY', value)) open.values.set('SUMMARY', value);
  open.summary = null;
}

function finish(open: Open): Block {
  endSummary(open);
  return { line: open.line, values: open.values, unknown: open.unknown };
}

/** `{placeholder}`, but not JSON. */
const PLACEHOLDER = /^\{[^"{}][^{}]*\}$/;

/** The statuses a text names, each once. */
export const namedStatuses = (text: string): string[] => [
  ...new Set(text.toLowerCase().match(/\b(?:success|failure|partial)\b/g) ?? []),
];

/** What the document's templates have in a value's place, and an agent that only repeats its instructions prints. */
export function isTemplate(marker: Marker, value: string): boolean {
  // Whoever names all three has repeated the choice, not made it.
  if (marker === 'STATUS' && namedStatuses(value).length === 3) return true;
  return value.length < 1000 && value.split('\n').every((line) => line.trim() === '' || PLACEHOLDER.test(line.trim()));
}
