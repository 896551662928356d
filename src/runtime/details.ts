/**
 * The details file of a run, in the form of the output protocol: all that its agent printed is in it, however much that is. It is written piece by
 * piece, so that a gigabyte takes no more memory than a piece, and under another name until it is whole.
 */
import { existsSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isFields, parseJson } from '../core/fields.ts';
import { replaceWith } from '../process/files.ts';
import { tooDeep } from '../protocol/text/depth.ts';
import { openInside } from './inside.ts';

interface Details {
  readonly agent_id: string;
  readonly task: string;
  readonly timestamp: string;
  readonly duration_ms: number;
  /** All of it but the output, which is added. */
  readonly results: Readonly<Record<string, unknown>>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Of what the agent wrote itself, so much is taken in; what is larger is named. */
const MOST_OWN_BYTES = 10 * 1024 * 1024;
const PIECE = 1 << 17;

/** The data folder that a run's folder lies in. */
const dataFolderOf = (folder: string): string => dirname(dirname(folder));

/** What the agent wrote into its details folder itself, and where; null where it wrote nothing. */
export async function ownDetails(folder: string): Promise<{ readonly path: string; readonly value?: unknown } | null> {
  const path = join(folder, 'agent', 'details.json');
  // Most agents write none, and that is known at once.
  if (!existsSync(path)) return null;
  // An agent can put anything in its place: only a plain file of its own is read.
  const file = await openInside(dataFolderOf(folder), path);
  if (file === null) return null;
  try {
    if ((await file.stat()).size > MOST_OWN_BYTES) return { path };
    const value = parseJson(await file.readFile('utf8'));
    return value === undefined || tooDeep(value) ? { path } : { path, value };
  } finally {
    await file.close();
  }
}

/** The files that the agent's own details name as found, as the document's example has them. */
export function filesFoundIn(value: unknown): readonly unknown[] {
  const results = isFields(value) && isFields(value['results']) ? value['results'] : value;
  const found = isFields(results) ? results['files_found'] : null;
  return Array.isArray(found) ? found : [];
}

export const detailsFile = (folder: string): string => join(folder, 'details.json');

/** @param isSilent nothing was printed: then there is no log to look for */
export async function writeDetails(folder: string, details: Details, isSilent = false): Promise<void> {
  const { agent_id, task, timestamp, duration_ms, results, metadata } = details;
  const empty = { ...results, output: [], errors: [] };
  const frame = `${JSON.stringify({ aop_version: '1.0.0', agent_id, task, timestamp, duration_ms, results: empty, metadata }, null, 2)}\n`;
  // In a string of JSON no line break stands for itself, and no other key of `results` has this name.
  const [before, after] = [OUTPUT, ERRORS].map((key) => frame.indexOf(key) + key.length) as [number, number];
  const path = detailsFile(folder);
  const write = async (part: string): Promise<void> => {
    const file = await open(part, 'w', 0o600);
    try {
      const out = writer(file);
      await out.put(frame.slice(0, before));
      if (!isSilent) await putLines(folder, 'out.log', out);
      await out.put(frame.slice(before, after));
      if (!isSilent) await putLines(folder, 'err.log', out);
      await out.put(frame.slice(after));
      await out.flush();
    } finally {
      await file.close();
    }
  };
  // It may be big: what a crash leaves of it has a name by which the next one writes over it.
  await replaceWith(path, write, `${path}.part`);
}

const OUTPUT = '\n    "output": [';
const ERRORS = '\n    "errors": [';

interface Writer {
  /** Resolves when there is room for more. */
  put(text: string): Promise<void>;
  flush(): Promise<void>;
}

/** Small pieces are written together: most runs have few words, and one write is enough for them. */
function writer(file: FileHandle): Writer {
  let waiting: string[] = [];
  let chars = 0;
  const flush = async (): Promise<void> => {
    if (chars === 0) return;
    const text = waiting.join('');
    waiting = [];
    chars = 0;
    await file.writeFile(text);
  };
  return {
    async put(text) {
      waiting.push(text);
      chars += text.length;
      if (chars >= PIECE) await flush();
    },
    flush,
  };
}

const INDENT = '\n      ';
const BETWEEN = `",${INDENT}"`;

/** A text as strings of JSON, one a line, without the first and the last quote. All at once where no backslash of its own could be taken for one of JSON. */
const inJson = (text: string): string =>
  text.includes('\\')
    ? text
        .split('\n')
        .map((line) => JSON.stringify(line).slice(1, -1))
        .join(BETWEEN)
    : JSON.stringify(text).slice(1, -1).replaceAll('\\n', BETWEEN);

/** The lines of a log as strings of JSON: joined by line feeds they are the text again. What is no UTF-8 is replaced; the log has the bytes. */
async function putLines(folder: string, name: string, out: Writer): Promise<void> {
  let isOpen = false;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const put = async (text: string): Promise<void> => {
    if (text === '') return;
    await out.put(`${isOpen ? '' : `${INDENT}"`}${inJson(text)}`);
    isOpen = true;
  };
  await eachPiece(folder, name, (piece) => put(decoder.decode(piece, { stream: true })));
  await put(decoder.decode());
  if (isOpen) await out.put('"\n    ');
}

/** Hands out a file of a run's folder, one piece after the other; nothing where there is none. */
export async function eachPiece(
  folder: string,
  name: string,
  take: (piece: Uint8Array) => Promise<void>,
): Promise<boolean> {
  const file = await openInside(dataFolderOf(folder), join(folder, name));
  if (file === null) return false;
  try {
    const piece = Buffer.allocUnsafe(Math.min((await file.stat()).size + 1, PIECE));
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, piece.length, null);
      if (bytesRead === 0) return true;
      await take(piece.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}
