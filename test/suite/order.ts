/**
 * The order in which test files begin: the simulation's seeds; then the longest, those that start processes,
 * and all others.
 *
 * Files share their workers: the program is loaded, and compiled where it is hot, once per worker, not once
 * per file. Those that start processes share theirs with the longest, most of which start some too.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** It takes longest, in one worker beside all others. */
export const seeds = 'test/sim/seeds.test.ts';

/**
 * The longest files, as timed on two idle cores: a long file that begins late ends last, alone. Those that
 * play whole clusters as processes come with others between them that only compute: three clusters at a time
 * would starve.
 */
const longest: readonly string[] = [
  'test/inspector/page.test.ts',
  'test/sim/leaves-nothing.test.ts',
  'test/e2e/whole-path.test.ts',
  'test/features/routes/crowd.test.ts',
  'test/features/endpoints/endpoints-burst.test.ts',
  'test/e2e/release.test.ts',
  'test/features/routes/never-early.test.ts',
  'test/machines/graph.test.ts',
  'test/e2e/broker.test.ts',
  'test/features/routes/readiness.test.ts',
  'test/features/certificates/certificates.test.ts',
  'test/pages/run.test.ts',
  'test/bus/nats/nats-server.test.ts',
  'test/features/routes/arrival.test.ts',
  'test/inspector/questions.test.ts',
  'test/features/elections/elect.test.ts',
  'test/actors/host/invariants.test.ts',
  'test/dev-cluster/scenario.test.ts',
  'test/features/certificates/kill.test.ts',
  'test/features/releases/release-chaos.test.ts',
  'test/cli/build.test.ts',
  'test/features/certificates/many.test.ts',
  'test/bus/nats/nats-cluster.test.ts',
  'test/chaos/chaos.test.ts',
  'test/features/certificates/outage.test.ts',
  'test/new-feature.test.ts',
  'test/bus/nats/lost-streams.test.ts',
  'test/bus/nats/stream-growth.test.ts',
  'test/bus/nats/nats-access.test.ts',
  'test/api/servers.test.ts',
  'test/e2e/tailscale.test.ts',
  'test/dev-cluster/processes.test.ts',
  'test/e2e/elections.test.ts',
  'test/features/certificates/acme.test.ts',
  'test/e2e/endpoints-kill.test.ts',
  'test/e2e/endpoints-changes.test.ts',
  'test/features/elections/nats-kills.test.ts',
];

/** The longest of those that start no process, longest first: the run would end with one of them, alone. */
const longestShared: readonly string[] = [
  'test/inspector/many.test.ts',
  'test/actors/host/quicken.test.ts',
  'test/conformance/watch.test.ts',
  'test/machines/issuer/issuer-shares.test.ts',
  'test/features/endpoints/endpoints-restart.test.ts',
  'test/sim/scenarios.test.ts',
];

/** Whether a test file starts the program that the run has built (program.ts). */
export const startsProgram = createReach((text) => text.includes("/suite/program.ts'"));
/** Whether it wants the whole package (package.ts). */
export const wantsPackage = createReach((text) => text.includes("/suite/package.ts'"));

/** Paths, from the root, of the longest test files and of those that start processes. */
export function processFiles(): string[] {
  const startsProcesses = createReach((text) => text.includes("from 'node:child_process'"));
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join('test', name))
    .filter((file) => file !== seeds && (longest.includes(file) || startsProcesses(join(root, file))));
}

/**
 * The position of a test file in the run: first the seeds and the long ones, then those that start processes,
 * then the long ones of all others.
 */
export function placeOf(file: string, startsProcesses: boolean): number {
  const name = relative(root, file);
  if (name === seeds) return -1;
  const place = longest.indexOf(name);
  if (place >= 0) return place;
  if (startsProcesses) return longest.length;
  const placeOfShared = longestShared.indexOf(name);
  return longest.length + 1 + (placeOfShared >= 0 ? placeOfShared : longestShared.length);
}

/** Whether a file, or any that it imports by a relative path, is of this sort. */
function createReach(isSuch: (text: string) => boolean): (file: string) => boolean {
  const known = new Map<string, { readonly isSuch: boolean; readonly imports: readonly string[] }>();
  const read = (file: string) => {
    const text = readFileSync(file, 'utf8');
    const paths = [
      ...text.matchAll(/^(?:import|export) .*?from '(\.[^']+\.ts)';$|^\} from '(\.[^']+\.ts)';$/gm),
    ];
    const imports = paths
      .map(([, path, last]) => resolve(dirname(file), path ?? last ?? ''))
      .filter(existsSync);
    const entry = { isSuch: isSuch(text), imports };
    known.set(file, entry);
    return entry;
  };
  return (file) => {
    const reached = new Set([file]);
    for (const one of reached) {
      const entry = known.get(one) ?? read(one);
      if (entry.isSuch) return true;
      for (const imported of entry.imports) reached.add(imported);
    }
    return false;
  };
}
