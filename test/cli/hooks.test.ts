/** `baton hooks install|remove` and what the hooks answer: settings are changed in one place only and put back exactly; nobody is asked twice. */
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { withHooks, withoutHooks } from '../../src/cli/hooks-settings.ts';
import { addLast, without } from '../../src/cli/json-text.ts';
import { parseAOPOutput } from '../../src/protocol/aop1/decode.ts';
import { readYaml } from '../../src/protocol/text/yaml.ts';
import { MAIN, type Ran } from './baton.ts';
import { batonHere } from './here.ts';

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

interface Project {
  readonly root: string;
  path(name: string): string;
  read(name: string): string | null;
  write(name: string, text: string): void;
  run(args: readonly string[], input?: string, env?: NodeJS.ProcessEnv): Promise<Ran>;
  /** The answer of a hook; null where it has none. */
  hook(name: string, input: object, env?: NodeJS.ProcessEnv): Promise<Record<string, unknown> | null>;
}

/** A project with `baton`, `claude` and `codex` on PATH, and a HOME. */
function project(programs: readonly string[] = ['baton', 'claude', 'codex']): Project {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'baton-hooks-')));
  folders.push(root);
  for (const folder of ['bin', 'home', 'p']) mkdirSync(join(root, folder));
  for (const program of programs) {
    writeFileSync(join(root, 'bin', program), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
    chmodSync(join(root, 'bin', program), 0o755);
  }
  const path = (name: string): string => join(root, 'p', name);
  const run: Project['run'] = (args, input = '', env = {}) =>
    batonHere(args, input, join(root, 'p'), {
      ...{ PATH: `${join(root, 'bin')}:/usr/bin:/bin`, HOME: join(root, 'home') },
      ...{ CLAUDE_CONFIG_DIR: undefined, CODEX_HOME: undefined, BATON_DETAILS_DIR: undefined, ...env },
    });
  return {
    root,
    path,
    read: (name) => (existsSync(path(name)) ? readFileSync(path(name), 'utf8') : null),
    write(name, text) {
      mkdirSync(dirname(path(name)), { recursive: true });
      writeFileSync(path(name), text);
    },
    run,
    async hook(name, input, env) {
      const ran = await run(['hook', name], JSON.stringify(input), env);
      expect([ran.err, ran.exit]).toEqual(['', 0]);
      return ran.out === '' ? null : (JSON.parse(ran.out) as Record<string, unknown>);
    },
  };
}

/** By name, or as the run that it is called in says. */
const NAMED = '$' + '{BATON_CLI:-baton}';
const CLAUDE = '.claude/settings.json';
const CODEX = '.codex/hooks.json';

describe('install', () => {
  test('writes what claude and codex ask for, and says which files', async () => {
    const at = project();
    const ran = await at.run(['hooks', 'install', '--json']);
    expect(ran.exit).toBe(0);
    expect(ran.json()).toEqual({ changed: [at.path(CLAUDE), at.path(CODEX)] });
    const call = (hook: string): object => ({
      hooks: [{ type: 'command', command: `${NAMED} hook ${hook}`, timeout: 30 }],
    });
    expect(JSON.parse(at.read(CLAUDE) ?? '')).toEqual({
      hooks: {
        Stop: [call('stop')],
        SubagentStop: [call('stop')],
        PostToolUse: [{ matcher: 'Task|Agent', ...call('tool') }],
        PreCompact: [call('precompact')],
      },
    });
    expect(JSON.parse(at.read(CODEX) ?? '')).toEqual({
      hooks: { Stop: [call('stop')], SubagentStop: [call('stop')], PreCompact: [call('precompact')] },
    });
    // That codex wants them trusted is said, for without that nothing happens.
    expect(ran.err).toContain('/hooks');
  });

  test('twice is once', async () => {
    const at = project();
    await at.run(['hooks', 'install']);
    const before = [at.read(CLAUDE), at.read(CODEX)];
    const again = await at.run(['hooks', 'install', '--json']);
    expect(again.json()).toEqual({ changed: [] });
    expect([at.read(CLAUDE), at.read(CODEX)]).toEqual(before);
    await at.run(['hooks', 'remove']);
    expect(readdirSync(at.path('.'))).toEqual(['.baton']);
  });

  test('for those that are named, or are here', async () => {
    const at = project(['baton', 'claude']);
    expect((await at.run(['hooks', 'install', '--json'])).json()).toEqual({ changed: [at.path(CLAUDE)] });
    expect((await at.run(['hooks', 'install', 'codex', '--json'])).json()).toEqual({ changed: [at.path(CODEX)] });
    expect(await at.run(['hooks', 'install', 'gemini', '--json'])).toMatchObject({ exit: 2 });
    const none = await project(['baton']).run(['hooks', 'install', '--json']);
    expect(none.exit).toBe(4);
    expect(none.err).toContain('E_AGENT_NOT_FOUND');
    // Named, it need not be here.
    expect((await project(['baton']).run(['hooks', 'install', 'claude', '--json'])).exit).toBe(0);
  });

  test('a hook of somebody else is not ours for having our name in it', () => {
    const foreign = ['echo baton; my hook stop', '/opt/baton-tools/run hook stop', 'BATON_X=1 rm -r x; hook stop'];
    const text = JSON.stringify({
      hooks: { Stop: [{ hooks: foreign.map((command) => ({ type: 'command', command })) }] },
    });
    expect(withoutHooks(text, null, 'f')).toBe(text);
    for (const launcher of [
      'baton',
      NAMED,
      `BATON_DIR='/a b'\\''c' ${NAMED}`,
      "BATON_DIR=/a '/x y/node' /m.js",
      'BATON_BY_PATH=1 /n /m.js',
    ]) {
      const { text: hooked, made } = withHooks(text, 'codex', launcher, 'f');
      for (const command of foreign) expect(hooked).toContain(JSON.stringify(command));
      expect(JSON.parse(withoutHooks(hooked, made, 'f'))).toEqual(JSON.parse(text));
    }
  });

  test('a read-only file stays as it is', async () => {
    const at = project();
    at.write(CLAUDE, '{}');
    chmodSync(at.path(CLAUDE), 0o444);
    const ran = await at.run(['hooks', 'install', 'claude', '--json']);
    expect(ran.err).toContain('E_CONFIG');
    expect(at.read(CLAUDE)).toBe('{}');
  });

  test.each([
    ['bytes that are not UTF-8', (path: string) => writeFileSync(path, Buffer.from([0x22, 0xff, 0x22]))],
    ['a link that leads nowhere', (path: string) => symlinkSync('/nowhere/at-all', path)],
    ['a folder', (path: string) => mkdirSync(path)],
    ['something else', (path: string) => symlinkSync('/dev/null', path)],
  ])('settings that are %s are refused, and stay', async (came, make) => {
    const at = project();
    mkdirSync(at.path('.claude'));
    make(at.path(CLAUDE));
    const before = lstatSync(at.path(CLAUDE)).ino;
    expect(await at.run(['hooks', 'install', 'claude'])).toMatchObject({
      exit: 1,
      err: expect.stringContaining(`expected a file of settings, got ${came} (E_CONFIG)`),
    });
    expect(lstatSync(at.path(CLAUDE)).ino).toBe(before);
  });

  test('for the user', async () => {
    const at = project();
    // A variable that is set to nothing names no folder.
    const ran = await at.run(['hooks', 'install', 'claude', '--user', '--json'], '', { CLAUDE_CONFIG_DIR: '' });
    const path = join(at.root, 'home/.claude/settings.json');
    expect(ran.json()).toEqual({ changed: [path] });
    expect((await at.run(['hooks', 'remove', 'claude', '--user', '--json'])).json()).toEqual({ changed: [path] });
    expect(readdirSync(join(at.root, 'home'))).toEqual([]);
  });

  test('by its path where there is no baton on PATH, by the new one where it moved', async () => {
    const at = project(['claude']);
    await at.run(['hooks', 'install']);
    expect(at.read(CLAUDE)).toContain(`BATON_BY_PATH=1 ${process.execPath} ${MAIN} hook stop`);
    writeFileSync(join(at.root, 'bin/baton'), '#!/bin/sh\n', { mode: 0o755 });
    expect((await at.run(['hooks', 'install', '--json'])).json()).toEqual({ changed: [at.path(CLAUDE)] });
    expect(at.read(CLAUDE)).toContain(`"command": "${NAMED} hook stop"`);
    expect(at.read(CLAUDE)).not.toContain('BATON_BY_PATH');
    await at.run(['hooks', 'remove']);
    expect(at.read(CLAUDE)).toBeNull();
  });

  test.each([
    ['{ "hooks": ', 'expected JSON with an object in it'],
    ['[]', 'expected JSON with an object in it'],
    ['{"hooks": []}', 'expected an object under hooks'],
    ['{"hooks": {"Stop": {}}}', 'expected a list under hooks.Stop'],
  ])('of settings that are not settings nothing is changed: %s', async (text, reason) => {
    const at = project();
    at.write(CODEX, text);
    const ran = await at.run(['hooks', 'install', '--json']);
    expect(ran.exit).toBe(1);
    expect(ran.err).toContain(reason);
    expect(at.read(CODEX)).toBe(text);
    // Nor of the other one.
    expect(at.read(CLAUDE)).toBeNull();
  });

  test('is not for agents', async () => {
    const at = project();
    const ran = await at.run(['hooks', 'install', '--json'], '', { BATON_RUN_MARK: 'TASK-2026-11-16-001-r1@x' });
    expect(ran).toMatchObject({ exit: 3 });
    expect(ran.err).toContain('E_PERMISSION_DENIED');
    expect(readdirSync(at.path('.'))).toEqual([]);
  });

  test('keeps a link a link, and the mode of its file', async () => {
    const at = project();
    at.write('elsewhere.json', '{}\n');
    chmodSync(at.path('elsewhere.json'), 0o640);
    mkdirSync(at.path('.claude'));
    symlinkSync('../elsewhere.json', at.path(CLAUDE));
    await at.run(['hooks', 'install', 'claude']);
    expect(at.read('elsewhere.json')).toContain(`${NAMED} hook stop`);
    expect(statSync(at.path('elsewhere.json')).mode & 0o777).toBe(0o640);
    await at.run(['hooks', 'remove', 'claude']);
    expect(at.read('elsewhere.json')).toBe('{}\n');
  });
});

/** Settings as people have them, in all the ways they write them. */
const SETTINGS: Readonly<Record<string, string>> = {
  empty: '{}',
  'empty, with lines': '{\n\n}\n',
  'an empty section': '{\n  "hooks": {}\n}\n',
  'an empty list': '{\n  "hooks": { "Stop": [] }\n}\n',
  'four spaces': '{\n    "model": "opus",\n    "permissions": { "allow": ["Bash(ls:*)"] }\n}\n',
  tabs: '{\n\t"model": "opus",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
  'one line': '{"model":"opus","env":{"A":"1"}}',
  windows: '{\r\n  "model": "opus"\r\n}\r\n',
  'a mark before it': '\ufeff{\n  "model": "opus"\n}\n',
  'no newline at its end': '{\n  "model": "opus"\n}',
  "other people's hooks": `{
  "hooks": {
    "Stop": [
      { "hooks": [ { "type": "command", "command": "say \\"done, {}[]\\"" } ] }
    ],
    "PostToolUse": [{"matcher": "Bash", "hooks": []}],
    "SubagentStop":   [ ]
  },
  "model":   "opus"
}
`,
};

describe('remove', () => {
  test.each(Object.entries(SETTINGS))('leaves the very same text: %s', (_, text) => {
    const { text: installed, made } = withHooks(text, 'claude', 'baton', 'x');
    const { hooks } = JSON.parse(installed.replace('\ufeff', '')) as { hooks: Record<string, unknown[]> };
    for (const event of ['Stop', 'SubagentStop', 'PostToolUse', 'PreCompact'])
      expect(JSON.stringify(hooks[event]?.at(-1))).toContain('baton hook');
    expect(withoutHooks(installed, made, 'x')).toBe(text);
  });

  test.each(['empty', 'an empty list', "other people's hooks"])('leaves the very same file: %s', async (name) => {
    const at = project();
    const text = SETTINGS[name] ?? '';
    at.write(CLAUDE, text);
    expect((await at.run(['hooks', 'install', 'claude', '--json'])).json()).toEqual({ changed: [at.path(CLAUDE)] });
    expect(at.read(CLAUDE)).toContain(`${NAMED} hook precompact`);
    expect((await at.run(['hooks', 'remove', 'claude', '--json'])).json()).toEqual({ changed: [at.path(CLAUDE)] });
    expect(at.read(CLAUDE)).toBe(text);
    expect((await at.run(['hooks', 'remove', 'claude', '--json'])).json()).toEqual({ changed: [] });
  });

  test.each(['', '\n', '{ }', ' {\n}\n'])('a file that said nothing says it in the same words: %j', async (text) => {
    const at = project();
    at.write(CLAUDE, text);
    await at.run(['hooks', 'install', 'claude']);
    expect(at.read(CLAUDE)).toContain('SubagentStop');
    await at.run(['hooks', 'remove', 'claude']);
    expect(at.read(CLAUDE)).toBe(text);
  });

  test('keeps what was added since', async () => {
    const at = project();
    await at.run(['hooks', 'install', 'claude']);
    const text = at.read(CLAUDE) ?? '';
    at.write(CLAUDE, addLast(addLast(text, [], 'model', 'opus'), ['hooks', 'Stop'], null, { hooks: [] }));
    at.write('.claude/notes.md', 'mine');
    await at.run(['hooks', 'remove', 'claude']);
    expect(JSON.parse(at.read(CLAUDE) ?? '')).toEqual({ hooks: { Stop: [{ hooks: [] }] }, model: 'opus' });
    expect(at.read('.claude/notes.md')).toBe('mine');
  });

  test("takes only ours from a group with somebody else's", () => {
    const theirs = { type: 'command', command: 'echo baton hook stop; true' };
    const ours = { type: 'command', command: 'baton hook stop' };
    const text = JSON.stringify({ hooks: { Stop: [{ hooks: [theirs, ours] }] } });
    expect(JSON.parse(withoutHooks(text, null, 'x'))).toEqual({ hooks: { Stop: [{ hooks: [theirs] }] } });
  });

  test('works where nothing is known of how it came there', () => {
    const { text } = withHooks('{\n  "model": "opus"\n}\n', 'claude', 'baton', 'x');
    expect(withoutHooks(text, null, 'x')).toBe('{\n  "model": "opus"\n}\n');
  });

  test('any settings are the same after both', () => {
    const groups = fc.array(
      fc.record({
        matcher: fc.string(),
        hooks: fc.array(fc.record({ type: fc.constant('command'), command: fc.string() })),
      }),
      { maxLength: 3 },
    );
    const hooks = fc.dictionary(fc.constantFrom('Stop', 'PreCompact', 'PostToolUse', 'Other'), groups);
    const settings = fc
      .dictionary(fc.string(), fc.jsonValue())
      .chain((rest) => fc.option(hooks).map((own) => (own === null ? rest : { ...rest, hooks: own })));
    fc.assert(
      fc.property(settings, fc.constantFrom(undefined, 2, 4, '\t', 1), (value, indent) => {
        if (Array.isArray(value['hooks']) || (value['hooks'] !== undefined && typeof value['hooks'] !== 'object'))
          return;
        const text = JSON.stringify(value, null, indent);
        let before: ReturnType<typeof withHooks>;
        try {
          before = withHooks(text, 'claude', 'baton', 'x');
        } catch {
          // Not settings at all, and refused as such.
          return;
        }
        expect(withHooks(before.text, 'claude', 'baton', 'x').text).toBe(before.text);
        expect(withoutHooks(before.text, before.made, 'x')).toBe(text);
      }),
    );
  });
});

test('a part taken from anywhere leaves JSON that lacks just it', () => {
  fc.assert(
    fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), fc.nat(), fc.constantFrom(0, 2), (list, n, indent) => {
      const index = n % list.length;
      const after = JSON.parse(without(JSON.stringify(list, null, indent), [index])) as unknown[];
      expect(after).toEqual(JSON.parse(JSON.stringify(list.toSpliced(index, 1))));
    }),
  );
});

const BLOCK =
  '[AOP:START] 2026-11-16T00:00:00Z\n[AOP:TASK] x\n[AOP:SUMMARY]\n- Made it.\n[AOP:DETAILS_FILE] notes.md\n[AOP:STATUS] success\n[AOP:END] 2026-11-16T00:00:01Z\n';

describe('hook stop', () => {
  test.each(['Stop', 'SubagentStop'])('%s without a report is asked for one', async (event) => {
    const answer = await project().hook('stop', {
      hook_event_name: event,
      stop_hook_active: false,
      last_assistant_message: 'All done!',
    });
    expect(answer?.['decision']).toBe('block');
    expect(answer?.['reason']).toMatch(/^Your last message has no report.*\[AOP:SUMMARY\].*\[AOP:STATUS\]/s);
  });

  test.each([
    ['aop1', `Here it is.\n\n${BLOCK}`],
    [
      'aof',
      'AOF/1 {"protocol":"aof","version":1,"type":"completion.report","taskId":"TASK-2026-11-16-001","fromAgent":"a","sentAt":"2026-11-16T00:00:00.000Z","payload":{"outcome":"done"}}',
    ],
    [
      'aop2',
      '{"aop_version":"2.0.2-C","schema_version":"2.0.2","protocol_family":"AOP","message_type":"RESPONSE","session_id":"s","task_id":"t","agent":{"name":"a","provider":"CLAUDE","model":"m"},"task_status":{"state":"COMPLETED","final_signal":"SUCCESS"}}',
    ],
  ])('with a report in %s it may go', async (_, said) => {
    expect(await project().hook('stop', { stop_hook_active: false, last_assistant_message: said })).toBeNull();
  });

  test('one that is not valid is named with what is wrong', async () => {
    const said = BLOCK.replace('[AOP:STATUS] success', '[AOP:STATUS] splendid');
    const answer = await project().hook('stop', { stop_hook_active: false, last_assistant_message: said });
    expect(answer?.['reason']).toMatch(/^The report in your last message is not valid \(aop1, \/status: .*splendid/);
  });

  test('nobody is asked twice, and nobody in a session where it is off', async () => {
    const at = project();
    expect(await at.hook('stop', { stop_hook_active: true, last_assistant_message: 'no' })).toBeNull();
    expect(await at.hook('stop', { last_assistant_message: 'no' }, { BATON_HOOKS: 'off' })).toBeNull();
    // The end of a phase of a run is not the end of the run; a sub-agent's is its own.
    const phase = { BATON_PHASE: 'p1' };
    expect(await at.hook('stop', { hook_event_name: 'Stop', last_assistant_message: 'no' }, phase)).toBeNull();
    expect(
      await at.hook('stop', { hook_event_name: 'SubagentStop', last_assistant_message: 'no' }, phase),
    ).not.toBeNull();
  });

  test('its transcript is read where its last words do not come with the event', async () => {
    const at = project();
    const line = (role: string, content: unknown): string =>
      `${JSON.stringify({ type: role, message: { role, content } })}\n`;
    const text = (words: string): object[] => [{ type: 'text', text: words }];
    at.write(
      't.jsonl',
      line('user', 'go') + line('assistant', text(BLOCK)) + line('user', 'again') + line('assistant', text('no')),
    );
    const input = { stop_hook_active: false, transcript_path: at.path('t.jsonl') };
    expect(await at.hook('stop', input)).toMatchObject({ decision: 'block' });
    at.write('t.jsonl', line('user', 'go') + line('assistant', text(BLOCK)));
    expect(await at.hook('stop', input)).toBeNull();
    expect(await at.hook('stop', { stop_hook_active: false, transcript_path: at.path('gone') })).toMatchObject({
      decision: 'block',
    });
  });

  test('who reported by a tool has reported', async () => {
    const at = project();
    const line = (role: string, content: unknown): string => `${JSON.stringify({ message: { role, content } })}\n`;
    const call = line('assistant', [{ type: 'tool_use', name: 'mcp__baton__baton_report', input: {} }]);
    const result = line('user', [{ type: 'tool_result', content: 'ok' }]);
    const last = line('assistant', [{ type: 'text', text: 'Reported.' }]);
    const input = { last_assistant_message: 'Reported.', transcript_path: at.path('t.jsonl') };
    at.write('t.jsonl', line('user', 'go') + call + result + last);
    expect(await at.hook('stop', input)).toBeNull();
    // One of an earlier turn does not count for this one.
    at.write('t.jsonl', line('user', 'go') + call + result + line('user', 'more') + last);
    expect(await at.hook('stop', input)).toMatchObject({ decision: 'block' });
  });

  test('a sub-agent of codex that says too much is asked for its report alone, and what it said is kept', async () => {
    const at = project();
    mkdirSync(at.path('.baton'));
    const said = `${'All that I saw. '.repeat(300)}\n\n${BLOCK}`;
    const input = { hook_event_name: 'SubagentStop', stop_hook_active: false, last_assistant_message: said };
    const reason = String((await at.hook('stop', { ...input, turn_id: 't' }))?.['reason']);
    const file = /is kept in (\S+): name that/.exec(reason)?.[1] ?? '';
    expect(readFileSync(file, 'utf8')).toBe(said);
    expect(dirname(file)).toBe(at.path('.baton/hooks/details'));
    expect(await at.hook('stop', { ...input, hook_event_name: 'Stop', turn_id: 't' })).toBeNull();
    // That of claude is cut on its way.
    expect(await at.hook('stop', input)).toBeNull();
  });

  test.each([
    [['stop'], 'not json'],
    [['stop'], '[]'],
    [['dance'], '{}'],
  ])('what cannot be answered never blocks: %s %s', async (args, input) => {
    const ran = await project().run(['hook', ...args], input);
    expect([ran.exit, ran.out]).toEqual([1, '']);
    expect(ran.err).toMatch(/^baton hook \w+: expected/);
  });
});

describe('hook tool', () => {
  const asked = { tool_name: 'Agent', tool_input: { description: 'look around' } };
  const long = `${'All that I saw. '.repeat(300)}\n\n${BLOCK}`;
  const responseOf = (text: string): object => ({
    status: 'completed',
    agentId: 'a1',
    content: [{ type: 'text', text }],
  });

  test('what is long becomes its block, with all of it in a file', async () => {
    const at = project();
    mkdirSync(at.path('.baton'));
    const answer = await at.hook('tool', { ...asked, tool_response: responseOf(long) });
    const { hookEventName, updatedToolOutput } = (answer?.['hookSpecificOutput'] ?? {}) as Record<string, unknown>;
    expect(hookEventName).toBe('PostToolUse');
    const { content, ...rest } = updatedToolOutput as { content: { text: string }[] };
    // The rest of the answer's form is its tool's.
    expect(rest).toEqual({ status: 'completed', agentId: 'a1' });
    const block = content[0]?.text ?? '';
    expect(block.length).toBeLessThan(1000);
    const report = parseAOPOutput(block);
    expect(report).toMatchObject({ status: 'success', summary: '- Made it.' });
    const file = /^\[AOP:DETAILS_FILE\] (.*)$/m.exec(block)?.[1] ?? '';
    expect(dirname(file)).toBe(at.path('.baton/hooks/details'));
    expect(readFileSync(file, 'utf8')).toBe(long);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(block).toContain('details: notes.md');
  });

  test('without a report, the block says so and how it begins', async () => {
    const at = project();
    const answer = await at.hook(
      'tool',
      { ...asked, tool_response: responseOf('Words and words. '.repeat(500)) },
      {
        BATON_DETAILS_DIR: at.root,
      },
    );
    const text = JSON.stringify(answer);
    expect(text).toContain('No report was given. It begins: Words and words.');
    expect(text).toContain('[AOP:STATUS] partial');
    expect(text).toContain('[AOP:TASK] look around');
    expect(readdirSync(join(at.root, 'details'))).toHaveLength(1);
    expect(text.length).toBeLessThan(1500);
  });

  test.each([
    ['what is short', responseOf(BLOCK)],
    ['one that was only started', { status: 'async_launched', agentId: 'a1' }],
    ['nothing', undefined],
  ])('%s stays as it is', async (_, response) => {
    expect(await project().hook('tool', { ...asked, tool_response: response })).toBeNull();
  });

  test('codex takes the block as what the hook has to say', async () => {
    const at = project();
    const answer = await at.hook('tool', { turn_id: 't', tool_response: long }, { BATON_DETAILS_DIR: at.root });
    expect(answer).toEqual({ decision: 'block', reason: expect.stringContaining('[AOP:SUMMARY]\n- Made it.') });
  });
});

describe('hook precompact', () => {
  test('writes the tasks as the protocol shows it, and says where', async () => {
    const at = project();
    const added = async (title: string): Promise<string> =>
      (await at.run(['task', 'add', '--title', title, '--json'])).json()['id'] as string;
    const ids = await Promise.all(['one', 'two', 'three'].map(added));
    await at.run(['task', 'move', ids[1] ?? '', 'blocked', '--reason', 'no key, password=hunter2']);
    const input = { hook_event_name: 'PreCompact', session_id: 'c-1', cwd: at.path('.'), trigger: 'auto' };
    const ran = await at.run(['hook', 'precompact'], JSON.stringify(input));
    expect([ran.err, ran.exit]).toEqual(['', 0]);
    const file = /are in (\S+\.yaml)\./.exec(ran.out)?.[1] ?? '';
    expect(dirname(file)).toBe(at.path('.baton/hooks/context'));
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('hunter2');
    expect(readYaml(text)).toMatchObject({
      ok: true,
      value: {
        version: '1.1.0',
        session_id: 'c-1',
        git_checkpoint: null,
        state: { persistent: {}, temporary: {} },
        tasks: {
          completed: [],
          in_progress: {},
          pending: [ids[2], ids[0]],
          waiting: { [ids[1] ?? '']: expect.stringMatching(/^blocked: no key/) },
        },
        titles: { [ids[0] ?? '']: 'one' },
        summaries: {},
      },
    });
    const codex = await at.hook('precompact', { ...input, turn_id: 't' });
    expect(codex).toEqual({ systemMessage: expect.stringContaining('.yaml') });
  });

  test('where Baton has no tasks it says nothing and makes nothing', async () => {
    const at = project();
    expect(await at.hook('precompact', { session_id: 'c-1', cwd: at.path('.') })).toBeNull();
    expect(readdirSync(at.path('.'))).toEqual([]);
  });
});
