/** `baton graph load`: what is needed of a node, if the checklist lets it through; who uses it is written down. */
import { BatonError } from '../core/errors.ts';
import { nodeJson } from '../core/node-json.ts';
import type { Store } from '../core/store.ts';
import { taskOfRun } from '../core/task.ts';
import { runOfCaller } from '../process/caller.ts';
import { newId } from '../process/new-id.ts';
import { writeYaml } from '../protocol/text/yaml.ts';
import { connectDoor } from '../runtime/door-client.ts';
import { loadFor } from '../runtime/door-load.ts';
import type { Door, LoadedNode } from '../runtime/doors.ts';
import { loadNode } from '../runtime/loading.ts';
import { actorOf, runSender } from './caller.ts';
import { readConfig } from './config-file.ts';
import type { Globals } from './globals.ts';
import { dataOf } from './graph-text.ts';
import { note, print, printJson, Refused } from './io.ts';
import { safe } from './text.ts';
import { reading } from './with-store.ts';

interface Options extends Globals {
  readonly as?: string;
  readonly require?: readonly string[];
}

export async function loadFromGraph(id: string, { as, require: required = [], ...globals }: Options): Promise<void> {
  const socket = process.env['BATON_SOCKET'] || null;
  if (as !== undefined && (socket !== null || runOfCaller() !== null)) {
    throw new BatonError(
      'E_PERMISSION_DENIED',
      '--as is for people, and this comes from a run',
      'leave it out: the run is known',
    );
  }
  if (socket !== null) return loadInRun(socket, id, required, globals.json);
  await reading(globals, async (store, dir) => {
    const config = readConfig(dir);
    const sender = await runSender(store, dir, 'cli');
    if (sender !== null) {
      // A run that lost its socket is that run all the same.
      const mine = (sender.run === null ? undefined : await store.find(taskOfRun(sender.run) ?? '')) ?? null;
      return showLoaded(await loadFor({ store, config }, sender, mine, askOf(id, required)), required, globals.json);
    }
    const found = await loadNode({ store, config }, id, required);
    if ('refusal' in found) throw refusedAs(found.refusal);
    if (as !== undefined) await noteUse(store, id, as);
    const node = as === undefined ? found.node : ((await store.node(id)) ?? found.node);
    if (globals.json) printJson(nodeJson(node));
    else printFields(dataOf(node), required);
  });
}

const refusedAs = ({
  code,
  message,
  hint,
}: {
  code: BatonError['code'];
  message: string;
  hint: string | null;
}): Refused => new Refused(code, message, hint);

async function noteUse(store: Store, node: string, as: string): Promise<void> {
  const actor = await actorOf(store);
  if (actor.kind !== 'person') {
    const sentence = '--as is for people, and nobody can tell this from what a run has started';
    throw new BatonError('E_PERMISSION_DENIED', sentence, 'say it from a terminal');
  }
  const task = await store.find(as);
  if (task === undefined && (await store.node(as)) === undefined) {
    throw new BatonError('E_NOT_FOUND', `expected a task or a node with --as, and there is no ${as}`);
  }
  const answer = await store.send({
    message: { type: 'graph.load', node, by: task === undefined ? { node: as } : { task: task.id } },
    by: { ...actor, name: `user as ${as}` },
    request: newId(),
  });
  if (answer.kind === 'refused') throw refusedAs(answer.refusal);
}

const askOf = (node: string, required: readonly string[]): Parameters<Door['load']>[0] => ({
  node,
  ...(required.length === 0 ? {} : { require: [...required] }),
});

async function loadInRun(socket: string, id: string, required: readonly string[], json: boolean): Promise<void> {
  const door = await connectDoor(socket);
  try {
    showLoaded(await door.load(askOf(id, required)), required, json);
  } finally {
    await door.close();
  }
}

/** What a run gets is bounded; what was cut is said. */
function showLoaded(loaded: LoadedNode, required: readonly string[], json: boolean): void {
  if (json) printJson(loaded);
  else printFields(loaded.data, required);
  if (loaded.shortened.length > 0) note(`shortened: ${loaded.shortened.join(', ')}`);
}

/** Just what was asked for; all where nothing was. */
function printFields(data: Readonly<Record<string, unknown>>, required: readonly string[]): void {
  const shown = required.length === 0 ? data : Object.fromEntries(required.map((field) => [field, data[field]]));
  print(safe(writeYaml(shown)));
}
