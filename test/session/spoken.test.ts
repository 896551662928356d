/** Replies told as sentences: every form of the document, and that nothing is made up. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../../src/protocol/command/index.ts';
import { explain, spoken, spokenAll } from '../../src/session/spoken.ts';
import { allForms } from '../protocol/command/samples.ts';

const TOLD: readonly (readonly [command: string, reply: string, told: string])[] = [
  ['#REPORT:TestAgent:results', '• passing with 95% coverage', 'Results of TestAgent: passing with 95% coverage.'],
  [
    '#REPORT:all:errors',
    '• auth: timeout\n• build: red\n• +3 more',
    'Errors of all: auth: timeout; build: red, and 3 more.',
  ],
  ['#REPORT:all:errors', 'none', 'There is nothing to report on errors.'],
  ['#REPORT:emma:status', 'auth 80%, tests pending', 'Auth 80%, tests pending.'],
  ['#STATE:save:user:alice', 'saved:user', 'I saved it as user.'],
  ['#STATE:load:user', 'alice', 'user is alice.'],
  ['#STATE:load:user', 'none', 'user is none.'],
  ['#STATE:load:user', 'saved:user', 'user is saved:user.'],
  ['#STATE:load:user', 'not_found', 'Nothing is saved as user.'],
  ['#STATE:list', '• user\n• db', 'Saved: user; db.'],
  ['#STATE:list', 'none', 'Nothing is saved.'],
  ['#STATE:clear', 'cleared', 'Everything that was saved is cleared.'],
  [
    '#LOCK:src/auth.js:600',
    'locked',
    'src/auth.js is locked. Locks are advisory: they hold off other locks, not changes to the file.',
  ],
  ['#LOCK:src/auth.js:60', 'busy:DevAgent', 'src/auth.js is busy: DevAgent holds it.'],
  ['#UNLOCK:src/auth.js', 'unlocked', 'src/auth.js is unlocked.'],
  ['#UNLOCK:src/auth.js', 'not_owner', 'The lock on src/auth.js is not yours.'],
  ['#WAIT:dev_complete:300', 'ready', 'dev_complete is ready.'],
  ['#WAIT:dev_complete:300', 'timeout', 'dev_complete did not come in time.'],
  ['#SIGNAL:dev_complete:true', 'signaled:2', 'I signaled dev_complete to 2.'],
  ['#BROADCAST:file_changes:auth', 'sent:3', 'I sent it to 3 on file_changes.'],
  ['#SUBSCRIBE:file_changes', 'subscribed:file_changes', 'Subscribed: file_changes.'],
  ['#DELEGATE:emma:implement auth:P1', 'ack:TASK-2026-02-26-001', 'I gave that to emma, as TASK-2026-02-26-001.'],
  ['#CHECKPOINT:create:manual:x', 'checkpoint_id:cp_001', 'The checkpoint is made: cp_001.'],
  ['#CHECKPOINT:list', 'none', 'There are none.'],
  ['#CHECKPOINT:diff:cp_001', 'Files changed: 5, Lines: +120 -45', 'Files changed: 5, Lines: +120 -45.'],
  [
    '#ROLLBACK:cp_001',
    '→ Stashing uncommitted changes\n→ Files restored: 5\n→ rolled_back:cp_001',
    'Stashing uncommitted changes. Files restored: 5. We are back at cp_001.',
  ],
  ['#CONTEXT:export:./a.ctx', 'exported:45 items (8.2k)', 'I exported 45 items (8.2k).'],
  ['#CONTEXT:import:./a.ctx', 'imported:45 items', 'I imported 45 items.'],
  ['#CONTEXT:validate:./a.ctx', 'valid', './a.ctx is valid.'],
  [
    '#HEALTH:session',
    '• Context: 45k/100k tokens (45%)\n• Status: healthy',
    'Session: Context: 45k/100k tokens (45%); Status: healthy.',
  ],
  ['#VERSION', 'v1.1.0', 'The protocol is v1.1.0.'],
  ['#VERSION:check:1.0.0', 'compatible', '1.0.0 is compatible.'],
  ['#SUPPORTS:quantum_computing', 'false', 'No, quantum computing is not supported.'],
  ['#HELP:state', '• save\n• load', '• save\n• load'],
  ['#NEXT', '', 'Nothing comes next.'],
  ['#DEPLOY:prod', 'done in 3s', 'Done in 3s.'],
  ['not a command', 'whatever', 'Whatever.'],
];

describe('spoken', () => {
  test.each(TOLD)('%s → %j', (command, reply, told) => expect(spoken(command, reply)).toBe(told));

  test.each(['E001', 'E002', 'E003', 'E004', 'E005'])(
    '%s is said to have failed, with its code and its words',
    (code) => {
      const told = spoken('#STATE:save:k:v', `#ERROR:${code}:max_limit_100`);
      expect(told).toMatch(/^That did not work/);
      expect(told).toContain(code);
      expect(told).toContain('max limit 100');
    },
  );

  test('several are told one by one', () => {
    expect(spokenAll(['#LOCK:a', '#VERSION'], ['locked', 'v1.1.0'])).toBe(
      'a is locked. Locks are advisory: they hold off other locks, not changes to the file.\nThe protocol is v1.1.0.',
    );
  });

  test('escapes of a terminal are not told', () => {
    expect(spoken('#REPORT:a:status', '\u001b[31mred\u001b[0m\u0007')).toBe('Red.');
  });

  test('never throws, and every number and name it says is in the reply or the command', () => {
    const commands = fc.constantFrom(...allForms.map(({ form }) => form.example), '#FROB:x', 'nothing');
    const replies = fc.oneof(
      fc.string({ maxLength: 60 }),
      fc.constantFrom(...TOLD.map(([, reply]) => reply)),
      fc.stringMatching(/^(?:• [a-z0-9_ ]{1,12}\n){1,4}$/),
      fc.stringMatching(/^[a-z_]{2,12}:[a-z0-9_ ]{1,12}$/),
    );
    fc.assert(
      fc.property(commands, replies, (command, reply) => {
        const known = `${command} ${reply} ${(`${command} ${reply}`).replaceAll('_', ' ')}`.toLowerCase();
        for (const fact of spoken(command, reply)
          .toLowerCase()
          .match(/[\p{L}_-]*\d[\w.%-]*\w/gu) ?? [])
          expect(known).toContain(fact);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('explain', () => {
  test('what a command does, with what it was given', () => {
    expect(explain('#LOCK:src/auth.js:600')).toBe(
      '#LOCK means: acquire exclusive lock (advisory) (resource src/auth.js, timeout 600).',
    );
    expect(explain('#STATE:save:user:alice:persistent')).toBe(
      '#STATE:save means: save value (≤30 tokens) to session (key user, value alice, kept in exports).',
    );
    expect(explain('#DELEGATE:emma:fix it:P0')).toBe(
      '#DELEGATE means: give a task to an agent (agent emma, task fix it, priority P0).',
    );
    expect(explain('#VERSION')).toBe('#VERSION means: protocol version.');
  });
  test('every form of every command has one sentence, from the table', () => {
    for (const [name, { forms }] of Object.entries(COMMANDS)) {
      for (const form of forms) {
        const said = explain(form.example);
        expect(said, form.example).toContain(form.does);
        expect(said).toMatch(new RegExp(`^#${name}[^\\n]*[.…]$`));
      }
    }
  });
  test('what is not known', () => {
    expect(explain('#FROB:x')).toBe('#FROB is not a command that is known here.');
    expect(explain('#FROB:x', [{ name: 'FROB', usage: '#FROB', does: 'frobnicate', deprecated: null }])).toBe(
      '#FROB means: frobnicate.',
    );
    expect(explain('hello')).toBe('That is not a command of the session language.');
    expect(explain('#STATE')).toBe('#STATE needs more than that to mean something.');
  });
});
