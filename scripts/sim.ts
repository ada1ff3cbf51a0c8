/**
 * Runs the deterministic simulation: `npm run sim -- --seeds 10000 --from 1`.
 *
 * A broken promise prints the seed and the command that repeats it with a trace; exit code 1. At the end:
 * what was simulated, and how much faster than time.
 */
import { parseArgs } from 'node:util';
import type { Sighting } from '../packages/testing/simulation/sightings.ts';
import { systemClock } from '../src/base/clock.ts';
import { asError } from '../src/base/errors.ts';
import type { Outcome } from '../test/sim/simulation.ts';
import { sightingLine } from '../test/sim/trace.ts';
import { simulateTurn } from '../test/sim/turns.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    /** Simulated seconds in which things happen and fail. */
    seconds: { type: 'string', default: '30' },
    /** Only this one; absent: each seed has one, in turns. */
    feature: { type: 'string' },
    /** Print what happens. */
    trace: { type: 'boolean', default: false },
    /** Print what the replicas log, too. */
    log: { type: 'boolean', default: false },
    /** Go on after a broken promise, and list them all. */
    all: { type: 'boolean', default: false },
  },
});
const from = Number(values.from);
const seeds = Number(values.seeds);
const chaosMs = Number(values.seconds) * 1000;
const started = systemClock.monotonic();
let [simulatedMs, steps, done] = [0, 0, 0];
const broken: Outcome[] = [];
let stray: Error | null = null;
process.on('unhandledRejection', (reason) => {
  stray ??= asError(reason);
});

for (let seed = from; seed < from + seeds; seed++) {
  const outcome = await run(seed);
  simulatedMs += outcome.simulatedMs;
  steps += outcome.steps;
  done++;
  if (values.trace) process.stdout.write(`${outcome.profile}\nfingerprint ${outcome.fingerprint}\n`);
  if (outcome.breach === null) continue;
  broken.push(outcome);
  report(outcome);
  if (!values.all) break;
}
summary();
process.exit(broken.length > 0 ? 1 : 0);

async function run(seed: number): Promise<Outcome> {
  const write = (text: string) => void process.stdout.write(`${text}\n`);
  const options = {
    seed,
    chaosMs,
    ...(values.trace
      ? {
          onSighting: (atMs: number, sighting: Sighting) => {
            const line = sightingLine(atMs, sighting);
            if (line !== null) write(line);
          },
        }
      : {}),
    ...(values.log
      ? {
          trace: (who: string, facts: object, message: string) =>
            write(`           ${who}: ${message} ${JSON.stringify(facts)}`),
        }
      : {}),
  };
  const outcome = await simulateTurn(options, values.feature);
  if (stray === null || outcome.breach !== null) return outcome;
  const text = `a rejection that nobody handled: ${stray.stack}`;
  stray = null;
  return { ...outcome, breach: { promise: 'I8', text, atMs: Math.round(outcome.simulatedMs) } };
}

function report({ seed, breach, profile }: Outcome): void {
  if (breach === null) return;
  const only = values.feature === undefined ? '' : ` --feature ${values.feature}`;
  process.stdout.write(
    [
      `seed ${seed} breaks ${breach.promise} after ${(breach.atMs / 1000).toFixed(1)} s: ${breach.text}`,
      `  ${profile}`,
      `  again, with a trace: npm run sim -- --from ${seed} --seeds 1 --seconds ${values.seconds}${only} --trace`,
      '',
    ].join('\n'),
  );
}

function summary(): void {
  const seconds = (systemClock.monotonic() - started) / 1000;
  const hours = simulatedMs / 3_600_000;
  process.stdout.write(
    `${done} seeds, ${broken.length} broken: ${hours.toFixed(1)} simulated hours and ${steps} steps in ${seconds.toFixed(0)} s, ` +
      `${(hours / seconds).toFixed(3)} simulated hours a second\n`,
  );
}
