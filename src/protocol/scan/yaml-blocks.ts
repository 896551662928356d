/** The two blocks of YAML in a text: `[GRAPH_UPDATE]` with a closing marker, and `OUTPUT:` with its indentation. Held up to a bound. */
import { MAX_YAML_CHARS } from '../text/yaml.ts';
import { indentOf, openerOf } from './openers.ts';

export interface YamlBlock {
  readonly kind: 'graph' | 'output';
  /** The number of its first line. */
  readonly line: number;
  /** Takes a line. @returns whether the line belongs to the block; if not, the block has ended before it */
  take(line: string): 'taken' | 'last' | 'ended';
  /** The YAML, its indentation taken away. */
  text(): string;
  /** Whether a closing marker came (graph), or anything at all (output). */
  readonly complete: boolean;
}

const CLOSE = /^[ \t]*(?:\*\*)?\[\/GRAPH_UPDATE\](?:\*\*)?\s*$/;

export function openGraph(first: string, line: number): YamlBlock {
  const indent = indentOf(first);
  const lines = createHeld(indent);
  let closed = false;
  return {
    kind: 'graph',
    line,
    get complete() {
      return closed;
    },
    text: lines.text,
    take(next) {
      if (indentOf(next) > indent) lines.push(next);
      else if (CLOSE.test(next)) {
        closed = true;
        return 'last';
      } else if (endsUnclosed(next)) return 'ended';
      else lines.push(next);
      return 'taken';
    },
  };
}

/** No YAML of a node has these at its own margin: whoever forgot to close the block has gone on to something else. */
function endsUnclosed(line: string): boolean {
  const opener = openerOf(line);
  return opener === 'marker' || opener === 'graph' || opener === 'output' || opener === 'fence' || opener === 'aof';
}

export function openOutput(first: string, line: number): YamlBlock {
  const indent = indentOf(first);
  const lines = createHeld(indent);
  lines.push(first);
  // `OUTPUT: {…}` says it all in flow style; else what is indented below is what it says.
  let complete = first.includes('{');
  return {
    kind: 'output',
    line,
    get complete() {
      return complete;
    },
    text: lines.text,
    take(next) {
      const blank = next.trim() === '';
      // A comment at the margin is YAML too, a `#COMMAND` is not.
      if (!blank && indentOf(next) <= indent && !/^[ \t]*#(?![A-Z])/.test(next)) return 'ended';
      if (indentOf(next) > indent && !blank && !/^\s*#/.test(next)) complete = true;
      lines.push(next);
      return 'taken';
    },
  };
}

function createHeld(indent: number): { push(line: string): void; text(): string } {
  const lines: string[] = [];
  let chars = 0;
  return {
    push(line) {
      // A little beyond the bound is kept, so that the decoder sees that there was more.
      if (chars > MAX_YAML_CHARS + 1) return;
      const kept = indentOf(line) >= indent ? line.slice(indent) : line.trimStart();
      chars += kept.length + 1;
      lines.push(kept);
    },
    text: () => lines.join('\n'),
  };
}
