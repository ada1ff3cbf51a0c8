/** What is said while something is tried again. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { keepTrying } from '../../../src/bus/nats/keep-trying.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { recordingLog } from './nats-backend.ts';

function trying(failures: readonly Error[], isEndless = false) {
  const clock = new VirtualClock();
  const log = recordingLog();
  const reasons: Array<string | null> = [];
  const left = [...failures];
  const done = keepTrying(
    {
      ...{
        clock,
        log,
        random: seededRandom(1),
        facts: {},
        trouble: 'trouble',
        success: 'success',
        isEndless,
      },
      onReason: (reason) => void reasons.push(reason),
    },
    async () => {
      const failure = left.shift();
      if (failure) throw failure;
      return 'done';
    },
  );
  return { clock, log, reasons, done };
}

test('reasons that take turns, as those of two servers do, are each said once', async () => {
  const errors = ['refused', 'no answer', 'refused', 'no answer'].map((text) => new Error(text));
  const { clock, log, reasons, done } = trying(errors);
  await clock.advance(10_000);
  expect(await done).toBe('done');
  expect(log.lines).toEqual(['trouble', 'trouble', 'success']);
  expect(reasons).toEqual(['refused', 'no answer', 'refused', 'no answer', null]);
});

test('what retrying cannot help ends it, unless it is to go on', async () => {
  const terminal = new OrreryError('BUS_REFUSED', 'no');
  await expect(trying([terminal]).done).rejects.toBe(terminal);
  const { clock, done } = trying([terminal], true);
  await clock.advance(10_000);
  expect(await done).toBe('done');
});
