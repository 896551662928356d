/** The kit, on `command` always and on the real programs where they are: with a scripted model, and nothing else of the network. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startMockModel } from '../real/mock-model.mjs';
import { bodiesFolder, found, newWorld, runTurn, SCENARIOS, SCRIPTS, type Subject } from './kit.ts';

const codexProvider = (url: string): string =>
  `model_providers.mock={name="mock",base_url="${url}/v1",env_key="MOCK_API_KEY",wire_api="responses",` +
  'request_max_retries=1,stream_max_retries=1,stream_idle_timeout_ms=8000}';

const opencodeConfig = (url: string): string =>
  JSON.stringify({
    model: 'mock/mock-model',
    small_model: 'mock/mock-model',
    provider: {
      mock: {
        npm: '@ai-sdk/openai-compatible',
        name: 'mock',
        options: { baseURL: `${url}/v1`, apiKey: 'x' },
        models: {
          'mock-model': { name: 'mock', limit: { context: 200_000, output: 8000 }, cost: { input: 1, output: 2 } },
        },
      },
    },
  });

const SUBJECTS: readonly Subject[] = [
  {
    kind: 'command',
    program: process.execPath,
    model: null,
    agent: () => ({ args: [join(import.meta.dirname, 'kit-agent.mjs')] }),
    environment: () => ({}),
    unfit: {
      'refused permission: nothing is written outside of the workspace':
        'it has no permissions of its own: the sandbox has',
      'read-only: nothing is written, by a tool or by a command': 'it has no permissions of its own: the sandbox has',
      'cut answer': 'it has no model that we know of',
      'resume: the conversation goes on, and each turn counts its own': 'it has no conversations',
    },
  },
  {
    kind: 'claude',
    program: found('claude'),
    model: 'claude-sonnet-4-5',
    agent: () => ({}),
    environment: (url) => ({ ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: 'x' }),
    unfit: {},
  },
  {
    kind: 'codex',
    program: found('codex'),
    model: 'gpt-5.5',
    agent: (url) => ({ args: ['-c', 'model_provider="mock"', '-c', codexProvider(url)] }),
    environment: () => ({ MOCK_API_KEY: 'x' }),
    unfit: {},
  },
  {
    kind: 'gemini',
    program: found('gemini'),
    model: 'gemini-2.5-pro',
    agent: () => ({}),
    environment: (url) => ({ GOOGLE_GEMINI_BASE_URL: url, GEMINI_API_KEY: 'x' }),
    prepare: (home) => {
      mkdirSync(join(home, '.gemini'), { recursive: true });
      const settings = { security: { auth: { selectedType: 'gemini-api-key' } }, general: { maxAttempts: 2 } };
      writeFileSync(join(home, '.gemini/settings.json'), JSON.stringify(settings));
    },
    unfit: {
      'cut answer': 'its stream does not tell a cut answer from a whole one',
      'flood: what it prints is drained, and no sign of it is large':
        "it prints all of a tool's output in one line and ends before that is written, without its last event",
    },
  },
  {
    kind: 'opencode',
    program: found('opencode'),
    model: 'mock/mock-model',
    agent: (url) => ({ env: { OPENCODE_CONFIG_CONTENT: opencodeConfig(url), OPENCODE_DISABLE_DEFAULT_PLUGINS: '1' } }),
    environment: () => ({}),
    unfit: {
      'HTTP 429': 'it tries again for more than a minute, and nothing turns that down',
      'HTTP 500': 'it tries again for more than a minute, and nothing turns that down',
    },
  },
];

/** What has to be there where real programs are required. */
const REQUIRED = ['claude', 'codex'];

for (const subject of SUBJECTS) {
  const isMissing = subject.program === null;
  if (isMissing && REQUIRED.includes(subject.kind)) {
    console.warn(
      `\n!!! ${subject.kind} is NOT TESTED: npm ci in test/real installs it (BATON_REAL=require makes this fail)\n`,
    );
    test.runIf(process.env['BATON_REAL'] === 'require')(`${subject.kind} is installed`, () => {
      expect(subject.program).not.toBeNull();
    });
  }
  describe.skipIf(isMissing)(subject.kind, () => {
    for (const scenario of SCENARIOS) {
      const why = subject.unfit[scenario.name];
      test.skipIf(why !== undefined)(why === undefined ? scenario.name : `${scenario.name} (${why})`, async () => {
        const world = newWorld();
        const model = await startMockModel({ scripts: SCRIPTS, bodies: bodiesFolder(world) });
        try {
          await scenario.play({ subject, world, model, run: (turn) => runTurn(subject, world, model, turn) });
        } finally {
          await model.close();
          world.remove();
        }
      });
    }
  });
}
