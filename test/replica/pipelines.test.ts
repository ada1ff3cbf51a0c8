/** A replica's own health: what makes it unhealthy, what does not (docs/features/proxiers.md §6). */
import { afterEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/log-port.ts';
import type { Bus, BusStatus } from '../../src/bus/bus.ts';
import { type Storing, watchStoring } from '../../src/bus/storing.ts';
import { streamDefinitions } from '../../src/bus/streams.ts';
import type { BusTrouble } from '../../src/bus/troubles.ts';
import { healthAnswer } from '../../src/features/proxiers/health-body.ts';
import { idle } from '../../src/kube/mirror/mirror.ts';
import { startOwnHealth } from '../../src/replica/health/own-health.ts';
import { type Pipelines, startPipelines, type Waiting } from '../../src/replica/health/pipelines.ts';
import { readinessOf } from '../../src/replica/replica-tells.ts';
import { TestCluster, type TestReplica } from '../actors/harness.ts';
import { VirtualClock } from '../virtual-clock.ts';

const stopping: Pipelines[] = [];
afterEach(() => {
  for (const one of stopping.splice(0)) one.stop();
});

class Scene {
  readonly clock = new VirtualClock();
  readonly pending = new Map<string, number | null>();
  isConnected = true;
  readonly pipelines: Pipelines;

  constructor() {
    this.pipelines = startPipelines({
      clock: this.clock,
      names: () => this.pending.keys(),
      look: () => this.#look(),
      isConnected: () => this.isConnected,
      nodeEligible: () => true,
    });
    stopping.push(this.pipelines);
  }

  *#look(): Iterable<Waiting> {
    for (const [name, pendingSince] of this.pending)
      if (pendingSince !== null) yield { name, pendingSince, waitsFor: 'is stuck' };
  }

  get code(): number {
    return healthAnswer('livez', this.pipelines.picture(), this.clock.now()).status;
  }
}

describe('families', () => {
  test('an input that waits for 30 s makes the replica unhealthy, and its progress makes it healthy again', async () => {
    const scene = new Scene();
    scene.pending.set('shard/7', null);
    await scene.clock.advance(5_000);
    scene.pending.set('shard/7', scene.clock.now());
    await scene.clock.advance(29_900);
    expect([scene.code, scene.pipelines.complaints()]).toEqual([200, []]);
    await scene.clock.advance(100);
    expect([scene.code, scene.pipelines.complaints()]).toEqual([503, ['shard/7 is stuck']]);
    scene.pending.set('shard/7', scene.clock.now());
    await scene.clock.advance(1_000);
    expect([scene.code, scene.pipelines.complaints()]).toEqual([200, []]);
  });

  test('a shard that always has something to do, and does it, stays healthy', async () => {
    const scene = new Scene();
    for (let second = 0; second < 120; second++) {
      scene.pending.set('shard/7', scene.clock.now() - 500);
      await scene.clock.advance(1_000);
    }
    expect(scene.code).toBe(200);
  });

  test('an idle replica stays healthy for ever', async () => {
    const scene = new Scene();
    scene.pending.set('shard/7', null);
    await scene.clock.advance(3_600_000);
    expect([scene.code, scene.pipelines.isFit()]).toEqual([200, true]);
  });

  test('what was given away is no family any more', async () => {
    const scene = new Scene();
    scene.pending.set('shard/7', scene.clock.now());
    await scene.clock.advance(40_000);
    expect(scene.code).toBe(503);
    scene.pending.clear();
    await scene.clock.advance(1_000);
    expect([scene.code, Object.keys(scene.pipelines.picture().families)]).toEqual([200, ['event-loop']]);
  });

  test('whoever was unhealthy is unfit for a minute longer', async () => {
    const scene = new Scene();
    scene.pending.set('shard/7', scene.clock.now());
    await scene.clock.advance(31_000);
    expect(scene.pipelines.isFit()).toBe(false);
    scene.pending.clear();
    await scene.clock.advance(58_000);
    expect(scene.pipelines.isFit()).toBe(false);
    await scene.clock.advance(3_000);
    expect(scene.pipelines.isFit()).toBe(true);
  });
});

describe('while NATS is away', () => {
  test('nothing counts, and what waits is timed anew from its return', async () => {
    const scene = new Scene();
    await scene.clock.advance(2_000);
    scene.pending.set('shard/7', scene.clock.now());
    scene.isConnected = false;
    await scene.clock.advance(600_000);
    expect([scene.code, scene.pipelines.isFit()]).toEqual([200, true]);
    scene.isConnected = true;
    await scene.clock.advance(29_000);
    expect(scene.code).toBe(200);
    await scene.clock.advance(3_000);
    expect(scene.code).toBe(503);
  });
});

test('a blocked event loop is told as soon as it runs again, and is over with the next turn', async () => {
  let shift = 0;
  const clock = new VirtualClock();
  const shifted = {
    now: () => clock.now() + shift,
    monotonic: () => clock.monotonic() + shift,
    after: clock.after.bind(clock),
  };
  const pipelines = startPipelines({
    clock: shifted,
    names: () => [],
    look: () => [],
    isConnected: () => false,
    nodeEligible: () => true,
  });
  stopping.push(pipelines);
  await clock.advance(2_500);
  // Time passes and no timer fires: that is what a blocked loop looks like from inside.
  shift = 45_000;
  await clock.advance(500);
  expect(pipelines.complaints()).toEqual([expect.stringMatching(/^event-loop was blocked for 4\d s$/)]);
  expect(healthAnswer('livez', pipelines.picture(), shifted.now()).status).toBe(503);
  await clock.advance(1_000);
  expect(pipelines.complaints()).toEqual([]);
});

describe('in a cluster', () => {
  /** Two replicas; saves of one actor never end on the first while `stuck` is set. */
  async function cluster() {
    const scene = new TestCluster();
    const storings: Storing[] = [];
    const stuck = { subject: '' };
    const bend = (bus: Bus): Bus =>
      new Proxy(bus, {
        get(target, name) {
          if (name !== 'append') return Reflect.get(target, name);
          const append: Bus['append'] = (subject, data, options) =>
            subject === stuck.subject ? new Promise(() => {}) : target.append(subject, data, options);
          return append;
        },
      });
    const healths: Pipelines[] = [];
    const start = async (name: string, options: { bend?: (bus: Bus) => Bus }): Promise<TestReplica> => {
      const isFit = () => healths[index]?.isFit() ?? true;
      const index = healths.length;
      const bend = (bus: Bus) => {
        const storing = watchStoring(options.bend?.(bus) ?? bus, {
          ...{ streams: streamDefinitions('test'), clock: scene.clock, log: silentLog },
        });
        storings.push(storing);
        return storing.bus;
      };
      const replica = await scene.replica(name, { bend, isFit });
      const { engine, bus } = replica;
      const storing = { troubles: () => storings[index]?.troubles() ?? [] };
      healths[index] = startOwnHealth({
        engine: () => engine,
        mirrors: [],
        bus,
        storing,
        clock: scene.clock,
        node: null,
      });
      stopping.push(healths[index]);
      return replica;
    };
    const first = await start('r0', { bend });
    const second = await start('r1', {});
    await scene.clock.advance(10_000);
    return { scene, stuck, healths, storings, replicas: [first, second] as const };
  }

  const proxierOn = ({ engine }: TestReplica) => {
    for (let n = 0; ; n++) {
      const id = `proxier/_/node-${n}` as const;
      if (engine.shards.runOf(id)?.phase === 'active') return id;
    }
  };

  test('a shard whose save never ends makes its owner unhealthy, and its shards move', async () => {
    const { scene, stuck, healths, replicas } = await cluster();
    const [ill, well] = replicas;
    const id = proxierOn(ill);
    const shard = ill.engine.shards.runOf(id)?.shard ?? -1;
    stuck.subject = scene.subjects.state(shard, id);
    const event = new TextEncoder().encode('{"type":"proxier.updated","family":"IPv4"}');
    await scene.hub.connect('proxy').append(scene.subjects.send(id), event);
    await scene.clock.advance(29_000);
    expect(healths[0]?.complaints()).toEqual([]);
    await scene.clock.advance(3_000);
    expect(healths[0]?.complaints()).toEqual([
      expect.stringMatching(new RegExp(`^shard/${shard} has been working on one event of ${id} for 3\\d s$`)),
    ]);
    await scene.clock.advance(40_000);
    expect([...ill.engine.shards.open()]).toEqual([]);
    expect([...well.engine.shards.open()]).toHaveLength(64);
    expect(scene.states()[id]).toBe('IPv4.synced,IPv6.starting,node.unknown');
    expect(healths.map((health) => health.complaints())).toEqual([[], []]);
    // Well again, it gets its part of the shards back.
    stuck.subject = '';
    await scene.clock.advance(120_000);
    expect([...ill.engine.shards.open()].length).toBeGreaterThan(16);
  });

  test.each([3_600_000, -3_600_000])(
    'a clock that is set by %i ms makes nothing late, and hides nothing',
    async (byMs) => {
      const { scene, stuck, healths, replicas } = await cluster();
      const [ill] = replicas;
      const id = proxierOn(ill);
      stuck.subject = scene.subjects.state(ill.engine.shards.runOf(id)?.shard ?? -1, id);
      const event = new TextEncoder().encode('{"type":"proxier.updated","family":"IPv4"}');
      await scene.hub.connect('proxy').append(scene.subjects.send(id), event);
      await scene.clock.advance(5_000);
      scene.clock.leap(byMs);
      await scene.clock.advance(24_000);
      expect(healths.map((health) => health.complaints())).toEqual([[], []]);
      await scene.clock.advance(3_000);
      expect(healths.map((health) => health.complaints().length)).toEqual([1, 0]);
    },
  );

  test('the last replica keeps its shards, ill as it is', async () => {
    const { scene, stuck, healths, replicas } = await cluster();
    const [ill, well] = replicas;
    const ending = well.engine.stop(4_000);
    await scene.clock.advance(10_000);
    await ending;
    const id = proxierOn(ill);
    const shard = ill.engine.shards.runOf(id)?.shard ?? -1;
    stuck.subject = scene.subjects.state(shard, id);
    const event = new TextEncoder().encode('{"type":"proxier.updated","family":"IPv4"}');
    await scene.hub.connect('proxy').append(scene.subjects.send(id), event);
    await scene.clock.advance(60_000);
    expect(healths[0]?.complaints()).toHaveLength(1);
    expect([...ill.engine.shards.open()]).toHaveLength(64);
  });

  test.each(['refuse', 'requestLost'] as const)(
    'a store that is full (%s) makes nobody ill, is the reason in /readyz, and is over when there is room',
    async (fate) => {
      const { scene, healths, storings, replicas } = await cluster();
      const proxy = scene.hub.connect('proxy');
      const event = new TextEncoder().encode('{"type":"proxier.updated","family":"IPv4"}');
      const ids = replicas.map(proxierOn);
      for (const id of ids) await proxy.append(scene.subjects.send(id), event);
      for (const { bus } of replicas) bus.faults.onAppend = () => fate;
      const ready = () =>
        replicas.map(({ engine, bus }, index) => {
          const storing = storings[index] ?? { troubles: () => [] };
          const health = healths[index] ?? { complaints: () => ['there is none'] };
          return readinessOf({ bus, storing, engine, health, needed: [], now: scene.clock.monotonic() });
        });
      for (let minute = 0; minute < 5; minute++) {
        await scene.clock.advance(60_000);
        expect(healths.map((health) => [health.complaints(), health.isFit()])).toEqual([
          [[], true],
          [[], true],
        ]);
        for (const { reasons } of ready())
          expect(reasons).toContainEqual(
            expect.stringMatching(/^NATS stores nothing in ORRERY_test_STATE for \d+ s: /),
          );
        const told = ready().flatMap(({ reasons }) => reasons);
        // Without an answer, the disk may have been full.
        expect(told.some((reason) => reason.endsWith('make room and restart that server'))).toBe(
          fate === 'requestLost',
        );
      }
      for (const { bus } of replicas) bus.faults.onAppend = undefined;
      await scene.clock.advance(70_000);
      expect(ready()).toEqual([
        { ready: true, reasons: [] },
        { ready: true, reasons: [] },
      ]);
      const states = replicas.map(({ engine }, index) => {
        const id = ids[index] ?? 'proxier/_/none';
        return engine.shards.runOf(id)?.cells.get(id)?.state;
      });
      expect(states).toEqual(ids.map(() => 'IPv4.synced,IPv6.starting,node.unknown'));
    },
  );

  test('what NATS does not do for a replica is told once it has lasted, and why there is no connection at once', async () => {
    const { replicas } = await cluster();
    const [{ engine }] = replicas;
    const told = (status: BusStatus, ...troubles: readonly BusTrouble[]) =>
      readinessOf({
        ...{ engine, needed: [], now: 10_000, bus: { status, troubles: () => troubles } },
        ...{ storing: { troubles: () => [] }, health: { complaints: () => [] } },
      });
    const reasons = (...all: Parameters<typeof told>) => told(...all).reasons;
    const unread = { what: 'reading', text: 'nothing new in MAIL is read: no leader', since: 5_001 };
    expect(reasons('connected', unread)).toEqual([]);
    const lasting = { ...unread, since: 5_000 };
    expect(reasons('connected', lasting, { ...lasting, what: 'another' })).toEqual([
      `${unread.text} (for 5s)`,
    ]);
    const why = { what: 'connection', text: 'NATS cannot be reached: refused', since: 10_000 };
    expect(reasons('disconnected', why)).toEqual(['NATS is not connected', `${why.text} (for 0s)`]);
    expect(reasons('disconnected')).toEqual(['NATS is not connected']);
    const many = [1, 2, 3, 4, 5].map((n) => ({ ...lasting, text: `refused ${n}` }));
    expect(reasons('connected', ...many)).toEqual([
      ...['refused 1 (for 5s)', 'refused 2 (for 5s)', 'refused 3 (for 5s)'],
      'and 2 more of this kind: see the log',
    ]);
    const unchecked = { ...lasting, what: 'streams', text: 'the streams cannot be made or checked' };
    const notes = [`${unchecked.text} (for 5s)`];
    expect(told('connected', unchecked)).toMatchObject({ ready: true, notes });
    const minor = { ...lasting, text: 'nats micro does not find it', isMinor: true };
    expect(told('connected', minor).notes).toEqual([`${minor.text} (for 5s)`]);
  });

  test('a custom resource that was never listed is told with its definition, and how to install that', async () => {
    const { scene, replicas } = await cluster();
    const [{ engine, bus }] = replicas;
    const readiness = (definition: string, ...others: readonly string[]) =>
      readinessOf({
        ...{ bus, engine, needed: [...others, 'things'], definitions: new Map([['things', definition]]) },
        ...{
          storing: { troubles: () => [] },
          health: { complaints: () => [] },
          now: scene.clock.monotonic(),
        },
      }).reasons;
    expect(readiness('things.orrery.dev')).toEqual([
      'not listed yet by the replicas that mirror them: things',
      'if `kubectl get crd things.orrery.dev` finds nothing, install it: helm upgrade --install orrery-crds deploy/chart-crds',
    ]);
    expect(readiness('things.example.com')[1]).toBe(
      'if `kubectl get crd things.example.com` finds nothing, install it',
    );
    // No definition is missing if what every cluster has is not listed either.
    expect(readiness('things.orrery.dev', 'gizmos')).toEqual([
      'not listed yet by the replicas that mirror them: gizmos, things',
      expect.stringContaining('the Kubernetes API does not answer these replicas'),
    ]);
  });

  test('a watch that the API server goes on refusing is a note, with its answer', async () => {
    const { scene, replicas } = await cluster();
    const [{ engine, bus }] = replicas;
    const mirror = (failures: number, state: string) => {
      const context = { resource: 'pods', failures, lastError: 'GET /api/v1/pods was answered with 403' };
      return { status: () => ({ ...idle, watches: [{ namespace: null, state, context }] }) };
    };
    const notes = (failures: number, state = 'backingOff') =>
      readinessOf({
        ...{ bus, engine, needed: [], mirrors: [mirror(failures, state)] },
        ...{ storing: { troubles: () => [] }, health: { complaints: () => [] } },
        now: scene.clock.monotonic(),
      }).notes;
    expect(notes(2)).toBeUndefined();
    expect(notes(3, 'watching')).toBeUndefined();
    expect(notes(3)).toEqual([
      'pods cannot be followed, 3 times in a row: GET /api/v1/pods was answered with 403',
    ]);
  });

  test('replicas that all lose NATS neither fall ill nor give anything away', async () => {
    const { scene, healths, replicas } = await cluster();
    const event = new TextEncoder().encode('{"type":"proxier.updated","family":"IPv4"}');
    const proxy = scene.hub.connect('proxy');
    for (const replica of replicas) await proxy.append(scene.subjects.send(proxierOn(replica)), event);
    for (const { bus } of replicas) bus.faults.setLink('down');
    for (let minute = 0; minute < 5; minute++) {
      await scene.clock.advance(60_000);
      expect(healths.map((health) => [health.complaints(), health.isFit()])).toEqual([
        [[], true],
        [[], true],
      ]);
    }
    for (const { bus } of replicas) bus.faults.setLink('up');
    await scene.clock.advance(20_000);
    expect(healths.map((health) => health.complaints())).toEqual([[], []]);
    const owned = replicas.map(({ engine }) => [...engine.shards.open()].length);
    expect(owned.reduce((sum, count) => sum + count)).toBe(64);
  });
});
