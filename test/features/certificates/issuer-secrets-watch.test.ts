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
  let generation = 1;
  const issuerOf = () => ({ uid: 'i', version: `i/${generation}`, spec }) as never;
  const run = watchIssuerSecrets({ kube, clock, issuerOf, authorities: {} as never });
  const told: PlainEvent[] = [];
  return {
    clock,
    told,
    reads: () => reads,
    edit: () => version++,
    editIssuer: () => generation++,
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
  const { clock, told, watch } = scene();
  watch(1);
  await clock.advance(300_000);
  expect(told).toEqual([]);
});

test('tells a change within two seconds while the trouble is young, and within ten later on', async () => {
  for (const [waitedMs, withinMs] of [
    [55_000, 2_000],
    [285_000, 10_000],
  ] as const) {
    const { clock, told, watch, edit } = scene();
    watch(1);
    await clock.advance(waitedMs);
    edit();
    await clock.advance(withinMs);
    expect(told).toEqual([{ type: 'issuer-secrets.changed', check: 1 }]);
  }
});

test('reads less and less often while nothing happens, through later watches, until something changes', async () => {
  const { clock, watch, reads, edit, editIssuer } = scene();
  const readsIn = async (check: number) => {
    const before = reads();
    watch(check);
    await clock.advance(60_000);
    return reads() - before;
  };
  expect(await readsIn(1)).toBeGreaterThan(45);
  await clock.advance(240_000);
  expect(reads()).toBeLessThan(110);
  for (const check of [2, 3]) expect(await readsIn(check)).toBeLessThanOrEqual(8);
  edit();
  expect(await readsIn(4)).toBeGreaterThan(45);
  await clock.advance(240_000);
  editIssuer();
  expect(await readsIn(5)).toBeGreaterThan(45);
});

test('an Issuer that worked in between is watched closely again', async () => {
  const { clock, told, watch, edit } = scene();
  watch(1);
  await clock.advance(24 * 3_600_000);
  watch(2);
  await clock.advance(20_000);
  edit();
  await clock.advance(2_000);
  expect(told.at(-1)).toEqual({ type: 'issuer-secrets.changed', check: 2 });
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
