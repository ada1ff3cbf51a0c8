/**
 * Runs a simulated cluster for hours and prints its memory use: `npm run sim:soak -- --hours 6`. Exit code 1
 * if anything has grown since the first hour.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { sleep, systemClock } from '../src/base/clock.ts';
import { type Sample, soak } from '../test/sim/soak.ts';
import { number, readFlags, whole } from './flags.ts';

const values = readFlags(
  'npm run sim:soak --',
  'Runs a simulated cluster for hours and prints its memory use; exit code 1 if anything grew.',
  { hours: number('simulated hours', 6), seed: whole('decides what happens', 1) },
);
setFlagsFromString('--expose-gc');
const gc: () => void = runInNewContext('gc');
/** Cleaning up after objects takes a turn of the event loop, and a second collection. */
async function collect(): Promise<void> {
  for (let n = 0; n < 3; n++) {
    gc();
    await sleep(systemClock, 50);
  }
}
const write = (text: string) => void process.stdout.write(`${text}\n`);

const row = ({ atHours, heapMb, timers, actors, stored }: Sample) =>
  `| ${atHours} | ${heapMb.toFixed(1)} | ${timers} | ${actors} | ${stored.state} | ${stored.world} | ${stored.mail} |`;

/** Allows for what comes and goes with what people are doing at the time. */
function hasGrown(first: Sample, last: Sample): boolean {
  const sizes = ({ timers, stored }: Sample) => [timers, stored.state, stored.world];
  const before = sizes(first);
  const isMore = sizes(last).some((size, index) => size > 1.5 * (before[index] ?? 0) + 20);
  return isMore || last.heapMb > 1.1 * first.heapMb + 2;
}

write('| hour | heap, MB | timers | actors | state | world | mail |\n|---|---|---|---|---|---|---|');
const samples = await soak({
  seed: values.seed,
  hours: values.hours,
  everyHours: 1,
  collect,
  onSample: (sample) => write(row(sample)),
});
const [first, last] = [samples[0], samples.at(-1)];
process.exit(first === undefined || last === undefined || hasGrown(first, last) ? 1 : 0);
