/**
 * The same completion (done, a summary, a deliverable) through every door by which an agent or a person can report. One `baton serve` takes them
 * all; what the journal and `run_result.json` hold afterwards is the same for each, as far as its dialect has words for it.
 */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Task } from '../../src/core/task.ts';
import { openStore } from '../../src/store/open.ts';
import { until } from '../helpers/until.ts';
import { baton, startBaton, stopStarted } from './baton.ts';

const SUMMARY = 'The counter is made.';
const payload = { outcome: 'done', notes: SUMMARY, deliverables: ['made.txt'] };
/** In a shell script, where the ids of the run are known. */
const aof = (): string =>
  `{"protocol":"aof","version":1,"type":"completion.report","taskId":"$BATON_TASK_ID","fromAgent":"x","sentAt":"2026-11-16T10:00:00Z","payload":${JSON.stringify(payload)}}`;
const response = (): string =>
  JSON.stringify({
    aop_version: '2.0.2-C',
    schema_version: '2.0.2',
    protocol_family: 'AOP',
    message_type: 'RESPONSE',
    session_id: '$BATON_SESSION',
    task_id: '$BATON_TASK_ID',
    agent: { name: 'x', provider: 'OTHER', model: 'none' },
    task_status: { state: 'COMPLETED', final_signal: 'SUCCESS' },
    execution_summary: {
      summary: SUMMARY,
      actions: ['made it'],
      output_artifacts: [{ path: 'made.txt', type: 'FILE', status: 'UNCHANGED' }],
    },
  });
const say = (text: string, to = ''): string => `cat <<END ${to}\n${text}\nEND`;
const call = (method: string, params: object): string =>
  JSON.stringify({ jsonrpc: '2.0', id: method.length, method, params });
const initialize = call('initialize', {
  protocolVersion: '2025-06-18',
  capabilities: {},
  clientInfo: { name: 't', version: '1' },
});
const complete = call('tools/call', {
  name: 'aof_task_complete',
  arguments: { outcome: 'done', summary: SUMMARY, deliverables: ['made.txt'] },
});
const POST = `
fetch(process.env.BATON_URL + '/v1/messages', {
  method: 'POST',
  headers: { authorization: 'Bearer ' + process.env.BATON_TOKEN, 'content-type': 'text/plain' },
  body: require('node:fs').readFileSync(0),
}).then((answer) => answer.text()).then((text) => console.error(text));
`;

interface Door {
  /** What its agent does, in shell; none where the report is given from outside. */
  readonly script: string | null;
  readonly channel: string;
  /** What its dialect cannot say. */
  readonly without?: readonly 'deliverables'[];
}

const DOORS: Readonly<Record<string, Door>> = {
  'printed-aop1': {
    script: say(
      `[AOP:START]\n[AOP:TASK] it\n[AOP:SUMMARY]\n${SUMMARY}\n[AOP:DETAILS_FILE] none\n[AOP:STATUS] success\n[AOP:END]`,
    ),
    channel: 'stdout',
    without: ['deliverables'],
  },
  'printed-aof': { script: say(`AOF/1 ${aof()}`), channel: 'stdout' },
  'printed-response': { script: say(response()), channel: 'stdout' },
  'run-socket': { script: say(aof(), '| $BATON_CLI send >&2'), channel: 'socket' },
  // The answer is waited for: a client that hangs up has asked nothing.
  mcp: {
    script: `{ printf '%s\\n' '${initialize}' '{"jsonrpc":"2.0","method":"notifications/initialized"}' '${complete}'; sleep 3; } | $BATON_CLI mcp >&2`,
    channel: 'socket',
  },
  http: { script: say(aof(), '| node post.cjs'), channel: 'http' },
  'result-file': {
    script: `cat > "$BATON_DATA/runs/$BATON_TASK_ID/run_result.json" <<END\n{"runId":"$BATON_RUN_ID","taskId":"$BATON_TASK_ID",${JSON.stringify(payload).slice(1)}\nEND`,
    channel: 'file',
  },
  inbox: { script: null, channel: 'inbox' },
};

let workspace = '';
let dir = '';
const ids = new Map<string, string>();

const add = (door: string, ...more: string[]): string =>
  String(baton(['task', 'add', '--title', door, '--json', ...more], '', workspace).json()['id']);

beforeAll(async () => {
  workspace = realpathSync(mkdtempSync(join(tmpdir(), 'baton-doors-')));
  dir = join(workspace, '.baton');
  await (await openStore(dir, { create: true })).close();
  writeFileSync(join(workspace, 'post.cjs'), POST);
  writeFileSync(join(workspace, 'made.txt'), 'made\n');
  const agents = Object.entries(DOORS).flatMap(([name, { script }]) =>
    script === null ? [] : [[name, { kind: 'command', command: ['sh', '-c', script], env: { BATON_DATA: dir } }]],
  );
  writeFileSync(
    join(dir, 'config.yaml'),
    JSON.stringify({ defaults: { sandbox: 'off' }, agents: Object.fromEntries(agents) }),
  );
  const dropped = add('inbox');
  ids.set('inbox', dropped);
  baton(['task', 'move', dropped, 'in-progress'], '', workspace);
  const serve = startBaton(['serve', '--port', '0', '--json'], workspace);
  await until('it serves', () => serve.out().includes('"url"'));
  // Before anything runs: a file that is put there later may be an agent's.
  const text = aof().replace('$BATON_TASK_ID', dropped);
  mkdirSync(join(dir, 'inbox'), { recursive: true });
  writeFileSync(join(workspace, 'message'), text);
  renameSync(join(workspace, 'message'), join(dir, 'inbox', 'message.json'));
  const store = await openStore(dir);
  try {
    const isOver = async (id: string): Promise<boolean> => {
      const { status } = (await store.find(id)) as Task;
      return !['ready', 'in-progress'].includes(status);
    };
    await until('the dropped file is taken', () => isOver(dropped), 60_000);
    for (const [name, { script }] of Object.entries(DOORS))
      if (script !== null) ids.set(name, add(name, '--agent', name));
    for (const id of ids.values()) await until(`${id} is over`, () => isOver(id), 60_000);
    await store.settled();
  } finally {
    await store.close();
  }
}, 180_000);

afterAll(() => {
  stopStarted();
  rmSync(workspace, { recursive: true, force: true, maxRetries: 5 });
});

describe('the same report', () => {
  test.each(Object.keys(DOORS))('through %s', async (name) => {
    const { channel, without = [] } = DOORS[name] as Door;
    const id = ids.get(name) ?? '';
    const store = await openStore(dir);
    try {
      const task = (await store.find(id)) as Task;
      const events = (await store.history(id)).flatMap((record) => record.events).filter((event) => event.task === id);
      const received = events.filter(({ type, detail }) => type === 'protocol.message.received' && detail?.['outcome']);
      expect(received, JSON.stringify(events)).toHaveLength(1);
      expect(received[0]?.detail).toMatchObject({
        channel,
        outcome: 'done',
        report: { outcome: 'done', summary: SUMMARY },
      });
      expect(task).toMatchObject({ status: 'done', verdict: 'unverified', summary: SUMMARY, run: { outcome: 'done' } });
      const result = JSON.parse(readFileSync(join(dir, 'runs', id, 'run_result.json'), 'utf8'));
      expect(result).toMatchObject({ runId: task.run?.id, taskId: id, outcome: 'done', notes: SUMMARY });
      const deliverables = without.includes('deliverables') ? undefined : ['made.txt'];
      expect(result.deliverables).toEqual(deliverables);
      // The record of the claim is before the verdict.
      const types = events.map(({ type }) => type);
      expect(types.indexOf('protocol.message.received')).toBeLessThan(types.indexOf('run.judged'));
    } finally {
      await store.close();
    }
  });
});
