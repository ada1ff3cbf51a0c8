/**
 * A replica with thousands of actors in this process: engine, live feed, HTTP and page are real; the bus is
 * in memory and the outside accepts every patch at once. For tests and benchmarks of the page.
 */

import { createControl } from '../../src/actors/control/control-client.ts';
import { serveControl } from '../../src/actors/control/control-server.ts';
import { readHistory } from '../../src/actors/control/history.ts';
import { startInspection } from '../../src/actors/control/inspection.ts';
import { Engine } from '../../src/actors/engine.ts';
import { systemClock as clock, sleep } from '../../src/base/clock.ts';
import type { ActorId } from '../../src/base/ids.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Bus } from '../../src/bus/bus.ts';
import { encode, encodeJson } from '../../src/bus/codec.ts';
import { memoryHub } from '../../src/bus/memory/hub.ts';
import { type Subjects, subjects as subjectsOf } from '../../src/bus/subjects.ts';
import { createPageFiles } from '../../src/inspector/http/page-files.ts';
import { type HttpServer, startHttp } from '../../src/inspector/http/server.ts';
import { LiveWatch } from '../../src/inspector/live/live-watch.ts';
import { openLive } from '../../src/inspector/live/open-live.ts';
import { everybodyMay } from '../../src/kube/api/access.ts';
import { charts } from '../../src/replica/charts.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { gateSpec, pod } from '../actors/harness.ts';
import { MirrorStandIn } from '../actors/mirror-stand-in.ts';
import { features, joinsOf } from '../actors/test-features.ts';
import { until } from '../until.ts';

export interface Crowd {
  readonly base: string;
  /** Sends events for about this many steps a second, each to another actor, until the signal is aborted. */
  keepBusy(stepsPerSecond: number, signal: AbortSignal): Promise<void>;
  recheck(id: ActorId): Promise<void>;
  stop(): Promise<void>;
}

/** A recheck of a Pod whose group has no Service: starts afresh, is patched, is ready. */
const stepsOfRecheck = 3;

export async function startCrowd(count: number): Promise<Crowd> {
  const hub = memoryHub({ clock, cluster: 'crowd' });
  const bus = hub.connect('crowd');
  const subjects = subjectsOf('crowd');
  const engine = engineOn(bus, subjects);
  await engine.start();
  const options = { engine, bus, subjects, clock, replica: 'crowd-0', release: '1.0.0' };
  startInspection(options);
  const serving = serveControl({ ...options, requests: [] });
  await fillWorld(hub.connect('mirror'), subjects, count);
  const states = () =>
    [...engine.shards.open()].flatMap((run) => [...run.cells.values()].map(({ state }) => state));
  await until(() => states().filter((state) => state === 'gated.ready.proven').length === count, {
    what: `${count} Pods to be ready`,
    timeoutMs: 120_000,
  });
  const { http, liveWatch } = await serveHttp(bus, subjects);
  const recheck = async (id: ActorId) => {
    await bus.append(subjects.send(id), encodeJson({ type: 'pod.recheck' }));
  };
  return {
    base: `http://127.0.0.1:${http.address.port}`,
    recheck,
    async keepBusy(stepsPerSecond, signal) {
      const pauseMs = 1000 / (stepsPerSecond / stepsOfRecheck);
      const began = clock.monotonic();
      for (let n = 0; !signal.aborted; n++) {
        await recheck(`pod/shop/web-${(n * 7) % count}`);
        await sleep(clock, Math.max(0, began + n * pauseMs - clock.monotonic()));
      }
    },
    async stop() {
      liveWatch.stop();
      await http.close();
      serving.stop();
      engine.kill();
    },
  };
}

function engineOn(bus: Bus, subjects: Subjects): Engine {
  return new Engine({
    bus,
    subjects,
    clock,
    random: seededRandom(1),
    log: { debug() {}, info() {}, warn() {}, error() {} },
    metrics: { transition() {}, stepSeconds() {}, effect() {}, shardMove() {}, deadLetter() {} },
    replica: 'crowd-0',
    release: '1.0.0',
    features,
    start: (view) => joinsOf(view, { clock, subjects, bus }).runs,
    runEffect: async (effect) =>
      effect.type === 'pod-condition.patch'
        ? { type: 'condition.patched', status: effect.status }
        : { type: 'effect.settled', effect: effect.type, error: null },
  });
}

/** A RouteGate, and Pods whose group has no Service: their gates open at once. */
async function fillWorld(world: Bus, subjects: Subjects, count: number): Promise<void> {
  const put = (resource: string, namespace: string, name: string, digest: object) =>
    world.append(subjects.world(resource, namespace, name), encode(digest));
  const mirror = new MirrorStandIn({ bus: world, subjects, clock });
  const gate = {
    uid: 'gate-uid',
    resourceVersion: '1',
    createdAt: 0,
    deleting: false,
    labels: {},
    generation: 1,
  };
  await put('routegates', 'shop', 'gate', { kind: 'routegates', ...gate, spec: gateSpec });
  for (let n = 0; n < count; n++) {
    const ip = `10.${1 + (n >> 16)}.${(n >> 8) & 255}.${n & 255}`;
    await put('pods', 'shop', `web-${n}`, pod(n, { address: { ip, family: 'IPv4' } }));
  }
  for (const resource of ['routegates', 'pods', 'services', 'endpointslices']) {
    await mirror.state(resource, { kind: 'synced', gates: ['gate-uid/1'], resource });
  }
}

async function serveHttp(bus: Bus, subjects: Subjects): Promise<{ http: HttpServer; liveWatch: LiveWatch }> {
  const control = createControl({ bus, subjects });
  const liveWatch = new LiveWatch({ bus, subjects, clock, control, watcher: 'crowd' });
  const http = await startHttp({
    host: '127.0.0.1',
    port: 0,
    control,
    stored: control,
    letters: control,
    history: (id) => readHistory({ bus, subjects, clock, charts }, id),
    files: createPageFiles(),
    live: openLive({ clock, liveWatch, control, charts, replica: 'crowd-0', release: '1.0.0' }),
    readiness: () => ({ ready: true, reasons: [] }),
    health: () => ({ status: 200, contentType: 'application/json', headers: {}, body: '{}' }),
    featurePaths: [],
    charts,
    metrics: createMetrics(),
    clock,
    authorize: everybodyMay,
    hosts: 'loopback',
  });
  return { http, liveWatch };
}
