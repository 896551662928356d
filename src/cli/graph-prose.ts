/** The prose of a bridge's summary, written by a configured agent: a task like any other, run by the same rules. Where it fails, there is none. */
import type { Config } from '../core/config.ts';
import type { Store } from '../core/store.ts';
import type { Prose, Source, SummaryRequest } from '../protocol/output/summary.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { answerBy } from './ask-agent.ts';
import { note } from './io.ts';
import { oneLine } from './text.ts';
import { untilStopped } from './until-stopped.ts';

interface ProseAsk {
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
export async function proseBy({ agent, session, request, ...place }: ProseAsk): Promise<Prose | null> {
  const answer = await answerBy({
    ...place,
    agent,
    session,
    workspace: process.cwd(),
    id: `bridge-${request.id}`,
    objective: objectiveOf(request),
    leaving: untilStopped(),
  });
  if ('text' in answer) return { by: agent, ...parted(answer.text) };
  note(
    `warning: ${oneLine(agent)} wrote no prose (${oneLine(answer.why)}); what was put together from the nodes stays`,
  );
  return null;
}

const GUIDANCE = /^[ \t]*(?:[-*][ \t]+)?(?:\*\*)?guidance(?:\*\*)?[ \t]*:(?:\*\*)?[ \t]*/im;

/** What stands behind `Guidance:` is the guidance, what stands before it the overview. */
function parted(summary: string): Omit<Prose, 'by'> {
  const text = summary.trim();
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
