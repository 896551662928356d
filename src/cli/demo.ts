/** `baton demo`: five agents with bad habits in a temporary repository, and what Baton makes of them. No key, no network, nothing left behind. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { configOf } from '../core/config.ts';
import type { Task } from '../core/task.ts';
import { isoTime } from '../core/time.ts';
import { whereIs } from '../process/where.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import { endSession, kept, madeEnvelope, openHost, workOn } from '../runtime/index.ts';
import { createTasks } from '../runtime/tasks/create-tasks.ts';
import { openStore } from '../store/open.ts';
import { git } from '../workspace/git.ts';
import { DEMO_AGENTS, type DemoAgent } from './demo-agents.ts';
import type { Globals } from './globals.ts';
import { note, print, printJson } from './io.ts';
import { tasksOfMessages } from './new-tasks.ts';
import { createProgress } from './progress.ts';
import { reportText } from './report-text.ts';
import { bold, dim } from './style.ts';
import { ENDING_RUNS, untilStopped } from './until-stopped.ts';

const SESSION = 'demo';
const SETTINGS = '{ "port": 8080 }\n';

export async function demo({ json }: Globals): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'baton-demo-'));
  const leaving = untilStopped(ENDING_RUNS);
  try {
    await makeWorkspace(folder);
    const dir = join(folder, '.baton');
    const store = await openStore(dir, { create: true });
    const progress = createProgress(json);
    const config = configOf({ agents: agentsIn(folder), defaults: { parallel: 2 } });
    const host = await openHost({ store, dir, config, workspace: folder, onLive: progress.show, warn: progress.say });
    try {
      if (!json) print(`${bold('Five tasks go to five agents, in a temporary repository:')}\n${STORY}\n`);
      const by = { kind: 'person', name: 'user' } as const;
      const { answer } = await createTasks(host, tasksOfMessages(messagesFor(folder)), { by });
      if (answer.kind === 'refused') throw new Error(answer.refusal.message);
      await workOn(host, { only: answer.tasks.map(({ id }) => id), parallel: 2, untilEmpty: true, leaving });
      const report = await endSession({
        store,
        dir: host.dir,
        session: SESSION,
        auditPath: config.audit.storage_path,
        now: host.now(),
      });
      progress.end();
      if (json) return printJson(report);
      const tasks = await Promise.all(answer.tasks.map(async ({ id }) => (await store.find(id)) as Task));
      await tellWhatReachedTheParent(host.dir, tasks);
      print(
        `\n${bold('settings.json, which an agent broke, is what it was:')} ${(await readFile(join(folder, 'settings.json'), 'utf8')).trim()}\n`,
      );
      print(reportText(report, false));
      print(`\n${bold('Try it:')} baton run "Say what this repository is for" --agent claude`);
    } finally {
      progress.end();
      await host.close();
      await store.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const STORY = `  DEMO-1 planner   plans, as it should
  DEMO-2 chatty    does its work and prints two megabytes
  DEMO-3 fragile   is killed half-way, and goes on at the checkpoint it had not passed
  DEMO-4 clumsy    breaks a file and fails: the file is put back
  DEMO-5 liar      claims "done" and has done nothing: it is caught`;

async function makeWorkspace(folder: string): Promise<void> {
  for (const [name, script] of Object.entries(DEMO_AGENTS)) await writeFile(join(folder, `${name}.mjs`), script);
  await writeFile(join(folder, 'settings.json'), SETTINGS);
  if (whereIs('git') === null) return note('baton: git is not installed; the demo does without it');
  await git(folder, ['init', '--quiet']);
  await git(folder, ['add', '.']);
  await git(folder, ['-c', 'user.name=baton', '-c', 'user.email=baton@localhost', 'commit', '--quiet', '-m', 'Begin']);
}

const agentsIn = (folder: string): Record<string, unknown> =>
  Object.fromEntries(
    Object.keys(DEMO_AGENTS).map((name) => [
      name,
      { kind: 'command', command: [process.execPath, join(folder, `${name}.mjs`)] },
    ]),
  );

function messagesFor(workspace: string): TaskMessage[] {
  const task = (number: number, agent: DemoAgent, objective: string): TaskMessage => {
    const made = madeEnvelope({
      taskId: `DEMO-${number}`,
      session: SESSION,
      createdAt: isoTime(Date.now()),
      agent,
      objective,
      workspace,
    });
    return { ...made, task: { ...made.task, access: { network: 'NONE' } } };
  };
  const expecting = (message: TaskMessage, path: string, command?: string): TaskMessage => ({
    ...message,
    task: {
      ...message.task,
      expected_outputs: [
        {
          type: 'FILE',
          path,
          ...(command === undefined ? {} : { validation: { command, expects: 'EXIT_CODE_0' } }),
          rollback_snapshot: { enabled: true, snapshot_strategy: 'COPY' },
        },
      ],
    },
  });
  const after = (message: TaskMessage, id: string): TaskMessage => ({
    ...message,
    task: { ...message.task, extensions: { x_depends_on: [id] } },
  });
  const fragile = after(task(3, 'fragile', 'Write the report.'), 'DEMO-2');
  return [
    expecting(task(1, 'planner', 'Plan how to count the words.'), 'plan.md'),
    after(expecting(task(2, 'chatty', 'Count the words.'), 'words.txt', 'grep -q 42 words.txt'), 'DEMO-1'),
    {
      ...fragile,
      execution_policy: { max_retries: 1, retry_backoff_seconds: [0] },
      phases: [
        phase('PHASE-DRAFT', 1, 'Draft', 'grep -q Draft report.md'),
        phase('PHASE-RESULT', 2, 'Result', 'grep -q 42 report.md'),
      ],
    },
    expecting(task(4, 'clumsy', 'Change the port in settings.json.'), 'settings.json'),
    expecting(task(5, 'liar', 'Write tests.'), 'tests.js', 'node tests.js'),
  ];
}

const phase = (
  id: string,
  order: number,
  label: string,
  command: string,
): NonNullable<TaskMessage['phases']>[number] => ({
  phase_id: id,
  phase_order: order,
  label,
  checkpoints: [
    {
      checkpoint_id: `CP-${label.toUpperCase()}`,
      validation: { command, expects: 'EXIT_CODE_0' },
      recovery_strategy: 'RETRY',
    },
  ],
});

async function tellWhatReachedTheParent(dir: string, tasks: readonly Task[]): Promise<void> {
  const blocks: string[] = [];
  for (const { run } of tasks) if (run !== null) blocks.push((await kept(dir, run.id, 'block.txt')) ?? '');
  print(bold('\nWhat reached the parent, of each task its block:\n'));
  for (const block of blocks) print(`${dim(block.replace(/^/gm, '   ').trimEnd())}\n`);
}
