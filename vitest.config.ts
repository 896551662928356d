import { defineConfig } from 'vitest/config';

/** Tests of what knows no machine. They mock nothing and have no hooks, so their files share what is loaded, which saves half of their time. */
const PURE = ['test/core/**/*.test.ts', 'test/protocol/**/*.test.ts'];

export default defineConfig({
  test: {
    // Limits that only a test that hangs reaches, however busy the machine is: the tests start processes and build bundles.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 100_000 } },
    maxWorkers: 2,
    projects: [
      { extends: true, test: { name: 'pure', include: PURE, isolate: false } },
      {
        extends: true,
        test: { name: 'whole', include: ['test/**/*.test.ts'], exclude: [...PURE, '**/node_modules/**'] },
      },
    ],
  },
});
