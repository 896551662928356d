/** Commands that work: what they make and what they answer comes from the store, the graph and the runs. */
import { afterEach, describe, expect, test } from 'vitest';
import { countTokens } from '../../src/cli/tokens.ts';
import type { AnyMessage } from '../../src/core/laws/messages.ts';
import type { Task } from '../../src/core/task.ts';
import { waitingFor } from '../../src/runtime/people-inbox.ts';
import { VOCABULARY } from '../../src/session/vocabulary.ts';
import { makeScene, type Scene } from './scene.ts';
import { SESSION, type Talk, talk } from './talk.ts';

const AGENTS = {
  agents: {
    DevAgent: { kind: 'command', command: ['true'] },
    TestAgent: { kind: 'command', command: ['true'] },
  },
  teams: { backend: ['DevAgent'] },
};

const open: Talk[] = [];
const setting = async (config: object = AGENTS): Promise<Talk> => {
  const made = await talk({ config });
  open.push(made);
  return made;
};
afterEach(async () => {
  for (const each of open.splice(0)) await each.close();
});

const RUNTIME = { kind: 'runtime', name: 'baton' } as const;
const PERSON = { kind: 'person', name: 'ann' } as const;

const idOf = (reply: string): string => reply.replace(/^ack:/, '');
const find = async ({ store }: Pick<Talk, 'store'>, id: string): Promise<Task> => (await store.find(id)) as Task;
async function send({ store }: Pick<Talk, 'store'>, message: AnyMessage, by: typeof RUNTIME | typeof PERSON = RUNTIME) {
  const answer = await store.send({ message, by });
  if (answer.kind === 'refused') throw new Error(`${answer.refusal.code} ${answer.refusal.message}`);
  return answer;
}

/** Delegates a task and takes it for a run. */
async function begun(at: Talk, words: string, agent = 'DevAgent'): Promise<{ id: string; run: string }> {
  const id = idOf(await at.say(`#DELEGATE:${agent}:${words}`));
  // Several of them are in progress at once: none says that it writes anything.
  await send(at, { type: 'task.edit', id, writes: [] });
  await send(at, { type: 'task.claim', id, claimer: { agent }, leaseMs: 60_000 });
  return { id, run: `${id}-r1` };
}

async function finished(at: Talk, words: string, summary: string, passed = true): Promise<string> {
  const { id, run } = await begun(at, words);
  const verdict = passed ? 'proven' : 'contradicted';
  const findings = passed ? [] : ['expected auth.js, and it is not there'];
  await send(at, {
    type: 'note',
    event: 'run.evidence',
    task: id,
    run,
    detail: { claims: [{ what: 'output auth.js', verdict, detail: '' }], findings: [] },
  });
  await send(at, { type: 'run.report', run, outcome: 'done', summary });
  await send(at, { type: 'run.judge', run, passed, findings });
  return id;
}

describe('#DELEGATE', () => {
  test.each([
    ['P0', 'critical', 'ready'],
    ['P1', 'high', 'ready'],
    ['P2', 'normal', 'ready'],
    ['P3', 'low', 'backlog'],
  ])('%s is %s and %s', async (priority, expected, status) => {
    const at = await setting();
    const reply = await at.say(`#DELEGATE:DevAgent:implement_auth:${priority}`);
    expect(reply).toMatch(/^ack:TASK-\d{4}-\d\d-\d\d-001$/);
    expect(await find(at, idOf(reply))).toMatchObject({
      title: 'implement_auth',
      priority: expected,
      status,
      session: SESSION,
      routing: { agent: 'DevAgent' },
      parentId: null,
    });
    expect((await at.store.session(SESSION))?.facts?.['delegated']).toEqual({ agent: 'DevAgent', task: idOf(reply) });
  });

  test('whoever is not there is named with whom was meant, and nothing is made', async () => {
    const at = await setting();
    expect(await at.say('#DELEGATE:DevAgnt:x')).toBe('#ERROR:E002:unknown_agent DevAgnt, nearest DevAgent');
    // Where there is no room for whom was meant, nothing begins to say so.
    expect(await at.say('#DELEGATE:qa-reviewer-x-7:x')).toBe('#ERROR:E002:unknown_agent qa-reviewer-x-7');
    expect(await at.say('#DELEGATE:orchestrator:x')).toMatch(/^#ERROR:E002:unknown_agent/);
    expect(await at.say('#REPORT:all:status')).toBe('none');
  });

  test('a name in another case and a team are found', async () => {
    const at = await setting();
    expect((await find(at, idOf(await at.say('#DELEGATE:devagent:x')))).routing.agent).toBe('DevAgent');
    expect((await find(at, idOf(await at.say('#DELEGATE:backend:x')))).routing).toMatchObject({
      agent: null,
      team: 'backend',
    });
  });

  test('of a run it is a part of its task, within its depth and rights', async () => {
    const at = await setting();
    const { id, run } = await begun(at, 'lead it');
    const reply = await at.as('DevAgent', '#DELEGATE:TestAgent:check it', { run });
    expect(await find(at, idOf(reply))).toMatchObject({ parentId: id, depth: 1, session: SESSION, title: 'check it' });
    await send(at, { type: 'task.cancel', id }, PERSON);
    expect(await at.as('DevAgent', '#DELEGATE:TestAgent:again', { run })).toMatch(/^#ERROR:E005:/);

    const flat = await setting({ ...AGENTS, delegation: { max_depth: 0 } });
    const other = await begun(flat, 'alone');
    expect(await flat.as('DevAgent', '#DELEGATE:TestAgent:x', { run: other.run })).toMatch(/^#ERROR:E002:/);
  });
});

describe('#REPORT', () => {
  test('progress, status, errors and results are those of the store', async () => {
    const at = await setting();
    await finished(at, 'Auth', 'JWT with 15min expiry');
    const { id, run } = await begun(at, 'Login');
    await send(at, { type: 'note', event: 'run.progress', task: id, run, detail: { percentage: 80 } });
    await at.say('#DELEGATE:TestAgent:Tests');
    const broken = await begun(at, 'Deploy');
    await send(at, { type: 'run.fail', run: broken.run, code: 'E_TIMEOUT', message: 'it took too long', final: true });
    expect(await at.say('#REPORT:DevAgent:progress')).toBe('• 80% Login\n• Deploy: failed\n• Auth: done');
    expect(await at.say('#REPORT:TestAgent:progress')).toBe('• Tests: pending');
    expect(await at.say('#REPORT:DevAgent:status')).toBe('1 active, 1 failed, 1 done');
    expect(await at.say('#REPORT:DevAgent:errors:detailed')).toBe('• Deploy: E_TIMEOUT it took too long');
    expect(await at.say('#REPORT:DevAgent:results:detailed')).toBe('• Auth: JWT with 15min expiry');
    expect(await at.say('#REPORT:TestAgent:errors')).toBe('none');
    expect(await at.say('#REPORT:nobody:errors')).toMatch(/^#ERROR:E002:unknown_agent nobody/);
  });

  test('a topic without a rule is looked for in what was said; an audit has room', async () => {
    const at = await setting();
    await finished(at, 'Audit the forms', 'security: CSRF tokens are on all of the forms that we have here today');
    const reply = await at.say('#REPORT:DevAgent:security');
    expect(reply).toMatch(/^• Audit the forms: security: CSRF/);
    expect(countTokens(reply.slice(2))).toBeGreaterThan(8);
    expect(countTokens(reply.slice(2))).toBeLessThanOrEqual(16);
    expect(await at.say('#REPORT:DevAgent:weather')).toBe('none');
  });

  test('what went wrong with a P0 task is told at length, in a list and in an error', async () => {
    const at = await setting();
    const message = 'the database of the staging system did not answer within the time that it was given';
    for (const [priority, tokens] of [
      ['P1', 8],
      ['P0', 16],
    ] as const) {
      const id = idOf(await at.say(`#DELEGATE:DevAgent:Deploy:${priority}`));
      await send(at, { type: 'task.claim', id, claimer: { agent: 'DevAgent' }, leaseMs: 60_000 });
      await send(at, { type: 'run.fail', run: `${id}-r1`, code: 'E_TIMEOUT', message, final: true });
      const [item = ''] = (await at.say('#REPORT:DevAgent:errors')).split('\n');
      expect(countTokens(item.slice(2))).toBeLessThanOrEqual(tokens);
      expect(countTokens(item.slice(2))).toBeGreaterThan(tokens / 2);
      await send(at, { type: 'task.move', id, to: 'ready' }, PERSON);
      await send(at, { type: 'task.cancel', id }, PERSON);
      const error = (await at.say(`#RETRY:${id}`)).replace('#ERROR:E002:', '');
      expect(countTokens(error)).toBeLessThanOrEqual(priority === 'P0' ? 20 : 10);
    }
  });

  test('messages are kept until their reader has seen them whole', async () => {
    const at = await setting();
    await at.say('#DIRECT:TestAgent:auth_ready');
    await at.say(`#DIRECT:TestAgent:${'long words '.repeat(20)}`);
    expect(await at.say('#REPORT:TestAgent:messages')).toMatch(/^• orchestrator: auth_ready\n• orchestrator: long/);
    const first = await at.as('TestAgent', '#REPORT:TestAgent:messages');
    expect(first.split('\n')[0]).toBe('• orchestrator: auth_ready');
    const second = await at.as('TestAgent', '#REPORT:TestAgent:messages');
    expect(second.split('\n')).toHaveLength(1);
    expect(second).toMatch(/^• orchestrator: long/);
    expect(await at.as('DevAgent', '#REPORT:DevAgent:messages')).toBe('none');
  });

  test('every item keeps its limit', async () => {
    const at = await setting();
    for (let i = 0; i < 7; i++) await finished(at, `task number ${i} of many that are here`, 'words '.repeat(40));
    for (const [line, tokens] of [
      ['#REPORT:all:results', 8],
      ['#REPORT:all:results:brief', 4],
      ['#REPORT:all:results:detailed', 16],
      ['#REPORT:all:progress', 4],
    ] as const) {
      const items = (await at.say(line)).split('\n');
      expect(items).toHaveLength(4);
      expect(items.at(-1)).toMatch(/^• \+\d+ more → #REPORT:all:\w+(?::\w+)?:from=4$/);
      for (const item of items.slice(0, -1)) expect(countTokens(item.replace(/^• /, ''))).toBeLessThanOrEqual(tokens);
    }
    const [listed = ''] = (await at.say('#REPORT:all:results:limit=25')).split(' → ');
    expect(countTokens(listed)).toBeLessThanOrEqual(25);
  });
});

describe('what is known', () => {
  test('#ASK answers from state, variables and tasks; else none', async () => {
    const at = await setting();
    await at.say('#STATE:save:auth_service:port 8080');
    await at.done('{{AUTH_URL}}: "http://auth"');
    await finished(at, 'Implement auth', 'JWT is used');
    expect(await at.say('#ASK:auth')).toBe(
      '• auth_service: port 8080\n• AUTH_URL: http://auth\n• Implement auth: JWT is used',
    );
    expect(await at.say('#ASK:billing')).toBe('none');
  });

  test('#DEFINE explains the words of the language, what was saved, and commands', async () => {
    const at = await setting();
    expect(await at.say('#DEFINE:lease')).toBe('time a run may be silent');
    expect(await at.say('#DEFINE:Checkpoints')).toBe('files, state and tasks kept together');
    expect(await at.say('#DEFINE:#LOCK')).toBe('acquire exclusive lock (advisory)');
    await at.say('#STATE:save:lease:what we pay for the house');
    expect(await at.say('#DEFINE:lease')).toBe('what we pay for the house');
    expect(await at.say('#DEFINE:zebra')).toBe('none');
    for (const [word, meaning] of Object.entries(VOCABULARY))
      expect(countTokens(meaning), word).toBeLessThanOrEqual(15);
  });

  test('#SUMMARY counts, and says what matters now', async () => {
    const at = await setting();
    expect(await at.say('#SUMMARY')).toBe('none');
    await finished(at, 'Auth', 'done');
    await begun(at, 'Login');
    expect(await at.say('#SUMMARY')).toBe('1 active, 1 done; now: Login');
    expect(await at.say('#SUMMARY:auth')).toBe('Auth: done');
  });

  test('#NEXT is what can be begun, in its order', async () => {
    const at = await setting();
    expect(await at.say('#NEXT')).toBe('none');
    await at.say('#DELEGATE:DevAgent:normal one');
    await at.say('#DELEGATE:TestAgent:later:P3');
    const first = idOf(await at.say('#DELEGATE:TestAgent:urgent one:P0'));
    await send(at, { type: 'task.add', tasks: [{ title: 'waits', session: SESSION, dependsOn: [first] }] }, PERSON);
    expect(await at.say('#NEXT')).toBe('• P0 urgent one\n• P2 normal one');
    expect(await at.say('#NEXT:DevAgent')).toBe('• P2 normal one');
  });

  test('#EVALUATE tells the evidence', async () => {
    const at = await setting();
    expect(await at.say(`#EVALUATE:${await finished(at, 'Auth', 'ok')}`)).toBe('proven: 1 of 1 claims');
    expect(await at.say(`#EVALUATE:${await finished(at, 'Lie', 'ok', false)}:detailed`)).toBe(
      'contradicted: expected auth.js, and it is not there',
    );
    const { id } = await begun(at, 'Open');
    expect(await at.say(`#EVALUATE:${id}`)).toBe('unverified: in-progress, no evidence');
    expect(await at.say('#EVALUATE:nothing')).toMatch(/^#ERROR:E002:unknown_task nothing/);
  });

  test('the graph answers too: what is known, how sure it is, and what is stale', async () => {
    const at = await setting();
    const { id, run } = await begun(at, 'Research');
    const document = JSON.stringify({ data: { summary: 'Postgres holds the sessions' } });
    await send(at, {
      type: 'graph.apply',
      updates: [
        {
          kind: 'add-node',
          node: {
            id: 'finding_database_20260301_090000',
            type: 'Finding',
            createdBy: 'DevAgent',
            confidence: 0.95,
            sources: [],
            domain: null,
            outputType: null,
            ready: true,
            nextStage: null,
            topic: 'database',
          },
          document,
        },
      ],
      escalate: { below: 0.5, domains: {} },
      session: SESSION,
      task: id,
      run,
    });
    expect(await at.say('#ASK:postgres')).toBe('• Finding: Postgres holds the sessions');
    expect(await at.say('#DEFINE:database')).toBe('Postgres holds the sessions');
    expect(await at.say('#REPORT:DevAgent:database')).toBe('• Finding: Postgres holds the sessions');
    const said = await at.say('#EVALUATE:finding_database_20260301_090000');
    expect(said).toMatch(/^confidence 0\.95, ready, Postgres/);
    await send(at, { type: 'graph.stale', nodes: ['finding_database_20260301_090000'], reason: 'moved to sqlite' });
    expect(await at.say('#EVALUATE:finding_database_20260301_090000')).toMatch(/^confidence 0\.95, stale: moved/);
  });
});

describe('what is to be done about it', () => {
  test('#RETRY makes it ready again; a run only what it has handed on', async () => {
    const at = await setting();
    const { id, run } = await begun(at, 'Deploy');
    await send(at, { type: 'run.fail', run, code: 'E_TIMEOUT', message: 'too long', final: true });
    expect(await at.as('TestAgent', `#RETRY:${id}`, { run: 'TASK-2026-01-01-001-r1' })).toMatch(/^#ERROR:E005:/);
    expect(await at.say(`#RETRY:${id}`)).toBe(`ack:${id}`);
    expect((await find(at, id)).status).toBe('ready');
    expect(await at.say(`#RETRY:${id}`)).toBe('#ERROR:E002:it is ready already');
    expect(await at.say('#RETRY:nothing')).toBe('#ERROR:E002:unknown_task nothing');
    expect(await (await setting()).say('#RETRY')).toBe('#ERROR:E002:expected a task');
  });

  test('#ESCALATE reaches the inbox, raises by one step and tells who listens for what is urgent', async () => {
    const at = await setting();
    await at.as('TestAgent', '#SUBSCRIBE:priority_alert');
    const id = idOf(await at.say('#DELEGATE:DevAgent:Deploy'));
    expect(await at.say(`#ESCALATE:${id}`)).toBe(`ack:ask-1 ${id} P2→P1`);
    expect((await find(at, id)).priority).toBe('high');
    expect(await at.say(`#ESCALATE:${id}`)).toBe('#ERROR:E002:in the inbox already: ask-1');
    expect((await find(at, id)).priority).toBe('high');
    expect(await at.say(`#ESCALATE:${id}:it has to be today: 18:00`)).toBe(`ack:ask-2 ${id} P1→P0`);
    expect(await at.say('#ESCALATE:deploy:a third time')).toBe(`ack:ask-3 ${id}`);
    expect(await at.say('#ESCALATE:the house is on fire')).toBe('ack:ask-4');
    expect(await at.say('#ESCALATE:TASK-2026-01-01-999')).toMatch(/^#ERROR:E002:unknown_task/);
    expect(await (await setting()).say('#ESCALATE')).toBe('#ERROR:E002:expected a task');
    expect((await waitingFor(at.store)).map(({ id: item, question }) => [item, question])).toEqual([
      ['ask-1', `${id}: Deploy`],
      ['ask-2', `${id}: Deploy: it has to be today: 18:00`],
      ['ask-3', `${id}: Deploy: a third time`],
      ['ask-4', 'the house is on fire'],
    ]);
    const letters = Object.values((await at.store.session(SESSION))?.letters ?? {});
    expect(letters.map(({ to, channel }) => `${to} ${channel}`)).toEqual(Array(4).fill('TestAgent priority_alert'));
    expect(letters.at(-1)?.text).toBe('the house is on fire');
  });

  test('#COORDINATE gives them a channel of their own and tells them', async () => {
    const at = await setting();
    const reply = await at.say('#COORDINATE:DevAgent:TestAgent');
    expect(reply).toBe('DevAgent, TestAgent → devagent-testagent');
    expect(await at.as('DevAgent', '#BROADCAST:devagent-testagent:hello')).toBe('sent:1');
    expect(await at.as('TestAgent', '#REPORT:TestAgent:messages:limit=60')).toContain(
      'DevAgent #devagent-testagent: hello',
    );
    expect(await at.say('#COORDINATE:nobody')).toMatch(/^#ERROR:E002:unknown_agent/);
    expect(await at.say('#COORDINATE')).toBe('#ERROR:E002:expected agents, got none');
  });
});

describe('before what is risky', () => {
  const refs = (scene: Scene): string => scene.git('for-each-ref', '--format=%(refname)', 'refs/baton');

  test('a P0 delegation takes a checkpoint, any other none', async () => {
    const scene = await makeScene({ git: true, config: AGENTS });
    await scene.say('#DELEGATE:DevAgent:quiet:P1');
    expect(refs(scene)).toBe('');
    expect(await scene.say('#DELEGATE:DevAgent:fix the outage:P0')).toMatch(/^ack:/);
    expect(refs(scene)).toBe('refs/baton/s/cp_001');
    expect((await scene.store.session(SESSION))?.checkpoints?.['cp_001']).toMatchObject({
      kind: 'auto',
      name: 'before_fix_the_outage',
    });
  });

  test('without a repository nothing is in its way', async () => {
    const scene = await makeScene({ config: AGENTS });
    expect(await scene.say('#DELEGATE:DevAgent:fix it:P0')).toMatch(/^ack:/);
    expect([(await scene.store.session(SESSION))?.checkpoints ?? {}, scene.warnings]).toEqual([{}, []]);
  });
});

test('an agent may be named like what every object has', async () => {
  const at = await setting({
    ...AGENTS,
    agents: { ...AGENTS.agents, constructor: { kind: 'command', command: ['true'] } },
  });
  await send(at, { type: 'task.add', tasks: [{ title: 'x', session: SESSION, routing: { agent: 'constructor' } }] });
  expect(await at.say('#DIRECT:constructor:hello')).toBe('sent:1');
  expect(await at.say('#REPORT:constructor:progress')).not.toMatch(/^#ERROR/);
  const made = await at.say('#DELEGATE:constructor:tidy up');
  expect((await find(at, idOf(made))).routing).toMatchObject({ agent: 'constructor', team: null });
});
