/** One shell for a whole story: what a command sets, starts or changes is there for the next, as it is for whoever types it. */
import { spawn } from 'node:child_process';

export interface Said {
  readonly exit: number;
  readonly lines: readonly string[];
}

export interface Shell {
  run(command: string): Promise<Said>;
  close(): Promise<void>;
}

const END = '\u001e';

export function openShell(cwd: string, env: NodeJS.ProcessEnv, limitMs = 120_000): Shell {
  // Its own group, so that all of it can be ended where a test fails.
  const child = spawn('bash', ['--norc', '--noprofile'], { cwd, env, detached: true });
  const ended = new Promise<void>((settle) => child.on('close', () => settle()));
  let held = '';
  let wake = (): void => {};
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      held += text;
      wake();
    });
  }
  child.stdin.write('exec 2>&1\n');
  return {
    async run(command) {
      held = '';
      child.stdin.write(`${command}\nprintf '${END}%s\\n' $?\n`);
      const deadline = Date.now() + limitMs;
      for (;;) {
        const [, text = '', exit] = new RegExp(`^([\\s\\S]*)${END}(\\d+)\\n`).exec(held) ?? [];
        if (exit !== undefined) return { exit: Number(exit), lines: linesOf(text) };
        if (Date.now() > deadline || child.exitCode !== null) throw new Error(`no end of: ${command}\n${held}`);
        await new Promise<void>((settle) => {
          const timer = setTimeout(settle, 1_000);
          wake = () => {
            clearTimeout(timer);
            settle();
          };
        });
      }
    },
    async close() {
      child.stdin.end();
      try {
        process.kill(-(child.pid as number), 'SIGKILL');
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ESRCH') throw cause;
      }
      await ended;
    },
  };
}

/** A shell that is no terminal tells of a job that was killed in words of its own. */
const linesOf = (text: string): string[] =>
  text
    .replace(/\n$/, '')
    .split('\n')
    .filter((line, _, all) => !/^bash: line \d+: /.test(line) && !(all.length === 1 && line === ''));
