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
import { systemClock as clock } from '../src/base/clock.ts';
import { asError } from '../src/base/errors.ts';
import { systemRandom } from '../src/base/random.ts';
import { type ChaosReport, runChaos } from '../test/chaos/chaos-run.ts';
import { type FaultKind, faultKinds } from '../test/chaos/faults.ts';
import { list, number, readFlags, text, toggle, whole } from './flags.ts';

const values = readFlags(
  'npm run chaos --',
  'Breaks a cluster of real processes for minutes; exit code 1 if a promise broke.',
  {
    minutes: number('how long things fail', 5),
    seed: whole('decides which faults happen, and when (random)'),
    r3: toggle('three NATS servers, three copies of each stream'),
    replicas: whole('replicas of Orrery', 3),
    'kube-apiserver': text(
      'its binary, together with --etcd (else the API server of KUBECONFIG, or the development API)',
    ),
    etcd: text('its binary'),
    'nats-dir': text('where NATS stores: a small file system of its own, which diskFull fills'),
    soak: toggle('no faults: a cluster in use, and what it holds at the beginning and at the end'),
    only: list('only these kinds of fault (drawn from all)'),
    'fault-every': number('longest pause between two faults, seconds', 6),
    trace: toggle('also prints what happens in the world and to the actors'),
    keep: toggle('keeps the folder with logs and stores; a broken promise keeps it in any case'),
  },
);

const seed = values.seed ?? Math.floor(systemRandom.next() * 1_000_000);
const began = clock.monotonic();
const ending = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => ending.abort(new Error(`ended by ${signal}`)));

const smallBytes = 2 ** 30;

function say(text: string): void {
  process.stdout.write(`${((clock.monotonic() - began) / 1_000).toFixed(1).padStart(7)}  ${text}\n`);
}

/** @throws Error that names what is not allowed */
function kindsIn(names: readonly string[]): readonly FaultKind[] | undefined {
  if (names.length === 0) return undefined;
  const unknown = names.find((name) => !faultKinds.some((kind) => kind === name));
  if (unknown !== undefined) throw new Error(`--only: ${unknown} is none of ${faultKinds.join(', ')}`);
  return names as readonly FaultKind[];
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
      chaosMs: values.minutes * 60_000,
      copies: values.r3 ? 3 : 1,
      replicas: values.replicas,
      faultEveryMs: values['fault-every'] * 1_000,
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
