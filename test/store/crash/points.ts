/** Runs a workload once, then crashes it at every operation that it made, in several ways, and checks what is left each time. */
import type { Store } from '../../../src/core/store.ts';
import { layoutOf } from '../../../src/store/fs/layout.ts';
import { makeFolder, readMarker } from '../../../src/store/fs/marker.ts';
import { openFsStore } from '../../../src/store/fs/store.ts';
import { type Random, seeded } from '../../helpers/random.ts';
import { Broken, check } from './check.ts';
import { type CrashDisk, openCrashDisk } from './crash-disk.ts';
import { applyOp, copyModel, type DiskModel, type DiskOp, emptyModel, killed, powerLost } from './disk-model.ts';
import { copyLedger, crashed, emptyLedger, enter, type Ledger, type Mark } from './ledger.ts';
import { nothingTold, type Told } from './retold.ts';
import { hasTree } from './tree-check.ts';
import { work } from './workload.ts';

const DIR = '/home/baton';
/** Shortly before a midnight. */
const START = Date.parse('2026-03-01T23:58:00Z');

type Entry = DiskOp | Mark;

/** Where a run of a program began, and all that it did from there. */
interface Story {
  readonly model: DiskModel;
  readonly ledger: Ledger;
  readonly log: readonly Entry[];
}

interface Shape {
  readonly asks: number;
  readonly snapshotEvery: number;
  readonly hasFaults: boolean;
}

/** Small ones: they are crashed at every operation. */
const shapeOf = (random: Random): Shape => ({
  asks: 5 + random.below(11),
  snapshotEvery: random.pick([3, 8, 1000]),
  hasFaults: random.chance(0.5),
});

/** A loss of power starts the machine anew, and the store looks harder then. */
const opener =
  (disk: CrashDisk, snapshotEvery: number, boot: number, now: () => number) => async (): Promise<Store> => {
    if (readMarker(disk, layoutOf(DIR)) === null) makeFolder(disk, layoutOf(DIR), 'secret');
    return openFsStore(DIR, { disk, now, snapshotEvery, boot: `boot ${boot}` });
  };

/** The folder above the data folder is a person's, and was there before. */
function freshModel(): DiskModel {
  const model = emptyModel();
  applyOp(model, { op: 'make', folder: model.root, name: 'home', node: 1, kind: 'folder' });
  applyOp(model, { op: 'sync', node: model.root, count: 1 });
  applyOp(model, { op: 'make', folder: 1, name: 'baton', node: 2, kind: 'folder' });
  applyOp(model, { op: 'sync', node: 1, count: 1 });
  return model;
}

async function runWorkload(seed: number, shape: Shape): Promise<Story & { readonly hasTree: boolean }> {
  const model = freshModel();
  const log: Entry[] = [];
  const random = seeded(seed, 1);
  const clock = { now: START };
  const disk = openCrashDisk({ model: copyModel(model), random: seeded(seed, 2), onOp: (op) => log.push(op) });
  await work({
    random,
    asks: shape.asks,
    open: opener(disk, shape.snapshotEvery, 0, () => clock.now),
    enter: (mark) => log.push(mark),
    clock,
    ...(shape.hasFaults ? { fail: (fault) => disk.fail(fault) } : {}),
    name: 'r',
  });
  return { model, ledger: emptyLedger(START), log, hasTree: hasTree(disk, DIR) };
}

export type Way = 'kill' | 'power';

/** One crash: the workload's seed, the operation behind which it stops (-1: the workload itself went wrong), and how. */
export interface Point {
  readonly seed: number;
  readonly at: number;
  readonly way: Way;
  readonly variant: number;
}

export interface Result {
  readonly points: number;
  /** Crashes of the recovery from a crash, among these. */
  readonly second: number;
  readonly workloads: number;
  readonly operations: number;
  readonly failure: { readonly point: Point; readonly message: string } | null;
}

export interface RunOptions {
  readonly seed: number;
  readonly points: number;
  /** Only this one. */
  readonly only?: Point;
  readonly onProgress?: (points: number) => void;
}

const VARIANTS: readonly (readonly [Way, number])[] = [
  ['kill', 0],
  ['power', 0],
];

/** Workloads one after another, by seeds from the one given, until there are so many points; it stops at the first that fails. */
export async function runPoints({ seed: first, points, only, onProgress }: RunOptions): Promise<Result> {
  const result = { points: 0, second: 0, workloads: 0, operations: 0 };
  for (let seed = first; result.points < points; seed++) {
    const shape = shapeOf(seeded(seed, 0));
    let story: Awaited<ReturnType<typeof runWorkload>>;
    try {
      story = await runWorkload(seed, shape);
    } catch (cause) {
      return { ...result, failure: { point: { seed, at: -1, way: 'kill', variant: 0 }, message: saying(cause) } };
    }
    const start = nothingTold();
    result.workloads++;
    const model = copyModel(story.model);
    const ledger = copyLedger(story.ledger);
    for (let at = 0; at < story.log.length; at++) {
      step(model, ledger, story.log[at] as Entry);
      // What is said without anything happening on the disk is said at the same point.
      if (isMark(story.log[at + 1])) continue;
      result.operations++;
      for (const [way, variant] of VARIANTS) {
        const point: Point = { seed, at, way, variant };
        if (only !== undefined && (at !== only.at || way !== only.way || variant !== only.variant)) continue;
        if (result.points >= points) break;
        try {
          const scene = { model, ledger, next: story.log[at + 1] as DiskOp | undefined };
          result.points++;
          if (await crashAt(scene, point, { shape, start, hasTree: story.hasTree })) {
            result.points++;
            result.second++;
          }
        } catch (cause) {
          return { ...result, failure: { point, message: saying(cause) } };
        }
        onProgress?.(result.points);
      }
    }
    if (only !== undefined) break;
  }
  return { ...result, failure: null };
}

/** A broken promise in its own words; anything else with where it came from. */
const saying = (cause: unknown): string =>
  cause instanceof Broken ? cause.message : cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);

const isMark = (entry: Entry | undefined): entry is Mark => entry !== undefined && 'mark' in entry;

function step(model: DiskModel, ledger: Ledger, entry: Entry): void {
  if (isMark(entry)) enter(ledger, entry);
  else applyOp(model, entry);
}

interface Scene {
  readonly model: DiskModel;
  readonly ledger: Ledger;
  /** What was about to happen. */
  readonly next: DiskOp | undefined;
}

interface Setting {
  readonly shape: Shape;
  readonly start: Told;
  readonly hasTree: boolean;
}

/** After a kill the disk still holds things that no sync has covered, and the power may go after all; so that is tried more often. */
const SECOND: Readonly<Record<Way, number>> = { kill: 0.5, power: 0.2 };

/** True where the recovery, too, was crashed. */
async function crashAt(scene: Scene, point: Point, setting: Setting): Promise<boolean> {
  const random = seeded(point.seed, point.at, point.way === 'kill' ? 1 : 2, point.variant);
  const story = await recover(crash(scene, point.way, random), copyLedger(scene.ledger), random, setting);
  if (!random.chance(SECOND[point.way])) return false;
  const model = copyModel(story.model);
  const ledger = copyLedger(story.ledger);
  const stop = random.below(story.log.length);
  for (const entry of story.log.slice(0, stop + 1)) step(model, ledger, entry);
  let end = stop + 1;
  for (; isMark(story.log[end]); end++) step(model, ledger, story.log[end] as Mark);
  const next = story.log[end] as DiskOp | undefined;
  try {
    await recover(crash({ model, ledger, next }, 'power', random), ledger, random, setting);
  } catch (cause) {
    if (cause instanceof Error) cause.message = `in the second crash, at ${stop}: ${cause.message}`;
    throw cause;
  }
  return true;
}

const crash = ({ model, next }: Scene, way: Way, random: Random): DiskModel =>
  way === 'kill' ? killed(model, next, random) : powerLost(model, random);

/** Starts again on what is left, checks it, and tells what was done for that. */
async function recover(model: DiskModel, ledger: Ledger, random: Random, setting: Setting): Promise<Story> {
  const log: Entry[] = [];
  crashed(ledger);
  const before = { model: copyModel(model), ledger: copyLedger(ledger) };
  const disk = openCrashDisk({ model, random, onOp: (op) => log.push(op) });
  ledger.now += random.chance(0.1) ? 86_400_000 : 1000;
  await check({
    disk,
    dir: DIR,
    ledger,
    enter: (mark) => {
      enter(ledger, mark);
      log.push(mark);
    },
    open: opener(disk, setting.shape.snapshotEvery, model.boot, () => ledger.now),
    start: setting.start,
    random,
    hasTree: setting.hasTree,
    hadPower: model.boot === 0,
  });
  return { ...before, log };
}
