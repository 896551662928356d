/** `baton graph add`: the blocks of a text into the graph, all or none, and its envelope to the next stage. Within a run it is the run that speaks. */
import type { ErrorCode } from '../core/errors.ts';
import { nodeJson } from '../core/node-json.ts';
import type { Question } from '../core/question.ts';
import type { Store } from '../core/store.ts';
import type { GraphUpdate } from '../protocol/output/schema.ts';
import type { Routed } from '../runtime/doors.ts';
import { judgeClaims, openHost } from '../runtime/index.ts';
import { openQuestions } from '../runtime/open-questions.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { type GraphInput, readGraphInput } from './graph-input.ts';
import { factsLine } from './graph-text.ts';
import { note, print, printJson, Refused } from './io.ts';
import { overSocket, personSender } from './send.ts';
import { oneLine, safe } from './text.ts';
import { writing } from './with-store.ts';

export async function addToGraph(file: string, globals: Globals & { readonly session?: string }): Promise<void> {
  const { session } = globals;
  const socket = process.env['BATON_SOCKET'];
  const config = readConfig(dataFolder(globals));
  const input = await readGraphInput(file, config.node_types);
  if (socket !== undefined && socket !== '') {
    if (session !== undefined) throw notForRuns();
    refuse(await overSocket(socket, input.text));
    warn(input);
    return showAsWritten(input, globals.json);
  }
  await writing(globals, async (store, dir) => {
    const host = await openHost({ store, dir, config });
    let answers: readonly Routed[];
    let isRun = false;
    try {
      judgeClaims(host);
      const sender = (await runSender(store, dir, 'cli')) ?? personSender(await actorOf(store), undefined);
      isRun = sender.run !== null;
      if (session !== undefined && sender.actor.kind !== 'person') throw notForRuns();
      answers = await host.router.take(input.text, session === undefined ? sender : { ...sender, session });
    } finally {
      await host.close();
    }
    refuse(answers);
    warn(input);
    // What a run says that somebody watches over is only received.
    if (isRun && answers.every(({ events }) => events.length <= 1)) return showAsWritten(input, globals.json);
    await show(store, input, answers, globals.json);
  });
}

const notForRuns = (): Refused =>
  new Refused('E_PERMISSION_DENIED', '--session is for people; what a run writes is of its own session', null);

/** What the router refused is the command's own failure. */
export function refuse(answers: readonly Routed[]): void {
  const all = answers.filter(({ result }) => result !== 'accepted');
  // The one that is to blame was written down; the others only say that nothing was taken.
  const bad = all.find(({ events }) => events.length > 0) ?? all[0];
  if (bad === undefined) return;
  const { code = null, hint = null } = bad as Routed & { code?: ErrorCode | null; hint?: string | null };
  throw new Refused(code ?? 'E_PERMISSION_DENIED', bad.reason ?? `it was ${bad.result}`, hint);
}

function warn({ warnings }: GraphInput): void {
  for (const text of warnings) note(safe(text));
}

/** The nodes that a text speaks of, in its order, each once. */
function idsOf({ updates, outputs }: GraphInput): string[] {
  const ids = updates.map((update) => ('node_id' in update ? update.node_id : update.source));
  return [...new Set(ids.length > 0 ? ids : outputs.map(({ _handoff: handoff }) => handoff.graph_node))] as string[];
}

async function show(store: Store, input: GraphInput, answers: readonly Routed[], json: boolean): Promise<void> {
  const ids = idsOf(input);
  const nodes = (await Promise.all(ids.map((id) => store.node(id)))).filter((node) => node !== undefined);
  const [only] = nodes;
  if (json) printJson(nodes.length === 1 && only !== undefined ? nodeJson(only) : nodes.map(nodeJson));
  else {
    for (const update of input.updates) print(lineOf(update, nodes));
    for (const { _handoff: handoff } of input.outputs)
      print(`${handoff.graph_node} goes to ${oneLine(handoff.next_stage)}`);
  }
  for (const task of new Set(answers.map((answer) => answer.task)))
    if (task !== null) note(`${task} is the task of the next stage`);
  const open = await openQuestions(store);
  for (const question of open) if (ids.includes(question.about) || ids.includes(question.node)) note(asked(question));
}

const asked = ({ id, kind, question }: Question): string =>
  `${id}: ${oneLine(question)}\n  nobody builds upon it before a person has answered: ${kind === 'approval' ? `baton approve ${id}` : `baton answer ${id} TEXT`}`;

type Shown = NonNullable<Awaited<ReturnType<Store['node']>>>;

function lineOf(update: GraphUpdate, nodes: readonly Shown[]): string {
  if (!('node_id' in update)) {
    const { type, source, target, relation } = update;
    return `${type === 'add_edge' ? 'added' : 'updated'} ${source} → ${target}${relation == null ? '' : `  ${oneLine(relation)}`}`;
  }
  const node = nodes.find(({ id }) => id === update.node_id);
  const verb = update.type === 'add_node' ? 'added' : 'updated';
  return `${verb} ${update.node_id}${node === undefined ? '' : `  ${factsLine(node)}`}`;
}

/** Within a run the blocks are kept for its report, and taken into the graph when it ends well. */
function showAsWritten(input: GraphInput, json: boolean): void {
  const nodes = input.updates.filter((update) => 'node_id' in update);
  const all = nodes.map((update) => {
    const { type: _, ...node } = update;
    return { metadata: {}, data: {}, handoff: {}, lineage: {}, ...node };
  });
  if (json) printJson(all.length === 1 ? all[0] : all);
  else for (const update of input.updates) print(lineOf(update, []).replace(/^(?:added|updated)/, 'kept'));
  note('the graph takes it when this run has ended well');
}
