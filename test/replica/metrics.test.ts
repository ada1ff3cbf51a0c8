/** What Prometheus reads: the contract's names, and gauges that are looked up when asked. */
import { expect, test } from 'vitest';
import type { Engine } from '../../src/actors/engine.ts';
import { createCell, note } from '../../src/actors/host/cell.ts';
import type { ActorRecord } from '../../src/actors/host/records.ts';
import { createShardRun } from '../../src/actors/shards/shard-run.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { domainChart } from '../../src/machines/domain/domain.ts';
import { featuresOf } from '../../src/replica/features.ts';
import type { Pipelines } from '../../src/replica/health/pipelines.ts';
import { createMetrics, metricTables } from '../../src/replica/metrics.ts';
import { gaugesOf } from '../../src/replica/replica-tells.ts';

const table = metricTables(featuresOf());

const body = async (metrics: ReturnType<typeof createMetrics>) => (await metrics.text()).body;

test('every metric of the table is reported with its type, also before anything happened', async () => {
  const text = await body(createMetrics({ table }));
  for (const [name, { type }] of Object.entries(table)) expect(text).toContain(`# TYPE ${name} ${type}`);
});

test('only counters have the name of one, as promtool demands', async () => {
  const text = await body(createMetrics({ table, processMetrics: true }));
  const misnamed = [...text.matchAll(/^# TYPE (\S+_total) (?!counter)/gm)].map(([, name]) => name);
  expect(misnamed).toEqual([]);
  expect(text).toContain('nodejs_active_handles{');
});

test('what happens is counted under the names of the contract', async () => {
  const metrics = createMetrics({ table });
  metrics.transition('pod');
  metrics.transition('pod');
  metrics.stepSeconds(0.002);
  metrics.effect('route.sample', 'timed_out');
  metrics.deadLetter('MESSAGE_UNREADABLE');
  metrics.watchRestart('pods');
  metrics.worldLag('pods', 0.25);
  metrics.shardMove();
  metrics.observe('orrery_pod_gate_wait_seconds', 4);
  const text = await body(metrics);
  expect(text).toContain('orrery_transitions_total{kind="pod"} 2');
  expect(text).toContain('orrery_step_duration_seconds_bucket{le="0.0025"} 1');
  expect(text).toContain('orrery_effects_total{effect="route.sample",outcome="timed_out"} 1');
  expect(text).toContain('orrery_dead_letters_total{reason="MESSAGE_UNREADABLE"} 1');
  expect(text).toContain('orrery_watch_restarts_total{resource="pods"} 1');
  expect(text).toContain('orrery_world_lag_seconds{resource="pods"} 0.25');
  expect(text).toContain('orrery_shard_moves_total 1');
  expect(text).toContain('orrery_pod_gate_wait_seconds_bucket{le="5"} 1');
});

test('gauges show what is so now: an actor that left a state is not counted there any more', async () => {
  const metrics = createMetrics({ table });
  let state = 'proving';
  metrics.observed(() => [
    { name: 'orrery_actors', labels: { kind: 'pod', state }, value: 3 },
    { name: 'orrery_mailbox_depth', labels: { shard: '3' }, value: 7 },
    {
      name: 'orrery_certificate_expiry_timestamp_seconds',
      labels: { host: 'app.example.com' },
      value: 1_700_000_000,
    },
    { name: 'orrery_nats_disconnects_total', value: 3 },
  ]);
  const before = await body(metrics);
  expect(before).toContain('orrery_actors{kind="pod",state="proving"} 3');
  expect(before).toContain('orrery_mailbox_depth{shard="3"} 7');
  expect(before).toContain('orrery_nats_disconnects_total 3');
  expect(before).toContain('orrery_certificate_expiry_timestamp_seconds{host="app.example.com"} 1700000000');
  state = 'ready';
  const after = await body(metrics);
  expect(after).toContain('orrery_actors{kind="pod",state="ready"} 3');
  expect(after).not.toContain('state="proving"');
  expect(after).toContain('orrery_nats_disconnects_total 3');
});

test('two replicas in one process count apart', async () => {
  const [one, other] = [createMetrics({ table }), createMetrics({ table })];
  one.shardMove();
  expect(await body(other)).toContain('orrery_shard_moves_total 0');
});

test('actors of one state are counted by how they stand: what needs a look in any state is wrong', () => {
  const run = createShardRun(0, 1);
  const refused = { since: 0, at: 300_000, why: 'denied' };
  for (const [n, state, unwritten] of [
    [1, 'valid', null],
    [2, 'valid', refused],
    [3, 'lacking', null],
    [4, 'lacking', refused],
  ] as const) {
    const id = `domain/_/${n}.example.com` as const;
    const cell = createCell(id, run);
    run.cells.set(id, cell);
    const record = { gone: false, since: 1_000, snapshot: { value: state, context: { unwritten } } };
    note(cell, record as unknown as ActorRecord, state, domainChart);
  }
  const steppers = new Map([['domain', { chart: domainChart }]]);
  const parts = { steppers, paces: { used: () => [] } };
  const engine = { parts, shards: { open: () => [run] }, runs: [] } as unknown as Engine;
  const bus = { status: 'connected', counters: { disconnects: 0 }, troubles: () => [] } as unknown as Bus;
  const gauges = [...gaugesOf(engine, bus, { complaints: () => [] } as unknown as Pipelines, 2_000)];
  const ofName = (name: string) => gauges.filter((one) => one.name === name);
  expect(ofName('orrery_actors').map(({ labels, value }) => [labels?.state, labels?.health, value])).toEqual([
    ['valid', 'ok', 1],
    ['valid', 'wrong', 1],
    ['lacking', 'wrong', 2],
  ]);
  const troubles = [{ labels: { kind: 'domain', health: 'wrong' }, value: 1 }];
  expect(ofName('orrery_trouble_seconds')).toMatchObject(troubles);
});
