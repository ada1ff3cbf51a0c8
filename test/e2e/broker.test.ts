/**
 * NATS goes away under a running Orrery and comes back: nothing is done meanwhile that could not be saved,
 * and nothing is lost. Where it comes back with nothing on its disk, all that Orrery knows is found out again
 * from Kubernetes.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { startNatsServer } from '../../packages/dev-cluster/processes/nats-server.ts';
import { startScenario } from '../../packages/dev-cluster/scenarios/shop.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { Readiness } from '../../src/base/views.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { gaps, markings, readStory } from './story.ts';

const basics = { clock: systemClock, random: systemRandom, log: silentLog };
const undos: Array<() => Promise<unknown>> = [];

afterEach(async () => {
  for (let undo = undos.pop(); undo; undo = undos.pop()) await undo();
});

async function readiness(url: string): Promise<Readiness & { readonly status: number }> {
  const answer = await fetch(`${url}/readyz`);
  return { ...((await answer.json()) as Readiness), status: answer.status };
}

/** On a starved machine shards may be about to move back to who was taken for missing, at any moment. */
async function untilWell(url: string): Promise<void> {
  const isWell = async () => {
    expect(await readiness(url)).toMatchObject({ ready: true, reasons: [] });
    return true;
  };
  await until(isWell, { what: `${url}/readyz to be well again` });
}

test.each([
  ['with its disk', false],
  ['with an empty disk', true],
])(
  'a broker that dies in the middle of a rolling update and comes back %s costs no request and no step',
  {
    timeout: 180_000,
  },
  async (_, isDiskLost) => {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'));
    undos.push(async () => rmSync(dir, { recursive: true, force: true }));
    const lines: string[] = [];
    const print = (line: string) => void lines.push(line);
    const options = {
      dir,
      program,
      replicas: 2,
      http: { host: '127.0.0.1', port: 0 },
      restarts: false,
      print,
    };
    const cluster = await startDevCluster({ ...basics, ...options }, new AbortController().signal);
    undos.push(() => cluster.stop());
    const stage = {
      kube: cluster.kube,
      routing: cluster.routing,
      print,
      routingDelay: '200ms-600ms',
      drain: '1s',
    };
    const load = { requestsPerSecond: 25, requestTimeoutMs: 30_000 };
    const scenario = startScenario({ ...basics, ...stage, ...load, rollOverEveryMs: 2_000 });
    undos.push(() => scenario.stop());
    await until(() => lines.some((line) => line.startsWith('rolling update 1 begins')), {
      what: 'the first rolling update to begin',
      timeoutMs: 60_000,
    });

    await cluster.nats.kill();
    for (const { url } of cluster.replicas) {
      const away = await until(async () => ((await readiness(url)).ready ? null : readiness(url)), {
        what: `${url}/readyz to tell that NATS is away`,
      });
      expect(away).toMatchObject({ status: 503, reasons: expect.arrayContaining(['NATS is not connected']) });
    }
    const before = scenario.rollOvers();
    if (isDiskLost) rmSync(join(dir, 'nats'), { recursive: true });
    const again = await startNatsServer({
      dir: join(dir, 'nats'),
      port: cluster.nats.port,
      clock: systemClock,
    });
    undos.push(() => again.stop());
    await until(() => scenario.rollOvers() >= before + 2, {
      what: 'two more rolling updates',
      timeoutMs: 90_000,
    }).catch((error) => {
      throw new Error(`${error.message}; the story so far:\n${lines.join('\n')}`);
    });
    for (const { url } of cluster.replicas) await untilWell(url);
    expect(scenario.counts()).toMatchObject({ lost: 0 });
    const story = await readStory(again.url);
    expect(gaps(story)).toEqual([]);
    for (const { pod, wanted, proven } of markings(story))
      expect([pod, [...proven].sort()]).toEqual([pod, [...wanted].sort()]);
  },
);
