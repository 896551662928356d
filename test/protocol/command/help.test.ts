import { describe, expect, test } from 'vitest';
import { CATEGORIES, decodeCommand, helpReply, usage } from '../../../src/protocol/command/index.ts';
import { allForms, names } from './samples.ts';

const bulletsOf = (text: string): string[] => text.split('\n').filter((line) => line.startsWith('• '));

test('#HELP names every command, in at most ten lines', () => {
  const text = helpReply([]);
  expect(text.split('\n').length).toBeLessThanOrEqual(10);
  for (const name of names) expect(text).toMatch(new RegExp(`#${name}\\b`));
  expect(text).toContain('• coordination: #LOCK #UNLOCK #WAIT #SIGNAL #DEPENDS #COORDINATE [v1.1+]');
  expect(text.split('\n').at(-1)).toBe('[#HELP:<category> for details, #HELP:all for all]');
});

test('every category fits its six bullets, and together they show every form', () => {
  const shown = CATEGORIES.flatMap((category) => {
    const rows = helpReply([category]).split('\n');
    expect(rows.length).toBeLessThanOrEqual(6);
    expect(rows).toEqual(bulletsOf(rows.join('\n')));
    return rows;
  });
  for (const { name, form } of allForms) expect(shown).toContain(`• ${usage(name, form)} - ${form.does}`);
  expect(helpReply(['all']).split('\n').sort()).toEqual(shown.sort());
});

describe('#HELP:<command>', () => {
  const save =
    'Usage: #STATE:save:<key>:<value>[:persistent]\nSave value (≤30 tokens) to session\nEx: #STATE:save:user:alice';

  test('shows usage and example, with or without #', () => {
    expect(helpReply(['#STATE', 'save'])).toBe(save);
    expect(helpReply(['STATE', 'save'])).toBe(save);
    expect(helpReply(['#LOCK'])).toBe(
      'Usage: #LOCK:<resource>[:timeout]\nAcquire exclusive lock (advisory)\nEx: #LOCK:src/auth.js:600',
    );
  });

  test('shows every form where none is named', () => {
    expect(helpReply(['STATE'])).toBe(
      'Usage: #STATE:save:<key>:<value>[:persistent]\nUsage: #STATE:load:<key>\nUsage: #STATE:list\nUsage: #STATE:clear\nEx: #STATE:save:user:alice',
    );
  });

  test('tells a category from a command by its case', () => {
    expect(bulletsOf(helpReply(['error']))).toHaveLength(1);
    expect(helpReply(['ERROR'])).toMatch(/^Usage: #ERROR/);
  });
});

test.each([['bogus'], ['STATE', 'bogus'], ['state', 'bogus'], ['__proto__'], ['a b:c\n'], ['']])(
  'an unknown topic is E002: %j',
  (...topic) => {
    const text = helpReply(topic);
    expect(text).toMatch(/^#ERROR:E002:unknown_topic/);
    expect(decodeCommand(text).valid).toBe(true);
  },
);

describe("a project's own commands", () => {
  const project = [
    { name: 'DEPLOY', usage: '#DEPLOY:<target>', does: 'ship it', deprecated: null },
    { name: 'PUSH', usage: '#PUSH', does: 'ship it, as it was', deprecated: '#DEPLOY:<target>' },
  ];

  test('are listed, and the deprecated ones say so', () => {
    expect(helpReply([], project)).toContain('• project: #DEPLOY #PUSH');
    expect(bulletsOf(helpReply([], project)).length).toBeLessThanOrEqual(10);
    expect(helpReply(['project'], project)).toBe(
      '• #DEPLOY:<target> - ship it\n• #PUSH - ship it, as it was [DEPRECATED]',
    );
    expect(helpReply(['PUSH'], project)).toBe(
      'Usage: #PUSH [DEPRECATED]\nShip it, as it was\nUse instead: #DEPLOY:<target>',
    );
  });

  test('keep to the six bullets of a category', () => {
    const many = Array.from({ length: 9 }, (_, i) => ({
      name: `P${i}`,
      usage: `#P${i}`,
      does: 'something',
      deprecated: null,
    }));
    const rows = helpReply(['project'], many).split('\n');
    expect(rows).toHaveLength(6);
    expect(rows.at(-1)).toBe('• +4 more, see #HELP:all');
    expect(helpReply(['all'], many)).toContain('#P8');
  });
});
