// An agent that prints a gigabyte and reports at its end: against merely splitting it into lines; and the memory it takes.
// Each runs in a process of its own, so that one's memory is not the other's.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { report } from './measure.mjs';

const MB = 1024 * 1024;
const LINES = [
  '2026-03-01T09:00:00.123Z INFO compiling src/protocol/detect.ts',
  '',
  '[INFO] 17 of 234 files scanned, nothing found so far in any of them',
  '    at Object.parse (src/parser.ts:45:12)',
  'I will now look at the tests, since the failure may be in one of them: they have changed a lot in the last weeks.',
  '{"type":"progress","file":"src/a.ts","done":17,"of":234}',
  '  - a bullet of a list',
  '+++ b/src/auth/login.ts',
];

function chunk() {
  const lines = [];
  for (let i = 0, bytes = 0; bytes < 64 * 1024; i++) {
    const line = LINES[(i * 7919) % LINES.length];
    lines.push(line);
    bytes += line.length + 1;
  }
  return Buffer.from(`${lines.join('\n')}\n`);
}

async function child(kind, megabytes) {
  const data = chunk();
  const rounds = Math.ceil((megabytes * MB) / data.length);
  const report = Buffer.from('[AOP:SUMMARY] at last\n[AOP:STATUS] success\n');
  let feed;
  let end;
  if (kind === 'split') {
    const decoder = new TextDecoder();
    let carry = '';
    let lines = 0;
    feed = (bytes) => {
      const parts = (carry + decoder.decode(bytes, { stream: true })).split('\n');
      carry = parts.pop();
      lines += parts.length;
    };
    end = () => lines;
  } else {
    const { createDetector } = await import('baton-run/protocol');
    const detector = createDetector();
    feed = (bytes) => detector.feed(bytes);
    end = () =>
      detector
        .end()
        .map((m) => m.kind)
        .join();
  }
  for (let i = 0; i < 50; i++) feed(data);
  const before = process.memoryUsage.rss();
  const start = performance.now();
  for (let i = 0; i < rounds; i++) feed(data);
  feed(report);
  const found = end();
  const ms = performance.now() - start;
  console.log(JSON.stringify({ ms, found, peakMB: (process.resourceUsage().maxRSS * 1024 - before) / MB }));
}

export function stream(megabytes = 1024, rounds = 3) {
  const run = (kind) => {
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      [fileURLToPath(import.meta.url), kind, String(megabytes)],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    return JSON.parse(stdout);
  };
  const all = { split: [], detect: [] };
  for (let i = 0; i < rounds; i++) for (const kind of ['split', 'detect']) all[kind].push(run(kind));
  const best = (kind) => all[kind].toSorted((a, b) => a.ms - b.ms)[rounds >> 1];
  const [floor, ours] = [best('split'), best('detect')];
  if (ours.found !== 'report') throw new Error(`the report was not found: ${ours.found}`);
  report(
    `speed of reading ${megabytes} MB / splitting into lines`,
    floor.ms / ours.ms,
    { least: 0.5 },
    `${(ours.ms / 1000).toFixed(1)} s / ${(floor.ms / 1000).toFixed(1)} s`,
  );
  const peak = Math.max(...all.detect.map((r) => r.peakMB));
  report('memory it grows by / 64 MB', peak / 64, { most: 1 }, `${peak.toFixed(0)} MB at the most`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await child(process.argv[2], Number(process.argv[3]));
