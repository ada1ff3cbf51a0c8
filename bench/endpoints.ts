/**
 * EndpointSlices for workloads outside the cluster, with real processes: how soon a change is written, in how
 * many writes, and what it costs the replica.
 *
 * Run: [KUBECONFIG=…] node bench/endpoints.ts [--only cold|flip|rate|crowd|touch|owner|size|sizes|storm]
 * [--services 500] [--workloads 10] [--sizes 50,500,5000] [--flips 1000] [--seconds 30]
 * [--program dist/main.js] [--node-options …] [--controller 'COMMAND' --managed-by LABEL]
 * The API server is that of KUBECONFIG, or else the development one, in a process of its own that shares this
 * one's CPU time. `--controller` measures another program instead of the replica. A change counts from the
 * API server's answer to it until a watch shows the slice that reflects it.
 */
import { systemClock as clock, sleep } from '../src/base/clock.ts';
import { externalWorkloads } from '../src/features/endpoints/resources.ts';
import { services } from '../src/kube/api/resources.ts';
import {
  Bench,
  inParallel,
  ourSlices,
  patienceMs,
  quantile,
  quantiles,
  row,
  scaleOf,
  signal,
  until,
  values,
} from './endpoints-stage.ts';

async function cold(): Promise<void> {
  const [serviceCount, each] = scaleOf(500, 10);
  const bench = await Bench.begin(1);
  await bench.kill();
  await bench.fill(serviceCount, each);
  const start = async (what: string) => {
    const started = clock.monotonic();
    bench.writes = 0;
    bench.start();
    await until(() => bench.slices().length === serviceCount && bench.endpoints() === serviceCount * each);
    row(
      `cold start, ${serviceCount} Services × ${each}, ${what}`,
      `first slice after ${Math.round(bench.firstWriteAt - started)} ms, all after ${Math.round(bench.lastWriteAt - started)} ms, ${bench.writes} writes`,
    );
  };
  await start('with nothing');
  await bench.quiet(1_000);
  row('  replica', bench.costs());
  await bench.kill();
  await bench.deleteAll('slices', ourSlices);
  await until(() => bench.slices().length === 0);
  await start('warm NATS');
  await bench.quiet(1_000);
  row('  replica', bench.costs());
  await bench.end();
}

async function flip(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(50, 10);
  await until(() => bench.isShown(names, true));
  await bench.quiet(500);
  const times: number[] = [];
  for (const name of names.slice(0, 300)) {
    const at = await bench.flip(name, false);
    await until(() => bench.isShown([name], false));
    times.push((bench.shown.get(name)?.at ?? Number.NaN) - at);
    await sleep(clock, 20);
  }
  row('one readiness flip', quantiles(times));
  row('  replica', bench.costs());
  await bench.end();
}

async function rate(): Promise<void> {
  const bench = await Bench.begin(1);
  await flips(bench, await bench.fill(150, 10), 50, 30);
  await bench.end();
}

/** Three replicas share what one can hardly follow: only when it is asked for. */
async function storm(): Promise<void> {
  const bench = await Bench.begin(3);
  const names = await bench.fill(...scaleOf(5_000, 20));
  const missing = await bench.untilShown(names, true);
  row(`${names.length} workloads made`, missing === 0 ? 'all written' : `${missing} NOT WRITTEN`);
  // Shards settle between the replicas within some seconds.
  await bench.quiet(10_000);
  await flips(bench, names, values.flips, values.seconds);
  await bench.end();
}

/** So many changes a second, each of another workload. */
async function flips(
  bench: Bench,
  all: readonly string[],
  perSecond: number,
  seconds: number,
): Promise<void> {
  // Neighbours in time are of different Services.
  const order = [...all].sort((a, b) => Number(a.split('-')[2]) - Number(b.split('-')[2]));
  const names = order.slice(0, perSecond * seconds);
  await bench.untilShown(names, true);
  await bench.quiet(500);
  bench.writes = 0;
  const [begun, cpuBefore] = [clock.monotonic(), bench.cpu()];
  const sent = new Map<string, number>();
  await Promise.all(
    names.map(async (name, at) => {
      await sleep(clock, begun + (at * 1_000) / perSecond - clock.monotonic());
      // An overloaded machine gives up some of them; they are not counted.
      await bench.flip(name, false).then(
        (answeredAt) => sent.set(name, answeredAt),
        () => {},
      );
    }),
  );
  const lost = await bench.untilShown([...sent.keys()], false);
  const took = clock.monotonic() - begun;
  const times = [...sent].flatMap(([name, at]) => {
    const shown = bench.shown.get(name);
    return shown?.ready === false ? [shown.at - at] : [];
  });
  row(
    `${perSecond} flips/s for ${seconds} s, ${sent.size} made and written in ${Math.round(took)} ms`,
    `${quantiles(times)}, ${bench.writes} writes, ${lost} lost`,
  );
  const shares = bench.cpu().map((cpu, at) => (100_000 * (cpu - (cpuBefore[at] ?? 0))) / took);
  row('  share of a core', shares.map((share) => `${share.toFixed(0)} %`).join(', '));
  row('  replica', bench.costs());
}

async function crowd(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(1, 1_000);
  await until(() => bench.isShown(names, true));
  await bench.quiet(11_000);
  bench.writes = 0;
  const begun = clock.monotonic();
  let last = 0;
  await inParallel(names, async (name) => {
    last = Math.max(last, await bench.flip(name, false));
  });
  await until(() => bench.isShown(names, false));
  await bench.quiet(1_000);
  row(
    `1,000 flips in one Service, made in ${Math.round(last - begun)} ms`,
    `${bench.writes} writes, lag ${Math.round(bench.lastWriteAt - last)} ms`,
  );
  row('  replica', bench.costs());
  await half(bench, names);
  await bench.end();
}

async function half(bench: Bench, names: readonly string[]): Promise<void> {
  bench.writes = 0;
  const going = names.filter((_, at) => at % 2 === 0);
  const begun = clock.monotonic();
  await inParallel(going, (name) =>
    bench.cluster.kube.delete(externalWorkloads, bench.namespace, name, {}, signal),
  );
  const took = Math.round(clock.monotonic() - begun);
  await until(() => bench.endpoints() === names.length - going.length);
  await bench.quiet(1_000);
  const atOnce = `${bench.writes} writes at once, ${bench.slices().length} slices`;
  bench.writes = 0;
  // What is packed later is packed after ten seconds without a change.
  const patient = clock.monotonic() + 15_000;
  await until(() => bench.writes > 0 || clock.monotonic() > patient);
  await bench.quiet(1_000);
  row(
    `half of 1,000 deleted within ${took} ms`,
    `${atOnce}; compaction: ${bench.writes} writes, ${bench.slices().length} slices left`,
  );
}

async function touch(): Promise<void> {
  const bench = await Bench.begin(1);
  const names = await bench.fill(1, 5, { port: 80, targetPort: 8080 });
  await until(() => bench.isShown(names, true));
  await bench.quiet(500);
  bench.writes = 0;
  for (let n = 0; n < 20; n++) {
    const body = { metadata: { annotations: { touched: String(n) } } };
    const at = { namespace: bench.namespace, type: 'merge', body } as const;
    await bench.cluster.kube.patch(services, { ...at, name: 'web-0' }, signal);
    await bench.cluster.kube.patch(externalWorkloads, { ...at, name: names[0] ?? '' }, signal);
  }
  await bench.quiet(1_000);
  row('20 touches that change nothing (unnamed port)', `${bench.writes} writes`);
  await bench.end();
}

async function owner(): Promise<void> {
  row('owner killed: next write', `${Math.round(await failOver(...scaleOf(1, 1)))} ms`);
}

/** @returns from the kill of a Service's owner until another replica has written, ms */
async function failOver(serviceCount: number, each: number): Promise<number> {
  const bench = await Bench.begin(2);
  const names = await bench.fill(serviceCount, each);
  await until(() => bench.isShown(names, true));
  // Shards settle between the two replicas within some seconds.
  await bench.quiet(6_000);
  const answer = await fetch(
    `${bench.cluster.replicas[0]?.url}/api/v1/actors/service/${bench.namespace}/web-0`,
  );
  const { owner: name } = (await answer.json()) as { owner: string };
  bench.writes = 0;
  const killedAt = clock.monotonic();
  await bench.cluster.kill(Number(/[0-9]+$/.exec(name)?.[0]));
  await bench.flip(names[0] ?? '', false);
  await until(() => bench.isShown(names.slice(0, 1), false));
  const took = bench.lastWriteAt - killedAt;
  await bench.end();
  return took;
}

/**
 * What grows with the number of objects, and what does not. Runs only on request, because it takes minutes.
 */
async function size(): Promise<void> {
  const [serviceCount, each] = scaleOf(500, 10);
  const of = await sizeOf(serviceCount, each);
  row(`${serviceCount * each} workloads in ${serviceCount} Services, made and settled`, seconds(of.madeMs));
  row('  replica', of.madeAt);
  row('restarted: until /readyz is 200', seconds(of.readyMs));
  row('  a flip just then is written after', seconds(of.firstMs));
  row('  replica', of.restartedAt);
  row('one flip', quantiles(of.flips));
}

/** One replica that makes everything, starts again, and follows a hundred flips. */
async function sizeOf(serviceCount: number, each: number) {
  const bench = await Bench.begin(1);
  const filling = clock.monotonic();
  const names = await bench.fill(serviceCount, each);
  await until(() => bench.endpoints() === serviceCount * each);
  const madeMs = clock.monotonic() - filling;
  await bench.quiet(2_000);
  const madeAt = bench.costs();
  await bench.kill();
  const started = clock.monotonic();
  bench.start();
  await bench.untilReady(patienceMs);
  const readyMs = clock.monotonic() - started;
  const [first = ''] = names;
  const flipped = await bench.flip(first, false);
  await until(() => bench.isShown([first], false));
  const firstMs = (bench.shown.get(first)?.at ?? Number.NaN) - flipped;
  await bench.quiet(2_000);
  const [restartedAt, resident] = [bench.costs(), bench.resident()];
  const flips: number[] = [];
  for (const name of names.slice(1, 101)) {
    const at = await bench.flip(name, false);
    await until(() => bench.isShown([name], false));
    flips.push((bench.shown.get(name)?.at ?? Number.NaN) - at);
    await sleep(clock, 20);
  }
  await bench.end();
  return { madeMs, madeAt, readyMs, firstMs, restartedAt, resident, flips };
}

/** Cost against size: 20 workloads in each of so many Services, `--sizes`. */
async function sizes(): Promise<void> {
  const line = (...cells: readonly (string | number)[]) =>
    console.log(cells.map((cell) => String(cell).padStart(14)).join(' '));
  line('workloads', '/readyz', 'first flip', 'resident', 'flip p50', 'flip p99', 'owner killed');
  for (const serviceCount of values.sizes.map(Number)) {
    const each = values.workloads ?? 20;
    const { readyMs, firstMs, resident, flips } = await sizeOf(serviceCount, each);
    const [p50, p99] = [quantile(flips, 0.5).toFixed(1), quantile(flips, 0.99).toFixed(1)];
    const over = seconds(await failOver(serviceCount, each));
    line(
      serviceCount * each,
      seconds(readyMs),
      seconds(firstMs),
      `${resident} MB`,
      `${p50} ms`,
      `${p99} ms`,
      over,
    );
  }
}

const seconds = (ms: number) => `${(ms / 1_000).toFixed(2)} s`;

const scenarios: Readonly<Record<string, () => Promise<void>>> = { cold, flip, rate, crowd, touch, owner };
for (const [name, measure] of Object.entries(scenarios)) {
  if (values.only === undefined || values.only === name) await measure();
}
if (values.only === 'size') await size();
if (values.only === 'sizes') await sizes();
if (values.only === 'storm') await storm();
