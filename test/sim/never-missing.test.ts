/** Whose doing it is that an endpoint stands nowhere (endpoints/checkers/never-missing.ts). */
import { expect, test } from 'vitest';
import { createChance } from '../../packages/testing/time/chance.ts';
import { SimClock } from '../../packages/testing/time/sim-clock.ts';
import { externalWorkloads } from '../../src/features/endpoints/resources.ts';
import { managedBy, managedByLabel, serviceNameLabel } from '../../src/features/endpoints/slice-labels.ts';
import { endpointSlices, services } from '../../src/kube/api/resources.ts';
import { SimApi } from './api/sim-api.ts';
import { neverMissing } from './endpoints/checkers/never-missing.ts';
import { namespace } from './endpoints/endpoint-world.ts';

/** A workload that a slice has listed for long. */
async function listed() {
  const clock = new SimClock();
  const api = new SimApi(clock, [services, endpointSlices, externalWorkloads], createChance(1));
  const breaches: string[] = [];
  const world = { api, clock, shards: 1 };
  const eye = { world, now: () => clock.now(), replicas: () => [] };
  neverMissing(world).create({ ...eye, breach: (text) => void breaches.push(text) });
  const spec = { selector: { app: 'a' }, ipFamilies: ['IPv4'], ports: [{ targetPort: 'http' }] };
  const { metadata: owner } = api.create(services, { metadata: { namespace, name: 'svc' }, spec });
  api.create(externalWorkloads, {
    metadata: { namespace, name: 'vm', labels: { app: 'a' } },
    spec: { workloadIPs: [{ ip: '10.0.0.1' }], ports: [{ name: 'http', port: 80 }] },
  });
  const put = (name: string) =>
    api.create(
      endpointSlices,
      {
        metadata: {
          ...{ namespace, name, ownerReferences: [{ uid: owner.uid }] },
          labels: { [serviceNameLabel]: 'svc', [managedByLabel]: managedBy },
        },
        ...{ addressType: 'IPv4', ports: [{ port: 80 }] },
        endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false }, targetRef: { name: 'vm' } }],
      },
      'r0',
    );
  const remove = (name: string, by: string) => api.remove(endpointSlices, namespace, name, {}, by);
  put('old');
  await clock.run(60_000);
  put('new');
  return { breaches, remove };
}

test('a replica that takes out the last one of an endpoint breaks the promise', async () => {
  const { breaches, remove } = await listed();
  remove('new', 'r0');
  expect(breaches).toEqual([]);
  remove('old', 'r0');
  expect(breaches).toHaveLength(1);
});

test('one that takes it out of the slice from which it has moved does not, if somebody deletes the other one just then', async () => {
  const { breaches, remove } = await listed();
  remove('new', 'world');
  remove('old', 'r0');
  expect(breaches).toEqual([]);
});
