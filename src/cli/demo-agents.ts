/** The agents of `baton demo`: small scripts that do what real ones do on bad days. Each reads its prompt and works in the current folder. */

/** What an agent says at its end. */
const block = (task: string, lines: readonly string[], status: string): string =>
  [
    `console.log(${JSON.stringify(`[AOP:START] 2026-01-01T00:00:00Z\n[AOP:TASK] ${task}\n[AOP:SUMMARY]\n${lines.map((line) => `- ${line}`).join('\n')}`)});`,
    `console.log(${JSON.stringify(`[AOP:DETAILS_FILE] none\n[AOP:STATUS] ${status}\n[AOP:END] 2026-01-01T00:00:09Z`)});`,
  ].join('\n');

const head = `import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';\nreadFileSync(0);\n`;

export const DEMO_AGENTS = {
  /** Does what it is told. */
  planner: `${head}
writeFileSync('plan.md', '# Plan\\n\\n1. Count the words\\n2. Write them down\\n');
${block('Plan the word count', ['plan.md: two steps'], 'success')}`,

  /** Does it too, and prints everything it sees on the way: two megabytes. */
  chatty: `${head}
for (let i = 1; i <= 20_000; i++) console.log('reading line ' + i + ' of the source, and here is all of it: ' + 'lorem ipsum '.repeat(4));
writeFileSync('words.txt', 'words: 42\\n');
${block('Count the words', ['words.txt: 42 words', '20,000 lines read'], 'success')}`,

  /** Finishes its first phase, is killed in its second, and goes on there the next time. */
  fragile: `${head}
if (process.env.BATON_PHASE === 'PHASE-DRAFT') {
  appendFileSync('report.md', '# Draft\\n');
} else {
  if (process.env.BATON_ATTEMPT === '1') process.kill(process.pid, 'SIGKILL');
  appendFileSync('report.md', '42 words in all.\\n');
}
${block('Write the report', ['report.md: draft and result'], 'success')}`,

  /** Breaks what it should mend, and gives up. */
  clumsy: `${head}
writeFileSync('settings.json', '{ "port": 80');
console.error('I could not finish this.');
process.exit(1);`,

  /** Says that all tests pass, and has written none. */
  liar: `${head}
${block('Write the tests', ['tests.js written', 'All 12 tests pass'], 'success')}`,
} as const;

export type DemoAgent = keyof typeof DEMO_AGENTS;
