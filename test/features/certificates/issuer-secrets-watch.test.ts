/** The wait for a Secret of an Issuer that does not work: docs/features/certificates.md §7.6. */
import { expect, test } from 'vitest';
import type { KubePort } from '../../../src/base/kube-port.ts';
import type { PlainEvent } from '../../../src/base/plain-event.ts';
import { watchIssuerSecrets } from '../../../src/features/certificates/effects/issuer-secrets-watch.ts';
import { VirtualClock } from '../../virtual-clock.ts';
import { effectRun } from './certificate-samples.ts';

const accountSecret = { namespace: 'orrery', name: 'account', key: 'key' };

function scene() {
  const clock = new VirtualClock();
  let version = 1;
  let reads = 0;
  const kube = {
    get: async () => {
      reads++;
      return { metadata: { name: 'account', uid: 'u', resourceVersion: `${version}` } };
    },
  } as unknown as KubePort;
  const spec = { acme: { accountSecret, challenge: 'http01' }, ca: null };
  const issuerOf = () => ({ uid: 'i', version: 'i/1', spec }) as never;
  const run = watchIssuerSecrets({ kube, clock, issuerOf, authorities: {} as never });
  const told: PlainEvent[] = [];
  return {
    clock,
    told,
    reads: () => reads,
    edit: () => version++,
    watch(check: number, signal = effectRun.signal) {
      const effect = { type: 'issuer-secrets.watch', issuer: 'acme', check } as const;
      run(effect, { ...effectRun, signal }).then(
        (event) => told.push(event),
        () => {},
      );
    },
  };
}

test('tells nothing for as long as the Issuer waits, while nothing happens', async () => {
  const { clock, told, watch, reads } = scene();
  watch(1);
  await clock.advance(300_000);
  expect(told).toEqual([]);
  expect(reads()).toBeGreaterThan(290);
});

test('tells a change within two seconds, late in the wait, too', async () => {
  const { clock, told, watch, edit } = scene();
  watch(1);
  await clock.advance(250_000);
  edit();
  await clock.advance(2_000);
  expect(told).toEqual([{ type: 'issuer-secrets.changed', check: 1 }]);
});

test('one that is watched anew is not read twice as often', async () => {
  const { clock, told, watch, reads } = scene();
  watch(1);
  await clock.advance(10_000);
  watch(2);
  await clock.advance(2_000);
  expect(told).toEqual([{ type: 'issuer-secrets.unchanged', check: 1 }]);
  const before = reads();
  await clock.advance(10_000);
  expect(reads() - before).toBeLessThanOrEqual(11);
});

test('ends with its shard, without an outcome', async () => {
  const { clock, told, watch, reads } = scene();
  const abort = new AbortController();
  watch(1, abort.signal);
  await clock.advance(5_000);
  abort.abort(new Error('the shard moved'));
  await clock.advance(5_000);
  const before = reads();
  await clock.advance(60_000);
  expect([told, reads()]).toEqual([[], before]);
});
