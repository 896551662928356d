/** Crashes as many as asked for, in this process: tells how far it is, and at the end what it found, as lines of JSON. */
import { parseArgs } from 'node:util';
import { type Point, runPoints, type Way } from './points.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    points: { type: 'string', default: '10000' },
    at: { type: 'string' },
    way: { type: 'string', default: 'power' },
    variant: { type: 'string', default: '0' },
  },
});

const EVERY = 1000;
const seed = Number(values.seed);
const only: Point | undefined =
  values.at === undefined
    ? undefined
    : { seed, at: Number(values.at), way: values.way as Way, variant: Number(values.variant) };
let told = 0;
const result = await runPoints({
  seed,
  points: Number(values.points),
  ...(only === undefined ? {} : { only }),
  onProgress(points) {
    if (points - told < EVERY) return;
    told = points;
    process.stdout.write(`${JSON.stringify({ points })}\n`);
  },
});
process.stdout.write(`${JSON.stringify({ result })}\n`);
