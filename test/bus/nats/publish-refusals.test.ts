/** A NATS user that may not publish: what the log and `/readyz` say, and how often. */
import { expect, test } from 'vitest';
import { PublishRefusals } from '../../../src/bus/nats/server/publish-refusals.ts';
import { createTroubles } from '../../../src/bus/troubles.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { recordingLog } from './nats-backend.ts';

function scene() {
  const clock = new VirtualClock();
  const troubles = createTroubles(clock);
  const log = recordingLog();
  const refusals = new PublishRefusals({ clock, troubles, log });
  /** Refused each 300 ms, as heartbeats are. */
  const refusedFor = async (ms: number, ...subjects: readonly string[]) => {
    for (let past = 0; past < ms; past += 300) {
      for (const subject of subjects) refusals.note(subject);
      await clock.advance(300);
    }
  };
  return { clock, troubles, log, refusals, refusedFor };
}

const beat = 'orrery.default.beat.orrery-0';
const create = '$JS.API.CONSUMER.CREATE.ORRERY_default_STATE.x.y';

test('one line names all subjects as permissions do, and where the permissions are', async () => {
  const { log, refusedFor } = scene();
  await refusedFor(30_000, beat, 'orrery.default.beat.orrery-1', create);
  expect(log.lines).toEqual([expect.stringContaining('deploy/nats/permissions.conf')]);
  expect(log.facts).toEqual([{ subjects: ['$JS.API.CONSUMER.CREATE.>', 'orrery.default.beat.>'] }]);
});

test.each([
  ['alive.orrery-0.x', 'a replica that dies is missed 0.4 s later; everything else'],
  ['pulse.orrery-0', 'a replica is taken for dead after a pause of 0.8 s instead of 1.2 s; everything'],
])(
  'a refusal that costs little (%s) says what it costs, and makes no replica unready',
  async (word, loss) => {
    const { log, refusedFor, troubles } = scene();
    await refusedFor(2_000, `orrery.default.${word}`);
    expect(log.lines).toEqual([expect.stringContaining(loss)]);
    const family = `orrery.default.${word.split('.')[0]}.>`;
    const text = expect.stringContaining(`publish on ${family}: ${loss}`);
    expect(troubles.all()).toMatchObject([{ isMinor: true, text }]);
  },
);

test('while it lasts it is told again, less and less often', async () => {
  const { log, refusedFor } = scene();
  await refusedFor(10 * 60_000, beat);
  // At once, after one minute, then two, then four.
  expect(log.lines).toHaveLength(4);
});

test('/readyz says the same, until nothing was refused for a minute', async () => {
  const { clock, troubles, refusedFor } = scene();
  await refusedFor(5_000, beat);
  expect(troubles.all()).toMatchObject([
    { text: expect.stringMatching(/orrery\.default\.beat\.>.*deploy\/nats\/permissions\.conf/) },
  ]);
  await clock.advance(62_000);
  expect(troubles.all()).toEqual([]);
});

test('whoever asks for an answer on a subject of another makes no replica unready, and no flood', async () => {
  const { clock, log, troubles, refusals } = scene();
  for (let n = 0; n < 1_000; n++) refusals.note(`thief${n}.of.answers`);
  await clock.advance(30_000);
  expect(troubles.all()).toEqual([]);
  expect(log.lines).toHaveLength(1);
  expect((log.facts[0] as { subjects: unknown[] }).subjects).toHaveLength(32);
});

test('answers that may not be sent are one line, and no reason to be unready', async () => {
  const { log, troubles, refusedFor } = scene();
  await refusedFor(3_000, '_R_.tYI0T3.f8HvbE', '_R_.tYI0T3.x7Gabc', '_INBOX.xFyQ6fzMkzEKLyIJ4xgjgY.r.token');
  expect(log.facts).toEqual([{ subjects: ['_INBOX.>', '_R_.>'] }]);
  expect(troubles.all()).toMatchObject([
    { text: expect.stringMatching(/on _R_\.>: whoever asks there gets no answer\. Add it/), isMinor: true },
    { text: expect.stringMatching(/on _INBOX\.>: /), isMinor: true },
  ]);
});
