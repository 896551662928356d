/** Small agents for the tests of this folder: a shell script each, named `agent`, and what they may say. */
import { reportText, type World } from './world.ts';

/** One agent, `emma`, which is the script `agent` of the world. */
export const EMMA = { agents: { emma: { kind: 'command', command: ['agent'] } }, defaults: { sandbox: 'off' } };

/** Words as a piece of shell script that prints them. */
export const print = (text: string): string => `cat <<'SAID'\n${text}\nSAID`;
export const REPORT_DONE = print(reportText());

/** What `emma` does, in shell; it works in the workspace. */
export const emma = (world: World, ...lines: readonly string[]): string =>
  world.script('agent', `#!/bin/sh\n${lines.join('\n')}\n`);

/** A RESPONSE as an agent may say it; on one line. */
export const responseText = (fields: object = {}): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'RESPONSE',
    session_id: 'test-session',
    task_id: 'T-1',
    agent: { name: 'emma', provider: 'OTHER', model: 'none' },
    task_status: { state: 'COMPLETED', final_signal: 'SUCCESS' },
    execution_summary: { summary: 'It is made.', actions: ['made it'] },
    ...fields,
  });

export const output = (path: string, more: object = {}): { type: string; path: string } => ({
  type: 'FILE',
  path,
  ...more,
});
