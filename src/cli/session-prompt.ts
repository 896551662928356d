/** A person's session at a terminal: a prompt with history and completion; Ctrl-C ends a wait and not the session, Ctrl-D leaves. */
import { createInterface, type Interface } from 'node:readline';
import { BatonError } from '../core/errors.ts';
import type { DoneLine } from '../runtime/doors.ts';
import { markRead, unread } from '../runtime/letters.ts';
import { waitingFor } from '../runtime/people-inbox.ts';
import { CHANNELS } from '../session/commands/mail.ts';
import { knownAgents } from '../session/people.ts';
import { readConfig } from './config-file.ts';
import { waysOf } from './inbox.ts';
import { note, print } from './io.ts';
import { completionsOf, type Known } from './session-complete.ts';
import { MOST_LINES, openHistory } from './session-history.ts';
import type { Place, Speaking } from './speaking-folder.ts';
import { bold, dim, red, yellow } from './style.ts';
import { oneLine, safe } from './text.ts';

const LEAVE = /^(?:exit|quit|bye|:q)$/i;
/** A command that takes longer is said to be under way. */
const PATIENCE_MS = 1_000;

export async function atPrompt({ place, say }: Speaking, leaving: AbortController): Promise<void> {
  const history = place === null ? null : openHistory(place.dir, (text) => note(`baton: ${text}`));
  const rl = createInterface({
    input: process.stdin,
    output: process.stdout,
    terminal: true,
    prompt: bold(`${oneLine(place?.voice.session ?? 'baton')}> `),
    historySize: MOST_LINES,
    ...(history === null ? {} : { history: history.lines }),
    ...(place === null ? {} : { completer: completer(place) }),
  });
  /** What is under way; null while it is the person's turn. */
  let doing: AbortController | null = null;
  const waiting: string[] = [];
  const told = new Set<string>();

  const turn = async (): Promise<void> => {
    if (place !== null) await tellNews(place, told);
    rl.prompt();
  };
  const work = async (): Promise<void> => {
    for (let line = waiting.shift(); line !== undefined; line = waiting.shift()) {
      if (LEAVE.test(line.trim())) return rl.close();
      if (line.trim() === '') continue;
      history?.add(line);
      doing = new AbortController();
      await answer(say, line, doing.signal);
      doing = null;
    }
  };
  /** One after the other, in the order in which they were typed. */
  let last: Promise<void> = Promise.resolve();
  const failed = new Promise<never>((_, reject) => {
    rl.on('line', (line) => {
      waiting.push(line);
      if (waiting.length === 1 && doing === null) {
        last = last
          .then(work)
          .then(() => (isClosed(rl) ? undefined : turn()))
          .catch(reject);
      }
    });
  });
  rl.on('SIGINT', () => {
    if (doing !== null) return doing.abort();
    const isEmpty = rl.line === '';
    // What stands there is let go, as in a shell.
    rl.write(null, { ctrl: true, name: 'e' });
    rl.write(null, { ctrl: true, name: 'u' });
    process.stdout.write('\n');
    if (isEmpty) print(dim('Ctrl-D leaves.'));
    rl.prompt();
  });
  const leave = (): void => rl.close();
  process.once('SIGTERM', leave);
  process.once('SIGHUP', leave);
  const closed = new Promise<void>((resolve) => {
    rl.once('close', () => {
      doing?.abort();
      leaving.abort();
      resolve();
    });
  });
  if (place !== null) print(dim(`Commands (#HELP), or plain words. Tab completes, Ctrl-D leaves.`));
  try {
    await turn();
    await Promise.race([closed, failed]);
    await last;
  } finally {
    rl.close();
    process.off('SIGTERM', leave);
    process.off('SIGHUP', leave);
    process.stdout.write('\n');
  }
}

const isClosed = (rl: Interface): boolean => (rl as Interface & { readonly closed?: boolean }).closed === true;

/** A store that fails ends the session; what is said to a line, or what keeps it from being said, does not. */
async function answer(say: Speaking['say'], line: string, signal: AbortSignal): Promise<void> {
  const patience = setTimeout(() => print(dim('It takes a while; Ctrl-C gives up.')), PATIENCE_MS);
  try {
    print(coloured(await say({ line }, signal)));
  } catch (cause) {
    if (!(cause instanceof BatonError) || cause.code.startsWith('E_STORE') || cause.code === 'E_STALE_RUN') throw cause;
    print(red(`${safe(cause.message)} (${cause.code})`));
  } finally {
    clearTimeout(patience);
  }
}

function coloured({ reply, clarify, failed }: DoneLine): string {
  const words = safe(reply);
  return clarify !== null ? yellow(words) : failed ? red(words) : words;
}

/** What was written to whoever sits here, and what waits for an answer and was not told yet. */
async function tellNews({ store, voice }: Place, told: Set<string>): Promise<void> {
  const { session, speaker } = voice;
  const letters = await unread(store, session, speaker.agent);
  if (letters !== null) {
    print(`${bold('Messages for you')}\n${letters.text}`);
    await markRead(store, session, speaker.agent, letters);
  }
  for (const item of await waitingFor(store, session)) {
    if (told.has(item.id)) continue;
    told.add(item.id);
    print(`${yellow(`${item.id} waits for you:`)} ${oneLine(item.question)}\n  ${dim(waysOf(item))}`);
  }
}

type Completer = (line: string, done: (failure: Error | null, fits: [string[], string]) => void) => void;

/** What there is now; where it cannot be told, nothing is completed. */
function completer(place: Place): Completer {
  return (line, done) => {
    knownIn(place).then(
      (known) => done(null, completionsOf(line, known)),
      // Completion is a help: what is wrong with the store is told by the next command.
      () => done(null, [[], line]),
    );
  };
}

const MOST_TASKS = 200;

async function knownIn({ store, dir, voice }: Place): Promise<Known> {
  const config = readConfig(dir);
  const agents = await knownAgents({ store, config, ...voice });
  const {
    state = {},
    checkpoints = {},
    subscribers = {},
    locks = {},
    signals = {},
  } = (await store.session(voice.session)) ?? {};
  const tasks: string[] = [];
  for await (const { id } of store.tasks({ session: voice.session })) tasks.push(id);
  return {
    agents: [...agents],
    keys: Object.keys(state),
    checkpoints: Object.keys(checkpoints),
    tasks: tasks.slice(-MOST_TASKS),
    channels: [...CHANNELS, ...Object.keys(subscribers)],
    resources: [...Object.keys(locks), ...Object.keys(signals)],
    commands: Object.keys(config.commands),
  };
}
