/** Which command is answered by whom. One table: what is not here does not exist. */
import type { CommandName } from '../protocol/command/index.ts';
import type { Handler } from './call.ts';
import { depends } from './commands/depends.ts';
import * as help from './commands/help.ts';
import * as locks from './commands/locks.ts';
import * as mail from './commands/mail.ts';
import { state } from './commands/state.ts';

export const HANDLERS: Partial<Record<CommandName, Handler>> = {
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
};
