import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { aloneFiles } from './test/suite/alone.ts';
import { LongestFirst } from './test/suite/sequencer.ts';
import { SummaryReporter } from './test/summary-reporter.ts';

const include = ['test/**/*.test.ts'];
const alone = aloneFiles();

export default defineConfig({
  test: {
    // Some tests start servers and replicas: processes keep their timers, sockets and crashes apart.
    pool: 'forks',
    // Many tests wait for those processes more than they compute: on two cores, four files at a time took the least time.
    maxWorkers: availableParallelism() + 2,
    // Ten times what the slowest ordinary test needs on two busy cores; a test that needs longer says so itself.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      // A file that leaves something behind is found by those that share its worker. They compute: how long that takes is the
      // machine's affair.
      {
        extends: true,
        test: { name: 'shared', include, exclude: alone, isolate: false, testTimeout: 60_000 },
      },
    ],
  },
});
