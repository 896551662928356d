/** Whether an agent says that it changed files: by what it lists, by its metrics, or in its own words. Pure. */
import type { Report } from '../../core/report.ts';

/** `files_modified: 3`, `filesChanged: 2`, `lines_added: 40`. */
const COUNTED =
  /^(?:files?|lines?|tests?)?(?:modified|changed|created|added|written|updated|edited|deleted|removed|renamed)(?:files?|lines?|tests?)?$/;

const CHANGE =
  /\b(?:creat|wr[io]t|add|modif|updat|edit|chang|implement|fix|refactor|renam|delet|remov|replac|mov|generat)\w*/i;
/** A name with an ending, such as `src/a.ts`; not a number, a version or a host. */
const FILE_NAME = /(?:^|[\s`'"(])(?:[\w@.-]+\/)*[\w@-][\w@.-]*\.(?:[a-z]\w{0,7})(?=$|[\s`'"),:;.!?])/i;

/** What it says of changes, in a few words; null where it says of none. */
export function claimedChanges({ artifacts, metrics, summary, actions }: Report, mayWrite: boolean): string | null {
  const made = artifacts.find(({ status }) => status !== 'UNCHANGED');
  if (made !== undefined) return `${made.path}${made.status === null ? '' : ` ${made.status}`}`;
  const counted = Object.entries(metrics).find(
    ([key, value]) => COUNTED.test(key.replace(/[\s_-]/g, '').toLowerCase()) && Number.parseInt(value, 10) > 0,
  );
  if (counted !== undefined) return `${counted[0]}: ${counted[1]}`;
  // Of a task that may not write, "fixed in src/a.ts" speaks of the work of others.
  if (!mayWrite) return null;
  const sentence = [summary, ...actions]
    .flatMap((text) => text.split(/\n|(?<=[.!?;])\s/))
    .find((said) => CHANGE.test(said) && FILE_NAME.test(said));
  return sentence === undefined
    ? null
    : sentence
        .replace(/^[\s*-]+/, '')
        .trim()
        .slice(0, 120);
}
