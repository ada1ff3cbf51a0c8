import { describe, expect, test } from 'vitest';
import { Tokens } from '../../packages/kube-api/access/tokens.ts';
import { apiLimits } from '../../packages/kube-api/limits.ts';
import { Registry } from '../../packages/kube-api/resources/registry.ts';
import { ServiceAddresses } from '../../packages/kube-api/storage/service-addresses.ts';
import { Store } from '../../packages/kube-api/storage/store.ts';
import { newUid } from '../../packages/kube-api/uid.ts';
import type { Cluster } from '../../packages/kube-api/verb-parts.ts';
import { listOptions } from '../../packages/kube-api/verbs/list-options.ts';
import { Fanout } from '../../packages/kube-api/watch/fanout.ts';
import { openWatch, type WatchSink } from '../../packages/kube-api/watch/watch-stream.ts';
import { invariant } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { VirtualClock } from '../virtual-clock.ts';

const random = seededRandom(7);

function clusterAlone(): Cluster {
  const store = new Store(100);
  const fanout = new Fanout();
  store.onChange((change) => fanout.publish(change));
  const addresses = new ServiceAddresses('127.96.0.0/16', random);
  const clock = new VirtualClock();
  return {
    store,
    fanout,
    registry: new Registry(),
    addresses,
    tokens: new Tokens({ clock, random, store }, 'secret'),
    clock,
    random,
    log: silentLog,
  };
}

function put(cluster: Cluster, name: string) {
  cluster.store.put('secrets', {
    metadata: {
      name,
      namespace: 'default',
      uid: newUid(random),
      resourceVersion: '',
      creationTimestamp: '2024-01-01T00:00:00Z',
    },
  });
}

/** A reader that may stop reading. */
class Reader implements WatchSink {
  readonly lines: Buffer[] = [];
  waitingBytes = 0;
  hasEnded = false;
  isReading = true;
  close: () => void = () => {};

  write(line: Buffer): void {
    this.lines.push(line);
    if (!this.isReading) this.waitingBytes += line.length;
  }

  end(): void {
    this.hasEnded = true;
  }

  cut(): void {
    this.hasEnded = true;
  }

  onClose(fn: () => void): void {
    this.close = fn;
  }
}

function watching(cluster: Cluster, query = '', reader = new Reader()): Reader {
  const resource = cluster.registry.find('', 'v1', 'secrets');
  invariant(resource, 'Secrets are a resource');
  const target = { resource, namespace: undefined, name: undefined, subresource: '' };
  openWatch(cluster, target, listOptions(new URLSearchParams(`watch=true&${query}`), resource), reader);
  return reader;
}

describe('a watch stream', () => {
  test('encodes a change once for all its watchers', () => {
    const cluster = clusterAlone();
    const [one, two] = [watching(cluster), watching(cluster)];
    put(cluster, 'a');
    expect(one.lines).toHaveLength(1);
    expect(one.lines[0]).toBe(two.lines[0]);
  });

  test('cuts off a watcher that does not read, and nobody else', () => {
    const cluster = clusterAlone();
    const [slow, quick] = [watching(cluster), watching(cluster)];
    slow.isReading = false;
    slow.waitingBytes = apiLimits.watchWaitingBytes - 10;
    put(cluster, 'a');
    put(cluster, 'b');
    expect(slow.hasEnded).toBe(true);
    expect(slow.lines).toHaveLength(1);
    expect(quick.hasEnded).toBe(false);
    expect(quick.lines).toHaveLength(2);
  });

  test('lets a watcher take its time for what was there at the start', () => {
    const cluster = clusterAlone();
    for (const name of ['a', 'b']) put(cluster, name);
    const reader = new Reader();
    reader.isReading = false;
    reader.waitingBytes = apiLimits.watchWaitingBytes * 2;
    watching(cluster, '', reader);
    put(cluster, 'c');
    expect(reader.hasEnded).toBe(false);
    expect(reader.lines).toHaveLength(3);
  });

  test('a watcher that has gone hears no more', () => {
    const cluster = clusterAlone();
    const reader = watching(cluster);
    reader.close();
    put(cluster, 'a');
    expect(reader.lines).toEqual([]);
  });

  test('a watch of a version that is yet to come waits for it', () => {
    const cluster = clusterAlone();
    const reader = watching(cluster, 'resourceVersion=4');
    for (const name of ['a', 'b', 'c', 'd']) put(cluster, name);
    expect(reader.lines.map((line) => JSON.parse(line.toString()).object.metadata.resourceVersion)).toEqual([
      '5',
    ]);
  });

  test('the end of a storage ends its watches', () => {
    const cluster = clusterAlone();
    const reader = watching(cluster);
    cluster.fanout.close('secrets');
    expect(reader.hasEnded).toBe(true);
  });
});
