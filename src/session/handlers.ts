/** Which command is answered by whom. One table: what is not here does not exist. */
import type { CommandName } from '../protocol/command/index.ts';
import type { Handler } from './call.ts';
import * as core from './commands/ask.ts';
import { checkpoint, rollback } from './commands/checkpoint.ts';
import { context } from './commands/context.ts';
import { coordinate } from './commands/coordinate.ts';
import { depends } from './commands/depends.ts';
import { escalate } from './commands/escalate.ts';
import { health } from './commands/health.ts';
import * as help from './commands/help.ts';
import * as locks from './commands/locks.ts';
import * as mail from './commands/mail.ts';
import { report } from './commands/report.ts';
import { state } from './commands/state.ts';
import * as tasks from './commands/tasks.ts';

export const HANDLERS: Readonly<Record<CommandName, Handler>> = {
  HELP: help.help,
  VERSION: help.version,
  SUPPORTS: help.supported,
  ERROR: help.reportError,
  STATE: state,
  LOCK: locks.lock,
  UNLOCK: locks.unlock,
  WAIT: locks.wait,
  SIGNAL: locks.signal,
  BROADCAST: mail.broadcast,
  SUBSCRIBE: mail.subscribe,
  UNSUBSCRIBE: mail.unsubscribe,
  DIRECT: mail.direct,
  DEPENDS: depends,
  ASK: core.askTopic,
  DEFINE: core.define,
  SUMMARY: core.summary,
  HEALTH: health,
  DELEGATE: tasks.delegate,
  REPORT: report,
  NEXT: tasks.next,
  EVALUATE: tasks.evaluate,
  RETRY: tasks.retry,
  ESCALATE: escalate,
  COORDINATE: coordinate,
  CHECKPOINT: checkpoint,
  ROLLBACK: rollback,
  CONTEXT: context,
};
