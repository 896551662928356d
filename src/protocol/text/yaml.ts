/** YAML of unknown origin: YAML 1.2 core schema, bounded in size, depth and aliases; a broken text is an answer, not a throw. */
import { isAlias, isMap, isNode, isScalar, LineCounter, parseDocument, stringify, visit } from 'yaml';
import { MAX_DEPTH, tooDeep } from './depth.ts';
import { quote } from './quote.ts';

/** The most that is parsed; what a node carries beyond this belongs in a file that it names. */
export const MAX_YAML_CHARS = 1_048_576;
const MAX_ALIASES = 100;
/** The parser recurses per level of nesting. No text that nests deeper than this is given to it. */
const MAX_OPEN = 256;

type Yaml = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

const broken = (reason: string): Yaml => ({ ok: false, reason });

/** With `plain` what refers to another part of the text is refused. */
export function readYaml(text: string, { plain = false }: { readonly plain?: boolean } = {}): Yaml {
  if (text.length > MAX_YAML_CHARS) return broken(`longer than ${MAX_YAML_CHARS} characters`);
  if (nestsDeeper(text, MAX_OPEN)) return broken(`nested deeper than ${MAX_OPEN} levels`);
  try {
    // `uniqueKeys` and `prettyErrors` cost the square of the input's length; both are done here in one pass.
    const lines = new LineCounter();
    const document = parseDocument(text, {
      schema: 'core',
      version: '1.2',
      merge: false,
      uniqueKeys: false,
      prettyErrors: false,
      // A tag stands for nothing here: `!!set` and `!!binary` would become what JSON cannot carry.
      resolveKnownTags: false,
      // Not 'silent': then a second document would be dropped without a word.
      logLevel: 'error',
      lineCounter: lines,
    });
    const first = document.errors[0];
    if (first) return broken(`${firstLine(first.message)} at line ${lines.linePos(first.pos[0]).line}`);
    const odd = oddity(document) ?? (plain ? anchored(document) : null);
    if (odd !== null) return broken(odd);
    const value: unknown = document.toJS({ maxAliasCount: MAX_ALIASES });
    return tooDeep(value) ? broken('nested too deep, or refers to itself') : { ok: true, value };
  } catch (cause) {
    // The parser throws on too many aliases; a RangeError would be its stack.
    return broken(cause instanceof Error ? firstLine(cause.message) : 'not readable as YAML');
  }
}

/** What YAML allows and a message does not have. Looked for in the tree, since making values of it is what would take its time. */
function oddity(document: ReturnType<typeof parseDocument>): string | null {
  let odd: string | null = null;
  visit(document, {
    Collection(_, collection, ancestors) {
      // Each level is a collection, and a pair if that is a mapping.
      if (ancestors.length > 2 * MAX_DEPTH) odd = `nested deeper than ${MAX_DEPTH} levels`;
      else if (isMap(collection)) odd = oddKey(collection.items.map((pair) => pair.key));
      return odd === null ? undefined : visit.BREAK;
    },
  });
  return odd;
}

function anchored(document: ReturnType<typeof parseDocument>): string | null {
  let found: string | null = null;
  visit(document, (_, node) => {
    if (!isNode(node)) return undefined;
    if (isAlias(node)) found = `an alias (*${node.source})`;
    else if (node.anchor !== undefined) found = `an anchor (&${node.anchor})`;
    return found === null ? undefined : visit.BREAK;
  });
  return found;
}

function oddKey(keys: readonly unknown[]): string | null {
  const names = new Set<string>();
  for (const key of keys) {
    if (!isScalar(key)) return 'a key is not a text';
    const name = String(key.value);
    if (names.has(name)) return `the key ${quote(name)} stands twice in one mapping`;
    names.add(name);
  }
  return null;
}

/** The same value as block-style YAML, that `readYaml` reads back. */
export const writeYaml = (value: unknown): string => stringify(value, { lineWidth: 0, aliasDuplicateObjects: false });

const firstLine = (message: string): string => (message.split('\n', 1)[0] ?? '').replace(/:$/, '');

const isBlank = (c: number): boolean => c === 0x20 || c === 0x09 || c === 0x0a || c === 0x0d;

/**
 * Counts what opens a level: flow brackets where a value may begin, and `- ` `? ` chains at a line's start. Those within a text (`"[[["`, a line of dashes)
 * open none, as far as that can be told here; an overestimate is fine at this size.
 */
export function nestsDeeper(text: string, most: number): boolean {
  let open = 0;
  let chain = 0;
  let mayOpen = true;
  let atStart = true;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    switch (c) {
      case 0x5b: // [
      case 0x7b: // {
        if (mayOpen && ++open > most) return true;
        break;
      case 0x5d: // ]
      case 0x7d: // }
        if (open > 0) open--;
        break;
      case 0x2d: // -
      case 0x3f: // ?
        chain = (chain > 0 || atStart) && isBlank(text.charCodeAt(i + 1)) ? chain + 1 : 0;
        if (chain > most) return true;
        break;
      case 0x20:
      case 0x09:
        break;
      default:
        chain = 0;
    }
    if (c !== 0x20 && c !== 0x09) atStart = c === 0x0a || c === 0x0d;
    if (c !== 0x5b && c !== 0x7b) mayOpen = isBlank(c) || c === 0x2c || c === 0x3a; // behind a comma, a colon
  }
  return false;
}
