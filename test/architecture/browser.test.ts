/** `baton-run/protocol` runs where there is no Node: bundled for a browser, and run in a context that has only what every browser has. */
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import { expect, test } from 'vitest';
import { example } from '../helpers/documents.ts';

test('the protocol entry bundles for a browser and finds messages there', async () => {
  const { outputFiles } = await build({
    entryPoints: [new URL('../../src/protocol/index.ts', import.meta.url).pathname],
    bundle: true,
    format: 'iife',
    globalName: 'baton',
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  });
  const code = outputFiles[0]?.text ?? '';
  expect(code).not.toMatch(/\brequire\("|from "node:/);

  const context = createContext({ TextDecoder, URL });
  runInContext(code, context);
  const kinds = runInContext(
    `(texts) => texts.map((text) => baton.detect(text).map((m) => m.dialect + ' ' + m.kind + ' ' + m.valid).join())`,
    context,
  ) as (texts: string[]) => string[];
  const texts = ['aop2-task-full.json', 'aop1-search.txt', 'output-bug-node.yaml'].map(example);
  expect([...kinds([...texts, '#STATE:list'])]).toEqual([
    'aop2 TASK true',
    'aop1 report true',
    'output GRAPH_UPDATE true',
    'command STATE true',
  ]);
});
