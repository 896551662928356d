/** `#HELP`, `#VERSION`, `#SUPPORTS`, `#ERROR`: what the language says of itself. */
import { checkVersion, featureLines, helpReply, supports, VERSION_REPLY } from '../../protocol/command/index.ts';
import { failed, form, type Handler, list, type Said } from '../call.ts';
import { projectCommands } from '../project-commands.ts';

const ERROR_CODES = ['E001', 'E002', 'E003', 'E004', 'E005'] as const;

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
  const known = ERROR_CODES.find((each) => each === code);
  return known === undefined ? failed('E002', `unknown_code ${code}`) : failed(known, description);
};
