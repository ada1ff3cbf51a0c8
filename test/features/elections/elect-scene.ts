/**
 * `orrery elect` as people run it: real processes around a shell script that notes when it starts, beats and
 * ends; a development API server, and for each candidate a connection to it that can be cut.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Relay, startRelay } from '../../../packages/dev-cluster/network/relay.ts';
import { namespaces } from '../../../packages/dev-cluster/resources.ts';
import { type KubeApi, startKubeApi } from '../../../packages/kube-api/server.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { hasCode } from '../../../src/base/errors.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { leaseRecordOf } from '../../../src/features/elections/lease.ts';
import { leases } from '../../../src/features/elections/resources.ts';
import { connectKube, type KubeConnection } from '../../../src/kube/api/kube-connection.ts';
import type { LeaseRecord } from '../../../src/machines/election/lease-record.ts';
import { type Running, start } from '../../cli/command.ts';
import { until } from '../../until.ts';

export interface Line {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly what: string;
  readonly who: string;
  readonly term: number;
}

/** A lease that a process with hardly any processor time does not lose: 20 s, 15 s, 1 s. */
export const calm = ['--lease-duration', '20', '--renew-deadline', '15', '--retry-period', '1'];
/** A short lease, for tests that wait for its end: 3 s, 2 s, 1 s. */
export const quick = ['--lease-duration', '3', '--renew-deadline', '2', '--retry-period', '1'];
export const leaseMs = 3_000;

const never = new AbortController().signal;

export class ElectBench {
  readonly folder = mkdtempSync(join(tmpdir(), 'elect-'));
  readonly #log = join(this.folder, 'log');
  readonly #running: Running[] = [];
  readonly #lines = new Map<string, { relay: Relay; port: number; isCut: boolean }>();
  readonly #api: KubeApi;
  readonly #kube: KubeConnection;

  constructor(api: KubeApi) {
    this.#api = api;
    writeFileSync(this.#log, '');
    const file = join(this.folder, 'kubeconfig');
    writeFileSync(file, api.kubeconfig());
    this.#kube = connectKube({ kubeconfig: file, clock: systemClock, random: systemRandom });
  }

  static async start(): Promise<ElectBench> {
    const bench = new ElectBench(await startKubeApi({ clock: systemClock, random: systemRandom }));
    await bench.#kube.create(namespaces, { metadata: { name: 'shop' } }, never);
    return bench;
  }

  /** Starts `orrery elect shop/worker --id <id> … -- <command>` behind a line of its own. */
  async elect(id: string, command: readonly string[], flags: readonly string[] = calm): Promise<Running> {
    const url = new URL(this.#api.url);
    const line = { isCut: false };
    const relay = await startRelay({
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      pick: () => (line.isCut ? undefined : { host: '127.0.0.1', port: Number(url.port) }),
    });
    this.#lines.set(id, Object.assign(line, { relay, port: relay.port }));
    const kubeconfig = join(this.folder, `kubeconfig-${id}`);
    writeFileSync(kubeconfig, this.#api.kubeconfig().replace(`:${url.port}`, `:${relay.port}`));
    const args = ['elect', 'shop/worker', '--id', id, '--kubeconfig', kubeconfig, ...flags, '--', ...command];
    const running = start(args, { cwd: this.folder, env: { LOG: this.#log, WHO: id } });
    this.#running.push(running);
    return running;
  }

  /** The API server goes away for the candidate, or comes back. */
  cut(id: string, isCut: boolean): void {
    const line = this.#lines.get(id);
    if (!line) throw new Error(`there is no line of ${id}`);
    line.isCut = isCut;
    if (isCut) line.relay.reset();
  }

  lines(who?: string): Line[] {
    const read = readFileSync(this.#log, 'utf8')
      .split('\n')
      .filter((line) => /^\d/.test(line));
    const lines = read.map((line) => {
      const [at = '', what = '', by = '', term = ''] = line.split(' ');
      return { at: Number(at), what, who: by, term: Number(term) };
    });
    return who === undefined ? lines : lines.filter((line) => line.who === who);
  }

  seen(who: string, what: string, timeoutMs = 60_000): Promise<Line> {
    return until(() => this.lines(who).find((line) => line.what === what), {
      what: `${who} ${what}`,
      timeoutMs,
    });
  }

  async lease(): Promise<LeaseRecord | null> {
    try {
      return leaseRecordOf(await this.#kube.get(leases, 'shop', 'worker', never));
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  }

  async stop(): Promise<void> {
    for (const { child } of this.#running) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    }
    await Promise.all(this.#running.map(({ ended }) => ended));
    for (const { relay } of this.#lines.values()) await relay.kill();
    this.#kube.close();
    await this.#api.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const say = (what: string) => `echo "$(date +%s%3N) ${what} $WHO $ORRERY_TERM" >> "$LOG"`;
// The signal may reach a whole group of processes: `date` in a trap must outlive it, or the line has no time.
/** Beats until it is told to end, and then ends with 7. */
export const steady = [
  'sh',
  '-c',
  `trap 'trap "" TERM; ${say('told')}; exit 7' TERM; ${say('start')}; while :; do ${say('beat')}; sleep 0.1; done`,
];
/** Beats and does not listen. */
export const stubborn = [
  'sh',
  '-c',
  `trap 'trap "" TERM; ${say('told')}' TERM; ${say('start')}; while :; do ${say('beat')}; sleep 0.1; done`,
];

/**
 * Pairs of candidates whose commands were running at the same time: between the first and the last line of
 * each term.
 */
export function overlaps(lines: readonly Line[]): string[] {
  const spans = new Map<string, { who: string; term: number; from: number; to: number }>();
  for (const { at, who, term } of lines) {
    const key = `${who}/${term}`;
    const span = spans.get(key) ?? { who, term, from: at, to: at };
    spans.set(key, { ...span, to: at });
  }
  const sorted = [...spans.values()].sort((a, b) => a.from - b.from);
  return sorted.flatMap((one, n) => {
    const next = sorted[n + 1];
    return next !== undefined && next.from < one.to
      ? [
          `${next.who} under ${next.term} began ${one.to - next.from} ms before the end of ${one.who} under ${one.term}`,
        ]
      : [];
  });
}
