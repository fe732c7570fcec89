import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** One project per kind of test; `npm test` runs unit, conformance and system. */
const project = (name: string, include: string | string[], testTimeout: number) => ({
  test: {
    name,
    include: [include].flat(),
    testTimeout,
    hookTimeout: testTimeout,
    pool: 'forks' as const,
    globalSetup: ['test/support/own-home.ts', 'test/support/public-folder.ts'],
  },
});

export default defineConfig({
  test: {
    maxWorkers: availableParallelism() + 1, // much of the time a test waits: for a process, a timeout, a lost connection
    projects: [
      project('unit', ['src/**/*.test.ts', 'test/*.test.ts'], 20_000),
      project('conformance', 'test/conformance/**/*.test.ts', 60_000),
      project('system', 'test/system/**/*.test.ts', 60_000),
      project('interop', 'test/interop/**/*.test.ts', 300_000),
      project('soak', 'test/soak/**/*.test.ts', 1_800_000),
      project('fuzz-reference', 'test/fuzz-reference/**/*.test.ts', 1_800_000),
      project('faults', 'test/faults/**/*.test.ts', 120_000),
      project('fuzz', 'test/fuzz/**/*.test.ts', 1_800_000),
    ],
  },
});
