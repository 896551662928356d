/** The guide's story, played: a folder of its own, the real programs with a scripted model, one shell, and every step of the page in order. */
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MAIN } from '../cli/baton.ts';
import { startMockModel } from '../real/mock-model.mjs';
import { SCRIPTS } from './model.ts';
import { differs, type Step } from './read-guide.ts';
import { openShell } from './shell.ts';

const REAL = join(import.meta.dirname, '../real/node_modules/.bin');

export interface Played {
  readonly step: Step;
  readonly lines: readonly string[];
  readonly ms: number;
  /** What is not as the page says; null where all of it is. */
  readonly wrong: string | null;
}

export interface Asked {
  readonly api: 'claude' | 'codex';
  readonly body: string;
  /** What Baton's tools had answered the agent by then. */
  readonly answers: readonly string[];
}

export interface Story {
  readonly project: string;
  play(step: Step): Promise<Played>;
  /** What the models were asked, in order. */
  asked(): readonly Asked[];
  close(): Promise<void>;
}

export async function openStory(): Promise<Story> {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-guide-')));
  // codex refuses a HOME below TMPDIR, so they lie side by side.
  const at = (name: string): string => {
    mkdirSync(join(root, name), { recursive: true });
    return join(root, name);
  };
  const [project, home, tmp, bin, asked] = [at('cart'), at('home'), at('tmp'), at('bin'), at('asked')];
  const model = await startMockModel({ scripts: SCRIPTS, bodies: asked });
  writeFileSync(join(bin, 'baton'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  chmodSync(join(bin, 'baton'), 0o755);
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = Ann\n\temail = ann@example.org\n');
  // A person's own settings say where the model is; the guide's project says nothing of it.
  mkdirSync(join(home, '.codex'));
  writeFileSync(
    join(home, '.codex/config.toml'),
    `model_provider = "scripted"\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model.url}/v1"\nenv_key = "OPENAI_API_KEY"\nwire_api = "responses"\n`,
  );
  const shell = openShell(project, {
    PATH: `${bin}:${REAL}:${process.env['PATH']}`,
    HOME: home,
    TMPDIR: tmp,
    LANG: 'C.UTF-8',
    ANTHROPIC_BASE_URL: model.url,
    ANTHROPIC_API_KEY: 'x',
    OPENAI_API_KEY: 'x',
    // codex itself reads it in its settings; Baton reads it here, and lets the run reach it.
    OPENAI_BASE_URL: `${model.url}/v1`,
    DISABLE_AUTOUPDATER: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    NO_UPDATE_NOTIFIER: '1',
  });
  return {
    project,
    async play(step) {
      const began = performance.now();
      if (step.kind === 'file') {
        const path = join(project, step.path);
        mkdirSync(dirname(path), { recursive: true });
        writeFileSync(path, step.text);
        return { step, lines: [], ms: 0, wrong: null };
      }
      const { exit, lines } = await shell.run(dated(step.command));
      const wrong =
        exit === step.exit ? differs(step.shown, lines) : `it exited with ${exit}, and ${step.exit} was expected`;
      return { step, lines, ms: Math.round(performance.now() - began), wrong };
    },
    asked: () =>
      readdirSync(asked)
        .sort()
        .map((file) => askedIn(readFileSync(join(asked, file), 'utf8'))),
    async close() {
      await shell.close();
      await model.close();
      rmSync(root, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}

/** The page's tasks are of the day that it shows; these are of today. */
const dated = (command: string): string =>
  command.replace(/\bTASK-\d{4}-\d\d-\d\d-/g, `TASK-${new Date().toISOString().slice(0, 10)}-`);

type Block = Readonly<Record<string, unknown>>;

function askedIn(body: string): Asked {
  const { messages } = JSON.parse(body) as { messages?: readonly { readonly content: string | readonly Block[] }[] };
  if (messages === undefined) return { api: 'codex', body, answers: [] };
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const ours = new Set(
    blocks.filter(({ name }) => typeof name === 'string' && name.startsWith('mcp__baton__')).map(({ id }) => id),
  );
  const answers = blocks.filter(({ tool_use_id: id }) => id !== undefined && ours.has(id)).map(answerIn);
  return { api: 'claude', body, answers };
}

/** What the program itself adds to an answer is not Baton's. */
const answerIn = ({ content }: Block): string =>
  (typeof content === 'string' ? content : (content as readonly Block[]).map(({ text }) => text).join(''))
    .replace(/<system-reminder>[\s\S]*?<\/system-reminder>/g, '')
    .trim();
