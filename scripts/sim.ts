/**
 * Runs the deterministic simulation: `npm run sim -- --seeds 10000 --from 1`, or `--hours 1000` of it.
 *
 * A broken promise is made small (the fewest kinds of fault, the shortest time) and printed with the command
 * that repeats it with a trace; exit code 1. At the end: what was simulated, and how much faster than time.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { Sighting } from '../packages/testing/simulation/sightings.ts';
import { systemClock } from '../src/base/clock.ts';
import type { Outcome, SimulationOptions } from '../test/sim/simulation.ts';
import { sightingLine } from '../test/sim/trace.ts';
import { runSeed } from './sim/one-seed.ts';
import { runHere, runInThreads } from './sim/seeds.ts';
import { shrink } from './sim/shrink.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    /** So many simulated hours, whatever number of seeds they take: half an hour each, mostly lulls. */
    hours: { type: 'string' },
    from: { type: 'string', default: '1' },
    /** Simulated seconds in which things happen and fail; 30, or 1800 with `--hours`. */
    seconds: { type: 'string' },
    /** Seconds of the lulls between half minutes of that; 0, or 120 with `--hours`. */
    lull: { type: 'string' },
    /** Only this one; absent: each seed has one, in turns. */
    feature: { type: 'string' },
    /** Kinds of fault and change that are left out, with commas between. */
    without: { type: 'string', default: '' },
    /** At the same time; absent: one, with `--hours` as many as there are processors. */
    threads: { type: 'string' },
    /** Print what happens. */
    trace: { type: 'boolean', default: false },
    /** Print what the replicas log, too. */
    log: { type: 'boolean', default: false },
    /** Go on after a broken promise, and list them all. */
    all: { type: 'boolean', default: false },
  },
});
const hours = values.hours === undefined ? null : Number(values.hours);
const seeds = Number(values.seeds ?? 200);
const chaosMs = Number(values.seconds ?? (hours === null ? 30 : 1_800)) * 1_000;
const lullMs = Number(values.lull ?? (hours === null ? 0 : 120)) * 1_000;
const without = values.without.split(',').filter((kind) => kind !== '');
const threads = Number(values.threads ?? (hours === null ? 1 : availableParallelism()));
const started = systemClock.monotonic();
const all: Outcome[] = [];
const hourMs = 3_600_000;

const write = (text: string) => void process.stdout.write(`${text}\n`);
const sum = (of: (outcome: Outcome) => number) => all.reduce((total, one) => total + of(one), 0);
const broken = () => all.filter(({ breach }) => breach !== null);

function isEnough(begun: number): boolean {
  if (broken().length > 0 && !values.all) return true;
  return hours === null ? begun >= seeds : sum(({ simulatedMs }) => simulatedMs) >= hours * hourMs;
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

function note(outcome: Outcome): void {
  all.push({ ...outcome, transitions: [] });
  const { profile, fingerprint } = outcome;
  if (values.trace) write(`${profile}\nfingerprint ${fingerprint}`);
}

/** The command that tells the story of a run. */
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
  write(`seed ${seed} breaks ${breach.promise} after ${(breach.atMs / 1000).toFixed(1)} s: ${breach.text}`);
  write(`  ${first.profile}`);
  const quiet = { seed, chaosMs, lullMs, without };
  const small = values.trace
    ? { options: quiet, outcome: first, tries: 0 }
    : await shrink(quiet, first, (options) => runSeed(options, values.feature));
  const { options, outcome, tries } = small;
  if (tries > 0) {
    write(`  smaller, after ${tries} runs: ${outcome.kinds.join(' ')}; ${outcome.breach?.text}`);
  }
  write(`  again, with a trace: ${commandOf(options)}`);
}

const run = { from: Number(values.from), isEnough, optionsOf, onOutcome: note };
if (threads === 1) await runHere(run, (options) => runSeed(options, values.feature));
else await runInThreads(run, threads, values.feature);
const seconds = (systemClock.monotonic() - started) / 1000;
for (const outcome of broken()) await report(outcome);
const simulated = sum(({ simulatedMs }) => simulatedMs) / hourMs;
const cpu = process.cpuUsage();
write(
  `${all.length} seeds, ${broken().length} broken: ${simulated.toFixed(2)} simulated hours and ` +
    `${sum(({ steps }) => steps)} steps in ${seconds.toFixed(0)} s, ${(simulated / seconds).toFixed(3)} simulated hours ` +
    `a second (${((cpu.user + cpu.system) / 1e6).toFixed(0)} s of processors)`,
);
process.exit(broken().length > 0 ? 1 : 0);
