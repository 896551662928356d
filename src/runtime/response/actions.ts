/**
 * What was done in a run whose agent lists no actions: a report in another dialect has no word for them, and an exit code none at all. Baton says
 * what it saw, so that its RESPONSE has the minimal report that its own guard rails ask for.
 */
import type { Report } from '../../core/report.ts';
import type { ResponseMessage } from '../../protocol/aop2/schema.ts';

interface Happened {
  readonly agent: string;
  readonly report: Report | null;
  readonly artifacts: Report['artifacts'];
  readonly claims: readonly { readonly what: string; readonly verdict: string }[];
  readonly checkpoints: NonNullable<ResponseMessage['checkpoint_results']>;
  readonly failure: { readonly message: string } | null;
  readonly bytes: number;
}

const MOST = 50;
const STATUS = { CREATED: 'Created', UPDATED: 'Changed', DELETED: 'Deleted' } as const;

export function actionsOf({ agent, report, artifacts, claims, checkpoints, failure, bytes }: Happened): string[] {
  const ran = `${agent} ran, printed ${bytes} bytes and ${report === null ? 'gave no report' : `reported ${report.outcome}`}.`;
  const files = artifacts.flatMap(({ path, status }) =>
    status === null || status === 'UNCHANGED' ? [] : [`${STATUS[status]} ${path}.`],
  );
  const looked = checkpoints.map(({ checkpoint_id: id, status = 'PENDING' }) => `Checkpoint ${id}: ${status}.`);
  const checked = claims
    .filter(({ what }) => /^(?:output|check) /.test(what))
    .map(({ what, verdict }) => `Baton looked at ${what}: ${verdict}.`);
  const ended = failure === null ? [] : [`It ended with a failure: ${failure.message}`];
  const all = [ran, ...files, ...looked, ...checked, ...ended];
  return all.length <= MOST ? all : [...all.slice(0, MOST - 1), `And ${all.length - MOST + 1} more.`];
}
