/**
 * Runs the deterministic simulation: `npm run sim -- --seeds 10000 --from 1`, or `--hours 1000` of it.
 *
 * A broken promise is reduced (to the fewest kinds of fault and the shortest time) and printed with the
 * command that repeats it with a trace; exit code 1. At the end: what was simulated, what happened in it, by
 * kind, and how much faster than real time.
 */
import { availableParallelism } from 'node:os';
import type { Sighting } from '../packages/testing/simulation/sightings.ts';
import { systemClock } from '../src/base/clock.ts';
import type { Outcome, SimulationOptions } from '../test/sim/simulation.ts';
import { sightingLine } from '../test/sim/trace.ts';
import { simulatedFeatures } from '../test/sim/turns.ts';
import { choice, list, number, readFlags, toggle, whole } from './flags.ts';
import { runSeed } from './sim/one-seed.ts';
import { runHere, runInThreads } from './sim/seeds.ts';
import { shrink } from './sim/shrink.ts';
import { summary, type Tallied } from './sim/tally.ts';

const values = readFlags(
  'npm run sim --',
  'Runs the simulated cluster with one seed after the other and checks every promise. Exit code 1 if one broke.',
  {
    seeds: whole('how many seeds (200, or as many as --hours takes)'),
    hours: number('simulated hours instead: four hours each seed, mostly lulls'),
    from: whole('the first seed', 1),
    seconds: number('simulated seconds in which things happen and fail (30; with --hours 14400)'),
    lull: number('seconds of the lulls between half minutes of that (0; with --hours 3600)'),
    feature: choice('only this one; else each seed has one, in turns', simulatedFeatures),
    without: list('kinds of fault and change to leave out'),
    threads: whole('seeds at the same time (the number of processors)'),
    'as-is': toggle('does not reduce a seed that breaks a promise'),
    trace: toggle('prints what happens'),
    log: toggle('also prints what the replicas log'),
    all: toggle('continues after a broken promise, and lists them all'),
  },
);
const { without } = values;
const hours = values.hours ?? null;
const seeds = values.seeds ?? (hours === null ? 200 : Number.POSITIVE_INFINITY);
const chaosMs = (values.seconds ?? (hours === null ? 30 : 14_400)) * 1_000;
const lullMs = (values.lull ?? (hours === null ? 0 : 3_600)) * 1_000;
// Output during the run needs this thread.
const isTold = values.trace || values.log;
// Stacks of errors are a tenth of the work, and are only read in a story that is told.
if (!isTold) Error.stackTraceLimit = 0;
const threads = Math.max(1, values.threads ?? (isTold ? 1 : Math.min(availableParallelism(), seeds)));
const started = systemClock.monotonic();
const all: Tallied[] = [];
const hourMs = 3_600_000;
const progressEveryMs = 600_000;

const write = (text: string) => void process.stdout.write(`${text}\n`);
let simulatedMs = 0;
const broken = () => all.filter(({ breach }) => breach !== null);

function isEnough(begun: number): boolean {
  if (broken().length > 0 && !values.all) return true;
  return hours === null ? begun >= seeds : simulatedMs >= hours * hourMs;
}

function optionsOf(seed: number): SimulationOptions {
  return {
    ...{ seed, chaosMs, lullMs, without },
    ...(values.trace ? { onSighting: tellSighting } : {}),
    ...(values.log ? { trace: tellLog } : {}),
  };
}

function tellSighting(atMs: number, sighting: Sighting): void {
  const line = sightingLine(atMs, sighting);
  if (line !== null) write(line);
}

function tellLog(who: string, facts: object, message: string): void {
  write(`           ${who}: ${message} ${JSON.stringify(facts)}`);
}

function note(outcome: Tallied): void {
  all.push(outcome);
  simulatedMs += outcome.simulatedMs;
  tellProgress();
  const { profile, fingerprint } = outcome;
  if (values.trace) write(`${profile}\nfingerprint ${fingerprint}`);
  const { seed, breach } = outcome;
  if (breach === null) return;
  write(`seed ${seed} breaks ${breach.promise} after ${(breach.atMs / 1000).toFixed(1)} s: ${breach.text}`);
  write(`  ${profile}`);
}

let toldAt = started;

/** Reports the progress of long runs every ten minutes. */
function tellProgress(): void {
  const now = systemClock.monotonic();
  if (hours === null || now - toldAt < progressEveryMs) return;
  toldAt = now;
  write(`${(simulatedMs / hourMs).toFixed(1)} of ${hours} simulated hours, ${all.length} seeds`);
}

/** The command that repeats a run with its trace. */
function commandOf({ seed, ...options }: SimulationOptions): string {
  const flags = [
    `--from ${seed} --seeds 1 --seconds ${options.chaosMs / 1_000}`,
    ...(options.lullMs ? [`--lull ${options.lullMs / 1_000}`] : []),
    ...(options.without?.length ? [`--without ${options.without.join(',')}`] : []),
    ...(values.feature === undefined ? [] : [`--feature ${values.feature}`]),
  ];
  return `npm run sim -- ${flags.join(' ')} --trace`;
}

async function report(first: Outcome): Promise<void> {
  const { seed, breach } = first;
  if (breach === null) return;
  const quiet = { seed, chaosMs, lullMs, without };
  const small =
    values.trace || values['as-is']
      ? { options: quiet, outcome: first, tries: 0 }
      : await shrink(quiet, first, (options) => runSeed(options, values.feature));
  const { options, outcome, tries } = small;
  if (tries > 0) {
    write(
      `seed ${seed} is smaller, after ${tries} runs: ${outcome.kinds.join(' ')}; ${outcome.breach?.text}`,
    );
  }
  write(`seed ${seed} again, with a trace: ${commandOf(options)}`);
}

const run = { from: values.from, isEnough, optionsOf, onOutcome: note };
if (threads === 1) await runHere(run, (options) => runSeed(options, values.feature));
else await runInThreads(run, threads, values.feature);
const seconds = (systemClock.monotonic() - started) / 1000;
for (const outcome of broken()) await report(outcome);
for (const line of summary(all, seconds)) write(line);
process.exit(broken().length > 0 ? 1 : 0);
