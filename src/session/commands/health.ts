/** `#HEALTH` (§15): how full the session's context and state are, how much went wrong lately, and when to begin anew. */
import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { MOST_KEYS } from '../../core/laws/session.ts';
import { FULL_AT, WARN_AT } from '../../runtime/context-budget.ts';
import { contextExport, exportInput } from '../../runtime/context-export.ts';
import { type ContextUse, contextUse } from '../../runtime/context-sums.ts';
import { exportFile } from '../../runtime/places.ts';
import { type Call, form, type Said } from '../call.ts';
import { lastResults } from '../log.ts';
import { thousands } from '../lookup.ts';
import { ask } from '../refusals.ts';
import { gitPlace } from './context.ts';

/** §15: of so many commands. */
const COMMANDS_BACK = 10;
/** From so many errors on something is wrong with how it goes. */
const MANY_ERRORS = 4;

export async function health(call: Call): Promise<Said> {
  return call.params[0] === 'context' ? contextHealth(call) : sessionHealth(call);
}

const share = (part: number, whole: number): number => Math.floor((part / whole) * 100);
const used = (tokens: number, most: number): string => `${thousands(tokens)}/${thousands(most)} tokens`;

/** The agent whose context is the fullest; a run asks for its own. */
function fullest(uses: readonly ContextUse[], { speaker }: Call): ContextUse {
  const mine = speaker.run === null ? uses : uses.filter(({ agent }) => agent === speaker.agent);
  return mine.reduce((most, use) => (use.tokens > most.tokens ? use : most), {
    agent: speaker.agent,
    tokens: 0,
    file: null,
  });
}

async function sessionHealth(call: Call): Promise<Said> {
  const { store, session, config, dir, now } = call;
  const most = config.limits.session_tokens;
  const { tokens } = fullest(await contextUse(store, dir, session), call);
  const remembered = await store.session(session);
  const keys = Object.keys(remembered?.state ?? {}).length;
  const results = await lastResults(dir, session, COMMANDS_BACK);
  const errors = results.filter((result) => result.startsWith('#ERROR:')).length;
  const started = remembered?.facts?.['startedAt'];
  const advice = [
    tokens >= most * FULL_AT ? 'context over 80%: export, start a new session' : '',
    tokens >= most * WARN_AT && tokens < most * FULL_AT ? 'context over 70%: checkpoint soon' : '',
    keys >= MOST_KEYS ? 'state keys exhausted: clear unused, or start a new session' : '',
    errors >= MANY_ERRORS ? 'error rate high: start a new session' : '',
  ].filter((line) => line !== '');
  const lines = [
    `Context: ${used(tokens, most)} (${share(tokens, most)}%)`,
    `State: ${keys}/${MOST_KEYS} keys (${share(keys, MOST_KEYS)}%)`,
    `Errors: ${errors} in last ${COMMANDS_BACK} commands`,
    `Uptime: ${uptime(typeof started === 'number' ? now() - started : 0)}`,
    `Status: ${advice.length === 0 ? 'healthy' : 'warning'}`,
    ...advice.map((line) => `Advice: ${line}`),
  ];
  return form(lines.map((line) => `• ${line}`).join('\n'));
}

/** `2h 15m`. */
function uptime(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000));
  const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
  if (days > 0) return `${days}d ${hours}h`;
  return hours > 0 ? `${hours}h ${minutes % 60}m` : `${minutes}m`;
}

/** From 80 % on what is critical is exported, once for an agent (§16). */
async function contextHealth(call: Call): Promise<Said> {
  const { store, session, config, dir } = call;
  const most = config.limits.session_tokens;
  const uses = await contextUse(store, dir, session);
  const { agent, tokens, file } = fullest(uses, call);
  const others = call.speaker.run === null && uses.length > 1 ? uses : [];
  const lines = [
    `→ ${used(tokens, most)} (${share(tokens, most)}%)`,
    ...others.map((use) => `→ ${use.agent}: ${used(use.tokens, most)}`),
  ];
  if (tokens < most * FULL_AT) {
    return form([...lines, ...(tokens < most * WARN_AT ? [] : ['→ checkpoint soon'])].join('\n'));
  }
  if (file !== null) return form([...lines, `→ auto-exported:${file}`, '→ start a new session'].join('\n'));
  if (dir === null) return form([...lines, '→ export, start a new session'].join('\n'));
  const { text, items } = contextExport({
    ...(await exportInput(store, session)),
    now: call.now(),
    commit: (await gitPlace(call)).commit,
    project: basename(call.workspace),
    filter: 'critical',
  });
  const path = exportFile(dir, session, call.now());
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text, { flag: 'wx', mode: 0o600 });
  // By this the agent's next conversation is told of it.
  await ask(call, { type: 'note', event: 'context.exported', session, detail: { agent, file: path, items } });
  return form([...lines, '→ auto-exporting...', `→ exported:${items} critical items`, `→ file:${path}`].join('\n'));
}
