/** config.yaml: everything has a default, and an unknown key is an error that names the nearest known one. */
import { describe, expect, test } from 'vitest';
import { CONFIG_TEMPLATE } from '../../src/cli/config-template.ts';
import { configOf, DEFAULT_CONFIG } from '../../src/core/config.ts';
import { BatonError } from '../../src/core/errors.ts';
import { readYaml } from '../../src/protocol/text/yaml.ts';

/** An example of every section. */
const EXAMPLE = `
agents:
  emma:  { kind: codex, model: gpt-5.3-codex, roles: [EXECUTOR], max_parallel: 2 }
  lint:  { kind: command, command: ["npm", "run", "lint"] }
  zed:   { kind: acp, command: ["claude-agent-acp"] }
  claw:  { kind: openclaw, url: "http://127.0.0.1:18789", token_env: OPENCLAW_GATEWAY_TOKEN }
defaults: { agent: emma, parallel: 4, sandbox: auto }
limits: { max_cost_usd: 20, session_tokens: 100000 }
store: fs
network: { allow: [] }
teams: { backend: [emma, lint] }
models: { LOW: { CODEX: gpt-5.3-mini } }
delegation: { max_depth: 3 }
confidence: { escalate_below: 0.90, refuse_below: 0.85, domains: { research: { refuse_below: 0.80 } } }
stages: { implementation-triad: { role: EXECUTOR }, test-engineer: { agent: lint } }
prices: { gpt-5.3-codex: { input: 1.25, output: 10 } }
notify: [ { on: [task.blocked, task.deadletter], to: { webhook: "http://127.0.0.1:9/x" } } ]
audit: { storage_path: audit }
`;

function parsed(text: string): unknown {
  const yaml = readYaml(text);
  if (!yaml.ok) throw new Error(yaml.reason);
  return yaml.value;
}

function failure(value: unknown): BatonError {
  try {
    configOf(value);
  } catch (cause) {
    if (cause instanceof BatonError) return cause;
    throw cause;
  }
  throw new Error('expected a failure');
}

test('the example is read, with what it says and the defaults for the rest', () => {
  const config = configOf(parsed(EXAMPLE));
  expect(config).toMatchObject(parsed(EXAMPLE) as object);
  expect(config.agents['lint']).toEqual({
    kind: 'command',
    command: ['npm', 'run', 'lint'],
    args: [],
    env: [],
    roles: [],
    tags: [],
  });
});

test('nothing, an empty file and empty sections mean the defaults', () => {
  expect(configOf(undefined)).toEqual(DEFAULT_CONFIG);
  expect(configOf(null)).toEqual(DEFAULT_CONFIG);
  expect(configOf({ defaults: {}, confidence: {} })).toEqual(DEFAULT_CONFIG);
  expect(DEFAULT_CONFIG).toMatchObject({
    agents: {},
    defaults: { agent: null, parallel: 4, sandbox: 'auto' },
    delegation: { max_depth: 3 },
    confidence: { escalate_below: 0.9, refuse_below: 0.85, domains: {} },
  });
});

test('env is a list of names, or names with values', () => {
  const agents = (env: unknown) => ({ agents: { a: { kind: 'claude', env } } });
  expect(configOf(agents(['HOME'])).agents['a']?.env).toEqual(['HOME']);
  expect(configOf(agents({ A: 'b' })).agents['a']?.env).toEqual({ A: 'b' });
  expect(failure(agents(3)).message).toBe('config.yaml, agents.a.env: expected a list, or keys and values, got 3');
});

describe('what is wrong is named, with its place', () => {
  test.each([
    [{ agent: {} }, 'config.yaml: unknown key "agent"; the nearest known one is agents'],
    [
      { delegation: { max_dept: 2 } },
      'config.yaml, delegation: unknown key "max_dept"; the nearest known one is max_depth',
    ],
    [
      { agents: { emma: { kind: 'codex', role: 'X' } } },
      'config.yaml, agents.emma: unknown key "role"; the nearest known one is roles',
    ],
    [
      { confidence: { domains: { x: { refuse: 1 } } } },
      'config.yaml, confidence.domains.x: unknown key "refuse"; the nearest known one is refuse_below',
    ],
    [
      { notify: [{ on: ['x'], to: { url: 'http://x' } }] },
      'config.yaml, notify.0.to: unknown key "url"; the nearest known one is file',
    ],
    [{ notify: [{ on: ['x'], to: {} }] }, 'config.yaml, notify.0.to: expected one of webhook, command, file, got none'],
    [
      { notify: [{ on: ['x'], to: { file: 'x', command: ['y'] } }] },
      'config.yaml, notify.0.to: expected one of webhook, command, file, got command and file',
    ],
    [
      { notify: [{ on: ['x'], to: { webhook: 'ftp://x/' } }] },
      'config.yaml, notify.0.to.webhook: expected a URL, got "ftp://x/"',
    ],
    [
      { notify: [{ on: ['x'], to: { file: 'x', secret_env: 'S' } }] },
      'config.yaml, notify.0.to: expected secret_env with a webhook only, got it with a file',
    ],
    [{ delegation: { max_depth: 'x' } }, 'config.yaml, delegation.max_depth: expected a number, got "x"'],
    [{ delegation: { max_depth: 1.5 } }, 'config.yaml, delegation.max_depth: expected a whole number, got 1.5'],
    [{ delegation: { max_depth: -1 } }, 'config.yaml, delegation.max_depth: expected at least 0, got -1'],
    [{ defaults: { sandbox: 'on' } }, 'config.yaml, defaults.sandbox: expected one of auto, require, off, got "on"'],
    [{ confidence: { refuse_below: 2 } }, 'config.yaml, confidence.refuse_below: expected at most 1, got 2'],
    [
      { agents: { a: { kind: 'command' } } },
      'config.yaml, agents.a: expected a command, which the kind command needs, got none',
    ],
    [
      { agents: { a: { kind: 'openclaw' } } },
      'config.yaml, agents.a: expected a url, which the kind openclaw needs, got none',
    ],
    [{ agents: { a: { kind: 'openclaw', url: 'x' } } }, 'config.yaml, agents.a.url: expected a URL, got "x"'],
    [
      { stages: { a: { agnet: 'emma' } } },
      'config.yaml, stages.a: unknown key "agnet"; the nearest known one is agent',
    ],
    [{ stages: { a: { budget: 0 } } }, 'config.yaml, stages.a.budget: expected more than 0, got 0'],
    [
      { stages: { a: { phases: [{ name: 'x', do: 'y', chek: 'z' }] } } },
      'config.yaml, stages.a.phases.0: unknown key "chek"; the nearest known one is check',
    ],
    [{ stages: { a: 3 } }, 'config.yaml, stages.a: expected a text, or keys and values, got 3'],
    [{ agents: { a: { kind: 'codex', env: { A: 3 } } } }, 'config.yaml, agents.a.env.A: expected a text, got 3'],
    [{ agents: { '': { kind: 'codex' } } }, 'config.yaml, agents: expected as a key a text that is not empty, got ""'],
    [
      { node_types: { plain: [] } },
      'config.yaml, node_types: expected as a key a text of the form /^[A-Z][A-Za-z0-9]*$/, got "plain"',
    ],
    [{ defaults: { parallel: Number.NaN } }, 'config.yaml, defaults.parallel: expected a number, got NaN'],
    [{ store: 'postgres://x' }, 'config.yaml, store: expected one of fs, got "postgres://x"'],
    [[], 'config.yaml: expected keys and values, got []'],
    ['x', 'config.yaml: expected keys and values, got "x"'],
    [
      { agents: { a: { kind: 'command', command: [] } } },
      'config.yaml, agents.a.command: expected at least 1 item, got []',
    ],
  ])('%j', (value, message) => {
    expect(failure(value)).toMatchObject({ code: 'E_CONFIG', message });
  });

  test('with all that is known there as the hint', () => {
    expect(failure({ network: { hosts: [] } }).hint).toBe('known here: allow');
  });
});

describe('the file that baton init writes', () => {
  const uncommented = CONFIG_TEMPLATE.replace(/^#(?! \S)(?! {3}\w)/gm, '');

  test('says nothing as it stands', () => {
    expect(configOf(parsed(CONFIG_TEMPLATE))).toEqual(DEFAULT_CONFIG);
  });

  test('shows every section with its default', () => {
    expect(parsed(uncommented)).toEqual(DEFAULT_CONFIG);
    expect(Object.keys(parsed(uncommented) as object)).toEqual(Object.keys(DEFAULT_CONFIG));
  });

  test('has an example of each kind of agent that is read', () => {
    const agents = [...CONFIG_TEMPLATE.matchAll(/^# {3}(\w.*)$/gm)].map(([, line]) => `  ${line}`);
    expect(agents.length).toBe(4);
    expect(Object.keys(configOf(parsed(`agents:\n${agents.join('\n')}`)).agents).length).toBe(4);
  });
});
