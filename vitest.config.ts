import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { SummaryReporter } from './test/summary-reporter.ts';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Some tests start servers and replicas: processes keep their timers, sockets and crashes apart.
    pool: 'forks',
    // Many tests wait for those processes more than they compute: on two cores, three files at a time took the least time.
    maxWorkers: availableParallelism() + 1,
    // Ten times what the slowest ordinary test needs on two busy cores; a test that needs longer says so itself.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: ['default', new SummaryReporter()],
  },
});
