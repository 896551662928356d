/**
 * The examples of the shared agent protocol, line by line as it writes them, on a real repository: each reply has the document's form. Where its
 * example and its rules disagree (an answer longer than its limit), the rule holds.
 */
import { describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import { until } from '../helpers/until.ts';
import { makeScene, type Scene } from './scene.ts';
import { SESSION, voiceOf } from './talk.ts';

const CONFIG = {
  agents: {
    DevAgent: { kind: 'command', command: ['true'] },
    TestAgent: { kind: 'command', command: ['true'] },
  },
};

/** Who says what, and the form of the answer: a text is all of it, line by line. */
type Line = readonly [who: string, line: string, reply: string | RegExp];

async function script(scene: Scene, lines: readonly Line[]): Promise<void> {
  for (const [who, line, reply] of lines) {
    const said = await scene.as(voiceOf(who), line);
    if (typeof reply === 'string') expect(said, line).toBe(reply);
    else expect(said, line).toMatch(reply);
  }
}

const scene = (): Promise<Scene> => makeScene({ git: true, config: CONFIG });
const O = 'orchestrator';

describe('the examples', () => {
  test('basic interaction (§11), versions (§10), state (§6)', async () => {
    await script(await scene(), [
      [O, '#HELP', /^• core: #HELP #ASK #DEFINE #SUMMARY[\s\S]*• state: #STATE\n[\s\S]*\[#HELP:<category> for details/],
      [O, '#HELP:state', /^• #STATE:save:<key>:<value>.*\n• #STATE:load:<key>.*\n• #STATE:list.*\n• #STATE:clear.*$/],
      [
        O,
        '#HELP:#STATE:save',
        'Usage: #STATE:save:<key>:<value>[:persistent]\nSave value (≤30 tokens) to session\nEx: #STATE:save:user:alice',
      ],
      [O, '#STATE:save:context:auth_service', 'saved:context'],
      [O, '#STATE:load:context', 'auth_service'],
      [O, '#STATE:load:nothing', 'not_found'],
      [O, '#STATE:list', '• context'],
      [O, '#STATE:save:key:value:persistent', 'saved:key'],
      [O, '#STATE:save:temp:value', 'saved:temp'],
      [O, '#STATE:clear', 'cleared'],
      [O, '#STATE:list', 'none'],
      [O, '#VERSION', 'v1.1.0'],
      [O, '#VERSION:check:1.0.0', 'compatible'],
      [O, '#VERSION:features', /^• coordination: v1\.1\+\n• state: v1\.0\+\n• error_codes: v1\.0\+/],
      [O, '#SUPPORTS:coordination', 'true'],
      [O, '#SUPPORTS:quantum_computing', 'false'],
    ]);
  });

  test('communication through the orchestrator (§11)', async () => {
    await script(await scene(), [
      ['TestAgent', '#SUBSCRIBE:file_changes', /^subscribed/],
      [O, '#LOCK:src/auth.js:600', 'locked'],
      [O, '#DELEGATE:DevAgent:implement_auth:P1', /^ack:TASK-\d{4}-\d\d-\d\d-001$/],
      [O, '#STATE:save:auth_complete:true', 'saved:auth_complete'],
      [O, '#BROADCAST:file_changes:auth_complete', 'sent:2'],
      [O, '#DELEGATE:TestAgent:test_auth:P1', /^ack:TASK-\d{4}-\d\d-\d\d-002$/],
      [O, '#UNLOCK:src/auth.js', 'unlocked'],
    ]);
  });

  test('coordination (§12)', async () => {
    const at = await scene();
    await script(at, [
      ['DevAgent', '#LOCK:src/auth.js:600', 'locked'],
      ['TestAgent', '#LOCK:src/auth.js:60', 'busy:DevAgent'],
      ['TestAgent', '#UNLOCK:src/auth.js', 'not_owner'],
      ['DevAgent', '#UNLOCK:src/auth.js', 'unlocked'],
    ]);
    const waiting = at.as(voiceOf('TestAgent'), '#WAIT:dev_complete:300');
    const waiters = async (): Promise<number> => Object.keys((await at.store.session(SESSION))?.waiters ?? {}).length;
    await until('one waits', async () => (await waiters()) > 0);
    expect(await at.as(voiceOf('DevAgent'), '#SIGNAL:dev_complete:true')).toBe('signaled:1');
    expect(await waiting).toBe('ready');
    await script(at, [
      ['TestAgent', '#WAIT:never:0', 'timeout'],
      [O, '#DELEGATE:DevAgent:auth_impl', /^ack/],
      [O, '#DELEGATE:TestAgent:test_auth', /^ack/],
      ['TestAgent', '#DEPENDS:DevAgent:auth_impl', /^ack/],
      ['TestAgent', '#SUBSCRIBE:file_changes', /^subscribed/],
      ['TestAgent', '#UNSUBSCRIBE:test_results', /^unsubscribed/],
      ['DevAgent', '#DIRECT:TestAgent:auth_ready', 'sent:1'],
    ]);
  });

  test('checkpoint and recovery (§13)', async () => {
    const at = await scene();
    await script(at, [
      [O, '#CHECKPOINT:create:manual:before_refactor', 'checkpoint_id:cp_001'],
      [O, '#CHECKPOINT:list', /^• cp_001 before_refactor/],
      [O, '#STATE:save:a:1', 'saved:a'],
      [O, '#CHECKPOINT:create:manual:pre_deploy', 'checkpoint_id:cp_002'],
    ]);
    at.write('README.md', 'spoiled\n');
    at.write('new.js', 'one\ntwo\n');
    await script(at, [
      [O, '#CHECKPOINT:diff:cp_002', 'Files changed: 2, Lines: +3 -1'],
      [O, '#ROLLBACK:dry-run:cp_002', /^restores 1, removes 1/],
      [
        O,
        '#ROLLBACK:cp_002',
        /^→ Stashing uncommitted changes\n→ kept:\S+\n→ Rolling back to cp_002\n→ Files restored: 2\n→ State restored: 1 keys\nrolled_back:cp_002$/,
      ],
      [O, '#ROLLBACK:status', /^rolled_back:cp_002/],
      [O, '#ROLLBACK:cp_001:force', /rolled_back:cp_001$/],
    ]);
    expect([at.read('README.md'), at.read('new.js')]).toEqual(['hello\n', null]);
  });

  test('limits (§5, §14)', async () => {
    const at = await scene();
    await at.say('#STATE:save:dependencies:a long list of what is needed to build and to test all of this');
    await script(at, [
      [O, '#REPORT:DevAgent:progress:brief', 'none'],
      [O, '#DELEGATE:DevAgent:Auth', /^ack:/],
      [O, '#REPORT:DevAgent:progress:brief', '• Auth: pending'],
      [O, '#REPORT:DevAgent:security:detailed', 'none'],
      [O, '#REPORT:DevAgent:status:limit=25', '1 pending'],
      [O, '#ASK:dependencies:limit=50', /^• dependencies: a long list/],
      [O, '#ASK:complex_topic:limit=200', '#ERROR:E004:max_limit_100'],
      [O, '#ASK:complex_topic:limit=100', 'none'],
      [O, '#ERROR:E004:max_limit_100', '#ERROR:E004:max_limit_100'],
    ]);
    for (const [more, most] of [
      [':brief', 4],
      ['', 8],
      [':detailed', 16],
    ] as const) {
      const item = (await at.say(`#ASK:dependencies${more}`)).replace(/^• /, '');
      expect(countTokens(item), more).toBeLessThanOrEqual(most);
    }
    expect(countTokens(await at.say('#ASK:dependencies:limit=6'))).toBeLessThanOrEqual(6);
    const error = await at.say(`#ERROR:E002:${'what went wrong here '.repeat(10)}:detailed`);
    expect(countTokens(error.slice('#ERROR:E002:'.length))).toBeLessThanOrEqual(20);
  });

  test('health (§15) and context (§16)', async () => {
    const at = await scene();
    await script(at, [
      [O, '#STATE:save:key:value:persistent', 'saved:key'],
      [O, '#DELEGATE:DevAgent:task4', /^ack:/],
      [
        O,
        '#HEALTH:session',
        /^• Context: \d+k?\/100k tokens \(\d+%\)\n• State: 1\/20 keys \(5%\)\n• Errors: 0 in last 10 commands\n• Uptime: 0m\n• Status: healthy$/,
      ],
      [O, '#HEALTH:context', /^→ \d+k?\/100k tokens/],
      [
        O,
        '#CONTEXT:export:./context/session_final.ctx',
        /^exported:3 items\n→ git_ref:[0-9a-f]+\n→ file:\.\/context\/session_final\.ctx/,
      ],
      [O, '#CONTEXT:export:./context/auto_20240115_1430.ctx:critical', /^exported:2 items/],
      [O, '#CONTEXT:list:./context/', /^• (auto_|session_final)[^\n]*\n• (auto_|session_final)[^\n]*$/],
      [
        O,
        '#CONTEXT:validate:./context/session_final.ctx',
        'valid\n→ protocol v1.1\n→ git_checkpoint:found\n→ items:3 compatible',
      ],
    ]);
    const next = await at.say('#CONTEXT:import:./context/session_final.ctx', 'next');
    expect(next).toMatch(
      /^→ validated:git_ref:[0-9a-f]+\nimported:2 items\n→ here already:1 \(1 \S+ in \S+\)\n→ ready to resume$/,
    );
    expect(await at.say('#CONTEXT:import:./context/session_final.ctx:merge', 'next')).toMatch(
      /imported:0 items\n→ merged:0 new items\n→ updated:0 existing items/,
    );
  });

  test('plain words (§2.5)', async () => {
    const at = await scene();
    const said = await at.as(voiceOf(O), 'remember auth_service as context');
    expect(said).not.toMatch(/^#/);
    expect((await at.store.session(SESSION))?.state?.['context']?.value).toBe('auth_service');
    expect(await at.as(voiceOf(O), 'show protocol')).toContain('shown');
    expect(await at.as(voiceOf(O), 'remember 42 as answer')).toContain('#STATE:save:answer:42');
  });
});
