/** The table of tools: what each is called, takes and gives, and what it asks of the door. No tool knows who calls it; the door does. */
import * as z from 'zod';
import { writeYaml } from '../../protocol/text/yaml.ts';
import { DOOR_INPUTS, LONGEST_WAIT_MS } from '../../runtime/door-inputs.ts';
import type { Door } from '../../runtime/doors.ts';
import { joined, resultOf } from '../../runtime/joined.ts';
import {
  cut,
  ShownResult,
  ShownRouted,
  ShownTask,
  shownResults,
  shownRouted,
  shownTask,
  shownTasks,
  taskLine,
  words,
} from './shown.ts';

interface ToolResult {
  readonly structured: Readonly<Record<string, unknown>>;
  readonly text: string;
}

export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly input: z.ZodObject;
  readonly output: z.ZodObject;
  /** It changes nothing. */
  readonly reads: boolean;
  /** Its text has a limit of its own. */
  readonly isLong: boolean;
  call(door: Door, input: unknown): Promise<ToolResult>;
}

interface Defined<In extends z.ZodObject, Out extends z.ZodObject> {
  readonly title: string;
  readonly description: string;
  readonly input: In;
  readonly output: Out;
  readonly reads?: boolean;
  readonly isLong?: boolean;
  call(
    door: Door,
    input: z.infer<In>,
  ): Promise<{ readonly structured: z.infer<Out> & Record<string, unknown>; readonly text: string }>;
}

/** The server has looked at the input by the tool's own schema before it is called. */
const tool = <In extends z.ZodObject, Out extends z.ZodObject>(name: string, defined: Defined<In, Out>): Tool => ({
  reads: false,
  isLong: false,
  ...defined,
  name,
  call: (door, input) => defined.call(door, input as z.infer<In>),
});

/** A node is named here as it is in its own dialect. */
const { node: node_id, ...loadMore } = DOOR_INPUTS.load.shape;
const Load = z.strictObject({ node_id, ...loadMore });
/** A program gives up on a tool after a minute, so nobody says how long. */
const Do = DOOR_INPUTS.do.omit({ timeoutMs: true });

const OneTask = z.object({ task: ShownTask });
const SomeTasks = z.object({ tasks: z.array(ShownTask), more: z.number().describe('how many are not shown') });

const SomeResults = z.object({ tasks: z.array(ShownResult), more: z.number().describe('how many are not shown') });

const DEFAULT_LIST = 20;
const DEFAULT_CONTEXT_CHARS = 4000;
const DEFAULT_WAIT_MS = 30_000;
/** `#HELP:all` is the longest. */
const MOST_REPLY = 20_000;
/** The door has bounded the node; as YAML it is a little longer than as JSON. */
const MOST_NODE_TEXT = 24_000;

export const TOOLS: readonly Tool[] = [
  tool('aof_task_create', {
    title: 'Create a task',
    description:
      'Makes a task that somebody else will do: a part of your own task where you work on one. Answers with its id; see baton_wait.',
    input: DOOR_INPUTS.create,
    output: OneTask,
    async call(door, input) {
      const task = shownTask(await door.create(input));
      return { structured: { task }, text: `Created ${taskLine(task)}` };
    },
  }),
  tool('aof_task_update', {
    title: 'Update a task',
    description: 'Says how far a task is: a status, progress, blockers or notes; at least one of them.',
    input: DOOR_INPUTS.update,
    output: OneTask,
    async call(door, input) {
      const task = shownTask(await door.update(input));
      return { structured: { task }, text: `Noted. ${taskLine(task)}` };
    },
  }),
  tool('aof_task_complete', {
    title: 'Complete a task',
    description:
      'Says how a task ended: done, partial, needs_review or blocked. What you claim for your own task is checked when you stop, so stop after this.',
    input: DOOR_INPUTS.complete,
    output: z.object({ task: ShownTask, note: z.string() }),
    async call(door, input) {
      const task = shownTask(await door.complete(input));
      const note = `Taken as ${input.outcome}; it counts once it is checked.`;
      return { structured: { task, note }, text: `${note} ${taskLine(task)}` };
    },
  }),
  tool('aof_task_list', {
    title: 'List tasks',
    description: 'The tasks that you may see, by status or session.',
    input: DOOR_INPUTS.list,
    output: SomeTasks,
    reads: true,
    async call(door, input) {
      const shown = shownTasks(await door.list({ limit: DEFAULT_LIST, ...input }));
      return { structured: shown, text: lines(shown.tasks, shown.more, 'There is none.') };
    },
  }),
  tool('aof_handoff', {
    title: 'Hand work on',
    description:
      'Hands a part of your task to another agent, with what has to be true when it is done. Answers with the new task; see baton_wait.',
    input: DOOR_INPUTS.handoff,
    output: OneTask,
    async call(door, input) {
      const task = shownTask(await door.handoff(input));
      return { structured: { task }, text: `Handed to ${input.toAgent}. ${taskLine(task)}` };
    },
  }),
  tool('aof_message', {
    title: 'Send a message',
    description: 'Sends messages of any dialect as text, and answers what became of each.',
    input: DOOR_INPUTS.message,
    output: z.object({ results: z.array(ShownRouted), more: z.number() }),
    async call(door, input) {
      const shown = shownRouted(await door.message(input));
      const told = shown.results.map(({ result, reason, task }) =>
        [result, task, reason].filter((part) => part !== null).join(': '),
      );
      return { structured: shown, text: told.join('\n') || 'There was no message in it.' };
    },
  }),
  tool('baton_report', {
    title: 'Report',
    description:
      'Your final report, in place of the [AOP:…] block. Call it once, when all is done, and stop after it; the same limits hold.',
    input: DOOR_INPUTS.report,
    output: z.object({ accepted: z.boolean(), reason: z.string().nullable() }),
    async call(door, input) {
      const { accepted, reason } = await door.report(input);
      const why = reason === null ? null : words(reason);
      return {
        structured: { accepted, reason: why },
        text: accepted
          ? `Your report is taken${why === null ? '' : `: ${why}`}.`
          : `Not accepted: ${why ?? 'no reason'}`,
      };
    },
  }),
  tool('baton_context', {
    title: 'What to know',
    description:
      'What you need to know for the task that you work on: its objective, what was handed over, its children.',
    input: DOOR_INPUTS.context,
    output: z.object({ context: z.string() }),
    reads: true,
    isLong: true,
    async call(door, { maxChars = DEFAULT_CONTEXT_CHARS }) {
      // The one text that may be longer: it is what was asked for, and how long it may be was said.
      const context = cut(await door.context({ maxChars }), maxChars);
      return { structured: { context }, text: context };
    },
  }),
  tool('baton_load', {
    title: 'Load a node',
    description:
      'A node of the knowledge graph by its id, if it may be built upon: the fields that you require are there, it is ready, sure enough and not stale. That you used it is written down, so load what you build upon.',
    input: Load,
    output: z.object({
      node: z.record(z.string(), z.unknown()),
      shortened: z.array(z.string()).describe('fields of its data that are too long to be shown whole'),
    }),
    isLong: true,
    async call(door, { node_id: node, require: required }) {
      const { shortened, ...loaded } = await door.load({
        node,
        ...(required === undefined ? {} : { require: required }),
      });
      const cutNote = shortened.length === 0 ? '' : `\n# shortened: ${shortened.join(', ')}`;
      const text = cut(`${writeYaml(loaded)}${cutNote}`, MOST_NODE_TEXT);
      return { structured: { node: loaded, shortened: [...shortened] }, text };
    },
  }),
  tool('baton_do', {
    title: 'Say a line to the session',
    description:
      'One line of the session language, as you and in your session: #STATE, #LOCK, #UNLOCK, #WAIT, #SIGNAL, #DIRECT, #BROADCAST, #REPORT, #DELEGATE and more (#HELP). Locks are advisory: they hold off other #LOCKs, not changes to files. An answer that begins with #ERROR says what was wrong. #WAIT gives up after 54 seconds here; say it again to go on waiting.',
    input: Do,
    output: z.object({
      reply: z.string(),
      commands: z.array(z.string()).describe('what the line was taken for'),
      clarify: z.string().nullable().describe('a question back: nothing was done'),
      failed: z.boolean(),
    }),
    isLong: true,
    async call(door, input) {
      const { reply, commands, clarify, failed } = await door.do({ ...input, timeoutMs: LONGEST_WAIT_MS });
      const text = cut(reply, MOST_REPLY);
      return { structured: { reply: text, commands: [...commands], clarify, failed }, text };
    },
  }),
  tool('baton_wait', {
    title: 'Wait for tasks',
    description:
      'Waits until one of the tasks has ended or changed, under a minute; then says how they are. Call it again to go on waiting.',
    input: DOOR_INPUTS.wait,
    output: SomeResults,
    reads: true,
    isLong: true,
    async call(door, { taskIds, timeoutMs = DEFAULT_WAIT_MS }) {
      const tasks = await door.wait({ taskIds, timeoutMs });
      // Its id is where all of it is found.
      const text = joined(
        tasks.map((task) => resultOf(task, null)),
        undefined,
        'aof_task_list',
      );
      return { structured: shownResults(tasks), text: text === '' ? 'None of them has changed.' : text };
    },
  }),
];

function lines(tasks: readonly ShownTask[], more: number, none: string): string {
  if (tasks.length === 0) return none;
  const left = more === 0 ? [] : [`and ${more} more`];
  return [...tasks.map(taskLine), ...left].join('\n');
}
