/** The feed beyond the stream's duplicate window: a transition that was told is not told again. */
import { expect, test } from 'vitest';
import { publishTransition } from '../../../src/actors/host/feed.ts';
import { sleep } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import type { Transition } from '../../../src/base/views.ts';
import { unknownOutcome } from '../../../src/bus/bus-errors.ts';
import { memoryHub } from '../../../src/bus/memory/hub.ts';
import { subjects as subjectsOf } from '../../../src/bus/subjects.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const id = 'pod/shop/web-0' as const;
const minute = 60_000;

function stage() {
  const clock = new VirtualClock();
  const hub = memoryHub({ clock, cluster: 'feed' });
  const subjects = subjectsOf('feed');
  const publisher = (name: string) => {
    const bus = hub.connect(name);
    const parts = { bus, subjects, clock, random: seededRandom(1), log: silentLog };
    const { signal } = new AbortController();
    return { bus, publish: (step: Transition) => publishTransition(parts, step, signal) };
  };
  const step = (rev: number, fence: number): Transition => ({
    ...{ id, rev, fence, replica: 'a', at: clock.now(), event: { type: 'pod.recheck' } },
    ...{ cause: null, from: 'proving', to: 'proving', effects: [] },
  });
  const told = () =>
    hub.stored('event').map(({ data }) => (JSON.parse(new TextDecoder().decode(data)) as Transition).rev);
  return { clock, publisher, step, told };
}

test('an answer that was lost for longer than duplicates are known', async () => {
  const { clock, publisher, step, told } = stage();
  const [former, present] = [publisher('former'), publisher('present')];
  const append = former.bus.append.bind(former.bus);
  // Its process is stopped before it hears the answer.
  former.bus.append = async (...request) => {
    await append(...request);
    await sleep(clock, 10 * minute);
    former.bus.append = append;
    throw unknownOutcome('timeout');
  };
  const late = former.publish(step(370, 8));
  await clock.advance(10);
  await present.publish(step(371, 9));
  await clock.advance(11 * minute);
  await late;
  expect(told()).toEqual([370, 371]);
});

test('a process that was stopped before it told a step tells it only if nobody has', async () => {
  const { clock, publisher, step, told } = stage();
  const [former, present] = [publisher('former'), publisher('present')];
  const steps = [step(370, 8), step(371, 8), step(372, 9)] as const;
  await present.publish(steps[0]);
  await clock.advance(10 * minute);
  await former.publish(steps[0]);
  await former.publish(steps[1]);
  expect(told()).toEqual([370, 371]);
  await present.publish({ ...steps[2], at: clock.now() });
  await clock.advance(10 * minute);
  await former.publish(steps[1]);
  expect(told()).toEqual([370, 371, 372]);
});

test('who ended, was forgotten and came back under the same fence is told of from the first step on', async () => {
  const { clock, publisher, step, told } = stage();
  const { bus, publish } = publisher('owner');
  await publish(step(370, 8));
  await clock.advance(70 * minute);
  const append = bus.append.bind(bus);
  bus.append = async () => {
    bus.append = append;
    throw unknownOutcome('timeout');
  };
  const late = publish(step(1, 8));
  await clock.advance(minute);
  await late;
  await publish(step(2, 8));
  expect(told()).toEqual([370, 1, 2]);
});
