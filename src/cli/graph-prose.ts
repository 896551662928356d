/** The prose of a bridge's summary, written by a configured agent: a task like any other, run by the same rules. Where it fails, there is none. */
import type { Config } from '../core/config.ts';
import type { Store } from '../core/store.ts';
import type { Prose, Source, SummaryRequest } from '../protocol/output/summary.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { type Host, madeEnvelope, openHost, prepare, workOn } from '../runtime/index.ts';
import { note } from './io.ts';
import { tasksOfMessages } from './new-tasks.ts';
import { createProgress } from './progress.ts';
import { oneLine } from './text.ts';
import { countTokens } from './tokens.ts';
import { untilStopped } from './until-stopped.ts';
import { ask } from './with-store.ts';

export interface ProseAsk {
  readonly store: Store;
  readonly dir: string;
  readonly config: Config;
  readonly agent: string;
  readonly session: string;
  readonly request: SummaryRequest;
}

/** What one node may take of the task's text, and all of them together. */
const MOST_OF_ONE = 4_000;
const MOST_OF_ALL = 40_000;

/** Null where the agent did not do it; the reason is said. */
export async function proseBy({ store, dir, config, agent, session, request }: ProseAsk): Promise<Prose | null> {
  const progress = createProgress(false);
  const host = await openHost({
    store,
    dir,
    config,
    workspace: process.cwd(),
    overrides: { agent },
    countTokens,
    onLive: (live) => progress.show(live),
    warn: (text) => progress.say(text),
  });
  try {
    const prose = await written(host, agent, session, request);
    if (typeof prose !== 'string') return prose;
    note(`warning: ${oneLine(agent)} wrote no prose (${oneLine(prose)}); what was put together from the nodes stays`);
    return null;
  } finally {
    progress.end();
    await host.close();
  }
}

/** The prose, or why there is none. */
async function written(host: Host, agent: string, session: string, request: SummaryRequest): Promise<Prose | string> {
  const plain = madeEnvelope({
    taskId: `bridge-${request.id}`,
    session,
    createdAt: request.now,
    agent,
    objective: objectiveOf(request),
    workspace: process.cwd(),
  });
  const message = {
    ...plain,
    task: { ...plain.task, category: 'ANALYSIS' as const, constraints: { read_only_mode: true } },
  };
  const candidate = { routing: { agent, role: null, team: null, tags: [] }, fallback: null, cost: NOTHING, session };
  try {
    // What can be wrong with the agent is known before there is a task.
    await prepare(host, candidate, message);
  } catch (cause) {
    return cause instanceof Error ? cause.message : String(cause);
  }
  const { tasks } = await ask(host.store, {
    type: 'task.add',
    tasks: tasksOfMessages([message]),
    maxDepth: host.config.delegation.max_depth,
  });
  const id = tasks[0]?.id ?? '';
  await workOn(host, { only: [id], parallel: 1, untilEmpty: true, leaving: untilStopped() });
  const task = await host.store.find(id);
  if (task?.status !== 'done')
    return `${id} is ${task?.status ?? 'gone'}: ${task?.cause?.message ?? 'baton why says more'}`;
  return parted(task.summary ?? '') ?? `${id} said nothing`;
}

const NOTHING = { usd: 0, tokensInput: 0, tokensOutput: 0 };

const GUIDANCE = /^[ \t]*(?:[-*][ \t]+)?(?:\*\*)?guidance(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*/im;

/** What stands behind `Guidance:` is the guidance, what stands before it the overview. */
function parted(summary: string): Prose | null {
  const text = summary.trim();
  if (text === '') return null;
  const at = GUIDANCE.exec(text);
  if (at === null) return { overview: text };
  const [overview, guidance] = [text.slice(0, at.index).trim(), text.slice(at.index + at[0].length).trim()];
  return { ...(overview === '' ? {} : { overview }), ...(guidance === '' ? {} : { guidance }) };
}

function objectiveOf({ type, sources, topic }: SummaryRequest): string {
  let room = MOST_OF_ALL;
  const told: string[] = [];
  for (const source of sources) {
    const text = shorten(nodeText(source), Math.min(MOST_OF_ONE, room));
    if (text === '') break;
    room -= text.length;
    told.push(text);
  }
  return [
    `Write the prose of a ${type}${topic === null ? '' : ` about ${topic}`} from the nodes below. They are what is known: add nothing to it, and change no file.`,
    'Report it as your summary: first an overview of a few sentences, then a line that begins with "Guidance:" and says how to proceed.',
    '',
    ...told,
  ].join('\n');
}

const nodeText = ({ id, type, data }: Source): string => `## ${id} (${type})\n\n${writeYaml(data)}`;
