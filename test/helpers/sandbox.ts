/** Whether this machine has a sandbox, for tests that need one. Without one they are skipped, and the output says so; with BATON_REAL=require that fails. */
import { test } from 'vitest';
import { probeSandbox } from '../../src/process/sandbox.ts';

const probed = await probeSandbox();
if (!probed.ok) {
  if (process.env['BATON_REAL'] === 'require') throw new Error(`BATON_REAL=require, but ${probed.reason}`);
  console.warn(`SKIPPED, for there is no sandbox here: ${probed.reason}`);
}

export const hasSandbox = probed.ok;
/** A test that needs bubblewrap. */
export const sandboxTest = test.skipIf(!hasSandbox);
