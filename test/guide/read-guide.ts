/** A guide in Markdown as steps: `console` blocks are commands with what they print, blocks whose info string names a file are that file. */

export type Step =
  | { readonly kind: 'file'; readonly line: number; readonly path: string; readonly text: string }
  | {
      readonly kind: 'command';
      readonly line: number;
      readonly command: string;
      /** What it prints, line by line; `…` stands for what is left out. */
      readonly shown: readonly string[];
      readonly exit: number;
    };

/** In the order of the page. A fence that is neither is for reading only, and has to be `text`, so that nothing is left out by a slip. */
export function readGuide(markdown: string): Step[] {
  const steps: Step[] = [];
  const lines = markdown.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const [, info] = /^```(\S.*)?$/.exec(lines[i] as string) ?? [];
    if (!(lines[i] as string).startsWith('```')) continue;
    const end = lines.indexOf('```', i + 1);
    const inside = lines.slice(i + 1, end);
    const [language = '', path] = (info ?? '').split(' ');
    if (language === 'console') steps.push(...commandsOf(inside, i + 2));
    else if (path !== undefined) steps.push({ kind: 'file', line: i + 1, path, text: `${inside.join('\n')}\n` });
    else if (language !== 'text')
      throw new Error(`line ${i + 1}: expected console, text or a file's name, got ${info}`);
    i = end;
  }
  return steps;
}

/** A command goes on over lines that end with a backslash, and ends before the first line that it prints. */
function commandsOf(lines: readonly string[], first: number): Step[] {
  const steps: { kind: 'command'; line: number; command: string; shown: string[]; exit: number }[] = [];
  for (const [i, line] of lines.entries()) {
    const last = steps.at(-1);
    if (line.startsWith('$ ')) {
      const exit = Number(/ # exits (\d+)$/.exec(line)?.[1] ?? 0);
      steps.push({ kind: 'command', line: first + i, command: line.slice(2), shown: [], exit });
    } else if (last === undefined) throw new Error(`line ${first + i}: expected a command, got ${line}`);
    else if (last.shown.length === 0 && last.command.endsWith('\\')) last.command += `\n${line}`;
    else last.shown.push(line);
  }
  return steps;
}

const NORMAL: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, 'TIME'],
  [/\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\b/g, 'TIME'],
  [/\bTASK-\d{4}-\d\d-\d\d-/g, 'TASK-DAY-'],
  [/(?<!\d)\d{8}_\d{6}(?!\d)/g, 'STAMP'],
  [/task_\d{4}_\d\d_\d\d_/g, 'task_DAY_'],
  [/\b\d+(?:\.\d+)?(?: min \d\d)? m?s\b/g, 'SECONDS'],
  [/~?\$\d+\.\d+/g, 'DOLLARS'],
  [/\b[0-9a-f]{7,64}\b/g, 'HASH'],
  [/ +$/g, ''],
];

export const normal = (line: string): string =>
  NORMAL.reduce((text, [pattern, word]) => text.replace(pattern, word), line);

/** Null where it is what is shown; else the first line that is not. */
export function differs(shown: readonly string[], came: readonly string[]): string | null {
  const expected = shown.map(normal);
  const actual = came.map(normal);
  const fits = (i: number, j: number): boolean => {
    if (i === expected.length) return j === actual.length;
    if (expected[i]?.trim() === '…') {
      for (let k = j; k <= actual.length; k++) if (fits(i + 1, k)) return true;
      return false;
    }
    return j < actual.length && isLike(expected[i] as string, actual[j] as string) && fits(i + 1, j + 1);
  };
  if (fits(0, 0)) return null;
  const missing = expected.find((line) => line.trim() !== '…' && !actual.some((other) => isLike(line, other)));
  return missing ?? 'the lines are another number, or in another order';
}

/** `…` within a line stands for any words. */
function isLike(expected: string, actual: string): boolean {
  if (!expected.includes('…')) return expected === actual;
  const escaped = expected.split('…').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`).test(actual);
}
