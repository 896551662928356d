/**
 * The context budget of a session: what is handed to an agent (its prompts, the answers of its tools) is counted in tokens. At 70 % somebody is
 * told; at 80 % a checkpoint is taken and the session's context written to a file, which the agent's next conversation is told of.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { redact } from '../core/redact.ts';
import { RUNTIME } from './actor.ts';
import { contextExport, exportInput } from './context-export.ts';
import { exportFile } from './places.ts';
import { checkpointSession, type TakenHere } from './session-checkpoint.ts';
import { tokensOf } from './tokens.ts';
import { failureOf, type Supervision } from './work.ts';

export const WARN_AT = 0.7;
export const FULL_AT = 0.8;

/** What a run's agent was given so far. */
interface ContextTally {
  give(of: 'prompt' | 'tool', text: string): void;
  /** Until all of it is counted and told, and what had to be done about it is done. */
  close(): Promise<void>;
}

/** Counting may load a vocabulary: that is done while the agent is at work, and not for one that is done at once. */
const COUNT_AFTER_MS = 1_500;
/** So many characters wait to be counted. */
const MOST_WAITING = 256 * 1024;

export function openTally(given: Supervision): ContextTally {
  const { host, task, run, facts, prepared } = given;
  const agent = prepared.chosen.name;
  const most = host.config.limits.session_tokens;
  const { sums } = host;
  let waiting: { readonly of: 'prompt' | 'tool'; readonly text: string }[] = [];
  let chars = 0;
  let timer: NodeJS.Timeout | undefined;
  let untold = { prompt: 0, tool: 0, estimated: false };
  const under: Promise<void>[] = [];

  let hasTold = false;
  const note = (): void => {
    const { prompt, tool, estimated } = untold;
    if (prompt + tool === 0) return;
    hasTold = true;
    const total = sums.of(task.session, agent);
    facts.tell('run.context', { agent, tokens: prompt + tool, prompt, tool, estimated, total });
    untold = { prompt: 0, tool: 0, estimated: false };
  };

  const act = (): void => {
    const tokens = sums.of(task.session, agent);
    const detail = { agent, tokens, of: most, percent: Math.floor((tokens / most) * 100) };
    const told = `${agent} was handed ${tokens} of the ${most} tokens that session ${task.session} has for it (${detail.percent} %)`;
    if (tokens < most * WARN_AT) return;
    if (sums.pass(task.session, agent, 'warning')) {
      note();
      facts.tell('context.warning', detail);
      host.warn(told);
    }
    if (tokens < most * FULL_AT || !sums.pass(task.session, agent, 'full')) return;
    note();
    facts.tell('context.full', detail);
    host.warn(`${told}: a checkpoint is taken, and its context written to a file`);
    under.push(keepContext(given, agent));
  };

  const count = (isAtWork: boolean): void => {
    clearTimeout(timer);
    timer = undefined;
    // No token is shorter than a character: below that no mark can be passed, and what is reckoned will do.
    const isWorthIt = isAtWork || sums.of(task.session, agent) + chars >= most * WARN_AT;
    const texts = waiting;
    waiting = [];
    chars = 0;
    for (const { of, text } of texts) {
      const { tokens, estimated } = tokensOf(text, host.countTokens, isWorthIt);
      untold = { ...untold, [of]: untold[of] + tokens, estimated: untold.estimated || estimated };
      sums.add(task.session, agent, run.id, tokens);
    }
    if (texts.length > 0) act();
    // Where Baton dies, this much is known of it; the rest is told at the end, for a note of every answer would be many.
    if (isAtWork && !hasTold) note();
  };

  return {
    give(of, text) {
      waiting.push({ of, text });
      chars += text.length;
      if (chars > MOST_WAITING) count(true);
      else timer ??= setTimeout(count, COUNT_AFTER_MS, true);
    },
    async close() {
      count(false);
      note();
      await Promise.all(under);
    },
  };
}

/** The checkpoint and the file. What of it cannot be had is said in the note; the run goes on. */
async function keepContext({ host, task, facts, prepared }: Supervision, agent: string): Promise<void> {
  const { workspace, git } = prepared.ready;
  let checkpoint: TakenHere | null = null;
  const missing: string[] = [];
  try {
    checkpoint = await checkpointSession(
      { ...host, workspace },
      {
        session: task.session,
        kind: 'auto',
        name: 'context_full',
        speaker: { agent: RUNTIME.name, run: null, priority: 'P2', leads: false },
        actor: RUNTIME,
        needsFiles: true,
      },
    );
  } catch (cause) {
    missing.push(`no checkpoint: ${failureOf(cause).message}`);
  }
  let file: string | null = null;
  try {
    const { text } = contextExport({
      ...(await exportInput(host.store, task.session)),
      now: host.now(),
      commit: checkpoint?.git?.commit ?? git?.head ?? null,
      project: basename(workspace),
      filter: 'all',
    });
    const path = exportFile(host.dir, task.session, host.now());
    await mkdir(join(host.dir, 'exports'), { recursive: true });
    await writeFile(path, redact(text), { flag: 'wx', mode: 0o600 });
    file = path;
  } catch (cause) {
    missing.push(`no export: ${failureOf(cause).message}`);
  }
  for (const text of missing) host.warn(`${task.id}: ${text}`);
  facts.tell('context.exported', {
    agent,
    file,
    checkpoint: checkpoint?.id ?? null,
    ref: checkpoint?.git?.ref ?? null,
    commit: checkpoint?.git?.commit ?? null,
    ...(missing.length === 0 ? {} : { missing }),
  });
}

/** A line for an agent whose context was full once in this session; null for any other. */
export function contextLine(file: string | null): string | null {
  return file === null
    ? null
    : `You begin anew: your context in this session was full. What the session had come to is in ${file}.`;
}
