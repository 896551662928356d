/** `baton serve`: what `baton work` does, and the HTTP API with it. */
import { isIP } from 'node:net';
import { eventsOf } from '../core/task-json.ts';
import { peerOf } from '../process/peer.ts';
import { openDoor } from '../runtime/door.ts';
import type { Door, Sender } from '../runtime/doors.ts';
import type { HttpDoor } from '../runtime/host.ts';
import { openHost, workOn } from '../runtime/index.ts';
import { createApi, createTokens, listen, personToken, tokenFile } from '../server/http/index.ts';
import { openFeed } from '../session/feed.ts';
import type { Globals } from './globals.ts';
import { print, printJson } from './io.ts';
import { doLineFor } from './language.ts';
import { followConfig } from './live-config.ts';
import { createProgress } from './progress.ts';
import { recoverAloud } from './run.ts';
import { dim } from './style.ts';
import { taskLine } from './text.ts';
import { countTokens } from './tokens.ts';
import { ENDING_RUNS, untilStopped } from './until-stopped.ts';
import { writing } from './with-store.ts';

interface Options extends Globals {
  readonly host: string;
  readonly port: number;
  readonly parallel?: number;
}

export async function serve({ host: bound, port, parallel, ...globals }: Options): Promise<void> {
  const leaving = untilStopped(ENDING_RUNS);
  await writing(globals, async (store, dir) => {
    const progress = createProgress(false);
    const config = followConfig(dir, progress.say);
    const tokens = createTokens(personToken(dir));
    // Nothing runs before it is known where we listen.
    let url = '';
    const door: HttpDoor = {
      get url() {
        return url;
      },
      open: tokens.open,
      close: tokens.close,
    };
    const host = await openHost({
      store,
      dir,
      config,
      countTokens,
      door,
      onLive: (live) => progress.show(live),
      warn: (text) => progress.say(text),
    });
    const feed = openFeed(host);
    host.doLine = doLineFor({ store, dir, config, warn: host.warn, leaving, isQuiet: true });
    const streams = new AbortController();
    try {
      const { router, now, workspace, environment } = host;
      const parts = { store, config, router, now, workspace, environment, dir: host.dir, doLine: host.doLine };
      const doorFor = (sender: Sender, request?: string): Door =>
        openDoor({ ...parts, sender, ...(request === undefined ? {} : { request }) });
      const api = createApi({ host, router, doorFor, tokens, bound, peerOf, stopping: streams.signal });
      const listening = await listen({ host: bound, port, fetch: api.fetch });
      url = listening.url;
      try {
        leaving.addEventListener('abort', listening.stopTaking, { once: true });
        tell(url, tokenFile(host.dir), globals.json);
        if (!isLoopback(bound)) progress.say(OPEN_TO_OTHERS);
        if (globals.json) host.watch.onRecord((record) => eventsOf(record).forEach(printJson));
        await recoverAloud(host, progress);
        await workOn(host, {
          get parallel() {
            return parallel ?? config.defaults.parallel;
          },
          untilEmpty: false,
          leaving,
          onResult: ({ task }) => {
            if (!globals.json) print(taskLine(task));
          },
        });
        // Whoever listens hears the end too.
        await host.watch.caughtUp();
      } finally {
        streams.abort();
        await listening.close();
      }
    } finally {
      progress.end();
      await feed.close();
      await host.close();
    }
  });
}

function tell(url: string, file: string, json: boolean): void {
  if (json) return printJson({ url, token_file: file });
  print(
    `Baton listens on ${url}\n${dim('token:')} ${file}\n${dim('try:')}   curl -H "Authorization: Bearer $(cat ${file})" ${url}/v1/tasks`,
  );
}

const isLoopback = (name: string): boolean =>
  name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));

const OPEN_TO_OTHERS =
  'other machines can reach this: whoever has the token can use it, and nothing that is sent is encrypted';
