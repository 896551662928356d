/** A store's refusal in the session's own five codes. */
import { isSessionErrorCode, type SessionErrorCode } from '../core/errors.ts';
import type { Refusal } from '../core/laws/decision.ts';
import type { AnyMessage } from '../core/laws/messages.ts';
import { isWithin } from '../core/policy.ts';
import type { Answer } from '../core/store.ts';
import { type Call, failed, form, type Said } from './call.ts';

/** What has no code of its own here is a command that cannot be carried out with what it was given. */
export function codeOf({ code }: { readonly code: string }): SessionErrorCode {
  if (isSessionErrorCode(code)) return code;
  return code === 'E_PERMISSION_DENIED' ? 'E005' : code === 'E_PARSE_FAILURE' ? 'E001' : 'E002';
}

export const refusalOf = (refusal: Refusal): Said => failed(codeOf(refusal), refusal.message);

type Accepted = Exclude<Answer, { kind: 'refused' }>;

/** What the store says to a message of this call's speaker; what it refuses is an answer too. */
export async function ask({ store, actor }: Call, message: AnyMessage): Promise<Accepted | { readonly said: Said }> {
  const answer = await store.send({ message, by: actor });
  return answer.kind === 'refused' ? { said: refusalOf(answer.refusal) } : answer;
}

/** What file systems say, in a word that fits into an answer. */
const FILE_WORDS: Readonly<Record<string, string>> = {
  EACCES: 'not_permitted',
  EDQUOT: 'disk_full',
  EEXIST: 'not_a_folder',
  EISDIR: 'a_folder',
  ELOOP: 'links_in_a_circle',
  ENAMETOOLONG: 'name_too_long',
  ENOENT: 'not_found',
  ENOSPC: 'disk_full',
  ENOTDIR: 'not_a_folder',
  EPERM: 'not_permitted',
  EROFS: 'read_only',
};

/** Why the file system would not; null where it was not the file system, or in the data folder: that is the store's to tell. */
export function fileWord(cause: unknown, { dir }: Pick<Call, 'dir'>): string | null {
  if (!(cause instanceof Error) || !('syscall' in cause)) return null;
  const { code = '', path } = cause as NodeJS.ErrnoException;
  if (dir !== null && path !== undefined && isWithin(path, [dir])) return null;
  return FILE_WORDS[code] ?? (code === '' ? null : code);
}

/** The law's own words are the answer. */
export async function replyTo(call: Call, message: AnyMessage): Promise<Said> {
  const answer = await ask(call, message);
  return 'said' in answer ? answer.said : form(answer.reply ?? 'ok');
}
