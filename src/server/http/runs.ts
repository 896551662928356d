/** `/v1/runs`: a run, what its agent printed, as it prints it, and its RESPONSE. */
import { join } from 'node:path';
import { BatonError } from '../../core/errors.ts';
import { isTaskId, type Task, taskOfRun } from '../../core/task.ts';
import { runsOf } from '../../core/task-json.ts';
import { openInside } from '../../runtime/inside.ts';
import { logGrown } from '../../runtime/log.ts';
import { logFolder } from '../../runtime/places.ts';
import { type Api, type Call, queryOf, reachedTask, stream } from './call.ts';
import { json } from './problems.ts';
import { JSON_TYPE, LINES_TYPE, type Route, TEXT_TYPE } from './routes.ts';
import { LogLine, LogQuery, ResponseShape, RunWithTask } from './schemas.ts';

export const runRoutes: readonly Route[] = [
  {
    method: 'get',
    path: '/v1/runs/:id',
    summary: 'a run, as it was last seen',
    access: 'run',
    answers: { [JSON_TYPE]: RunWithTask },
    async handle(api, call) {
      const { run, task } = await runOf(api, call);
      const found = runsOf(await api.host.store.history(task.id), task.id).find(({ id }) => id === run);
      if (found === undefined) throw noRun(run);
      return json({ ...found, task: task.id });
    },
  },
  {
    method: 'get',
    path: '/v1/runs/:id/log',
    summary: 'what its agent printed, all of it: a line of JSON a piece, or with ?stream= the bytes of one stream',
    access: 'run',
    query: LogQuery,
    answers: { [LINES_TYPE]: LogLine, [TEXT_TYPE]: null },
    async handle(api, call) {
      const { follow, stream: name } = queryOf(LogQuery, call);
      const { run, task } = await runOf(api, call);
      const isFollowed = follow !== undefined && follow !== 'false' && follow !== '0';
      const isLive = async (): Promise<boolean> => {
        const now = (await api.host.store.find(task.id))?.run;
        return isFollowed && now?.id === run && now.status === 'running';
      };
      const type = name === undefined ? LINES_TYPE : TEXT_TYPE;
      return stream(api, call, type, (until) =>
        printed(api.host.dir, run, name ?? null, isLive, AbortSignal.any([until, api.stopping])),
      );
    },
  },
  {
    method: 'get',
    path: '/v1/runs/:id/response',
    summary: 'its RESPONSE',
    access: 'run',
    answers: { [JSON_TYPE]: ResponseShape },
    async handle(api, call) {
      const { run } = await runOf(api, call);
      const file = await openInside(api.host.dir, join(logFolder(api.host.dir, run), 'response.json'));
      if (file === null) throw new BatonError('E_NOT_FOUND', `${run} has left no RESPONSE`);
      try {
        return json(JSON.parse(await file.readFile('utf8')));
      } finally {
        await file.close();
      }
    },
  },
];

const noRun = (run: string): BatonError =>
  new BatonError('E_NOT_FOUND', `there is no run ${run}`, 'see: baton task show');

/** The id is one of a run that there is before it becomes part of a path. */
async function runOf(api: Api, call: Call): Promise<{ readonly run: string; readonly task: Task }> {
  const run = call.param('id');
  const owner = taskOfRun(run);
  if (owner === null || !isTaskId(owner)) throw noRun(run);
  const task = await reachedTask(api, call, owner);
  const number = run.slice(owner.length + 2);
  if (!/^[1-9]\d{0,8}$/.test(number) || Number(number) > task.runs) throw noRun(run);
  return { run, task };
}

type Stream = 'out' | 'err';
const STREAMS: readonly Stream[] = ['out', 'err'];
const PIECE = 65_536;

async function* printed(
  dir: string,
  run: string,
  only: Stream | null,
  isLive: () => Promise<boolean>,
  until: AbortSignal,
): AsyncGenerator<string | Uint8Array> {
  const folder = logFolder(dir, run);
  const streams = only === null ? STREAMS : [only];
  const at = { out: 0, err: 0 };
  const decoders = { out: new TextDecoder(), err: new TextDecoder() };
  for (;;) {
    // Asked before reading, so that what was written until then is read.
    const goesOn = await isLive();
    for (const name of streams) {
      for await (const piece of readFrom(dir, join(folder, `${name}.log`), at[name])) {
        if (until.aborted) return;
        at[name] += piece.length;
        if (only !== null) yield piece;
        else yield `${JSON.stringify({ run, stream: name, text: decoders[name].decode(piece, { stream: true }) })}\n`;
      }
    }
    if (!goesOn || until.aborted) return;
    await logGrown(folder, until);
  }
}

async function* readFrom(dir: string, path: string, from: number): AsyncGenerator<Uint8Array> {
  const file = await openInside(dir, path);
  if (file === null) return;
  try {
    for (let at = from; ; ) {
      const bytes = Buffer.allocUnsafe(PIECE);
      const { bytesRead } = await file.read(bytes, 0, PIECE, at);
      if (bytesRead === 0) return;
      at += bytesRead;
      yield bytes.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
