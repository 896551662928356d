/** An agent of the kind `command` for the kit: it does what the scenario in its prompt says, as the scripted model makes the real ones do. */
import { mkdirSync, writeFileSync } from 'node:fs';

let prompt = '';
for await (const chunk of process.stdin) prompt += chunk;
const scenario = /\[\[mock:([\w.-]+)\]\]/.exec(prompt)?.[1] ?? 'text';

const forEver = () => setInterval(() => {}, 1000);
const fail = (status) => {
  process.stderr.write(`\u001b[31mits model answered HTTP ${status}\u001b[0m\n`);
  process.exitCode = 1;
};

const scenarios = {
  text: () => process.stdout.write(`Hello, a prompt of ${prompt.length} characters.\n`),
  write: () => {
    writeFileSync('hello.txt', 'hello from mock\n');
    process.stdout.write('Done: wrote hello.txt.\n');
  },
  e401: () => fail(401),
  e429: () => fail(429),
  e500: () => fail(500),
  hang: forEver,
  stall: () => {
    process.stdout.write('Starting');
    forEver();
  },
  sleepy: () => {
    process.stdout.write('Sleeping\n');
    forEver();
  },
  flood: () => {
    for (let i = 0; i < 20; i++) process.stdout.write(`${'x'.repeat(1024 * 1024)}\n`);
    process.stdout.write('The end.\n');
  },
  slowwrite: () => {
    process.stdout.on('error', () => {
      mkdirSync('after', { recursive: true });
      process.exit(13);
    });
    setInterval(() => process.stdout.write('on and on\n'), 20);
  },
};
scenarios[scenario]();
