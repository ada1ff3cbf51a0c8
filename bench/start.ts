/**
 * What an idle replica costs: from the start of its process to `/readyz`, and then at rest.
 *
 * Run: node bench/start.ts [--program dist/main.js] [--runs 6] [--rest 20] [--node-options …]
 * Measures a built program, as a process with nothing in it but itself (alone.ts), on a NATS that has its
 * streams; compiled code is beside it from the second start on. Its own API server contains only the objects
 * of every cluster.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDevCluster } from '../packages/dev-cluster/cluster.ts';
import { number, readFlags, text, whole } from '../scripts/flags.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { silentLog as log } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import { type Alone, replicaAlone } from './alone.ts';
import { cpuSeconds, processCosts } from './process-costs.ts';

const values = readFlags('node bench/start.ts', 'What an idle replica costs: its start, and then at rest.', {
  program: text('a built program', 'dist/main.js'),
  runs: whole('starts', 6),
  rest: number('how long it is watched at rest, seconds', 20),
  'node-options': text('options of Node for it', '--max-semi-space-size=8'),
});
const row = (what: string, value: string) => console.log(`${what.padEnd(50)} ${value}`);
const pollMs = 5;
/** What was begun at the start has ended by then. */
const settledAfterMs = 8_000;

/** @returns how long it took, ms */
async function start(replica: Alone): Promise<number> {
  const started = clock.monotonic();
  replica.start();
  while (!(await isReady(`${replica.url}/readyz`))) await sleep(clock, pollMs);
  return clock.monotonic() - started;
}

const isReady = (url: string) =>
  fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );

async function atRest(replica: Alone): Promise<void> {
  await sleep(clock, settledAfterMs);
  const [before, since] = [cpuSeconds(replica.pid()), clock.monotonic()];
  await sleep(clock, values.rest * 1_000);
  const share = (cpuSeconds(replica.pid()) - before) / ((clock.monotonic() - since) / 1_000);
  row('at rest', `${processCosts(replica.pid())}; ${(100 * share).toFixed(2)} % of a core`);
}

const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
const http = { host: '127.0.0.1', port: 0 };
const options = { clock, random, log, dir, replicas: 0, http, restarts: false, print: () => {} };
const cluster = await startDevCluster(options, new AbortController().signal);
const { natsUrl, kubeconfig } = cluster;
const { program, 'node-options': nodeOptions } = values;
const replica = await replicaAlone({ program, options: nodeOptions, natsUrl, kubeconfig, signal: 'SIGTERM' });
// The first one creates the streams, and compiles its code for those after it.
await start(replica);
await replica.kill();
const times: number[] = [];
for (let run = 0; run < values.runs; run++) {
  if (run > 0) await replica.kill();
  times.push(await start(replica));
}
times.sort((a, b) => a - b);
row(
  'start of a process until /readyz answers 200',
  `${times.map((ms) => `${Math.round(ms)}`).join(', ')} ms`,
);
row('  the last', processCosts(replica.pid()));
await atRest(replica);
await replica.kill();
await cluster.stop();
rmSync(dir, { recursive: true, force: true });
process.exit(0);
