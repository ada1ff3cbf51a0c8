import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { processFiles, seeds } from './test/suite/order.ts';
import { LongestFirst } from './test/suite/sequencer.ts';
import { SummaryReporter } from './test/summary-reporter.ts';

const include = ['test/**/*.test.ts'];
const processes = processFiles();

/**
 * The package by its name, as examples and their tests import it: the sources of this checkout. And xstate as
 * the program runs it, not its build for development, which checks and warns.
 */
const packages = [
  { find: /^orrery$/, replacement: join(import.meta.dirname, 'src/api/index.ts') },
  { find: /^orrery\/testing$/, replacement: join(import.meta.dirname, 'packages/testing/index.ts') },
  { find: /^xstate$/, replacement: join(import.meta.dirname, 'node_modules/xstate/dist/xstate.cjs.mjs') },
];

/** One whose files share their workers. */
const project = (name: string, options: object) =>
  ({ extends: true, test: { name, isolate: false, ...options } }) as const;

export default defineConfig({
  resolve: { alias: packages },
  test: {
    // Some tests start servers and replicas: processes keep their timers, sockets and crashes apart.
    pool: 'forks',
    // Many tests wait for those processes more than they compute. With one file more at a time the run is a little
    // shorter, but processes that are to beat in time starve.
    maxWorkers: availableParallelism() + 1,
    // No promise of the program: only so that what hangs ends. How long a test computes is the machine's affair; on
    // two idle cores the slowest ordinary one needs 2 s. A test that needs longer says so itself.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    reporters: ['default', new SummaryReporter()],
    sequence: { sequencer: LongestFirst },
    projects: [
      // Real processes on a machine that others use too: what fails is tried once more, and named at the end as unsteady.
      // A file that leaves something behind is found by those that share its worker.
      project('processes', { include: processes, retry: 1 }),
      project('shared', { include, exclude: [...processes, seeds] }),
      project('seeds', { include: [seeds] }),
    ],
  },
});
