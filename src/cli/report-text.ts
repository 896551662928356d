/** A session's final report for people. */
import type { SessionFinalReport } from '../core/session-report.ts';
import { counted } from '../core/words.ts';
import { bold, dim, green, red, yellow } from './style.ts';
import { oneLine } from './text.ts';

const paint = (status: string): string =>
  status === 'done' ? green(status) : status === 'deadletter' || status === 'cancelled' ? red(status) : yellow(status);

/** @param isKept false where the data folder is gone by the time somebody reads this */
export function reportText(report: SessionFinalReport, isKept = true): string {
  const { totals, cost_summary: cost, context } = report;
  const by = Object.entries({ ...totals.tasks_by_state, undone: totals.tasks_undone }).filter(([, count]) => count > 0);
  return [
    bold(`Session ${oneLine(report.session_id)}`),
    `${counted(totals.tasks, 'task')}${by.length === 0 ? '' : ` (${by.map(([status, count]) => `${count} ${status}`).join(', ')})`}, ${counted(totals.runs, 'run')}, ${totals.retries} ${totals.retries === 1 ? 'retry' : 'retries'}, ${totals.duration_seconds} s`,
    ...section(
      'Tasks',
      report.delegation_graph.nodes.map(
        (node) =>
          `${node.external_id ?? node.id}  ${node.undone ? dim('undone') : paint(node.status)}${node.verdict == null || node.undone ? '' : ` (${node.verdict})`}  ${dim(node.agent ?? '-')}  ${oneLine(node.title)}${node.attempts > 1 ? dim(`  ${node.attempts} runs`) : ''}`,
      ),
    ),
    ...section(
      'Agents',
      report.agents.map(
        ({ name, models, runs }) =>
          `${name}${models.length === 0 ? '' : ` (${models.join(', ')})`}: ${counted(runs, 'run')}`,
      ),
    ),
    ...section('Cost', [
      `${dollarsOf(cost)}${cost.includes_estimates ? ' (partly an estimate)' : ''}, ${cost.tokens_input} tokens in, ${cost.tokens_output} out` +
        (cost.estimated_cost_usd === null ? '' : `; estimated before: $${cost.estimated_cost_usd.toFixed(4)}`),
    ]),
    ...section(
      'Checkpoints',
      report.checkpoints.map(({ checkpoint, status, task_id }) => `${checkpoint} ${status}  ${dim(task_id)}`),
    ),
    ...section(
      'Claims',
      report.evidence.map(
        ({ what, verdict, detail, task_id }) =>
          `${verdict === 'proven' ? green(verdict) : verdict === 'contradicted' ? red(verdict) : yellow(verdict)}  ${dim(task_id)}  ${oneLine(what)}${detail === null || detail === '' ? '' : dim(`  ${oneLine(detail)}`)}`,
      ),
    ),
    ...section(
      'Nodes',
      report.nodes.map(
        ({ node_id, node_type, task_id }) => `${node_id}  ${oneLine(node_type)}  ${dim(task_id ?? 'by a person')}`,
      ),
    ),
    ...section(
      'Decisions',
      report.decisions.map(({ id, by, status, text }) => {
        const words = text === null ? '' : `: ${oneLine(text)}`;
        return `${id}  ${status.replace('_', ' ')} by ${oneLine(by)}${words}`;
      }),
    ),
    ...section('Rolled back', report.rollbacks.map(rollbackText)),
    ...section(
      'Errors',
      report.errors.map(({ task_id, code, message }) => `${task_id ?? '-'}  ${code}: ${oneLine(message)}`),
    ),
    ...section(
      'Artifacts',
      report.artifacts.map(({ path, status, hash }) => `${oneLine(path)}  ${status ?? '-'}  ${dim(hash ?? '-')}`),
    ),
    ...section('Context', [
      ...Object.entries(context.by_agent).map(([name, share]) => `${oneLine(name)}: ${contextText(share)}`),
      ...(Object.keys(context.by_agent).length > 1 ? [`all: ${contextText(context)}`] : []),
      ...(context.includes_estimates ? [dim('some of the tokens are an estimate')] : []),
    ]),
    '',
    `Printed by agents: ${context.characters_produced} characters; handed to the parent: ${context.characters_delivered}.`,
    ...(isKept
      ? [dim(`Audit trail: baton audit --session ${report.session_id} (${report.audit_trail.storage_path})`)]
      : []),
  ].join('\n');
}

function dollarsOf({ actual_cost_usd: all, known_cost_usd: known }: SessionFinalReport['cost_summary']): string {
  if (all !== null) return `$${all.toFixed(4)}`;
  return known === 0 ? 'dollars unknown' : `$${known.toFixed(4)} and what is unknown`;
}

function rollbackText({ task_id: task, trigger, artifacts_rolled_back: all, files = 0, kept }: Rollback): string {
  if (task !== null) return `${task}: ${counted(all.length, 'output')} (${trigger ?? '-'})`;
  const where = typeof kept === 'string' ? `; what was not committed is kept in ${oneLine(kept)}` : '';
  return `the session: ${counted(files, 'file')} (${oneLine(trigger ?? '-')})${where}`;
}

type Rollback = SessionFinalReport['rollbacks'][number];
type Context = SessionFinalReport['context'];

function contextText(share: Omit<Context, 'by_agent' | 'includes_estimates'>): string {
  const { characters_saved: chars, tokens_saved: tokens, tokens_saved_percent: percent } = share;
  // Of an agent that says next to nothing, its parent gets more than it said.
  const saved =
    chars > 0 && tokens > 0 ? `saved ${chars} characters, ${tokens} tokens (${percent ?? 0} %)` : 'nothing saved';
  return (
    `produced ${share.characters_produced} characters, ${share.tokens_produced} tokens; ` +
    `delivered ${share.characters_delivered}, ${share.tokens_delivered}; ${saved}; was given ${share.tokens_given} tokens`
  );
}

const section = (name: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', bold(name), ...lines.map((line) => `  ${line}`)];
