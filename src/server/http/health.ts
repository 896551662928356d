/** `/healthz` and `/metrics`: whether it is well, and its numbers as Prometheus reads them. */
import { TASK_STATUSES, type TaskStatus } from '../../core/task.ts';
import { VERSION } from '../../core/version.ts';
import type { Api } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, type Route } from './routes.ts';
import { HealthShape } from './schemas.ts';

const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Requests by method, route and status. */
interface Requests {
  count(method: string, route: string, status: number): void;
  all(): Iterable<readonly [labels: string, count: number]>;
}

export function createRequests(): Requests {
  const counts = new Map<string, number>();
  return {
    count(method, route, status) {
      const key = `method="${method}",route="${route}",status="${status}"`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    },
    all: () => counts,
  };
}

export function healthRoutes(requests: Requests): readonly Route[] {
  const totals = createTotals();
  return [
    {
      method: 'get',
      path: '/healthz',
      summary: 'whether it is there and its store answers',
      access: 'anybody',
      answers: { [JSON_TYPE]: HealthShape },
      async handle({ host, stopping }) {
        await host.store.lastRecord();
        return json({ ok: !stopping.aborted, version: VERSION }, stopping.aborted ? 503 : 200);
      },
    },
    {
      method: 'get',
      path: '/metrics',
      summary: 'its numbers, as Prometheus reads them',
      access: 'person',
      answers: { [METRICS_TYPE]: null },
      async handle(api) {
        const text = metrics(await totals(api), api, requests);
        return new Response(text, { headers: { 'content-type': METRICS_TYPE, 'cache-control': 'no-store' } });
      },
    },
  ];
}

interface Totals {
  readonly records: number;
  readonly tasks: ReadonlyMap<TaskStatus, number>;
  readonly running: number;
  readonly usd: number;
  readonly tokensInput: number;
  readonly tokensOutput: number;
}

/** Counted anew only when something has happened, and by one at a time: there may be a hundred thousand tasks. */
function createTotals(): (api: Api) => Promise<Totals> {
  let last: Totals | null = null;
  let counting: Promise<Totals> | null = null;
  const count = async ({ host: { store } }: Api): Promise<Totals> => {
    const records = await store.lastRecord();
    if (last?.records === records) return last;
    const tasks = new Map(TASK_STATUSES.map((status) => [status, 0]));
    const sum = { running: 0, usd: 0, tokensInput: 0, tokensOutput: 0 };
    for await (const { status, run, cost } of store.tasks()) {
      tasks.set(status, (tasks.get(status) ?? 0) + 1);
      if (status === 'in-progress' && run?.status === 'running') sum.running++;
      sum.usd += cost.usd;
      sum.tokensInput += cost.tokensInput;
      sum.tokensOutput += cost.tokensOutput;
    }
    last = { records, tasks, ...sum };
    return last;
  };
  return (api) => {
    counting ??= count(api).finally(() => {
      counting = null;
    });
    return counting;
  };
}

function metrics(totals: Totals, { feed }: Api, requests: Requests): string {
  const { rss, heapUsed } = process.memoryUsage();
  const lines: string[] = [];
  const metric = (name: string, type: string, help: string, values: Iterable<readonly [string, number]>): void => {
    lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
    for (const [labels, value] of values) lines.push(`${name}${labels === '' ? '' : `{${labels}}`} ${value}`);
  };
  metric(
    'baton_tasks',
    'gauge',
    'Tasks by status.',
    [...totals.tasks].map(([status, count]) => [`status="${status}"`, count]),
  );
  metric('baton_runs_running', 'gauge', 'Runs that are under way.', [['', totals.running]]);
  metric('baton_records_total', 'counter', 'Records in the journal.', [['', totals.records]]);
  metric('baton_events_total', 'counter', 'Events since this process began to listen.', [['', feed.count]]);
  metric('baton_cost_usd_total', 'counter', 'Dollars that all tasks have cost, as far as it is known.', [
    ['', totals.usd],
  ]);
  metric('baton_tokens_total', 'counter', 'Tokens that all tasks have used.', [
    ['direction="input"', totals.tokensInput],
    ['direction="output"', totals.tokensOutput],
  ]);
  metric('baton_http_requests_total', 'counter', 'Requests that were answered.', requests.all());
  metric('process_resident_memory_bytes', 'gauge', 'Memory of this process.', [['', rss]]);
  metric('process_heap_bytes', 'gauge', 'Of it, what its own objects take.', [['', heapUsed]]);
  metric('process_uptime_seconds', 'gauge', 'How long this process has lived.', [['', Math.round(process.uptime())]]);
  return `${lines.join('\n')}\n`;
}
