/** `baton init`: the data folder with a config that explains itself, the agents found here, and what to tell them. */
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CLI_KINDS } from '../core/agent-kinds.ts';
import { CONFIG_FILE } from '../core/config.ts';
import { CONFIG_TEMPLATE } from './config-template.ts';
import { dataFolder } from './data-folder.ts';
import type { Globals } from './globals.ts';
import { installedAgents } from './installed.ts';
import { print, printJson } from './io.ts';
import { bold, dim } from './style.ts';
import { writing } from './with-store.ts';

export async function init(options: Globals): Promise<void> {
  const dir = dataFolder(options);
  const isNew = !existsSync(dir);
  const isConfigured = await writing(options, async () => !writeIfMissing(join(dir, CONFIG_FILE), CONFIG_TEMPLATE));
  const agents = installedAgents();
  if (options.json) return printJson({ dir, agents, created: isNew, changed: isNew || !isConfigured });
  if (isNew) print(`made ${bold(dir)} with a ${CONFIG_FILE} that explains itself`);
  else if (!isConfigured) print(`wrote ${CONFIG_FILE} into ${bold(dir)}`);
  else print(`${bold(dir)} is there already; nothing was changed`);
  if (agents.length === 0) print(`no agent found on PATH (looked for ${CLI_KINDS.join(', ')})`);
  else print(`agents found: ${agents.map(({ name, path }) => `${bold(name)} ${dim(path)}`).join(', ')}`);
  print(
    `\nTo let an agent work with Baton, put this into its instructions (CLAUDE.md, AGENTS.md, GEMINI.md):\n\n${SNIPPET}`,
  );
}

/** False where the file is there: what a person wrote is never replaced. */
function writeIfMissing(path: string, text: string): boolean {
  try {
    writeFileSync(path, text, { flag: 'wx' });
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw cause;
  }
}

/** Short, since it is read with every prompt. */
const SNIPPET = `## Handing work on with Baton

- To give a task to another agent and wait for it: baton run "what is to be done" [--agent NAME]
- Its standard output is one [AOP:…] block: read STATUS (success, failure, partial) and SUMMARY first.
- All else that it did is in the file that DETAILS_FILE names; open that only if the summary is not enough.
- To leave a task for later: baton task add --title "what is to be done"
- Why a task is as it is, and what it waits for: baton why ID`;
