import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Limits that only a test that hangs reaches, however busy the machine is: the tests start processes and build bundles.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 100_000 } },
    maxWorkers: 2,
  },
});
