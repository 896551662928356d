/** `baton task show`: one task with its text, its runs and all that happened to it. */
import type { CostJson, RunJson } from '../core/task-json.ts';
import { type ShownTask, shownTask } from '../runtime/lookup.ts';
import { eventLine } from './event-line.ts';
import type { InSession } from './globals.ts';
import { print, printJson } from './io.ts';
import { bold, dim } from './style.ts';
import { oneLine, safe, status, time } from './text.ts';
import { findTask, reading } from './with-store.ts';

export async function showTask(id: string, { session, ...globals }: InSession): Promise<void> {
  await reading(globals, async (store) => {
    const task = await findTask(store, id, session);
    const shown = await shownTask(store, task);
    if (globals.json) printJson(shown);
    else print(describe(shown));
  });
}

function describe(task: ShownTask): string {
  const facts = factsOf(task).flatMap(([name, value]) => (value === null ? [] : [`${dim(name.padEnd(11))} ${value}`]));
  const sections = [
    `${bold(task.id)} ${status(task.status)}  ${oneLine(task.title)}`,
    facts.join('\n'),
    task.body === null || task.body.trim() === '' ? '' : safe(task.body).trim(),
    section('Runs', task.runs.map(runLine)),
    section(
      'Events',
      task.events.map((event) => eventLine(event, { ofOneTask: true })),
    ),
  ];
  return sections.filter((text) => text !== '').join('\n\n');
}

function factsOf(task: ShownTask): readonly (readonly [string, string | null])[] {
  const list = (items: readonly string[]): string | null => (items.length === 0 ? null : items.map(oneLine).join(', '));
  const text = (value: string | null): string | null => (value === null ? null : oneLine(value));
  return [
    ['external id', text(task.externalId)],
    ['session', text(task.session)],
    ['priority', task.priority],
    ['agent', text(task.agent)],
    ['role', text(task.role)],
    ['team', text(task.team)],
    ['tags', list(task.tags)],
    ['parent', text(task.parentId)],
    ['depends on', list(task.dependsOn)],
    ['blocked by', list(task.blockedBy)],
    ['cause', task.cause === null ? null : `${oneLine(task.cause.message)} (${oneLine(task.cause.code)})`],
    ['review', task.reviewRequired ? 'by a person, before it is done' : null],
    ['attempts', `${task.attempts} of ${task.maxRetries + 1}`],
    ['cost', costWords(task.cost)],
    ['created', `${time(task.createdAt)} by ${oneLine(task.createdBy)}`],
    ['updated', time(task.updatedAt)],
    ['summary', text(task.summary)],
  ];
}

function costWords({ usd, known_usd: known, tokens_input: input, tokens_output: output }: CostJson): string | null {
  if (known + input + output === 0) return null;
  const unknown = known === 0 ? 'dollars unknown' : `${known} dollars and what is unknown`;
  return `${usd === null ? unknown : `${usd} dollars`}, ${input} tokens in, ${output} out`;
}

function runLine({ id, status: state, agent, model, outcome, startedAt, endedAt }: RunJson): string {
  const who = `${oneLine(agent)}${model === null ? '' : ` (${oneLine(model)})`}`;
  const said = outcome === null ? '' : `, said: ${oneLine(outcome)}`;
  return `${id}  ${state}${said}  ${who}  ${time(startedAt)} to ${endedAt === null ? 'now' : time(endedAt)}`;
}

const section = (title: string, lines: readonly string[]): string =>
  lines.length === 0 ? '' : [bold(title), ...lines.map((line) => `  ${line}`)].join('\n');
