/**
 * Random grants, each tried by a program in a real sandbox: what it could read and write is what the access says, and the prompt and the run's
 * record say the same.
 */
import { chmodSync, mkdtempSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { accessLines, rightTo } from '../../src/core/access.ts';
import { type Access, isWithin } from '../../src/core/policy.ts';
import { sandboxTest } from '../helpers/sandbox.ts';
import { makeWorld, type Ran, reportText, type TaskParts, taskOf, type World } from './world.ts';

const FILES = ['top.txt', 'a/f.txt', 'a/in/g.txt', 'a/in/deep/k.txt', 'b/h.txt', 'scripts/lib.sh', '../lib/l.txt'];
const FOLDERS = ['.', 'a', 'a/in', 'a/in/deep', 'b', 'scripts', '../lib'];
const PATHS = ['.', '..', 'a', 'a/f.txt', 'a/in', 'a/in/deep', 'b', 'top.txt', '../lib'];
const INPUTS = ['a/in', 'a/f.txt', 'a', 'b', 'top.txt', '.'];
const RUN = `in=$(cat); printf '%s\\n' "$in" | grep '^- You may'; eval "$(printf '%s\\n' "$in" | sed -n '/^#BEGIN/,/^#END/p')"`;

const paths = fc.option(fc.uniqueArray(fc.constantFrom(...PATHS), { maxLength: 3 }), { nil: undefined });
const grants = fc.record({
  read: paths,
  write: paths,
  inputs: fc.uniqueArray(fc.constantFrom(...INPUTS), { maxLength: 2 }),
  hasFiles: fc.constantFrom(true, true, true, true, false),
  readOnlyMode: fc.constantFrom(false, false, false, true),
  /** The agent is a script of the workspace. */
  isScript: fc.boolean(),
});
type Grants = typeof grants extends fc.Arbitrary<infer T> ? T : never;

/** What the TASK grants, in the words of DECISIONS: written here once more, and simpler, to hold the runtime to it. */
function granted(world: World, { read, write, inputs, hasFiles, readOnlyMode }: Grants): Access {
  const network = 'RESTRICTED';
  if (!hasFiles) return { readPaths: [], writePaths: [], network };
  const full = (list: readonly string[]): string[] => list.map((path) => join(world.workspace, path));
  const inWorkspace = (list: readonly string[]): string[] =>
    full(list).flatMap((path) =>
      isWithin(path, [world.workspace]) ? [path] : isWithin(world.workspace, [path]) ? [world.workspace] : [],
    );
  const readPaths = full(read ?? ['.']);
  const writePaths = readOnlyMode ? [] : write !== undefined ? full(write) : inWorkspace(read ?? ['.']);
  return { readPaths, writePaths, readOnlyPaths: full(inputs), network };
}

const tried = (world: World, ran: Ran): Map<string, string> =>
  new Map(
    [...ran.log('out.log').matchAll(/^TRIED (\S+) (\S+)$/gm)].map(([, path = '', right = '']) => [
      join(world.workspace, path),
      right,
    ]),
  );

const PROBES = [
  ...FILES.map(
    (path) => `r=none; grep -q CONTENT ${path} && r=read; (: >> ${path}) && r=write; echo "TRIED ${path} $r"`,
  ),
  ...FOLDERS.map((path) => `r=no; touch ${path}/probe && rm ${path}/probe && r=write; echo "TRIED ${path} $r"`),
].join('\n');

sandboxTest(
  'the sandbox, the prompt and the record hold to one access, whatever is granted',
  async () => {
    const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-grants-')));
    const world = await makeWorld({
      root,
      config: {
        defaults: { sandbox: 'require' },
        agents: {
          shell: { kind: 'command', command: ['sh', '-c', RUN] },
          script: { kind: 'command', command: [join(root, 'ws/scripts/agent.sh')] },
        },
      },
    });
    for (const path of FILES) world.write(path, 'CONTENT\n');
    chmodSync(world.write('scripts/agent.sh', `#!/bin/sh\n${RUN}\n`), 0o755);
    const objective = `Try.\n#BEGIN\n(${PROBES}) 2>/dev/null\ncat <<'END'\n${reportText()}\nEND\n#END`;

    const holds = async (given: Grants): Promise<void> => {
      const access = granted(world, given);
      const { read, write, inputs, hasFiles, readOnlyMode, isScript } = given;
      const filesystem = { ...(read && { read_paths: read }), ...(write && { write_paths: write }) };
      const task: TaskParts['task'] = {
        access: { filesystem },
        constraints: { read_only_mode: readOnlyMode },
        inputs: inputs.map((path) => ({ path })),
      };
      const target = { capabilities: { file_system_access: hasFiles } };
      const ran = await world.run(taskOf(world, { agent: isScript ? 'script' : 'shell', objective, task, target }));
      const say = JSON.stringify({ given, cause: ran.task.cause, out: ran.log('out.log') }, null, 1);
      const seen = tried(world, ran);
      expect([...seen.keys()], say).toHaveLength(new Set([...FILES, ...FOLDERS]).size);
      const record = ran.told('run.enforced')[0] as {
        missing: string[];
        by: string[];
        paths: Record<string, string[]>;
      };
      const recorded: Access = {
        readPaths: record.paths['read'] ?? [],
        writePaths: record.paths['write'] ?? [],
        readOnlyPaths: record.paths['read_only'] ?? [],
        network: 'RESTRICTED',
      };
      for (const [path, right] of seen) {
        const may = rightTo(access, path);
        expect(`${path} ${right}`, say).toBe(
          `${path} ${FOLDERS.some((each) => join(world.workspace, each) === path) && may !== 'write' ? 'no' : may}`,
        );
        expect(`${path} ${rightTo(recorded, path)}`, say).toBe(`${path} ${may}`);
      }
      expect(record.missing, say).toEqual([]);
      const lines = accessLines(recorded).filter((line) => line.startsWith('- You may'));
      expect(ran.log('out.log').match(/^- You may.*$/gm), say).toEqual(lines);
      expect(
        record.by.some((line) => line.includes('scripts/agent.sh')),
        say,
      ).toBe(isScript);
    };

    const readable = (given: Grants): boolean => {
      const access = granted(world, { ...given, inputs: [] });
      return given.inputs.every((path) => rightTo(access, join(world.workspace, path)) !== 'none');
    };
    await fc.assert(fc.asyncProperty(grants.filter(readable), holds), {
      numRuns: 20,
      examples: [
        [{ read: [], write: undefined, inputs: [], hasFiles: true, readOnlyMode: false, isScript: true }],
        [{ read: undefined, write: undefined, inputs: [], hasFiles: false, readOnlyMode: false, isScript: true }],
        [{ read: ['a'], write: ['.'], inputs: [], hasFiles: true, readOnlyMode: false, isScript: false }],
        [{ read: ['.'], write: ['..'], inputs: ['a'], hasFiles: true, readOnlyMode: false, isScript: true }],
        [
          {
            read: ['.'],
            write: ['.', 'a/in/deep'],
            inputs: ['a/in', 'b'],
            hasFiles: true,
            readOnlyMode: false,
            isScript: false,
          },
        ],
      ],
    });
  },
  60_000,
);
