/** The garbage collector of the simulated API takes what its owner leaves, whichever came or went first. */
import { expect, test } from 'vitest';
import { createChance } from '../../packages/testing/time/chance.ts';
import { SimClock } from '../../packages/testing/time/sim-clock.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import { SimApi } from './api/sim-api.ts';

const namespace = 'shop';
/** Longer than the slowest collector takes. */
const collectedMs = 20_000;

async function ending(isOwnerFirst: boolean) {
  const clock = new SimClock();
  const api = new SimApi(clock, [services, endpointSlices], createChance(1));
  const { metadata } = api.create(services, { metadata: { namespace, name: 'web' } });
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name: 'web', uid: metadata.uid ?? '' }];
  const make = () => api.create(endpointSlices, { metadata: { namespace, name: 'web-1', ownerReferences } });
  if (!isOwnerFirst) make();
  api.remove(services, namespace, 'web');
  // The collector has been there.
  await clock.run(isOwnerFirst ? collectedMs : 0);
  if (isOwnerFirst) make();
  await clock.run(collectedMs);
  return api.all(endpointSlices);
}

test('what was there goes with its owner', async () => expect(await ending(false)).toEqual([]));
test('what comes after its owner has gone goes, too', async () => expect(await ending(true)).toEqual([]));
