/**
 * Breaks a cluster of real processes for minutes and reports whether a promise broke:
 *   npm run chaos -- --minutes 30 --seed 7 --r3
 *
 * Uses a NATS server (three with `--r3`, with three copies of each stream), replicas, and the development
 * API, or a real one with `--kube-apiserver PATH --etcd PATH`, or the one that KUBECONFIG names. Prints one
 * line for each fault and a summary at the end; exit code 1 with the seed and the broken promise. Ctrl-C ends
 * everything.
 */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock as clock } from '../src/base/clock.ts';
import { asError } from '../src/base/errors.ts';
import { systemRandom } from '../src/base/random.ts';
import { type ChaosReport, runChaos } from '../test/chaos/chaos-run.ts';
import { type FaultKind, faultKinds } from '../test/chaos/faults.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    /** Decides which faults happen, and when; default: a random one. */
    seed: { type: 'string' },
    /** Three NATS servers, three copies of each stream. */
    r3: { type: 'boolean', default: false },
    replicas: { type: 'string', default: '3' },
    'kube-apiserver': { type: 'string' },
    etcd: { type: 'string' },
    /** Where NATS stores: a small file system of its own, which `diskFull` fills. */
    'nats-dir': { type: 'string' },
    /** No faults: a cluster in use, and what it holds at the beginning and at the end. */
    soak: { type: 'boolean', default: false },
    /** Only these kinds of fault, separated by commas; absent: drawn. */
    only: { type: 'string' },
    /** Longest pause between two faults, seconds. */
    'fault-every': { type: 'string', default: '6' },
    /** Also prints what happens in the world and to the actors. */
    trace: { type: 'boolean', default: false },
    /** Keeps the folder with logs and stores; a broken promise keeps it in any case. */
    keep: { type: 'boolean', default: false },
  },
});

const seed = Number(values.seed ?? Math.floor(systemRandom.next() * 1_000_000));
const began = clock.monotonic();
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));

const smallBytes = 2 ** 30;

function say(text: string): void {
  process.stdout.write(`${((clock.monotonic() - began) / 1_000).toFixed(1).padStart(7)}  ${text}\n`);
}

/** @throws Error that names what is not allowed */
function kindsIn(text: string | undefined): readonly FaultKind[] | undefined {
  const names = text?.split(',').filter((name) => name !== '');
  const unknown = names?.find((name) => !faultKinds.some((kind) => kind === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of ${faultKinds.join(', ')}`);
  return names as readonly FaultKind[] | undefined;
}

function programsIn({ 'kube-apiserver': kubeApiserver, etcd }: typeof values) {
  if (kubeApiserver === undefined && etcd === undefined) return {};
  if (kubeApiserver === undefined || etcd === undefined)
    throw new Error('--kube-apiserver and --etcd are given together');
  return { programs: { kubeApiserver, etcd } };
}

function tell({ breach, steps, faults, failOvers, world, settledMs, growth }: ChaosReport): void {
  const counts = [...faults].map(([kind, count]) => `${count} ${kind}`).join(', ');
  const copies = values.r3 ? ', R3' : '';
  say(`${steps} steps of actors; faults: ${counts || 'none'}${copies}`);
  say(`fail-over after SIGKILL, ${failOvers}`);
  say(world);
  for (const line of growth) say(line);
  if (breach === null)
    say(`every promise was kept; at rest ${(settledMs / 1_000).toFixed(0)} s after the last fault`);
  else say(`seed ${seed}: "${breach.promise}" is broken: ${breach.text}`);
}

/** @throws Error if filling it would take room from others */
function smallDisk(dir: string | undefined): string | undefined {
  if (dir === undefined) return undefined;
  const { bsize, blocks } = statfsSync(dir);
  if (bsize * blocks > smallBytes)
    throw new Error(`--nats-dir: ${dir} is on a file system of more than 1 GiB, and would be filled up`);
  return dir;
}

async function main(): Promise<number> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-chaos-'));
  const { KUBECONFIG: kubeconfig } = process.env;
  const kinds = values.soak ? [] : kindsIn(values.only);
  const natsDir = smallDisk(values['nats-dir']);
  let isKept = values.keep;
  try {
    const report = await runChaos({
      ...{ seed, dir, say, signal: ending.signal },
      chaosMs: Number(values.minutes) * 60_000,
      copies: values.r3 ? 3 : 1,
      replicas: Number(values.replicas),
      faultEveryMs: Number(values['fault-every']) * 1_000,
      ...(values.trace ? { tell: say } : {}),
      ...programsIn(values),
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      ...(kinds === undefined ? {} : { kinds }),
      ...(natsDir === undefined ? {} : { natsDir }),
    });
    tell(report);
    isKept ||= report.breach !== null;
    return report.breach === null ? 0 : 1;
  } finally {
    if (isKept) say(`kept: ${dir}`);
    else rmSync(dir, { recursive: true, force: true });
  }
}

const code = await main().catch((error) => {
  say(ending.signal.aborted ? asError(ending.signal.reason).message : (asError(error).stack ?? ''));
  return 1;
});
process.exit(code);
