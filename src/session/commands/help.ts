/** `#HELP`, `#VERSION`, `#SUPPORTS`, `#ERROR`: what the language says of itself. */
import { isSessionErrorCode } from '../../core/errors.ts';
import { checkVersion, featureLines, helpReply, supports, VERSION_REPLY } from '../../protocol/command/index.ts';
import { failed, form, type Handler, list, type Said } from '../call.ts';
import { projectCommands } from '../project-commands.ts';

export const help: Handler = async ({ params, config }) => {
  const reply = helpReply(params, projectCommands(config));
  return reply.startsWith('#ERROR:') ? failed('E002', `unknown_topic ${params.join(' ')}`) : form(reply);
};

export const version: Handler = async ({ params }): Promise<Said> => {
  const [sub, asked = ''] = params;
  if (sub === 'check') return form(checkVersion(asked) ?? 'unknown');
  return sub === 'features' ? list(featureLines()) : form(VERSION_REPLY);
};

export const supported: Handler = async ({ params }) => form(String(supports(params[0] ?? '')));

/** An error that somebody reports: it is repeated in the standard form. */
export const reportError: Handler = async ({ params }) => {
  const [code = '', description = ''] = params;
  return isSessionErrorCode(code) ? failed(code, description) : failed('E002', `unknown_code ${code}`);
};
