/**
 * One Lease, two kinds of candidates: ours, and a program with client-go's leader election, on a real API
 * server.
 *
 * Needs ORRERY_TEST_CLIENT_GO, the path of a program with the usual leader-election flags (kube-scheduler,
 * kube-controller-manager and most controllers have them), and KUBECONFIG, whose user may do what that
 * program does.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock as clock, sleep } from '../../src/base/clock.ts';
import { hasCode } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom as random } from '../../src/base/random.ts';
import { type Campaign, startCampaign } from '../../src/features/elections/campaign.ts';
import { leaseRecordOf } from '../../src/features/elections/lease.ts';
import { leases } from '../../src/features/elections/resources.ts';
import { connectKube, type KubeConnection } from '../../src/kube/api/kube-connection.ts';
import type { LeaseRecord } from '../../src/machines/election/lease-record.ts';
import { start } from '../cli/command.ts';
import { until } from '../until.ts';

const program = process.env.ORRERY_TEST_CLIENT_GO;
const kubeconfig = process.env.KUBECONFIG;
const isGiven = program !== undefined && kubeconfig !== undefined;
const leaseMs = 3_000;
const timing = { leaseMs, renewDeadlineMs: 2_000, retryMs: 1_000 };
const { signal } = new AbortController();
const undos: Array<() => Promise<unknown> | unknown> = [];

afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

if (!isGiven) {
  console.info('interop with client-go is skipped: ORRERY_TEST_CLIENT_GO and KUBECONFIG are not both set');
}

/** A Lease of its own in namespace `default`. */
class Bench {
  readonly kube: KubeConnection = connectKube({ kubeconfig: kubeconfig ?? '', clock, random });
  readonly place = {
    namespace: 'default',
    name: `interop-${random
      .id()
      .toLowerCase()
      .replaceAll(/[^a-z0-9]/g, '')}`,
  };

  constructor() {
    undos.push(async () => {
      await this.kube.delete(leases, this.place.namespace, this.place.name, {}, signal).catch(() => {});
      this.kube.close();
    });
  }

  ours(id = 'ours', kube = this.kube as Parameters<typeof startCampaign>[0]['kube']): Campaign {
    const nothing = () => {};
    const parts = { kube, clock, random, log: silentLog, place: this.place, id, timing };
    const campaign = startCampaign({ ...parts, onLeading: nothing, onLost: nothing });
    undos.push(() => campaign.stop());
    return campaign;
  }

  go(): ChildProcess {
    const { namespace, name } = this.place;
    const child = spawn(
      program ?? '',
      [
        `--kubeconfig=${kubeconfig}`,
        `--authentication-kubeconfig=${kubeconfig}`,
        `--authorization-kubeconfig=${kubeconfig}`,
        '--secure-port=0',
        '--leader-elect=true',
        `--leader-elect-resource-name=${name}`,
        `--leader-elect-resource-namespace=${namespace}`,
        `--leader-elect-lease-duration=${leaseMs / 1_000}s`,
        '--leader-elect-renew-deadline=2s',
        '--leader-elect-retry-period=500ms',
      ],
      { stdio: 'ignore' },
    );
    undos.push(() => {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
    });
    return child;
  }

  async lease(): Promise<LeaseRecord | null> {
    try {
      return leaseRecordOf(await this.kube.get(leases, this.place.namespace, this.place.name, signal));
    } catch (thrown) {
      if (hasCode(thrown, 'KUBE_NOT_FOUND')) return null;
      throw thrown;
    }
  }

  /** Resolves with the record when client-go's program leads. */
  goLeads(): Promise<LeaseRecord> {
    const probe = async () => {
      const record = await this.lease();
      return record !== null && record.holder !== '' && !record.holder.startsWith('ours')
        ? record
        : undefined;
    };
    return until(probe, { what: 'the program with client-go leads', timeoutMs: 30_000 });
  }

  oursLeads(campaign: Campaign): Promise<number> {
    return until(() => campaign.leading()?.term, { what: 'we lead', timeoutMs: 30_000 });
  }
}

describe.skipIf(!isGiven)('beside client-go', () => {
  test('both start at once: one leads, and the other respects it for as long as it renews', async () => {
    const bench = new Bench();
    const ours = bench.ours();
    bench.go();
    const holder = await until(async () => (await bench.lease())?.holder, { what: 'a leader' });
    await sleep(clock, 4 * leaseMs);
    expect((await bench.lease())?.holder).toBe(holder);
    expect(ours.leading() !== null).toBe(holder === 'ours');
  });

  test('it crashes: we lead when its lease is over, not before', async () => {
    const bench = new Bench();
    const go = bench.go();
    const before = await bench.goLeads();
    const ours = bench.ours();
    await until(() => ours.status().holder === before.holder, { what: 'we have seen it' });
    go.kill('SIGKILL');
    const killedAt = clock.monotonic();
    const term = await bench.oursLeads(ours);
    const took = clock.monotonic() - killedAt;
    expect(term).toBe(before.transitions + 2);
    // It renewed within its retry period before it died.
    expect(took).toBeGreaterThan(leaseMs - 700);
    // Not a lease later; to the millisecond, virtual time shows it (test/features/elections).
    expect(took).toBeLessThan(2 * leaseMs);
  });

  test('it ends in good order and gives the Lease back: we lead at once', async () => {
    const bench = new Bench();
    const go = bench.go();
    await bench.goLeads();
    const ours = bench.ours();
    await until(() => ours.status().holder, { what: 'we have seen it' });
    go.kill('SIGTERM');
    await bench.oursLeads(ours);
    expect((await bench.lease())?.holder).toBe('ours');
  });

  test('we end in good order: it leads within its retry period, before our lease would have been over', async () => {
    const bench = new Bench();
    const ours = bench.ours();
    await bench.oursLeads(ours);
    bench.go();
    await sleep(clock, leaseMs);
    await ours.stop();
    const stoppedAt = clock.monotonic();
    const record = await bench.goLeads();
    expect(clock.monotonic() - stoppedAt).toBeLessThan(leaseMs - 500);
    expect(record.transitions).toBe(1);
  });

  test('we crash: it leads when our lease is over', async () => {
    const bench = new Bench();
    let isDead = false;
    const lost = new Promise<never>(() => {});
    const { kube } = bench;
    const mortal = {
      ...kube,
      replace: (...call: Parameters<typeof kube.replace>) => (isDead ? lost : kube.replace(...call)),
    };
    const ours = bench.ours('ours', mortal);
    await bench.oursLeads(ours);
    bench.go();
    await sleep(clock, leaseMs);
    isDead = true;
    const diedAt = clock.monotonic();
    await bench.goLeads();
    expect(clock.monotonic() - diedAt).toBeGreaterThan(leaseMs - 1_500);
    expect(ours.leading()).toBeNull();
  });

  test('it is paused and resumed: we lead on under our term, and it ends', async () => {
    const bench = new Bench();
    const go = bench.go();
    await bench.goLeads();
    const ours = bench.ours();
    go.kill('SIGSTOP');
    const term = await bench.oursLeads(ours);
    go.kill('SIGCONT');
    await until(() => go.exitCode !== null, { what: 'it ends', timeoutMs: 30_000 });
    expect(ours.leading()?.term).toBe(term);
    expect((await bench.lease())?.holder).toBe('ours');
  });

  test('we are paused and resumed: it leads on, our command has ended, and we write nothing', async () => {
    const bench = new Bench();
    const cwd = mkdtempSync(join(tmpdir(), 'interop-'));
    undos.push(() => rmSync(cwd, { recursive: true, force: true }));
    const { namespace, name } = bench.place;
    const flags = ['--lease-duration', '3', '--renew-deadline', '2', '--retry-period', '1'];
    const args = [
      'elect',
      `${namespace}/${name}`,
      '--id',
      'ours',
      ...flags,
      '--',
      'sh',
      '-c',
      'echo up; exec sleep 600',
    ];
    const ours = start(args, { cwd, env: { KUBECONFIG: kubeconfig ?? '' } });
    undos.push(() => {
      ours.child.kill('SIGCONT');
      ours.child.kill('SIGKILL');
    });
    await until(() => ours.out().includes('up'), { what: 'our command runs', timeoutMs: 30_000 });
    bench.go();
    await sleep(clock, leaseMs);
    ours.child.kill('SIGSTOP');
    const record = await bench.goLeads();
    ours.child.kill('SIGCONT');
    expect((await ours.ended).code).toBe(143);
    expect(await bench.lease()).toMatchObject({ holder: record.holder, transitions: record.transitions });
  });
});
