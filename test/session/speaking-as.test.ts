/** A person leads; one who speaks as an agent has that agent's say and no more, and only names that can be seen are names. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { personSender } from '../../src/cli/send.ts';
import { senderOf } from '../../src/server/http/call.ts';
import { voiceOf } from '../../src/session/voice.ts';
import { SESSION, type Talk, talk } from './talk.ts';

const PERSON = { kind: 'person', name: 'user' } as const;
const UNKNOWN = { kind: 'unknown', name: 'somebody' } as const;

let made: Talk;
beforeEach(async () => {
  made = await talk();
});
afterEach(() => made.close());

const said = async (line: string, as?: string): Promise<string> =>
  (await made.done(line, await voiceOf(made, personSender(PERSON, as), SESSION))).reply;

test('a person leads; as an agent nobody does, nor does one that could be anybody', async () => {
  const leads = async (sender: Parameters<typeof voiceOf>[1]): Promise<boolean> =>
    (await voiceOf(made, sender)).speaker.leads;
  expect(await leads(personSender(PERSON, undefined))).toBe(true);
  expect(await leads(personSender(PERSON, 'orchestrator'))).toBe(true);
  expect(await leads(personSender(PERSON, 'emma'))).toBe(false);
  expect(await leads(senderOf({ kind: 'person' }, 'http', 'emma'))).toBe(false);
  expect(await leads(personSender(UNKNOWN, undefined))).toBe(false);
});

test('what one agent has locked another that a person speaks as does not take; the person does', async () => {
  expect(await said('#LOCK:x', 'bob')).toBe('locked');
  expect(await said('#UNLOCK:x', 'eve')).toBe('not_owner');
  expect(await said('#LOCK:x', 'eve')).toBe('busy:bob');
  expect(await said('#UNLOCK:x')).toBe('unlocked');
});

test.each([['or\u001b[2Jx'], ['a\nb'], ['a\u200bb'], ['a\u202eb'], [' a'], [''], ['x'.repeat(257)]])(
  'nobody is called %j',
  (name) => {
    expect(() => personSender(PERSON, name)).toThrow(/agent's name/);
    expect(() => senderOf({ kind: 'person' }, 'http', name)).toThrow(/agent's name/);
  },
);
