// npm run bench [-- PART… --table]: what Baton costs, as ratios to a floor measured in the same run. Exits 1 when a goal is missed.
// With --table the rows of what was measured are written into docs/performance.md.
import { buildRooms } from './build.mjs';
import { coldStart } from './cold-start.mjs';
import { decode, growth } from './decode.mjs';
import { graph } from './graph.mjs';
import { missed, takeRows } from './measure.mjs';
import { router } from './router.mjs';
import { runs } from './runs.mjs';
import { session } from './session.mjs';
import { store } from './store.mjs';
import { stream } from './stream.mjs';
import { writeTable } from './table.mjs';

const parts = { 'cold-start': coldStart, decode, growth, stream, store, graph, runs, router, session };
const named = process.argv.slice(2).filter((word) => word !== '--table');
const unknown = named.find((name) => !Object.hasOwn(parts, name));
if (unknown !== undefined) {
  console.error(`expected one of ${Object.keys(parts).join(', ')}, got ${unknown}`);
  process.exit(2);
}
buildRooms();
for (const [name, run] of Object.entries(parts)) {
  if (named.length > 0 && !named.includes(name)) continue;
  run();
  const rows = takeRows();
  if (process.argv.includes('--table')) writeTable(name, rows);
}
process.exitCode = missed() > 0 ? 1 : 0;
