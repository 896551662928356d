/** `baton inbox`, and a person's answers to what stands there: `approve`, `reject`, `changes`, `answer`. */
import type { Store } from '../core/store.ts';
import type { AnswerStatus } from '../runtime/answer-meaning.ts';
import { type AnsweredItem, answeredJson, answerQuestion, type PersonsWord } from '../runtime/answers.ts';
import { type InboxItem, waitingFor } from '../runtime/people-inbox.ts';
import { actorOf } from './caller.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { note, print, printJson } from './io.ts';
import { shownSession } from './seen.ts';
import { bold, dim, yellow } from './style.ts';
import { oneLine, taskLine, time } from './text.ts';
import { reading } from './with-store.ts';

interface InboxOptions extends Globals {
  readonly session?: string;
}

export async function showInbox({ session, ...globals }: InboxOptions): Promise<void> {
  await reading(globals, async (store, dir) => {
    const items = await waitingFor(store, await shownSession(store, dir, session));
    if (globals.json) printJson(items);
    else print(items.length === 0 ? 'Nothing waits for a person.' : items.map(described).join('\n\n'));
  });
}

function described(item: InboxItem): string {
  const { id, kind, question, options, since, blocks, node, task, reason, nextStage } = item;
  const about = [
    ...(node === null ? [] : [`about ${oneLine(node)}`]),
    ...(task === null || task === id ? [] : [`asked by ${task}`]),
    ...(nextStage === null ? [] : [`goes on to ${oneLine(nextStage)}`]),
  ];
  return [
    `${bold(id)}  ${yellow(kind)}  ${dim(`since ${time(since)}`)}`,
    `  ${oneLine(question)}`,
    ...(reason === null ? [] : [`  ${dim('because:')} ${oneLine(reason)}`]),
    ...(about.length === 0 ? [] : [`  ${dim(about.join(', '))}`]),
    ...options.map(({ option, impact }, i) => {
      const told = impact === null ? '' : dim(`: ${oneLine(impact)}`);
      return `    ${i + 1}. ${oneLine(option)}${told}`;
    }),
    ...(blocks.length === 0 ? [] : [`  ${dim('blocks:')} ${blocks.join(', ')}`]),
    `  ${dim('try:')} ${waysOf(item)}`,
  ].join('\n');
}

/** How it may be answered, in one line. */
export function waysOf({ id, kind, options }: Pick<InboxItem, 'id' | 'kind' | 'options'>): string {
  if (kind === 'failure') return `baton answer ${id} retry`;
  if (kind === 'uncertainty') return `baton answer ${id} ${options.length > 0 ? '1' : '"…"'}`;
  return `baton approve ${id} · baton changes ${id} --comment "…" · baton reject ${id}`;
}

interface AnswerOptions extends Globals {
  readonly text?: string;
  readonly comment?: string;
  readonly next?: string;
}

export async function answer(id: string, status: AnswerStatus, options: AnswerOptions): Promise<void> {
  const { text, comment, next, ...globals } = options;
  const word: PersonsWord = {
    id,
    status,
    ...(text === undefined ? {} : { text }),
    ...(comment === undefined ? {} : { comment }),
    ...(next === undefined ? {} : { next }),
  };
  await reading(globals, async (store, dir) => {
    const answered = await asCaller(store, dir, word);
    if (globals.json) printJson(answeredJson(answered));
    else print(told(answered));
  });
}

async function asCaller(store: Store, dir: string, word: PersonsWord): Promise<AnsweredItem> {
  const by = await actorOf(store);
  const config = readConfig(dir);
  // Whoever is no person is refused, and for that nothing else is needed; within a run nothing else is to be seen.
  if (by.kind !== 'person') return answerQuestion({ store, config, now: Date.now }, word, by);
  const [{ openHost }, { answerParts }] = await Promise.all([
    import('../runtime/host.ts'),
    import('../runtime/host-answers.ts'),
  ]);
  const host = await openHost({ store, dir, config, warn: (text) => note(`baton: ${text}`) });
  try {
    return await answerQuestion(answerParts(host), word, by);
  } finally {
    await host.close();
  }
}

function told({ item, answer: said, task, made, nodes }: AnsweredItem): string {
  const words = [said.text, said.comment].filter((word) => word !== null).join(' ');
  return [
    `${bold(item.id)} ${said.status.replace('_', ' ')}${words === '' ? '' : `: ${oneLine(words)}`}`,
    ...(task === null ? [] : [`  ${taskLine(task)}`]),
    ...made.map((one) => `  ${dim('made')} ${taskLine(one)}`),
    ...nodes.map((node) => `  ${dim('node')} ${node.id}`),
  ].join('\n');
}
