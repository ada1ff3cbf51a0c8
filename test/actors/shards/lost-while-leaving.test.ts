/**
 * A holding whose owner may not keep it any more, and which is lost before it is given back: a write of
 * unknown outcome, or a fence that could not be written. Its fence still names the owner, so nobody else may
 * take it: the owner has to give it back.
 */
import { expect, test } from 'vitest';
import type { Directory } from '../../../src/actors/members/directory.ts';
import type { Work } from '../../../src/actors/shards/holding.ts';
import { Ownership } from '../../../src/actors/shards/ownership.ts';
import { sleep } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { encodeJson } from '../../../src/bus/codec.ts';
import { type MemoryHub, memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const subjects = subjectsOf('test');
const fenceSubject = subjects.fence(7);

function replicaOf(hub: MemoryHub, clock: VirtualClock, name: string, bend = (bus: Bus): Bus => bus) {
  const connected = hub.connect(name);
  const bus = bend(connected);
  const quiet = () => {};
  const member = { serving: true, firstHeard: 0 };
  const directory = {
    ...{ incarnation: name, ageMs: () => 0, isPresent: () => true },
    live: () => new Map(['a', 'b'].map((one) => [one, member])),
  } as unknown as Directory;
  /** Whether it may have no part of this cluster: its NATS, or its Kubernetes, is another one. */
  const outside = { is: false };
  const ownership = new Ownership({
    ...{ bus, clock, random: seededRandom(1), replica: name },
    isOutside: () => outside.is,
    directory: () => directory,
    isServing: () => true,
    log: { debug: quiet, info: quiet, error: quiet, warn: quiet },
    fences: [{ stream: 'state', subject: subjects.fenceAll }],
  });
  const opened: string[] = [];
  const idle = () => Promise.resolve();
  const work: Work = { load: idle, drain: idle, open: () => void opened.push(name), drop() {} };
  return { bus: connected, ownership, work, opened, outside };
}

async function scene() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const [mayA, mayB] = [{ keep: true }, { keep: false }];
  const a = replicaOf(hub, clock, 'a');
  const b = replicaOf(hub, clock, 'b');
  for (const [{ ownership, work }, may] of [[a, mayA] as const, [b, mayB] as const]) {
    ownership.add({ name: 'led', stream: 'state', fenceSubject, work, mayHold: () => may.keep });
  }
  const beats = async (count: number) => {
    for (let n = 0; n < count; n++) {
      a.ownership.plan();
      b.ownership.plan();
      await clock.advance(500);
    }
  };
  const starting = [a, b].map(({ ownership }) => ownership.start());
  await beats(4);
  await Promise.all(starting);
  return { a, b, mayA, mayB, beats };
}

test('a leader that turns out to be outside gives what it leads back, and takes it only when it is not', async () => {
  const { a, b, mayB, beats } = await scene();
  expect(a.ownership.active()).toEqual(['led']);
  a.outside.is = true;
  await beats(8);
  expect(a.ownership.active()).toEqual([]);
  expect(b.ownership.active()).toEqual([]);
  mayB.keep = true;
  b.outside.is = true;
  await beats(8);
  expect([a, b].flatMap(({ ownership }) => ownership.active())).toEqual([]);
  b.outside.is = false;
  await beats(8);
  expect(b.ownership.active()).toEqual(['led']);
});

test('who may not keep a holding any more and lost it meanwhile gives it back without opening it', async () => {
  const { a, b, mayA, mayB, beats } = await scene();
  expect(a.ownership.active()).toEqual(['led']);
  const openedBefore = a.opened.length;
  mayA.keep = false;
  a.ownership.fenced('led');
  mayB.keep = true;
  await beats(8);
  expect(b.ownership.active()).toEqual(['led']);
  expect(a.ownership.active()).toEqual([]);
  expect(a.opened).toHaveLength(openedBefore);
});

test('a fence that could not be written when a holding was given back is written later', async () => {
  const { a, b, mayA, mayB, beats } = await scene();
  a.bus.faults.onAppend = () => 'full';
  mayA.keep = false;
  mayB.keep = true;
  await beats(6);
  expect(b.ownership.active()).toEqual([]);
  a.bus.faults.onAppend = undefined;
  await beats(12);
  expect(b.ownership.active()).toEqual(['led']);
});

test.each([
  ['had given it back', true],
  ['had not claimed it in a stream that was made anew', false],
])(
  'an answer that says nobody since somebody %s is old once that one’s fence was heard',
  async (_, isGivenBack) => {
    const clock = new VirtualClock();
    const hub = memoryHub({ clock, cluster: 'test' });
    const other = hub.connect('b');
    const write = (replica: string | null) =>
      other.append(fenceSubject, encodeJson({ replica, incarnation: 'b', at: 0, statesAnew: true }));
    const may = { keep: true };
    let asked = 0;
    const { ownership, work } = replicaOf(hub, clock, 'a', (bus) => ({
      ...bus,
      async append(subject, data, sending) {
        if (isGivenBack && asked === 0) await write(null);
        return bus.append(subject, data, isGivenBack ? sending : { guard: { subject, sequence: 99 } });
      },
      // The server answers, then stores the fence of another and delivers it: both are read at once.
      async last(stream, subject) {
        asked++;
        const answer = await bus.last(stream, subject);
        may.keep = false;
        await write('b');
        await sleep(clock, 10);
        return answer;
      },
    }));
    ownership.add({ name: 'led', stream: 'state', fenceSubject, work, mayHold: () => may.keep });
    const starting = ownership.start();
    await clock.advance(2_000);
    await starting;
    expect(asked).toBe(1);
    expect(ownership.ownerOf('led')).toBe('b');
  },
);

test('a holding whose retired fence expires between a lost claim and the question for it is claimed', async () => {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'test' });
  const retired = { replica: null, incarnation: 'b', at: 0, isRetired: true };
  await hub.connect('b').append(fenceSubject, encodeJson(retired), { ttlSeconds: 3_600 });
  const { ownership, work } = replicaOf(hub, clock, 'a', (bus) => ({
    ...bus,
    async last(stream, subject) {
      await bus.purge(stream, { subject });
      return bus.last(stream, subject);
    },
  }));
  ownership.add({ name: 'led', stream: 'state', fenceSubject, work, mayHold: () => true });
  const starting = ownership.start();
  for (let beat = 0; beat < 4; beat++) {
    await clock.advance(600);
    ownership.plan();
  }
  await starting;
  expect(ownership.active()).toEqual(['led']);
});
