/** Shards that are claimed together are read together, and each as if it were alone. */
import { expect, test } from 'vitest';
import { createShardReader } from '../../../src/actors/shards/shard-reading.ts';
import type { ShardName } from '../../../src/base/ids.ts';
import type { FollowOptions } from '../../../src/bus/bus.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { settle, VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const bytes = (text: string) => new TextEncoder().encode(text);
const part = 'weather/2' as ShardName;

async function scene() {
  const clock = new VirtualClock();
  const bus = memoryHub({ clock, cluster: 'test' }).connect('a');
  const followed: FollowOptions[] = [];
  let ended = 0;
  const counting: Pick<typeof bus, 'follow'> = {
    follow(stream, options) {
      followed.push(options);
      options.signal?.addEventListener('abort', () => void ended++);
      return bus.follow(stream, options);
    },
  };
  const read = createShardReader({ bus: counting, subjects, clock });
  const claim = async (shard: ShardName) => {
    const { sequence } = await bus.append(subjects.fence(shard), bytes('{}'));
    return { shard, fence: sequence };
  };
  const advance = async () => {
    await clock.advance(0);
    await settle();
  };
  return { bus, read, claim, advance, followed, ended: () => ended };
}

const never = new AbortController().signal;
const textOf = (one: { readonly data: Uint8Array } | null) => new TextDecoder().decode(one?.data);

test('one consumer reads them all, each gets its own, and the consumer ends', async () => {
  const { bus, read, claim, advance, followed, ended } = await scene();
  await bus.append(subjects.state(1, 'pod/shop/a'), bytes('a'));
  await bus.append(subjects.state(11, 'pod/shop/b'), bytes('b'));
  await bus.append(subjects.checkpoint(11), bytes('place'));
  await bus.append(subjects.state(part, 'sky/_/c'), bytes('c'));
  await bus.append(subjects.state(2, 'pod/shop/d'), bytes('nobody asks'));
  const claims = [await claim(1), await claim(11), await claim(part), await claim(3)];
  const reading = Promise.all(claims.map((one) => read(one, never)));
  await advance();
  const found = await reading;
  expect(found.map(({ records }) => records.map(textOf))).toEqual([['a'], ['b'], ['c'], []]);
  expect(found.map(({ checkpoint }) => checkpoint && textOf(checkpoint))).toEqual([
    null,
    'place',
    null,
    null,
  ]);
  expect([followed.length, ended()]).toEqual([1, 1]);
});

test('a shard is read up to the fence of its claim, not to one before it', async () => {
  const { bus, read, claim, advance, ended } = await scene();
  const { fence } = await claim(1);
  const reading = read({ shard: 1, fence: fence + 2 }, never);
  let isRead = false;
  void reading.then(() => {
    isRead = true;
  });
  await advance();
  await bus.append(subjects.state(1, 'pod/shop/a'), bytes('saved late'));
  await advance();
  expect(isRead).toBe(false);
  await claim(1);
  await advance();
  expect((await reading).records.map(textOf)).toEqual(['saved late']);
  expect(ended()).toBe(1);
});

test('who gives up hinders nobody, and the consumer ends with the last of them', async () => {
  const { read, claim, advance, ended } = await scene();
  const [one, other] = [await claim(1), await claim(2)];
  const lost = new AbortController();
  const [first, second, early] = [
    read({ ...one, fence: one.fence + 99 }, lost.signal),
    read(other, never),
    read(await claim(3), AbortSignal.abort(new Error('lost before'))),
  ];
  await expect(early).rejects.toThrow('lost before');
  await advance();
  expect((await second).records).toEqual([]);
  expect(ended()).toBe(0);
  lost.abort(new Error('the shard moved'));
  await expect(first).rejects.toThrow('the shard moved');
  expect(ended()).toBe(1);
});

test('a shard that is claimed again at once, and one that is claimed later, are read by another', async () => {
  const { read, claim, advance, followed } = await scene();
  const lost = new AbortController();
  const first = read(await claim(1), lost.signal);
  lost.abort(new Error('lost'));
  const again = read(await claim(1), never);
  await expect(first).rejects.toThrow('lost');
  await advance();
  await again;
  const later = read(await claim(2), never);
  await advance();
  await later;
  expect(followed).toHaveLength(3);
});

test('a stream that cannot be followed is told to each of them', async () => {
  const clock = new VirtualClock();
  const bus = { follow: () => Promise.reject(new Error('the connection is closed')) };
  const read = createShardReader({ bus, subjects, clock });
  const reading = [1, 2].map((shard) => read({ shard, fence: 1 }, never));
  const told = Promise.all(reading.map((one) => one.catch((error: Error) => error.message)));
  await clock.advance(0);
  expect(await told).toEqual(['the connection is closed', 'the connection is closed']);
});
