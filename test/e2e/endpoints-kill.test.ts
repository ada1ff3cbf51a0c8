/**
 * EndpointSlices while their owner dies: three replicas, 1,000 changes, SIGKILL in the middle.
 *
 * With KUBECONFIG set the same runs against that API server.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom, systemRandom } from '../../src/base/random.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { namesIn, Outside, type SliceObject } from './outside.ts';

const kubeconfig = process.env.KUBECONFIG;
const undos: Array<() => unknown> = [];
afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

const serviceCount = 20;
const workloadsEach = 10;
const changeCount = 1_000;
const inFlight = 10;

test('after 1,000 changes with SIGKILL of an owner in the middle the slices are right, none twice, and writing went on within 3 s', async () => {
  const { cluster, shop } = await play();
  const random = seededRandom(7);
  const isReady = new Map<string, boolean>();
  const nameOf = (service: number, n: number) => `vm-${service}-${n}`;
  for (let service = 0; service < serviceCount; service++) {
    await shop.service(`web-${service}`, {
      selector: { app: `vm-${service}` },
      ports: [{ port: 80, targetPort: 8080 }],
    });
    const names = Array.from({ length: workloadsEach }, (_, n) => n);
    await Promise.all(
      names.map((n) => {
        isReady.set(nameOf(service, n), true);
        const ips = [`10.9.${service}.${n + 1}`];
        return shop.workload(nameOf(service, n), { ips, labels: { app: `vm-${service}` } });
      }),
    );
  }
  await until(async () => namesIn(await shop.slices()).length === serviceCount * workloadsEach, {
    what: 'all endpoints',
    timeoutMs: 30_000,
  });

  let owner = -1;
  let killedAt = 0;
  let victims: string[] = [];
  let done = 0;
  // Each run has workloads of its own: two changes of one never overtake each other.
  const change = async (run: number) => {
    done += 1;
    if (done === changeCount / 2) {
      ({ owner, victims } = await ownerOf(cluster, shop.namespace));
      killedAt = systemClock.monotonic();
      await cluster.kill(owner);
    }
    const name = nameOf(Math.floor(random.next() * serviceCount), run);
    const ready = !isReady.get(name);
    isReady.set(name, ready);
    await shop.setReady(name, ready, new Date(Date.UTC(2026, 0, 1) + done * 1_000));
  };
  const runs = Array.from({ length: inFlight }, async (_, run) => {
    while (done < changeCount) await change(run);
  });
  const nextWrite = watchNextWrite(shop, () => (killedAt === 0 ? null : victims));
  // Whichever fails first is the test's failure, and the other nobody's.
  const [wroteAt] = await Promise.all([nextWrite, ...runs]);
  const isRight = (slices: readonly SliceObject[]) => readyIn(slices) === expected(isReady);
  const slices = await until(
    async () => {
      const now = await shop.slices();
      return isRight(now) ? now : null;
    },
    { what: 'every endpoint to be as ready as its workload' },
  );
  expect(namesIn(slices)).toEqual([...isReady.keys()].sort());
  expect(slices).toHaveLength(serviceCount);
  expect(wroteAt).toBeGreaterThan(killedAt);
  process.stdout.write(`next write ${Math.round(wroteAt - killedAt)} ms after SIGKILL\n`);
}, 120_000);

async function play() {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-endpoints-'));
  undos.push(() => rmSync(dir, { recursive: true, force: true }));
  const cluster = await startDevCluster(
    {
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      dir,
      program,
      replicas: 3,
      http: { host: '127.0.0.1', port: 0 },
      ...(kubeconfig === undefined ? {} : { kubeconfig }),
      restarts: false,
      print: () => {},
    },
    new AbortController().signal,
  );
  undos.push(() => cluster.stop());
  const name = systemRandom
    .id()
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '');
  const shop = new Outside(cluster.kube, `outside-${name}`);
  await shop.begin();
  undos.push(() => shop.end());
  return { cluster, shop };
}

/** The replica that owns most of the Services, and which. */
async function ownerOf(
  { replicas }: DevCluster,
  namespace: string,
): Promise<{ owner: number; victims: string[] }> {
  const answers = await Promise.all(
    Array.from({ length: serviceCount }, async (_, service) => {
      const answer = await fetch(`${replicas[0]?.url}/api/v1/actors/service/${namespace}/web-${service}`);
      const { owner } = (await answer.json()) as { owner: string | null };
      return { service: `web-${service}`, owner };
    }),
  );
  const byOwner = Map.groupBy(answers, ({ owner }) => owner ?? '');
  const [name = '', owned = []] = [...byOwner].sort(([, a], [, b]) => b.length - a.length)[0] ?? [];
  return { owner: Number(/[0-9]+$/.exec(name)?.[0]), victims: owned.map(({ service }) => service) };
}

/** When a slice of the killed owner's Services was written next, monotonic ms. */
async function watchNextWrite(shop: Outside, victims: () => readonly string[] | null): Promise<number> {
  const mine = await until(() => victims(), { what: 'the owner to be killed', timeoutMs: 60_000 });
  const versions = async () =>
    (await Promise.all(mine.map((service) => shop.slices(service))))
      .flat()
      .map(({ metadata }) => metadata.resourceVersion);
  const before = await versions();
  await until(async () => (await versions()).some((version) => !before.includes(version)), {
    what: 'a write after the owner was killed',
    timeoutMs: 30_000,
  });
  return systemClock.monotonic();
}

function readyIn(slices: readonly SliceObject[]): string {
  const entries = slices.flatMap(({ endpoints }) =>
    (endpoints ?? []).map(({ targetRef, conditions }) => `${targetRef.name}=${conditions.ready}`),
  );
  return entries.sort().join();
}

function expected(isReady: ReadonlyMap<string, boolean>): string {
  return [...isReady]
    .map(([name, ready]) => `${name}=${ready}`)
    .sort()
    .join();
}
