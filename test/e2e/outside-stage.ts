/**
 * A cluster with one replica for a file of whole-path tests of endpoints, and a namespace of its own for each
 * test.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { type DevCluster, startDevCluster } from '../../packages/dev-cluster/cluster.ts';
import { untilReady } from '../../packages/dev-cluster/processes/replicas.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { events } from '../../src/kube/api/resources.ts';
import { program } from '../suite/program.ts';
import { until } from '../until.ts';
import { Outside } from './outside.ts';

export const basics = { clock: systemClock, random: systemRandom, log: silentLog };
/** With KUBECONFIG set the tests run against that API server. */
const kubeconfig = process.env.KUBECONFIG;
const { signal } = new AbortController();

export interface Stage {
  readonly cluster: DevCluster;
  readonly dir: string;
  /** A new one for each test. */
  readonly shop: Outside;
  /** The note of a Warning Event on the workload. */
  warningOn(name: string): Promise<string>;
}

/** Call it once per file, outside its tests. */
export function stage(): Stage {
  let cluster: DevCluster | undefined;
  let dir = '';
  let shop: Outside | undefined;
  const held = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error('the stage is not set');
    return value;
  };
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'orrery-endpoints-'));
    const http = { host: '127.0.0.1', port: 0 };
    const options = { ...basics, dir, program, replicas: 1, http, print: () => {} };
    cluster = await startDevCluster(
      { ...options, ...(kubeconfig === undefined ? {} : { kubeconfig }) },
      signal,
    );
    for (const replica of cluster.replicas) await untilReady(replica, systemClock, signal);
  });
  afterAll(async () => {
    await cluster?.stop();
    rmSync(dir, { recursive: true, force: true });
  });
  beforeEach(async () => {
    const name = systemRandom
      .id()
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '');
    shop = new Outside(held(cluster).kube, `outside-${name}`);
    await shop.begin();
  });
  afterEach(() => shop?.end());
  return {
    get cluster() {
      return held(cluster);
    },
    get dir() {
      return dir;
    },
    get shop() {
      return held(shop);
    },
    warningOn: (name) =>
      until(
        async () => {
          const { namespace } = held(shop);
          const { items } = await held(cluster).kube.list(events, { namespace }, signal);
          const found = items.find(
            (item) => (item.regarding as { name?: string } | undefined)?.name === name,
          );
          return found?.type === 'Warning' ? String(found.note) : null;
        },
        { what: `a Warning Event on ${name}` },
      ),
  };
}
