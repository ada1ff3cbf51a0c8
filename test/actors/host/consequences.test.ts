/** An actor's transitions reach the event stream in their order, and none waits for the next step. */
import { expect, test } from 'vitest';
import { createConsequences } from '../../../src/actors/host/consequences.ts';
import type { Cell, Hot } from '../../../src/actors/host/owned.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Transition } from '../../../src/base/views.ts';
import type { Bus } from '../../../src/bus/bus.ts';
import { unreachable } from '../../../src/bus/bus-errors.ts';
import { subjects } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { TestCluster } from '../harness.ts';

const transition = (rev: number, at: number): Transition => ({
  ...{ id: 'pod/shop/web-0', rev, fence: 1, replica: 'a', at, event: { type: 'pod.recheck' } },
  ...{ cause: null, from: 'proving', to: 'proving', effects: [] },
});

/** One read brings the answers to both, and the second is heard this many turns after the first. */
test.each(Array.from({ length: 12 }, (_, turns) => turns))(
  'a step that is saved %i turns after the one before was published is published too',
  async (turns) => {
    const clock = new VirtualClock();
    const told: number[] = [];
    const answers: Array<() => void> = [];
    const append = (_subject: string, data: Uint8Array) => {
      told.push((JSON.parse(new TextDecoder().decode(data)) as Transition).rev);
      return new Promise<void>((resolve) => answers.push(resolve));
    };
    const parts = {
      ...{
        clock,
        random: seededRandom(1),
        log: silentLog,
        subjects: subjects('feed'),
        bus: { append, onStatus: () => () => {} },
      },
    };
    const fail = (_: unknown, error: unknown) => expect.unreachable(String(error));
    const { publish } = createConsequences(parts as never, { fail } as never);
    const shard = { abort: new AbortController(), feed: { outstanding: new Map() } };
    const hot = {
      record: { feed: [transition(1, clock.now())] },
      unpublished: [],
      publishing: false,
      onPublished: null,
    };
    const step = (sequence: number) => publish({ shard } as unknown as Cell, hot as unknown as Hot, sequence);
    step(1);
    answers[0]?.();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    hot.record = { feed: [...hot.record.feed, transition(2, clock.now())] };
    step(2);
    await clock.advance(10);
    expect(told).toEqual([1, 2]);
  },
);

test('who sent an event that waits for room in the feed is told when its shard moves', async () => {
  const cluster = new TestCluster();
  const isEvent = (subject: string) => subject.startsWith('orrery.test.event.');
  const deaf = (bus: Bus): Bus => ({
    ...bus,
    append: (subject, ...rest) =>
      isEvent(subject) ? Promise.reject(unreachable('no leader')) : bus.append(subject, ...rest),
  });
  const { engine } = await cluster.replica('a', { bend: deaf });
  await cluster.shop(1, 1);
  await cluster.clock.advance(2_000);
  const run = engine.shards.runOf('pod/shop/web-0');
  const outcomes: string[] = [];
  const onTaken = ({ kind }: { readonly kind: string }) => void outcomes.push(kind);
  for (let n = 0; n < 12; n++)
    if (run)
      engine.host.deliver(run, 'pod/shop/web-0', { event: { type: 'pod.recheck' }, cause: null, onTaken });
  await cluster.clock.advance(2_000);
  expect(outcomes.length).toBeLessThan(12);
  engine.kill();
  await cluster.clock.advance(10);
  expect(outcomes).toHaveLength(12);
  expect(outcomes.at(-1)).toBe('refused');
});
