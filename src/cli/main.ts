#!/usr/bin/env node
/** The door. What can be answered without loading anything is answered here; all else is loaded when it is asked for. */
import { VERSION } from '../core/version.ts';

const [first, ...rest] = process.argv.slice(2);
if (rest.length === 0 && (first === '--version' || first === '-V')) process.stdout.write(`${VERSION}\n`);
else await (await import('./program.ts')).run(process.argv.slice(2));
