/**
 * The inspector: what watching costs the replicas, how large the page is, how fast its first picture appears,
 * and how smooth it stays with ten thousand actors and fifty steps a second.
 *
 * Run: node --expose-gc bench/inspector.ts [--only tell|cost|page] [--actors 10000]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { startNatsServer } from '../packages/dev-cluster/processes/nats-server.ts';
import { choice, readFlags, whole } from '../scripts/flags.ts';
import { startInspection } from '../src/actors/control/inspection.ts';
import { reasonOf } from '../src/actors/control/reason.ts';
import type { Engine } from '../src/actors/engine.ts';
import { createCell } from '../src/actors/host/cell.ts';
import { Host } from '../src/actors/host/host.ts';
import type { HostParts } from '../src/actors/host/host-parts.ts';
import { createStepper } from '../src/actors/host/step.ts';
import { homesOf } from '../src/actors/shards/homes.ts';
import { createShardRun } from '../src/actors/shards/shard-run.ts';
import { createPaces } from '../src/actors/time/pace.ts';
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { type ActorId, actorId } from '../src/base/ids.ts';
import { shardCount } from '../src/base/limits.ts';
import { silentLog } from '../src/base/log.ts';
import { systemRandom as random } from '../src/base/random.ts';
import type { Watch } from '../src/base/views.ts';
import type { Bus } from '../src/bus/bus.ts';
import { encodeJson } from '../src/bus/codec.ts';
import { connectNats } from '../src/bus/nats/nats.ts';
import { shardOf } from '../src/bus/partition.ts';
import { subjects as subjectsOf } from '../src/bus/subjects.ts';
import { createPageFiles, type PageFile } from '../src/inspector/http/page-files.ts';
import { asOfNow } from '../src/machines/chart.ts';
import { actorsOf, releases } from '../test/actors/recorded.ts';
import { machines } from '../test/chart-of.ts';
import { launch } from '../test/inspector/browser.ts';
import { startCrowd } from '../test/inspector/crowd.ts';

const values = readFlags(
  'node --expose-gc bench/inspector.ts',
  'What watching costs the replicas, and how fast the page is.',
  {
    only: choice('one part', ['tell', 'cost', 'page']),
    actors: whole('actors in the cluster', 10_000),
  },
);
const actors = values.actors;
const subjects = subjectsOf('bench');
/** Differs from step to step. */
let token = 0;
const row = (what: string, value: string) => console.log(`${what.padEnd(72)} ${value}`);

const measures = { tell, cost, page };
for (const [name, measure] of Object.entries(measures)) {
  if (values.only === undefined || values.only === name) await measure();
}
process.exit(0);

/**
 * The cost of explaining recorded actors of every kind, each by itself; in CPU, because others may be busy.
 */
async function tell(): Promise<void> {
  const [release] = releases;
  if (release === undefined) throw new Error('there are no recorded actors');
  for (const chart of Object.values(machines).filter(({ durable }) => durable)) {
    const recorded = actorsOf(release, chart.name);
    if (recorded.length === 0) continue;
    const cells = recorded.map(({ id, record }) => ({
      cell: createCell(id, createShardRun(0, 1)),
      record: {
        ...record,
        version: chart.version,
        snapshot: asOfNow(chart, record.snapshot, record.version),
      },
    }));
    const times = Array.from({ length: 7 }, () => {
      const began = process.cpuUsage();
      for (let index = 0; index < actors; index++) {
        const { cell, record } = cells[index % cells.length] ?? {};
        if (cell && record) reasonOf(cell, record, chart, record.at + 1_000);
      }
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1_000;
    });
    row(`reasons of ${actors} actors of kind ${chart.name}`, `${lower(times).toFixed(1)} ms of CPU`);
  }
}

/**
 * The cost of a step for one host on a real nats-server, in CPU time of this process: on a shared machine
 * that says more than steps per second. It is watched in each way in turn. What the watching replica does
 * with what it hears is not included.
 */
async function cost(): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-bench-'));
  const server = await startNatsServer({ dir, clock, log: silentLog });
  const bus = await connectNats({
    servers: [server.url],
    name: 'bench',
    cluster: 'bench',
    streamReplicas: 1,
    clock,
    random,
  });
  const bench = await hostOn(bus);
  const ids = Array.from({ length: actors }, (_, n) => actorId('service', 'bench', `service-${n}`));
  await stepCost(bench, ids, ids.length);
  const ways: Readonly<Record<string, Partial<Watch> | null>> = {
    'nobody watches': null,
    'one actor is watched': { actors: ids.slice(0, 1) },
    'rows of all actors (an open overview)': { rows: true },
    'every step of all actors (the Stately protocol)': { steps: true },
  };
  const costs = new Map<string, number[]>(Object.keys(ways).map((way) => [way, []]));
  for (let round = 0; round < 5; round++) {
    // Each way comes first in turn, so that what one leaves to be collected does not always burden the same
    // next one.
    const order = Object.entries(ways);
    for (const [way, watch] of [
      ...order.slice(round % order.length),
      ...order.slice(0, round % order.length),
    ]) {
      const say = (ttlMs: number) =>
        bus.publish(
          subjects.peer('watch'),
          encodeJson({ watcher: 'w', rows: false, steps: false, actors: [], ...watch, ttlMs }),
        );
      say(watch === null ? 0 : 10_000);
      await sleep(clock, 100);
      // Once unmeasured: the engine recompiles code when somebody begins to watch, which is not a cost of
      // each step.
      await stepCost(bench, ids, 6_000);
      costs.get(way)?.push(await stepCost(bench, ids, 8_000));
      say(0);
      await sleep(clock, 100);
    }
  }
  const base = lower(costs.get('nobody watches') ?? []);
  for (const [way, all] of costs) {
    const now = lower(all);
    const more = `${(((now - base) / now) * 100).toFixed(1)} % of step throughput`;
    row(`one step while ${way}`, `${now.toFixed(1)} µs of CPU (${more})`);
  }
  await bus.close();
  await server.stop();
  rmSync(dir, { recursive: true, force: true });
}

type Deliver = (id: ActorId, token: number) => Promise<void>;

async function hostOn(bus: Bus): Promise<Deliver> {
  const service = machines.service;
  if (!service) throw new Error('the service machine is missing');
  let watchStep: Parameters<Engine['watchSteps']>[0] = null;
  const ports: HostParts = {
    bus,
    subjects,
    replica: 'bench',
    clock,
    random,
    log: silentLog,
    metrics: { transition() {}, stepSeconds() {}, effect() {}, deadLetter() {} },
    steppers: new Map([['service', createStepper(service)]]),
    effects: new Map(service.effects.map((one) => [one.type, one])),
    runEffect: async (effect) => ({ type: 'effect.settled', effect: effect.type, error: null }),
    homes: homesOf([], subjects),
    paces: createPaces(clock, () => undefined),
    elsewhere: () => new Set(),
    earlierHeardAt: () => 0,
    isInWorld: () => false,
    admission: { eventsOf: () => [], admit: (_, event) => event },
    onStep: (step, context) => watchStep?.(step, context),
  };
  const host = new Host(ports);
  const runs = await Promise.all(
    Array.from({ length: shardCount }, async (_, shard) => {
      const value = encodeJson({ replica: 'bench', incarnation: random.id(), at: clock.now() });
      const guard = { subject: subjects.fence(shard), sequence: 0 };
      const { sequence } = await bus.append(subjects.fence(shard), value, { guard });
      return createShardRun(shard, sequence);
    }),
  );
  for (const run of runs) host.activate(run);
  const runOf = (id: ActorId) => runs[shardOf(id)] ?? null;
  const engine = {
    parts: ports,
    shards: { runOf } as Engine['shards'],
    watchSteps: (watch: typeof watchStep) => {
      watchStep = watch;
    },
  };
  startInspection({ engine, bus, subjects, clock, replica: 'bench' });
  return (id, token) =>
    new Promise((resolve, reject) => {
      const run = runOf(id);
      if (!run) throw new Error(`no shard for ${id}`);
      const event = { type: 'service.observed', facts: facts(token) };
      const onTaken = (taken: { kind: string }) =>
        taken.kind === 'refused' ? reject(new Error('refused')) : resolve();
      host.deliver(run, id, { event, cause: null, onTaken });
    });
}

/** A Service's facts with a token that differs each time, so that each event is a saved step. */
function facts(token: number) {
  const podIPHeaders = { IPv4: 'Pod-IPv4', IPv6: 'Pod-IPv6' };
  const probe = {
    url: 'http://10.96.0.17:8080/healthz',
    podIPHeaders,
    timeoutMs: 3_000,
    attemptsPerReplica: 3,
  };
  const uid = '5f0c7f38-6f0e-4d27-9d8e-0123456789ab';
  const probes = { IPv4: probe, IPv6: null };
  return {
    uid,
    deleting: false,
    probes,
    replicas: 3,
    routesToken: String(token),
    peers: [],
    readyAddresses: null,
  };
}

/**
 * With 256 actors stepping at the same time.
 * @returns microseconds of CPU for one step
 */
async function stepCost(deliver: Deliver, ids: readonly ActorId[], steps: number): Promise<number> {
  globalThis.gc?.();
  const before = process.cpuUsage();
  let next = 0;
  const work = async () => {
    for (let n = next++; n < steps; n = next++) {
      const id = ids[n % ids.length];
      if (id) await deliver(id, ++token);
    }
  };
  await Promise.all(Array.from({ length: 256 }, work));
  const { user, system } = process.cpuUsage(before);
  return (user + system) / steps;
}

async function page(): Promise<void> {
  sizes();
  const crowd = await startCrowd(actors);
  // Until its replica has put all actors to rest.
  await sleep(clock, 10_000);
  const browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const shown = await context.newPage();
  const firsts: number[] = [];
  for (let run = 0; run < 5; run++) {
    const fresh = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const one = await fresh.newPage();
    await one.goto(crowd.base);
    await one.locator('.planet').first().waitFor();
    firsts.push(
      Number(await one.evaluate('performance.getEntriesByName("first-contentful-paint")[0].startTime')),
    );
    await fresh.close();
  }
  row('first picture (first contentful paint, empty cache)', `${Math.round(median(firsts))} ms`);
  const began = clock.monotonic();
  await shown.goto(`${crowd.base}/#/pod`);
  await heading(shown, actors.toLocaleString('en'));
  row(
    `all ${actors.toLocaleString('en')} actors listed, from the address on`,
    `${Math.round(clock.monotonic() - began)} ms`,
  );
  row('filter them: key press to picture', `${Math.round(await filterMs(shown))} ms`);
  const busy = new AbortController();
  void crowd.keepBusy(50, busy.signal);
  for (const [name, path] of [
    ['list', '#/pod'],
    ['overview', '#/'],
    ['actor', '#/pod/shop/web-7'],
  ] as const) {
    await shown.goto(`${crowd.base}/${path}`);
    await sleep(clock, 2_000);
    const { frames, worst } = await framesOf(shown);
    row(`frames/s with 50 steps/s: ${name}`, `${frames.toFixed(1)} (longest ${Math.round(worst)} ms)`);
  }
  busy.abort();
  await browser.close();
  await crowd.stop();
}

function sizes(): void {
  const files = createPageFiles();
  const html = files.page();
  const own = [...html.plain.toString('utf8').matchAll(/(?:href|src)="\/assets\/([^"]+)"/g)].map(
    ([, path = '']) => path,
  );
  const all = [...new Set(own)].flatMap((path) => files.file(path) ?? []);
  const isFont = ({ contentType }: PageFile) => contentType.startsWith('font/');
  const sum = (some: readonly PageFile[]) =>
    some.reduce((total, { brotli, plain }) => total + (brotli ?? plain).byteLength, 0);
  const mono = files.file('vendor/jetbrains-mono.woff2');
  const code = [html, ...all.filter((file) => !isFont(file))];
  const kilo = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
  row(`page compressed: HTML, styles and ${code.length - 1} other files`, kilo(sum(code)));
  row('its two fonts', kilo(sum([...all.filter(isFont), ...(mono ? [mono] : [])])));
  const charts = Object.keys(machines).flatMap(
    (name) => files.file(`inspector/page/charts/${name}.json`) ?? [],
  );
  row(`drawings of ${charts.length} charts`, kilo(sum(charts)));
}

async function heading(shown: Page, text: string): Promise<void> {
  await shown.locator('h1').filter({ hasText: text }).waitFor();
}

/** From the input event to the frame that shows the filtered rows, in the page's own time. */
async function filterMs(shown: Page): Promise<number> {
  const times: number[] = [];
  for (const text of ['web-77', '', 'web-1', '', '9999', '']) {
    times.push(
      Number(
        await shown.evaluate(`new Promise((done) => {
          const field = document.querySelector('.filters input');
          const began = performance.now();
          field.value = ${JSON.stringify(text)};
          field.dispatchEvent(new InputEvent('input', { bubbles: true }));
          requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
        })`),
      ),
    );
  }
  return median(times);
}

/** Frames of five seconds. */
async function framesOf(shown: Page): Promise<{ readonly frames: number; readonly worst: number }> {
  return (await shown.evaluate(`new Promise((done) => {
    const began = performance.now();
    let [frames, last, worst] = [0, began, 0];
    const frame = (now) => {
      frames++;
      worst = Math.max(worst, now - last);
      last = now;
      if (now - began < 5000) requestAnimationFrame(frame);
      else done({ frames: frames * 1000 / (now - began), worst });
    };
    requestAnimationFrame(frame);
  })`)) as { frames: number; worst: number };
}

/** The lower quartile, because disturbances only ever add to a measurement. */
function lower(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 4)] ?? 0;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
