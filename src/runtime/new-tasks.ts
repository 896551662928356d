/** What a text that asks for tasks becomes: of every TASK in it a task, else of all of it the body of one. Pure; reading and asking are elsewhere. */
import { BatonError } from '../core/errors.ts';
import { isFields, parseJson } from '../core/fields.ts';
import type { NewTask } from '../core/laws/messages.ts';
import type { Policy } from '../core/policy.ts';
import { type Alternative, isTaskId, type RetryPolicy, type TaskPriority } from '../core/task.ts';
import { inPattern, type PatternItem } from '../core/workflow.ts';
import { policyOf } from '../protocol/aop2/policy.ts';
import type { TaskMessage } from '../protocol/aop2/schema.ts';
import type { V1Prompt } from '../protocol/aop2/v1.ts';
import { type DetectOptions, detect, type Found } from '../protocol/detect.ts';
import { stripControls } from '../protocol/text/clean.ts';
import { quote } from '../protocol/text/quote.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { OPEN } from './envelope.ts';

export const MOST_TITLE = 120;
/** More of a line than this is not looked at for a title. */
const MOST_LINE = 1_000;

/** At least one; throws where the text holds a TASK that is not valid. */
export function newTasksOf(text: string, options: TaskOptions = {}): NewTask[] {
  const { found, messages } = taskMessagesIn(text, options);
  if (messages.length === 0) return [plainTask(text, found)];
  const made = tasksOfMessages(messages);
  const isAlone = parseJson(text) !== undefined;
  const isRepaired = found.some((message) => isTask(message) && !message.valid);
  if (isAlone && made.length === 1 && !isRepaired) return withText(made, 'inputs/task.json', text);
  // Words around a TASK may matter to whoever wrote them.
  return made.length > 1 ? made : withText(made, 'inputs/source.md', text);
}

interface TaskOptions extends DetectOptions {
  /** What to take for a TASK that is not valid; null refuses it. */
  readonly repair?: (broken: Found) => TaskMessage | null;
}

/** The TASKs of a text; throws where one is not valid. */
export function taskMessagesIn(
  text: string,
  { repair, ...options }: TaskOptions = {},
): { readonly found: readonly Found[]; readonly messages: readonly TaskMessage[] } {
  const found = messagesIn(text, options);
  const tasks = found.filter(isTask);
  const messages = tasks.map((task, i) => {
    const repaired = task.valid ? null : (repair?.(task) ?? null);
    if (repaired === null) refuseInvalid(task, tasks.length > 1 ? `TASK ${i + 1}` : 'the TASK');
    return repaired ?? (task.value as TaskMessage);
  });
  return { found, messages };
}

/** A task of each, with what they wait for by their session's pattern. */
export function tasksOfMessages(messages: readonly TaskMessage[]): NewTask[] {
  const placed = inPattern(messages.map(toPattern));
  return messages.map((message, i) => ({ ...ofMessage(message), ...placed[i] }));
}

/** Also one that does not say what it is: where it has something to do it may be taken for one. */
export const isTask = ({ dialect, kind }: Pick<Found, 'dialect' | 'kind'>): boolean =>
  dialect === 'aop2' && (kind === 'TASK' || kind === null);

const withText = (tasks: readonly NewTask[], name: string, text: string): NewTask[] =>
  tasks.map((task) => ({ ...task, texts: { ...task.texts, [name]: text } }));

/** The messages of a text; those of a JSON array are its items. */
function messagesIn(text: string, options: DetectOptions): Found[] {
  const list = text.trimStart().startsWith('[') ? parseJson(text) : undefined;
  if (!Array.isArray(list) || !list.some((item) => isFields(item) && Object.hasOwn(item, 'aop_version'))) {
    const found = detect(text, options);
    refuseBroken(text, found);
    return found;
  }
  return list.map((item, i): Found => {
    const [message] = isFields(item) ? detect(JSON.stringify(item), options) : [];
    if (message !== undefined && isTask(message)) return message;
    throw new BatonError('E_SCHEMA_VALIDATION', `expected a list of TASKs, got ${quote(item)} as item ${i + 1}`);
  });
}

function refuseInvalid(task: Found, what: string): void {
  if (task.valid) return;
  const problem = task.problems.find(({ severity }) => severity === 'error');
  if (problem === undefined) return;
  const place = problem.path === '' ? '' : ` at ${problem.path}`;
  throw new BatonError(problem.code, `${what} is not valid${place}: ${problem.message}`, 'baton check FILE lists all');
}

/** JSON that was meant for a TASK and breaks off is not a body. */
function refuseBroken(text: string, found: readonly Found[]): void {
  const start = text.trimStart();
  if (found[0]?.dialect !== 'unstructured' || !/^[{[]/.test(start) || !start.includes('"aop_version"')) return;
  throw new BatonError('E_PARSE_FAILURE', 'expected a TASK, got JSON that is broken or cut off', null);
}

function plainTask(text: string, found: readonly Found[]): NewTask {
  const v1 = found[0]?.dialect === 'v1' ? (found[0].value as V1Prompt) : null;
  return { title: titleOf(v1?.task || v1?.objective || text), texts: { body: text } };
}

/** The first heading or line, without its marks. */
export function titleOf(text: string): string {
  for (const line of stripControls(text).split(/\r\n|\r|\n/)) {
    const words = line
      .slice(0, MOST_LINE)
      .replace(/^[\s#>*-]+/, '')
      .trim();
    if (/[\p{L}\p{N}]/u.test(words)) return shorten(words, MOST_TITLE);
  }
  return '';
}

function ofMessage(message: TaskMessage): NewTask {
  const { session, target, task } = message;
  const dependsOn = namedDependencies(message);
  return {
    ...(isTaskId(task.task_id) ? { id: task.task_id } : { externalId: task.task_id }),
    title: titleOf(task.objective) || shorten(task.objective.trim(), MOST_TITLE),
    session: session.session_id,
    ...(task.priority === undefined ? {} : { priority: task.priority.toLowerCase() as TaskPriority }),
    routing: isOpen(message) ? {} : { agent: target.agent_name, role: target.role },
    ...(target.model === OPEN ? {} : { model: target.model }),
    ...(task.parent_task_id ? { parentId: task.parent_task_id } : {}),
    ...(dependsOn.length === 0 ? {} : { dependsOn }),
    ...limitsOf(message),
    ...(asksForReview(message) ? { reviewRequired: true } : {}),
    texts: { body: task.objective, 'inputs/task.json': `${JSON.stringify(message, null, 2)}\n` },
  };
}

/** What the laws have to know of a TASK's policy. */
export function limitsOf(message: TaskMessage): { readonly retry: RetryPolicy; readonly writes?: string[] } {
  const policy = policyOf(message);
  const writes = writesOf(message, policy);
  return { retry: retryOf(message, policy), ...(writes.length === 0 ? {} : { writes }) };
}

const toPattern = (message: TaskMessage): PatternItem => ({
  id: message.task.task_id,
  session: message.session.session_id,
  pattern: message.session.workflow_pattern ?? null,
  dependsOn: namedDependencies(message),
  parentId: message.task.parent_task_id || null,
});

function retryOf({ execution_policy: said }: TaskMessage, policy: Policy): RetryPolicy {
  const alternatives = said?.alternative_models?.map(
    // Without a word on when, it is for when all else has failed.
    ({ provider, model, fallback_trigger: trigger = 'ALL_ERRORS' }): Alternative => ({ provider, model, trigger }),
  );
  return {
    // Whoever asks for a retry on failure without a number means at least one.
    maxRetries: policy.onFailure === 'RETRY' ? Math.max(policy.maxRetries, 1) : policy.maxRetries,
    backoffSeconds: policy.backoffSeconds,
    ...(alternatives === undefined || alternatives.length === 0 ? {} : { alternatives }),
    ...(policy.abortOnFirstCriticalError ? { stopOnCritical: true } : {}),
  };
}

/** What it says it writes, absolute. The whole workspace, which holds where nothing is said, would keep all tasks of it apart. */
function writesOf({ task }: TaskMessage, { access }: Policy): string[] {
  if (task.access?.filesystem?.write_paths === undefined) return [];
  const root = task.environment.workspace_root.replace(/[\\/]+$/, '');
  return access.writePaths.map((path) => (/^(?:[A-Za-z]:)?[\\/]/.test(path) ? path : `${root}/${path}`));
}

/** Words that named nobody and were made a TASK are for anybody. */
const isOpen = ({ session, target }: TaskMessage): boolean =>
  (session.origin === 'V1_COMPAT' || session.orchestrator === 'baton') && target.agent_name === OPEN;

/** The contract has no field for them; its extensions have room. */
function namedDependencies({ task }: TaskMessage): string[] {
  const named = task.extensions?.['x_depends_on'];
  if (named === undefined) return [];
  if (Array.isArray(named) && named.every((id) => typeof id === 'string')) return named;
  throw new BatonError(
    'E_SCHEMA_VALIDATION',
    `expected a list of task ids at /task/extensions/x_depends_on of ${task.task_id}, got ${quote(named)}`,
  );
}

const REVIEW = ['x_human_review_required', 'x_review_required'];

const asksForReview = ({ extensions, task, guard_rails: rails }: TaskMessage): boolean =>
  [extensions, task.extensions, rails?.extensions].some((said) => REVIEW.some((key) => said?.[key] === true));
