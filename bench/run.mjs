// npm run bench: what Baton costs, as ratios to a floor measured in the same run. Exits 1 when a goal is missed.
import { buildRooms } from './build.mjs';
import { coldStart } from './cold-start.mjs';
import { decode, growth } from './decode.mjs';
import { graph } from './graph.mjs';
import { missed } from './measure.mjs';
import { router } from './router.mjs';
import { runs } from './runs.mjs';
import { session } from './session.mjs';
import { store } from './store.mjs';
import { stream } from './stream.mjs';

buildRooms();
const only = process.argv[2];
const parts = { 'cold-start': coldStart, decode, growth, stream, store, graph, runs, router, session };
for (const [name, run] of Object.entries(parts)) if (only === undefined || only === name) run();
process.exitCode = missed() > 0 ? 1 : 0;
