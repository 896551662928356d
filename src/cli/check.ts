/** `baton check`: every message in a text, and what is wrong with it. */
import { isoTime } from '../core/time.ts';
import { createDetector, type Found } from '../protocol/detect.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { isTask } from '../runtime/new-tasks.ts';
import { fallbackWords, repairing } from '../runtime/tasks/version-fallback.ts';
import type { Globals } from './globals.ts';
import { print, printJson, readInput, STDIN } from './io.ts';
import { bold, dim, green, red, yellow } from './style.ts';
import { countTokens } from './tokens.ts';

export async function check(files: readonly string[], { json }: Globals): Promise<void> {
  const inputs = files.length === 0 ? [STDIN] : files;
  const found: (Found & { file?: string })[] = [];
  for (const file of inputs) {
    const messages = await detectIn(file);
    for (const message of messages) found.push(inputs.length > 1 ? { ...message, file } : message);
  }
  if (found.some((message) => !message.valid)) process.exitCode = 1;
  if (json) printJson({ messages: found });
  else for (const message of found) print(describe(message));
}

/** The messages of a file or of standard input, read piece by piece. */
export async function detectIn(file: string): Promise<Found[]> {
  const detector = createDetector({ countTokens });
  const found: Found[] = [];
  // One by one: a chunk may hold more messages than a call takes arguments.
  for await (const chunk of readInput(file)) for (const message of detector.feed(chunk)) found.push(message);
  for (const message of detector.end()) found.push(message);
  return found.sort((a, b) => a.line - b.line);
}

function describe(message: Found & { file?: string }): string {
  const { dialect, kind, valid, problems, line, file } = message;
  const where = dim(`${file === undefined ? '' : `${file}:`}${line}`);
  const what = bold(kind === null ? dialect : `${dialect} ${stripControls(kind)}`);
  const lines = problems.map(({ severity, code, path, message: sentence }) => {
    const mark = severity === 'error' ? red('error') : yellow('warning');
    return `  ${mark} ${path === '' ? '' : `${stripControls(path)}: `}${stripControls(sentence)} ${dim(code)}`;
  });
  return [`${valid ? green('valid') : red('invalid')} ${what} ${where}`, ...lines, ...taken(message)].join('\n');
}

/** What would become of a TASK that is not valid. */
function taken(message: Found): readonly string[] {
  if (message.valid || !isTask(message)) return [];
  const repaired = repairing({ workspace: process.cwd(), now: isoTime(Date.now()) })(message);
  if (repaired !== null) return [`  ${dim('note')} ${stripControls(fallbackWords(repaired) ?? '')}`];
  return message.kind === 'TASK' ? [`  ${dim('note')} such a TASK is refused, not repaired`] : [];
}
