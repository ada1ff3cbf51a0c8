/**
 * How many watches of Leases a replica has, however many namespaces have Elections (docs/security.md, what a
 * tenant can make grow), and what counts if a watch and a read tell of one Lease.
 */
import { expect, test } from 'vitest';
import { limits } from '../../../src/base/limits.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { createLeaseStore } from '../../../src/features/elections/lease.ts';
import { createLeaseFollower, type LeaseNews } from '../../../src/features/elections/lease-follower.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { LeaseKube } from './lease-kube.ts';

test('namespaces beyond the bound share one watch of all, hear of their Leases alone, and give it back', async () => {
  const clock = new VirtualClock();
  const kube = new LeaseKube(clock);
  const store = createLeaseStore({ kube, clock });
  const follower = createLeaseFollower({
    kube,
    store,
    clock,
    random: seededRandom(1),
    log: silentLog,
    breadth: 'namespace',
  });
  const count = limits.leaseWatches + 20;
  const holders = new Map<string, string | undefined>();
  const ending = new AbortController();
  for (let n = 0; n < count; n++) {
    const namespace = `ns-${n}`;
    kube.set('leader', { holder: 'first' }, namespace);
    kube.set('neighbour', { holder: 'somebody' }, namespace);
    void follower.follow(
      { namespace, name: 'leader' },
      3_600,
      ({ record }) => void holders.set(namespace, record?.holder),
      ending.signal,
    );
  }
  await clock.advance(1_000);
  const listed = kube.lists.map(({ namespace }) => namespace);
  expect(new Set(listed).size).toBe(limits.leaseWatches + 1);
  expect(listed.filter((namespace) => namespace === undefined)).toHaveLength(1);
  expect(new Set(holders.values())).toEqual(new Set(['first']));
  expect(holders.size).toBe(count);

  const last = `ns-${count - 1}`;
  kube.set('leader', { holder: 'second' }, last);
  kube.set('node', { holder: 'a-node' }, 'kube-node-lease');
  await clock.advance(10);
  expect([holders.get(last), holders.get('ns-0'), holders.get('kube-node-lease')]).toEqual([
    'second',
    'first',
    undefined,
  ]);

  ending.abort();
  await clock.advance(60_000);
  kube.set('leader', { holder: 'third' }, last);
  await clock.advance(10);
  expect(holders.get(last)).toBe('second');
  // All were given back: a namespace that comes now has a watch of its own.
  const fresh = new AbortController();
  void follower.follow({ namespace: last, name: 'leader' }, 60, () => {}, fresh.signal);
  await clock.advance(10);
  expect(kube.lists.at(-1)?.namespace).toBe(last);
  fresh.abort();
  follower.stop();
});

test('a read that was answered before what the watch has told since says nothing', async () => {
  const clock = new VirtualClock();
  const kube = new LeaseKube(clock);
  const get = kube.get;
  const answers = Promise.withResolvers<void>();
  kube.get = async (...asked) => {
    const [answer] = await Promise.allSettled([get(...asked)]);
    await answers.promise;
    if (answer.status === 'rejected') throw answer.reason;
    return answer.value;
  };
  const store = createLeaseStore({ kube, clock });
  const basics = { clock, random: seededRandom(1), log: silentLog } as const;
  const follower = createLeaseFollower({ kube, store, ...basics, breadth: 'namespace' });
  const ending = new AbortController();
  const heard: Array<string | undefined> = [];
  void follower.follow({ namespace: 'shop', name: 'other' }, 60, () => {}, ending.signal);
  await clock.advance(1_000);
  // The list had none of that name, so it is read by itself; nobody holds it.
  const told = ({ record }: LeaseNews) => void heard.push(record?.holder);
  void follower.follow({ namespace: 'shop', name: 'leader' }, 60, told, ending.signal);
  await clock.advance(10);
  kube.set('leader', { holder: 'first' });
  await clock.advance(10);
  answers.resolve();
  await clock.advance(10);
  expect(heard).toEqual(['first']);
  ending.abort();
  follower.stop();
});
