/** What may be a name: what cannot be typed or seen, nobody can speak of afterwards. */
import type { Routing } from '../task.ts';

/** Neither control and format characters, nor half of a pair, nor an end of line. */
const NAME_FORM = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,256}$/u;
const SEEN = /[^\p{Cc}\p{Cf}\p{Cs}\p{Z}\s]/u;

/** What is wrong with a name, else null. */
export const nameProblem = (what: string, name: string): string | null =>
  NAME_FORM.test(name) && name.trim() !== ''
    ? null
    : `expected ${what} of 1 to 256 characters, none of them a control character, got another`;

interface Named {
  readonly title?: string;
  readonly session?: string;
  readonly routing?: Partial<Routing>;
}

/** What cannot be seen or said of a task that is made or changed; null where nothing. */
export function namesProblem({ title, session, routing = {} }: Named): string | null {
  if (title !== undefined && !SEEN.test(title)) {
    return `expected a title, got ${title.trim() === '' ? 'an empty text' : 'one that shows nothing'}`;
  }
  return (
    (session === undefined ? null : nameProblem('a session', session)) ??
    (routing.agent == null ? null : nameProblem('an agent', routing.agent))
  );
}
