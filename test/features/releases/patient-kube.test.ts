/** A round waits as long as the API server asks, within bounds. */
import { expect, test } from 'vitest';
import { OrreryError } from '../../../src/base/errors.ts';
import type { KubePort } from '../../../src/base/kube-port.ts';
import { patientKube } from '../../../src/features/releases/patient-kube.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { configMaps } from './round-scene.ts';

const throttled = (retryAfterMs?: number) =>
  new OrreryError('KUBE_THROTTLED', 'too many requests', {
    facts: retryAfterMs === undefined ? { status: 429 } : { status: 429, retryAfterMs },
  });

/** Gets an object from an API server that answers with these errors first. */
function asked(...errors: readonly OrreryError[]) {
  const clock = new VirtualClock();
  const begun = clock.now();
  const left = [...errors];
  const at: number[] = [];
  const get: KubePort['get'] = async () => {
    at.push(clock.now() - begun);
    const error = left.shift();
    if (error !== undefined) throw error;
    return { metadata: { name: 'a' } };
  };
  const ending = new AbortController();
  const kube = patientKube({ get } as KubePort, clock, ending.signal);
  const outcome = kube.get(configMaps, 'shop', 'a', ending.signal).then(
    ({ metadata }) => metadata.name,
    (error: Error) => error.message,
  );
  return { clock, ending, outcome, at };
}

test('a request is made again after the time that was asked, or a second', async () => {
  const { clock, outcome, at } = asked(throttled(7_000), throttled(), throttled(0));
  await clock.advance(60_000);
  expect([await outcome, at]).toEqual(['a', [0, 7_000, 8_000, 8_000]]);
});

test('not more than three times, and not for longer than a minute', async () => {
  const often = asked(throttled(), throttled(), throttled(), throttled());
  await often.clock.advance(60_000);
  expect([await often.outcome, often.at.length]).toEqual(['too many requests', 4]);
  const long = asked(throttled(3_600_000));
  expect([await long.outcome, long.at]).toEqual(['too many requests', [0]]);
});

test('another error is one at once, and the end of the leadership ends the wait', async () => {
  const other = asked(new OrreryError('KUBE_REFUSED', 'no'));
  expect([await other.outcome, other.at]).toEqual(['no', [0]]);
  const { clock, ending, outcome, at } = asked(throttled(30_000));
  await clock.advance(1_000);
  ending.abort(new Error('the leadership is over'));
  expect([await outcome, at]).toEqual(['the leadership is over', [0]]);
});
