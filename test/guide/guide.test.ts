/**
 * docs/guide.md is true: every command on the page is run, in order, in one folder with one repository, by the real programs, and prints what the page
 * says. Only the words of the two models are scripted. `BATON_GUIDE=FILE` writes what came into FILE, for whoever changes the page.
 */
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { probeSandbox } from '../../src/process/sandbox.ts';
import { found } from '../agents/kit.ts';
import { markedPids, until } from '../runtime/world.ts';
import { readGuide } from './read-guide.ts';
import { openStory, type Played, type Story } from './story.ts';

const probed = await probeSandbox();
const missing = [
  ...(['claude', 'codex'] as const).filter((kind) => found(kind) === null),
  ...(probed.ok ? [] : [`a sandbox (${probed.reason})`]),
];
if (missing.length > 0) {
  console.warn(
    `\n!!! THE GUIDE IS NOT TESTED, for there is no ${missing.join(' and no ')}: npm ci in test/real installs the programs\n`,
  );
  test.runIf(process.env['BATON_REAL'] === 'require')('the real programs and the sandbox are here', () => {
    expect(missing).toEqual([]);
  });
}

const steps = readGuide(readFileSync(new URL('../../docs/guide.md', import.meta.url), 'utf8'));
let story: Story | null = null;
afterAll(() => story?.close());

/** Nothing that the story's runs have started is alive. */
const nothingRuns = ({ project }: Story): Promise<void> =>
  until('an end of all that was started', () => markedPids(join(project, '.baton')).length === 0);

describe.skipIf(missing.length > 0)('docs/guide.md', () => {
  test('every command prints what the page says', async () => {
    const played: Played[] = [];
    story = await openStory();
    const { project } = story;
    const notes = join(project, 'notes.txt');
    let before: ReturnType<typeof statSync> | undefined;
    try {
      for (const step of steps) {
        played.push(await story.play(step));
        const command = step.kind === 'command' ? step.command : '';
        // In the sandbox they die with Baton, and not only when the next one looks for them.
        if (command.startsWith('kill -9')) await nothingRuns(story);
        if (command.includes('> notes.txt')) before = statSync(notes);
      }
    } finally {
      const file = process.env['BATON_GUIDE'];
      if (file !== undefined) writeFileSync(file, played.map(written).join(''));
    }
    expect(
      played.flatMap(({ step, wrong, lines }) => (wrong === null ? [] : [{ line: step.line, wrong, lines }])),
    ).toEqual([]);
    await nothingRuns(story);
    const { ino, mtimeMs } = statSync(notes);
    expect({ ino, mtimeMs }).toEqual({ ino: before?.ino, mtimeMs: before?.mtimeMs });
  }, 300_000);

  test('the stage was told what was asked for, by reference, and both vendors were at work', () => {
    const { asked } = story as Story;
    const all = asked();
    expect(new Set(all.map(({ api }) => api))).toEqual(new Set(['claude', 'codex']));
    expect(all.some(({ body }) => body.includes('The total of a cart ignores quantities'))).toBe(true);
    expect(all.filter(({ body }) => body.includes('4711'))).toEqual([]);
  });

  test('what was printed never reached a parent: less than 2,000 characters did', async () => {
    const { project, play, asked } = story as Story;
    const shown = await play({ kind: 'command', line: 0, command: 'baton report cart --json', shown: ['…'], exit: 0 });
    const { context, cost_summary: cost } = JSON.parse(shown.lines.join('\n')) as {
      context: { characters_produced: number; characters_delivered: number };
      cost_summary: { by_agent: Record<string, { tokens_input: number }> };
    };
    // All blocks of all runs, whoever their parent is. Of a run that died with Baton nobody is told: its task goes on.
    const logs = join(project, '.baton/logs');
    const blocks = readdirSync(logs)
      .map((run) => join(logs, run, 'block.txt'))
      .flatMap((file) => (existsSync(file) ? [readFileSync(file, 'utf8')] : []))
      .filter((block) => !block.includes('E_RUN_EXPIRED'));
    expect(blocks).toHaveLength(4);
    expect(blocks.join('').length).toBe(context.characters_delivered);
    expect(context.characters_delivered).toBeLessThan(2_000);
    // The runs that died have printed too, and what the first phase used is in the bill: four calls of the model, and three after it.
    expect(cost.by_agent['claude']?.tokens_input).toBeGreaterThanOrEqual(7_000);
    expect(context.characters_produced).toBeGreaterThan(50_000);
    // Claude is the parent of what it handed to Codex: all that Baton's tools have answered it.
    const told = asked().flatMap(({ api, answers }) => (api === 'claude' ? answers : []));
    expect([...new Set(told)].join('').length).toBeLessThan(2_000);
    expect(told.join('')).toContain('Two tests that keep the bug away');
  });
});

const written = ({ step, lines, ms, wrong }: Played): string =>
  step.kind === 'file'
    ? ''
    : `$ ${step.command}   (line ${step.line}, ${ms} ms)${wrong === null ? '' : `\n!!! ${wrong}`}\n${lines.map((line) => `${line}\n`).join('')}`;
