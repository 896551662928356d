/** What goes to disk and what goes to the parent: all of it, and no more than it can bear. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { emptyReport } from '../../src/core/report.ts';
import type { Run, Task } from '../../src/core/task.ts';
import { aop1, detect } from '../../src/protocol/index.ts';
import { charCount } from '../../src/protocol/text/clean.ts';
import { type JoinedResult, joined } from '../../src/runtime/joined.ts';
import { leaveResults } from '../../src/runtime/left-results.ts';
import { NOTHING_USED } from '../../src/runtime/meter.ts';
import { logFolder } from '../../src/runtime/places.ts';
import { blockOf, type RunFacts } from '../../src/runtime/results.ts';
import { hasSandbox } from '../helpers/sandbox.ts';
import { EMMA, emma, output, print } from './small-agents.ts';
import { makeWorld, type Ran, REPORT, reportText, shellWorld, taskOf, type World } from './world.ts';

interface Details {
  readonly results: Readonly<Record<string, unknown>> & { readonly output: string[]; readonly errors: string[] };
  readonly metadata: Readonly<Record<string, unknown>>;
}

const detailsOf = (ran: Ran): Details => {
  const read = aop1.readDetails(ran.log('details.json'));
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return read.details as unknown as Details;
};

const typed = (world: World, agent: string, type: string, more: object = {}): ReturnType<typeof taskOf> =>
  taskOf(world, { agent, task: { category: 'OTHER', extensions: { x_task_type: type }, ...more } });

const readBlock = (block: string): aop1.Aop1Report => (detect(block)[0] as { value: aop1.Aop1Report }).value;

const sha = (data: Buffer | string): string => createHash('sha256').update(data).digest('hex');

test('a whole report that only says too much is heard, and shortened at a sentence', async () => {
  const long = Array.from({ length: 40 }, (_, i) => `- Sentence ${i} says what was done there and why it holds.`).join(
    '\n',
  );
  const world = await shellWorld({ wordy: print(reportText('success', long)) });
  const ran = await world.run(taskOf(world, { agent: 'wordy' }));
  expect(long.length).toBeGreaterThan(2_000);
  expect(ran.task.status).toBe('done');
  const { summary, status } = readBlock(ran.last.block);
  expect(status).toBe('success');
  expect(summary).toMatch(/^- Sentence 0 .*holds\.$/s);
  expect(ran.last.block).not.toContain('made by baton');
});

test('50 MB without a report: the parent gets under 500 characters, and every byte can be read back', async () => {
  const line = 'A line of a chatty agent that goes on and on, é, and says nothing at all to anybody.\n';
  const script = `const line = ${JSON.stringify(line)}; const piece = line.repeat(600); let left = ${Math.ceil((50 * 1024 * 1024) / Buffer.byteLength(line) / 600)};
    const go = () => { while (left-- > 0) if (!process.stdout.write(piece)) return void process.stdout.once('drain', go); }; go();`;
  const world = await makeWorld({
    config: {
      defaults: { sandbox: 'off' },
      agents: { chatty: { kind: 'command', command: [process.execPath, '-e', script] } },
    },
  });
  const ran = await world.run(taskOf(world, { agent: 'chatty', task: { category: 'OTHER' } }));
  const { block } = ran.last;
  expect(block.length).toBeLessThan(500);
  expect(block).toContain('report: made by baton');
  const [found] = detect(block);
  expect(found).toMatchObject({ dialect: 'aop1', valid: true });
  const folder = logFolder(world.host.dir, ran.task.run?.id ?? '');
  const log = readFileSync(join(folder, 'out.log'));
  const times = Math.ceil((50 * 1024 * 1024) / Buffer.byteLength(line) / 600) * 600;
  expect(log.length).toBeGreaterThanOrEqual(50 * 1024 * 1024);
  expect(sha(log)).toBe(sha(line.repeat(times)));
  const path = readBlock(block).detailsFile ?? '';
  const details = JSON.parse(readFileSync(path, 'utf8')) as Details;
  expect(sha(details.results.output.join('\n'))).toBe(sha(log));
});

describe('the details file', () => {
  test('holds both streams whole, what is no UTF-8 replaced, and is there at once or not at all', async () => {
    const world = await shellWorld({
      emma: `printf 'one\\n\\377two\\n'; printf 'wrong\\n' >&2; ${REPORT}`,
    });
    const ran = await world.run(typed(world, 'emma', 'other'));
    const { results, metadata } = detailsOf(ran);
    expect(results.output.slice(0, 2)).toEqual(['one', '\ufffdtwo']);
    expect(results.output.join('\n')).toBe(new TextDecoder().decode(Buffer.from(ran.log('out.log'))));
    expect(results.errors).toEqual(['wrong', '']);
    expect(results).toMatchObject({
      report: { outcome: 'done' },
      claims: [{ what: 'outcome done' }],
      artifacts: [],
      last_statement: expect.stringContaining('[AOP:END]'),
      log: { stdout: expect.stringMatching(/out\.log$/) },
    });
    expect(metadata).toMatchObject({ status: 'done', task_type: 'other' });
    const names = readdirSync(logFolder(world.host.dir, ran.task.run?.id ?? ''));
    expect(names.sort()).toEqual(['agent', 'block.txt', 'details.json', 'err.log', 'out.log', 'response.json']);
  });

  test('of a silent run has no lines', async () => {
    const world = await shellWorld({ emma: 'true' });
    expect(detailsOf(await world.run(typed(world, 'emma', 'other'))).results).toMatchObject({ output: [], errors: [] });
  });

  test.each([
    ['JSON of any kind', 'echo \'{"results":{"n":1}}\' > $F', { results: { n: 1 } }],
    ['what is no JSON', 'echo nonsense > $F', expect.stringMatching(/agent\/details\.json$/)],
    ['what is too deep', `printf '%0200d' 0 | tr 0 '[' > $F; printf '%0200d' 0 | tr 0 ']' >> $F`, expect.any(String)],
    ['what is too large', 'printf \'"%011000000d"\' 0 > $F', expect.stringMatching(/agent\/details\.json$/)],
    ['a link', 'echo \'{"a":1}\' > other.json; ln -s "$PWD/other.json" $F', undefined],
    ['nothing', 'true', undefined],
  ])('takes up what the agent wrote itself: %s', async (_, script, expected) => {
    const world = await shellWorld({ emma: `F="$BATON_DETAILS_DIR/details.json"; ${script}\n${REPORT}` });
    const { results } = detailsOf(await world.run(typed(world, 'emma', 'other')));
    expect(results['agent_details']).toEqual(expected);
  });

  test('is made of the log and the journal where Baton died before', async () => {
    const world = await shellWorld({ emma: `echo some words; ${REPORT}` });
    const ran = await world.run(typed(world, 'emma', 'other'));
    const run = ran.task.run as Run;
    const folder = logFolder(world.host.dir, run.id);
    for (const name of ['details.json', 'response.json', 'block.txt']) unlinkSync(join(folder, name));
    mkdirSync(join(folder, 'before'));
    await leaveResults(world.host, ran.task.id, run);
    expect(detailsOf(ran).results.output[0]).toBe('some words');
    expect(detect(ran.log('block.txt'))[0]).toMatchObject({ valid: true });
    expect(existsSync(join(folder, 'before'))).toBe(false);
    const outputs = (await world.ran(ran.task.id, [ran.last])).told('run.output');
    // What was printed by then is counted, as it is of a run that saw its own end.
    expect(outputs).toHaveLength(2);
    expect(outputs[1]).toMatchObject({ produced: outputs[0]?.['produced'], delivered: ran.log('block.txt').length });
    const before = ran.log('details.json');
    await leaveResults(world.host, ran.task.id, run);
    expect(ran.log('details.json')).toBe(before);
  });
});

describe('a task of code leaves a diff', () => {
  const git = (world: World, ...args: string[]): string =>
    execFileSync('git', ['-C', world.workspace, ...args], { encoding: 'utf8' });

  test('of what this run changed, and of nothing that was there before', async () => {
    const world = await makeWorld({ config: EMMA, git: true });
    world.write('kept.txt', 'as it was\n');
    git(world, 'add', 'kept.txt');
    git(world, 'commit', '-q', '-m', 'kept');
    world.write('README.md', 'hello\nuncommitted of the user\n');
    world.write('untracked.txt', 'of the user\n');
    world.write('staged.txt', 'staged\n');
    git(world, 'add', 'staged.txt');
    const before = [git(world, 'status', '--porcelain=v2', '--branch'), sha(readFileSync(world.path('.git/index')))];
    const objects = git(world, 'count-objects', '-v');
    emma(
      world,
      'echo "by the agent" >> README.md',
      'echo new > "new file.txt"',
      'rm kept.txt',
      `printf '\\000\\001' > bin.dat`,
      print(reportText()),
    );
    const ran = await world.run(taskOf(world, { agent: 'emma' }));
    expect(ran.task.status).toBe('done');
    const diff = ran.log('changes.diff');
    expect(diff.match(/^diff --git .*$/gm)).toEqual([
      'diff --git a/README.md b/README.md',
      'diff --git a/bin.dat b/bin.dat',
      'diff --git a/kept.txt b/kept.txt',
      'diff --git a/new file.txt b/new file.txt',
    ]);
    expect(diff.match(/^[+-][^+-].*$/gm)).toEqual(['+by the agent', '-as it was', '+new']);
    expect(diff).toContain('GIT binary patch');
    expect(sha(readFileSync(world.path('.git/index')))).toBe(before[1]);
    expect(git(world, 'count-objects', '-v')).toBe(objects);
    expect(
      git(world, 'apply', '-R', '--check', join(logFolder(world.host.dir, ran.task.run?.id ?? ''), 'changes.diff')),
    ).toBe('');
    expect(readdirSync(logFolder(world.host.dir, ran.task.run?.id ?? ''))).not.toContain('before');
    expect(detailsOf(ran).results['files']).toContainEqual({
      type: 'code',
      path: expect.stringMatching(/changes\.diff$/),
    });
  });

  test('also of what it committed itself, and not of the data folder', async () => {
    const world = await makeWorld({ config: EMMA, git: true });
    world.write('.gitignore', '');
    git(world, 'commit', '-q', '-a', '-m', 'nothing is ignored');
    emma(world, 'echo a > a.txt', 'git add a.txt', 'git commit -q -m mine', print(reportText()));
    const ran = await world.run(taskOf(world, { agent: 'emma' }));
    expect(ran.log('changes.diff').match(/^diff --git .*$/gm)).toEqual(['diff --git a/a.txt b/a.txt']);
  });

  test('where there is no repository, of the expected outputs; else it says why not', async () => {
    const world = await makeWorld({ config: EMMA });
    world.write('old.txt', 'old\n');
    emma(world, 'echo newer > old.txt', 'echo made > made.txt', 'echo other > other.txt', print(reportText()));
    const outputs = [output('old.txt'), output('made.txt')];
    const ran = await world.run(taskOf(world, { agent: 'emma', task: { expected_outputs: outputs } }));
    expect(ran.log('changes.diff').match(/^[+-][^+-].*$/gm)).toEqual(['+made', '-old', '+newer']);
    const bare = await world.run(taskOf(world, { agent: 'emma' }));
    expect(bare.log('changes.diff')).toMatch(/not known: its workspace is in no git repository/);
  });

  test('a repository that git cannot look at does not fail the run', async () => {
    const world = await makeWorld({ config: EMMA, git: true });
    emma(world, 'rm -rf .git', print(reportText()));
    const ran = await world.run(taskOf(world, { agent: 'emma' }));
    expect(ran.task.status).toBe('done');
    expect(ran.log('changes.diff')).toMatch(/^What this run changed is not known: /);
  });
});

describe('a type of task has its file', () => {
  test('test output and build log have all that was printed', async () => {
    const world = await shellWorld({ emma: `echo out; echo err >&2; ${REPORT}` });
    for (const [type, name] of [
      ['test', 'test-output.txt'],
      ['build', 'build.log'],
    ] as const) {
      const ran = await world.run(typed(world, 'emma', type));
      expect(ran.log(name)).toMatch(/^==> out\.log <==\nout\n[\s\S]*==> err\.log <==\nerr\n/);
      expect(detailsOf(ran).results['files']).toContainEqual({ type, path: expect.stringContaining(name) });
    }
  });

  test('markdown for an analysis and for documentation', async () => {
    const world = await shellWorld({
      emma: `echo All that I thought.; ${REPORT}`,
      dora: `echo text > doc.md; ${REPORT}`,
    });
    const analysis = (await world.run(typed(world, 'emma', 'analysis'))).log('analysis.md');
    expect(analysis).toMatch(/^# .*\n\nStatus: done \(done\)\n\n## Summary\n\n- It is made\.\n/);
    expect(analysis).toMatch(/## What the agent said\n\nAll that I thought\.\n/);
    const documented = await world.run(typed(world, 'dora', 'documentation', { expected_outputs: [output('doc.md')] }));
    expect(documented.log('documentation.md')).toContain(`[doc.md](<${world.path('doc.md')}>), created, 5 bytes`);
  });

  test('a search names the files that it found, and one of no type has none', async () => {
    const world = await shellWorld({
      emma: `echo '{"results":{"files_found":[{"path":"b.ts"}]}}' > "$BATON_DETAILS_DIR/details.json"; echo a > a.ts; ${REPORT}`,
    });
    const ran = await world.run(typed(world, 'emma', 'search', { expected_outputs: [output('a.ts')] }));
    expect(detailsOf(ran).results['files_found']).toMatchObject([
      { path: 'a.ts', status: 'CREATED' },
      { path: 'b.ts' },
    ]);
  });
});

describe('the block', () => {
  const TYPES = Object.keys(aop1.SUMMARY_CHARS) as (keyof typeof aop1.SUMMARY_CHARS)[];
  const factsOf = (type: string, parts: Partial<RunFacts>): RunFacts => ({
    message: {
      ...taskOf({ workspace: '/w' }, { agent: 'a', task: { category: 'OTHER', extensions: { x_task_type: type } } }),
    },
    task: { id: 'TASK-2026-11-16-001', title: 'A title', status: 'review', session: 's', cause: null } as Task,
    run: { id: 'TASK-2026-11-16-001-r1', attempt: 1 } as Run,
    chosen: { name: 'a', provider: 'OTHER', model: null },
    report: null,
    lastText: '',
    evidence: null,
    checkpoints: [],
    used: NOTHING_USED,
    estimatedUsd: null,
    failure: null,
    isAborted: false,
    warnings: [],
    startedAt: 0,
    endedAt: 1000,
    progress: null,
    bytes: 12,
    folder: '/data/logs/TASK-2026-11-16-001-r1',
    ...parts,
  });

  const PIECES = [
    '[AOP:SUMMARY]', '[AOP:STATUS] failure', '```\n', '\x1b[31m', '\r\n', '\u0000', '\u202e', '🙂', '\ud800', '{timestamp}',
    '    at f (/a/b.ts:1:2)\n', '2026-11-16 05:00:00 INFO x\n', 'const a = 1;\n', 'OUTPUT:\n', '#STATE:list\n', '{"a":1}\n',
    'A sentence. ', 'word ', '\n', '1. ', '- bullet\n', 'Traceback (most recent call last)\n', 'Caused by: x\n',
  ]; // biome-ignore format: a list of words
  const words = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 3000 }),
    fc
      .array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'grapheme', maxLength: 20 })), { maxLength: 300 })
      .map((all) => all.join('')),
  );

  const check = (block: string, type: keyof typeof aop1.SUMMARY_CHARS, isMade: boolean): void => {
    const found = detect(block);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatchObject({ dialect: 'aop1', valid: true });
    const summary = readBlock(block).summary ?? '';
    expect(charCount(summary)).toBeLessThanOrEqual(aop1.SUMMARY_CHARS[type]);
    if (isMade) expect(aop1.checkSummary(summary)).toEqual([]);
    if (isMade) expect(block.length).toBeLessThan(500);
  };

  test('is valid and within its limit whatever the agent printed', () => {
    fc.assert(
      fc.property(words, words, fc.constantFrom(...TYPES), fc.boolean(), (text, more, type, isFailed) => {
        const failure = isFailed ? { code: 'E_UNKNOWN', message: more } : null;
        check(blockOf(factsOf(type, { lastText: text, failure })), type, true);
        const metrics = { [more.slice(0, 50) || 'x']: text, a: '1' };
        check(
          blockOf(factsOf(type, { report: { ...emptyReport('done', text), task: more, metrics }, lastText: more })),
          type,
          false,
        );
      }),
      { numRuns: 300 },
    );
    for (const piece of ['x', 'Word. ', '\n', '    at f (/a/b.ts:1:2)\n', '🙂']) {
      const text = piece.repeat(1024 * 1024);
      check(blockOf(factsOf('other', { lastText: text })), 'other', true);
      check(blockOf(factsOf('build', { report: emptyReport('done', text) })), 'build', false);
    }
  });

  test('is the agent’s own where that complies, by characters and not by units', () => {
    const summary = '🙂'.repeat(300);
    expect(blockOf(factsOf('code', { report: emptyReport('done', summary) }))).toContain(`\n${summary}\n`);
  });

  test('is cut at a sentence or a bullet, and marked only inside a sentence', () => {
    const long = (text: string): string =>
      readBlock(blockOf(factsOf('build', { report: emptyReport('done', text) }))).summary ?? '';
    expect(long('A sentence of words. '.repeat(30))).toBe('A sentence of words. '.repeat(9).trim());
    expect(long('- a bullet of words\n'.repeat(30))).toBe('- a bullet of words\n'.repeat(5).trim());
    expect(long(`${'- a bullet of words and words and words and words\n'.repeat(4)}`)).toMatch(/words$/);
    expect(long('word '.repeat(100))).toMatch(/word…$/);
  });

  test('made by Baton tells how it ended, what it left and its last words', () => {
    const artifact = { path: 'a.ts', type: null, hash: null, status: 'CREATED', sizeBytes: 1 } as const;
    const text = `${'Much before. '.repeat(100)}The last thing that I did.\n    at f (/a/b.ts:1:2)\n`;
    const block = blockOf(
      factsOf('other', { lastText: text, bytes: 77, evidence: { claims: [], findings: [], artifacts: [artifact] } }),
    );
    expect(block).toContain('The agent ended without a report');
    expect(block).toContain('Printed 77 bytes, 1 created');
    expect(block).toContain('Files: a.ts');
    expect(block).toMatch(/- Last words: .*The last thing that I did\.$/m);
    expect(block).not.toContain('b.ts:1:2');
  });
});

describe('joined results', () => {
  const result = (i: number, words: string | null, status: JoinedResult['status'] = 'done'): JoinedResult => ({
    id: `TASK-2026-11-16-${String(i).padStart(3, '0')}`,
    status,
    words,
    reference: `logs/TASK-2026-11-16-${String(i).padStart(3, '0')}-r1/details.json`,
  });

  test('share the room fairly, each with its reference', () => {
    const text = joined([result(1, 'Short.'), result(2, 'x'.repeat(5000)), result(3, 'y '.repeat(5000))]);
    const lines = text.split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[0]).toBe('- TASK-2026-11-16-001 done: Short. [logs/TASK-2026-11-16-001-r1/details.json]');
    expect(Math.abs((lines[1]?.length ?? 0) - (lines[2]?.length ?? 0))).toBeLessThan(5);
    expect(text.length).toBeGreaterThan(1950);
    expect(text.length).toBeLessThanOrEqual(2000);
  });

  test('that are too many: what needs somebody first, and how many more there are', () => {
    const all = Array.from({ length: 200 }, (_, i) => result(i + 1, 'Some words about it.'));
    const text = joined([...all, result(500, 'It broke.', 'deadletter')], 2000, 'baton report s');
    expect(text.length).toBeLessThanOrEqual(2000);
    expect(text).toMatch(/^- TASK-2026-11-16-500 deadletter: It broke\./);
    const shown = text.split('\n').length - 1;
    expect(text).toMatch(new RegExp(`\\n- and ${201 - shown} more: baton report s$`));
    expect(shown).toBeGreaterThan(15);
  });

  test('stay within any bound, whatever they say', () => {
    const one = fc.record({
      id: fc.string({ maxLength: 60 }),
      status: fc.constantFrom('done', 'review', 'deadletter', 'blocked', 'ready', 'cancelled') as fc.Arbitrary<
        JoinedResult['status']
      >,
      words: fc.option(fc.string({ unit: 'binary', maxLength: 3000 })),
      reference: fc.option(fc.string({ maxLength: 100 })),
    });
    fc.assert(
      fc.property(fc.array(one, { maxLength: 100 }), fc.integer({ min: 40, max: 3000 }), (all, most) => {
        const text = joined(all, most);
        expect(text.length).toBeLessThanOrEqual(most);
        if (all.length > 0) expect(text).not.toBe('');
      }),
      { numRuns: 200 },
    );
  });

  test.each(hasSandbox ? (['off', 'require'] as const) : (['off'] as const))(
    'reach a task that builds upon others: in its prompt, and their details can be read (sandbox: %s)',
    async (sandbox) => {
      const world = await shellWorld(
        {
          // So much that writing it up takes longer than to begin the next.
          first: `cat > /dev/null; head -c 20000000 /dev/zero | tr '\\0' x; echo; ${print(reportText('success', '- The answer is 42.'))}`,
          second: `cat > prompt.txt; cat "${'$'}(sed -n 's/.*in files below \\(.*\\)):${'$'}/\\1/p' prompt.txt)/${'$'}(sed -n 's/.*\\[\\(logs.*json\\)\\]${'$'}/\\1/p' prompt.txt)" > seen.json; ${REPORT}`,
        },
        sandbox,
      );
      const one = taskOf(world, { agent: 'first', task: { category: 'OTHER', task_id: 'ONE' } });
      const two = taskOf(world, {
        agent: 'second',
        task: { category: 'OTHER', task_id: 'TWO', extensions: { x_depends_on: ['ONE'] } },
      });
      const [first, second] = await world.runAll([one, two]);
      expect(second?.task.status).toBe('done');
      const prompt = world.read('prompt.txt') ?? '';
      const section = /Results it builds upon[\s\S]*?(?=\n\n|$)/.exec(prompt)?.[0] ?? '';
      expect(section.length).toBeLessThanOrEqual(2000);
      expect(section).toContain(`${first?.task.id} done: - The answer is 42.`);
      const file = /\[(logs\/.*details\.json)\]/.exec(section)?.[1] ?? '';
      expect(world.read('seen.json')).toBe(readFileSync(join(world.host.dir, file), 'utf8'));
      expect(world.read('seen.json')).toContain('The answer is 42.');
    },
  );
});
