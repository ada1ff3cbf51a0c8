/** The picture of a resource, against a Kubernetes API of the test that answers as it is told. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  type Change,
  type Informer,
  startInformer,
} from '../../packages/dev-cluster/controllers/informer.ts';
import { pods } from '../../packages/dev-cluster/resources.ts';
import { OrreryError } from '../../src/base/errors.ts';
import type { KubeObject, KubePort, KubeWatchEvent } from '../../src/base/kube-port.ts';
import { silentLog } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { settle, VirtualClock } from '../virtual-clock.ts';

interface Watch {
  readonly from: string;
  readonly send: (event: KubeWatchEvent) => void;
  readonly end: (error?: Error) => void;
}

let clock: VirtualClock;
let stored: KubeObject[];
let version: number;
let watches: Watch[];
let lists: number;
let told: string[];
let informer: Informer<KubeObject>;

const object = (name: string, uid: string, at: number): KubeObject => ({
  metadata: { name, namespace: 'n', uid, resourceVersion: String(at) },
});
const tell = (change: Change<KubeObject>) =>
  told.push(`${change.type} ${change.object.metadata.name} ${change.object.metadata.uid}`);

function scriptedKube(): KubePort {
  const absent = () => Promise.reject(new OrreryError('KUBE_NOT_FOUND', 'not part of this test'));
  return {
    async list(_resource, { limit }) {
      // One object: only the present version is wanted.
      if (limit !== 1) lists += 1;
      return { items: stored, resourceVersion: String(version), continue: '' };
    },
    watch: (_resource, options, onEvent, signal) =>
      new Promise((resolve, reject) => {
        const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
        watches.push({ from: options.resourceVersion, send: onEvent, end });
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      }),
    get: absent,
    create: absent,
    ask: absent,
    replace: absent,
    patch: absent,
    delete: absent,
    resolve: absent,
  };
}
const lastWatch = () => {
  const watch = watches.at(-1);
  if (watch === undefined) throw new Error('nothing is watched');
  return watch;
};

beforeEach(async () => {
  clock = new VirtualClock();
  stored = [object('a', 'a1', 5)];
  version = 10;
  watches = [];
  lists = 0;
  told = [];
  const parts = { kube: scriptedKube(), clock, random: seededRandom(1), log: silentLog };
  const groupOf = ({ metadata }: KubeObject) => metadata.labels?.group ?? '';
  informer = startInformer({ ...parts, resource: pods, groupOf, onChange: tell });
  await informer.synced;
  await settle();
});
afterEach(() => informer.stop());

test('the list is told first, then every change in order', () => {
  lastWatch().send({ type: 'ADDED', object: object('b', 'b1', 11) });
  lastWatch().send({ type: 'DELETED', object: object('a', 'a1', 12) });
  expect(told).toEqual(['set a a1', 'set b b1', 'gone a a1']);
  expect(informer.all().map((held) => held.metadata.name)).toEqual(['b']);
});

test('a broken watch goes on after the last version it heard of, without a list', async () => {
  lastWatch().send({ type: 'BOOKMARK', resourceVersion: '42' });
  version = 42;
  lastWatch().end(new OrreryError('KUBE_UNREACHABLE', 'reset'));
  await clock.advance(1_000);
  expect([watches.length, lastWatch().from, lists]).toEqual([2, '42', 1]);
});

test('an expired watch lists again and tells the differences, deletions included', async () => {
  stored = [object('c', 'c1', 48)];
  version = 50;
  lastWatch().end(new OrreryError('KUBE_EXPIRED', 'too old'));
  await clock.advance(1_000);
  expect(lists).toBe(2);
  expect(told).toEqual(['set a a1', 'set c c1', 'gone a a1']);
});

test('a restored cluster is listed anew: what it has is right, in whatever version, and what it has not is gone', async () => {
  lastWatch().send({ type: 'MODIFIED', object: object('a', 'a1', 11) });
  lastWatch().send({ type: 'ADDED', object: object('b', 'b1', 12) });
  lastWatch().send({ type: 'ADDED', object: object('c', 'c1', 13) });
  lastWatch().send({ type: 'DELETED', object: object('b', 'b1', 14) });
  stored = [object('a', 'a1', 5), object('b', 'b1', 9)];
  lastWatch().end(new OrreryError('KUBE_UNREACHABLE', 'reset'));
  await clock.advance(1_000);
  expect([lists, lastWatch().from]).toEqual([2, '10']);
  expect(told.slice(-3)).toEqual(['set a a1', 'set b b1', 'gone c c1']);
  lastWatch().send({ type: 'MODIFIED', object: object('a', 'a1', 11) });
  expect(informer.get('n/a')?.metadata.resourceVersion).toBe('11');
});

test('so it is where the versions were bumped', async () => {
  lastWatch().send({ type: 'MODIFIED', object: object('a', 'a1', 11) });
  version = 1_000_000;
  lastWatch().end(new OrreryError('KUBE_EXPIRED', 'too old'));
  await clock.advance(1_000);
  expect(informer.get('n/a')?.metadata.resourceVersion).toBe('5');
  expect(told).toEqual(['set a a1', 'set a a1', 'set a a1']);
});

test('another object under an old name is told as gone and new', () => {
  lastWatch().send({ type: 'MODIFIED', object: object('a', 'a2', 13) });
  expect(told).toEqual(['set a a1', 'gone a a1', 'set a a2']);
});

test('an older version of an object changes nothing', () => {
  lastWatch().send({ type: 'MODIFIED', object: object('a', 'a1', 4) });
  expect(told).toEqual(['set a a1']);
});

test('an answer to an own write shows at once, and never brings a deleted object back', () => {
  informer.put(object('b', 'b1', 11));
  expect(informer.get('n/b')?.metadata.uid).toBe('b1');
  lastWatch().send({ type: 'ADDED', object: object('b', 'b1', 11) });
  lastWatch().send({ type: 'DELETED', object: object('b', 'b1', 12) });
  informer.put(object('b', 'b1', 13));
  expect(told).toEqual(['set a a1', 'set b b1', 'gone b b1']);
});

test('objects are found by their group, which may change', () => {
  const grouped = (name: string, at: number, group: string): KubeObject => {
    const { metadata } = object(name, `${name}1`, at);
    return { metadata: { ...metadata, labels: { group } } };
  };
  const members = (group: string) => informer.inGroup(group).map((held) => held.metadata.name);
  lastWatch().send({ type: 'ADDED', object: grouped('b', 11, 'one') });
  lastWatch().send({ type: 'ADDED', object: grouped('c', 12, 'one') });
  expect([members(''), members('one'), members('two')]).toEqual([['a'], ['b', 'c'], []]);
  lastWatch().send({ type: 'MODIFIED', object: grouped('b', 13, 'two') });
  lastWatch().send({ type: 'DELETED', object: grouped('c', 14, 'one') });
  expect([members(''), members('one'), members('two')]).toEqual([['a'], [], ['b']]);
});

test('an API server that keeps refusing is not asked more and more often', async () => {
  for (let round = 0; round < 8; round += 1) {
    lastWatch().end(new OrreryError('KUBE_UNREACHABLE', 'refused'));
    await clock.advance(3_000);
  }
  const before = watches.length;
  lastWatch().end(new OrreryError('KUBE_UNREACHABLE', 'refused'));
  await clock.advance(1_000);
  expect(watches.length).toBe(before);
  await clock.advance(2_000);
  expect(watches.length).toBe(before + 1);
});

test('after stop nothing is told and no timer is left', async () => {
  const watch = lastWatch();
  await informer.stop();
  watch.send({ type: 'ADDED', object: object('z', 'z1', 99) });
  expect(told).toEqual(['set a a1']);
  expect(clock.pending).toBe(0);
});
