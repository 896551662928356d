/** `baton work`: claims ready tasks and runs them, until it is stopped or nothing is left. */
import type { Store } from '../core/store.ts';
import { eventsOf } from '../core/task-json.ts';
import { openHost, workOn } from '../runtime/index.ts';
import { asksPerson } from '../runtime/people-inbox.ts';
import { openFeed } from '../session/feed.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { doLineFor } from './language.ts';
import { followConfig } from './live-config.ts';
import { createProgress } from './progress.ts';
import { recoverAloud } from './run.ts';
import { taskLine } from './text.ts';
import { countTokens } from './tokens.ts';
import { ENDING_RUNS, stoppedCode, untilStopped } from './until-stopped.ts';
import { writing } from './with-store.ts';

interface Options extends Globals {
  readonly untilEmpty?: boolean;
  readonly parallel?: number;
  readonly agent: readonly string[];
}

export async function work({ untilEmpty = false, parallel, agent, ...globals }: Options): Promise<void> {
  const leaving = untilStopped(ENDING_RUNS);
  const ran = new Set<string>();
  await writing(globals, async (store, dir) => {
    const progress = createProgress(false);
    const config = followConfig(dir, progress.say);
    const host = await openHost({
      store,
      dir,
      config,
      countTokens,
      onLive: (live) => progress.show(live),
      warn: (text) => progress.say(text),
    });
    const feed = openFeed(host);
    host.doLine = doLineFor({ store, dir, config, warn: host.warn, leaving, isQuiet: true });
    try {
      if (globals.json) host.watch.onRecord((record) => eventsOf(record).forEach(printJson));
      await recoverAloud(host, progress);
      await workOn(host, {
        get parallel() {
          return parallel ?? config.defaults.parallel;
        },
        untilEmpty,
        leaving,
        ...(agent.length === 0 ? {} : { agents: agent }),
        onResult: ({ task }) => {
          ran.add(task.id);
          if (!globals.json) print(taskLine(task));
        },
      });
      await host.watch.caughtUp();
      if (leaving.aborted) process.exitCode = stoppedCode(leaving, 0);
      else if (untilEmpty) process.exitCode = await exitCodeOf(store, ran);
    } finally {
      progress.end();
      await feed.close();
      await host.close();
    }
  });
}

/** 1 where a task that was run is a dead letter, else 3 where one waits for a person, else 0. */
async function exitCodeOf(store: Store, ran: ReadonlySet<string>): Promise<number> {
  let code = 0;
  for (const id of ran) {
    const task = await store.find(id);
    if (task?.status === 'deadletter') return 1;
    if (
      task !== undefined &&
      (task.status === 'review' || task.status === 'blocked' || (await asksPerson(store, task)))
    )
      code = 3;
  }
  return code;
}
