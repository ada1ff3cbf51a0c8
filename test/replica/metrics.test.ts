/** What Prometheus reads: the contract's names, and gauges that are looked up when asked. */
import { expect, test } from 'vitest';
import { createMetrics, metricTable } from '../../src/replica/metrics.ts';

const body = async (metrics: ReturnType<typeof createMetrics>) => (await metrics.text()).body;

test('every metric of the table is reported with its type, also before anything happened', async () => {
  const text = await body(createMetrics());
  for (const [name, [type]] of Object.entries(metricTable)) expect(text).toContain(`# TYPE ${name} ${type}`);
});

test('what happens is counted under the names of the contract', async () => {
  const metrics = createMetrics();
  metrics.transition('pod');
  metrics.transition('pod');
  metrics.stepSeconds(0.002);
  metrics.effect('route.sample', 'timed_out');
  metrics.deadLetter('MESSAGE_UNREADABLE');
  metrics.watchRestart('pods');
  metrics.worldLag('pods', 0.25);
  metrics.shardMove();
  metrics.podGateWait(4);
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
  const metrics = createMetrics();
  let state = 'proving';
  metrics.observe({
    actors: () => [
      { kind: 'pod', state, count: 2 },
      { kind: 'pod', state, count: 1 },
    ],
    mailboxes: () => [{ shard: 3, depth: 7 }],
    lateFamilies: () => 2,
    isConnected: () => true,
    disconnects: () => 3,
    ownedShards: () => [3],
    certificates: () => [{ host: 'app.example.com', notAfter: 1_700_000_000_000 }],
    elections: () => [{ election: 'shop/worker', term: 7 }],
  });
  const before = await body(metrics);
  expect(before).toContain('orrery_actors{kind="pod",state="proving"} 3');
  expect(before).toContain('orrery_mailbox_depth{shard="3"} 7');
  expect(before).toContain('orrery_shard_owner{shard="3"} 1');
  expect(before).toContain('orrery_shard_owner{shard="4"} 0');
  expect(before).toContain('orrery_certificate_expiry_timestamp_seconds{host="app.example.com"} 1700000000');
  state = 'ready';
  const after = await body(metrics);
  expect(after).toContain('orrery_actors{kind="pod",state="ready"} 3');
  expect(after).not.toContain('state="proving"');
});

test('two replicas in one process count apart', async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.shardMove();
  expect(await body(other)).toContain('orrery_shard_moves_total 0');
});
