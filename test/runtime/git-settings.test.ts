/** What a sandboxed agent is told of the person's git: who commits, and nothing that may hold a token. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { gitSettings } from '../../src/runtime/git-settings.ts';

const home = mkdtempSync(join(tmpdir(), 'baton-git-settings-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

test('the name and the trusted folders are told, the rest of the file is not', async () => {
  writeFileSync(
    join(home, '.gitconfig'),
    '[user]\n name = Ada\n[safe]\n directory = /srv/a\n[url "https://token@host/"]\n insteadOf = x\n',
  );
  expect(await gitSettings({ PATH: process.env['PATH'], HOME: home })).toEqual({
    GIT_CONFIG_COUNT: '2',
    GIT_CONFIG_KEY_0: 'user.name',
    GIT_CONFIG_VALUE_0: 'Ada',
    GIT_CONFIG_KEY_1: 'safe.directory',
    GIT_CONFIG_VALUE_1: '/srv/a',
  });
});

test('without git, or without its file, there is nothing to tell', async () => {
  expect(await gitSettings({ PATH: '/nowhere', HOME: home })).toEqual({});
  expect(await gitSettings({ PATH: process.env['PATH'], HOME: join(home, 'none') })).toEqual({});
});
