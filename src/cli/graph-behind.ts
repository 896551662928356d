/** What stands behind a node: the task and the run that wrote it, what that cost, and the files it left. All from recorded facts. */

import { isFields } from '../core/fields.ts';
import type { Node } from '../core/node.ts';
import type { Store, StoredRecord } from '../core/store.ts';
import { costJson, runsOf, type TaskJson } from '../core/task-json.ts';

export interface Behind {
  readonly task: string;
  readonly run: string | null;
  readonly agent: string | null;
  readonly model: string | null;
  /** Of the run where that was counted; else of its task. */
  readonly cost: TaskJson['cost'];
  readonly files: readonly { readonly path: string; readonly status: string; readonly hash: string | null }[];
}

/** Null where a person wrote it. Nodes of one run are looked up once. */
export function createBehind(store: Store): (node: Pick<Node, 'task' | 'run' | 'createdBy'>) => Promise<Behind | null> {
  const known = new Map<string, Promise<Behind | null>>();
  return ({ task, run, createdBy }) => {
    // An answer is about a task, and is a person's; no agent can write as `user`.
    if (task === null || createdBy === 'user') return Promise.resolve(null);
    const key = run ?? task;
    const found = known.get(key) ?? lookUp(store, task, run);
    known.set(key, found);
    return found;
  };
}

async function lookUp(store: Store, id: string, run: string | null): Promise<Behind | null> {
  const task = await store.find(id);
  if (task === undefined) return null;
  const history = await store.history(id);
  const its = runsOf(history, id).find((other) => other.id === run) ?? null;
  return {
    task: id,
    run,
    agent: its?.agent ?? task.routing.agent,
    model: its?.model ?? null,
    cost: costOf(history, run) ?? costJson(task.cost),
    files: filesOf(history, run),
  };
}

const eventsOf = (history: readonly StoredRecord[], type: string, run: string | null): Record<string, unknown>[] =>
  history
    .flatMap(({ events }) => events)
    .filter((event) => event.type === type && (run === null || event.run === run))
    .map(({ detail }) => ({ ...detail }));

/** As the run's last word on its use tells it. */
function costOf(history: readonly StoredRecord[], run: string | null): TaskJson['cost'] | null {
  const last = run === null ? undefined : eventsOf(history, 'run.usage', run).at(-1);
  if (last === undefined) return null;
  const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
  const [tokensInput, tokensOutput] = [number(last['tokensInput']), number(last['tokensOutput'])];
  const isUnknown = typeof last['usd'] !== 'number' && tokensInput + tokensOutput > 0;
  return costJson({ usd: number(last['usd']), tokensInput, tokensOutput, ...(isUnknown ? { unknown: true } : {}) });
}

/** What Baton saw of the run's artifacts when it last looked. */
function filesOf(history: readonly StoredRecord[], run: string | null): Behind['files'] {
  const artifacts = eventsOf(history, 'run.evidence', run).at(-1)?.['artifacts'];
  if (!Array.isArray(artifacts)) return [];
  return artifacts.filter(isFields).flatMap(({ path, status, hash }) =>
    typeof path === 'string'
      ? [
          {
            path,
            status: typeof status === 'string' ? status : 'UNKNOWN',
            hash: typeof hash === 'string' ? hash : null,
          },
        ]
      : [],
  );
}
