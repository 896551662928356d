/**
 * `baton hook stop|tool|precompact`: what the hooks of claude and codex call. The event comes as JSON on stdin, the answer goes to stdout. Whatever
 * goes wrong here must not hold up the agent: it ends with 1, which both take as "no answer"; 2 would be one.
 */
import { closeSync, mkdirSync, openSync, readSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Fields, isFields, parseJson } from '../core/fields.ts';
import { redact } from '../core/redact.ts';
import { type Task, taskOfRun } from '../core/task.ts';
import { timeStamp } from '../core/time.ts';
import { runOfCaller } from '../process/caller.ts';
import { newSuffix } from '../process/new-id.ts';
import { runtimeFolder } from '../process/runtime-folder.ts';
import { contextExport, exportInput } from '../runtime/context-export.ts';
import { gitText } from '../workspace/git.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { askFor, blockOf, heardIn, MOST_OUTPUT_CHARS, outputIn, responseWith } from './hook-answers.ts';
import { note, print, printJson, readText, STDIN } from './io.ts';
import { reading } from './with-store.ts';

export async function hook(name: string, options: Globals): Promise<void> {
  // For a session in which a person does not want to be asked.
  if (process.env['BATON_HOOKS'] === 'off') return;
  try {
    const input = parseJson(await readText(STDIN));
    if (!isFields(input)) throw new Error("expected the hook's JSON on standard input");
    if (name === 'stop') stop(input, options);
    else if (name === 'tool') tool(input, options);
    else if (name === 'precompact') await precompact(input, options);
    else throw new Error(`expected stop, tool or precompact, got ${name}`);
  } catch (cause) {
    note(`baton hook ${name}: ${(cause as Error).message}`);
    process.exitCode = 1;
  }
}

/** Asks once: who was asked and still has none may go. */
function stop(input: Fields, options: Globals): void {
  if (input['stop_hook_active'] === true) return;
  // The end of a phase is not the end of a run: there Baton asks by itself.
  if (input['hook_event_name'] === 'Stop' && process.env['BATON_PHASE'] !== undefined) return;
  const { said, reported } = heardIn(lastLines(input['agent_transcript_path'] ?? input['transcript_path']));
  if (reported) return;
  const last = input['last_assistant_message'];
  const words = typeof last === 'string' ? last : (said ?? '');
  // In codex what a sub-agent says goes to its parent as it is, and no hook is between them; so it is asked to be short.
  const isTooLong = isCodex(input) && input['hook_event_name'] === 'SubagentStop' && words.length > MOST_OUTPUT_CHARS;
  const kept = isTooLong ? writeNew(join(folderFor(options), 'details'), 'md', words) : null;
  const reason = askFor(words, kept);
  if (reason !== null) printJson({ decision: 'block', reason });
}

/** Of a transcript only the end is of interest, and it may be long. */
const TRANSCRIPT_BYTES = 2 ** 20;

function lastLines(path: unknown): readonly string[] {
  if (typeof path !== 'string') return [];
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0) return [];
  const buffer = Buffer.alloc(Math.min(size, TRANSCRIPT_BYTES));
  const file = openSync(path, 'r');
  try {
    readSync(file, buffer, 0, buffer.length, size - buffer.length);
  } finally {
    closeSync(file);
  }
  return buffer.toString('utf8').split('\n');
}

function tool(input: Fields, options: Globals): void {
  const { tool_response: response, tool_input: asked } = input;
  const output = outputIn(response);
  if (output === null || output.length <= MOST_OUTPUT_CHARS) return;
  const file = writeNew(join(folderFor(options), 'details'), 'md', output);
  const task = isFields(asked) && typeof asked['description'] === 'string' ? asked['description'] : null;
  const block = blockOf(output, file, task);
  if (isCodex(input)) return printJson({ decision: 'block', reason: block });
  printJson({
    hookSpecificOutput: { hookEventName: 'PostToolUse', updatedToolOutput: responseWith(response, block) },
  });
}

async function precompact(input: Fields, options: Globals): Promise<void> {
  const dir = dataFolder(options);
  // Where Baton has no tasks there is nothing to export.
  if (!isFolder(dir)) return;
  const run = runOfCaller();
  const known = await reading(options, async (store) => {
    const own = run === null ? undefined : await store.find(taskOfRun(run) ?? '');
    if (own !== undefined) return exportInput(store, own.session);
    const tasks: Task[] = [];
    for await (const task of store.tasks()) tasks.push(task);
    return { tasks, remembered: undefined, progress: {}, orders: {} };
  });
  const cwd = typeof input['cwd'] === 'string' ? input['cwd'] : process.cwd();
  const session = typeof input['session_id'] === 'string' ? input['session_id'] : 'unknown';
  const { text } = contextExport({
    ...known,
    now: Date.now(),
    session,
    commit: await commitOf(cwd),
    project: basename(cwd),
    filter: 'all',
  });
  const file = writeNew(join(dir, 'hooks', 'context'), 'yaml', redact(text));
  const words = `Baton's tasks as they are now, with their last summaries, are in ${file}`;
  if (isCodex(input)) printJson({ systemMessage: words });
  // What a hook prints here is added to what the summary is asked for.
  else print(`${words}. Name that file in the summary, and the ids of the tasks that are not done.`);
}

async function commitOf(cwd: string): Promise<string | null> {
  try {
    return (await gitText(cwd, ['rev-parse', '--verify', 'HEAD'])).trim() || null;
  } catch {
    // No repository, no commit yet, or no git here: then there is none to name.
    return null;
  }
}

/** codex names its turns, claude its prompts. */
const isCodex = (input: Fields): boolean => 'turn_id' in input;

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;

/** The run's own folder, the project's data folder, or, where there is neither, the user's folder for what does not stay. */
function folderFor(options: Globals): string {
  const own = process.env['BATON_DETAILS_DIR'];
  if (own !== undefined && isFolder(own)) return own;
  const dir = dataFolder(options);
  return join(isFolder(dir) ? dir : runtimeFolder(), 'hooks');
}

function writeNew(folder: string, ending: string, text: string): string {
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `${timeStamp(Date.now())}-${newSuffix(4)}.${ending}`);
  writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
  return path;
}
