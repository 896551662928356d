/**
 * Which of the files that a run changed are part of a check itself: a script that the command runs, a test, the settings of a test runner. A check
 * that the run has changed is the agent's own, and proves nothing.
 *
 * The rule: a file that was there before the run and was changed or removed by it counts where the command names it as a program or a script,
 * where it configures a tool that the command starts, or where it is a test and the command may run tests. A new file counts only where it
 * configures such a tool: new tests add to a check, and a command that names a file which was not there was ordered in that knowledge. The
 * expected outputs of the task are its work, and never count.
 */
import { basename, join, normalize } from 'node:path';
import { isFields, parseJson } from '../../core/fields.ts';
import type { FileChange } from '../../workspace/file-changes.ts';
import { openInside } from '../inside.ts';

interface Tool {
  readonly names: RegExp;
  /** The file names of its settings. */
  readonly settings: RegExp;
  /** It reads files and runs none of them: a changed test is what it looks at. */
  readonly onlyReads?: true;
}

const NODE = '^(?:package\\.json|\\.npmrc|\\.yarnrc\\.yml|pnpm-workspace\\.yaml|bunfig\\.toml)$';
const JS_TESTS =
  '^(?:vitest|vite|jest|playwright|cypress|karma|babel)\\.(?:config|workspace|setup)\\.|^\\.mocharc\\.|^ava\\.config\\.';
const PYTHON = '^(?:conftest\\.py|pytest\\.ini|pyproject\\.toml|setup\\.cfg|setup\\.py|tox\\.ini|noxfile\\.py)$';
const LINTERS =
  '^(?:tsconfig.*\\.json|biome\\.jsonc?|\\.eslintrc.*|\\.eslintignore|eslint\\.config\\..*|\\.prettierrc.*|ruff\\.toml|\\.ruff\\.toml|mypy\\.ini|\\.flake8|\\.golangci\\..*|clippy\\.toml|rustfmt\\.toml)$';

const TOOLS: readonly Tool[] = [
  { names: /^(?:npm|npx|yarn|pnpm|pnpx|bun|bunx|corepack)$/, settings: new RegExp(`${NODE}|${JS_TESTS}|${LINTERS}`) },
  {
    names: /^(?:vitest|jest|mocha|ava|tap|playwright|cypress|karma|tsx|ts-node|node|deno)$/,
    settings: new RegExp(JS_TESTS),
  },
  { names: /^(?:tsc|eslint|biome|prettier)$/, settings: new RegExp(LINTERS), onlyReads: true },
  { names: /^(?:ruff|mypy|flake8|pyright|black)$/, settings: new RegExp(`${LINTERS}|${PYTHON}`), onlyReads: true },
  { names: /^(?:pytest|py\.test|tox|nox|python[\d.]*|uv|poetry|hatch|coverage)$/, settings: new RegExp(PYTHON) },
  { names: /^(?:make|gmake)$/, settings: /^(?:GNUmakefile|[Mm]akefile)$|\.mk$/ },
  { names: /^(?:just|task|rake|mage)$/, settings: /^(?:\.?justfile|Justfile|Taskfile\.ya?ml|Rakefile|magefile\.go)$/ },
  { names: /^(?:go)$/, settings: /^(?:go\.mod|go\.work)$/ },
  { names: /^(?:cargo)$/, settings: /^(?:Cargo\.toml|build\.rs|nextest\.toml)$/ },
  {
    names: /^(?:mvn|mvnw|gradle|gradlew)$/,
    settings: /^(?:pom\.xml|(?:build|settings)\.gradle(?:\.kts)?|gradle\.properties)$/,
  },
  {
    names: /^(?:rspec|phpunit|bats|ctest|cmake|bazel|dotnet|composer)$/,
    settings: /^(?:\.rspec|phpunit\.xml.*|CMakeLists\.txt|BUILD(?:\.bazel)?|WORKSPACE|composer\.json)$|\.csproj$/,
  },
];

/** Manifests that the command needs: where one was not there before, the order was given in that knowledge. */
const MANIFESTS =
  /^(?:package\.json|GNUmakefile|[Mm]akefile|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml|build\.gradle(?:\.kts)?|CMakeLists\.txt|composer\.json|Rakefile|\.?justfile|Justfile|Taskfile\.ya?ml)$/;

/** Programs that only look at files: what they are given is not run. */
const READERS =
  /^(?:test|\[|\[\[|grep|egrep|fgrep|rg|cat|ls|diff|cmp|head|tail|wc|jq|yq|sha\d*sum|md5sum|stat|find|file|true|false|echo|printf|exit|cd|pwd|sort|uniq|cut|tr|sleep|git|!|:|shellcheck|gofmt|rustfmt)$/;

/** Words before a program that start it with other surroundings. */
const WRAPPERS = /^(?:env|exec|time|nice|nohup|command|sudo|xvfb-run|then|else|do|if|while|until|\{|\()$/;

const TEST_FILE =
  /(?:^|\/)(?:tests?|__tests__|specs?|e2e|testdata|__snapshots__)\/|(?:[._-](?:test|tests|spec)|_test)\.[^/]+$|(?:^|\/)(?:test_[^/]*\.py|tests?\.[^/]+|conftest\.py)$|\.snap$/;

interface Step {
  /** The folder that it runs in, from the workspace. */
  readonly folder: string;
  readonly program: string;
  readonly words: readonly string[];
}

/** The simple commands of a line of shell, as far as they can be read without a shell. */
function stepsOf(command: string, folder: string): Step[] {
  const steps: Step[] = [];
  let here = folder;
  for (const piece of command.split(/&&|\|\||[;|&\n()]/)) {
    const words = [...piece.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, a, b, c]) => a ?? b ?? c ?? '');
    while (words[0] !== undefined && (WRAPPERS.test(words[0]) || /^[A-Za-z_]\w*=/.test(words[0]))) words.shift();
    const [program, ...rest] = words;
    if (program === undefined) continue;
    if (program === 'cd') here = join(here, rest[0] ?? '');
    else steps.push({ folder: here, program, words: rest });
  }
  return steps;
}

type ReadText = (path: string) => Promise<string | null>;

/** What an npm script starts is part of the check too. */
async function withScripts(steps: readonly Step[], read: ReadText, depth = 0): Promise<Step[]> {
  const all: Step[] = [];
  for (const step of steps) {
    all.push(step);
    if (depth > 3 || !/^(?:npm|yarn|pnpm|bun)$/.test(step.program)) continue;
    const words = step.words.filter((word) => !word.startsWith('-'));
    const named = words[0] === 'run' || words[0] === 'run-script' ? words[1] : words[0] === 't' ? 'test' : words[0];
    const manifest = parseJson((await read(join(step.folder, 'package.json'))) ?? '');
    const scripts = isFields(manifest) && isFields(manifest['scripts']) ? manifest['scripts'] : {};
    for (const name of named === undefined ? [] : [`pre${named}`, named, `post${named}`]) {
      const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
      if (typeof script === 'string') all.push(...(await withScripts(stepsOf(script, step.folder), read, depth + 1)));
    }
  }
  return all;
}

/** The test of one changed file against one step of a check. */
function isPartOf({ path, status }: FileChange, { folder, program, words }: Step): boolean {
  const name = basename(program);
  const isNew = status === 'CREATED';
  // A file that is run by its own path.
  if (!isNew && program.includes('/') && normalize(join(folder, program)) === path) return true;
  if (READERS.test(name) && !program.includes('/')) return false;
  // `npx vitest`, `python -m pytest`, `uv run pytest`: the tool is one of the words.
  const tools = TOOLS.filter(({ names }) => names.test(name) || words.some((word) => names.test(word)));
  const file = basename(path);
  if (tools.some(({ settings }) => settings.test(file)) && !(isNew && MANIFESTS.test(file))) return true;
  if (isNew) return false;
  if (words.some((word) => isNamed(path, normalize(join(folder, word)))))
    return !tools.some(({ onlyReads }) => onlyReads);
  const onlyReads = tools.length > 0 && tools.every((tool) => tool.onlyReads === true || /^npx?$/.test(name));
  return TEST_FILE.test(path) && !(onlyReads && tools.some((tool) => tool.onlyReads === true));
}

/** The file itself, or a folder of tests that it lies in. */
const isNamed = (path: string, named: string): boolean =>
  path === named || (named !== '.' && path.startsWith(`${named.replace(/\/$/, '')}/`) && TEST_FILE.test(path));

/** The changed files that are part of a check, in the order of their paths. */
export async function changedCheckFiles(
  command: string,
  changes: readonly FileChange[],
  workspace: string,
  outputs: readonly string[],
): Promise<string[]> {
  const relevant = changes.filter(({ path }) => !outputs.includes(path));
  if (relevant.length === 0) return [];
  const read: ReadText = (path) => manifestAt(workspace, path);
  const steps = await withScripts(stepsOf(command, ''), read);
  return relevant.filter((change) => steps.some((step) => isPartOf(change, step))).map(({ path }) => path);
}

const MOST_BYTES = 1024 * 1024;

/** The text of a manifest; null where it is none that Baton reads. */
async function manifestAt(workspace: string, path: string): Promise<string | null> {
  const file = await openInside(workspace, join(workspace, path));
  if (file === null) return null;
  try {
    return (await file.stat()).size > MOST_BYTES ? null : await file.readFile('utf8');
  } finally {
    await file.close();
  }
}
