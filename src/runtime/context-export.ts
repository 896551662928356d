/** What a session needs to go on after its context is gone, as the shared agent protocol writes it (§16): tasks, state, the last summaries. Bounded. */
import type { Task } from '../core/task.ts';
import { isoTime } from '../core/task-json.ts';
import { shorten } from '../protocol/text/shorten.ts';
import { writeYaml } from '../protocol/text/yaml.ts';

export interface ExportContext {
  readonly now: number;
  readonly session: string;
  /** The commit that the project is at; null where it is in no repository. */
  readonly commit: string | null;
  readonly project: string;
  /** Progress by task, where a run has told it. */
  readonly progress?: Readonly<Record<string, number>>;
}

const MOST_TASKS = 200;
const MOST_SUMMARIES = 20;
const SUMMARY_CHARS = 300;
const TITLE_CHARS = 120;

/** Of more tasks than fit, those that changed last. */
export function contextExport(tasks: readonly Task[], context: ExportContext): string {
  const latest = tasks.toSorted((a, b) => b.updatedAt - a.updatedAt).slice(0, MOST_TASKS);
  const of = (...statuses: readonly Task['status'][]): readonly Task[] =>
    latest.filter(({ status }) => statuses.includes(status));
  const names = (list: readonly Task[]): readonly string[] => list.map(({ id }) => id);
  const percent = ({ id }: Task): string => `${Math.round(context.progress?.[id] ?? 0)}%`;
  const because = ({ cause, summary }: Task): string => shorten(cause?.message ?? summary ?? '', SUMMARY_CHARS);
  const waiting = of('blocked', 'review', 'deadletter');
  const told = latest.filter(({ summary }) => summary !== null && summary.trim() !== '').slice(0, MOST_SUMMARIES);
  return writeYaml({
    version: '1.1.0',
    exported: isoTime(context.now),
    session_id: context.session,
    git_checkpoint: context.commit,
    // What a session saves by #STATE lives as long as it does; what is kept of it is kept with the tasks.
    state: { persistent: {}, temporary: {} },
    tasks: {
      completed: names(of('done')),
      in_progress: Object.fromEntries(of('in-progress').map((task) => [task.id, percent(task)])),
      pending: names(of('ready', 'backlog')),
      waiting: Object.fromEntries(waiting.map((task) => [task.id, `${task.status}: ${because(task)}`])),
      ...(tasks.length > latest.length ? { left_out: tasks.length - latest.length } : {}),
    },
    titles: Object.fromEntries(
      latest
        .filter(({ status }) => status !== 'done' && status !== 'cancelled')
        .map(({ id, title }) => [id, shorten(title, TITLE_CHARS)]),
    ),
    summaries: Object.fromEntries(told.map(({ id, summary }) => [id, shorten(summary ?? '', SUMMARY_CHARS)])),
    configuration: { PROJECT: context.project },
  });
}
